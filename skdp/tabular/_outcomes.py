"""Outcomes: one of several classes, a number between bounds, or a time to an event.

Each outcome knows how to read y, what is public about it, and its description; no other file
asks which one it is. Sums, models and options per outcome stand in tables by ``kind``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skdp.tabular._agreement import (
    column_text,
    common_classes,
    common_column,
    shortened,
)
from skdp.tabular._columns import LEAST, NumericColumn, column_from, description_of, is_text, plain
from skdp.tabular._outcome import KINDS_OF_LABELS, Outcome, refused_kind, require_alike
from skdp.tabular._values import (
    Vocabulary,
    canonical,
    coded,
    missing_values,
    numbers,
    truths,
)
from skdp.utils._frames import as_elements, as_frame, composed
from skdp.utils._validation import inline

# Number of intervals up to the horizon, and the power of their index at which they end: events are
# usually dense at first.
N_INTERVALS, _POWER = 20, 1.5
# In units of the horizon.
INTERVAL_ENDS = (np.arange(1, N_INTERVALS + 1) / N_INTERVALS) ** _POWER
# Characters of all labels, if all are as long as the longest, in a file that can be read.
_MOST_CHARACTERS = 2**20
# Types of labels that a file can hold.
_LABELS = (bool, int, float, str)


@dataclass(frozen=True)
class ClassOutcome(Outcome):
    """An outcome that is one of several classes.

    Parameters
    ----------
    classes : tuple of str, bool, int or float, or None, default=None
        Public labels of one type. None if they are not listed.

    Examples
    --------
    >>> from skdp.tabular import ClassOutcome
    >>> outcome = ClassOutcome(("alive", "dead"))
    >>> outcome.codes(["dead", "alive", "unknown"])
    array([ 1,  0, -1])
    """

    kind = "class"
    public = "the list of classes"
    effect_unit = "log-odds"

    classes: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.classes, list | tuple | range | np.ndarray):  # of NumPy's numbers too
            object.__setattr__(self, "classes", tuple(map(plain, self.classes)))

    @property
    def is_complete(self) -> bool:  # type: ignore[override]
        """Whether the classes are listed."""
        return self.classes is not None

    @property
    def groups(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The classes; empty if they are not listed."""
        return self.classes or ()

    @property
    def n_sums(self) -> int:  # type: ignore[override]
        """Number of classes."""
        return len(self.groups)

    n_cells = n_sums

    @property
    def about(self) -> str:  # type: ignore[override]
        """A few words about it."""
        return f"{self.n_sums} classes"

    def refusal(self, y: Any, *labels: Any) -> str | None:
        """Return why no label can be a class, by types only, or None. Text may be numbers."""
        kind = getattr(getattr(y, "dtype", None), "kind", "O")
        forms = set(map(canonical, self.groups))
        possible = {"b": {0.0, 1.0}, "m": set(), "M": set()}.get(kind, forms)
        kinds = "" if any(isinstance(form, float) for form in forms & possible) else kind
        return refused_kind(
            y,
            kinds,
            "but no class of the 'classes' parameter or schema does, so no label would match. "
            "Write labels and classes alike, such as classes=[0, 1] for "
            "y = [0, 1, 0].",
        )

    def codes(self, *labels: Any, steps: int = 1) -> np.ndarray:
        """Return positions among the classes."""
        return Vocabulary(list(self.groups)).codes(labels[0])

    def with_classes(self, classes: Any, owner: str) -> Outcome:
        """Return it with another list of classes."""
        return ClassOutcome(classes)

    def composed(self) -> Self:
        """Return it with labels in Unicode's composed form."""
        if not isinstance(self.classes, tuple):
            return self
        return replace(self, classes=tuple(map(composed, self.classes)))

    def in_order(self) -> Outcome:
        """Return it with sorted classes."""
        return self if self.classes is None else ClassOutcome(sorted(self.classes))

    def unlisted(self) -> Outcome:
        """Return it without a list."""
        return ClassOutcome()

    def covers(self, other: Outcome) -> bool:
        """Return whether the other's classes are among these, in any spelling."""
        if not isinstance(other, ClassOutcome):
            return False
        return self.classes is None or {*map(canonical, other.groups)} <= {
            *map(canonical, self.classes)
        }

    @property
    def named(self) -> str:
        """What it is compared by with an outcome of another kind."""
        return "classes"

    def mismatch(self, other: Outcome) -> str:
        """Return why sums may not be added, or "" if the classes are the same."""
        if not isinstance(other, ClassOutcome) or self == other:
            return super().mismatch(other)
        return f"their classes are {list(self.groups)!r:.200} and {list(other.groups)!r:.200}"

    def fault(self) -> str:
        """Return why no file can hold these classes, or ""."""
        labels = self.classes
        if not isinstance(labels, tuple) or not all(type(c) in _LABELS for c in labels):
            return "must be a list of numbers, or of text"
        if len({type(label) for label in labels}) != 1 or not len(labels) == len(set(labels)) >= 2:
            return "must be two or more different ones of one type"
        if not all(isinstance(label, str) or isfinite(label) for label in labels):
            return "must be finite"
        # An array of text is as wide as its longest.
        longest = max(len(label) if isinstance(label, str) else 0 for label in labels)
        if longest * len(labels) > _MOST_CHARACTERS or np.array(labels).dtype.kind == "O":
            return "must not be so long"
        return "" if list(labels) == sorted(labels) else "must be sorted"

    @property
    def in_schema(self) -> str:
        """Its description in a schema."""
        return f"classes {'not listed' if self.classes is None else shortened(self.classes)}"

    @property
    def details(self) -> str:
        """All public facts about it, as text."""
        return "none" if self.classes is None else self.in_schema

    @property
    def contents(self) -> str:
        """What a release says is public about it, in a phrase."""
        return f"the classes {', '.join(inline(str(label)) for label in self.groups)}"

    def common(self, outcomes: Mapping[str, Outcome]) -> Outcome:
        """Return the classes that all owners list, in the order of the first."""
        require_alike(outcomes, lambda other: isinstance(other, ClassOutcome))
        return ClassOutcome(common_classes({k: other.groups for k, other in outcomes.items()}))

    def description(self) -> dict[str, Any]:
        """Return the list under the key "classes"; nothing without one."""
        return {} if self.classes is None else {"classes": list(self.classes)}


