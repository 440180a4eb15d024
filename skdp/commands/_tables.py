"""Reading and writing of CSV, Parquet and Excel tables, and checks of output paths.

Cells of a CSV file stay text: the public schema says what they mean. Messages quote nothing of a
file but names of sheets, because without a header the first line is a record.
"""

import argparse
import csv
import importlib
import os
import re
import warnings
from collections import Counter
from datetime import date, datetime, time
from itertools import chain, islice
from pathlib import Path

import pandas as pd

from skdp.tabular import (
    Vocabulary,
    canonical,
    missing_values,
    number_reader,
    numbers,
    same_spelling,
)
from skdp.utils._files import PRIVATE, write_whole
from skdp.utils._frames import composed
from skdp.utils._validation import listed

# Formats to read and write.
TABLES = (".csv", ".parquet", ".xlsx")
# Readers beyond the standard library: module, package and name.
_READERS = {
    ".parquet": ("pyarrow.parquet", "pyarrow", "a Parquet"),
    ".xlsx": ("openpyxl", "openpyxl", "an Excel"),
}
# The first line in which Excel names the separator.
_SEPARATOR_LINE = re.compile(r"sep=([^\w\"\r\n.+-])[\r\n]*", re.IGNORECASE)
# Number of first lines in which the header is looked for.
_TOP = 50


def add_column(parser, option, text, *, metavar="COLUMN", repeatable=False):
    """Add an option that names a column, or several if repeatable."""
    several: dict = {"action": "append", "default": []} if repeatable else {}
    parser.add_argument(option, metavar=metavar, type=composed, help=text, **several)


def add_table_options(parser, *, drop=False):
    """Add the options for reading a table; :func:`table_options` passes them on.

    ``drop`` adds an option to leave out columns.
    """
    reading = parser.add_argument_group("reading the table")
    reading.add_argument(
        "--sep",
        metavar="SIGN",
        type=_separator,
        help="separator of CSV cells, such as ';' or 'tab'",
    )
    reading.add_argument(
        "--decimal",
        metavar="SIGN",
        choices=(".", ","),
        default=".",
        help="decimal sign: '.' (default) or ','",
    )
    reading.add_argument(
        "--thousands",
        metavar="SIGN",
        choices=(",", ".", "'", " "),
        help="thousands separator, such as ',' in 51,383.86",
    )
    reading.add_argument(
        "--units",
        metavar="TEXTS",
        type=_marks,
        default=[],
        help="units to remove from numbers: --units=km,%%",
    )
    reading.add_argument(
        "--missing",
        metavar="TEXTS",
        type=_marks,
        default=[],
        help="marks of missing cells: --missing=NA,age=-99",
    )
    reading.add_argument(
        "--skip",
        metavar="N",
        type=_number_of_lines,
        default=0,
        help="skip N lines above the header",
    )
    reading.add_argument(
        "--encoding",
        metavar="NAME",
        type=_encoding,
        help="CSV encoding, such as cp1252 (default: UTF-8)",
    )
    reading.add_argument("--sheet", metavar="NAME", help="sheet of an .xlsx file (default: first)")
    if drop:
        add_column(reading, "--drop", "column to leave out; repeatable", repeatable=True)


def table_options(arguments):
    """Return the options of :func:`read_table` from the arguments."""
    names = (
        "sep",
        "decimal",
        "thousands",
        "units",
        "missing",
        "skip",
        "encoding",
        "sheet",
        "drop",
    )
    return {name: vars(arguments)[name] for name in names if name in arguments}


