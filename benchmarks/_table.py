"""Tables of rows: which rows make a line, and what format strings show of them."""

import re
from itertools import chain

from _bench import RESULTS, read

NOTHING = "–"
ENOUGH = 3  # fits, for a mean that stands for a variant; rule of thumb


def exists(name):
    return (RESULTS / f"{name}.json").exists()


def load(name):
    return read(RESULTS / f"{name}.json")


def how_made(name):
    """Return the name of a result file, and the commits and cores behind it."""
    runs = load(name)["runs"]
    commits = sorted({run["commit"] for run in runs})
    cores = sorted({run["cores"] for run in runs})
    some = f"commit {commits[0]}" if len(commits) == 1 else f"{len(commits)} commits"
    return f"results/{name}.json, {some}, {' or '.join(map(str, cores))} cores."


class Values(list):
    """Values of one column in some rows, as format strings show them.

    ``{auc:.3f}`` is the mean; ``{auc:.3f ±}`` has the standard deviation behind it, and
    ``{auc:.3f ±e}`` the standard error; ``{auc:.3f max}`` is the greatest. "p" instead
    of "f" multiplies by 100. Values that are all the same stay as they are. The other formats are
    those of ``WORDS``; ``{equal:yes/no}`` has a text for each.
    """

    @property
    def mean(self):
        return sum(self) / len(self)

    @property
    def variance(self):
        mean = self.mean
        return sum((value - mean) ** 2 for value in self) / max(len(self) - 1, 1)

    @property
    def sd(self):
        return self.variance**0.5

    @property
    def error(self):
        return (self.variance / len(self)) ** 0.5

    def __format__(self, spec):
        if not self:
            return NOTHING
        if spec in WORDS:
            return WORDS[spec](self)
        if "/" in spec:
            return spec.split("/")[not self[0]]
        number, _, what = spec.partition(" ")
        scale = 100 if number.endswith("p") else 1
        if number.endswith("p"):
            number = f"{number[:-1]}f"
        values = self
        if number:
            values = Values(scale * (float(v) if isinstance(v, str) else v) for v in self)
        if what in STATISTICS:
            return format(STATISTICS[what](values), number)
        same = all(value == values[0] for value in values)
        text = format(values[0] if same else values.mean, number)
        if not what or len(self) == 1:
            return text
        width = values.sd if what == "±" else values.error
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


WORDS = {
    "count": lambda values: str(len(values)),
    "different": lambda values: str(len(set(values))),
    "ε": lambda values: epsilon_name(values[0]),
    "private": lambda values: epsilon_name(values[0]).replace("∞", "not private"),
}
STATISTICS = {
    "max": max,
    "min": min,
    "sdn": lambda values: (values.variance * (len(values) - 1) / len(values)) ** 0.5,
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


def with_columns(rows, **columns):
    """Return rows with more columns, each a function of a row; None where a row lacks its own."""
    return [{**row, **{name: _made(row, make) for name, make in columns.items()}} for row in rows]


def _made(row, make):
    try:
        return make(row)
    except (KeyError, TypeError, ValueError):  # a value is not there, None, or none of a list
        return None


def unique(rows, key):
    return list(dict.fromkeys(row[key] for row in rows))


def levels(rows):
    return [level for level in unique(rows, "level") if level != "-"]


def first_variant(rows, variants, **wanted):
    """Return accuracies of the first variant with enough fits, or with most, and its name."""
    found = [(pick(rows, variant=variant, **wanted), variant) for variant in variants]
    enough = [each for each in found if len(each[0]) >= ENOUGH]
    return enough[0] if enough else max(found, key=lambda each: len(each[0]))


class Columns:
    """Settings, and columns of rows; of those with a value of ``by``, where it stands in front.

    Of columns of lists, ``name[0]`` are the first entries, and ``name`` all of them.
    """

    def __init__(self, rows, by=None, values=(), settings=None):
        self.rows, self.by, self.values, self.settings = rows, by, values, settings or {}

    def __getitem__(self, name):
        if name in self.settings:
            return self.settings[name]
        rows, column = self.rows, name
        for i, value in enumerate(self.values):
            for prefix in (f"#{i} ", f"{value} "):
                if name.startswith(prefix):
                    rows, column = where(rows, **{self.by: value}), name.removeprefix(prefix)
        column, _, place = column.partition("[")
        found = pick(rows, column)
        if place:
            found = Values(entries[int(place.removesuffix("]"))] for entries in found)
        elif found and isinstance(found[0], list):
            found = Values(chain.from_iterable(found))
        if not found:
            raise KeyError(name)
        return found


def filled(text, columns):
    """Return a format string with its columns, in whose names anything but a colon may be."""
    return re.sub(r"\{([^{}:]*):?([^{}]*)\}", lambda m: format(columns[m[1]], m[2]), text)


def show(texts, columns):
    """Return the first of some format strings whose columns are all there; without one, a dash."""
    for text in texts:
        try:
            return filled(text, columns)
        except KeyError:
            continue
    return NOTHING


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)
