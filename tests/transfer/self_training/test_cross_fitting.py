import numpy as np
from numpy.testing import assert_array_equal

from skdp.transfer.self_training import out_of_fold_scores, scores_by
from skdp.utils._labels import stratified_folds


class Remembers:
    """Scores each class that it learned from, and fails when it sees a row again."""

    def __init__(self, rows, labels):
        self.rows, self.n_classes = rows, len(np.unique(labels))

    def scores(self, queries):
        assert not np.isin(queries, self.rows).any()
        return np.ones((len(queries), self.n_classes))


def test_no_row_is_scored_by_a_model_that_saw_it(rng):
    labels = np.repeat([0, 1, 2], [30, 7, 2])
    folds = stratified_folds(labels, 4, rng)
    codes = np.arange(39.0)[:, np.newaxis]
    trusted = rng.rand(39) < 0.8
    trained = []

    def fit(settings, rows, known):
        trained.append(rows[:, 0].astype(int))
        return Remembers(rows, known)

    scores = out_of_fold_scores(fit, None, codes, labels, trusted, folds)
    assert scores.shape == (39, 3)
    assert np.isfinite(scores).all()
    assert set(np.concatenate(trained)) == set(np.flatnonzero(trusted))


def test_rows_in_no_fold_are_learned_from_and_not_scored(rng):
    labels, folds = np.arange(30) % 3, np.arange(30) % 5 - 1
    codes, trained = np.arange(30.0)[:, np.newaxis], []

    def fit(settings, rows, known):
        trained.append(rows[:, 0].astype(int))
        return Remembers(rows, known)

    everyone = np.ones(30, dtype=bool)
    scores = out_of_fold_scores(fit, None, codes, labels, everyone, folds)
    assert_array_equal(np.isnan(scores).all(axis=1), folds == -1)
    assert len(trained) == 4
    for rows in trained:
        assert set(np.flatnonzero(folds == -1)) <= set(rows)


def test_a_class_that_was_not_seen_is_as_far_below_the_worst_as_that_below_the_best():
    class Fixed:
        def scores(self, queries):
            return -np.array([[-3.0, 1.0], [2.0, 5.0]])

    labels = np.array([0, 2])
    scores = scores_by(lambda *_: Fixed(), None, np.zeros((2, 1)), labels, np.zeros((2, 1)), 4)
    assert_array_equal(scores, [[3, -5, -1, -5], [-2, -8, -5, -8]])
    alone = scores_by(None, None, np.zeros((1, 1)), np.array([2]), np.zeros((5, 1)), 4)
    assert_array_equal(alone, np.zeros((5, 4)))
