"""Tables of rows: which rows make a line, and what each of its cells shows of them."""

import json
from dataclasses import dataclass, field

from _store import RESULTS

NOTHING = "–"
ENOUGH = 3  # fits, for a mean that stands for a variant; rule of thumb


def exists(name):
    return (RESULTS / f"{name}.json").exists()


def load(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


class Values(list):
    """Values of one column in some rows, as format strings show them.

    ``{auc:.3f}`` is the mean; ``{auc:.3f ±}`` has the standard deviation behind it, and
    ``{auc:.3f ±e}`` the standard error. ``{auc:.3f sd}`` is the deviation alone, ``{auc:count}``
    the number of values. "p" instead of "f" multiplies by 100. Values that are all the same stay
    as they are. ``{level:ε}`` is a budget, ``{level:level}`` one with what it protects.
    """

    @property
    def mean(self):
        return sum(self) / len(self)

    @property
    def variance(self):
        return sum((value - self.mean) ** 2 for value in self) / max(len(self) - 1, 1)

    @property
    def sd(self):
        return self.variance**0.5

    @property
    def error(self):
        return (self.variance / len(self)) ** 0.5

    def __format__(self, spec):
        if not self:
            return NOTHING
        if spec in _WORDS:
            return _WORDS[spec](self)
        number, _, spread = spec.partition(" ")
        if not number:
            return str(self[0])
        numbers = Values(float(v) if isinstance(v, str) else v for v in self)
        if number.endswith("p"):
            number, numbers = f"{number[:-1]}f", Values(100 * value for value in numbers)
        if spread == "sd":
            return format(numbers.sd, number)
        same = all(value == numbers[0] for value in numbers)
        text = format(numbers[0] if same else numbers.mean, number)
        if not spread or len(self) == 1:
            return text
        width = numbers.sd if spread == "±" else numbers.error
        return f"{text} ± {format(width, number.removeprefix('+'))}"


def epsilon_name(epsilon):
    """Return a budget as text; what is no number stays as it is."""
    try:
        return "∞" if float(epsilon) == float("inf") else f"{float(epsilon):g}"
    except ValueError:
        return epsilon


def level_name(level):
    unit, _, epsilon = level.rpartition(" ")
    return f"ε = {epsilon_name(epsilon)} {'for a record' if unit else 'for an element'}"


_WORDS = {
    "count": lambda values: str(len(values)),
    "ε": lambda values: epsilon_name(values[0]),
    "level": lambda values: level_name(values[0]),
}


def where(rows, **wanted):
    """Return rows that agree with what is wanted; a tuple or list names several values."""
    return [
        row
        for row in rows
        if all(
            row.get(name) in value if isinstance(value, (tuple, list)) else row.get(name) == value
            for name, value in wanted.items()
        )
    ]


def pick(rows, key="accuracy", **wanted):
    """Return the values of a column in rows that agree with what is wanted."""
    return Values(row[key] for row in where(rows, **wanted) if row.get(key) is not None)


def grouped(rows, *keys):
    """Return lists of rows by their values of some columns, in the order of the rows."""
    found: dict = {}
    for row in rows:
        found.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    return found


def unique(rows, key):
    return list(dict.fromkeys(row[key] for row in rows))


def levels(rows, key="level"):
    return [level for level in unique(rows, key) if level != "-"]


def strictness(level):
    unit, _, epsilon = level.rpartition(" ")
    return unit, -float(epsilon)


def first_variant(rows, variants, **wanted):
    """Return accuracies of the first variant with enough fits, or with most, and its name."""
    found = [(pick(rows, variant=variant, **wanted), variant) for variant in variants]
    enough = [each for each in found if len(each[0]) >= ENOUGH]
    return enough[0] if enough else max(found, key=lambda each: len(each[0]))


class _Columns:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, name):
        if values := pick(self.rows, name):
            return values
        raise KeyError(name)


def show(cell, rows):
    """Return the text of a cell: a function of the rows, or a format string of their columns.

    Of several format strings it is the first whose columns are all there; without one, a dash.
    """
    if callable(cell):
        return str(cell(rows))
    for text in (cell,) if isinstance(cell, str) else cell:
        try:
            return text.format_map(_Columns(rows))
        except KeyError:
            continue
    return NOTHING


def of(cell, **wanted):
    """Return a cell of those rows of a line that agree with what is wanted."""
    return lambda rows: show(cell, where(rows, **wanted))


def across(rows, key, cell, title=str):
    """Return a column for each value of a key, all with the same cell."""
    return {title(value): of(cell, **{key: value}) for value in unique(rows, key)}


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def lines(rows, columns, by=()):
    """Return the cells of one line for each group of rows that agree in ``by``, or each row."""
    groups = grouped(rows, *by).values() if by else [[row] for row in rows]
    return [[show(cell, group) for _, cell in _pairs(columns)] for group in groups]


def listing(rows, columns, by=()):
    """Return a table of cells by title, in a dictionary or, where titles repeat, in pairs."""
    return table([title for title, _ in _pairs(columns)], lines(rows, columns, by))


def _pairs(columns):
    return list(columns.items() if isinstance(columns, dict) else columns)


@dataclass(frozen=True)
class Table:
    """What a table shows: cells by title, and the text above.

    Rows that agree in ``by`` make one line; without it, each row does. ``across`` has a key, a
    cell and a title: a column for each value of the key, between ``columns`` and ``then``. Lines
    of the tables ``below`` come after the others; ``where`` are the rows of such a table, and
    ``("",)`` for ``by`` makes one line of all. ``about`` and titles name settings in braces.
    """

    columns: dict
    by: tuple = ()
    across: tuple = ()
    then: dict = field(default_factory=dict)
    about: str = ""
    below: tuple = ()
    where: dict = field(default_factory=dict)

    def lines(self, rows):
        """Return the titles, and the cells of each line."""
        rows = where(rows, **self.where)
        pivot = across(rows, *self.across) if self.across else {}
        columns = {**self.columns, **pivot, **self.then}
        body = lines(rows, columns, self.by)
        return columns, body + [line for part in self.below for line in part.lines(rows)[1]]

    def __call__(self, record):
        settings = record.get("settings", {})
        titles, body = self.lines(record["rows"])
        text = table([title.format(**settings) for title in titles], body)
        return f"{self.about.format(**settings)}\n\n{text}" if self.about else text
