"""The interface of outcomes: what everything asks of one, whichever it is."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from skdp.tabular._agreement import classes_difference

# Names of the kinds of labels that are no text.
KINDS_OF_LABELS = {
    "b": "booleans",
    "i": "numbers",
    "u": "numbers",
    "f": "numbers",
    "M": "dates",
    "m": "durations",
}


class Outcome:
    """What a table predicts. The documented ones are its subclasses.

    ``labels`` are in what follows the columns of y, as :meth:`parts` returns them: one, or two of
    a time to an event.
    """

    # Keys of tables by kind: "class", "number" or "event".
    kind: ClassVar[str]
    # Columns of a table that hold it, where it names them itself.
    columns: tuple[str, ...] = ()
    # Whether all that a release needs to know of it is public.
    is_complete: bool = True
    # Groups of rows that are described apart: the classes.
    groups: tuple[Any, ...] = ()
    # Whether sums over rows hold the squares of their numbers too.
    has_squares: bool = False
    # Groups to which sums of rows belong, and in which exact sums count each row.
    n_sums: int = 2
    n_cells: int
    # A few words for messages: what it is, what is public of it, and what effects are added to.
    about: str
    public: str
    effect_unit: str

    @property
    def classes(self) -> tuple[Any, ...]:
        """Labels of classes."""
        raise AttributeError("A number and a time to an event have no classes.")

    @property
    def curve_times(self) -> np.ndarray:
        """Times at which curves of survival step."""
        raise AttributeError("Only a time to an event has curves of survival.")

    @property
    def exits(self) -> Any:
        """What counts rows by the way they leave, of a time to an event."""
        return None

    def label_columns(self, label: str | None, owner: str) -> list[str]:
        """Return the columns of a table that hold it; errors name the function ``owner``."""
        return [] if label is None else [label]

    def parts(self, y: Any) -> tuple[Any, ...] | None:
        """Return what ``read`` makes numbers of, as it is; None where y is of another form."""
        return (y,)

    def with_columns(self, *names: str) -> "Outcome":
        """Return it in other columns of a table, where it names its own."""
        return self

    def values(self, columns: Any) -> Any:
        """Return y from its columns in a DataFrame."""
        return columns.iloc[:, 0]

    def readable(self, y: Any) -> Any:
        """Return y without what cannot be read, as None."""
        return y

    def refusal(self, y: Any, *labels: Any) -> str | None:
        """Return why labels cannot be of this outcome, or None; the text quotes no value."""
        raise NotImplementedError

    def codes(self, *labels: Any, steps: int) -> np.ndarray:
        """Return whole numbers by which rows are summed, −1 for a row that is left out.

        The class, the place of a number between its bounds in ``steps``, or the way to leave.
        """
        raise NotImplementedError

    def with_classes(self, classes: Any, owner: str) -> "Outcome":
        """Return it with a list of classes, which only classes may have."""
        raise ValueError(
            f"The 'classes' parameter of {owner} cannot be combined with an outcome that is a "
            "number or a time. Leave one of them out."
        )

    def composed(self) -> Self:
        """Return it with text in Unicode's composed form."""
        return self

    def in_order(self) -> "Outcome":
        """Return it with sorted classes, as a release has them."""
        return self

    def unlisted(self) -> "Outcome":
        """Return it without a list of classes."""
        return self

    def covers(self, other: "Outcome") -> bool:
        """Return whether a release about the other outcome may have a schema with this one."""
        return self == other

    def difference(self, other: "Outcome") -> list[str]:
        """Return the differences from another outcome, a line each."""
        lists = [getattr(outcome, "classes", None) for outcome in (self, other)]
        classes = classes_difference(*lists)
        lines = [f"classes: {classes}"] if classes else []
        if self.unlisted() != other.unlisted():
            lines.append(
                f"outcome: {self.unlisted().details} here; {other.unlisted().details} there"
            )
        return lines

    def mismatch(self, other: "Outcome") -> str:
        """Return why sums about both may not be added, or ""; they do not depend on names."""
        if self == other:
            return ""
        return f"their outcomes are different: {self.named} here; {other.named} there"

    @property
    def details(self) -> str:
        """All that is public of it, as a text."""
        raise NotImplementedError

    # A few words about it, of a number or a time.
    text: str

    @property
    def in_schema(self) -> str:
        """What a schema says of it."""
        return f"outcome {self.text}"

    @property
    def contents(self) -> str:
        """What a release says is public of it, in a sentence."""
        raise NotImplementedError

    def checked(self, columns: list[str]) -> str:
        """Return what a check of a table says of its columns."""
        return f"outcome {' and '.join(f'{name!r:.40}' for name in columns)}, {self.text}"

    @property
    def named(self) -> str:
        """What it is compared by with one of another kind."""
        return self.details

    def fault(self) -> str:
        """Return what is wrong with it in a release, or ""."""
        return ""

    def common(self, outcomes: Mapping[str, "Outcome"]) -> "Outcome":
        """Return the outcome of all owners, of whom the first has this one."""
        raise NotImplementedError

    def description(self) -> dict[str, Any]:
        """Return what a schema, or the header of a file, says of it: see :func:`outcome_of`."""
        raise NotImplementedError


def refused_kind(labels, kinds, problem):
    """Return a text where the type of labels is one of these kinds of NumPy, or None."""
    kind = getattr(getattr(labels, "dtype", None), "kind", "O")
    if kind not in KINDS_OF_LABELS or kind not in kinds or not len(labels):
        return None
    return f"The 'y' parameter holds {KINDS_OF_LABELS[kind]}, {problem}"


def require_alike(outcomes, is_alike):
    """Raise ValueError, with two texts, unless the outcomes of all owners are of one kind."""
    (owner, first), *others = outcomes.items()
    for other, outcome in others:
        if not is_alike(outcome):
            raise ValueError(
                f"The outcome is {first.details} in {owner} and {outcome.details} "
                f"in {other}; releases that are used together need one kind of outcome with one "
                "horizon, in one unit of time, and one value of the event, so agree on a time up "
                "to which all follow rows, and on how events are written."
            )
