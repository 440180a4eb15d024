"""Self-training, round by round; a strategy supplies the class distributions of each round.

Kumar and Moser, Algorithm 7; SERUMS D3.3 (2022), equations (1.82) and (1.83).
"""

import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from skdp.transfer.self_training._schedule import Round, first_round


@dataclass(frozen=True)
class Step:
    """What a strategy makes of one round.

    Attributes
    ----------
    distributions : ndarray of shape (n_samples, n_classes)
        Class distribution of each row; that of a labelled row is certain.

    details : dict of str to float
        Fractions for the history, by name.
    """

    distributions: np.ndarray
    details: dict


class Strategy(Protocol):
    """What the loop asks of a strategy. Labels are class indices, −1 where unknown."""

    def start(self, settings: Round, labels: np.ndarray) -> Step:
        """Return class distributions by the labelled rows alone."""

    def step(self, settings: Round, labels: np.ndarray) -> Step:
        """Return class distributions by all rows and the labels of the round before."""

    def finish(self, settings: Round, labels: np.ndarray) -> Any:
        """Return the model that remains, learned from the labels of the last round."""


@dataclass(frozen=True)
class SelfTraining:
    """What self-training ends with.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Class index of each row, given or guessed.

    distributions : ndarray of shape (n_samples, n_classes)
        Class distribution of each row in the last round.

    history : dict of list
        One entry for each round, see :class:`DPTransferClassifier`.

    model : object
        What the strategy returned in the end.
    """

    labels: np.ndarray
    distributions: np.ndarray
    history: dict
    model: Any


def self_train(strategy, schedule, labels, *, tol, verbose, worthwhile=None):
    """Label the unlabelled rows round by round.

    The labelled rows alone guess first, in round 0. When hardly a guess changes in a round,
    the last round comes next.

    Parameters
    ----------
    strategy : Strategy
        Turns the labels of one round into the class distributions of the next.

    schedule : list of Round
        Settings of each round.

    labels : ndarray of shape (n_samples,)
        Class indices, −1 where unlabelled; not written to.

    tol : float
        Largest fraction of guesses that may change when they count as settled.

    verbose : int
        Above 0, print a line for each round.

    worthwhile : callable or None, default=None
        Asked after the first round, without arguments, whether to go on.

    Returns
    -------
    result : SelfTraining or None
        None where it was not worthwhile.
    """
    n_unlabelled = int(np.count_nonzero(labels < 0))
    history = History(len(schedule), n_unlabelled, verbose)
    k = len(schedule)
    if n_unlabelled:
        k = 1
        settings = first_round(labels[labels >= 0])
        first = strategy.start(settings, labels)
        labels = first.distributions.argmax(axis=1)
        history.add(0, settings, n_unlabelled, first.details)
    while True:
        settings = schedule[k - 1]
        step = strategy.step(settings, labels)
        guesses = step.distributions.argmax(axis=1)
        changed = int(np.count_nonzero(guesses != labels))
        labels = guesses
        history.add(k, settings, changed, step.details)
        if worthwhile is not None and not worthwhile():
            history.stop()
            return None
        worthwhile = None  # asked once
        if k == len(schedule):
            break
        k = len(schedule) if changed <= tol * n_unlabelled else k + 1
    model = strategy.finish(schedule[-1], labels)
    return SelfTraining(labels, step.distributions, history.lists, model)


class History:
    """Lists of what happened, printed as it happens."""

    def __init__(self, n_rounds, n_unlabelled, verbose):
        self._n_rounds, self._n_unlabelled, self._verbose = n_rounds, n_unlabelled, verbose
        self._start = time.perf_counter()
        self.lists: dict = {}

    def stop(self):
        """Say that no further round is worth it."""
        if self._verbose:
            print("[DPTransferClassifier] classes overlap: no further round of self-training")

    def add(self, k, settings, changed, details):
        """Note a round: its settings, how many guesses changed, and fractions of any name."""
        entry = {
            "round": k,
            "n_components": settings.n_components,
            "n_inducing": settings.n_inducing,
            "n_layers": settings.n_layers,
            "changed": changed,
            "agreement": 1 - changed / max(self._n_unlabelled, 1),
            **details,
        }
        for name, value in entry.items():
            self.lists.setdefault(name, []).append(value)
        if self._verbose:
            fractions = ", ".join(f"{name} {value:.0%}" for name, value in details.items())
            print(
                f"[DPTransferClassifier] round {k} of {self._n_rounds}: {changed} of "
                f"{self._n_unlabelled} pseudo-labels changed, {fractions}, "
                f"{time.perf_counter() - self._start:.1f} s gone"
            )
