import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from skdp import CDMMA, MembershipMapping, WideCDMMA

INFERENCES = ["gamma", "empirical"]


@pytest.fixture
def eights(digits):
    X, y = digits
    return X[y == 8]


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


def test_empirical_passes_the_number_of_inducing_points_down(eights):
    counts = CDMMA(8, 1.0, inference="empirical", random_state=0).fit(eights).n_inducing_
    assert (np.diff(counts) <= 0).all()
    assert counts[0] < len(eights)


def check_reconstruction(autoencoder, X):
    """The output is the layer output nearest to each row, and the error its distance."""
    outputs = autoencoder.layer_outputs(X)
    distances = ((outputs - X) ** 2).sum(axis=2)
    rows = np.arange(len(X))
    winners = outputs[distances.argmin(axis=0), rows]
    assert outputs.shape == (autoencoder.n_layers, *X.shape)
    assert_allclose(autoencoder.reconstruct(X), winners, rtol=1e-12)
    assert_allclose(autoencoder.reconstruction_error(X), distances.min(axis=0), rtol=1e-9)


def test_cdmma_takes_the_nearest_layer(digits):
    X, y = digits
    autoencoder = CDMMA(10, random_state=0).fit(X[y == 8])
    check_reconstruction(autoencoder, X[:600])
    distances = ((autoencoder.layer_outputs(X[:600]) - X[:600]) ** 2).sum(axis=2)
    assert len(np.unique(distances.argmin(axis=0))) > 1  # otherwise nothing was chosen


def test_wide_takes_the_nearest_subset(digits):
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


def test_codes_decode_to_the_reconstruction(digits):
    X, y = digits
    autoencoder = CDMMA(10, random_state=0).fit(X[y == 8])
    codes = autoencoder.transform(X[:600])
    assert codes.shape == (600, 10)
    assert len(np.unique((codes == 0).sum(axis=1))) > 1  # more than one layer wrote codes
    assert_allclose(autoencoder.inverse_transform(codes), autoencoder.reconstruct(X[:600]))
    with pytest.raises(ValueError, match="must have 10 columns, got 9"):
        autoencoder.inverse_transform(codes[:, :9])


def test_first_code_is_the_uncentred_projection(eights):
    autoencoder = CDMMA(4, n_layers=1, random_state=0).fit(eights)
    assert_allclose(autoencoder.transform(eights), eights @ autoencoder.components_.T)


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize(
    ("X", "n_inducing"),
    [
        (np.c_[np.linspace(0, 1, 30), np.ones(30), np.linspace(0, 1, 30) ** 2], 0.5),
        (np.repeat(np.eye(4), 5, axis=0), 1.0),
        (np.array([[0.2, 0.4, 0.6]]), 0.5),
        (np.linspace(0, 1, 30)[:, None], 0.5),
        (np.eye(5, 40), 1.0),
        (np.zeros((10, 3)), 0.5),
        (np.vstack([np.linspace(0, 1, 40)[:, None] * np.ones(3), [[1e-9, 0, 0]]]), 1.0),
    ],
    ids=[
        "constant column",
        "duplicate rows",
        "one row",
        "p = 1",
        "N < n_components, M = N",
        "all zero",
        "numerically rank one",
    ],
)
@pytest.mark.parametrize("cls", [CDMMA, WideCDMMA])
def test_degenerate_data_stay_finite(cls, X, n_inducing, inference):
    autoencoder = cls(n_inducing=n_inducing, inference=inference, random_state=0).fit(X)
    assert np.isfinite(autoencoder.layer_outputs(X)).all()
    # Collapsed kernels would output zeros: a reconstruction must explain most of the data.
    # "empirical" smooths sets of a few dozen rows much more, by design.
    error = autoencoder.reconstruction_error(X).sum()
    if len(X) > 5:
        assert error <= {"gamma": 0.2, "empirical": 0.35}[inference] * (X**2).sum()


@pytest.mark.filterwarnings("error")
def test_layers_that_shrink_to_nothing_stay_finite(eights):
    # 25 rows in 20 directions: the uncertainty of the inputs outweighs what deep layers
    # see, and each outputs less than the one before, down to underflow.
    autoencoder = CDMMA(random_state=0).fit(eights[:25])
    outputs = autoencoder.layer_outputs(eights)
    assert np.isfinite(outputs).all()
    assert np.abs(outputs).max(axis=(1, 2)).min() < 1e-50  # otherwise nothing is tested


@pytest.mark.parametrize("estimator", [CDMMA(10, random_state=0), WideCDMMA(10, random_state=0)])
def test_single_precision_agrees_with_double(estimator, digits):
    X, y = digits
    double = clone(estimator).fit(X[y == 8])
    single = clone(estimator).fit(X[y == 8].astype(np.float32))
    assert single.reconstruct(X[:300]).dtype == np.float32
    assert single.transform(X[:300].astype(np.float32)).dtype == np.float32
    # Not the reconstructions: where two layers are equally near, rounding decides.
    assert_allclose(
        single.reconstruction_error(X[:300]), double.reconstruction_error(X[:300]), rtol=1e-3
    )
    assert_allclose(single.layer_outputs(X[:20]), double.layer_outputs(X[:20]), atol=2e-3)


def test_results_do_not_depend_on_n_jobs(digits):
    X, _ = digits
    outputs = [
        WideCDMMA(8, n_layers=2, subset_size=300, random_state=0, n_jobs=n_jobs)
        .fit(X)
        .reconstruct(X)
        for n_jobs in (None, 2, -1)
    ]
    assert_array_equal(outputs[0], outputs[1])
    assert_array_equal(outputs[0], outputs[2])


@pytest.mark.parametrize("estimator", [CDMMA(5, random_state=0), WideCDMMA(5, random_state=0)])
def test_pandas_out_pipeline_and_joblib(estimator, digits, tmp_path):
    X, y = digits
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    codes = clone(estimator).set_output(transform="pandas").fit_transform(frame)
    name = type(estimator).__name__.lower()
    assert list(codes.columns) == [f"{name}{i}" for i in range(5)]
    pipeline = make_pipeline(clone(estimator), LinearSVC()).fit(frame, y)
    joblib.dump(pipeline, tmp_path / "pipeline.joblib")
    loaded = joblib.load(tmp_path / "pipeline.joblib")
    assert_array_equal(loaded.predict(frame), pipeline.predict(frame))


def test_two_tight_clusters_are_reconstructed_by_every_layer(rng):
    X = np.r_[0.01 * rng.randn(75, 2), 1 + 0.01 * rng.randn(75, 2)]
    outputs = CDMMA(random_state=0).fit(X).layer_outputs(X)
    assert ((outputs - X) ** 2).mean(axis=(1, 2)).max() < 0.01


@pytest.mark.parametrize("factor", [1e15, 1e-15])
def test_magnitudes_beyond_floating_point_are_refused(eights, factor):
    with pytest.raises(ValueError, match=r"Input X must have its largest magnitude.*Scale it"):
        CDMMA().fit(factor * eights)
