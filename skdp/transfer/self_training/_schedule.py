"""What each round of self-training is to do."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from skdp.utils._kernel_regression import COUNT_OR_FRACTION
from skdp.utils._sklearn import Interval, StrOptions

# Rounds of "noise_aware"; labels rarely change after them; rule of thumb.
_N_ROUNDS = 8
# Rows of a class for each component of the codes of "noise_aware": finer autoencoders
# reconstruct rows of every class; rule of thumb.
_ROWS_PER_COMPONENT = 12
# Components at most, as in all experiments of the papers.
_MAX_COMPONENTS = 20

# What "auto" stands for. "alignment": Kumar and Moser, section 5. "multitask": SERUMS D3.3
# (2022), section 1.4. "noise_aware": ours.
_DEFAULTS: dict = {
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
        "n_components": None,  # by the number of rows, see _adapted_sizes
        "n_inducing": (1 / 2,) * _N_ROUNDS,
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
    "n_inducing": [StrOptions({"auto"}), "array-like", *COUNT_OR_FRACTION],
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


def resolve(estimator, name):
    """Return a parameter, or for "auto" what the paper of the strategy uses."""
    value = getattr(estimator, name)
    auto = isinstance(value, str) and value == "auto"
    return _DEFAULTS[estimator.strategy][name] if auto else value


def first_round(labels):
    """Return the settings of the initial classifier: n = min(20, min_c N_c − 1), M = N, L = 1."""
    n_components = int(np.clip(np.bincount(labels).min() - 1, 1, _MAX_COMPONENTS))
    return Round(n_components, 1.0, 1)


def make_schedule(estimator, rows_per_class):
    """Return one Round for each entry of ``estimator.n_components``; only the last is deep.

    Parameters
    ----------
    estimator : DPTransferClassifier
        Has the schedules.

    rows_per_class : float
        Labelled or not, on average.

    Raises
    ------
    ValueError
        When the schedules differ in length or go down.
    """
    if estimator.strategy == "noise_aware" and estimator.n_folds == 1:
        raise ValueError(
            f"The 'n_folds' parameter of {type(estimator).__name__} must be at least 2 with "
            "strategy='noise_aware', got 1: rows are scored by models that left them out."
        )
    sizes = resolve(estimator, "n_components")
    sizes = _adapted_sizes(rows_per_class) if sizes is None else _sequence(sizes)
    fractions = _sequence(resolve(estimator, "n_inducing"))
    _check(estimator, "n_components", sizes)
    if isinstance(estimator.n_inducing, str | Real):
        # One number serves all rounds; the default is cut or lengthened at its front.
        missing = len(sizes) - len(fractions)
        fractions = fractions[:1] * missing + fractions[max(-missing, 0) :]
    _check(estimator, "n_inducing", fractions)
    if len(sizes) != len(fractions):
        raise ValueError(
            f"The schedules of {type(estimator).__name__} must be equally long, got "
            f"n_components={sizes} and n_inducing={fractions}. Give one entry of each for "
            "every round, or a single n_inducing for all rounds."
        )
    depths = [1] * (len(sizes) - 1) + [resolve(estimator, "n_layers")]
    return [Round(*settings) for settings in zip(sizes, fractions, depths, strict=True)]


def _adapted_sizes(rows_per_class):
    """Return one component for a dozen rows of a class, at most 20; half of that to begin with.

    Finer autoencoders of so few rows reconstruct rows of every class.
    """
    most = int(np.clip(rows_per_class // _ROWS_PER_COMPONENT, 1, _MAX_COMPONENTS))
    return [-(-most // 2)] * 2 + [most] * (_N_ROUNDS - 2)


def _sequence(value):
    return [value] if isinstance(value, Real) else list(value)


def _check(estimator, name, values):
    if not _rises(values, may_be_fractions=name == "n_inducing"):
        allowed = "counts" if name == "n_components" else "counts, or fractions in (0, 1],"
        raise ValueError(
            f"The {name!r} parameter of {type(estimator).__name__} must be a non-empty sequence "
            f"of positive {allowed} that never goes down, got {values}. Each round models finer "
            "detail than the one before it."
        )


def _rises(values, may_be_fractions):
    if not values or not all(isinstance(value, Real) for value in values):
        return False
    kinds = {isinstance(value, Integral) for value in values}
    fractions = may_be_fractions and kinds == {False} and max(values) <= 1
    return (fractions or kinds == {True}) and min(values) > 0 and values == sorted(values)
