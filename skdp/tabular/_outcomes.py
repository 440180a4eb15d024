"""Outcomes that are no classes: a number between public bounds, or a time to an event."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from skdp.tabular._columns import NumericColumn, column_from, description_of, is_text
from skdp.tabular._values import canonical, coded, missing_values, numbers, truths
from skdp.utils._frames import as_elements, as_frame

# Intervals up to the horizon, and the power of their place at which they end: events are usually
# dense at first.
N_INTERVALS, _POWER = 20, 1.5
# In units of the horizon.
INTERVAL_ENDS = (np.arange(1, N_INTERVALS + 1) / N_INTERVALS) ** _POWER


@dataclass(frozen=True)
class EventOutcome:
    """An outcome that is a time to an event, which is not seen in rows that leave before.

    Rows leave with the event or without it (censored), in one of 20 intervals between 0 and the
    horizon, or are there at the horizon.

    Parameters
    ----------
    horizon : float
        Public: the time up to which rows are followed, above 0. Rows that are there at this time
        leave without the event.

    event, time : str, default="event" and "time"
        Names of the two columns of a table that say whether a row had the event, and when it left.
        Events are 1 and 0, true and false, or yes and no, in any case. In other cells they are
        missing, unless ``event_value`` says how they are written.

    event_value : str, int or None, default=None
        Public: how the event is written, such as 2 where 1 is censored and 2 dead, or "dead". All
        other values, of numbers or of text as this one is, are without the event (censored).

    Attributes
    ----------
    ends : ndarray of shape (20,)
        Ends of the intervals, in the unit of the horizon. The last one is the horizon.

    n_cells : int
        Of the ways to leave: intervals with the event, then intervals without, then the horizon.

    Raises
    ------
    ValueError
        When the horizon is no finite number above 0, the names are no different texts, or the
        value of the event is no text and no whole number.

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
    """

    horizon: float
    event: str = "event"
    time: str = "time"
    event_value: str | int | None = None

    def __post_init__(self) -> None:
        number = isinstance(self.horizon, Real) and not isinstance(self.horizon, bool)
        if not (number and 1e-12 < self.horizon < 1e12):
            raise ValueError(
                "The 'horizon' of an outcome must be a finite number above 0, got "
                f"{self.horizon!r:.100}. It is the public time up to which rows are followed, in "
                "the unit of the times, such as 1825 days."
            )
        object.__setattr__(self, "horizon", float(self.horizon))
        if not (is_text(self.event) and is_text(self.time)) or self.event == self.time:
            raise ValueError(
                "The 'event' and 'time' of an outcome must be different names of columns, got "
                f"{self.event!r:.100} and {self.time!r:.100}."
            )
        value = self.event_value
        form = canonical(value) if is_text(value) or isinstance(value, Real | np.bool_) else None
        if value is not None and not (
            isinstance(form, str) or (form is not None and form % 1 == 0)
        ):
            raise ValueError(
                "The 'event_value' of an outcome must be text or a whole number, as 2 or 'dead', "
                f"got {value!r:.100}. It is how the table writes the event."
            )
        object.__setattr__(
            self, "event_value", form if isinstance(form, str | None) else int(form)
        )

    @property
    def ends(self) -> np.ndarray:
        """Ends of the intervals."""
        return self.horizon * INTERVAL_ENDS

    @property
    def n_cells(self) -> int:
        """Number of ways to leave."""
        return 2 * N_INTERVALS + 1

    def events(self, column: Any) -> np.ndarray:
        """Return events as 1 and 0, NaN where a cell is missing or no event."""
        if self.event_value is not None:
            return coded(column, self.event_value)
        events = truths(column)
        return np.where(np.isin(events, (0.0, 1.0)), events, np.nan)

    def unread(self, events: Any, times: Any) -> np.ndarray:
        """Return which events, and which times, are not missing and cannot be read: (2, n)."""
        read = self.events(events), numbers(times)
        cells = zip(read, (events, times), strict=True)
        return np.array([np.isnan(part) & ~missing_values(given) for part, given in cells])

    def states(self, events: Any, times: Any, at: Any) -> np.ndarray:
        """Return where each row is at some times, of shape (n_times, n_samples).

        0: there, 1: it has had the event by then, 2: it left before without it; −1 where its time
        or event is missing or negative.
        """
        events, times, known = self._known(events, times)
        left = times < np.asarray(at, dtype=np.float64)[:, np.newaxis]
        at_time = times == np.asarray(at, dtype=np.float64)[:, np.newaxis]
        state = np.where(events == 1.0, left | at_time, 2 * left)
        return np.where(known, state, -1)

    def cells(self, events: Any, times: Any) -> np.ndarray:
        """Return in which cell each row leaves; −1 where time or event is missing or negative."""
        events, times, known = self._known(events, times)
        interval = np.searchsorted(self.ends, np.where(known, times, 0.0), side="left")
        cell = np.where(events == 1.0, interval, N_INTERVALS + interval)
        # An event at the horizon itself is in the last interval; what comes later is not seen.
        there = (times > self.horizon) | ((events == 0.0) & (times == self.horizon))
        return np.where(known, np.where(there, 2 * N_INTERVALS, cell), -1)

    def read(self, y: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return events and times of a structured array, or of a table with the two columns.

        As numbers, NaN where they are none; the columns of a table are found by name. None where
        y is neither.
        """
        given = self.parts(y)
        return None if given is None else (self.events(given[0]), numbers(given[1]))

    def parts(self, y: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return what :meth:`read` makes numbers of, as it is."""
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

    def _known(self, events, times):
        """Return both as numbers, and whether they say when and how a row left."""
        events, times = self.events(events), numbers(times)
        return events, times, ~np.isnan(events) & (times >= 0)


# Keys of the description of a time to an event, besides type and horizon.
_EVENT_KEYS = "event", "time", "event_value"
Outcome = NumericColumn | EventOutcome


def exit_names(outcome: Outcome | None, label: str | None, owner: str) -> list[str]:
    """Return the names of the columns of a time to an event; none of other outcomes."""
    if not isinstance(outcome, EventOutcome):
        return []
    if label is not None:
        raise ValueError(
            f"The 'label' parameter of {owner} must be None where the outcome is a time to an "
            "event, which names its two columns itself."
        )
    return [outcome.event, outcome.time]


def outcome_from(description: Any) -> Outcome:
    """Return the outcome that a mapping of the type "number" or "event" describes."""
    given = dict(description) if isinstance(description, Mapping) else {}
    kind = given.pop("type", None)
    if kind == "number" and not given.get("missing"):
        return column_from("outcome", {**given, "type": "numeric"})
    if kind == "event" and "horizon" in given and set(given) <= {"horizon", *_EVENT_KEYS}:
        return EventOutcome(**given)
    raise ValueError(
        "The 'outcome' must be a mapping such as {'type': 'number', 'low': 0, 'high': 80}, with "
        "'log' and 'step' where they apply, or {'type': 'event', 'horizon': 365}, with the names "
        "of the columns 'event' and 'time' if they are others, and the 'event_value' if the event "
        f"is not 1, true or yes, got "
        f"{description!r:.200}."
    )


def outcome_description(outcome: Outcome) -> dict[str, Any]:
    """Return what :func:`outcome_from` needs to make the outcome, of JSON's types."""
    if isinstance(outcome, NumericColumn):
        return description_of(outcome) | {"type": "number"}
    given = {key: getattr(outcome, key) for key in _EVENT_KEYS}
    own = {key: value for key, value in given.items() if value not in (key, None)}
    return {"type": "event", "horizon": outcome.horizon} | own


def without_names(outcome: Outcome | None) -> Outcome | None:
    """Return an outcome with the usual names of its columns: sums do not depend on names."""
    if isinstance(outcome, NumericColumn):
        return replace(outcome, name="outcome")
    return None if outcome is None else EventOutcome(outcome.horizon)


def outcome_text(outcome: Outcome) -> str:
    """Return a few words about an outcome."""
    if isinstance(outcome, EventOutcome):
        return f"time to an event, up to {outcome.horizon:g}"
    return f"{outcome.low:g} to {outcome.high:g}"
