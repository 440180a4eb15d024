"""Write the pages of tables, and README.md of this folder, from the result files alone.

python benchmarks/tables.py

Patterns of pages are in ``pages/``. A section has a title, a line that names its result file, and
blocks. Lines of a paragraph are joined, and its braces name settings. A line of titles, with a
line of cells below that are format strings (see ``_table.Values``), is a table; " or " is between
cells of which the first whose columns are there is taken. ``@module.name`` stands for what that
function of a module ``_module_tables`` makes of the record.

A line of options after a colon may stand above, and holds until the next one; the braces of a
paragraph below it name columns. ``from module.name``: the rows that this function makes of the
record; ``with module.NAME``: more columns, each a function of a row in this dictionary; ``only
column=value``, or !=: these rows;
``order columns``: sorted so; ``per columns``: one line for all rows that agree in them, or each
row; ``by column``: where a name begins with a value of this column, it is of these rows, and a
title and a cell with ~ are repeated for each such value; ``if name``: what is below is left out
where this of ``HOLDS`` says no.

A section without a line of results is written out, and its braces are those of ``_papers_tables``.
"""

import importlib
import re

from _front_tables import HOLDS
from _papers_tables import written
from _store import HERE
from _table import (
    Columns,
    epsilon_name,
    exists,
    filled,
    grouped,
    how_made,
    load,
    show,
    table,
    unique,
    with_columns,
)

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


def of_module(name):
    module, attribute = name.split(".")
    return getattr(importlib.import_module(f"_{module}_tables"), attribute)


def block(text, record):
    if text.startswith("@"):
        return of_module(text[1:])(record)
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
    if "if" in options and not HOLDS[options["if"]]():
        print(f"the results no longer support, and the page leaves out: {text}")
        return ""
    if header is None:
        settings = {} if options else record.get("settings", {})
        rows = chosen(options, record)
        columns = Columns(rows, *_values(rows, options), settings)
        return filled(" ".join(prose), columns)
    return table(titles, body)


def chosen(options, record):
    """Return the rows that options name, with their columns."""
    rows = list(of_module(options["from"])(record)) if "from" in options else record["rows"]
    if "with" in options:
        rows = with_columns(rows, **of_module(options["with"]))
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


def readme():
    """Return README.md: its pattern, whose table names result files and what these need."""
    text, *lines = (HERE / "pages" / "README.md").read_text().split("\n| ")
    header, *body = [line.strip().removesuffix(" |").split(" | ") for line in lines]
    return f"{text}\n{table(header, [_line(*line) for line in body])}\n"


def _line(names, needs):
    records = [load(name) for name in names.split(", ")]
    time = [record["seconds"] for record in records if "seconds" in record]
    rows = sum(len(record["rows"]) for record in records)
    hours = _hours(max(time) if time else sum(map(seconds, records)))
    return [f"`{records[0]['command']}`", needs, rows, hours]


def seconds(record):
    """Sum of the recorded seconds; those of a source that served several rows count once."""
    total, sources = 0.0, set()
    for row in record["rows"]:
        spent = sum(value or 0.0 for name, value in row.items() if name.endswith("seconds"))
        source = (row.get("case"), row.get("level"), row.get("variant"), spent)
        if row.get("model") != "source alone" or source not in sources:
            total += spent
        sources.add(source)
    return total


def _hours(spent):
    if not spent:
        return "not recorded"
    return f"{spent / 3600:.1f}" if spent >= 360 else "less than 0.1"


def pages():
    """Return the text of each generated file, by its path."""
    patterns = [path for path in (HERE / "pages").glob("*.md") if path.name != "README.md"]
    found = {SITE / path.name: page(path.read_text()) for path in patterns}
    found[HERE / "README.md"] = readme()
    # A spread stays with its mean where lines are short.
    joined = "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"
    return {path: text.replace(" ± ", joined) for path, text in found.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
