"""Write the pages of tables from the result files alone: python benchmarks/tables.py

Patterns of pages are in ``pages/``. A section has a title, a line that names its result file, and
blocks. Lines of a paragraph are joined, and its braces name settings. A line of titles, with a
line of cells below that are format strings (see ``_table.Values``), is a table; " or " is between
cells of which the first whose columns are there is taken. ``@name`` stands for what that function
of ``_pages`` makes of the record.

A line of options after a colon may stand above, and holds until the next one; the braces of a
paragraph below it name columns. ``from name``: the rows that this function makes of the record;
``with NAME``: more columns, each a function of a row in this dictionary; ``only column=value``, or
!=: these rows; ``order columns``: sorted so; ``per columns``: one line for all rows that agree in
them, or each row; ``by column``: where a name begins with a value of this column, it is of these
rows, and a title and a cell with ~ are repeated for each such value.

A section without a line of results is of the papers: what they report and what was measured.
``{file: column=value; column=value or value -> accuracy:.1f ± >= 93.0}`` stands for a column of a
result file in the rows that agree, with the number of rows if there are several. A text with
<mean:.1p> and the like may be in place of the one column. A number below the reported one, behind
>=, is bold; without results it is "not measured yet".

``{labels: mnist-usps; alignment; 0.1 >= 93.0}`` stands for six cells of a transfer table: this
strategy, and the default one, where labeled rows are drawn at random, represent their class, and
are medoids. A fourth part is the number of labels of a class, 10 otherwise.
"""

import re

import _pages
from _bench import HERE
from _plan import NONE, file_of
from _table import (
    NOTHING,
    Columns,
    epsilon_name,
    exists,
    filled,
    first_variant,
    grouped,
    how_made,
    load,
    show,
    table,
    unique,
    where,
    with_columns,
)

MISSING = "not measured yet"
DEFAULT = "noise_aware"
# How labeled rows are chosen, as words in names of variants; a random draw has none.
CHOICES = ("random", "representative", "medoids")
# The other words that a variant may have, those of the papers' own settings first.
WORDS = ({"five-layers"}, set(), {"five-layers", "gamma"}, {"gamma"})
BRACES = re.compile(r"\{([\w-]+): ([^{}]*)\}")


# Where the pages of tables are, which the documentation shows.
SITE = HERE.parent / "doc" / "benchmarks"


def page(pattern):
    """Return the text of a page; sections without results are left out."""
    head, *sections = pattern.split("\n## ")
    title, *parts = head.strip().split("\n\n")
    blocks = [title, *(block(part, {"rows": []}) for part in parts)]
    text = re.sub(r"(\n- .*)\n(?=\n- )", r"\1", "\n\n".join(filter(None, blocks)))
    return text + "\n" + "".join(map(section, sections))


def section(pattern):
    title, results, *body = pattern.strip().split("\n", 2)
    if not results.startswith("results: "):
        return f"\n## {title}\n\n{written(body[0].strip())}\n"
    name = results.removeprefix("results: ")
    if not exists(name):
        return ""
    parts = (block(part, load(name)) for part in body[0].strip().split("\n\n"))
    blocks = "\n\n".join(filter(None, parts))
    return f"\n## {title}\n\n{blocks}\n\n{how_made(name)}\n"


def block(text, record):
    if text.startswith("@"):
        return getattr(_pages, text[1:])(record)
    options, prose, header, body = {}, [], None, []
    for line in text.splitlines():
        if line.startswith(": "):
            options = dict(part.strip().split(" ", 1) for part in line[2:].split(";"))
        elif not line.startswith("|"):
            prose.append(line)
        elif header is None:
            header = _cells(line)
        else:
            titles, lines = lines_of(header, _cells(line), options, record)
            body += lines
    if header is None:
        settings = {} if options else record.get("settings", {})
        rows = chosen(options, record)
        columns = Columns(rows, *_values(rows, options), settings)
        return filled(" ".join(prose), columns)
    return table(titles, body)


def chosen(options, record):
    """Return the rows that options name, with their columns."""
    rows = list(getattr(_pages, options["from"])(record)) if "from" in options else record["rows"]
    if "with" in options:
        rows = with_columns(rows, **getattr(_pages, options["with"]))
    for condition in filter(None, options.get("only", "").split(", ")):
        column, equal, value = re.split("(!?=)", condition)
        rows = [row for row in rows if (str(row.get(column)) == value) == (equal == "=")]
    if "order" in options:
        keys = options["order"].split(", ")
        rows = sorted(rows, key=lambda row: [row[key] for key in keys])
    return rows


def lines_of(header, cells, options, record):
    """Return titles and lines of cells, with those of each value of ``by`` for ~."""
    rows = chosen(options, record)
    by, values = _values(rows, options)
    titles, patterns = [], []
    for title, cell in zip(header, cells, strict=True):
        several = enumerate(values) if "~" in title else [(0, "")]
        for i, value in several:
            name = f"{value:,}" if isinstance(value, int) else epsilon_name(value)
            titles.append(title.format(**record.get("settings", {})).replace("~", name))
            patterns.append([each.replace("~", f"#{i}") for each in re.split(r" or(?: |$)", cell)])
    groups = grouped(rows, *options["per"].split(", ")).values() if "per" in options else None
    lines = [Columns(some, by, values) for some in groups or ([row] for row in rows)]
    return titles, [[show(pattern, line) for pattern in patterns] for line in lines]


def _values(rows, options):
    """Return the column of the option ``by``, and its values."""
    by = options.get("by")
    return by, unique(rows, by) if by else []


def _cells(line):
    return [cell.strip() for cell in re.split(r" \|(?: |$)", line.removeprefix("| "))[:-1]]


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


def pages():
    """Return the text of each generated file, by its path."""
    found = {SITE / p.name: page(p.read_text()) for p in (HERE / "pages").glob("*.md")}
    # A spread stays with its mean where lines are short.
    joined = "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"
    return {path: text.replace(" ± ", joined) for path, text in found.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
