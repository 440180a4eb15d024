import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import NearestNeighbors

from skdp.secure import ScoreScale, class_scores, combine_scores


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-25.0, 0.0), (-3, 8)])
@pytest.mark.parametrize("larger", [True, False])
def test_nearest_of_256_steps(low, high, larger):
    scores = np.random.RandomState(0).uniform(low, high, (50, 4))
    steps = low + (high - low) * np.arange(256) / 255
    nearest = np.abs(scores[..., None] - steps).argmin(axis=-1)
    expected = 255 - nearest if larger else nearest
    found = ScoreScale(low, high, larger).dissimilarities(scores)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, expected)


def test_scores_beyond_the_scale_are_clipped_with_a_warning_that_tells_nothing():
    with pytest.warns(UserWarning, match="ends of the public scale") as caught:
        found = ScoreScale(0, 1).dissimilarities([[1.25, -7.5, 0.0]])
    assert found.tolist() == [[0, 255, 255]]
    assert not any(char.isdigit() for char in str(caught[0].message))


@pytest.mark.parametrize("largest", [1 + 1e-12, 1 + 0.9 / 510])
def test_what_rounding_moves_more_needs_no_warning(largest):
    """Probabilities are beyond 1 by the last bit at times."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ScoreScale(0, 1).dissimilarities([[largest, 1 - largest]]).tolist() == [[0, 255]]
    with pytest.warns(UserWarning, match="ends of the public scale"):
        ScoreScale(0, 1).dissimilarities([[1 + 1.1 / 510, 0]])


@pytest.mark.parametrize(
    "ends",
    [
        *[(1, 1), (2, 1), (0, np.inf), (np.nan, 1), ("0", 1), (True, 2), (0, 10**400)],
        (-1.5e308, 1.5e308),  # their distance is not finite
    ],
)
def test_ends_of_the_scale(ends):
    with pytest.raises(ValueError, match=r"low < high"):
        ScoreScale(*ends)


def test_direction_is_true_or_false():
    with pytest.raises(ValueError, match="larger_is_likelier"):
        ScoreScale(0, 1, "yes")


def test_ends_may_be_any_real_numbers():
    assert ScoreScale(Fraction(-1, 2), 2**70) == ScoreScale(-0.5, float(2**70))


@pytest.mark.parametrize(
    "scores",
    [
        *[[1.0], [[np.nan, 1.0]], [[np.inf, 1.0]], [["Smith", 1]], [[None, 1]], [[1], [2, 3]]],
        *[[[1j, 1]], [[10**400, 1]], [[object(), 1]], [[[1.0]]]],
    ],
)
def test_scores_are_a_finite_matrix(scores):
    with pytest.raises(ValueError, match="matrix of finite numbers") as caught:
        ScoreScale(0, 1).dissimilarities(scores)
    assert "Smith" not in str(caught.value)
    assert caught.value.__context__ is None  # NumPy's error quotes values


def test_class_scores():
    X, y = [[0.0], [1.0], [3.0]], ["a", "b", "b"]
    model = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(class_scores(model, X), model.predict_proba(X))
    ridge = RidgeClassifier().fit(X, y)
    margin = ridge.decision_function(X)
    np.testing.assert_array_equal(class_scores(ridge, X), np.column_stack([-margin, margin]))
    with pytest.raises(ValueError, match="no method predict_proba or decision_function"):
        class_scores(NearestNeighbors().fit(X), X)
    with pytest.raises(ValueError, match="no method predict_proba"):
        class_scores(ridge, X, "predict_proba")
    for method in ("predict", "get_params", None):
        with pytest.raises(ValueError, match="'method' parameter"):
            class_scores(model, X, method)


def test_combination_by_loops():
    rng = np.random.RandomState(0)
    values = rng.randint(0, 6, (3, 200, 5))  # many ties
    for found, query in zip(combine_scores(values), values.swapaxes(0, 1), strict=True):
        best, winner = 256, None
        for c in range(5):
            least = min(int(query[s][c]) for s in range(3))
            if least < best:  # of equal classes the first
                best, winner = least, c
        assert found == winner
