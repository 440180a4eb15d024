"""Differences between descriptions of a column, and their common description."""

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from skdp.tabular._columns import CategoryColumn, NumericColumn
from skdp.tabular._values import canonical


def shortened(values, shown=5):
    """Return the first values as text, with visible control characters."""
    more = f", … ({len(values)})" if len(values) > shown else ""
    return ", ".join(f"{value!r:.50}" for value in values[:shown]) + more


def column_texts(column, shown=5):
    """Return the kind of a column, its values and notes as texts."""
    missing = "; may be missing" * column.missing + "; noisy" * column.noisy
    if isinstance(column, NumericColumn):
        values = f"{_number(column.low)} to {_number(column.high)}"
        steps = "" if column.step is None else f", in steps of {_number(column.step)}"
        return "numeric", values + steps, "; logarithmic" * column.log + missing
    values = shortened(column.categories, shown)
    return "category", values, "; ordered" * column.ordered + missing


def column_text(column, shown=5):
    """Return the description of a column as text; None is a column that a schema lacks."""
    if column is None:
        return "no such column"
    kind, values, notes = column_texts(column, shown)
    return f"{kind}, {values}{notes}"


def column_difference(first, second):
    """Return both descriptions of a column as text; one may be None."""
    text = f"{column_text(first)} here; {column_text(second)} there"
    if not (isinstance(first, CategoryColumn) and isinstance(second, CategoryColumn)):
        return text
    return text + _note(first.categories, second.categories)


def classes_difference(first, second):
    """Return both lists of classes as text; "" if they agree. One may be None."""
    # In Python 1 equals True, but labels distinguish them.
    if [*map(repr, first or ())] == [*map(repr, second or ())]:
        return ""
    texts = ("not listed" if labels is None else shortened(labels) for labels in (first, second))
    text = "{} here; {} there".format(*texts)
    return text if first is None or second is None else text + _note(first, second)


def common_column(columns):
    """Return the column that covers the columns of the same name of several owners.

    Raise ValueError with two descriptions if they differ in type, scale or order.
    """
    first, *others = columns.values()
    for column in others:
        if type(column) is not type(first):
            raise _disagreement(columns, "make it numeric in all or in none")
        if getattr(column, "log", None) != getattr(first, "log", None):
            raise _disagreement(columns, "make it logarithmic in all or in none")
        if getattr(column, "ordered", None) != getattr(first, "ordered", None):
            raise _disagreement(columns, "make it ordered in all or in none")
    missing = any(column.missing for column in columns.values())
    noisy = any(column.noisy for column in columns.values())
    if isinstance(first, NumericColumn):
        low = min(column.low for column in columns.values())
        high = max(column.high for column in columns.values())
        step = _common_step(low, columns.values())
        step = None if step is None or step > high - low else step
        return NumericColumn(first.name, low, high, first.log, missing, step, noisy)
    spelled: dict = {}  # the first spelling of several, as of 7 and 007
    for column in columns.values():
        for category in column.categories:
            spelled.setdefault(canonical(category), category)
    if first.ordered:
        spelled = {key: spelled[key] for key in _one_order(columns)}
    return CategoryColumn(first.name, tuple(spelled.values()), first.ordered, missing, noisy)


def _common_step(low, columns):
    """Return the finest step if it divides the distance of all values from a bound, or None."""
    steps = [column.step for column in columns]
    if None in steps:
        return None
    finest = min(steps)
    multiples = [distance / finest for distance in (*steps, *(c.low - low for c in columns))]
    whole = all(abs(m - round(m)) < 1e-9 * max(1, abs(m)) for m in multiples)  # up to rounding
    return finest if whole else None


def common_classes(classes):
    """Return the classes that all owners list, in the order of the first, or None."""
    listed = {owner: labels for owner, labels in classes.items() if labels is not None}
    if not listed:
        return None
    (first, these), *others = listed.items()
    for owner, those in others:
        if set(map(repr, these)) != set(map(repr, those)):
            raise ValueError(
                f"The classes are {shortened(these)} in {first} and {shortened(those)} in "
                f"{owner}{_note(these, those)}, but must agree. In each schema, list all possible "
                "labels in one spelling."
            )
    return these


def _one_order(columns):
    """Return the keys of all categories in the only order that agrees with all lists."""
    sorter: TopologicalSorter = TopologicalSorter()
    for column in columns.values():
        for earlier, later in pairwise(map(canonical, column.categories)):
            sorter.add(later, earlier)
    try:
        sorter.prepare()
    except CycleError:
        raise _disagreement(
            columns, "the orders of its categories contradict each other; list them in one order"
        ) from None
    order: list = []
    while sorter.is_active():
        ready = sorter.get_ready()
        if len(ready) > 1:
            raise _disagreement(
                columns, "the order of all its categories is unknown; list all in one schema"
            )
        order += ready
        sorter.done(*ready)
    return order


def _disagreement(columns, remedy):
    """Return the error for a column without a common description."""
    # Of owners with the same description, the first is named.
    owners: dict = {}
    for owner, column in columns.items():
        owners.setdefault(column_text(column, shown=20), owner)
    texts = "; ".join(f"{text!s:.1000} in {owner}" for text, owner in owners.items())
    name = next(iter(columns.values())).name
    return ValueError(f"Column {name!r:.100} has no common description: {texts}; {remedy}.")


def _note(first, second):
    """Return the differences of two lists, for lists too long to show."""
    if first == second or max(len(first), len(second)) <= 5:
        return ""
    more = {
        "here": [value for value in first if value not in set(second)],
        "there": [value for value in second if value not in set(first)],
    }
    notes = [f"only {side}: {shortened(values)}" for side, values in more.items() if values]
    return f" ({'; '.join(notes) or 'in another order'})"


def _number(value):
    """Return a number as a short, exact text."""
    text = f"{value:g}"
    return text if float(text) == value else repr(value)
