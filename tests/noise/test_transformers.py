import copy
import pickle
import re
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import FeatureUnion, make_pipeline

from skdp import (
    GaussianDPNoise,
    OptimalDPNoise,
    PrivacyLeakWarning,
    RandomizedResponse,
    StaircaseDPNoise,
)
from skdp.noise import perturb_training_rows

NOISES = [OptimalDPNoise(), StaircaseDPNoise(), GaussianDPNoise()]
CLASSES = [type(noise) for noise in NOISES]


@pytest.mark.parametrize("noise", NOISES)
def test_always_perturbs_every_transform(noise, rng):
    X = rng.rand(50, 3)
    noise = clone(noise).fit(X)
    first, second = noise.transform(X), noise.transform(X)
    assert (first != X).all()
    assert (first != second).all()
    assert (noise.fit_transform(X) != X).all()


@pytest.mark.parametrize("noise", NOISES)
def test_fit_perturbs_training_rows_only(noise, rng):
    X = rng.rand(50, 3)
    noise = clone(noise).set_params(perturb="fit")
    assert (noise.fit_transform(X) != X).all()
    assert_array_equal(noise.transform(X), X)


def passes_on(noise, X):
    """Return what transform returns, and whether that warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = noise.transform(X)
    assert all(warning.filename == __file__ for warning in caught)
    return out, any("perturb='fit'" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize("fit", ["fit", "fit_transform"])
@pytest.mark.parametrize("cls", CLASSES)
def test_training_rows_that_pass_unchanged_warn(cls, fit, wrap, rng):
    X = wrap(rng.rand(50, 3))
    noise = cls(perturb="fit")
    getattr(noise, fit)(X)
    out, warned = passes_on(noise, X)
    assert_array_equal(out, X)
    assert warned
    for other in (X.copy(), X[:10]):
        assert not passes_on(noise, other)[1]
    always = cls(perturb="always").fit(X)
    assert not passes_on(always, X)[1]


def test_a_feature_union_that_hands_out_training_rows_warns(rng):
    X = rng.rand(50, 3)
    union = FeatureUnion([("noise", OptimalDPNoise(perturb="fit")), ("same", "passthrough")])
    with pytest.warns(PrivacyLeakWarning, match="fitted on without noise"):
        assert_array_equal(union.fit(X).transform(X)[:, :3], X)


def test_nothing_is_kept_of_the_rows(rng):
    X = rng.rand(50, 3)
    noise = OptimalDPNoise(perturb="fit").fit(X)
    known = weakref.ref(X)
    copies = [pickle.loads(pickle.dumps(noise)), copy.deepcopy(noise), clone(noise).fit(X[:20])]
    assert not any(passes_on(made, X)[1] for made in copies)
    assert b"_fitted_on" not in pickle.dumps(noise)
    del X
    assert known() is None
    assert not passes_on(noise, rng.rand(50, 3))[1]
    rows = rng.rand(50, 3).tolist()  # no weak reference can be made to a list
    assert not passes_on(OptimalDPNoise(perturb="fit").fit(rows), rows)[1]


def test_the_guarantee_says_what_passes(rng):
    guarantee = OptimalDPNoise(perturb="fit").fit(rng.rand(5, 3)).guarantee_
    assert "training rows as fit_transform returns them, not as transform does" in guarantee.covers
    assert "queries and all else that transform passes on" in guarantee.excludes


def test_integer_seed_repeats_and_warns(rng):
    X = rng.rand(20, 3)
    with pytest.warns(PrivacyLeakWarning, match=r"random_state=7.*random_state=None"):
        first = OptimalDPNoise(random_state=7).fit_transform(X)
    with pytest.warns(PrivacyLeakWarning):
        second = OptimalDPNoise(random_state=7).fit_transform(X)
    with pytest.warns(PrivacyLeakWarning):
        other = OptimalDPNoise(random_state=8).fit_transform(X)
    assert_array_equal(first, second)
    assert (first != other).all()


@pytest.mark.filterwarnings("error::skdp.PrivacyLeakWarning")
def test_the_private_default_does_not_warn(rng):
    OptimalDPNoise(bounds=(0, 1)).fit_transform(rng.rand(5, 2))
    OptimalDPNoise(sensitivity=1.0).fit_transform(rng.rand(5, 2))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 255.0])
@pytest.mark.parametrize("cls", [OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise])
def test_a_range_that_nobody_stated_warns_whatever_the_rows(cls, scale, rng):
    X = scale * rng.rand(5, 2)
    message = rf"^{cls.__name__} without 'bounds' or 'sensitivity' protects .* at most 1: "
    for call in (cls().fit, cls().fit_transform):
        with pytest.warns(PrivacyLeakWarning, match=message) as told:
            call(X)
        assert [warning.filename for warning in told] == [__file__]
    assert cls().fit(X).guarantee_ == cls(sensitivity=1.0).fit(X).guarantee_


@pytest.mark.parametrize("noise", NOISES)
def test_infinite_epsilon_is_the_identity_and_says_so(noise, rng):
    X = rng.rand(20, 3)
    with pytest.warns(PrivacyLeakWarning, match="adds no noise"):
        out = clone(noise).set_params(epsilon=np.inf).fit_transform(X)
    assert_array_equal(out, X)


def test_gaussian_refuses_delta_zero(rng):
    with pytest.raises(ValueError, match=r"'delta'.*got 0.*OptimalDPNoise\(delta=0\)"):
        GaussianDPNoise(delta=0.0).fit(rng.rand(5, 2))


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_classical_refuses_epsilon_of_one_and_above(epsilon, rng):
    noise = GaussianDPNoise(epsilon=epsilon, calibration="classical")
    with pytest.raises(ValueError, match=rf"'epsilon'.*got {epsilon}.*calibration='analytic'"):
        noise.fit(rng.rand(5, 2))


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("epsilon", np.nan),
        ("delta", 1.0),
        ("delta", -0.1),
        ("sensitivity", 0.0),
        ("sensitivity", -1.0),
        ("sensitivity", np.inf),
        ("perturb", "never"),
        ("privacy_unit", "person"),
        ("bounds", "public"),
    ],
)
def test_bad_parameters_are_named(cls, name, value, rng):
    noise = cls(**{name: value})
    with pytest.raises(ValueError, match=rf"'{name}' parameter of {cls.__name__} must be"):
        noise.fit(rng.rand(5, 2))


def test_a_pickle_does_not_carry_the_state_of_the_generator(rng):
    X = rng.rand(20, 3)
    noise = OptimalDPNoise(random_state=np.random.RandomState(0)).fit(X)
    made = pickle.loads(pickle.dumps(noise))
    assert made.random_state is None
    assert noise.random_state is not None
    assert (made.transform(X) != noise.transform(X)).all()


@pytest.mark.parametrize("cls", [OptimalDPNoise, GaussianDPNoise])
def test_units_whose_squares_are_no_numbers_are_refused(cls):
    X = np.zeros((3, 2))
    for size in (1e-200, 1e200):
        with pytest.raises(ValueError, match=r"'sensitivity' parameter.*too extreme"):
            cls(sensitivity=size).fit(X)
        with pytest.raises(ValueError, match=r"'bounds' parameter.*too extreme"):
            cls(bounds=(0.0, size)).fit(X)
    noise = cls(sensitivity=3.0).fit(X)
    assert abs(noise.variance_ / cls().fit(X).variance_ - 9) < 1e-5


def test_training_rows_are_perturbed_by_a_clone_that_lets_queries_pass(rng):
    X = rng.rand(30, 3).astype(np.float32)
    noise = OptimalDPNoise()
    noisy, fitted = perturb_training_rows(noise, X)
    assert noisy.dtype == np.float32
    assert (noisy != X).all()
    assert_array_equal(fitted.transform(X), X)
    assert "queries" in fitted.guarantee_.excludes
    assert not hasattr(noise, "guarantee_")
    # A generator goes on from one data set to the next.
    seeded = OptimalDPNoise(random_state=np.random.RandomState(0))
    first, second = (perturb_training_rows(seeded, X)[0] for _ in range(2))
    assert (first != second).all()


def exact_values_expected(noise, X):
    """Return how many exact values a warning of fit_transform expects; None without one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        noise.fit_transform(X)
    found = [re.search(r"values, about (\S+) are released", str(w.message)) for w in caught]
    found = [match for match in found if match]
    assert all(issubclass(w.category, PrivacyLeakWarning) for w in caught)
    return float(found[0][1]) if found else None


