"""Self-training of a target: its schedule, its loop over rounds, and out-of-fold scores.

Kumar and Moser, Algorithm 7; SERUMS D3.3 (2022), equations (1.82) and (1.83).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skdp.membership import MOST_COMPONENTS, WideCDMMAClassifier
from skdp.transfer._task import TransferResult
from skdp.utils._kernel_regression import COUNT_OR_FRACTION
from skdp.utils._parallel import draw_seeds
from skdp.utils._sklearn import Interval, StrOptions
from skdp.utils._warnings import recorded_warnings


@dataclass(frozen=True)
class Round:
    """Settings of the target classifier in one round."""

    n_components: int | str
    n_inducing: int | float
    n_layers: int


def first_round(labels):
    """Return the settings of the initial classifier: n = min(20, min_c N_c − 1), M = N, L = 1."""
    n_components = int(np.clip(np.bincount(labels).min() - 1, 1, MOST_COMPONENTS))
    return Round(n_components, 1.0, 1)


class SelfTrainingSchedule(BaseEstimator):
    """Rounds of self-training, and the autoencoders trained in them.

    Pass it as ``self_training=`` to :class:`DPTransferClassifier`. Searches reach its
    parameters by names such as ``self_training__n_components``.

    Parameters
    ----------
    n_components : "auto", int or sequence of int, default="auto"
        Size of the codes in each round. ``"auto"``: 8 rounds with one
        component for every 12 rows of a class, at most 20, and half of that in the first two
        rounds ("noise_aware"); 4 rounds, in each of which the rows of the classes, labeled and
        pseudo-labeled, decide as in :class:`CDMMAClassifier` ("alignment" and "multitask"). The
        papers have (4, 6, 8, 10) for "alignment" and (5, 10, 15, 20) for "multitask", which take
        some hundred rows of each class.

    n_inducing : "auto", float, int or sequence of these, default="auto"
        Inducing points in each round, as a fraction of the rows of an autoencoder or as a
        count; a single value is used in all rounds. ``"auto"``: 0.5, but for "alignment" with
        given ``n_components`` (1/10, 1/8, 1/6, 1/4), as in the paper, truncated or extended at
        its beginning to the number of rounds.

    n_layers : "auto", int or sequence of int, default="auto"
        Number of layers in each round; a single value is used in all rounds. With "noise_aware",
        models that leave a fold out have a single layer, and the last entry is for the final
        model. ``"auto"``: (1, 1, 1, 5) for "alignment", adapted like ``n_inducing``; 1 for the
        others.

    n_folds : int, default=4
        Number of folds, at least 2 ("noise_aware" only): in each round, pseudo-labels are
        predicted by models that were not trained on the same fold, so that none confirms
        itself. In the papers, a classifier of all rows predicts them.

    tol : float, default=1e-3
        If at most this fraction of the pseudo-labels changed in a round, the last round comes
        next. With 0, all rounds are run.

    inference : {"auto", "gamma", "empirical"}, default="auto"
        Inference of the autoencoders' mappings, see :class:`CDMMA`. ``"auto"``:
        "empirical" for "multitask", "gamma" for the others.

    subset_size : int, default=1000
        Number of rows for each autoencoder.

    See Also
    --------
    DPTransferClassifier : Uses such a schedule.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", section 5 ("alignment"). SERUMS D3.3 (2022), section 1.4 ("multitask"),
    which does not state the number of layers in the rounds.

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
        "n_layers": [
            StrOptions({"auto"}),
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="both")],
        "inference": [StrOptions({"auto", "gamma", "empirical"})],
        "subset_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: str | int | Sequence[int] = "auto",
        *,
        n_inducing: str | float | Sequence[float] = "auto",
        n_layers: str | int | Sequence[int] = "auto",
        n_folds: int = 4,
        tol: float = 1e-3,
        inference: str = "auto",
        subset_size: int = 1000,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.n_folds = n_folds
        self.tol = tol
        self.inference = inference
        self.subset_size = subset_size

    def resolve(
        self,
        defaults: "SelfTrainingSchedule",
        rows_per_class: float,
        *,
        n_jobs: int | None,
        verbose: int,
        random_state: Any,
    ) -> "SelfTraining":
        """Return the self-training that this schedule describes.

        Parameters
        ----------
        defaults : SelfTrainingSchedule
            Values for "auto". If these are "auto" too, components follow the number of rows.

        rows_per_class : float
            Average number of rows in a class, labeled or not.

        n_jobs, verbose, random_state
            See ``SelfTraining``.

        Returns
        -------
        training : SelfTraining
            With one ``Round`` for each entry of the schedules.

        Raises
        ------
        ValueError
            If a parameter is invalid, or the schedules differ in length.

        Examples
        --------
        >>> from skdp import SelfTrainingSchedule
        >>> defaults = SelfTrainingSchedule(n_inducing=0.5, n_layers=1)
        >>> settings = {"n_jobs": None, "verbose": 0, "random_state": None}
        >>> schedule = SelfTrainingSchedule(n_components=(2, 4))
        >>> schedule.resolve(defaults, rows_per_class=100, **settings).rounds[-1]
        Round(n_components=4, n_inducing=0.5, n_layers=1)
        """
        self._validate_params()
        given, values = self.get_params(), defaults.get_params()
        auto = [name for name in given if _is_auto(given[name])]
        if _is_auto(defaults.n_components):
            values["n_components"] = _adapted_sizes(rows_per_class)
        elif "n_components" in auto:
            # The sizes of the papers are for many rows, and so are their inducing points: a tenth
            # of a few dozen rows is less than the components need.
            n_rounds = len(_sequence(defaults.n_components))
            values |= {"n_components": ["auto"] * n_rounds, "n_inducing": 0.5}
        resolved = given | {name: values[name] for name in auto}
        schedules = {name: _sequence(resolved[name]) for name in Round.__annotations__}
        n_rounds = len(schedules["n_components"])
        for name in ("n_inducing", "n_layers"):
            if isinstance(given[name], str | Real):
                # One number is used in all rounds; the default is adapted at its beginning.
                last = schedules[name][-n_rounds:]
                schedules[name] = last[:1] * (n_rounds - len(last)) + last
        for name, values in schedules.items():
            _check_counts(name, values)
        if len(set(map(len, schedules.values()))) > 1:
            raise ValueError(
                f"The schedules of SelfTrainingSchedule must be equally long, got {schedules}. "
                "Give an entry for each round, or one n_inducing and n_layers."
            )
        rounds = [Round(*settings) for settings in zip(*schedules.values(), strict=True)]
        return SelfTraining(rounds, type(self)(**resolved), n_jobs, verbose, random_state)


