import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import root
from scipy.special import softmax

from skdp.transfer.strategies._prior_shift import prior_shift_offsets


def test_offsets_solve_their_equation(rng):
    """The gradient by a general solver, and by hand the fraction that is removed."""
    scores, expected = 2 * rng.randn(500, 3) + [0.7, 0.1, 0.0], np.array([0.2, 0.45, 0.35])

    def excess(b):
        odds = np.exp(scores + b)
        return np.mean(odds.T / odds.sum(axis=1), axis=1) - expected

    b = root(lambda b: excess(b) + 0.3 / 3 * b, np.zeros(3), tol=1e-12).x
    deviations = np.abs([excess(np.zeros(3)), excess(b)]).sum(axis=1)
    b *= 1 - deviations[1] / deviations[0]
    assert np.abs(b).max() > 0.1
    assert_allclose(prior_shift_offsets(scores, expected), b, atol=1e-4)


def test_offsets_help_rows_that_err_on_the_same_side(rng):
    frequencies = np.array([0.2, 0.3, 0.5])
    labels = rng.choice(3, 5000, p=frequencies)
    scores = 3 * np.eye(3)[labels] + rng.randn(5000, 3) + [0.0, 0.8, 0.0]
    offsets = prior_shift_offsets(scores, frequencies)
    assert_allclose(offsets.sum(), 0, atol=1e-12)
    assert offsets[1] < -0.1
    before, after = (softmax(each, axis=1).mean(axis=0) for each in (scores, scores + offsets))
    assert np.abs(after - frequencies).sum() < 0.8 * np.abs(before - frequencies).sum()
    better = np.mean((scores + offsets).argmax(axis=1) == labels)
    assert better > np.mean(scores.argmax(axis=1) == labels) + 0.01


@pytest.mark.parametrize("frequencies", [[0.5, 0.3, 0.2], [0.01, 0.39, 0.6], [1e-9, 0.5, 0.5]])
def test_offsets_stay_away_where_frequencies_are_others(rng, frequencies):
    labels = rng.choice(3, 5000, p=[0.2, 0.3, 0.5])
    scores = 12 * np.eye(3)[labels] + rng.randn(5000, 3)
    offsets = prior_shift_offsets(scores, np.array(frequencies))
    assert np.abs(offsets).max() < 0.05
    assert np.mean((scores + offsets).argmax(axis=1) != scores.argmax(axis=1)) < 0.001


@pytest.mark.parametrize("n_classes", [3, 10, 31])
@pytest.mark.parametrize("balanced", ["source", "target"])
def test_offsets_cost_little_where_half_of_one_side_is_one_class(rng, n_classes, balanced):
    even, half = np.full(n_classes, 1 / n_classes), np.full(n_classes, 0.5 / (n_classes - 1))
    half[0] = 0.5
    target, source = (half, even) if balanced == "source" else (even, half)
    labels = rng.choice(n_classes, 4000, p=target)
    scores = 4 * (4 * np.eye(n_classes)[labels] + rng.randn(4000, n_classes))  # log-posteriors
    offsets = prior_shift_offsets(scores, source)
    lost = np.mean(scores.argmax(axis=1) == labels)
    lost -= np.mean((scores + offsets).argmax(axis=1) == labels)
    assert lost < 0.01
    assert np.abs(offsets).max() < 1


def test_offsets_ignore_what_chance_does_to_frequencies(rng):
    """Scorers that are sure, and a class that is rarer in 2,000 rows than in the source."""
    labels = rng.choice(3, 2000, p=[0.32, 0.33, 0.35])
    scores = 6 * np.eye(3)[labels] + 2 * rng.randn(2000, 3)
    assert np.abs(prior_shift_offsets(scores, np.full(3, 1 / 3))).max() < 0.1
    assert_array_equal(prior_shift_offsets(np.zeros((10, 4)), np.full(4, 1 / 4)), 0)