def read_table(
    path,
    *,
    sep=None,
    decimal=".",
    thousands=None,
    units=(),
    missing=(),
    skip=0,
    encoding=None,
    sheet=None,
    drop=(),
    note=lambda text: None,
):
    """Return a table of text cells, or of typed cells for Parquet and Excel.

    By default a first line such as ``sep=;``, written by Excel, names the separator.
    """
    # Names of columns are composed Unicode. Numbers with other signs get a decimal point, cell by
    # cell; if commas are decimal signs, points between groups of three digits are thousands
    # separators.
    check_ending(path)
    kind = _ending(path)
    for given, name, *wanted in (
        (sep, "--sep", ".csv"),
        (encoding, "--encoding", ".csv"),
        (sheet, "--sheet", ".xlsx"),
        (skip or None, "--skip", ".csv", ".xlsx"),
    ):
        if given is not None and kind not in wanted:
            files = " and ".join(wanted)
            raise ValueError(f"{name} is for {files} files, and {path!r} is not one. Omit it.")
    if thousands == decimal:
        raise ValueError(f"--thousands and --decimal are both {decimal!r}. Name two signs.")
    if kind == ".csv":
        frame = _read_csv(path, sep, encoding or "utf-8-sig", skip)
    else:
        frame = _read_parquet(path) if kind == ".parquet" else _read_excel(path, sheet, skip, note)
    frame = frame.rename(columns=composed)
    check_columns(frame, drop, path, "--drop", once=False)
    frame = frame[[name for name in frame.columns if name not in set(drop)]] if drop else frame
    if not len(frame):
        raise ValueError(f"{path!r} has no rows below its header. Name a table with rows.")
    if thousands or units or decimal == ",":
        frame = frame.map(_point_writer(decimal, thousands or "." * (decimal == ","), units))
    return _without(frame, missing) if missing else frame


def _without(frame, marks):
    """Return a table with None for cells that hold a mark, in all columns or in that it names."""
    everywhere = [mark for mark in marks if not mark.rpartition("=")[0]]
    named = [mark.rpartition("=") for mark in marks]

    def is_marked(cells):
        own = [mark for name, _, mark in named if name and name == cells.name]
        return Vocabulary(dict.fromkeys(everywhere + own)).codes(cells) >= 0

    return frame.mask(frame.apply(is_marked), None)


def check_ending(path):
    """Raise ValueError unless a file name ends like a table that can be read and written."""
    kind = _ending(path)
    if kind not in TABLES:
        raise ValueError(
            f"{str(path)!r} has no ending of a table. Save it as CSV, Parquet or Excel, with a "
            f"name that ends in {' or '.join(TABLES)}."
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
    """Write a table, readable by its owner only, to a file: completely or not at all.

    Return whether text that looks like a formula got an apostrophe in front.
    """
    with write_whole(path, overwrite=overwrite, mode=PRIVATE) as file:
        if _ending(path) == ".parquet":
            frame.to_parquet(file, engine="pyarrow", index=False)
            return False
        escaped = frame.rename(columns=escaped_text).map(escaped_text)
        if _ending(path) == ".xlsx":
            escaped.to_excel(file, engine="openpyxl", index=False)
        else:
            file.write(_as_csv(escaped))
    cells = chain(frame.columns, frame.to_numpy(dtype=object).ravel())
    return any(escaped_text(cell) is not cell for cell in cells)


def _as_csv(frame):
    text = frame.to_csv(index=False)
    if "\r" in text:  # which only quotation marks keep from ending the line
        text = frame.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC)
    return text.encode()


def escaped_text(value):
    """Return a value, with an apostrophe in front of text that looks like a formula."""
    # Spreadsheets take text that starts like this for a formula, which may run anything.
    formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if formula and not isinstance(canonical(value), float) else value


def six_digits(values):
    """Return numbers with six digits: further ones are noise."""
    return [float(f"{value:.6g}") for value in values]


def check_output(path, endings, *, force, inputs, argument="--output"):
    """Return the path of an output; refuse it before any work is done or budget spent.

    The path must have one of the endings and differ from all inputs.
    """
    target = Path(path)
    named = f"{argument} {str(path)!r}"
    if target.suffix.lower() not in endings:
        raise ValueError(f"{named} must end in {' or '.join(endings)}. Choose such a name.")
    folder = target.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"{named}: the folder {str(folder)!r} does not exist. Create it first.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{named}: the folder {str(folder)!r} is read-only. Choose another.")
    if target.is_dir():
        raise ValueError(f"{named} is a folder. Name a file.")
    if target.resolve() in [Path(file).resolve() for file in inputs]:
        raise ValueError(f"{named} is also an input. Choose another name.")
    if target.exists() and not force:
        raise ValueError(f"{named} exists. Choose another name, or add --force.")
    if target.suffix.lower() in TABLES:
        check_ending(target)
    return target


