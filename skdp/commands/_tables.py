"""Tables of CSV and Parquet files, in and out, and where output may go.

Cells of a CSV file are text, and stay so: the public schema says what each of them means. No
message repeats anything of the file, its header included: in a file without a header the first
record is in its place.
"""

import csv
import importlib
import os
from pathlib import Path

import pandas as pd

from skdp.tabular import canonical, missing_values, numbers
from skdp.utils._files import PRIVATE, write_whole
from skdp.utils._validation import listed

TABLES = (".csv", ".parquet")
# With what text begins that spreadsheets take for a formula, which may run anything.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def read_table(path):
    """Return a table whose cells are text, or of a Parquet file what they are there.

    Parameters
    ----------
    path : str
        Ends in .csv (UTF-8, commas, names of the columns in the first line) or .parquet.

    Returns
    -------
    frame : DataFrame
        Text is in columns of objects.

    Raises
    ------
    ValueError
        When it is no such file, naming it and the remedy.

    OSError
        When it cannot be read.
    """
    check_ending(path)
    frame = _read_parquet(path) if _is_parquet(path) else _read_csv(path)
    if not len(frame):
        raise ValueError(f"{path!r} holds no rows below the names of its columns.")
    return frame


def check_ending(path):
    """Raise ValueError unless a name is that of a table that can be read and written here."""
    if Path(path).suffix.lower() not in TABLES:
        raise ValueError(
            f"{str(path)!r} is no table by its name. Save it as CSV or Parquet, with a name that "
            f"ends in {' or '.join(TABLES)}."
        )
    if _is_parquet(path):
        try:
            importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise ValueError(
                f"{str(path)!r} is a Parquet file, which needs the package pyarrow. Install it "
                "(pip install pyarrow), or use CSV."
            ) from None


def write_table(frame, path, *, overwrite):
    """Write a table that only its owner may read to a CSV or Parquet file, whole or not at all.

    Parameters
    ----------
    frame : DataFrame

    path : Path

    overwrite : bool
        Whether a file that is there may be replaced.

    Returns
    -------
    escaped : bool
        Whether text of a CSV file got an apostrophe in front, as it began like a formula.
    """
    with write_whole(path, overwrite=overwrite, mode=PRIVATE) as file:
        if _is_parquet(path):
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
    formula = isinstance(value, str) and value.startswith(_FORMULAS)
    return f"'{value}" if formula and not isinstance(canonical(value), float) else value


def check_output(path, endings, *, force, inputs, argument="--output"):
    """Return where a command is to write; refuses before any work is done or budget spent.

    Parameters
    ----------
    path : str
        As given by the argument.

    endings : tuple of str
        Of which it must have one.

    force : bool
        Whether a file that is there may be replaced.

    inputs : list of str
        What the command reads; never replaced.

    argument : str, default="--output"
        For the errors.

    Returns
    -------
    path : Path

    Raises
    ------
    ValueError
        Naming the argument, its value and the remedy.
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
    if target.resolve() in [Path(each).resolve() for each in inputs]:
        raise ValueError(f"{named} is also a file that is read. Choose another name.")
    if target.exists() and not force:
        raise ValueError(f"{named} is there already. Choose another name, or add --force.")
    return target


def check_columns(frame, names, path, where):
    """Raise ValueError unless a table has columns of these public names, each once.

    Parameters
    ----------
    frame : DataFrame

    names : iterable of str

    path : str
        Of the table.

    where : str
        What asks for the columns, for the error.
    """
    given = list(frame.columns)
    alone = " It has one column only: are its cells separated by commas?" * (len(given) == 1)
    lacking = [name for name in names if name not in given]
    if lacking:
        raise ValueError(
            f"{path!r} lacks {_named(lacking)} of {where}. Spell names as in the first line of "
            f"the table, upper and lower case included.{alone}"
        )
    twice = [name for name in names if given.count(name) > 1]
    if twice:
        raise ValueError(f"{path!r} has {_named(twice)} more than once. Leave one of each.")


def inferred(frame):
    """Return a public table with columns of numbers where all cells are numbers.

    Types depend on all rows: for rows that are no secret only.

    Parameters
    ----------
    frame : DataFrame
        Public.

    Returns
    -------
    typed : DataFrame

    Examples
    --------
    >>> table = pd.DataFrame({"ward": ["A", "2", "1", ""], "age": ["30", "", "50", "40"]})
    >>> inferred(table).dtypes.tolist()
    [dtype('O'), Int64Dtype()]
    """
    return pd.DataFrame({name: _inferred(frame[name]) for name in frame.columns})


def _inferred(values):
    values = values.astype(object).mask(missing_values(values), None)
    present = values.notna()
    # Whole numbers stay whole where others are missing: a class is 1, not 1.0.
    found = pd.Series(numbers(values), index=values.index).convert_dtypes()
    truths = values[present].astype(str).str.lower().isin(["true", "false"])
    return values if truths.any() or found[present].isna().any() or not present.any() else found


def _read_csv(path):
    # Strict, as a quotation mark that is never closed swallows all rows that follow.
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
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
        raise ValueError(
            f"{path!r} has lines with more or fewer cells than its first line has names. Put "
            "quotation marks around cells that hold commas, as spreadsheets do by themselves."
        )
    return pd.DataFrame(rows, columns=pd.Index(names, dtype=object), dtype=object)


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


def _is_parquet(path):
    return Path(path).suffix.lower() == ".parquet"


def _named(names):
    return f"the column{'s' if len(names) > 1 else ''} {listed(names)}"
