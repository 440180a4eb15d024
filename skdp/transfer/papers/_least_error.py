"""The papers' strategies, in which the smaller error of source and target decides.

"alignment" is Kumar and Moser, Algorithm 7; "multitask" SERUMS D3.3 (2022), section 1.3.2.
"""

from functools import partial
from typing import Any

import numpy as np

from skdp.membership import MembershipMapping, group_errors
from skdp.release import class_medians
from skdp.transfer._self_training import (
    SelfTrainingSchedule,
    Step,
    Strategy,
)
from skdp.transfer._target_model import Contribution
from skdp.utils._linalg import squared_distances
from skdp.utils._parallel import map_rows, run_tasks

# Largest number of inducing points in "multitask": SERUMS D3.3 (2022), equation (1.86).
_MAX_INDUCING = 1000


class SourceSide:
    """Part of the source in a strategy; this base class stands for no source.

    Scores of shape (1, 1) stand for equal scores of all rows and classes.
    """

    def rows(self, X):
        """Return the rows from which the target classifier learns."""
        return X

    def update(self, labels):
        """Use the known and predicted classes of all target rows."""

    def finish(self, labels):
        """Learn from the labels of the last round."""

    def scores(self, X):
        """Return the negative squared errors of the source for each row and class, at the end."""
        return np.full((1, 1), -np.inf, dtype=np.float32)

    # The same in rounds.
    current_scores = scores


class LeastErrorRounds:
    """Self-training in which the smaller error, of source or target, decides.

    The target's errors are those of a classifier of all rows (Kumar and Moser, Algorithm 7). It is
    trained on the pseudo-labels that it scores, and confirms most of them.

    Parameters
    ----------
    side : SourceSide
        Source side of the strategy.

    task : Task

    training : SelfTraining
    """

    def __init__(self, side, task, training):
        self._side, self._task, self._training = side, task, training
        self._rows = side.rows(task.X)
        self._unlabeled = task.unlabeled
        self._target: Any = None
        self._source_share, self._n_components = 0.0, None

    def _fit(self, settings, rows, labels):
        """Return a scorer of these rows, and remember the size of its codes."""
        scorer = self._training.fit_autoencoders(settings, rows, labels)
        groups = scorer.classifier.autoencoders_by_class()
        self._n_components = max(a.n_components_ for group in groups for a in group)
        return scorer

    def start(self, settings, labels):
        """Return the predictions of a classifier of the labeled rows alone."""
        # Kumar and Moser, equation (126).
        is_labeled = ~self._unlabeled
        scorer = self._fit(settings, self._rows[is_labeled], labels[is_labeled])
        return self._step(settings, labels, scorer.scores(self._rows[self._unlabeled]))

    def step(self, settings, labels):
        """Return predictions by the smaller error of target and source."""
        # Kumar and Moser, equations (123), (124), (129) and (130).
        self._side.update(labels)
        self._target = self._fit(settings, self._rows, labels)
        self._source_share = 0.0
        if not self._unlabeled.any():
            return self._step(settings, labels, np.empty((0, 1)))
        target = self._target.scores(self._rows[self._unlabeled])
        source = self._side.current_scores(self._task.X[self._unlabeled])
        self._source_share = float(np.mean(source.max(axis=1) > target.max(axis=1)))
        return self._step(settings, labels, np.maximum(target, source))

    def _step(self, settings, labels, scores):
        """Return one-hot distributions, because errors have no common scale.

        ``scores`` has the unlabeled rows only.
        """
        labels = labels.copy()
        labels[self._unlabeled] = scores.argmax(axis=1)
        distributions = np.eye(self._task.n_classes)[labels]
        details: dict[str, Any] = {"source_share": self._source_share}
        if settings.n_components == "auto":
            details["n_components"] = self._n_components
        return Step(distributions, details)

    def finish(self, settings, labels):
        """Return the model of all rows."""
        self._side.update(labels)
        self._side.finish(labels)
        return LeastErrorModel(
            self._side, self._target, self._source_share, alone=not self._task.sources
        )


class LeastErrorModel:
    """Model whose scores are the negative smaller squared error of source and target.

    Parameters
    ----------
    side : SourceSide

    target_scorer : ReconstructionScorer

    source_share : float
        Fraction of the unlabeled rows that the source decided in the last round.

    alone : bool
        Whether there is no source.
    """

    # The fraction of rows that the source decides does not indicate whether it is right.
    ignores_source = is_contradicted = False

    def __init__(self, side, target_scorer, source_share, *, alone):
        self._side, self._target_scorer = side, target_scorer
        self.target_classifier, self.source_weight = target_scorer.classifier, source_share
        source = Contribution("reconstruction by the source", "source", source_share)
        target = Contribution("reconstruction by the target", "target", 1 - source_share)
        self.contributions = [target] if alone else [source, target]

    def source_scores(self, X):
        """Return the negative squared errors of the source."""
        return self._side.scores(self._side.rows(X))

    def target_scores(self, X):
        """Return the negative squared errors of the target classifier."""
        return self._target_scorer.scores(self._side.rows(X))

    def scores(self, X):
        """Return the negative smaller error."""
        rows = self._side.rows(X)
        return np.maximum(self._target_scorer.scores(rows), self._side.scores(rows))

    def weighted_scores(self, X, class_weight):
        """Return scores on the scale of log-posteriors, plus the logarithms of weights."""
        # Divided by the temperature of the target classifier, they are log-posteriors of a
        # Gaussian residual.
        temperature = self.target_classifier.temperature_
        return (self.scores(X) + temperature * np.log(class_weight)) / temperature


