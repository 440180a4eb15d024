"""What the tables share: result files, Markdown, per cent with a spread."""

import json

from _plan import file_of, wanted
from _store import HERE, key_of

ENOUGH = 3  # fits, for a mean that stands for a variant; rule of thumb


def exists(name):
    return (HERE / "results" / f"{name}.json").exists()


def load(name):
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def transfer_rows(table):
    return load(file_of(table))["rows"]


def n_missing(table):
    """How many rows of its plan a transfer table lacks."""
    return len({key_of(row) for row in wanted(table)} - set(map(key_of, transfer_rows(table))))


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def percent(value):
    return f"{100 * value:.2f} %"


def spread(row):
    return f"{100 * row['mean']:.1f} ± {100 * row['sd']:.1f} %"


def mean_of(values):
    return sum(values) / len(values)


def mean_spread(values):
    if not values:
        return "–"
    mean = mean_of(values)
    sd = (sum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1)) ** 0.5
    return f"{mean:.1f} ± {sd:.1f} %" if len(values) > 1 else f"{mean:.1f} %"


def counted(values):
    """With the number of fits in brackets."""
    return f"{mean_spread(values)} ({len(values)})" if values else "–"


def pick(rows, key="accuracy", **wanted):
    """Values of rows that agree with what is wanted; a tuple or list names several values."""
    return [
        row[key]
        for row in rows
        if row.get(key) is not None
        and all(
            row.get(name) in value if isinstance(value, (tuple, list)) else row.get(name) == value
            for name, value in wanted.items()
        )
    ]


def first_variant(rows, variants, **wanted):
    """Accuracies of the first of some variants with enough fits, or with most, and its name."""
    found = [(pick(rows, variant=variant, **wanted), variant) for variant in variants]
    enough = [each for each in found if len(each[0]) >= ENOUGH]
    return enough[0] if enough else max(found, key=lambda each: len(each[0]))


def levels(rows, key="level"):
    return list(dict.fromkeys(row[key] for row in rows if row[key] != "-"))


def strictness(level):
    unit, _, epsilon = level.rpartition(" ")
    return unit, -float(epsilon)


def epsilon_name(epsilon):
    return "∞" if epsilon == "inf" else f"{float(epsilon):g}"


def level_name(level):
    unit, _, epsilon = level.rpartition(" ")
    return f"ε = {epsilon_name(epsilon)} {'for a record' if unit else 'for an element'}"