def _is_auto(value):
    return isinstance(value, str) and value == "auto"


def _adapted_sizes(rows_per_class):
    """Return one component for every 12 rows of a class, at most 20; half of that at first."""
    # Rules of thumb: larger autoencoders of so few rows reconstruct rows of other classes as well,
    # and after eight rounds labels rarely change.
    most = int(np.clip(rows_per_class // 12, 1, MOST_COMPONENTS))
    return [-(-most // 2)] * 2 + [most] * 6


def _sequence(value):
    return [value] if isinstance(value, Real) else list(value)


def _check_counts(name, values):
    """Raise ValueError unless all of these are of one kind that the parameter takes."""
    count, fraction = COUNT_OR_FRACTION
    others: dict[str, list[Any]]
    others = {"n_components": [StrOptions({"auto"})], "n_inducing": [fraction]}
    kinds = [count, *others.get(name, [])]
    if not values or not any(all(map(kind.is_satisfied_by, values)) for kind in kinds):
        allowed = "counts, or fractions in (0, 1]," if fraction in kinds else "counts,"
        raise ValueError(
            f"The {name!r} parameter of SelfTrainingSchedule must be a non-empty sequence of "
            f"positive {allowed} got {values}."
        )


@dataclass(frozen=True)
class Strategy:
    """How source and target are combined.

    Attributes
    ----------
    name : str
        Value of the parameter of :class:`~skdp.DPTransferClassifier`.

    learn : callable
        ``learn(task, training)`` returns the :class:`TransferResult` of a task, by this
        self-training if it uses any.

    schedule : SelfTrainingSchedule
        Values of "auto".

    reconstructs_rows : bool, default=False
        Whether it compares errors of reconstructed rows. It then needs a single release that
        reconstructs them, exactly its columns, and a label of each class, and has no
        probabilities; otherwise its models are a :class:`TransferModel`.
    """

    name: str
    learn: Callable[..., TransferResult]
    schedule: SelfTrainingSchedule
    reconstructs_rows: bool = False


@dataclass(frozen=True)
class Step:
    """Result of one round.

    Attributes
    ----------
    distributions : ndarray of shape (n_samples, n_classes)
        Class probabilities of each row; 0 or 1 for labeled rows.

    details : dict
        Entries of the history, by name.

    certainty : float, default=nan
        Fraction of the entropy of the classes that out-of-fold posteriors remove; NaN if scores
        are not log-posteriors.

    log_posteriors : ndarray of shape (n_samples, n_classes) or None, default=None
        Out-of-fold log-posteriors of all rows, labeled or not; None if scores are not
        log-posteriors.
    """

    distributions: np.ndarray
    details: dict[str, Any]
    certainty: float = np.nan
    log_posteriors: np.ndarray | None = None


@dataclass(frozen=True)
class SelfTraining:
    """Self-training by a schedule without "auto".

    Attributes
    ----------
    rounds : list of Round

    schedule : SelfTrainingSchedule
        With the other settings.

    n_jobs : int or None
        Number of autoencoders fitted in parallel.

    verbose : int
        If positive, print a line for each round.

    random_state : RandomState
        Seeds k-means.
    """

    rounds: list[Round]
    schedule: SelfTrainingSchedule
    n_jobs: int | None
    verbose: int
    random_state: np.random.RandomState

    def fit_autoencoders(
        self, settings: Round, rows: np.ndarray, labels: np.ndarray
    ) -> "ReconstructionScorer":
        """Return a :class:`ReconstructionScorer` of these rows, by the settings of a round."""
        # Kumar and Moser, equations (122) and (128); SERUMS D3.3 (2022), equation (1.82).
        classifier = WideCDMMAClassifier(
            settings.n_components,
            settings.n_inducing,
            settings.n_layers,
            inference=self.schedule.inference,
            subset_size=self.schedule.subset_size,
            error_scale="shared",
            n_jobs=self.n_jobs,
            random_state=draw_seeds(self.random_state),
        )
        with recorded_warnings():  # of the few rows that a pseudo-label may have
            return ReconstructionScorer(classifier.fit(rows, labels))

    def run(
        self, rounds: Any, labels: np.ndarray, min_certainty: float = -np.inf
    ) -> TransferResult | None:
        """Label the unlabeled rows round by round; None if the first is less certain.

        Labels are class indices, −1 where unknown. ``rounds.start(settings, labels)`` returns the
        :class:`Step` by the labeled rows alone, ``rounds.step(settings, labels)`` that by all rows
        and the labels of the round before, and ``rounds.finish(settings, labels)`` the model.
        """
        # In round 0 a model of the labeled rows alone predicts pseudo-labels. When hardly any of
        # these change in a round, the last round comes next.
        n_unlabeled, last = int(np.count_nonzero(labels < 0)), len(self.rounds)
        entries: list[dict[str, Any]] = []
        k, start = last, time.perf_counter()

        def record(k, settings, changed, step):
            agreement = 1 - changed / max(n_unlabeled, 1)
            counts = {"changed": changed, "agreement": agreement}
            entries.append({"round": k, **vars(settings), **counts, **step.details})
            if self.verbose:
                print(
                    f"[DPTransferClassifier] round {k} of {last}: {changed} of {n_unlabeled} "
                    f"pseudo-labels changed, {time.perf_counter() - start:.1f} s elapsed"
                )

        if n_unlabeled:
            k, settings = 1, first_round(labels[labels >= 0])
            if _is_auto(self.rounds[0].n_components):
                settings = replace(settings, n_components="auto")
            first = rounds.start(settings, labels)
            labels = first.distributions.argmax(axis=1)
            record(0, settings, n_unlabeled, first)
        while True:
            settings = self.rounds[k - 1]
            step = rounds.step(settings, labels)
            guesses = step.distributions.argmax(axis=1)
            changed = int(np.count_nonzero(guesses != labels))
            labels = guesses
            record(k, settings, changed, step)
            is_first = len(entries) <= 1 + bool(n_unlabeled)
            if is_first and step.certainty < min_certainty:
                if self.verbose:
                    print("[DPTransferClassifier] classes overlap: no further round")
                return None
            if k == last:
                break
            settled = self.schedule.tol > 0 and changed <= self.schedule.tol * n_unlabeled
            k = last if settled else k + 1
        history = {name: [entry[name] for entry in entries] for name in entries[0]}
        model = rounds.finish(self.rounds[-1], labels)
        return TransferResult(step.distributions, history, model, step.log_posteriors)


class ReconstructionScorer:
    """Negative squared reconstruction errors of a fitted classifier.

    Parameters
    ----------
    classifier : WideCDMMAClassifier
        Of class indices.
    """

    def __init__(self, classifier: WideCDMMAClassifier):
        self.classifier = classifier

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return minus the squared error of each row and class."""
        return -self.classifier.reconstruction_errors(X)


def out_of_fold_scores(fit, settings, rows, labels, folds):
    """Return scores of each row by a model of the rows of the other folds."""
    n_classes = labels.max() + 1
    scores = np.full((len(rows), n_classes), np.nan)
    for k in range(folds.max() + 1):
        held_out = folds == k
        data = (rows[~held_out], labels[~held_out], rows[held_out])
        scores[held_out] = scores_by(fit, settings, *data, n_classes)
    return scores


def scores_by(fit, settings, rows, labels, queries, n_classes):
    """Return scores of queries by a model of some rows.

    A class without rows is scored as far below the worst class as that is below the best.
    """
    present = np.unique(labels)
    if len(present) < 2:
        return np.zeros((len(queries), n_classes))
    seen_scores = fit(settings, rows, labels).scores(queries)
    best = seen_scores.max(axis=1, keepdims=True)
    worst = seen_scores.min(axis=1, keepdims=True)
    scores = np.repeat(2 * worst - best, n_classes, axis=1)
    scores[:, present] = seen_scores
    return scores
