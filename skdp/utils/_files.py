"""Files that are written whole or not at all, and the checksum of what they hold."""

import errno
import hashlib
import json
import os
import secrets
import stat
from contextlib import contextmanager
from pathlib import Path

import numpy as np

# Permissions of a new file, less those that the umask takes away: the usual ones, and those of
# files that only their owner may read.
_USUAL, PRIVATE = 0o666, 0o600
# Bytes of an array that are hashed at once; an array in another order is copied block by block.
_HASHED_AT_ONCE = 2**20


@contextmanager
def write_whole(path, *, overwrite=True, mode=_USUAL):
    """Open a file for writing that takes its place once it is complete and on disk.

    A failure leaves the old file as it was, and no temporary file. A process that has the old
    file open or mapped into memory goes on reading the old content.

    Parameters
    ----------
    path : str or path-like
        Where to write. A symbolic link stays one, and the file that it names is written.

    overwrite : bool, default=True
        Whether a file or link that is there may be replaced. Otherwise none is, not even one
        that appeared while this one was being written.

    mode : int, default=0o666
        Permissions of a new file, less those that the umask takes away. A replaced file keeps
        its own.

    Yields
    ------
    file : file object
        Binary, with a name of its own in the same folder.

    Raises
    ------
    FileExistsError
        When there is something and ``overwrite`` is False.

    OSError
        When nothing can be written there, with nothing changed, or when the complete file may
        not be on disk yet.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(target.parent)!r} to write to.")
    if not overwrite and os.path.lexists(path):
        raise _exists(path)
    old = target.stat() if target.exists() else None
    if old is not None:
        if not stat.S_ISREG(old.st_mode):
            raise OSError(errno.EINVAL, "This is not a regular file", str(target))
        mode = PRIVATE
    # Nobody can guess its name and put a link to another file there.
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            if old is not None:
                os.chmod(draft, _inherited(draft, old))
            os.fsync(file.fileno())
        if overwrite:
            os.replace(draft, target)
        else:
            _claim(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _inherited(draft, old):
    """Return the permissions of the old file; without those of its group if that is not kept."""
    mode = stat.S_IMODE(old.st_mode)
    if draft.stat().st_gid != old.st_gid:
        try:
            os.chown(draft, -1, old.st_gid)
        except OSError:
            mode &= ~stat.S_IRWXG
    return mode


def _claim(draft, target):
    """Give a draft its name, unless something has that name by now."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise _exists(target) from None
    except OSError:  # no hard links on this file system: an empty file holds the name instead
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            raise _exists(target) from None
        os.replace(draft, target)


def _exists(target):
    return FileExistsError(errno.EEXIST, "There is such a file already", str(target))


def _sync_folder(folder):
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems sync no folders
            raise
    finally:
        os.close(descriptor)


def to_json(content):
    """Return content as canonical JSON: the same bytes whatever the order of its keys."""
    # NumPy's numbers are numbers too, but JSON does not know them.
    return json.dumps(content, sort_keys=True, default=lambda number: number.item()).encode()


def checksum(content, arrays=None):
    """Return the SHA-256 of content and arrays, hexadecimal.

    It detects accidents only: it is no signature, and can be rewritten with the file.

    Parameters
    ----------
    content : dict
        JSON-serialisable.

    arrays : dict of str to ndarray or None, default=None
        Hashed with their names, dtypes and shapes.

    Returns
    -------
    digest : str
    """
    digest = hashlib.sha256(to_json(content))
    for name, array in sorted((arrays or {}).items()):
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        for block in _blocks(array):
            digest.update(np.ascontiguousarray(block).view(np.uint8).data)
    return digest.hexdigest()


def _blocks(array):
    """Yield an array in pieces along its first axis, in the order of C."""
    if array.ndim < 2 or array.flags.c_contiguous:
        yield array.reshape(-1)
        return
    n_rows = max(1, _HASHED_AT_ONCE * len(array) // max(array.nbytes, 1))
    for start in range(0, len(array), n_rows):
        yield array[start : start + n_rows]
