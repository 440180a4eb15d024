import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn import config_context
from sklearn.base import clone

from skdp import (
    DPSource,
    OptimalDPNoise,
    PrivacyLeakWarning,
    RandomizedResponse,
)

CLASSES = np.array(["a", "b", "c", "d"])
N = 400_000


def transition_counts(epsilon, label):
    response = RandomizedResponse(epsilon, classes=CLASSES)
    noisy = response.fit_transform(np.full(N, label))
    return np.array([np.sum(noisy == c) for c in CLASSES])


def expected_probabilities(epsilon, label):
    odds = np.where(label == CLASSES, np.exp(epsilon), 1.0)
    return odds / odds.sum()


@pytest.mark.parametrize("label", ["a", "c"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_labels_follow_the_distribution_and_not_its_neighbors(epsilon, label):
    counts = transition_counts(epsilon, label)
    assert stats.chisquare(counts, N * expected_probabilities(epsilon, label)).pvalue > 1e-6
    for wrong in (0.8 * epsilon, 1.2 * epsilon):
        assert stats.chisquare(counts, N * expected_probabilities(wrong, label)).pvalue < 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 19.0, 50.0])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_the_table_keeps_epsilon(epsilon, k):
    response = RandomizedResponse(epsilon).fit(np.arange(k))
    kept, *others = response._table.weights
    assert kept / min(others) <= np.exp(epsilon)
    assert kept / min(others) >= np.exp(min(epsilon, 20.0)) * (1 - 1e-6)
    assert_allclose(response.keep_probability_, kept / 2.0**64, rtol=1e-9)


def test_counts_are_unbiased():
    y = np.repeat(CLASSES, [60, 30, 10, 0])
    response = RandomizedResponse(1.0, classes=CLASSES).fit(y)
    noisy = response.transform(np.tile(y, 4000)).reshape(4000, len(y))
    estimates = np.array([response.unbiased_counts(labels) for labels in noisy])
    error = estimates.std(axis=0) / np.sqrt(len(estimates))
    assert np.all(np.abs(estimates.mean(axis=0) - [60, 30, 10, 0]) < 5 * error)
    assert_allclose(estimates.sum(axis=1), 100)
    # The counts of the noisy labels themselves are far off.
    assert abs(60 * response.keep_probability_ + 40 * 0.17 - 60) > 20 * error[0]


def repeated_memberships(factor=1.0):
    """Mean weights of 100,000 draws of each label, and their standard errors."""
    y = np.repeat(CLASSES, 100_000)
    response = RandomizedResponse(1.0, classes=CLASSES).fit(y)
    noisy = response.transform(y)
    response.keep_probability_ *= factor
    weights = response.unbiased_memberships(noisy).reshape(4, 100_000, 4)
    return weights.mean(axis=1), weights.std(axis=1) / np.sqrt(100_000)


def test_memberships_are_unbiased():
    mean, error = repeated_memberships()
    assert np.all(np.abs(mean - np.eye(4)) < 5.5 * error)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_memberships_of_a_wrong_keep_probability_are_biased(factor):
    mean, error = repeated_memberships(factor)
    assert np.all(np.abs(mean - np.eye(4)) > 5.5 * error)


def test_memberships_are_two_values_and_sum_to_counts():
    response = RandomizedResponse(1.5, classes=CLASSES).fit(CLASSES)
    noisy = response.transform(np.repeat(CLASSES, [60, 30, 10, 0]))
    weights = response.unbiased_memberships(noisy)
    keep = np.exp(1.5) / (np.exp(1.5) + 3)
    other = (1 - keep) / 3
    reported = noisy[:, np.newaxis] == CLASSES
    assert_allclose(weights[reported], (1 - other) / (keep - other), rtol=1e-8)
    assert_allclose(weights[~reported], -other / (keep - other), rtol=1e-8)
    assert_allclose(weights.sum(axis=1), 1)
    assert_allclose(weights.sum(axis=0), response.unbiased_counts(noisy), rtol=1e-12, atol=1e-12)


def test_without_noise_memberships_are_the_labels_themselves():
    with pytest.warns(PrivacyLeakWarning):
        response = RandomizedResponse(np.inf, classes=CLASSES).fit(CLASSES)
    assert_array_equal(response.unbiased_memberships(["b", "d"]), np.eye(4)[[1, 3]])


