"""Randomness that is copied, shared or known: noise must not repeat unseen."""

import copy
import os
import pickle
import pickletools

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skdp import OptimalDPNoise, PrivacyLeakWarning, RandomizedResponse
from skdp.noise import _randomness

X = np.linspace(0, 1, 60).reshape(20, 3)
Y = np.arange(200) % 7
SEED = 123_456_789
GLOBAL = np.random.mtrand._rand

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
quiet = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


def in_child(draw):
    """Return what a forked process draws."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(draw(), pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        drawn = pickle.load(pipe)
    os.waitpid(child, 0)
    return drawn


def test_noise_that_a_fixture_replaces_stays_replaced(seeded_noise, request):
    keys = np.random.RandomState(0)
    assert _randomness.fresh_key() == keys.bytes(32)
    request.getfixturevalue("tmp_path")  # draws by its own name, if at all
    assert _randomness.fresh_key() == keys.bytes(32)


@forks
def test_what_a_test_starts_draws_keys_that_nobody_knows():
    keys = [_randomness.fresh_key(), *(in_child(_randomness.fresh_key) for _ in range(2))]
    assert len({*keys, _randomness.fresh_key()}) == 4


def fitted_noise(generator):
    noise = OptimalDPNoise(random_state=generator).fit(X)
    return lambda: noise.transform(X)


def noise_made_by_the_child(generator):
    return lambda: OptimalDPNoise(random_state=generator).fit_transform(X)


def randomized_labels(generator):
    response = RandomizedResponse(random_state=generator).fit(Y)
    return lambda: response.transform(Y)


@forks
@quiet
@pytest.mark.parametrize("make", [fitted_noise, noise_made_by_the_child, randomized_labels])
def test_children_repeat_neither_their_parent_nor_each_other(make):
    draw = make(np.random.RandomState(0))
    first, second = in_child(draw), in_child(draw)
    parent = draw()
    assert (first != second).any()
    assert (first != parent).any()
    assert (second != parent).any()


def test_a_generator_listed_in_a_grid_warns():
    # A search deep-copies the values of its grid for every fit.
    pipeline = make_pipeline(OptimalDPNoise(perturb="fit"), KNeighborsClassifier(1))
    grid = {"optimaldpnoise__random_state": [np.random.RandomState(2_001)]}
    with pytest.warns(PrivacyLeakWarning, match="drawn before.*parameter grid"):
        GridSearchCV(pipeline, grid, cv=2).fit(X, np.arange(20) % 2)


@pytest.mark.filterwarnings("error::skdp.PrivacyLeakWarning")
def test_a_generator_that_goes_on_does_not_warn():
    noise = OptimalDPNoise(bounds=(0, 1), random_state=np.random.RandomState(2_002))
    for _ in range(3):
        clone(noise).fit_transform(X)
    RandomizedResponse(random_state=noise.random_state).fit_transform(Y)


def test_labels_and_features_with_equal_generators_warn():
    OptimalDPNoise(random_state=np.random.RandomState(2_003)).fit_transform(X)
    with pytest.warns(PrivacyLeakWarning, match="drawn before"):
        RandomizedResponse(random_state=np.random.RandomState(2_003)).fit_transform(Y)


@quiet
def test_only_so_many_draws_are_remembered(monkeypatch):
    monkeypatch.setattr(_randomness, "_N_REMEMBERED", 5)
    monkeypatch.setattr(_randomness, "_drawn", {})
    draw = fitted_noise(np.random.RandomState(0))
    for _ in range(20):
        draw()
        assert len(_randomness._drawn) <= 5
    again = np.random.RandomState(0)
    again.bytes(32 * 19)
    with pytest.warns(PrivacyLeakWarning, match="drawn before"):  # the last one is still known
        OptimalDPNoise(random_state=again).fit_transform(X)


@pytest.mark.parametrize("state", [SEED, np.int64(SEED), GLOBAL])
def test_known_randomness_warns_wherever_noise_is_drawn(state, monkeypatch):
    monkeypatch.setattr(_randomness, "_drawn", {})  # other tests seed the global generator, too
    what = "global generator" if state is GLOBAL else str(SEED)
    for estimator, data in ((OptimalDPNoise(bounds=(0, 1)), X), (RandomizedResponse(), Y)):
        estimator.set_params(random_state=state)
        with pytest.warns(PrivacyLeakWarning, match=what):
            estimator.fit(data)
        for call in (estimator.transform, estimator.fit_transform):
            with pytest.warns(PrivacyLeakWarning, match=what) as caught:
                call(data)
            assert len(caught) == 1
            assert caught[0].filename == __file__


def test_no_noise_warns_wherever_none_is_added():
    noise = OptimalDPNoise(np.inf, bounds=(0, 1))
    for estimator, data in ((noise, X), (RandomizedResponse(np.inf), Y)):
        for call in (estimator.fit, estimator.transform, estimator.fit_transform):
            with pytest.warns(PrivacyLeakWarning, match="the data themselves") as caught:
                call(data)
            assert len(caught) == 1


def test_a_warning_points_past_pipelines():
    with pytest.warns(PrivacyLeakWarning) as caught:
        make_pipeline(OptimalDPNoise(random_state=0)).fit_transform(X)
    assert caught[0].filename == __file__


def numbers_in(pickled):
    return [argument for _, argument, _ in pickletools.genops(pickled)]


SEEDED = [
    (OptimalDPNoise(random_state=SEED), X),
    (OptimalDPNoise(perturb="fit", random_state=SEED), X),
    (RandomizedResponse(random_state=SEED), Y),
]


@quiet
@pytest.mark.parametrize(("estimator", "data"), SEEDED)
def test_a_fitted_pickle_holds_no_seed(estimator, data):
    estimator = clone(estimator)
    assert SEED in numbers_in(pickle.dumps(estimator))  # not fitted: equal for any n_jobs
    pickled = pickle.dumps(estimator.fit(data))
    assert SEED not in numbers_in(pickled)
    assert estimator.random_state == SEED
    estimator.set_params(random_state=SEED + 1)
    pickled = pickle.dumps(estimator)
    assert not {SEED, SEED + 1} & set(numbers_in(pickled))
    assert pickle.loads(pickle.dumps(clone(estimator))).random_state == SEED + 1


@quiet
def test_copies_in_this_process_keep_their_seed():
    noise = OptimalDPNoise(random_state=SEED).fit(X)
    for made in (copy.deepcopy(noise), pickle.loads(pickle.dumps(noise))):
        assert made.get_params() == noise.get_params()
        assert_array_equal(made.transform(X), noise.transform(X))


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_a_fit_that_failed_leaves_no_seed_in_a_pickle():
    noise = OptimalDPNoise(random_state=987_654_321)
    noise.fit_transform(np.zeros((3, 2)))
    with pytest.raises((ValueError, TypeError)):
        noise.fit([["a"]])
    assert str(987_654_321).encode() not in pickle.dumps(noise, protocol=0)
