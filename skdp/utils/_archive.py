"""Arrays in an uncompressed zip archive, read without trusting a byte of it.

Nothing is allocated that the file does not hold: members are stored, never compressed, lie
apart from each other within the file, and each has just the bytes that its header says.
"""

import os
import struct
import zipfile
from typing import Literal

import numpy as np

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


def write_archive(file, arrays):
    """Write arrays, uncompressed.

    Parameters
    ----------
    file : file object
        Binary, open for writing.

    arrays : dict of str to ndarray
        Of any dtype but object.
    """
    np.savez(file, **arrays)


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
    n_bytes, count = dtype.itemsize, 1
    order: Literal["C", "F"] = "F" if fortran_order else "C"
    for length in shape:
        count *= int(length)
    offset = file.tell()
    if min(shape, default=0) < 0 or n_bytes * count != end - offset:
        raise ValueError("an array does not fill its member")
    if mmap_mode is not None and count:
        return np.memmap(file, dtype, mmap_mode, offset, shape, order)
    # Not fromfile, which reads files in a file system alone and at a position of its own.
    flat = np.empty(count, dtype)
    if file.readinto(flat.view(np.uint8).data) != n_bytes * count:
        raise ValueError("the file ends early")
    array = flat.reshape(shape, order=order)
    array.flags.writeable = False
    return array