@dataclass(frozen=True)
class NumberOutcome(Outcome):
    """An outcome that is a number between public bounds.

    Parameters
    ----------
    low, high : float
        Public bounds, low < high; numbers beyond are clipped to them.

    log, step, noisy : default=False, None and False
        As for a :class:`~skdp.tabular.NumericColumn`.

    zero : bool, default=False
        Whether zero is a class of its own, as for costs of people who mostly have none; ``low``
        is then 0. A release measures how often numbers are zero, and how large the others are.

    Raises
    ------
    ValueError
        If a numeric column could not have these bounds and steps, or zero is not the lower one.

    Examples
    --------
    >>> from skdp.tabular import NumberOutcome
    >>> NumberOutcome(0, 80).positions([20, 100, None])
    array([0.25, 1.  ,  nan])
    """

    kind = "number"
    about = "a number"
    public = "the bounds of the outcome"
    # Each row counts in both bounds, by its distance from each.
    n_cells = 2
    has_squares = True

    low: float
    high: float
    log: bool = False
    step: float | None = None
    noisy: bool = False
    zero: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, getattr(self.scale, name))
        if self.zero not in (False, True) or (self.zero and self.low != 0):
            raise ValueError(
                f"The 'zero' of an outcome is {self.zero!r:.50}, with low = {self.low:g}. It must "
                "be true or false, and 'low' 0 if it is true."
            )

    @cached_property
    def scale(self) -> NumericColumn:
        """A column with these bounds and this scale."""
        return self.column("outcome")

    def column(self, name: str) -> NumericColumn:
        """Return a column of a table with these numbers."""
        return NumericColumn(name, self.low, self.high, self.log, False, self.step, self.noisy)

    @property
    def effect_unit(self) -> str:  # type: ignore[override]
        """What effects are added to."""
        return "the logarithm" if self.log else "the outcome"

    @property
    def width(self) -> float:
        """Distance of the bounds, or of their logarithms on a logarithmic scale."""
        if not self.log:
            return self.high - self.low
        # Near zero the scale is not a logarithm: 1 is all of it.
        return float(np.log(self.high / self.low)) if self.low > 0 else 1.0

    def positions(self, values: ArrayLike) -> np.ndarray:
        """Return values as positions on the scale, 0 to 1; NaN if they are not numbers."""
        return self.scale.positions(values)

    def decode(self, places: np.ndarray) -> np.ndarray:
        """Return the values at positions, (n_samples, 1), rounded to steps if there are any."""
        return self.scale.decode(places)

    def refusal(self, y: Any, *labels: Any) -> str | None:
        """Return why labels cannot be numbers, by their type only, or None."""
        return refused_kind(
            y,
            "bmM",
            "but the outcome is a number. Convert it: a duration to days, for instance, or use "
            "'classes' for two classes.",
        )

    def codes(self, *labels: Any, steps: int) -> np.ndarray:
        """Return positions between the bounds in steps."""
        values = numbers(labels[0])
        missing = np.isnan(values)
        places = np.rint(self.positions(np.where(missing, self.low, values)) * steps)
        return np.where(missing, -1, places.astype(np.int64))

    @property
    def text(self) -> str:  # type: ignore[override]
        """A few words about it."""
        return f"{self.low:g} to {self.high:g}"

    @property
    def details(self) -> str:
        """All public facts about it, as text."""
        return column_text(self.scale) + ", zero is a class" * self.zero

    @property
    def contents(self) -> str:
        """What a release says is public about it, in a phrase."""
        scale = " on a logarithmic scale" if self.log else ""
        scale += ", with zero as a class" * self.zero
        return f"the bounds of the outcome, a number from {self.text}{scale}"

    def common(self, outcomes: Mapping[str, Outcome]) -> Outcome:
        """Return the widest bounds of all owners, whose scales must be the same."""
        require_alike(
            outcomes,
            lambda other: isinstance(other, NumberOutcome) and other.zero == self.zero,
        )
        columns = {owner: other.scale for owner, other in outcomes.items()}  # type: ignore[attr-defined]
        return NumberOutcome.of_column(common_column(columns), self.zero)

    @classmethod
    def of_column(cls, column: NumericColumn, zero: bool = False) -> Self:
        """Return the outcome with the bounds and the scale of a column."""
        return cls(column.low, column.high, column.log, column.step, column.noisy, zero)

    def description(self) -> dict[str, Any]:
        """Return its mapping under the key "outcome"."""
        zero = {"zero": True} if self.zero else {}
        return {"outcome": description_of(self.scale) | zero | {"type": "number"}}


