"""What a release is worth for a target, against closed forms and other rows."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin

from skdp import DPStatisticsSource
from skdp.datasets import load_heart_disease
from skdp.information import transferability


class Channel:
    """A classifier whose posteriors are given."""

    def __init__(self, probabilities, classes=(0, 1)):
        self.probabilities, self.classes_ = np.asarray(probabilities), np.asarray(classes)

    def predict_proba(self, X):
        return self.probabilities[np.asarray(X, dtype=int)[:, 0]]


def flipped(n, share, seed=0):
    """Return a channel that is right but for a share of the rows, its rows and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    said = np.where(rng.random(n) < share, 1 - y, y)
    return Channel([[1 - share, share], [share, 1 - share]]), said[:, None], y


def information_of(share):
    return np.log(2) + share * np.log(share) + (1 - share) * np.log(1 - share)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("with_labels", [True, False])
def test_a_binary_symmetric_channel(share, with_labels):
    channel, X, y = flipped(4000, share)
    found = transferability(channel, X, y if with_labels else None, random_state=0)
    truth = information_of(share)
    assert found.estimate == pytest.approx(truth, abs=2.5 * found.standard_error + 1e-3)
    assert found.is_bound == with_labels
    for other in (0.9 * share, 1.1 * share):
        if share == 0.2:
            assert abs(found.estimate - information_of(other)) > abs(found.estimate - truth)


def test_labels_correct_what_was_claimed():
    """Posteriors that claim too much, or frequencies that are others, are worth as much."""
    channel, X, y = flipped(4000, 0.2)
    too_sure = Channel(expit([[6.0, -6.0], [-6.0, 6.0]]))
    sure = transferability(too_sure, X, y, random_state=0)
    plain = transferability(channel, X, y, random_state=0)
    assert sure.estimate == pytest.approx(plain.estimate, abs=0.01)
    assert transferability(too_sure, X).estimate > 0.6  # nothing tells without labels


def test_labels_that_have_nothing_to_do_with_scores():
    above = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.ones(3), size=60)
        found = transferability(
            Channel(p, [0, 1, 2]), np.arange(60)[:, None], rng.integers(3, size=60), random_state=0
        )
        above.append(found.estimate > 2 * found.standard_error)
    assert sum(above) <= 2


@pytest.mark.filterwarnings("ignore")  # of seeds, and of releases that tell little
def test_rows_that_cluster_like_the_classes_add_to_what_is_claimed():
    """Of normal classes far apart, five noisy releases and what the transfer makes of them."""
    rng = np.random.default_rng(0)
    means, y = rng.random((3, 12)), np.arange(600) % 3
    X, Z = (np.clip(means[y] + 0.05 * rng.normal(size=(600, 12)), 0, 1) for _ in range(2))
    more = []
    for seed in range(5):
        source = DPStatisticsSource(
            0.2, bounds=(0, 1), classes=[0, 1, 2], model="linear", random_state=seed
        )
        release = source.fit(X, y).release_
        alone = Channel(release.predict_proba(Z), [0, 1, 2])
        claimed = transferability(alone, np.arange(600)[:, None]).estimate
        found = transferability(release, Z, random_state=0)
        more.append(found.estimate - claimed)
        assert found.estimate < np.log(3)
        assert "no label has confirmed" in str(found)
    assert min(more) > -0.01
    assert np.mean(more) > 0.04


def test_releases_with_less_noise_are_worth_more():
    heart = load_heart_disease()
    here = heart.hospital == "Budapest"
    X, y = heart.data[here], heart.target[here]
    there = heart.hospital == "Cleveland"

    def worth(epsilon, labels):
        source = DPStatisticsSource(epsilon, encoder=heart.schema, model="linear")
        with pytest.warns() if epsilon < 1 else nullcontext():
            release = source.fit(heart.data[there], heart.target[there]).release_
        return transferability(release, X, labels, random_state=0)

    much, little = worth(50.0, y), worth(0.05, y)
    assert much.low > max(little.estimate, 0.05)
    assert "or more" not in str(worth(50.0, None))


@pytest.mark.parametrize(
    ("release", "y", "words"),
    [
        ("a file", None, "'release' .* got str"),
        (Channel([[0.5, 0.5]]), [0, 1], "one label for each of 6 rows"),
        (Channel([[0.5, 0.5]]), [0, 1, 2, 3, 0, 1], "not classes of the release: '2', '3'"),
    ],
)
def test_what_cannot_be_done_is_refused(release, y, words):
    with pytest.raises(ValueError, match=words):
        transferability(release, np.zeros((6, 1)), y)
    channel = Channel([[0.5, 0.5]])
    with pytest.raises(ValueError, match="four rows or more, got 3"):
        transferability(channel, np.zeros((3, 1)), [0, 1, 0])
    with pytest.raises(ValueError, match=r"'cv' .* 2 or more, got 1"):
        transferability(channel, np.zeros((4, 1)), [0, 1, 0, 1], cv=1)


@pytest.mark.filterwarnings("error:divide by zero")
def test_classes_without_a_label_and_classes_named_minus_one():
    channel, X, y = flipped(200, 0.1)
    three = Channel(np.pad(channel.probabilities, ((0, 0), (0, 1))), ["a", "b", "c"])
    found = transferability(three, X, np.array(["a", "b"])[y], random_state=0)
    assert found.low > 0.1
    rng = np.random.default_rng(0)
    Z = rng.random((400, 2))
    labels = np.where(Z[:, 0] > 0.5, 1, -1)
    source = DPStatisticsSource(50.0, bounds=(0, 1), classes=[-1, 1], model="linear")
    release = source.fit(Z, labels).release_
    assert transferability(release, Z).estimate > 0.4  # -1 is a class, not a mark


class Line(RegressorMixin, BaseEstimator):
    """A regressor whose predictions and standard deviations are given."""

    def __init__(self, slope=1.0, deviation=1.0):
        self.slope, self.deviation = slope, deviation

    def predict(self, X, return_std=False):
        predicted = self.slope * np.asarray(X)[:, 0]
        return (predicted, np.full(len(X), self.deviation)) if return_std else predicted


@pytest.mark.parametrize("r2", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("with_outcomes", [True, False])
def test_a_normal_channel(r2, with_outcomes):
    """Of two normal numbers the information is -log(1 - R²) / 2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    sd = np.sqrt((1 - r2) / r2)
    y = X[:, 0] + sd * rng.normal(size=4000)
    y = np.exp(y) if with_outcomes else None  # any increasing function says as much
    found = transferability(Line(deviation=sd), X, y, random_state=0)
    truth = -np.log(1 - r2) / 2
    assert found.estimate == pytest.approx(truth, abs=3 * found.standard_error + 2e-3)
    if r2 > 0.1:  # where a tenth of it is more than the standard error
        assert abs(found.estimate + np.log(1 - 0.9 * r2) / 2) > abs(found.estimate - truth)
    assert (found.is_bound, found.about) == (with_outcomes, "the number")


def test_outcomes_correct_what_a_regressor_claims():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 1))
    y = -X[:, 0] + rng.normal(size=500)
    wrong = transferability(Line(5.0, 0.1), X, y, random_state=0)
    assert wrong.estimate == pytest.approx(np.log(2) / 2, abs=3 * wrong.standard_error)
    assert transferability(Line(5.0, 0.1), X).estimate > 2
    nothing = transferability(Line(), X, rng.permutation(y), random_state=0)
    assert nothing.estimate < 0.02
    with pytest.raises(ValueError, match="a number for each of 500 rows"):
        transferability(Line(), X, np.where(X[:, 0] > 0, y, np.nan))