def test_what_it_states():
    guarantee = RandomizedResponse(0.5).fit([1, 2, 1]).guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (0.5, 0.0, "label")
    assert "two lists of labels that differ in one label" in str(guarantee)
    assert "by randomized response" in str(guarantee)
    assert guarantee.to_record() is guarantee


def test_leaky_settings_warn_and_seeds_repeat():
    y = np.arange(200) % 3
    with pytest.warns(PrivacyLeakWarning, match="random_state=0") as caught:
        first = RandomizedResponse(random_state=0).fit_transform(y)
    assert len(caught) == 1
    with pytest.warns(PrivacyLeakWarning):
        assert_array_equal(RandomizedResponse(random_state=0).fit_transform(y), first)
    with pytest.warns(PrivacyLeakWarning, match="the data themselves"):
        assert_array_equal(RandomizedResponse(np.inf).fit_transform(y), y)
    assert (RandomizedResponse().fit_transform(y) != RandomizedResponse().fit_transform(y)).any()
    generator = np.random.RandomState(0)
    assert clone(RandomizedResponse(random_state=generator)).random_state is generator


NOT_AMONG = "labels that are not in the 'classes'"


def test_labels_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match=r"'classes'.*at least two, got 1"):
        RandomizedResponse().fit(["a", "a"])
    with pytest.raises(ValueError, match=NOT_AMONG):
        RandomizedResponse(classes=CLASSES).fit(["a", "e"])
    with pytest.raises(ValueError, match=NOT_AMONG):
        RandomizedResponse(classes=CLASSES).fit(["a", "b"]).transform(["e"])
    with pytest.raises(ValueError, match="'epsilon' parameter"):
        RandomizedResponse(0.0).fit(["a", "b"])
    fitted = RandomizedResponse(classes=CLASSES).fit(["a", "b"])
    for method in (fitted.unbiased_memberships, fitted.unbiased_counts):
        with pytest.raises(ValueError, match=NOT_AMONG):
            method(["a", "e"])


def exception_of(call, *args):
    try:
        call(*args)
    except (TypeError, ValueError) as error:
        return error
    return None


@pytest.mark.parametrize("classes", [None, ["a", "b"], [0, 1]])
@pytest.mark.parametrize(
    "y",
    [
        ["secret", "secret"],
        ["secret", 1],
        [None, "secret"],
        np.array(["secret", "b"], dtype=object),
        np.array(["secret", 3], dtype=object),
        [["secret"], ["b"]],
        [["secret", "b"], ["x", "y"]],
        "secret",
        [31.4159, 2.0],
        [31.4159, 2 + 3j],
        [31.4159, np.nan],
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_no_exception_prints_a_label(classes, y):
    for call in (
        RandomizedResponse(classes=classes).fit,
        RandomizedResponse(classes=[5, 6]).fit([5, 6]).transform,
    ):
        error = exception_of(call, y)
        while error is not None:
            assert "secret" not in str(error)
            assert "31.4" not in str(error)
            error = error.__context__


@pytest.mark.parametrize("epsilon", [-5.0, 0.0, np.nan])
def test_no_configuration_skips_the_check_of_epsilon(epsilon):
    with config_context(skip_parameter_validation=True):
        with pytest.raises(ValueError, match="'epsilon' parameter"):
            RandomizedResponse(epsilon).fit_transform(["a", "b"])
        with pytest.raises(ValueError, match="'epsilon' parameter"):
            OptimalDPNoise(epsilon).fit_transform(np.zeros((3, 2)))


def test_missing_labels_are_never_labels():
    with config_context(assume_finite=True):
        with pytest.raises(ValueError, match=r"NaN|continuous"):
            RandomizedResponse(classes=[0.0, 1.0]).fit([0.0, np.nan])
        response = RandomizedResponse(classes=[0.0, 1.0]).fit([0.0, 1.0])
        with pytest.raises(ValueError, match=rf"{NOT_AMONG}|continuous"):
            response.transform([np.nan])


def test_the_release_learns_from_the_noisy_labels_alone(digits):
    X, y = digits

    class Constant(RandomizedResponse):
        def transform(self, y):
            return np.arange(len(y)) % 2

    source = DPSource(16.0, n_layers=1, label_noise=Constant(3.0), random_state=0).fit(X, y)
    assert_array_equal(source.classes_, [0, 1])
    assert_array_equal(source.release_.classes, [0, 1])