def check_columns(frame, names, path, where, *, once=True):
    """Raise ValueError unless a table has these public columns, ``once`` each."""
    given = list(frame.columns)
    lacking = [name for name in names if name not in given]
    if lacking:
        alike = spelled_otherwise(lacking, given)
        hint = f" It spells {listed(alike)} differently: case, white space or signs." * bool(alike)
        raise ValueError(
            f"{path!r} lacks {_named(lacking)} of {where}. Spell names as in the first line of "
            f"the table, including upper and lower case.{hint}"
        )
    twice = [name for name in names if given.count(name) > 1] if once else []
    if twice:
        raise ValueError(f"{path!r} has {_named(twice)} more than once. Keep one of each.")


def spelled_otherwise(names, given):
    """Return the names that a table has in another spelling."""
    forms = {same_spelling(name) for name in given}
    return [name for name in names if same_spelling(name) in forms]


def inferred(frame):
    """Return a public table in which columns of numeric cells are numbers."""
    # Types depend on all rows: for public rows only.
    return pd.DataFrame({name: _inferred(frame[name]) for name in frame.columns})


def _inferred(values):
    values = values.astype(object).mask(missing_values(values), None)
    present = values.notna()
    # Whole numbers stay whole if others are missing: a class is 1, not 1.0.
    typed = pd.Series(numbers(values), index=values.index).convert_dtypes()
    texts = values[present].astype(str)
    # Truth values, and codes such as postal codes that would lose leading zeros.
    kept = texts.str.fullmatch(r"\s*(true|false|0\d+)\s*", case=False).any()
    return values if kept or typed[present].isna().any() or not present.any() else typed


def _marks(text):
    """Return the texts in a list with commas."""
    return [composed(mark.strip()) for mark in text.split(",") if mark.strip()]


