"""Self-training of a target, round by round: its schedule, its one loop, out-of-fold scores.

Kumar and Moser, Algorithm 7; SERUMS D3.3 (2022), equations (1.82) and (1.83).
"""

import time
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from skdp.membership import WideCDMMAClassifier
from skdp.transfer._strategy import TransferResult
from skdp.utils._kernel_regression import COUNT_OR_FRACTION
from skdp.utils._parallel import draw_seeds
from skdp.utils._sklearn import Interval, StrOptions

# Rounds of a schedule that follows the number of rows; labels rarely change after them; rule of
# thumb.
_N_ROUNDS = 8
# Rows of a class for each component of the codes of such a schedule: finer autoencoders
# reconstruct rows of every class; rule of thumb.
_ROWS_PER_COMPONENT = 12
# Components at most, as in all experiments of the papers.
_MAX_COMPONENTS = 20


@dataclass(frozen=True)
class Round:
    """Settings of the target classifier in one round."""

    n_components: int
    n_inducing: int | float
    n_layers: int


def first_round(labels):
    """Return the settings of the initial classifier: n = min(20, min_c N_c − 1), M = N, L = 1."""
    n_components = int(np.clip(np.bincount(labels).min() - 1, 1, _MAX_COMPONENTS))
    return Round(n_components, 1.0, 1)


