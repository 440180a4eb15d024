"""CDMMA and its wide form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import CDMMA, MembershipMapping, WideCDMMA

INFERENCES = ["gamma", "empirical"]


@pytest.mark.parametrize("inference", INFERENCES)
def test_layers_are_membership_mappings_of_projected_outputs(eights, inference):
    # The stack, rebuilt from the public regressor and PCA at the points the stack chose.
    cdmma = CDMMA(6, 0.3, n_layers=3, inference=inference, random_state=0).fit(eights)
    P = cdmma.components_
    output, errors = eights, []
    for depth, layer in enumerate(cdmma._layers):
        code = output @ P[: 6 - depth].T
        mapping = MembershipMapping(
            inference=inference,
            nu=np.inf if inference == "gamma" and depth else 2.1,
            input_variance=0.01,
            length_scale=1.0,
            standardize=False,
            inducing_points=layer.inducing_points,
        ).fit(code, eights)
        output = mapping.predict(code)
        assert_allclose(cdmma.layer_outputs(eights)[depth], output, rtol=1e-6, atol=1e-7)
        assert_allclose(cdmma.precisions_[depth], mapping.precision_)
        errors.append(((eights - output) ** 2).sum(axis=1))
    errors = np.min(errors, axis=0)
    assert_allclose(cdmma.reconstruction_error(eights), errors, rtol=1e-6)
    sums = [len(errors), errors.sum(), (errors**2).sum()]
    assert_allclose(cdmma.training_error_sums_, sums, rtol=1e-6)


def test_cdmma_takes_the_nearest_layer(digits, check_reconstruction):
    X, y = digits
    autoencoder = CDMMA(10, random_state=0).fit(X[y == 8])
    check_reconstruction(autoencoder, X[:600])
    distances = ((autoencoder.layer_outputs(X[:600]) - X[:600]) ** 2).sum(axis=2)
    assert len(np.unique(distances.argmin(axis=0))) > 1  # otherwise nothing was chosen


def test_codes_decode_to_the_reconstruction(digits):
    X, y = digits
    autoencoder = CDMMA(10, random_state=0).fit(X[y == 8])
    codes = autoencoder.transform(X[:600])
    assert codes.shape == (600, 10)
    assert len(np.unique((codes == 0).sum(axis=1))) > 1  # more than one layer wrote codes
    assert_allclose(autoencoder.inverse_transform(codes), autoencoder.reconstruct(X[:600]))
    with pytest.raises(ValueError, match="must have 10 columns, got 9"):
        autoencoder.inverse_transform(codes[:, :9])


@pytest.mark.filterwarnings("error")
def test_layers_that_shrink_to_nothing_stay_finite(eights):
    # 25 rows in 20 directions: the uncertainty of the inputs outweighs what deep layers
    # see, and each outputs less than the one before, down to underflow.
    autoencoder = CDMMA(20, random_state=0).fit(eights[:25])
    outputs = autoencoder.layer_outputs(eights)
    assert np.isfinite(outputs).all()
    assert np.abs(outputs).max(axis=(1, 2)).min() < 1e-50  # otherwise nothing is tested


@pytest.mark.parametrize("factor", [1e15, 1e-15])
def test_magnitudes_beyond_floating_point_are_refused(eights, factor):
    with pytest.raises(ValueError, match=r"Input X must have its largest magnitude.*Scale it"):
        CDMMA().fit(factor * eights)


def test_wide_takes_the_nearest_subset(digits, check_reconstruction):
    X, _ = digits
    wide = WideCDMMA(10, n_layers=2, subset_size=400, random_state=0).fit(X)
    check_reconstruction(wide, X[:600])
    errors = [a.reconstruction_error(X) for a in wide.autoencoders_]
    assert len(errors) == 5
    assert_allclose(wide.reconstruction_error(X), np.min(errors, axis=0), rtol=1e-12)
    assert len(np.unique(np.argmin(errors, axis=0))) == 5


def test_wide_of_one_subset_is_a_cdmma(eights):
    wide = WideCDMMA(10, n_layers=2, random_state=0).fit(eights)
    [alone] = wide.autoencoders_
    assert_array_equal(wide.reconstruct(eights), alone.reconstruct(eights))
    assert_array_equal(wide.transform(eights), alone.transform(eights))
