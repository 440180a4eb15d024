"""The file of a ledger: read whole or not at all, written before anything is granted."""

import json
import os
import time
from contextlib import contextmanager
from dataclasses import asdict
from numbers import Real
from pathlib import Path

from skdp.privacy._guarantee import PrivacyGuarantee
from skdp.utils._files import PRIVATE, checksum, write_whole

_FORMAT = "skdp ledger"
_VERSION = 1
LIMITS = ("epsilon", "delta")
# Seconds to wait for another process (rule of thumb).
_PATIENCE = 10.0
# Seconds between two looks at the lock (rule of thumb).
_PAUSE = 0.01


class LedgerFile:
    """Limits and entries of a ledger, on disk.

    Parameters
    ----------
    path : str or path-like
        Resolved once: a later change of the working directory or of a symbolic link in the path
        does not move the account.

    Raises
    ------
    ValueError
        When it is no path.
    """

    def __init__(self, path):
        try:
            self.path = Path(os.path.realpath(os.fsdecode(path)))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The 'path' parameter of PrivacyLedger must be a path, got {path!r} ({error}). "
                "Name a file."
            ) from error

    @contextmanager
    def lock(self):
        """Hold the account alone, among all processes and threads.

        Raises
        ------
        TimeoutError
            When somebody else holds it for too long.

        OSError
            When it cannot be held where the file is.
        """
        lock = self.path.with_name(self.path.name + ".lock")
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with self._named():
                    os.close(os.open(lock, os.O_CREAT | os.O_EXCL, PRIVATE))
                break
            except FileExistsError:
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"Another process holds {str(lock)!r}. If none does any more, delete it."
                    ) from None
                time.sleep(_PAUSE)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)

    @contextmanager
    def _named(self):
        """Report that the system refuses something as a fault of the path."""
        try:
            yield
        except FileExistsError:  # somebody else holds the lock
            raise
        except OSError as error:
            raise type(error)(
                f"The 'path' parameter of PrivacyLedger, {str(self.path)!r}, cannot be used: "
                f"{error.strerror or error}. Name a file, in a folder that exists, and that you "
                "may read and write."
            ) from error

    def read(self):
        """Return limits and entries.

        Returns
        -------
        limits : dict of str to (float or None)

        entries : list of (str, PrivacyGuarantee)

        Raises
        ------
        FileNotFoundError
            When there is no such file.

        ValueError
            When it is empty, truncated, damaged, or has a second name.
        """
        with self._named(), open(self.path, "rb") as file:
            shared = os.fstat(file.fileno()).st_nlink > 1
            text = file.read()
        if shared:
            raise ValueError(
                f"The ledger file {str(self.path)!r} has another name (a hard link), which would "
                "keep the old account when a new one is written. Delete one of the two."
            )
        try:
            return _parse(text)
        except (
            *(ArithmeticError, AttributeError, LookupError),
            *(RecursionError, TypeError, ValueError),
        ) as error:
            state = "damaged" if text.strip() else "empty"
            raise ValueError(
                f"The ledger file {str(self.path)!r} is {state} ({error}). What it held remains "
                "spent: restore it from a backup. For data of which nothing was released yet, "
                "name a file that does not exist."
            ) from error

    def write(self, limits, entries):
        """Replace the file; when this returns, the new account is on disk.

        A new file is for its owner alone; one that is replaced keeps its permissions.

        Parameters
        ----------
        limits : dict of str to (float or None)

        entries : list of (str, PrivacyGuarantee)
        """
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "limits": limits,
            "entries": [(name, asdict(guarantee)) for name, guarantee in entries],
        }
        content["sha256"] = checksum(content)
        with self._named(), write_whole(self.path, mode=PRIVATE) as file:
            file.write(json.dumps(content, indent=1).encode())


def check_limit(name, limit):
    """Return a limit as a float or None.

    Raises
    ------
    ValueError
        When it is neither None nor a number ≥ 0.
    """
    if limit is None:
        return None
    try:
        number = float(limit) if isinstance(limit, Real) and not isinstance(limit, bool) else -1.0
    except OverflowError:
        number = -1.0
    if not number >= 0:
        raise ValueError(
            f"The {name!r} parameter of PrivacyLedger must be a number >= 0 or None, got "
            f"{limit!r}."
        )
    return number


def _parse(text):
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it is no ledger of skdp")
    stated = content.pop("sha256")
    if content["format"] != _FORMAT or content["version"] != _VERSION:
        raise ValueError(f"not version {_VERSION} of a ledger of skdp")
    if stated != checksum(content):
        raise ValueError("its checksum does not match")
    limits = {name: content["limits"][name] for name in LIMITS}
    for name, limit in limits.items():
        check_limit(name, limit)
    entries = [(str(name), PrivacyGuarantee(**fields)) for name, fields in content["entries"]]
    return limits, entries