class SelfTrainingSchedule(BaseEstimator):
    """How a target trains itself, and the autoencoders that it trains.

    For ``self_training=`` of :class:`DPTransferClassifier`. Searches reach its parameters as
    ``self_training__n_components`` and the like.

    Parameters
    ----------
    n_components : "auto", int or sequence of int, default="auto"
        Size of the codes in each round, never going down. ``"auto"``: 8 rounds of one for a
        dozen rows of a class, at most 20, and half of that in the first two ("noise_aware");
        (4, 6, 8, 10) ("alignment"); (5, 10, 15, 20) ("multitask").

    n_inducing : "auto", float, int or sequence of these, default="auto"
        Inducing points in each round, as a fraction of the rows of an autoencoder or a
        count; a single one serves all rounds. ``"auto"``: (1/10, 1/8, 1/6, 1/4) for
        "alignment", cut or lengthened at its front to as many rounds as ``n_components``
        has, 0.5 for the others.

    n_layers : "auto" or int, default="auto"
        Depth in the last round; the others have one layer. ``"auto"``: 5 for "alignment",
        1 for the others.

    n_folds : "auto" or int, default="auto"
        With more than one, unlabelled rows are labelled in each round by a classifier that
        has not seen the guesses of their fold, so that no guess confirms itself. ``"auto"``:
        4 for "noise_aware", which needs at least 2; for the others 1, as in the papers, by a
        classifier of all rows.

    tol : float, default=1e-3
        Where no larger fraction of the pseudo-labels changed in a round, they count as
        settled and the last round comes next.

    inference : {"auto", "gamma", "empirical"}, default="auto"
        Inference of the autoencoders' mappings, see :class:`CDMMA`. ``"auto"``:
        "empirical" for "multitask", "gamma" for the others.

    subset_size : int, default=1000
        Rows for which one autoencoder is meant.

    See Also
    --------
    DPTransferClassifier : Learns by such a schedule.

    Examples
    --------
    >>> from skdp import DPTransferClassifier, SelfTrainingSchedule
    >>> schedule = SelfTrainingSchedule(n_components=(2, 4, 4))
    >>> model = DPTransferClassifier(strategy="alignment", self_training=schedule)
    >>> model.get_params()["self_training__n_components"]
    (2, 4, 4)
    """

    _parameter_constraints: dict = {
        "n_components": [
            StrOptions({"auto"}),
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "n_inducing": [StrOptions({"auto"}), "array-like", *COUNT_OR_FRACTION],
        "n_layers": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_folds": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="both")],
        "inference": [StrOptions({"auto", "gamma", "empirical"})],
        "subset_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components="auto",
        *,
        n_inducing="auto",
        n_layers="auto",
        n_folds="auto",
        tol=1e-3,
        inference="auto",
        subset_size=1000,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.n_folds = n_folds
        self.tol = tol
        self.inference = inference
        self.subset_size = subset_size

    def resolve(self, defaults, rows_per_class, *, n_jobs, verbose, random_state):
        """Return self-training by this schedule.

        Parameters
        ----------
        defaults : SelfTrainingSchedule
            What "auto" stands for. Where that is "auto" too, components follow the rows.

        rows_per_class : float
            Labelled or not, on average.

        n_jobs, verbose, random_state
            See :class:`SelfTraining`.

        Returns
        -------
        training : SelfTraining

        Raises
        ------
        ValueError
            When a parameter is none, or the schedules differ in length or go down.
        """
        self._validate_params()

        def chosen(name):
            value = getattr(self, name)
            return getattr(defaults, name) if _is_auto(value) else value

        sizes = chosen("n_components")
        sizes = _adapted_sizes(rows_per_class) if _is_auto(sizes) else _sequence(sizes)
        fractions = _sequence(chosen("n_inducing"))
        _check_rising("n_components", sizes)
        if isinstance(self.n_inducing, str | Real):
            # One number serves all rounds; the default is cut or lengthened at its front.
            missing = len(sizes) - len(fractions)
            fractions = fractions[:1] * missing + fractions[max(-missing, 0) :]
        _check_rising("n_inducing", fractions)
        if len(sizes) != len(fractions):
            raise ValueError(
                "The schedules of SelfTrainingSchedule must be equally long, got "
                f"n_components={sizes} and n_inducing={fractions}. Give one entry of each for "
                "every round, or a single n_inducing for all rounds."
            )
        depths = [1] * (len(sizes) - 1) + [chosen("n_layers")]
        return SelfTraining(
            [Round(*settings) for settings in zip(sizes, fractions, depths, strict=True)],
            n_folds=chosen("n_folds"),
            tol=self.tol,
            inference=chosen("inference"),
            subset_size=self.subset_size,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )


def _is_auto(value):
    return isinstance(value, str) and value == "auto"


def _adapted_sizes(rows_per_class):
    """Return one component for a dozen rows of a class, at most 20; half of that to begin with.

    Finer autoencoders of so few rows reconstruct rows of every class.
    """
    most = int(np.clip(rows_per_class // _ROWS_PER_COMPONENT, 1, _MAX_COMPONENTS))
    return [-(-most // 2)] * 2 + [most] * (_N_ROUNDS - 2)


def _sequence(value):
    return [value] if isinstance(value, Real) else list(value)


def _check_rising(name, values):
    if not _rises(values, may_be_fractions=name == "n_inducing"):
        allowed = "counts" if name == "n_components" else "counts, or fractions in (0, 1],"
        raise ValueError(
            f"The {name!r} parameter of SelfTrainingSchedule must be a non-empty sequence "
            f"of positive {allowed} that never goes down, got {values}. Each round models finer "
            "detail than the one before it."
        )


def _rises(values, may_be_fractions):
    """Return whether these are positive numbers of one kind, counts or fractions, in order."""
    if not values or not all(isinstance(value, Real) for value in values):
        return False
    kinds = {isinstance(value, Integral) for value in values}
    fractions = may_be_fractions and kinds == {False} and max(values) <= 1
    return (fractions or kinds == {True}) and min(values) > 0 and values == sorted(values)


@dataclass(frozen=True)
class Step:
    """What one round makes of the labels of the round before.

    Attributes
    ----------
    distributions : ndarray of shape (n_samples, n_classes)
        Class distribution of each row; that of a labelled row is certain.

    details : dict of str to float
        Fractions for the history, by name.

    certainty : float, default=nan
        Share of the entropy of classes that models which left rows out remove; NaN where scores
        are no log-posteriors.

    log_posteriors : ndarray of shape (n_samples, n_classes) or None, default=None
        Of all rows, labelled ones included, by models that left them out; None where scores are
        no such.
    """

    distributions: np.ndarray
    details: dict
    certainty: float = np.nan
    log_posteriors: np.ndarray | None = None


class Rounds(Protocol):
    """What the loop asks of a strategy. Labels are class indices, −1 where unknown."""

    def start(self, settings: Round, labels: np.ndarray) -> Step:
        """Return class distributions by the labelled rows alone."""

    def step(self, settings: Round, labels: np.ndarray) -> Step:
        """Return class distributions by all rows and the labels of the round before."""

    def finish(self, settings: Round, labels: np.ndarray) -> Any:
        """Return the model that remains, learned from the labels of the last round."""


@dataclass(frozen=True)
class SelfTrained(TransferResult):
    """What self-training learned.

    Attributes
    ----------
    certainty : float
        Of the first round, see :class:`Step`.

    log_posteriors : ndarray of shape (n_samples, n_classes) or None
        Of the last round, see :class:`Step`.
    """

    certainty: float
    log_posteriors: np.ndarray | None


@dataclass(frozen=True)
class SelfTraining:
    """Self-training by a schedule whose every value is settled.

    Attributes
    ----------
    rounds : list of Round

    n_folds, tol, inference, subset_size
        See :class:`SelfTrainingSchedule`.

    n_jobs : int or None
        Autoencoders fitted at once.

    verbose : int
        Above 0, print a line for each round.

    random_state : RandomState
        Seeds k-means.
    """

    rounds: list
    n_folds: int
    tol: float
    inference: str
    subset_size: int
    n_jobs: int | None
    verbose: int
    random_state: np.random.RandomState

    def fit_autoencoders(self, settings, rows, labels):
        """Return a :class:`ReconstructionScorer` of these rows, by the settings of a round."""
        classifier = WideCDMMAClassifier(
            settings.n_components,
            settings.n_inducing,
            settings.n_layers,
            inference=self.inference,
            subset_size=self.subset_size,
            n_jobs=self.n_jobs,
            random_state=draw_seeds(self.random_state),
        )
        return ReconstructionScorer(classifier.fit(rows, labels))

    def run(self, rounds, labels, min_certainty=-np.inf):
        """Label the unlabelled rows round by round.

        The labelled rows alone guess first, in round 0. When hardly a guess changes in a round,
        the last round comes next.

        Parameters
        ----------
        rounds : Rounds
            Of a strategy. Turns the labels of one round into the class distributions of the next.

        labels : ndarray of shape (n_samples,)
            Class indices, −1 where unlabelled; not written to.

        min_certainty : float, default=-inf
            Of the first round, below which there is no other.

        Returns
        -------
        trained : SelfTrained or None
            None where the first round was less certain.
        """
        n_unlabelled, last = int(np.count_nonzero(labels < 0)), len(self.rounds)
        history, start = _History(n_unlabelled), time.perf_counter()
        k, certainty = last, None
        if n_unlabelled:
            k, settings = 1, first_round(labels[labels >= 0])
            first = rounds.start(settings, labels)
            labels = first.distributions.argmax(axis=1)
            self._print_round(0, history.add(0, settings, n_unlabelled, first.details), start)
        while True:
            settings = self.rounds[k - 1]
            step = rounds.step(settings, labels)
            guesses = step.distributions.argmax(axis=1)
            changed = int(np.count_nonzero(guesses != labels))
            labels = guesses
            self._print_round(k, history.add(k, settings, changed, step.details), start)
            if certainty is None:
                certainty = step.certainty
                if certainty < min_certainty:
                    if self.verbose:
                        print("[DPTransferClassifier] classes overlap: no further round")
                    return None
            if k == last:
                break
            k = last if changed <= self.tol * n_unlabelled else k + 1
        model = rounds.finish(self.rounds[-1], labels)
        return SelfTrained(
            labels, step.distributions, history.lists, model, certainty, step.log_posteriors
        )

    def _print_round(self, k, text, start):
        """Print a line of round k, if wanted; ``start`` is the time at which the first began."""
        if self.verbose:
            print(
                f"[DPTransferClassifier] round {k} of {len(self.rounds)}: {text}, "
                f"{time.perf_counter() - start:.1f} s gone"
            )


class _History:
    """Lists of what happened in each round."""

    def __init__(self, n_unlabelled):
        self._n_unlabelled, self.lists = n_unlabelled, {}

    def add(self, k, settings, changed, details):
        """Note a round: its settings, how many guesses changed, fractions; return it as text."""
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
        fractions = ", ".join(f"{name} {value:.0%}" for name, value in details.items())
        return f"{changed} of {self._n_unlabelled} pseudo-labels changed, {fractions}"


class ReconstructionScorer:
    """Minus the squared reconstruction errors of a fitted classifier.

    Parameters
    ----------
    classifier : WideCDMMAClassifier
        Of class indices.
    """

    def __init__(self, classifier):
        self.classifier = classifier

    def scores(self, X):
        """Return minus the squared error of each row and class."""
        return -self.classifier.reconstruction_errors(X)


def out_of_fold_scores(fit, settings, rows, labels, trusted, folds):
    """Return scores of each row by a model of the trusted rows of the other folds.

    Parameters
    ----------
    fit : callable
        ``fit(settings, rows, labels)`` returns a scorer of the classes among the labels.

    settings : Round
        Of the model.

    rows : ndarray of shape (n_samples, n_features)

    labels : ndarray of shape (n_samples,)
        Class indices.

    trusted : ndarray of shape (n_samples,), bool
        Rows to learn from.

    folds : ndarray of shape (n_samples,)
        Fold of each row. Rows of fold −1 are in no fold: every model learns from them, and
        none scores them.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_classes)
        NaN where the fold is −1.
    """
    n_classes = labels.max() + 1
    scores = np.full((len(rows), n_classes), np.nan)
    for k in range(folds.max() + 1):
        train, held_out = trusted & (folds != k), folds == k
        data = (rows[train], labels[train], rows[held_out])
        scores[held_out] = scores_by(fit, settings, *data, n_classes)
    return scores


def scores_by(fit, settings, rows, labels, queries, n_classes):
    """Return scores of queries by a model of some rows.

    A class that these do not have is scored as far below the worst as that is below the best.
    """
    present = np.unique(labels)
    if len(present) < 2:
        return np.zeros((len(queries), n_classes))
    known = fit(settings, rows, labels).scores(queries)
    best, worst = known.max(axis=1, keepdims=True), known.min(axis=1, keepdims=True)
    scores = np.repeat(2 * worst - best, n_classes, axis=1)
    scores[:, present] = known
    return scores
