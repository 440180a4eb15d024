import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from skdp import WideCDMMA


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
