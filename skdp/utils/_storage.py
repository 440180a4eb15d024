"""Files that carry a model from its owner to others: arrays and a JSON header, no code.

The arrays hold numbers and text, so that loading cannot run anything, and lie in a zip archive of
which no byte is trusted. Nothing is allocated that the file does not hold: members are stored,
never compressed, lie apart from each other within the file, and each has just the bytes that its
header says; reading takes the memory of the file's own size, and at most 2 MiB and about as much
again for the text.

The header names the format, its version and the kind of model, and holds a SHA-256 over itself and
over every array: a truncated or altered file is refused. The checksum detects accidents only: it
is no signature, and can be rewritten with the file.
"""

import json
import math
import os
import struct
import zipfile
from contextlib import contextmanager
from typing import Literal

import numpy as np

from skdp.utils._files import checksum, to_json, write_whole

_FORMAT = "skdp"
_VERSION = 1
# Size of a header, at most: these bytes and this fraction of the file. Text that was parsed takes
# up to thirty times its size in memory.
_HEADER_BYTES = 2**16
_HEADER_FRACTION = 32
# Fixed part of the header in front of each member, with the lengths of its two variable parts.
_LOCAL_HEADER = struct.Struct("<4s22x2H")
_SIGNATURE = b"PK\x03\x04"
# End of the directory at the end of the file: number of members, and length of a comment.
_DIRECTORY_END = struct.Struct("<4s6xH8xH")
# Bytes of an array of one number with all headers, at least.
_SMALLEST_MEMBER = 200
# Readers of the header of an array, by version of NumPy's format.
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# Characters that an array of labels from a file may take: it gives every label as many as the
# longest one has.
_MOST_CHARACTERS = 2**20


