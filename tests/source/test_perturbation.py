import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from skdp import (
    DPSource,
    GaussianDPNoise,
    OptimalDPNoise,
    PrivacyLeakWarning,
    RandomizedResponse,
)
from skdp.source._perturbation import (
    make_noise,
    make_response,
    perturb_labels,
    perturb_rows,
)
from skdp.tabular import as_schema


def test_noise_and_source_must_not_contradict_each_other(small):
    X, y = small
    for source in (DPSource(4.0, noise=OptimalDPNoise(4.0)), DPSource(noise=OptimalDPNoise(4.0))):
        assert source.fit(X, y).guarantee_.epsilon == 4.0
    for epsilon in (1.0, 0.5):
        with pytest.raises(ValueError, match=r"'epsilon' parameter of DPSource is .* is 4.0"):
            DPSource(epsilon, noise=OptimalDPNoise(4.0)).fit(X, y)
    noise = OptimalDPNoise(4.0, 1e-3, 2.0)
    assert make_noise(DPSource(delta=1e-3, sensitivity=2.0, noise=noise)) is noise
    with pytest.raises(ValueError, match=r"'delta' parameter of DPSource is 1e-05, .* is 0.001"):
        make_noise(DPSource(4.0, 1e-5, noise=noise))
    with pytest.raises(ValueError, match=r"'sensitivity' parameter of DPSource is 1.0, .* is 2.0"):
        make_noise(DPSource(4.0, sensitivity=1.0, noise=noise))


@pytest.mark.parametrize("name", ["optimal", "staircase", "gaussian"])
def test_a_budget_that_nobody_stated_is_the_default_one(name):
    noise = make_noise(DPSource(noise=name))
    delta = 1e-5 if name == "gaussian" else 0.0
    assert (noise.epsilon, noise.delta, noise.sensitivity) == (1.0, delta, 1.0)
    noise = make_noise(DPSource(2.0, noise=name))
    assert (noise.epsilon, noise.delta, noise.sensitivity) == (2.0, delta, 1.0)