@pytest.mark.parametrize("cls", [OptimalDPNoise, StaircaseDPNoise])
def test_values_that_leave_exactly_warn(cls):
    assert exact_values_expected(cls(delta=1e-5), np.zeros((1000, 20))) == 0.2
    assert exact_values_expected(cls(delta=0.01), np.zeros((100, 20))) == 20.0
    assert exact_values_expected(cls(delta=1e-5), np.zeros((1000, 9))) is None
    assert exact_values_expected(cls(), np.zeros((1000, 20))) is None
    # δ of a record is shared by its elements.
    record = cls(20.0, 1e-3, privacy_unit="record")
    assert exact_values_expected(record, np.zeros((1000, 20))) == 1.0
    assert exact_values_expected(GaussianDPNoise(), np.zeros((1000, 20))) is None


def test_values_that_leave_exactly_warn_where_they_leave():
    X = np.zeros((2000, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        always = OptimalDPNoise(delta=1e-5, sensitivity=1.0).fit(X)
        OptimalDPNoise(delta=1e-5, sensitivity=1.0, perturb="fit").fit(X).transform(X[:1500])
    with pytest.warns(PrivacyLeakWarning, match="40000 values, about 0.4 are"):
        always.transform(X)


def test_on_a_coarse_grid_exact_values_can_be_told(digits):
    X, _ = digits
    delta = 1e-3
    noise = OptimalDPNoise(1.0, delta, random_state=np.random.RandomState(5))
    with pytest.warns(PrivacyLeakWarning, match="released without noise"):
        noisy = noise.fit_transform(X)
    on_the_grid = noisy * 16 == np.rint(noisy * 16)
    assert_array_equal(noisy[on_the_grid], X[on_the_grid])  # all of them are recognized
    assert stats.binomtest(int(on_the_grid.sum()), X.size, delta).pvalue > 1e-6
    for wrong in (0.5 * delta, 1.5 * delta):
        assert stats.binomtest(int(on_the_grid.sum()), X.size, wrong).pvalue < 1e-3


def test_after_a_fit_that_failed_nothing_is_transformed(rng):
    noise = OptimalDPNoise(8.0, privacy_unit="record").fit(rng.rand(5, 2))
    noise.set_params(sensitivity=1e-200)
    with pytest.raises(ValueError, match="too extreme"):
        noise.fit(rng.rand(5, 300))
    # Its noise was made for records of two elements.
    for X in (rng.rand(5, 300), rng.rand(5, 2)):
        with pytest.raises(NotFittedError):
            noise.transform(X)
    response = RandomizedResponse(1.0).fit([0, 1])
    with pytest.raises(ValueError, match="at least two"):
        response.fit([3, 3])
    with pytest.raises(NotFittedError):
        response.transform([3])


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_no_error_prints_the_extremes_of_the_data():
    with pytest.raises(ValueError, match="too extreme") as caught:
        OptimalDPNoise(bounds="data").fit(np.array([[31.4159e150], [0.0]]))
    assert "3.14" not in str(caught.value)


@pytest.mark.parametrize(("perturb", "when"), [("always", "every transform"), ("fit", "fit only")])
def test_html_says_when_noise_is_added(perturb, when):
    assert f"noise: {when}" in make_pipeline(OptimalDPNoise(perturb=perturb))._repr_html_()
