"""Files of models: arrays and a JSON header, without code.

The arrays contain numbers and text only, so that loading cannot execute code. The zip archive is
treated as untrusted: members must be stored, not compressed, must not overlap, and must have
exactly the size that their headers state. Reading therefore takes as much memory as the file has
bytes, at most 2 MiB more, and about the size of the text again.

The header contains the format, its version and the kind of model, and a SHA-256 of itself and of
every array: truncated or altered files are refused. The checksum detects accidents only. It is not
a signature, and can be rewritten with the file.
"""

import json
import math
import os
import struct
import zipfile
from contextlib import contextmanager
from typing import Literal

import numpy as np

from skdp.utils._files import OtherVersionError, checksum, to_json, write_whole

_FORMAT = "skdp"
_VERSION = 1
# Largest size of a header: these bytes plus this fraction of the file. Parsed text takes up to
# thirty times its size in memory.
_HEADER_BYTES = 2**16
_HEADER_FRACTION = 32
# Fixed part of the header in front of each member, with the lengths of its two variable parts.
_LOCAL_HEADER = struct.Struct("<4s22x2H")
_SIGNATURE = b"PK\x03\x04"
# End of the directory at the end of the file: number of members, and length of a comment.
_DIRECTORY_END = struct.Struct("<4s6xH8xH")
# Smallest size in bytes of an array with all headers.
_SMALLEST_MEMBER = 200
# Readers of the header of an array, by version of NumPy's format.
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# Largest number of characters of an array of labels from a file, in which every label takes as
# many as the longest one.
_MOST_CHARACTERS = 2**20


def save_arrays(path, kind, header, arrays, *, overwrite=True):
    """Write arrays of any dtype but object, and a header that JSON can hold, to one file.

    ``path`` may be an open binary file.
    """
    header = {**header, "format": _FORMAT, "version": _VERSION, "kind": kind}
    header["sha256"] = checksum(header, arrays)
    text = np.frombuffer(to_json(header), dtype=np.uint8)
    with write_whole(path, overwrite=overwrite) as file:
        np.savez(file, header=text, **arrays)


def load_arrays(path, kind, mmap_mode=None):
    """Return header and arrays of a file that :func:`save_arrays` wrote, maybe mapped into memory.

    ValueError if it is truncated, altered, of another version or kind, or no file of skdp.
    """
    foreign = (
        f"{str(path)!r} is not an intact skdp file: it is truncated, altered, or was written "
        "by another program. Ask its owner for a new copy."
    )
    with open(path, "rb") as file:
        try:
            size = os.fstat(file.fileno()).st_size
            members = _stored_members(file, size)
            text = _read_array(file, *members.pop("header"))
            require(text.nbytes <= _HEADER_BYTES + size // _HEADER_FRACTION, "header")
            header = json.loads(text.tobytes())
            require(header.get("format") == _FORMAT, "format")
            version = int(header["version"])
            if version == _VERSION:  # of others, nothing else is known
                arrays = _arrays(file, members, mmap_mode)
                stored_kind = header["kind"]
                sound = header.pop("sha256") == checksum(header, arrays)
        except Exception as error:  # parsers may raise anything for an untrusted file
            raise ValueError(foreign) from error
    if version != _VERSION:
        raise OtherVersionError(repr(str(path)), version, _VERSION)
    if not sound:
        raise ValueError(foreign)
    if stored_kind != kind:
        raise ValueError(
            f"{str(path)!r} holds a {stored_kind}, not a {kind}. Load it with {stored_kind}.load."
        )
    return header, arrays


@contextmanager
def well_formed(path, kind):
    """Report errors in building a model as errors of its file."""
    # The checksum is not a signature: a file may be intact and still not contain a valid model.
    try:
        yield
    except Exception as error:  # see load_arrays
        raise ValueError(
            f"{str(path)!r} is an skdp file, but no working {kind} ({error!r}). Ask its owner "
            "for a new copy."
        ) from error


def require(condition, what):
    """Raise ValueError unless a condition on the content of a file holds."""
    if not condition:
        raise ValueError(f"{what} do not fit")


def stored_array(arrays, key, dtype, shape):
    """Return an array of finite numbers from a file; None is any length except zero."""
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
    """Return a list of finite numbers or text from a file as an array of about its size."""
    require(isinstance(labels, list) and len({type(label) for label in labels}) == 1, "labels")
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    require(longest * len(labels) <= _MOST_CHARACTERS, "lengths of labels")
    array = np.array(labels)
    require(array.ndim == 1 and array.dtype.kind in "biufU", "labels")
    require(array.dtype.kind != "f" or np.isfinite(array).all(), "labels")
    return array


def restore_feature_names(estimator, names):
    """Set the names of columns from a file, if there are any."""
    fit = isinstance(names, list) and len(names) in (0, estimator.n_features_in_)
    require(fit and all(isinstance(name, str) for name in names), "feature_names")
    if names:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _arrays(file, members, mmap_mode):
    """Return the arrays of some members by their names."""
    return {
        name: _read_array(file, start, end, mmap_mode) for name, (start, end) in members.items()
    }


def _check_number_of_members(file, size):
    """Refuse a directory with more members than the file can contain, before it is read."""
    file.seek(max(0, size - _DIRECTORY_END.size))
    signature, n_members, n_comment = _DIRECTORY_END.unpack(file.read(_DIRECTORY_END.size))
    if signature != b"PK\x05\x06" or n_comment or n_members > 1 + size // _SMALLEST_MEMBER:
        raise ValueError("the directory of the archive does not list arrays")


def _stored_members(file, size):
    """Return start and end of each member, which must be within the file and not overlap."""
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
            raise ValueError(f"member {info.filename!r} is not an array, or a duplicate")
        members[name] = start, start + info.file_size
        occupied.append((info.header_offset, start + info.file_size))
    occupied.sort()
    ends = [0, *(end for _, end in occupied)]
    if ends[-1] > size or any(at < end for (at, _), end in zip(occupied, ends, strict=False)):
        raise ValueError("members overlap, or are beyond the end of the file")
    return members


def _read_array(file, start, end, mmap_mode=None):
    """Return the array between two positions."""
    file.seek(start)
    version = np.lib.format.read_magic(file)
    shape, fortran_order, dtype = _HEADER_READERS[version](file)
    if dtype.kind not in "biufcU":
        raise ValueError(f"an array of {dtype} holds neither numbers nor text")
    count = math.prod(shape)
    order: Literal["C", "F"] = "F" if fortran_order else "C"
    offset = file.tell()
    if min(shape, default=0) < 0 or dtype.itemsize * count != end - offset:
        raise ValueError("an array does not fill its member")
    if mmap_mode is not None and count:
        return np.memmap(file, dtype, mmap_mode, offset, shape, order)
    # Not fromfile, which reads only files of a file system, and from its own position.
    flat = np.empty(count, dtype)
    if file.readinto(flat.view(np.uint8).data) != flat.nbytes:
        raise ValueError("the file ends early")
    array = flat.reshape(shape, order=order)
    array.flags.writeable = False
    return array
