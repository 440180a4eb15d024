"""Regressors on noisy pairs: one guarantee, independent noises, and nothing kept of the data."""

import copy
import pickle
import pickletools
import struct

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVR

from skdp import (
    DeepFuzzyRegressor,
    DPNoiseRegressor,
    GaussianDPNoise,
    MembershipMapping,
    OptimalDPNoise,
    PrivacyLeakWarning,
    StaircaseDPNoise,
)

SEED = 123_456_789
# A right distribution fails less than once in a million runs.
LEVEL = 4e-7
quiet = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


class Recorder(RegressorMixin, BaseEstimator):
    """Keeps what it is trained on, and predicts zeros."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        return np.zeros((len(X), *self.y_.shape[1:]))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def seen(X, y, **noises):
    """Return the rows and outcomes that a regressor is trained on."""
    recorder = DPNoiseRegressor(Recorder(), **noises).fit(X, y).regressor_
    return recorder.X_, recorder.y_


def plain(**settings):
    return OptimalDPNoise(2.0, bounds=(0, 1), **settings)


@pytest.fixture
def pairs(rng):
    X = rng.rand(60, 3)
    return X, 5 * X[:, 0] + X[:, 1]


def test_the_guarantee_of_laplace_noises_is_their_sum(rng):
    n, p, delta, other = 4, 2, 1e-4, 1e-3
    model = DPNoiseRegressor(
        Ridge(),
        noise=OptimalDPNoise(0.5, delta, bounds=(0, 1)),
        target_noise=StaircaseDPNoise(0.7, other, bounds=(-2, [3, 9])),
    ).fit(rng.rand(30, n), rng.rand(30, p))
    joint = model.guarantee_
    assert_allclose(joint.epsilon, n * 0.5 + p * 0.7, rtol=1e-12)
    assert_allclose(joint.delta, 1 - (1 - delta) ** n + 1 - (1 - other) ** p, rtol=1e-9)
    assert (joint.unit, joint.relation, joint.sensitivity) == (
        "labeled record",
        "replace-one",
        None,
    )
    # One value: Results 1 to 4.
    assert (model.noise_.guarantee_.epsilon, model.target_noise_.guarantee_.epsilon) == (0.5, 0.7)


def test_the_guarantee_of_records_counts_each_once(rng):
    whole = {"bounds": (0, 1), "privacy_unit": "record"}
    model = DPNoiseRegressor(
        Ridge(), noise=OptimalDPNoise(0.5, **whole), target_noise=OptimalDPNoise(0.7, **whole)
    ).fit(rng.rand(30, 4), rng.rand(30, 2))
    assert_allclose(model.guarantee_.epsilon, 1.2, rtol=1e-12)


def test_the_guarantee_of_gaussian_noises_is_that_of_one_vector(rng):
    n, delta = 5, 1e-5
    model = DPNoiseRegressor(
        Ridge(),
        noise=GaussianDPNoise(1.0, delta, bounds=(0, 1)),
        target_noise=GaussianDPNoise(2.0, delta, bounds=(0, 50)),
    ).fit(rng.rand(30, n), 50 * rng.rand(30))
    # A record moves by 1 in n features and by 50 in one outcome.
    scales = [noise.variance_**0.5 for noise in (model.noise_, model.target_noise_)]
    mu = np.sqrt(n / scales[0] ** 2 + 50**2 / scales[1] ** 2)

    def excess(epsilon):
        first, second = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return stats.norm.cdf(first) - np.exp(epsilon) * stats.norm.cdf(second) - delta

    assert_allclose(model.guarantee_.epsilon, optimize.brentq(excess, 0, 50), rtol=1e-5)
    assert model.guarantee_.delta == delta


def distribution_of(noise, width):
    if isinstance(noise, GaussianDPNoise):  # Result 6, of width d
        scale = width * np.sqrt(2 * np.log(1.25 / noise.delta)) / noise.epsilon
        return stats.norm(scale=scale), 0.0
    return stats.laplace(scale=width / noise.epsilon), noise.delta  # (2.84)


def p_values(noise, scale=1.0):
    """Return p-values of the noise of outcomes: of its zeros, and of the others' distribution."""
    width = 40.0
    noise = clone(noise).set_params(
        bounds=(-10, -10 + width), random_state=np.random.RandomState(0)
    )
    y = np.full(60_000, 5.0)
    _, noisy = seen(np.zeros((len(y), 1)), y, noise=plain(), target_noise=noise)
    v = noisy - y
    law, atom = distribution_of(noise, width * scale)
    # (y + v) is rounded once, in steps far below the noise.
    zeros = np.abs(v) < 1e-6
    chance = stats.binomtest(int(zeros.sum()), len(v), atom).pvalue
    return chance, stats.kstest(v[~zeros], law.cdf).pvalue


LAWS = [
    OptimalDPNoise(0.5),
    OptimalDPNoise(8.0, 0.1),
    GaussianDPNoise(0.5, calibration="classical"),
]


