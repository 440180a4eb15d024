"""Drafts of schemas from public rows, and warnings about these rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from skdp.tabular._check import check_table
from skdp.tabular._columns import CategoryColumn, NumericColumn, plain
from skdp.tabular._mistakes import (
    are_dates,
    is_record_number,
    odd_numbers,
    odd_rows,
    respelled,
)
from skdp.tabular._outcomes import ClassOutcome, EventOutcome, NumberOutcome, Outcome
from skdp.tabular._schema import Schema
from skdp.tabular._values import canonical, missing_values, numbers
from skdp.utils._frames import as_frame, composed
from skdp.utils._warnings import warn

# Largest number of decimals for which a step is drafted, as more are hardly rounded by hand; and
# the largest distance of a number from a multiple of the step, in steps.
_MOST_DECIMALS, _TO_A_STEP = 3, 1e-6
# Two whole numbers less than this apart are codes, such as 1 and 2, rather than least and greatest
# values.
_CODES = 10
# Most different whole numbers that become classes rather than bounds.
_MOST_CLASSES = 20
# Findings of a check about the rows rather than the schema.
_OF_ROWS = ("totals", "people", "ids", "leak")


def schema_from(
    frame: pd.DataFrame,
    *,
    public: bool,
    label: str | None = None,
    event: str | None = None,
    time: str | None = None,
    horizon: float | None = None,
    event_value: str | int | None = None,
) -> Schema:
    """Draft a schema from rows that are public or the target's own.

    Bounds and categories of private rows are private: a release that contains them reveals single
    rows, outside every guarantee. No program can distinguish private rows from public ones, so
    you must. Read the draft, set its bounds to what the instruments and code books allow, mark
    logarithmic scales and ordered categories, and save it with ``to_json()``.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
        Numeric columns get bounds, rounded outwards, and numbers of up to three decimals get
        their step. Text, categories, booleans and objects get their values as categories, sorted
        or in the order of their dtype. Columns of only two whole numbers less than 10 apart, such
        as 0 and 1, become categories too: as numbers they would need much more budget.

    public : bool
        True states that the rows are public or the target's own. Anything else is refused.

    label : str or None, default=None
        Column of labels, whose values become the classes. Fractions, or more than 20
        different numbers, become the rounded bounds of a numeric ``outcome``.

    event, time : str or None, default=None
        Instead of ``label``, two columns: whether a row had an event, and the time of the event
        or of censoring. They become an ``outcome`` that is a time.

    horizon : float or None, default=None
        The time up to which rows are followed; None: the largest time, rounded upwards.

    event_value : str, int or None, default=None
        Value of an event, such as 2 or "dead"; all other values are censored. None: 1, true or
        yes.

    Returns
    -------
    schema : Schema

    Raises
    ------
    ValueError
        If ``public`` is not True; if ``label``, ``event`` or ``time`` is not a column; if events
        cannot be read; or if a column has no values, record numbers, or as many different values
        as names or IDs.

    Examples
    --------
    >>> import pandas as pd
    >>> from skdp.tabular import schema_from
    >>> frame = pd.DataFrame({"age": [23, 68, 41], "sex": ["F", "M", None], "died": [0, 1, 0]})
    >>> print(schema_from(frame, public=True, label="died").summary())
    Schema(1 numeric column, 1 of categories; 4 encoded; classes 0, 1)
      'age': numeric, 20 to 70, in steps of 1
      'sex': category, 'F', 'M'; may be missing
    """
    if public is not True:
        raise ValueError(
            "The 'public' parameter of schema_from must be True: a release would reveal bounds "
            "and categories of private rows. Draft from public rows or the target's own, or write "
            "the schema from units, instruments and code books."
        )
    frame = as_frame(frame, "frame", text_as_categories=False)
    frame = frame.rename(columns=composed)
    label, event, time = (composed(name) for name in (label, event, time))
    _check_outcome_names(frame, label, event, time, horizon, event_value)
    names = [name for name in frame.columns if name not in {label, event, time} - {None}]
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"Column {name!r} has a name that is not text; rename it.")
    faults = unfit_columns(frame[names])
    if faults:
        raise ValueError(" ".join([*faults.values(), odd_rows(frame)[0]]).rstrip())
    columns = tuple(_drafted(name, frame[name]) for name in names)
    numeric = [column.name for column in columns if isinstance(column, NumericColumn)]
    single = [name for name in numeric if frame[name].nunique() == 1]
    if single:
        warn(
            f"The columns {single!r:.300} have only one value in these rows, so their bounds are "
            "unknown. Write them by hand, or leave the columns out."
        )
    if label is not None and is_record_number(label, frame[label]):
        warn(f"Column {label!r} seems to number the records. Name the column of labels.")
    outcome: Outcome = ClassOutcome()
    if event is not None:
        outcome = _times(frame, event, time, horizon, event_value)
    elif label is not None and _is_measured(frame[label]):
        outcome = NumberOutcome.of_column(_numeric("outcome", _finite_numbers(frame[label])))
    elif label is not None:
        outcome = ClassOutcome(_classes(frame[label]))
    schema = Schema(columns, outcome)
    _warn_of_rows(frame, schema, label)
    return schema


def _warn_of_rows(frame, schema, label):
    """Warn of rows that a draft should not have been made from."""
    for finding in check_table(frame, schema, label=label).findings:
        if finding.kind in _OF_ROWS:
            warn(
                f"Column {finding.column!r:.100}: {finding.text}"
                if finding.column
                else finding.text
            )
    listings = {c.name: c.categories for c in schema.columns if isinstance(c, CategoryColumn)}
    for name, listing in (listings | {label: schema.outcome.groups}).items():
        if alike := respelled(listing):
            warn(
                f"Column {name!r:.100} has {alike!r:.200}, which differ only in case, white space "
                "or punctuation. Spell each in one way, or they are different categories."
            )


def _check_outcome_names(frame, label, event, time, horizon, event_value):
    """Raise ValueError unless names are columns and describe one outcome."""
    for name, value in (("label", label), ("event", event), ("time", time)):
        if value is not None and value not in frame.columns:
            raise ValueError(f"The {name!r} parameter, {value!r}, is not a column; name one.")
        if value is not None and are_dates(frame[value]):
            raise ValueError(
                f"Column {value!r} has dates, which cannot be outcomes; convert them to the time "
                f"since a row entered, such as days since admission, or name another by {name!r}."
            )
    if (event is None) != (time is None):
        raise ValueError(
            "The 'event' and 'time' parameters of schema_from must both be names of columns or "
            f"both be None, got {event!r:.100} and {time!r:.100}."
        )
    if label is not None and event is not None:
        raise ValueError(
            f"The 'label' parameter of schema_from is {label!r:.100}, and 'event' {event!r:.100}. "
            "Name the column of labels, or those of events and times."
        )
    for name, value in (("horizon", horizon), ("event_value", event_value)):
        if value is not None and event is None:
            raise ValueError(
                f"The {name!r} parameter of schema_from is {value!r:.100}, for events only. "
                "Name 'event' and 'time' too, or leave it out."
            )


def _times(frame, event, time, horizon, event_value):
    """Return the outcome of events and times; its horizon is the largest time, rounded."""
    outcome = EventOutcome(1.0 if horizon is None else horizon, event, time, event_value)
    for name, strange in zip(
        (event, time), outcome.unread(frame[event], frame[time]), strict=True
    ):
        if strange.any():
            what = "events" if name == event else "times, which are numbers"
            raise ValueError(
                f"Column {name!r} has values that are not {what}, such as "
                f"{plain(frame[name][strange].iloc[0])!r:.50}; write events as 1 and 0, true and "
                "false, or yes and no, or name the value of an event: event_value, in commands "
                "--event-value. Leave missing cells empty."
            )
    if event_value is not None and not (outcome.events(frame[event]) == 1).any():
        raise ValueError(
            f"Column {event!r} has no 'event_value' {event_value!r:.50}; spell it as there."
        )
    times = numbers(frame[time])
    known = times[np.isfinite(times) & (times > 0)]
    if horizon is None and not known.size:
        raise ValueError(f"Column {time!r} has no time above 0; name another by 'time'.")
    return (
        outcome
        if horizon is not None
        else replace(outcome, horizon=rounded_bounds(0.0, known.max())[1])
    )


def _is_measured(labels):
    """Return whether labels are measurements rather than numbers of classes."""
    if not is_numeric_dtype(labels.dtype) or is_bool_dtype(labels.dtype):
        return False
    different = _finite_numbers(labels)
    return len(different) > _MOST_CLASSES or bool((different % 1).any())


def _classes(labels):
    """Return the sorted labels in JSON types, each in one spelling."""
    return tuple(_different(np.unique(labels.dropna().to_numpy()).tolist()))


def _different(values):
    """Return different values: the first spelling of each, without missing ones."""
    spelled: dict = {}
    for value in values:
        spelled.setdefault(canonical(value), value)
    spelled.pop(None, None)
    return list(spelled.values())


def unfit_columns(frame):
    """Return by name why columns of public rows cannot be drafted."""
    faults = {name: _fault(name, frame[name]) for name in frame.columns}
    return {name: f"Column {name!r} {fault}." for name, fault in faults.items() if fault}


def _fault(name, values):
    """Return why a column cannot be described by its values, or None."""
    if are_dates(values):
        return (
            "has dates or durations; convert them to numbers, such as an age or days since a "
            "public date, or leave it out"
        )
    if odd := odd_numbers(values):
        return (
            f"has {len(odd)} texts such as {odd[0]!r:.50} among numbers; write them as numbers, "
            "or name units (--units) or marks of missing values (--missing)"
        )
    if is_numeric_dtype(values.dtype) and not is_bool_dtype(values.dtype):
        if not np.isfinite(numbers(values)).any():
            return "has no finite number; leave it out"
        return is_record_number(name, values) and (
            "has a different whole number in each row, like record numbers or IDs; leave it "
            "out, or describe it by hand if it is a measurement"
        )
    if len(_categories(values)[0]) < 2:
        return (
            "has fewer than two values in these rows; leave it out, or describe its categories by "
            "hand"
        )
    # Noise hides more than 100 one-hot columns, and more than 20 and than half as many as the rows
    # are names or IDs.
    n = len(_different(values.unique().tolist()))
    return (n > 100 or n > max(20, len(values) / 2)) and (
        f"has {n} different values in {len(values)} rows, like names or IDs; leave it out, "
        "merge values, or describe its categories by hand"
    )


def _drafted(name, values):
    """Return the column of the schema that describes these values."""
    missing = bool(missing_values(values).any())
    if not is_numeric_dtype(values.dtype) or is_bool_dtype(values.dtype):
        categories, ordered = _categories(values)
        return CategoryColumn(name, categories, ordered, missing)
    different = _finite_numbers(values)
    codes = len(different) == 2 and np.all(different == np.rint(different))
    if codes and np.ptp(different) < _CODES:
        return CategoryColumn(name, tuple(different.tolist()), missing=missing)
    return _numeric(name, different, missing)


def _numeric(name, different, missing=False):
    """Return the numeric column of these different values, with rounded bounds."""
    low, high = rounded_bounds(different[0], different[-1])
    return NumericColumn(name, low, high, missing=missing, step=_step(different, low, high))


def _finite_numbers(values):
    """Return the different finite numbers of a column in ascending order."""
    given = numbers(values)
    return np.unique(given[np.isfinite(given)])


def _step(values, low, high):
    """Return the power of ten, at most 1, that divides the values and the lower bound.

    None without one, and for two values, which show no step.
    """
    for decimals in range(_MOST_DECIMALS + 1):
        multiples = np.append(values, low) * 10**decimals
        if np.allclose(multiples, np.rint(multiples), rtol=0, atol=_TO_A_STEP):
            step = 10.0**-decimals
            return step if len(values) > 2 and step <= high - low else None
    return None


def _categories(values):
    """Return the categories of a column, and whether their order has a meaning."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return tuple(_different(values.cat.categories.tolist())), bool(values.cat.ordered)
    given = sorted(values.dropna().unique().tolist(), key=lambda v: (str(type(v)), v))
    return tuple(_different(given)), False


def rounded_bounds(low, high):
    """Return bounds rounded outwards to multiples of a step that suits their range."""
    # At most ten steps in the range look like bounds.
    step = (high - low or abs(high) or 1.0) / 10
    exponent = int(np.floor(np.log10(step)))
    step = next(m for m in (1, 2, 5, 10) if m * 10.0**exponent >= step) * 10.0**exponent
    below, above = np.floor(low / step), np.ceil(high / step)
    above += above == below
    return round(float(below * step), -exponent), round(float(above * step), -exponent)
