"""The papers' rule: of the errors of source and target, the least decides."""

from dataclasses import replace
from typing import Any

import numpy as np

from skdp.transfer.self_training import Step, out_of_fold_scores
from skdp.transfer.strategies._contributions import of_errors


class SourceSide:
    """What a strategy of the papers gets from the source; this one has nothing to give.

    Subclasses override what they can. Scores of shape (1, 1) stand for the same score of every
    row and class.
    """

    def rows(self, X):
        """Return the rows from which the target classifier learns."""
        return X

    def update(self, labels):
        """Take notice of the known and guessed classes of all target rows."""

    def follow(self, X):
        """Return a function that gives the current scores of these rows in every round."""
        return lambda: np.full((1, 1), -np.inf, dtype=np.float32)

    def finish(self, labels):
        """Learn what has to wait for the last labels."""

    def scores(self, X):
        """Return minus the squared errors of the source for each row and class, at the end."""
        return np.full((1, 1), -np.inf, dtype=np.float32)


class LeastErrorStrategy:
    """Self-training by the least error; the strategies "alignment" and "multitask".

    With one fold the target's errors are those of a classifier of all rows (Kumar and Moser,
    Algorithm 7). It has seen the very guesses that it scores, and confirms most of them. With
    more folds, guesses of each are scored by a classifier of the labelled rows and of the other
    folds.

    Parameters
    ----------
    side : SourceSide
        Of the strategy.

    task : Task
    """

    def __init__(self, side, task):
        self._side, self._task = side, task
        self._rows = side.rows(task.X)
        self._unlabelled = task.unlabelled
        n_unlabelled = np.count_nonzero(self._unlabelled)
        self._out_of_fold = n_unlabelled >= task.n_folds > 1
        self._folds = np.full(len(task.labels), -1)
        self._source_scores = side.follow(task.X[self._unlabelled])
        self._target: Any = None
        self._source_share = 0.0

    def start(self, settings, labels):
        """Return the guesses of a classifier of the labelled rows alone."""
        known = ~self._unlabelled
        scorer = self._task.fit(settings, self._rows[known], labels[known])
        return self._step(labels, scorer.scores(self._rows[self._unlabelled]))

    def step(self, settings, labels):
        """Return the guesses by the lesser error of target and source."""
        self._side.update(labels)
        if not self._out_of_fold:
            self._target = self._task.fit(settings, self._rows, labels)
        self._source_share = 0.0
        if not self._unlabelled.any():
            return self._step(labels, None)
        target, source = self._target_scores(settings, labels), self._source_scores()
        self._source_share = float(np.mean(source.max(axis=1) > target.max(axis=1)))
        return self._step(labels, np.maximum(target, source))

    def _target_scores(self, settings, labels):
        if not self._out_of_fold:
            return self._target.scores(self._rows[self._unlabelled])
        n_unlabelled = np.count_nonzero(self._unlabelled)
        order = self._task.random_state.permutation(n_unlabelled)
        self._folds[self._unlabelled] = order % self._task.n_folds
        # Depth is for the model that remains.
        settings, everyone = replace(settings, n_layers=1), np.ones(len(labels), dtype=bool)
        data = (self._rows, labels, everyone, self._folds)
        return out_of_fold_scores(self._task.fit, settings, *data)[self._unlabelled]

    def _step(self, labels, scores):
        """Return distributions that are certain, for errors have no common scale."""
        if scores is not None:
            labels = labels.copy()
            labels[self._unlabelled] = scores.argmax(axis=1)
        distributions = np.eye(len(self._task.class_indices))[labels]
        return Step(distributions, {"source_share": self._source_share})

    def finish(self, settings, labels):
        """Return the model of all rows."""
        self._side.update(labels)
        if self._out_of_fold:
            self._target = self._task.fit(settings, self._rows, labels)
        self._side.finish(labels)
        alone = self._task.release is None
        return LeastErrorModel(self._side, self._target, self._source_share, alone)


class LeastErrorModel:
    """Minus the lesser squared error of source and target.

    Parameters
    ----------
    side : SourceSide

    target_scorer : ReconstructionScorer

    source_share : float
        Fraction of the unlabelled rows that the source decided in the last round.

    alone : bool
        Whether there is no source.
    """

    # A share of rows says nothing of whether the source is right about them.
    least_source_weight = 0.0

    def __init__(self, side, target_scorer, source_share, alone):
        self._side, self._target_scorer = side, target_scorer
        self.target_classifier, self.source_weight = target_scorer.classifier, source_share
        # Scores are log-posteriors of a Gaussian residual when divided by it.
        self.temperature = self.target_classifier.temperature_
        self.contributions = of_errors(source_share, alone=alone)

    def source_scores(self, X):
        """Return minus the squared errors of the source."""
        return self._side.scores(self._side.rows(X))

    def target_scores(self, X):
        """Return minus the squared errors of the target classifier."""
        return self._target_scorer.scores(self._side.rows(X))

    def scores(self, X):
        """Return minus the lesser error."""
        rows = self._side.rows(X)
        return np.maximum(self._target_scorer.scores(rows), self._side.scores(rows))