@quiet
@pytest.mark.parametrize("noise", LAWS)
def test_the_noise_of_outcomes_is_that_of_the_equations(noise):
    assert min(p_values(noise)) > LEVEL
    for scale in (0.9, 1.1):
        assert p_values(noise, scale)[1] < LEVEL


def test_the_noises_of_a_record_are_independent(rng):
    # One instance for both: each draws its own noise, in each fit.
    noise = GaussianDPNoise(1.0, bounds=(0, 1))
    drawn = np.hstack(
        [
            np.column_stack(seen(np.zeros((20_000, 2)), np.zeros((20_000, 2)), **noises))
            for noises in 2 * [{"noise": noise, "target_noise": noise}]
        ]
    )
    assert drawn.shape == (20_000, 8)
    correlations = np.corrcoef(drawn.T)[np.triu_indices(8, 1)]
    assert np.abs(correlations).max() < 6 / np.sqrt(20_000)


@pytest.mark.parametrize("perturb", ["always", "fit"])
def test_a_regressor_sees_no_value_of_the_data(pairs, perturb):
    X, y = pairs
    noise = OptimalDPNoise(2.0, bounds=(0, 9), perturb=perturb)
    noisy_X, noisy_y = seen(X, y, noise=noise, target_noise=noise)
    assert not np.isin(noisy_X, X).any()
    assert not np.isin(noisy_y, y).any()


def test_outcomes_are_clipped_to_their_bounds(rng):
    X, y = rng.rand(50, 2), np.repeat([-1e6, 1e6], 25)
    _, noisy = seen(X, y, noise=plain(), target_noise=OptimalDPNoise(100.0, bounds=(0, 10)))
    assert_allclose(noisy, np.repeat([0, 10], 25), atol=2)


@quiet
@pytest.mark.parametrize(
    "regressor",
    [
        Ridge(),
        SVR(),
        MembershipMapping(random_state=0),
        DeepFuzzyRegressor(n_inducing=8, random_state=0),
    ],
    ids=lambda regressor: type(regressor).__name__,
)
def test_without_noise_it_is_the_regressor(regressor, pairs):
    X, y = pairs
    none = OptimalDPNoise(np.inf, bounds=(0, 1))
    with pytest.warns(PrivacyLeakWarning, match="adds no noise") as caught:
        model = DPNoiseRegressor(regressor, noise=none, target_noise=none).fit(X, y)
    assert len(caught) == 2
    assert model.guarantee_.epsilon == np.inf
    assert_array_equal(model.predict(X), clone(regressor).fit(X, y).predict(X))


@pytest.mark.parametrize("regressor", [MembershipMapping(5), DeepFuzzyRegressor(n_inducing=5)])
def test_parameters_of_predictions_reach_the_regressor(regressor, pairs):
    X, y = pairs
    wide = OptimalDPNoise(2.0, bounds=(0, 6))
    model = DPNoiseRegressor(regressor, noise=plain(), target_noise=wide).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert_array_equal(mean, model.predict(X))
    # Outcomes have noise of variance 2·(6/2)²; the regressor estimates its residuals from these.
    assert std.mean() > 1


@pytest.mark.parametrize("target_noise", [OptimalDPNoise(), GaussianDPNoise(sensitivity=5.0)])
def test_outcomes_need_bounds(target_noise, pairs):
    model = DPNoiseRegressor(Ridge(), noise=plain(), target_noise=target_noise)
    with pytest.raises(ValueError, match=r"'target_noise'.*must have bounds.*\(low, high\)"):
        model.fit(*pairs)


@quiet
def test_noises_of_the_same_seed_are_refused(pairs):
    model = DPNoiseRegressor(
        Ridge(), noise=plain(random_state=3), target_noise=plain(random_state=np.int64(3))
    )
    with pytest.raises(ValueError, match=r"random_state=3.*not be independent.*different seeds"):
        model.fit(*pairs)
    model.set_params(target_noise__random_state=4).fit(*pairs)
    same = plain(random_state=np.random.RandomState(5_001))  # goes on from X to y
    noisy_X, noisy_y = seen(np.zeros((40, 1)), np.zeros(40), noise=same, target_noise=same)
    assert not np.isin(noisy_y, noisy_X).any()


@pytest.mark.parametrize("which", ["noise", "target_noise"])
def test_seeds_warn(which, pairs):
    noises = {"noise": plain(), "target_noise": plain(), which: plain(random_state=7)}
    with pytest.warns(PrivacyLeakWarning, match="guesses this seed") as caught:
        DPNoiseRegressor(Ridge(), **noises).fit(*pairs)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("which", ["noise", "target_noise"])
@pytest.mark.parametrize(
    "wrong", [None, FunctionTransformer(), "optimal", np.array([0.123456789])], ids=str
)
def test_what_states_no_guarantee_is_no_noise(which, wrong, pairs):
    noises = {"noise": plain(), "target_noise": plain(), which: wrong}
    with pytest.raises(ValueError, match=rf"The '{which}' parameter of DPNoiseRegressor") as error:
        DPNoiseRegressor(Ridge(), **noises).fit(*pairs)
    assert "0.123" not in str(error.value)  # perhaps private rows, passed by mistake