class AlignmentSide(SourceSide):
    """Source side of "alignment": class medians of target and source are aligned.

    A target row y is, for class c, taken to be the source row
    f_c(y) = V_srᵀ(V_tg·y − m_tg,c + m_sr,c): Kumar and Moser, equations (118)–(121).

    Parameters
    ----------
    task : Task
    """

    def __init__(self, task):
        [pair] = task.pairs
        groups = pair.release.row_classifier.autoencoders_by_class()
        self._groups = [groups[c] for c in pair.class_indices]
        self._dtype = np.result_type(pair.release.dtype, task.X.dtype)
        self._n_jobs = task.n_jobs
        self._V_sr, V_tg = pair.paired_directions()
        self._basis = (V_tg.T @ self._V_sr).astype(self._dtype)
        medians = pair.release.alignment.class_medians
        self._medians = medians[pair.class_indices][:, : len(V_tg)]
        self._target_codes = task.X @ V_tg.T

    def update(self, labels):
        """Align classes by the medians of rows of known or predicted class."""
        # Kumar and Moser, equations (119), (125), (127) and (131).
        medians = class_medians(self._target_codes, labels, len(self._groups))
        self._shifts = (self._medians - medians) @ self._V_sr

    def finish(self, labels):
        """Delete the target's rows."""
        del self._target_codes

    def scores(self, X):
        """Return −‖f_c(y) − WD_sr,c(f_c(y))‖² for each row and class."""
        shifts = self._shifts.astype(self._dtype)

        def embed(Y):
            aligned = (Y @ self._basis).astype(Y.dtype, copy=False)
            return (aligned + shift for shift in shifts)

        return -group_errors(self._groups, X, dtype=self._dtype, n_jobs=self._n_jobs, embed=embed)

    current_scores = scores


class MultiTaskSide(SourceSide):
    """Source side of "multitask": reconstructions by the source are mapped to the target.

    Everything happens in the space of the source; where dimensions differ, a target row y
    enters it as V_srᵀV_tg·y: SERUMS D3.3 (2022), equations (1.79)–(1.87).

    Parameters
    ----------
    task : Task
    """

    def __init__(self, task):
        [pair] = task.pairs
        classes = pair.release.row_classifier.autoencoders_
        self._autoencoders = [classes[c] for c in pair.class_indices]
        self._dtype = np.result_type(pair.release.dtype, task.X.dtype)
        self._n_jobs, self._random_state = task.n_jobs, task.random_state
        self._bases = []
        if not pair.same_columns:
            V_sr, V_tg = pair.paired_directions()
            self._bases = [V_tg.T @ V_sr]
        self._target_rows = self.rows(task.X)

    def rows(self, X):
        """Return target rows in the space of the source."""
        for basis in self._bases:
            X = (X @ basis).astype(X.dtype, copy=False)
        return X

    def finish(self, labels):
        """Learn the mapping from (WD_sr,c(y), y) over all rows y and their classes c."""
        rows = self._target_rows
        members = [np.flatnonzero(labels == c) for c in range(len(self._autoencoders))]
        outputs = run_tasks(
            _reconstruct,
            [(a, rows[m]) for a, m in zip(self._autoencoders, members, strict=True)],
            len(members),
            n_jobs=self._n_jobs,
        )
        self._mapping = MembershipMapping(
            min(-(-len(rows) // 2), _MAX_INDUCING),
            inference="empirical",
            length_scale=1.0,
            standardize=False,
            random_state=self._random_state,
        ).fit(np.concatenate(outputs), rows[np.concatenate(members)])
        del self._target_rows

    def scores(self, X):
        """Return the negative smaller error of source2target and source by row and class."""

        def compute(Y):
            scores = np.empty((len(Y), len(self._autoencoders)), dtype=self._dtype)
            for c, autoencoder in enumerate(self._autoencoders):
                output = autoencoder.reconstruct_block(Y)
                carried = self._mapping.predict_block(output)
                errors = [squared_distances(Y, guess) for guess in (output, carried)]
                scores[:, c] = -np.minimum(*errors)
            # Queries so far away that squares overflow stay ordered and finite.
            return np.nan_to_num(scores, nan=float(np.finfo(self._dtype).min))

        values_per_row = 2 * _MAX_INDUCING + 8 * X.shape[1]
        return map_rows(
            compute, X, values_per_row=values_per_row, dtype=self._dtype, n_jobs=self._n_jobs
        )


def _reconstruct(autoencoder, rows):
    return autoencoder.reconstruct(rows)


def _learn(make_side, task, training):
    """Return the result of self-training in which the smaller of two errors decides."""
    side = make_side(task) if task.sources else SourceSide()
    return training.run(LeastErrorRounds(side, task, training), task.labels)


# The schedule of Kumar and Moser, section 5.
ALIGNMENT = Strategy(
    "alignment",
    partial(_learn, AlignmentSide),
    SelfTrainingSchedule(
        (4, 6, 8, 10),
        n_inducing=(1 / 10, 1 / 8, 1 / 6, 1 / 4),
        n_layers=(1, 1, 1, 5),
        inference="gamma",
    ),
    reconstructs_rows=True,
)
# The schedule of SERUMS D3.3 (2022), section 1.4.
MULTITASK = Strategy(
    "multitask",
    partial(_learn, MultiTaskSide),
    SelfTrainingSchedule((5, 10, 15, 20), n_inducing=1 / 2, n_layers=1, inference="empirical"),
    reconstructs_rows=True,
)
