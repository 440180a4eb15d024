"""Self-training, as far as classes lie apart or labels that were held out say that it helps."""

from dataclasses import dataclass, field, replace

import numpy as np

from skdp.transfer._columns import has_indicators
from skdp.transfer.self_training import self_train
from skdp.transfer.strategies._evidence import certainty, lie_apart
from skdp.transfer.strategies._noise_aware import NoiseAwareStrategy
from skdp.transfer.strategies._weighed import Candidates
from skdp.utils._labels import stratified_folds

# Certainty after the first round below which there is nothing to train by. Pictures by their local
# features (Office) have .36 or more; rule of thumb.
_LEAST_CERTAIN = 0.3
# Folds of labels that chains of self-training are held out from; rule of thumb.
_N_FOLDS = 3


@dataclass
class Chain:
    """Self-training of a noise-aware strategy that stops after a round where it is no use.

    Attributes
    ----------
    schedule, tol, verbose
        See :func:`self_train`.

    apart : bool
        Whether classes lay apart after the first round of the last strategy.
    """

    schedule: list
    tol: float
    verbose: int
    apart: bool = field(default=False, init=False)

    def train(self, strategy, labels, least=None):
        """Return self-training, or None where it stopped.

        Parameters
        ----------
        strategy : NoiseAwareStrategy

        labels : ndarray of shape (n_samples,)

        least : float or None, default=None
            Certainty from which to go on; None where classes have to lie apart.
        """

        def worthwhile():
            posteriors = np.exp(strategy.log_posteriors)
            self.apart = lie_apart(posteriors)
            return self.apart or (least is not None and certainty(posteriors) >= least)

        settings = {"tol": self.tol, "verbose": self.verbose, "worthwhile": worthwhile}
        return self_train(strategy, self.schedule, labels, **settings)


def learn_by_chains(task, chain):
    """Learn a task of noisy rows and labels, or of labels alone.

    Self-training stands by itself where classes lie apart. Where that is doubtful, it is a
    candidate among others, weighed by labels that whole chains have not seen. It is none where
    classes overlap, a class has no label, or rows are records with indicators.

    Parameters
    ----------
    task : Task
        With labels.

    chain : Chain

    Returns
    -------
    result : SelfTraining
    """
    found, labelled = None, np.unique(task.labels[~task.unlabelled])
    if len(labelled) == len(task.class_indices) and not has_indicators(task.X):
        found = chain.train(NoiseAwareStrategy(task), task.labels, _LEAST_CERTAIN)
    if found is None:
        return Candidates(task).learn()
    if chain.apart:
        return found
    logs = held_out_log_posteriors(task, chain)
    return Candidates(task).learn(trained=None if logs is None else (found, logs))


def held_out_log_posteriors(task, chain):
    """Return log-posteriors of labelled rows by chains of self-training without their labels.

    Parameters
    ----------
    task : Task

    chain : Chain

    Returns
    -------
    logs : ndarray of shape (n_labelled, n_classes) or None
        None where a class has a single label, without which no chain can start.
    """
    known = np.flatnonzero(~task.unlabelled)
    true = task.labels[known]
    if np.bincount(true).min() < 2:
        return None
    folds = stratified_folds(true, _N_FOLDS, task.random_state)
    logs = np.zeros((len(known), len(task.class_indices)))
    for k in range(folds.max() + 1):
        labels, hidden = task.labels.copy(), known[folds == k]
        labels[hidden] = -1
        strategy = NoiseAwareStrategy(replace(task, labels=labels))
        chain.train(strategy, labels, -np.inf)
        logs[folds == k] = strategy.log_posteriors[hidden]
    return logs
