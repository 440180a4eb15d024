"""Pages of the documentation from their patterns in ``pages/`` and from result files alone.

A section has a title, a line that names its result file, and blocks. Lines of a paragraph are
joined, and its braces name settings. A line of titles, with a line of cells below that are format
strings (see ``_table.Values``), is a table; " or " is between cells of which the first whose
columns are there is taken. ``@module.name`` stands for what that function of a module
``_module_tables`` makes of the record.

A line of options after a colon may stand above, and holds until the next one; the braces of a
paragraph below it name columns. ``from module.name``: the rows that this function makes of the
record; ``only column=value``: these rows; ``order columns``: sorted so; ``per columns``: one line
for all rows that agree in them, or for each row; ``by column``: where a name begins with a value
of this column, it is of these rows. A title and a cell with ~ are repeated for each such value.
``if module.name``: what is below is left out where this function says no.
"""

import importlib
import re

import _howto
from _store import HERE
from _table import Columns, epsilon_name, exists, filled, grouped, load, show, table, unique


def page(pattern):
    """Return the text of a page; sections without results are left out."""
    head, *sections = pattern.split("\n## ")
    title, *parts = head.strip().split("\n\n")
    blocks = [title, *(block(part, {"rows": []}) for part in parts)]
    text = re.sub(r"(\n- .*)\n(?=\n- )", r"\1", "\n\n".join(filter(None, blocks)))
    return text + "\n" + "".join(map(section, sections))


def section(pattern):
    title, results, *body = pattern.strip().split("\n", 2)
    name = results.removeprefix("results: ")
    if not exists(name):
        return ""
    blocks = "\n\n".join(block(part, load(name)) for part in body[0].strip().split("\n\n"))
    record = load(name)
    how = f"`{record['command']}`, results/{name}.json, {_howto.made_at(record)}."
    return f"\n## {title}\n\n{blocks}\n\n{how}\n"


def made_by(name, *record):
    module, function = name.split(".")
    return getattr(importlib.import_module(f"_{module}_tables"), function)(*record)


def block(text, record):
    if text.startswith("@"):
        return made_by(text[1:], record)
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
    if "if" in options and not made_by(options["if"]):
        print(f"the results no longer support, and the page leaves out: {text}")
        return ""
    if header is None:
        settings = {} if options else record.get("settings", {})
        rows = chosen(options, record)
        columns = _Prose(settings, rows, *_values(rows, options))
        return filled(" ".join(prose), columns)
    return table(titles, body)


class _Prose(Columns):
    """Settings, and columns of the rows."""

    def __init__(self, settings, *columns):
        super().__init__(*columns)
        self.settings = settings

    def __getitem__(self, name):
        return self.settings[name] if name in self.settings else super().__getitem__(name)


def chosen(options, record):
    """Return the rows that options name."""
    rows = made_by(options["from"], record) if "from" in options else record["rows"]
    for condition in filter(None, options.get("only", "").split(", ")):
        column, _, value = condition.partition("=")
        rows = [row for row in rows if str(row.get(column)) == value]
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


def pages():
    """Return the text of each page, by its name."""
    patterns = [path for path in (HERE / "pages").glob("*.md") if path.name != "README.md"]
    return {path.name: page(path.read_text()) for path in patterns}