class Silent(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class Lazy(OptimalDPNoise):
    def fit_transform(self, X, y=None):
        super().fit(X)
        return X


class Dropping(OptimalDPNoise):
    def fit_transform(self, X, y=None):
        return super().fit_transform(X)[:, 1:]


@pytest.mark.parametrize(
    ("noise", "problem"),
    [
        (Silent(), "has no guarantee_for"),
        (OptimalDPNoise, r"is the class OptimalDPNoise\. .*OptimalDPNoise\(\)"),
        (make_pipeline(MinMaxScaler(), OptimalDPNoise()), "has no guarantee_for"),
        (Dropping(), "changes the shape"),
        (Lazy(), "left most elements as they are"),
    ],
)
def test_what_is_no_noise_is_refused(small, noise, problem):
    with pytest.raises(ValueError, match=problem):
        DPSource(noise=noise).fit(*small)


class Unsure(GaussianDPNoise):
    """States another variance than it has."""

    def __init__(self, epsilon=1.0, stated=None):
        super().__init__(epsilon)
        self.stated = stated

    def fit_transform(self, X, y=None):
        noisy = super().fit_transform(X, y)
        if self.stated is None:
            del self.variance_
        else:
            self.variance_ = self.stated
        return noisy


def test_a_noise_without_a_variance_cannot_be_allowed_for(rng):
    X, y = rng.rand(60, 4), np.arange(60) % 3
    for parts in ("noise_aware", "all"):
        with pytest.raises(
            ValueError, match=r"variance_ \(got None\), which all parts but parts='papers' need"
        ):
            DPSource(noise=Unsure(), parts=parts).fit(X, y)
    source = DPSource(noise=Unsure(), parts="papers", n_layers=1).fit(X, y)
    assert source.release_.moments is None


@pytest.mark.parametrize("stated", [-1.0, np.nan, np.inf, [1.0, 2.0], "large"])
def test_what_is_no_variance_is_refused(rng, stated):
    with pytest.raises(ValueError, match=r"states no variance_"):
        perturb_rows(Unsure(stated=stated), rng.rand(60, 4), needs_variance=True)


@pytest.mark.parametrize("stated", [2.0, [2.0, 2.0, 2.0, 2.0]])
def test_the_variance_is_that_of_each_feature(rng, stated):
    noisy = perturb_rows(Unsure(stated=stated), rng.rand(60, 4), needs_variance=True)
    assert_array_equal(noisy.variance, np.full(4, 2.0))
    assert perturb_rows(Unsure(), rng.rand(60, 4), needs_variance=False).variance is None


def test_noisy_labels_have_the_weights_of_their_response():
    y = np.repeat(["a", "b", "c"], 40)
    response = RandomizedResponse(1.0, random_state=np.random.RandomState(0))
    labels = perturb_labels(response, y)
    assert not hasattr(response, "guarantee_")
    noisy = labels.classes[labels.indices]
    assert 0 < np.mean(noisy != y) < 1
    assert_array_equal(labels.weights, clone(response).fit(y).unbiased_memberships(noisy))
    assert labels.guarantee.epsilon == 1.0


def test_one_class_is_not_enough_but_noise_may_leave_one():
    class Constant(RandomizedResponse):
        def transform(self, y):
            return np.full(len(y), "a")

    with pytest.raises(ValueError, match=r"at least two classes, got one class: \['a'\]"):
        perturb_labels(None, np.array(["a", "a"]))
    labels = perturb_labels(Constant(), np.array(["a", "b", "b"]))
    assert labels.classes[labels.indices].tolist() == ["b", "a", "a"]
    assert labels.weights.shape == (3, 2)


AGE = {"age": {"type": "numeric", "low": 0, "high": 100}}


@pytest.mark.parametrize(
    ("source", "warns"),
    [
        (DPSource(), True),
        (DPSource(8.0, noise="gaussian"), True),
        (DPSource(noise=OptimalDPNoise(8.0, privacy_unit="record")), True),
        (DPSource(sensitivity=1.0), False),
        (DPSource(bounds=(0, 1)), False),
        (DPSource(encoder=AGE), False),
        (DPSource(sensitivity=1.0, noise=OptimalDPNoise()), False),
        (DPSource(noise=OptimalDPNoise(sensitivity=2.0)), False),
        (DPSource(noise=OptimalDPNoise(bounds=(0, 9))), False),
        (DPSource(noise=Silent()), False),
    ],
)
def test_a_range_that_nobody_stated_warns(source, warns):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make_noise(source)
    said = r"DPSource without 'bounds' or 'sensitivity' protects"
    assert [str(w.message).startswith(said) for w in caught] == [True] * warns
    assert all(w.category is PrivacyLeakWarning for w in caught)


def test_the_noise_gets_the_bounds_of_the_source():
    assert make_noise(DPSource(2.0, bounds=(0, 9))).bounds == (0, 9)
    assert make_noise(DPSource(2.0, encoder=AGE)).bounds == (0, 1)
    own = OptimalDPNoise(2.0, random_state=np.random.RandomState(0))
    noise = make_noise(DPSource(bounds=(0, 9), noise=own))
    assert (noise.bounds, own.bounds) == ((0, 9), None)
    assert noise.random_state is own.random_state  # goes on, and never draws the same twice


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"bounds": (0, 1), "encoder": AGE}, "'bounds' parameter .* beside an 'encoder'"),
        ({"bounds": (0, 1), "sensitivity": 1.0}, "'sensitivity' parameter .* beside 'bounds'"),
        ({"encoder": AGE, "sensitivity": 1.0}, "'sensitivity' parameter .* beside .* 'encoder'"),
        ({"bounds": (0, 1), "noise": OptimalDPNoise(bounds=(0, 9))}, "but that of its noise is"),
        ({"bounds": (0, 1), "noise": Silent()}, "but that of its noise is 'not a parameter'"),
    ],
)
def test_bounds_that_contradict_are_refused(small, settings, problem):
    with pytest.raises(ValueError, match=problem):
        DPSource(**settings).fit(*small)


def test_a_response_takes_the_classes_of_the_schema():
    listed = as_schema({"version": 1, "columns": AGE, "classes": ["a", "b", "c"]})
    own = RandomizedResponse(1.0, classes=["a", "b"])
    plain = RandomizedResponse(1.0)
    assert make_response(plain, listed).classes == ("a", "b", "c")
    assert plain.classes is None
    assert make_response(own, listed) is own
    assert make_response(plain, as_schema(AGE)) is plain
    assert make_response(None, listed) is None