@pytest.mark.parametrize("regressor", [Ridge(), SVR()])  # of several outputs, of one
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (["12.375", "secret"], "holds objects of type str"),
        (np.array(["12.375", "secret"]), "is of type str_"),
        (np.array([12.375, 1], dtype=np.longdouble), "longdouble|is of type"),
        ([12.375, np.inf], "contains infinity"),
        ([12.375, None], "contains NaN"),
    ],
)
def test_errors_about_outcomes_name_them_and_quote_none(regressor, wrong, error):
    model = DPNoiseRegressor(regressor, noise=plain(), target_noise=plain())
    with pytest.raises((TypeError, ValueError), match=rf"Input y.*({error})") as caught:
        model.fit([[0.0], [1.0]], wrong)
    assert "12.375" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert not hasattr(model, "guarantee_")


class Failing(Ridge):
    def fit(self, X, y):
        raise RuntimeError("no")


def test_a_fit_that_failed_leaves_no_guarantee(pairs):
    model = DPNoiseRegressor(Ridge(), noise=plain(), target_noise=plain()).fit(*pairs)
    with pytest.raises(RuntimeError):
        model.set_params(regressor=Failing()).fit(*pairs)
    assert not hasattr(model, "guarantee_")
    with pytest.raises(NotFittedError):
        model.predict(pairs[0])


def test_nothing_that_is_kept_holds_the_data(pairs):
    X, y = pairs
    wide = OptimalDPNoise(2.0, bounds=(0, 9))
    for regressor in (KNeighborsRegressor(1), SVR(), MembershipMapping(1.0), DeepFuzzyRegressor()):
        model = DPNoiseRegressor(regressor, noise=wide, target_noise=wide).fit(X, y)
        stored = pickle.dumps(model)
        kept = [struct.pack("d", value) in stored for value in [*X.ravel(), *y]]
        assert not any(kept)
        assert b"_fitted_on" not in stored
    assert struct.pack("d", X[0, 0]) in pickle.dumps(KNeighborsRegressor(1).fit(X, y))


def numbers_in(pickled):
    return [argument for _, argument, _ in pickletools.genops(pickled)]


@quiet
@pytest.mark.parametrize("fails", [False, True])
def test_a_fitted_pickle_holds_no_seed(fails, pairs):
    model = DPNoiseRegressor(
        Failing() if fails else Ridge(),
        noise=plain(random_state=SEED),
        target_noise=plain(random_state=np.random.RandomState(SEED)),
    )
    assert SEED in numbers_in(pickle.dumps(model))  # not fitted: equal for any n_jobs
    try:
        model.fit(*pairs)
    except RuntimeError:
        assert fails
    pickled = pickle.dumps(model)
    assert SEED not in numbers_in(pickled)
    assert b"RandomState" not in pickled
    for made in (pickle.loads(pickled), copy.deepcopy(model), clone(model), model):
        assert made.noise.random_state == SEED  # in this process
    if not fails:
        assert_array_equal(pickle.loads(pickled).predict(pairs[0]), model.predict(pairs[0]))
        assert pickle.loads(pickled).guarantee_ == model.guarantee_


@pytest.mark.parametrize("wrap", [list, lambda y: np.array(y, dtype=object)])
def test_whole_numbers_in_lists_are_not_rounded_before_they_are_clipped(wrap):
    y = wrap([2**53 + 3, 2**63 - 1, 0.5, 0.25])
    # Noise beyond the tolerance has a probability of exp(-1000/16) each.
    noise = OptimalDPNoise(1000.0, bounds=(0, 2.0**54))
    _, noisy = seen(np.zeros((4, 1)), y, noise=plain(), target_noise=noise)
    assert_allclose(noisy, [2.0**53, 2.0**53, 0, 0], atol=2.0**50)


@pytest.mark.parametrize(
    "noise", [OptimalDPNoise(2.0), StaircaseDPNoise(2.0), GaussianDPNoise(2.0)], ids=repr
)
def test_noise_transforms_targets_and_leaves_predictions(noise, pairs):
    X, y = pairs
    model = TransformedTargetRegressor(Recorder(), transformer=noise, check_inverse=False)
    model.fit(X, y)
    assert not np.isin(model.regressor_.y_, y).any()
    assert_array_equal(model.predict(X), np.zeros(len(X)))
    noisy = np.float32([[0.5], [-3.0]])
    assert_array_equal(model.transformer_.inverse_transform(noisy), noisy)
    assert model.transformer_.inverse_transform(noisy).dtype == np.float32
    with pytest.raises(NotFittedError):
        clone(noise).inverse_transform(noisy)


def test_targets_that_pass_unchanged_warn(pairs):
    passing = OptimalDPNoise(2.0, perturb="fit")
    model = TransformedTargetRegressor(Recorder(), transformer=passing, check_inverse=False)
    with pytest.warns(PrivacyLeakWarning, match="fitted on without noise"):
        model.fit(*pairs)
