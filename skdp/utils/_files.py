"""Atomic writing of files, locks between processes, and checksums of content."""

import errno
import hashlib
import json
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

# Permissions of a new file, before the umask: the usual ones, and those of files that only their
# owner can read. And those of an empty file that locks, of people who share a ledger.
_USUAL, PRIVATE, _OF_GROUP = 0o666, 0o600, 0o660
# Longest name of a file that every system accepts, whatever the characters are.
_SHORT_NAME = 60
# Bytes of an array that are hashed together; arrays in another order are copied block by block.
_HASHED_AT_ONCE = 2**20


@contextmanager
def write_whole(path, *, overwrite=True, mode=_USUAL):
    """Open a binary file that replaces its target, or the target of a link, once it is on disk.

    Without ``overwrite`` no file is replaced, not even one that was created meanwhile. An open
    binary file is only written to.
    """
    if hasattr(path, "write"):
        yield path
        return
    # A new file has the permissions ``mode``, before the umask; a replaced one keeps its own.
    # After a failure the old file is unchanged, and there is no temporary file. A process that has
    # the old file open or mapped into memory continues to read the old content.
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {str(target.parent)!r} does not exist. Create it.")
    if not overwrite and os.path.lexists(path):
        raise _exists(path)
    old: Any = None
    with suppress(FileNotFoundError):
        old = os.stat(target)  # of a name that is too long an error
    if old is not None:
        if not stat.S_ISREG(old.st_mode):
            raise OSError(errno.EINVAL, "This is not a regular file", str(target))
        mode = PRIVATE
    # A random name, so that nobody can place a link to another file there; of a long name not a
    # longer one, which a system may refuse.
    name = f".{secrets.token_hex(8)}.{target.name}"[: max(_SHORT_NAME, len(target.name))]
    draft = target.with_name(name)
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
    """Return the permissions of the old file, without its group's if the group changes."""
    mode = stat.S_IMODE(old.st_mode)
    if draft.stat().st_gid != old.st_gid:
        try:
            os.chown(draft, -1, old.st_gid)
        except OSError:
            mode &= ~stat.S_IRWXG
    return mode


def _claim(draft, target):
    """Rename a draft to its target unless this exists by now."""
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


@contextmanager
def locked(path, patience):
    """Hold a lock among all processes and threads that ask for it by the same path.

    TimeoutError if it is held for longer than ``patience`` seconds. The empty file stays; its
    existence locks nothing.
    """
    os.stat(os.path.join(os.path.dirname(path), ""))  # which filelock would create
    try:
        held = FileLock(path, patience, mode=_OF_GROUP).acquire()
    except Timeout:
        message = f"Another process holds {str(path)!r} for {patience:g} s. Try again later."
        raise TimeoutError(message) from None
    with held:
        yield


class OtherVersionError(ValueError):
    """Error of a file of a format that this version of skdp does not know."""

    def __init__(self, what, version, known):
        super().__init__(
            f"{what} was made by another version of skdp: it has format version {version!r:.20}, "
            f"this skdp reads {known}. Update skdp, or use the version that made it."
        )


def to_json(content):
    """Return content as canonical JSON: the same bytes for any order of its keys."""
    # NumPy's numbers are converted for JSON.
    return json.dumps(content, sort_keys=True, default=lambda number: number.item()).encode()


def checksum(content, arrays=None):
    """Return the SHA-256 of content and arrays; it detects accidents only, unlike a signature."""
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