def save_arrays(path, kind, header, arrays, *, overwrite=True):
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

    overwrite : bool, default=True
        Whether a file that is there may be replaced.
    """
    header = {**header, "format": _FORMAT, "version": _VERSION, "kind": kind}
    header["sha256"] = checksum(header, arrays)
    text = np.frombuffer(to_json(header), dtype=np.uint8)
    with write_whole(path, overwrite=overwrite) as file:
        np.savez(file, header=text, **arrays)


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
        As it was passed to :func:`save_arrays`, with ``format``, ``version`` and ``kind``.

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
            require(header.get("format") == _FORMAT, "format")
            version, found = int(header["version"]), header["kind"]
            sound = header.pop("sha256") == checksum(header, arrays)
        except (
            Exception
        ) as error:  # a file that nobody vouches for can make parsers raise anything
            raise ValueError(foreign) from error
    if version != _VERSION:
        raise ValueError(
            f"{str(path)!r} has format version {version}, this skdp reads {_VERSION}. Update skdp."
        )
    if not sound:
        raise ValueError(foreign)
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


def stored_array(arrays, key, dtype, shape):
    """Return an array that was read from a file, checked.

    Parameters
    ----------
    arrays : dict of str to ndarray
        What was read.

    key : str
        Name of the array.

    dtype : dtype
        What it must be of.

    shape : tuple of int or None
        What it must have; None stands for any length but zero.

    Returns
    -------
    array : ndarray
        Finite.

    Raises
    ------
    ValueError
        When there is no such array.
    """
    array = arrays.get(key)
    if (
        not isinstance(array, np.ndarray)
        or array.dtype != dtype
        or array.ndim != len(shape)
        or not array.size
        or any(want not in (None, n) for n, want in zip(array.shape, shape, strict=True))
        or not np.isfinite(array).all()
    ):
        lengths = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(
            f"array {key!r} is not one of finite {np.dtype(dtype)} numbers of shape ({lengths})"
        )
    return array


def stored_labels(labels):
    """Return labels that were read from a file as an array.

    Parameters
    ----------
    labels : list
        Numbers, or text.

    Returns
    -------
    array : ndarray of shape (n_labels,)

    Raises
    ------
    ValueError
        When it is no list of finite numbers or of text, or would take far more memory than the
        labels do.

    Examples
    --------
    >>> from skdp.utils._storage import stored_labels
    >>> stored_labels(["ant", "bee"])
    array(['ant', 'bee'], dtype='<U3')
    """
    require(isinstance(labels, list) and len({type(label) for label in labels}) == 1, "labels")
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    require(longest * len(labels) <= _MOST_CHARACTERS, "lengths of labels")
    array = np.array(labels)
    require(array.ndim == 1 and array.dtype.kind in "biufU", "labels")
    require(array.dtype.kind != "f" or np.isfinite(array).all(), "labels")
    return array


def restore_feature_names(estimator, names):
    """Set the names of columns that were read from a file, where there are any.

    Parameters
    ----------
    estimator : estimator
        With ``n_features_in_``.

    names : list of str
        One for each column, or none.

    Raises
    ------
    ValueError
        When it is no such list.
    """
    fit = isinstance(names, list) and len(names) in (0, estimator.n_features_in_)
    require(fit and all(isinstance(name, str) for name in names), "feature_names")
    if names:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def read_archive(file, mmap_mode=None):
    """Read all arrays of an archive.

    Parameters
    ----------
    file : file object
        Binary, open for reading, of a file in a file system.

    mmap_mode : {"r"} or None, default=None
        Map arrays into memory instead of reading them, see :class:`numpy.memmap`.

    Returns
    -------
    arrays : dict of str to ndarray

    Raises
    ------
    Exception
        Of nearly any kind where the file is no such archive; callers say what that means.
    """
    size = os.fstat(file.fileno()).st_size
    members = _stored_members(file, size)
    return {
        name: _read_array(file, start, end, mmap_mode) for name, (start, end) in members.items()
    }


def _check_number_of_members(file, size):
    """Refuse a directory of more members than the file has room for, before it is read."""
    file.seek(max(0, size - _DIRECTORY_END.size))
    signature, n_members, n_comment = _DIRECTORY_END.unpack(file.read(_DIRECTORY_END.size))
    if signature != b"PK\x05\x06" or n_comment or n_members > 1 + size // _SMALLEST_MEMBER:
        raise ValueError("the directory of the archive is none of arrays")


def _stored_members(file, size):
    """Return where each member begins and ends, checked against the file and each other."""
    members: dict = {}
    occupied = []
    _check_number_of_members(file, size)
    for info in zipfile.ZipFile(file).infolist():
        stored = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1
        if not stored or info.file_size != info.compress_size:
            raise ValueError(f"member {info.filename!r} is compressed or encrypted")
        file.seek(info.header_offset)
        signature, n_name, n_extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        start = info.header_offset + _LOCAL_HEADER.size + n_name + n_extra
        name, ending = os.path.splitext(info.filename)
        if signature != _SIGNATURE or ending != ".npy" or name in members:
            raise ValueError(f"member {info.filename!r} is no array, or there twice")
        members[name] = start, start + info.file_size
        occupied.append((info.header_offset, start + info.file_size))
    occupied.sort()
    ends = [0, *(end for _, end in occupied)]
    if ends[-1] > size or any(here < end for (here, _), end in zip(occupied, ends, strict=False)):
        raise ValueError("members overlap, or lie beyond the end of the file")
    return members


def _read_array(file, start, end, mmap_mode):
    """Return the array between two positions."""
    file.seek(start)
    version = np.lib.format.read_magic(file)
    shape, fortran_order, dtype = _HEADER_READERS[version](file)
    if dtype.kind not in "biufcU":
        raise ValueError(f"an array of {dtype} holds no numbers and no text")
    count = math.prod(shape)
    order: Literal["C", "F"] = "F" if fortran_order else "C"
    offset = file.tell()
    if min(shape, default=0) < 0 or dtype.itemsize * count != end - offset:
        raise ValueError("an array does not fill its member")
    if mmap_mode is not None and count:
        return np.memmap(file, dtype, mmap_mode, offset, shape, order)
    # Not fromfile, which reads files in a file system alone and at a position of its own.
    flat = np.empty(count, dtype)
    if file.readinto(flat.view(np.uint8).data) != flat.nbytes:
        raise ValueError("the file ends early")
    array = flat.reshape(shape, order=order)
    array.flags.writeable = False
    return array
