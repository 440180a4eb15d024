"""Tables of CSV, Parquet and Excel files, in and out, and where output may go.

Cells of a CSV file are text, and stay so: the public schema says what each of them means. No
message repeats anything of the file, its header included: in a file without a header the first
record is in its place.
"""

import argparse
import csv
import importlib
import os
import re
import warnings
from datetime import date, datetime, time
from itertools import chain
from pathlib import Path

import pandas as pd

from skdp.tabular import canonical, missing_values, numbers, same_spelling
from skdp.utils._files import PRIVATE, write_whole
from skdp.utils._text import composed
from skdp.utils._validation import listed

# What can be written, and what can be read.
TABLES = (".csv", ".parquet")
READABLE = (*TABLES, ".xlsx")
# What reads files that the standard library cannot: the module, its package, and their name.
_READERS = {
    ".parquet": ("pyarrow.parquet", "pyarrow", "a Parquet"),
    ".xlsx": ("openpyxl", "openpyxl", "an Excel"),
}
# The first line by which Excel names the separator.
_SEPARATOR_LINE = re.compile(r"sep=([^\w\"\r\n.+-])[\r\n]*", re.IGNORECASE)
# Numbers with a decimal comma, with or without points between thousands.
_WITH_COMMA = re.compile(
    r"\s*[+-]?(([0-9]*|[1-9][0-9]{0,2}(\.[0-9]{3})+),[0-9]+|[1-9][0-9]{0,2}(\.[0-9]{3})+)"
    r"([eE][+-]?[0-9]+)?\s*"
)


def add_table_options(parser, *, drop=False):
    """Add how a table is to be read; :func:`table_options` passes it to :func:`read_table`.

    ``drop`` is for commands that would take all columns.
    """
    reading = parser.add_argument_group("reading", "how the table is written, where not as usual")
    reading.add_argument(
        "--sep",
        metavar="SIGN",
        type=_separator,
        help="separator of cells in a CSV file: one character, or 'tab' (default: a comma, or "
        "what a first line like sep=; says)",
    )
    reading.add_argument(
        "--decimal",
        metavar="SIGN",
        choices=(".", ","),
        default=".",
        help="decimal sign of numbers in text: '.' (default) or ','",
    )
    reading.add_argument("--sheet", metavar="NAME", help="sheet of an .xlsx file (default: first)")
    if drop:
        reading.add_argument(
            "--drop",
            metavar="COLUMN",
            type=composed,
            action="append",
            default=[],
            help="leave out; repeatable",
        )


def table_options(arguments):
    """Return what :func:`read_table` needs of the arguments of :func:`add_table_options`."""
    names = ("sep", "decimal", "sheet", "drop")
    return {name: vars(arguments)[name] for name in names if name in arguments}


def read_table(path, *, sep=None, decimal=".", sheet=None, drop=()):
    """Return a table whose cells are text, or of a Parquet or Excel file what they are there.

    By default a first line like ``sep=;``, as Excel writes it, says what separates cells.
    """
    # Without one it is a comma. Names of columns get Unicode's composed form. With a decimal
    # comma, text that is a number with one gets a point, in each cell by itself; points between
    # groups of three digits stand between thousands then.
    check_ending(path, READABLE)
    kind = _ending(path)
    for given, name, wanted in ((sep, "--sep", ".csv"), (sheet, "--sheet", ".xlsx")):
        if given is not None and kind != wanted:
            raise ValueError(f"{name} is for {wanted} files, and {path!r} is none. Leave it out.")
    if kind == ".csv":
        frame = _read_csv(path, sep)
    else:
        frame = _read_parquet(path) if kind == ".parquet" else _read_excel(path, sheet)
    frame = frame.rename(columns=composed)
    check_columns(frame, drop, path, "--drop", once=False)
    frame = frame[[name for name in frame.columns if name not in set(drop)]] if drop else frame
    if not len(frame):
        raise ValueError(f"{path!r} holds no rows below the names of its columns.")
    return frame.map(_with_point) if decimal == "," else frame


def check_ending(path, endings=TABLES):
    """Raise ValueError unless a name is that of a table that can be read or written here."""
    kind = _ending(path)
    if kind not in endings:
        raise ValueError(
            f"{str(path)!r} has no ending of a table. Save it as CSV or Parquet, with a name that "
            f"ends in {' or '.join(endings)}."
        )
    if kind in _READERS:
        module, package, name = _READERS[kind]
        try:
            importlib.import_module(module)
        except ImportError:
            raise ValueError(
                f"{str(path)!r} is {name} file, which needs the package {package}. Install it "
                f"(pip install {package}), or use CSV."
            ) from None