@dataclass(frozen=True)
class EventOutcome(Outcome):
    """An outcome that is a time to an event, unknown in rows that leave before it.

    Rows leave with the event or without it (censored) in one of 20 intervals between 0 and the
    horizon, or are still under observation at the horizon.

    Parameters
    ----------
    horizon : float
        Public end of the follow-up, above 0. Rows still under observation at this time are
        censored there.

    event, time : str, default="event" and "time"
        Two columns of a table: whether a row had the event, and when it left. Events are 1 and 0,
        true and false, or yes and no, in any case. Other cells are missing, unless
        ``event_value`` is given.

    event_value : str, int or None, default=None
        Public value of an event, such as 2 if 1 is censored and 2 dead, or "dead". All other
        values of its type, numbers or text, are censored.

    competing : tuple of str or int, default=()
        Public values of events after which this one cannot happen, such as deaths of other
        causes. Their rows are censored, and a release counts them.

    Attributes
    ----------
    ends : ndarray of shape (20,)
        Ends of the intervals, in the unit of the horizon. The last one is the horizon.

    n_cells : int
        Number of ways to leave: intervals with the event, intervals without, and the horizon.

    Raises
    ------
    ValueError
        If the horizon is not a finite number above 0, the names are not different strings, the
        value of the event is neither text nor a whole number, or competing values are not
        different ones of its type.

    Examples
    --------
    >>> from skdp.tabular import EventOutcome
    >>> outcome = EventOutcome(365)
    >>> outcome.ends[[0, -1]].round(1)
    array([  4.1, 365. ])
    >>> outcome.cells([True, False, True], [2.0, 200.0, 400.0])
    array([ 0, 33, 40])
    >>> EventOutcome(365, event_value=2).events([1, 2, None])
    array([ 0.,  1., nan])
    >>> EventOutcome(365, event_value=1, competing=(2,)).codes([0, 1, 2], [2.0, 2.0, 2.0])
    array([20,  0, 41])
    """

    kind = "event"
    about = "a time to an event"
    public = "the horizon of the outcome"
    effect_unit = "the log-hazard"
    form = (
        "a structured array of event and time, such as numpy.array([(True, 5.0)], "
        "dtype=[('event', bool), ('time', float)])"
    )

    horizon: float
    event: str = "event"
    time: str = "time"
    event_value: str | int | None = None
    competing: tuple[str | int, ...] = ()

    def __post_init__(self) -> None:
        number = isinstance(self.horizon, Real) and not isinstance(self.horizon, bool)
        if not (number and 1e-12 < self.horizon < 1e12):
            raise ValueError(
                "The 'horizon' of an outcome must be a finite number above 0, got "
                f"{self.horizon!r:.100}. Use the public end of the follow-up, in the unit of the "
                "times, such as 1825 days."
            )
        object.__setattr__(self, "horizon", float(self.horizon))
        if not (is_text(self.event) and is_text(self.time)) or self.event == self.time:
            raise ValueError(
                "The 'event' and 'time' of an outcome must be different names of columns, got "
                f"{self.event!r:.100} and {self.time!r:.100}."
            )
        value, others = self.event_value, self.competing
        form = _code_of(value)
        if value is not None and form is None:
            raise ValueError(
                "The 'event_value' of an outcome must be text or a whole number, as 2 or 'dead', "
                f"got {value!r:.100}. Use the value that the table has for events."
            )
        object.__setattr__(self, "event_value", form)
        codes = tuple(map(_code_of, others if isinstance(others, list | tuple) else [others]))
        if len({form, *codes}) <= len(codes) or {*map(type, codes)} - {type(form)}:
            raise ValueError(
                "The 'competing' events of an outcome must be other values than its 'event_value' "
                f"and of the same type, such as [2, 3] beside 1, got {others!r:.100}."
            )
        object.__setattr__(self, "competing", codes)

    @property
    def ends(self) -> np.ndarray:
        """Ends of the intervals."""
        return self.horizon * INTERVAL_ENDS

    @property
    def n_cells(self) -> int:  # type: ignore[override]
        """Number of ways to leave."""
        return 2 * N_INTERVALS + 1

    @property
    def n_codes(self) -> int:
        """Number of codes: the ways to leave, then competing events in each interval."""
        return self.n_cells + N_INTERVALS * bool(self.competing)

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the columns of event and time."""
        return self.event, self.time

    @property
    def exits(self) -> "EventOutcome | None":
        """Itself: it counts rows by the way they leave."""
        return self

    @property
    def curve_times(self) -> np.ndarray:
        """Times at which survival curves step, ten per interval."""
        places = np.arange(1, 10 * N_INTERVALS + 1) / 10
        return np.interp(places, np.arange(N_INTERVALS + 1), np.append(0.0, self.ends))

    def events(self, column: Any) -> np.ndarray:
        """Return events as 1 and 0, NaN if a cell is missing or unreadable."""
        if self.event_value is not None:
            return coded(column, self.event_value)
        events = truths(column)
        return np.where(np.isin(events, (0.0, 1.0)), events, np.nan)

    def unread(self, events: Any, times: Any) -> np.ndarray:
        """Return which events and which times are neither missing nor readable: (2, n)."""
        read = self.events(events), numbers(times)
        cells = zip(read, (events, times), strict=True)
        return np.array([np.isnan(part) & ~missing_values(given) for part, given in cells])

    def states(self, events: Any, times: Any, at: Any) -> np.ndarray:
        """Return the state of each row at some times, of shape (n_times, n_samples).

        0: under observation, 1: had the event by then, 2: censored before; −1 if its time or
        event is missing or negative.
        """
        events, times, known = self._known(events, times)
        left = times < np.asarray(at, dtype=np.float64)[:, np.newaxis]
        at_time = times == np.asarray(at, dtype=np.float64)[:, np.newaxis]
        state = np.where(events == 1.0, left | at_time, 2 * left)
        return np.where(known, state, -1)

    def cells(self, events: Any, times: Any) -> np.ndarray:
        """Return the cell in which each row leaves; −1 if time or event is missing or negative."""
        events, times, known = self._known(events, times)
        interval = np.searchsorted(self.ends, np.where(known, times, 0.0), side="left")
        cell = np.where(events == 1.0, interval, N_INTERVALS + interval)
        # An event at the horizon is in the last interval; later ones are not seen.
        there = (times > self.horizon) | ((events == 0.0) & (times == self.horizon))
        return np.where(known, np.where(there, 2 * N_INTERVALS, cell), -1)

    def read(self, y: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return events and times of a structured array or a table, as numbers.

        NaN if they are not numbers; columns of a table are found by name. None if y is neither.
        """
        given = self.parts(y)
        return None if given is None else (self.events(given[0]), numbers(given[1]))

    def parts(self, y: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the raw columns that :meth:`read` converts to numbers."""
        y = as_frame(y, "y")
        if isinstance(y, pd.DataFrame):
            if not {self.event, self.time} <= set(y.columns):
                return None
            return as_elements(y[self.event]), as_elements(y[self.time])
        names = getattr(getattr(y, "dtype", None), "names", None)
        if names is None or len(names) != 2 or y.ndim != 1:
            return None
        if set(names) == {self.event, self.time}:
            names = self.event, self.time
        kinds = [y.dtype[name].kind for name in names]
        return (y[names[0]], y[names[1]]) if kinds[0] in "biu" and kinds[1] in "biuf" else None

    def refusal(self, y: Any, *labels: Any) -> str | None:
        """Return why events and times cannot be used, or None."""
        events, times = labels
        starts = [name for name in getattr(y, "columns", ()) if _START.fullmatch(str(name))]
        if starts and starts[0] not in self.columns:
            return (
                f"The 'y' parameter has a column {starts[0]!r:.50}, as start/stop tables do, but "
                "rows are followed from time 0. Use one row per person, the time since entry, and "
                "the entry as a column of X."
            )
        # Booleans may be events, but no times. Some dates have become objects.
        kinds = [events.dtype.kind.strip("b"), times.dtype.kind]
        kinds += ["M"] if _holds_dates(y, self.columns) else []
        refused = [kind for kind in kinds if kind in ("b", "m", "M")]
        if refused:
            return (
                f"The 'y' parameter holds {KINDS_OF_LABELS[refused[0]]} instead of numeric times "
                "and events. Convert durations to the unit of the horizon, and dates to the time "
                "since a row was first seen."
            )
        # By values, as no type tells 1 and 2 from 0 and 1; no single record decides.
        many = self.unread(events, times).sum(axis=1) >= LEAST
        if not many.any():
            return None
        return (
            f"The 'y' parameter holds cells in {self.columns[many.argmax()]!r} that cannot be "
            "read: their rows would be left out. Use numeric times, and 1/0, true/false or "
            "yes/no for events, or state 'event_value' in the outcome or schema. Nothing "
            "was charged."
        )

    def codes(self, *labels: Any, steps: int = 1) -> np.ndarray:
        """Return :meth:`cells`, and codes of their own for competing events before the horizon."""
        cells = self.cells(*labels)
        competes = np.isin(cells, np.arange(N_INTERVALS, 2 * N_INTERVALS))
        competes &= np.any([coded(labels[0], code) == 1 for code in self.competing], axis=0)
        return np.where(competes, cells + N_INTERVALS + 1, cells)

    def mismatch(self, other: Outcome) -> str:
        """Return why sums may not be added, or "" if horizon and competing events are the same."""
        alike = (
            isinstance(other, EventOutcome)
            and self.horizon == other.horizon
            and bool(self.competing) == bool(other.competing)
        )
        return "" if alike else super().mismatch(other)

    def label_columns(self, label: str | None, owner: str) -> list[str]:
        """Return the names of its two columns; no label may replace them."""
        if label is not None:
            raise ValueError(
                f"The 'label' parameter of {owner} must be None for a time to an event, whose "
                "outcome names its two columns. Leave it out."
            )
        return [self.event, self.time]

    def with_columns(self, *names: str) -> Outcome:
        """Return it with other names for its columns."""
        event, time = names
        return replace(self, event=event, time=time)

    def values(self, columns: Any) -> Any:
        """Return the columns of event and time under the names of this outcome."""
        return columns.set_axis(list(self.columns), axis=1)

    def readable(self, y: Any) -> Any:
        """Return y with unreadable values as None."""
        return y.mask(self.unread(y[self.event], y[self.time]).T, None)

    @property
    def text(self) -> str:  # type: ignore[override]
        """A few words about it."""
        return f"time to an event, up to {self.horizon:g}"

    @property
    def details(self) -> str:
        """All public facts about it, as text."""
        code = "" if self.event_value is None else f", the event is {self.event_value!r:.50}"
        code += f", competing events are {shortened(self.competing)}" if self.competing else ""
        return f"{self.text}, in the columns {shortened(self.columns)}{code}"

    @property
    def contents(self) -> str:
        """What a release says is public about it, in a phrase."""
        return f"the horizon of the outcome, a {self.text}"

    def common(self, outcomes: Mapping[str, Outcome]) -> Outcome:
        """Return this outcome if all have its horizon and value of the event."""
        require_alike(
            outcomes,
            lambda other: (
                not self.mismatch(other)
                and (self.event_value, self.competing) == (other.event_value, other.competing)
            ),
        )
        return self

    def description(self) -> dict[str, Any]:
        """Return its mapping under the key "outcome"."""
        given = {key: getattr(self, key) for key in _EVENT_KEYS}
        other = {key: value for key, value in given.items() if value not in (key, None, ())}
        if self.competing:
            other["competing"] = list(self.competing)
        return {"outcome": {"type": "event", "horizon": self.horizon} | other}

    def _known(self, events, times):
        """Return both as numbers, and whether they say when and how a row left."""
        events, times = self.events(events), numbers(times)
        return events, times, ~np.isnan(events) & (times >= 0)


def outcome_from(description: Any) -> Outcome:
    """Return the outcome that a mapping of the type "number" or "event" describes."""
    given = dict(description) if isinstance(description, Mapping) else {}
    kind = given.pop("type", None)
    if kind == "number" and not given.get("missing"):
        zero = given.pop("zero", False)
        column = column_from("outcome", {**given, "type": "numeric"})
        return NumberOutcome.of_column(column, zero)
    if kind == "event" and "horizon" in given and set(given) <= {"horizon", *_EVENT_KEYS}:
        return EventOutcome(**given)
    if kind == "event" and "entry" in given:
        raise ValueError(
            "The 'outcome' has an 'entry', but rows are at risk from time 0. Use the time since "
            "entry as the time, and make the entry a column of the table, such as age at entry."
        )
    raise ValueError(
        "The 'outcome' must be a mapping such as {'type': 'number', 'low': 0, 'high': 80}, "
        "optionally with 'log', 'step' and 'zero', or {'type': 'event', 'horizon': 365}, "
        "optionally with columns 'event' and 'time', an 'event_value' and 'competing' values, got "
        f"{description!r:.200}."
    )


def outcome_of(described: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a schema or header, by its key "classes" or "outcome"."""
    classes, outcome = described.get("classes"), described.get("outcome")
    if outcome is None:
        return ClassOutcome(classes)
    if classes is not None:
        raise ValueError("The schema has both 'classes' and another 'outcome'; leave one out.")
    return outcome_from(outcome)


def common_outcome(outcomes: Mapping[str, Outcome]) -> Outcome:
    """Return the common outcome of all owners who state one; unlisted classes if none does.

    Columns of times have the names of the first owner.
    """
    stated = {owner: outcome for owner, outcome in outcomes.items() if outcome.is_complete}
    return next(iter(stated.values())).common(stated) if stated else ClassOutcome()


# Names of columns with the start of a row in start/stop tables, and of late entry.
_START = re.compile(
    r"(t|time|date)?[._ ]?(start|begin|entry|enter(ed)?|entrance)[._ ]?(t|time|date|age)?",
    re.IGNORECASE,
)
# Keys of the description of a time to an event, besides type and horizon.
_EVENT_KEYS = "event", "time", "event_value", "competing"


def _code_of(value):
    """Return the value of an event as text or a whole number, None for anything else."""
    form = canonical(value) if is_text(value) or isinstance(value, Real | np.bool_) else None
    return (
        int(form) if isinstance(form, float) and form % 1 == 0 else form if is_text(form) else None
    )


def _holds_dates(y, names):
    """Return whether a column of a table has a date or period type of pandas."""
    dates = pd.DatetimeTZDtype | pd.PeriodDtype | pd.IntervalDtype
    held = names if isinstance(y, pd.DataFrame) else ()
    return any(isinstance(y[name].dtype, dates) for name in held)
