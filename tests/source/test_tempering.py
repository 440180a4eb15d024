"""How far noisy scores are trusted: the confidence that the source chooses by a noisy look."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from skdp import DPStatisticsSource
from skdp.source._integers import WEIGHT_GRID
from skdp.source._principal_model import (
    _LOSS_SENSITIVITY,
    _MOST,
    _TRIED,
    best_confidence,
    tempered_confidence,
)

COUNTS = np.array([600.0, 300.0, 100.0])


class Recorder:
    """Queries that add no noise, or some, and keep the sums."""

    def __init__(self, deviation=0.0):
        self.noise = deviation

    def add(self, name, values, sensitivity):
        assert (name, sensitivity) == ("losses", _LOSS_SENSITIVITY)
        self.sums = values
        return values

    def deviation(self, name, sensitivity):
        return self.noise * WEIGHT_GRID


def scored(rng, n, slope):
    """Return scores whose log-odds are ``slope`` times what they should be, and classes."""
    base = np.log(COUNTS / COUNTS.sum())
    right = base + rng.normal(size=(n, 3)) * 1.5
    p = softmax(right, axis=1)
    y = (rng.rand(n, 1) > np.cumsum(p, axis=1)).sum(axis=1)
    return base + slope * (right - base), y


def block(scores, y):
    return [(scores, y, np.full(len(y), WEIGHT_GRID))]


def test_sums_are_changes_of_brier_scores(rng):
    scores, y = scored(rng, 2000, 0.5)
    base = np.log(COUNTS / COUNTS.sum())
    queries = Recorder()
    tempered_confidence(block(scores, y), COUNTS, queries)
    truth = np.eye(3)[y]
    without = ((softmax(base) - truth) ** 2).sum(axis=1)
    for c, total in zip(_TRIED, queries.sums, strict=True):
        with_them = ((softmax(base + c * (scores - base), axis=1) - truth) ** 2).sum(axis=1)
        change = np.clip(with_them - without, -_MOST, _MOST).sum()
        assert total / WEIGHT_GRID == pytest.approx(change, abs=2e-2)


def test_a_record_changes_the_sums_by_no_more_than_their_sensitivity(rng):
    scores, y = scored(rng, 1000, 30.0)  # far too sure
    queries, norms = Recorder(), []
    tempered_confidence(block(scores, y), COUNTS, queries)
    whole = queries.sums
    for i in range(len(y)):
        tempered_confidence(block(scores[i : i + 1], y[i : i + 1]), COUNTS, queries)
        whole = whole - queries.sums
        norms.append(np.linalg.norm(queries.sums.astype(float)))
    assert_array_equal(whole, 0)  # sums over rows, each of which depends on its row alone
    assert 0.95 * _LOSS_SENSITIVITY < max(norms) <= _LOSS_SENSITIVITY


@pytest.mark.parametrize("slope", [1.0, 2.0, 4.0])
def test_without_noise_it_is_the_best(rng, slope):
    scores, y = scored(rng, 40_000, slope)
    base = np.log(COUNTS / COUNTS.sum())

    def loss(c):
        tempered = softmax(base + c * (scores - base), axis=1)
        return ((tempered - np.eye(3)[y]) ** 2).sum(axis=1).mean()

    best = minimize_scalar(loss, bounds=(0, 1), method="bounded").x
    chosen = tempered_confidence(block(scores, y), 1e5 * COUNTS, Recorder(0.001))
    assert chosen == pytest.approx(best, abs=0.12)
    assert best == pytest.approx(1 / slope, abs=0.05)
    assert loss(chosen) < loss(best) + 0.006  # clipping makes light of the largest harm


def test_what_noise_hides_is_not_trusted(rng):
    changes = -np.array([60.0, 90.0, 100.0, 95.0])
    assert best_confidence(changes, 1.0, 1000) == pytest.approx(0.8, abs=0.1)
    assert best_confidence(changes, 1000.0, 1000) == 0
    assert best_confidence(-changes, 1.0, 1000) == 0
    # Of pure noise hardly anything is believed: a few times in a hundred more than a little.
    noise = 100 * rng.normal(size=(400, 4))
    chosen = np.array([best_confidence(each, 100.0, 300) for each in noise])
    assert np.mean(chosen > 0.25) < 0.35
    assert np.median(chosen) == 0


@pytest.mark.parametrize("model", ["logistic", "mixtures"])
@pytest.mark.filterwarnings("ignore:This release does not separate")
def test_of_no_rows_nothing_is_claimed(model):
    X, y = np.zeros((5, 30)), np.full(5, 9)  # of a class that is not listed
    source = DPStatisticsSource(1.0, classes=range(4), model=model)
    releases = [source.fit(X, y).release_ for _ in range(12)]
    doubts = [release.model.doubt() for release in releases]
    rows = np.random.RandomState(0).rand(50, 30)
    top = [release.predict_proba(rows).max() for release in releases]
    # Of 64 draws before none was doubted, and every top probability was 1.
    assert sum(doubt is not None for doubt in doubts) >= 6
    assert np.median(top) < 0.6
