"""Tables of CSV and Parquet files, in and out.

Cells of a CSV file are text, and stay so: the public schema says what each of them means. No
message repeats anything of the file, its header included: in a file without a header the first
record is in its place.
"""

import csv
import importlib
from pathlib import Path

import pandas as pd

from skdp.commands._files import written_whole
from skdp.tabular import missing_values, numbers

TABLES = (".csv", ".parquet")


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
    frame = _read_parquet(path) if Path(path).suffix.lower() == ".parquet" else _read_csv(path)
    if not len(frame):
        raise ValueError(f"{path!r} holds no rows below the names of its columns.")
    return frame


def check_ending(path):
    """Raise ValueError unless a name is that of a table that can be read and written here."""
    ending = Path(path).suffix.lower()
    if ending not in TABLES:
        raise ValueError(
            f"{str(path)!r} is no table by its name. Save it as CSV or Parquet, with a name that "
            f"ends in {' or '.join(TABLES)}."
        )
    if ending == ".parquet":
        try:
            importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise ValueError(
                f"{str(path)!r} is a Parquet file, which needs the package pyarrow. Install it "
                "(pip install pyarrow), or use CSV."
            ) from None


def write_table(frame, path):
    """Write a table to a CSV or Parquet file, whole or not at all."""
    with written_whole(path) as draft:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(draft, engine="pyarrow", index=False)
        else:
            frame.to_csv(draft, index=False, encoding="utf-8")


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
    lacking = [name for name in names if name not in given]
    if lacking:
        raise ValueError(
            f"{path!r} lacks {_listed(lacking)} of {where}. Spell names as in the first line of "
            f"the table, upper and lower case included.{_hint(frame)}"
        )
    twice = [name for name in names if given.count(name) > 1]
    if twice:
        raise ValueError(f"{path!r} has {_listed(twice)} more than once. Leave one of each.")


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
    # Whole numbers stay whole beside missing ones: a class is 1, not 1.0.
    found = pd.Series(numbers(values), index=values.index).convert_dtypes()
    if not present.any() or found[present].isna().any() or _are_truths(values[present]):
        return values
    return found


def _are_truths(values):
    return values.astype(str).str.lower().isin(["true", "false"]).any()


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


def _hint(frame):
    """Return what explains that a table has a single column."""
    alone = " It has one column only: are its cells separated by commas?"
    return alone if frame.shape[1] == 1 else ""


def _listed(names, shown=10):
    plural = "s" if len(names) > 1 else ""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"the column{plural} {', '.join(f'{name!r:.100}' for name in names[:shown])}{more}"
