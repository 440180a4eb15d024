"""What the papers report and what was measured: the braces in sections without a results line.

``{file: column=value; column=value or value -> accuracy:.1f ± >= 93.0}`` stands for a column of a
result file in the rows that agree, as ``_table.Values`` shows it, with the number of rows if there
are several. A text with <mean:.1p> and the like may be in place of the one column. A number below
the reported one, behind >=, is bold; without results it is "not measured yet".

``{labels: mnist-usps; alignment; 0.1 >= 93.0}`` stands for six cells of a transfer table: this
strategy, and the default one, where labeled rows are drawn at random, represent their class, and
are medoids. A fourth part is the number of labels of a class, 10 otherwise.
"""

import re

from _plan import NONE, file_of
from _table import NOTHING, Columns, exists, filled, first_variant, how_made, load, unique, where

MISSING = "not measured yet"
DEFAULT = "noise_aware"
# How labeled rows are chosen, as words in names of variants; a random draw has none.
CHOICES = ("random", "representative", "medoids")
# The other words that a variant may have, those of the papers' own settings first.
WORDS = ({"five-layers"}, set(), {"five-layers", "gamma"}, {"gamma"})
BRACES = re.compile(r"\{([\w-]+): ([^{}]*)\}")


def written(text):
    """Return the text of a section with its results, and how these were made."""
    names = []

    def result(match):
        wanted, _, reported = match[2].partition(" >= ")
        reported = float(reported or "-inf")
        if match[1] != "labels":
            names.append(match[1])
            return _result(match[1], wanted, reported)
        table, *place = wanted.split("; ")
        names.append(file_of(table))
        return _six_cells(names[-1], *place, reported=reported)

    text = BRACES.sub(result, text)
    made = [f"- {how_made(name)}" for name in dict.fromkeys(names) if exists(name)]
    return "\n\n".join([text, "The results are from:", "\n".join(made)]) if made else text


def _bold(text, missed):
    return f"**{text}**" if missed else text


def _result(name, wanted, reported):
    conditions, _, shown = wanted.partition(" -> ")
    rows = _rows(name)
    for condition in conditions.split("; "):
        column, _, value = condition.partition("=")
        rows = [row for row in rows if str(row.get(column)) in value.split(" or ")]
    pattern = shown.replace("<", "{").replace(">", "}") if "<" in shown else f"{{{shown}}}"
    try:
        text = filled(pattern, Columns(rows))
    except KeyError:
        return MISSING
    text = _bold(text, float(re.match(r"[\d.]*", text)[0] or "inf") < reported)
    return f"{text} ({len(rows)})" if len(rows) > 1 else text


def _rows(name):
    return load(name)["rows"] if exists(name) else []


def _six_cells(name, model, level, labels=10, *, reported):
    rows = where(_rows(name), level=level, labels=int(labels))
    cells = [
        _cell(where(rows, model=each), choice, reported)
        for each in (model, DEFAULT)
        for choice in CHOICES
    ]
    return " | ".join(cells) if {*cells} != {NOTHING} else " | ".join([MISSING, *cells[1:]])


def _cell(rows, choice, reported):
    """Return the accuracy with one choice of labels, of the first variant with enough fits."""
    named = {}
    for variant in unique(rows, "variant"):
        words = {*variant.split("+")} - {"default"}
        chosen = words.intersection(CHOICES) or {"random"}
        if chosen == {choice} and words - chosen in WORDS:
            named[WORDS.index(words - chosen)] = variant
    if not named:
        return NOTHING
    values, variant = first_variant(rows, [named[i] for i in sorted(named)])
    text = _bold(f"{values:.1f ±}", values.mean < reported)
    return f"{text} ({len(values)}){_marks(rows[0], variant)}"


def _marks(row, variant):
    """Return a mark for each setting that is not the paper's."""
    if row["model"] == DEFAULT or row["level"] == NONE:
        return ""
    return " †" * ("five-layers" not in variant) + " ‡" * ("gamma" in variant)