def _number_of_lines(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a number of lines, such as 3, got {text!r}")
    return int(text)


def _encoding(text):
    """Return the name of a text encoding that Python knows."""
    try:
        "".encode(text)
    except (LookupError, ValueError):
        message = f"must be a text encoding, such as cp1252 or latin-1, got {text!r}"
        raise argparse.ArgumentTypeError(message) from None
    return text


def _separator(text):
    """Return the separator: one character, or the tab by its name."""
    sign = "\t" if text in ("tab", "\\t") else text
    if len(sign) != 1 or sign.isalnum() or sign in '"\r\n.+-':
        raise argparse.ArgumentTypeError(f"must be one sign, such as ';', or 'tab', got {text!r}")
    return sign


def _layout_hint(path, encoding, sep, skip):
    """Return a guess of the separator of a CSV file and of the lines above its header."""
    with open(path, encoding=encoding, newline="") as file:
        lines = [line for line in islice(file, _TOP) if not _SEPARATOR_LINE.fullmatch(line)]
    try:
        tables = {sign: list(csv.reader(lines, delimiter=sign)) for sign in (sep, *";\t|,")}
    except csv.Error:  # of lines that are too long to be one cell
        return ""

    def n_regular(sign):
        widths = Counter(len(row) for row in tables[sign] if len(row) > 1)
        return max(widths.values(), default=0)

    sign = max(tables, key=n_regular)
    name, hint = "tab" if sign == "\t" else sign, _names_hint(tables[sign], skip)
    if sign == sep:
        return hint
    return (
        f" Are its cells separated by '{name}'? Add --sep '{name}', and --decimal ',' if its "
        f"numbers have decimal commas.{hint}"
    )


def _names_hint(rows, skip):
    """Return a guess of how many lines stand above the header."""
    filled = [sum(cell not in ("", None) for cell in row) for row in rows]
    first = next((i for i, n in enumerate(filled) if n > max(filled) / 2), 0)
    if not any(filled[:first]) or first == skip:
        return ""
    return f" Are there lines above the header? Skip them: --skip {first}."


def _check_names(names, path, hint):
    """Raise ValueError if most columns have no name, as below a title."""
    if sum(map(bool, names)) <= len(names) / 2:
        raise ValueError(f"{path!r} has no names for most of its columns in its first line.{hint}")


def _point_writer(decimal, thousands, units):
    """Return a function that rewrites numbers with these signs with a decimal point."""
    read = number_reader(decimal, thousands, units)

    def with_point(value):
        number = read(value) if isinstance(value, str) else None
        return value if number is None else number

    return with_point


def _read_csv(path, sep, encoding, skip):
    # Strict, because a quotation mark that is never closed swallows all later rows.
    try:
        with open(path, encoding=encoding, newline="") as file:
            first = file.readline()
            told = _SEPARATOR_LINE.fullmatch(first)
            sep = sep or (told[1] if told else ",")
            below = islice(file if told else chain([first], file), skip, None)
            rows = [row for row in csv.reader(below, strict=True, delimiter=sep) if row]
    except UnicodeError:
        raise ValueError(
            f"{path!r} is not in {'UTF-8' if encoding == 'utf-8-sig' else encoding}. Save it as "
            "'CSV UTF-8', or add --encoding: usually cp1252 on Windows in Western Europe, utf-16 "
            "for Excel's 'Unicode text'."
        ) from None
    except csv.Error:
        raise ValueError(
            f"{path!r} is not an intact CSV file: a quotation mark is not closed, or a cell is "
            "far too long. Save it again from the program that made it."
        ) from None
    names = next(filter(any, rows), None)
    if names is None:
        raise ValueError(f"{path!r} is empty. Name a table with a header.")
    rows = rows[rows.index(names) + 1 :]
    hint = _layout_hint(path, encoding, sep, skip)
    if any(len(row) != len(names) for row in rows):
        sign = {",": "commas", "\t": "tabs"}.get(sep, repr(sep))
        raise ValueError(
            f"{path!r} has lines whose number of cells differs from the header. Put quotation "
            f"marks around cells that contain {sign}, as spreadsheets do.{hint}"
        )
    if len(names) == 1 and hint:
        raise ValueError(f"{path!r} has one column only.{hint}")
    _check_names(names, path, hint)
    return _of_objects(rows, names)


def _of_objects(rows, names):
    return pd.DataFrame(rows, columns=pd.Index(names, dtype=object), dtype=object)


def _read_excel(path, sheet, skip, note):
    values, formulas = (rows[skip:] for rows in _excel_sheet(path, sheet, note))
    for row, formula in zip(values, formulas, strict=False):
        if any(v is None and f is not None for v, f in zip(row, formula, strict=False)):
            raise ValueError(
                f"{path!r} has formulas without stored values. Open and save it in a spreadsheet "
                "program."
            )
    rows = [[_excel_cell(value) for value in row] for row in values]
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if not rows:
        raise ValueError(f"{path!r} is empty. Name a table with a header.")
    names = [str(name) for name in rows[0]]
    while names[-1] == "":
        names.pop()
    width, hint = len(names), _names_hint([[None]] * skip + values[:_TOP], skip)
    if any(cell != "" for row in rows for cell in row[width:]):
        raise ValueError(
            f"{path!r} has cells to the right of its header. Name each column and keep one table "
            f"in the sheet.{hint}"
        )
    _check_names(names, path, hint)
    return _of_objects([row[:width] + [""] * (width - len(row)) for row in rows[1:]], names)


def _excel_sheet(path, sheet, note):
    """Return the rows of a sheet twice: with the stored values of formulas and with formulas."""
    openpyxl = importlib.import_module("openpyxl")
    sheets: list = []
    names: list = []
    with open(path, "rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and the like, which are of no use here
        try:
            for stored in (True, False):
                book = openpyxl.load_workbook(file, read_only=True, data_only=stored)
                names = [one.title for one in book.worksheets]
                chosen = book.worksheets[0] if sheet is None else book[sheet]
                sheets.append(list(chosen.iter_rows(values_only=True)))
        except Exception:  # of any kind, by a parser that quotes what it parses
            sheets = []
    if names and sheet is not None and sheet not in names:
        raise ValueError(f"{path!r} has no sheet {sheet!r:.100}. Choose from {listed(names)}.")
    if not sheets:
        raise ValueError(f"{path!r} is not an intact Excel file. Save it again, or use CSV.")
    if sheet is None and len(names) > 1:
        note(
            f"{names[0]!r} is read, the first of the sheets {listed(names)}; --sheet names another"
        )
    return sheets


def _excel_cell(value):
    """Return a cell as CSV would have it; numbers and truth values stay."""
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
        raise ValueError(f"{path!r} is not an intact Parquet file. Write it again, or use CSV.")
    text = [name for name in frame.columns if isinstance(frame[name].dtype, pd.StringDtype)]
    return frame.astype(dict.fromkeys(text, object))


def _ending(path):
    return Path(path).suffix.lower()


def _named(names):
    return f"the column{'s' if len(names) > 1 else ''} {listed(names)}"
