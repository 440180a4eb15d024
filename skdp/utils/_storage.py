"""Files that carry a model from its owner to others: arrays and a JSON header, no code.

Arrays hold numbers and text, so that loading cannot run anything, and are stored as they are;
reading takes the memory of the file's own size, and at most 2 MiB and about as much again for
the text. The header names the format, its version and
the kind of model, and holds a SHA-256 over itself and over every array: a truncated or altered
file is refused. The checksum finds accidents; it is not a signature, and whoever can rewrite
the file can rewrite it too.
"""

import json
import os
from contextlib import contextmanager

import numpy as np

from skdp.utils._archive import read_archive, write_archive
from skdp.utils._files import checksum, to_json, write_whole

_FORMAT = "skdp"
_VERSION = 5
# Whoever made a release cannot make it again without spending its ε again.
_READABLE = (4, 5)
# What kinds of model were called in format 4.
_FORMER_KINDS = {"DPSource": "Release"}
# Size of a header, at most: these bytes and this fraction of the file. Text that was parsed takes
# up to thirty times its size in memory.
_HEADER_BYTES = 2**16
_HEADER_FRACTION = 32


def save_arrays(path, kind, header, arrays):
    """Write arrays and a header to one file.

    Parameters
    ----------
    path : str or path-like
        Where to write; used as given, whatever its ending.

    kind : str
        What the file holds, checked on loading.

    header : dict
        JSON-serialisable.

    arrays : dict of str to ndarray
        Of any dtype but object.
    """
    header = {**header, "format": _FORMAT, "version": _VERSION, "kind": kind}
    header["sha256"] = checksum(header, arrays)
    text = np.frombuffer(to_json(header), dtype=np.uint8)
    with write_whole(path) as file:
        write_archive(file, {"header": text, **arrays})


def load_arrays(path, kind, mmap_mode=None):
    """Read what :func:`save_arrays` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    kind : str
        What it must hold.

    mmap_mode : {"r"} or None, default=None
        Map arrays into memory instead of reading them, see :class:`numpy.memmap`.

    Returns
    -------
    header : dict
        As it was passed to :func:`save_arrays`, with the ``version`` of the format.

    arrays : dict of str to ndarray
        Likewise.

    Raises
    ------
    ValueError
        When the file is truncated, altered, of another version, of another kind, or not
        one of skdp's at all.
    """
    foreign = (
        f"{str(path)!r} is not an intact skdp file: it is truncated, altered, or was written "
        "by another program. Ask its owner for a new copy."
    )
    with open(path, "rb") as file:
        try:
            arrays = read_archive(file, mmap_mode)
            text = arrays.pop("header")
            allowed = _HEADER_BYTES + os.fstat(file.fileno()).st_size // _HEADER_FRACTION
            require(text.nbytes <= allowed, "header")
            header = json.loads(text.tobytes())
            intact = header.get("format") == _FORMAT
            version, found = int(header["version"]), header["kind"]
            sound = header.pop("sha256") == checksum(header, arrays)
        except (
            Exception
        ) as error:  # a file that nobody vouches for can make parsers raise anything
            raise ValueError(foreign) from error
    if not intact:
        raise ValueError(foreign)
    if version not in _READABLE:
        remedy = "Update skdp." if version > _VERSION else "Ask its owner to write it anew."
        raise ValueError(
            f"{str(path)!r} has format version {version}, this skdp reads "
            f"{' and '.join(map(str, _READABLE))}. {remedy}"
        )
    if not sound:
        raise ValueError(foreign)
    found = _FORMER_KINDS.get(found, found)
    if found != kind:
        raise ValueError(
            f"{str(path)!r} holds a {found}, not a {kind}. Load it with {found}.load."
        )
    return header, arrays


@contextmanager
def well_formed(path, kind):
    """Report what goes wrong in building a model as the fault of its file.

    The checksum is no signature: a file may be intact and still hold no such model.

    Parameters
    ----------
    path : str or path-like
        The file.

    kind : str
        What it should hold.

    Raises
    ------
    ValueError
        Instead of whatever building the model raised.
    """
    try:
        yield
    except Exception as error:  # see load_arrays
        raise ValueError(
            f"{str(path)!r} is an skdp file, but no working {kind} ({error!r}). Ask its owner "
            "for a new copy."
        ) from error


def require(condition, what):
    """Raise ValueError unless what was read fits together."""
    if not condition:
        raise ValueError(f"{what} do not fit")


def stored_estimator(cls, header, saved):
    """Return an unfitted estimator of stored parameters, and what else its header holds.

    Parameters
    ----------
    cls : type
        Of the estimator.

    header : dict
        With ``parameters``, ``dtype`` and ``n_parts``.

    saved : collection of str
        Names of the parameters.

    Returns
    -------
    estimator : object
        Its parameters are such as it takes.

    dtype : dtype
        float32 or float64.

    counts : list of int
        ``n_parts``, all positive.
    """
    parameters = header["parameters"]
    require(set(parameters) == set(saved), "parameters")
    estimator = cls(**parameters)
    estimator._validate_params()
    require(isinstance(header["dtype"], str), "dtype")
    dtype = np.dtype(header["dtype"])
    require(dtype in (np.float32, np.float64), "dtype")
    counts = header["n_parts"]
    require(all(type(count) is int and count > 0 for count in counts), "n_parts")
    return estimator, dtype, counts