def write_table(frame, path, *, overwrite):
    """Write a table that only its owner may read to a CSV or Parquet file, whole or not at all.

    Returns whether text of a CSV file got an apostrophe in front, as it began like a formula.
    """
    with write_whole(path, overwrite=overwrite, mode=PRIVATE) as file:
        if _ending(path) == ".parquet":
            frame.to_parquet(file, engine="pyarrow", index=False)
            return False
        escaped = frame.rename(columns=_escaped).map(_escaped)
        text = escaped.to_csv(index=False)
        if "\r" in text:  # which only quotation marks keep from ending the line
            text = escaped.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC)
        file.write(text.encode())
    return not (escaped.equals(frame) and escaped.columns.equals(frame.columns))


def _escaped(value):
    """Return a value, with an apostrophe where it is text that looks like a formula."""
    # With what text begins that spreadsheets take for a formula, which may run anything.
    formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if formula and not isinstance(canonical(value), float) else value


def check_output(path, endings, *, force, inputs, argument="--output"):
    """Return where a command is to write; refuses before any work is done or budget spent.

    The path must have one of the endings, and be none of the inputs that the command reads.
    """
    target = Path(path)
    named = f"{argument} {str(path)!r}"
    if target.suffix.lower() not in endings:
        raise ValueError(f"{named} must end in {' or '.join(endings)}. Choose such a name.")
    folder = target.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"{named}: there is no folder {str(folder)!r}. Make it first.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{named}: nothing may be written to {str(folder)!r}. Choose another.")
    if target.is_dir():
        raise ValueError(f"{named} is a folder. Name a file.")
    if target.resolve() in [Path(file).resolve() for file in inputs]:
        raise ValueError(f"{named} is also a file that is read. Choose another name.")
    if target.exists() and not force:
        raise ValueError(f"{named} is there already. Choose another name, or add --force.")
    return target


def check_columns(frame, names, path, where, *, once=True):
    """Raise ValueError unless a table has columns of these public names, ``once`` each."""
    given = list(frame.columns)
    lacking = [name for name in names if name not in given]
    if lacking:
        hint = _separator_hint(given)
        forms = {same_spelling(name) for name in given}
        alike = [name for name in lacking if same_spelling(name) in forms]
        if alike:
            hint += f" Of {listed(alike)} it has other spellings: case, white space or signs."
        raise ValueError(
            f"{path!r} lacks {_named(lacking)} of {where}. Spell names as in the first line of "
            f"the table, upper and lower case included.{hint}"
        )
    twice = [name for name in names if given.count(name) > 1] if once else []
    if twice:
        raise ValueError(f"{path!r} has {_named(twice)} more than once. Leave one of each.")


def inferred(frame):
    """Return a public table with columns of numbers where all cells are numbers."""
    # Types depend on all rows: for rows that are no secret only.
    return pd.DataFrame({name: _inferred(frame[name]) for name in frame.columns})


def _inferred(values):
    values = values.astype(object).mask(missing_values(values), None)
    present = values.notna()
    # Whole numbers stay whole where others are missing: a class is 1, not 1.0.
    typed = pd.Series(numbers(values), index=values.index).convert_dtypes()
    truths = values[present].astype(str).str.lower().isin(["true", "false"])
    return values if truths.any() or typed[present].isna().any() or not present.any() else typed


def _separator(text):
    """Return what separates cells: one sign, or the tab by its name."""
    sign = "\t" if text in ("tab", "\\t") else text
    if len(sign) != 1 or sign.isalnum() or sign in '"\r\n.+-':
        raise argparse.ArgumentTypeError(f"must be one sign, as ';', or 'tab', got {text!r}")
    return sign


def _separator_hint(names):
    """Return by what cells may be separated where the first line seems to be a single cell."""
    if len(names) != 1:
        return ""
    signs = [sign for sign in (";", "\t", "|", ",") if sign in str(names[0])]
    if not signs:
        return " It has one column only: are its cells separated by commas?"
    sign = "tab" if signs[0] == "\t" else signs[0]
    return (
        f" It has one column only: are its cells separated by '{sign}'? Add --sep '{sign}', and "
        "--decimal ',' if its numbers have a decimal comma."
    )


