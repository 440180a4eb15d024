"""The common interface of outcomes."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from skdp.tabular._agreement import classes_difference

# Names of the kinds of labels other than text.
KINDS_OF_LABELS = {
    "b": "booleans",
    "i": "numbers",
    "u": "numbers",
    "f": "numbers",
    "M": "dates",
    "m": "durations",
}


class Outcome:
    """What a table predicts. The documented classes are its subclasses.

    ``labels`` are the columns of y from :meth:`parts`: one, or two for a time to an event.
    """

    # Keys of tables by kind: "class", "number" or "event".
    kind: ClassVar[str]
    # Columns of a table that hold it, if it names them.
    columns: tuple[str, ...] = ()
    # Whether all public facts that a release needs are known.
    is_complete: bool = True
    # Groups of rows that are described separately: the classes.
    groups: tuple[Any, ...] = ()
    # Whether sums over rows include squares of the numbers.
    has_squares: bool = False
    # Whether zero is a class of its own, beside the other numbers.
    zero: bool = False
    # Groups of sums of rows, in which exact sums count each row.
    n_sums: int = 2
    n_cells: int
    # A few words for messages: what it is, what is public about it, and what effects add to.
    about: str
    public: str
    effect_unit: str

    @property
    def n_codes(self) -> int:
        """Number of different codes by which rows are summed."""
        return self.n_cells

    @property
    def classes(self) -> tuple[Any, ...]:
        """Labels of classes."""
        raise AttributeError("A numeric or time outcome has no classes.")

    @property
    def curve_times(self) -> np.ndarray:
        """Times at which curves of survival step."""
        raise AttributeError("Only a time to an event has survival curves.")

    @property
    def exits(self) -> Any:
        """Counts rows by the way they leave, for a time to an event."""
        return None

    def label_columns(self, label: str | None, owner: str) -> list[str]:
        """Return the columns of a table that hold it; errors name the function ``owner``."""
        return [] if label is None else [label]

    def parts(self, y: Any) -> tuple[Any, ...] | None:
        """Return the raw columns of y for ``read``; None if y has another form."""
        return (y,)

    def with_columns(self, *names: str) -> "Outcome":
        """Return it with other columns of a table, if it names its own."""
        return self

    def values(self, columns: Any) -> Any:
        """Return y from its columns in a DataFrame."""
        return columns.iloc[:, 0]

    def readable(self, y: Any) -> Any:
        """Return y with unreadable values as None."""
        return y

    def refusal(self, y: Any, *labels: Any) -> str | None:
        """Return why labels cannot have this outcome, or None; the text quotes no value."""
        raise NotImplementedError

    def codes(self, *labels: Any, steps: int) -> np.ndarray:
        """Return whole numbers by which rows are summed, −1 for a row that is left out.

        They are the class, the position of a number in ``steps``, or the way to leave.
        """
        raise NotImplementedError

    def with_classes(self, classes: Any, owner: str) -> "Outcome":
        """Return it with a list of classes; refused unless it is a class."""
        raise ValueError(
            f"The 'classes' parameter of {owner} cannot be combined with an outcome that is a "
            "number or a time. Leave one of them out."
        )

    def composed(self) -> Self:
        """Return it with text in Unicode's composed form."""
        return self

    def in_order(self) -> "Outcome":
        """Return it with sorted classes, as in a release."""
        return self

    def unlisted(self) -> "Outcome":
        """Return it without a list of classes."""
        return self

    def covers(self, other: "Outcome") -> bool:
        """Return whether a release about the other outcome may have a schema with this one."""
        return self == other

    def difference(self, other: "Outcome") -> list[str]:
        """Return the differences from another outcome, one per line."""
        lists = [getattr(outcome, "classes", None) for outcome in (self, other)]
        classes = classes_difference(*lists)
        lines = [f"classes: {classes}"] if classes else []
        if self.unlisted() != other.unlisted():
            lines.append(
                f"outcome: {self.unlisted().details} here; {other.unlisted().details} there"
            )
        return lines

    def mismatch(self, other: "Outcome") -> str:
        """Return why sums about both may not be added, or ""; names do not matter."""
        if self == other:
            return ""
        return f"their outcomes are different: {self.named} here; {other.named} there"

    @property
    def details(self) -> str:
        """All public facts about it, as text."""
        raise NotImplementedError

    # A few words about a number or a time.
    text: str

    @property
    def in_schema(self) -> str:
        """Its description in a schema."""
        return f"outcome {self.text}"

    @property
    def contents(self) -> str:
        """What a release says is public about it, in a phrase."""
        raise NotImplementedError

    def checked(self, columns: list[str]) -> str:
        """Return what a check of a table says about its columns."""
        return f"outcome {' and '.join(f'{name!r:.40}' for name in columns)}, {self.text}"

    @property
    def named(self) -> str:
        """What it is compared by with an outcome of another kind."""
        return self.details

    def fault(self) -> str:
        """Return why a release cannot have it, or ""."""
        return ""

    def common(self, outcomes: Mapping[str, "Outcome"]) -> "Outcome":
        """Return the common outcome of all owners, the first of whom has this one."""
        raise NotImplementedError

    def description(self) -> dict[str, Any]:
        """Return its description for a schema or file header: see :func:`outcome_of`."""
        raise NotImplementedError


def refused_kind(labels, kinds, problem):
    """Return a text if labels have one of these NumPy kinds, or None."""
    kind = getattr(getattr(labels, "dtype", None), "kind", "O")
    if kind not in KINDS_OF_LABELS or kind not in kinds or not len(labels):
        return None
    return f"The 'y' parameter holds {KINDS_OF_LABELS[kind]}, {problem}"


def require_alike(outcomes, is_alike):
    """Raise ValueError unless the outcomes of all owners are of one kind."""
    (owner, first), *others = outcomes.items()
    for other, outcome in others:
        if not is_alike(outcome):
            raise ValueError(
                f"The outcome is {first.details} in {owner} and {outcome.details} "
                f"in {other}, but must agree. Choose one kind of outcome; of times to an event, "
                "also one horizon, unit of time and value of the event."
            )
