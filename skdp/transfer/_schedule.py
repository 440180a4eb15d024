"""What each round of self-training is to do."""

from dataclasses import dataclass
from numbers import Integral, Real

from skdp.membership import WideCDMMAClassifier
from skdp.utils._sklearn import Interval, StrOptions

# 004 section 5 and 003 section 1.4.
DEFAULTS = {
    "alignment": {
        "n_components": (4, 6, 8, 10),
        "n_inducing": (1 / 10, 1 / 8, 1 / 6, 1 / 4),
        "n_layers": 5,
        "inference": "gamma",
    },
    "multitask": {
        "n_components": (5, 10, 15, 20),
        "n_inducing": (1 / 2, 1 / 2, 1 / 2, 1 / 2),
        "n_layers": 1,
        "inference": "empirical",
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


def make_schedule(owner):
    """Return one Round for each entry of ``owner.n_components``; only the last is deep.

    Raises
    ------
    ValueError
        When the schedules differ in length or go down.
    """
    sizes = _sequence(resolve(owner, "n_components"))
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
