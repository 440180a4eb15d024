"""What each round of self-training is to do."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from skdp.membership import WideCDMMAClassifier
from skdp.utils._sklearn import Interval, StrOptions

_SEEDS = np.iinfo(np.int32).max
_ROUNDS, _ROWS_PER_COMPONENT, _MOST_COMPONENTS = 8, 12, 20

# 004 section 5 and 003 section 1.4; the last is ours.
DEFAULTS: dict = {
    "alignment": {
        "n_components": (4, 6, 8, 10),
        "n_inducing": (1 / 10, 1 / 8, 1 / 6, 1 / 4),
        "n_layers": 5,
        "n_folds": 1,
        "inference": "gamma",
    },
    "multitask": {
        "n_components": (5, 10, 15, 20),
        "n_inducing": (1 / 2, 1 / 2, 1 / 2, 1 / 2),
        "n_layers": 1,
        "n_folds": 1,
        "inference": "empirical",
    },
    "noise_aware": {
        "n_components": None,  # by the number of rows, see _sizes
        "n_inducing": (1 / 2,) * _ROUNDS,
        "n_layers": 1,
        "n_folds": 4,
        "inference": "gamma",
    },
}

SCHEDULE_CONSTRAINTS: dict = {
    "n_components": [
        StrOptions({"auto"}),
        "array-like",
        Interval(Integral, 1, None, closed="left"),
    ],
    "n_inducing": [
        StrOptions({"auto"}),
        "array-like",
        *WideCDMMAClassifier._parameter_constraints["n_inducing"],
    ],
    "n_layers": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "n_folds": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "inference": [StrOptions({"auto", "gamma", "empirical"})],
}


@dataclass(frozen=True)
class Round:
    """Settings of the target classifier in one round."""

    n_components: int
    n_inducing: int | float
    n_layers: int


def resolve(owner, name):
    """Return a parameter, or for "auto" what the paper of the strategy uses."""
    value = getattr(owner, name)
    auto = isinstance(value, str) and value == "auto"
    return DEFAULTS[owner.strategy][name] if auto else value


def make_schedule(owner, rows_per_class):
    """Return one Round for each entry of ``owner.n_components``; only the last is deep.

    Parameters
    ----------
    owner : DPTransferClassifier
        Has the schedules.

    rows_per_class : float
        Labelled or not, on average.

    Raises
    ------
    ValueError
        When the schedules differ in length or go down.
    """
    if owner.strategy == "noise_aware" and owner.n_folds == 1:
        raise ValueError(
            f"The 'n_folds' parameter of {type(owner).__name__} must be at least 2 with "
            "strategy='noise_aware', got 1: rows are judged by models that left them out."
        )
    sizes = resolve(owner, "n_components")
    sizes = _sizes(rows_per_class) if sizes is None else _sequence(sizes)
    fractions = _sequence(resolve(owner, "n_inducing"))
    _check(owner, "n_components", sizes)
    if isinstance(owner.n_inducing, str | Real):
        # One number serves all rounds; the default is cut or lengthened at its front.
        missing = len(sizes) - len(fractions)
        fractions = fractions[:1] * missing + fractions[max(-missing, 0) :]
    _check(owner, "n_inducing", fractions)
    if len(sizes) != len(fractions):
        raise ValueError(
            f"The schedules of {type(owner).__name__} must be equally long, got "
            f"n_components={sizes} and n_inducing={fractions}. Give one entry of each for "
            "every round, or a single n_inducing for all rounds."
        )
    depths = [1] * (len(sizes) - 1) + [resolve(owner, "n_layers")]
    return [Round(*settings) for settings in zip(sizes, fractions, depths, strict=True)]


def _sizes(rows_per_class):
    """Return one component for a dozen rows of a class, at most 20; half of that to begin with.

    Finer autoencoders of so few rows reconstruct rows of every class.
    """
    most = int(np.clip(rows_per_class // _ROWS_PER_COMPONENT, 1, _MOST_COMPONENTS))
    return [-(-most // 2)] * 2 + [most] * (_ROUNDS - 2)


def _sequence(value):
    return [value] if isinstance(value, Real) else list(value)


def _check(owner, name, values):
    if not _rises(values, may_be_fractions=name == "n_inducing"):
        allowed = "counts" if name == "n_components" else "counts, or fractions in (0, 1],"
        raise ValueError(
            f"The {name!r} parameter of {type(owner).__name__} must be a non-empty sequence of "
            f"positive {allowed} that never goes down, got {values}. Each round models finer "
            "detail than the one before it."
        )


def _rises(values, may_be_fractions):
    if not values or not all(isinstance(value, Real) for value in values):
        return False
    kinds = {isinstance(value, Integral) for value in values}
    fractions = may_be_fractions and kinds == {False} and max(values) <= 1
    return (fractions or kinds == {True}) and min(values) > 0 and values == sorted(values)


def target_fitter(owner, random_state):
    """Return ``fit(settings, rows, labels)``, which gives a fitted classifier of the target.

    Parameters
    ----------
    owner : DPTransferClassifier
        Has whatever does not change from round to round.

    random_state : RandomState
        Seeds k-means.
    """

    def fit(settings, rows, labels):
        return WideCDMMAClassifier(
            settings.n_components,
            settings.n_inducing,
            settings.n_layers,
            inference=resolve(owner, "inference"),
            subset_size=owner.subset_size,
            n_jobs=owner.n_jobs,
            random_state=random_state.randint(_SEEDS),
        ).fit(rows, labels)

    return fit
