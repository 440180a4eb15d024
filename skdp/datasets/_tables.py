"""Medical and economic tables of mixed columns, each split into a source and a target."""

import json
import os

import numpy as np
import pandas as pd
from sklearn.utils import Bunch, check_random_state

from skdp.datasets._digits import local_file

_NAMES = ("adult", "flchain", "whas500", "actg320", "actg175", "randhie")
# Which rows are the source's: so many at random, or those with a value in a column.
_RANDOM_SOURCES = {"adult": 20_000, "whas500": 250, "actg320": 600, "randhie": 8_000}
_SOURCE_VALUES = {"flchain": ("sex", "F"), "actg175": ("race", 0)}


def load_table(name, *, random_state=None):
    """Load a table of mixed columns, with a public schema and a scenario of transfer.

    The tables are "adult" (UCI Adult, CC BY 4.0; income), "flchain" (free light chains; death;
    from women to men), "whas500" (Worcester heart attack study; death), "actg320" and "actg175"
    (AIDS clinical trials; events; the latter from one race to the other) and "randhie" (RAND
    health insurance experiment; many visits). They are read from ``tabular/<name>.csv.gz`` and
    ``tabular/schemas.json`` in the folder that the environment variable ``SKDP_DATA`` names.

    Rows that are not the source's are the target's. In a random order, the first of these are
    to learn from, the first of each class among them with their labels, and the rest are to
    be predicted.

    Parameters
    ----------
    name : {"adult", "flchain", "whas500", "actg320", "actg175", "randhie"}
        The table.

    random_state : int, RandomState instance or None, default=None
        Draws the target's order, and the source where that is random.

    Returns
    -------
    table : :class:`~sklearn.utils.Bunch`
        With ``data``, a DataFrame of n rows, ``target`` of shape (n,), ``schema``, a mapping for
        :class:`~skdp.TabularEncoder` with the classes, and the row numbers ``source``,
        ``learning``, ``labelled`` (some of ``learning``) and ``test``; ``DESCR``.

    Raises
    ------
    ValueError
        When there is no such table.

    OSError
        When the files are not there.

    See Also
    --------
    load_adult : The first of them, which needs no files.

    Examples
    --------
    >>> from skdp.datasets import load_table
    >>> table = load_table("flchain", random_state=0)  # doctest: +SKIP
    >>> len(table.source), len(table.learning), len(table.labelled)  # doctest: +SKIP
    (4350, 500, 20)
    """
    if name not in _NAMES:
        raise ValueError(f"The 'name' parameter of load_table is {name!r}; use one of {_NAMES}.")
    return scenario(name, _file, random_state)


def scenario(name, find, random_state):
    """Return a table with its scenario of transfer.

    Parameters
    ----------
    name : str
        The table.

    find : callable
        Returns the path of ``"<name>.csv.gz"``, the rows, or of ``"schemas.json"``, what is public
        about them.

    random_state : int, RandomState instance or None
        Draws the target's order, and the source where that is random.

    Returns
    -------
    table : :class:`~sklearn.utils.Bunch`
        See :func:`load_table`.
    """
    rng = check_random_state(random_state)
    about = json.loads(find("schemas.json").read_text(encoding="utf-8"))[name]
    frame = pd.read_csv(find(f"{name}.csv.gz"))
    y = frame.pop(about["label"]).to_numpy()
    is_source = _source_rows(name, frame, rng)
    target = rng.permutation(np.flatnonzero(~is_source))
    learning, test = np.split(target, [about["target_rows"]])
    classes = np.unique(y)
    shown = [learning[y[learning] == label][: about["labels_per_class"]] for label in classes]
    return Bunch(
        data=frame,
        target=y,
        schema={"version": 1, "columns": about["columns"], "classes": classes.tolist()},
        source=np.flatnonzero(is_source),
        learning=learning,
        labelled=np.concatenate(shown),
        test=test,
        DESCR=about["note"],
    )


def _source_rows(name, frame, rng):
    """Return a mask of the source's rows."""
    if name in _SOURCE_VALUES:
        column, value = _SOURCE_VALUES[name]
        return frame[column].to_numpy() == value
    mask = np.zeros(len(frame), dtype=bool)
    mask[rng.permutation(len(frame))[: _RANDOM_SOURCES[name]]] = True
    return mask


def _file(name):
    """Return the path of a file of the tables, or raise OSError."""
    path = local_file(os.path.join("tabular", name))
    if path is None:
        raise OSError(
            f"SKDP_DATA={os.environ.get('SKDP_DATA')!r} names no folder with tabular/{name}. Set "
            "the environment variable SKDP_DATA to a folder that holds it; "
            "skdp.datasets.load_adult() needs no files."
        )
    return path