def _with_point(value):
    """Return a cell, with a decimal point where it is text that is a number with a comma."""
    if isinstance(value, str) and _WITH_COMMA.fullmatch(value):
        return value.replace(".", "").replace(",", ".")
    return value


def _read_csv(path, sep):
    # Strict, as a quotation mark that is never closed swallows all rows that follow.
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            told = _SEPARATOR_LINE.fullmatch(first)
            sep = sep or (told[1] if told else ",")
            lines = csv.reader(chain([] if told else [first], file), strict=True, delimiter=sep)
            names = next(lines, [])
            rows = [row for row in lines if row]
    except UnicodeDecodeError:
        raise ValueError(f"{path!r} is not in UTF-8. Save it as 'CSV UTF-8'.") from None
    except csv.Error:
        raise ValueError(
            f"{path!r} is no intact CSV file: a quotation mark is not closed, or a cell is far "
            "too long. Save it again from the program that made it."
        ) from None
    if not names:
        raise ValueError(f"{path!r} is empty. Name a table with the names of its columns on top.")
    if any(len(row) != len(names) for row in rows):
        sign = {",": "commas", "\t": "tabs"}.get(sep, repr(sep))
        raise ValueError(
            f"{path!r} has lines with more or fewer cells than its first line has names. Put "
            f"quotation marks around cells that contain {sign}, as spreadsheets do."
            f"{_separator_hint(names)}"
        )
    return _of_objects(rows, names)


def _of_objects(rows, names):
    return pd.DataFrame(rows, columns=pd.Index(names, dtype=object), dtype=object)


def _read_excel(path, sheet):
    values, formulas = _excel_sheet(path, sheet)
    for row, formula in zip(values, formulas, strict=False):
        if any(v is None and f is not None for v, f in zip(row, formula, strict=False)):
            raise ValueError(
                f"{path!r} has formulas whose values are not in the file. Open it in a program "
                "for spreadsheets, save it there, and try again."
            )
    rows = [[_excel_cell(value) for value in row] for row in values]
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if not rows:
        raise ValueError(f"{path!r} is empty. Name a table with the names of its columns on top.")
    names = [str(name) for name in rows[0]]
    while names[-1] == "":
        names.pop()
    width = len(names)
    if any(cell != "" for row in rows for cell in row[width:]):
        raise ValueError(
            f"{path!r} has cells to the right of the names in its first line. Give each column a "
            "name, and leave one table in the sheet."
        )
    return _of_objects([row[:width] + [""] * (width - len(row)) for row in rows[1:]], names)


def _excel_sheet(path, sheet):
    """Return the rows of a sheet twice: with the stored values of formulas, and with these."""
    openpyxl = importlib.import_module("openpyxl")
    sheets, exists = [], False
    with open(path, "rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and the like, which are of no use here
        try:
            for stored in (True, False):
                book = openpyxl.load_workbook(file, read_only=True, data_only=stored)
                exists = sheet is None or sheet in book.sheetnames
                chosen = book.worksheets[0] if sheet is None else book[sheet]
                sheets.append(list(chosen.iter_rows(values_only=True)))
        except Exception:  # of any kind, by a parser that quotes what it parses
            sheets = []
    if sheets:
        return sheets
    if sheet is not None and not exists:
        raise ValueError(f"{path!r} has no sheet {sheet!r:.100}. Spell it as on its tab.")
    raise ValueError(f"{path!r} is no intact Excel file. Save it again as .xlsx, or use CSV.")


def _excel_cell(value):
    """Return a cell as it would be in CSV, numbers and truth values as they are."""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, str | bool | int | float):
        return value
    return "" if value is None else str(value)


def _read_parquet(path):
    with open(path, "rb") as file:  # before anything else: errors of the system name the file
        try:
            frame = pd.read_parquet(file, engine="pyarrow", dtype_backend="numpy_nullable")
            if any(name is not None for name in frame.index.names):
                frame = frame.reset_index()
        except Exception:  # of any kind, by a parser that quotes what it parses
            frame = None
    if frame is None:
        raise ValueError(f"{path!r} is no intact Parquet file. Write it again, or use CSV.")
    text = [name for name in frame.columns if isinstance(frame[name].dtype, pd.StringDtype)]
    return frame.astype(dict.fromkeys(text, object))


def _ending(path):
    return Path(path).suffix.lower()


def _named(names):
    return f"the column{'s' if len(names) > 1 else ''} {listed(names)}"
