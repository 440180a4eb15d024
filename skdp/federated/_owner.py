"""The answer of an owner in a federation: its release, or the type of an error."""

import os
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skdp.privacy import BudgetExceededError
from skdp.release import Release

# Types of errors that an answer may name, the most specific first. The list is fixed, so that a
# name cannot depend on rows; messages stay with the owner.
_TYPES = (
    *(BudgetExceededError, FileNotFoundError, PermissionError, OSError, ImportError),
    *(MemoryError, AttributeError, LookupError, TypeError, ValueError, ArithmeticError),
)


def owner_answer(
    make_release: Callable[[], Any],
    *,
    path: str | os.PathLike[str] | None = None,
    error_path: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Return the answer of an owner to the server of a federation: its release, or an error.

    Details of an error stay with the owner: the answer contains only its type, from a fixed list,
    and not its message, which may quote rows.

    Parameters
    ----------
    make_release : callable
        Function without arguments that reads the owner's rows and returns a
        :class:`~skdp.Release` or a fitted source.

    path : str, path-like or None, default=None
        File of the owner's release. If it exists, that release is sent again instead of making
        another one, which would spend ε and δ again: requests may be repeated, for instance after
        a broken connection. Remove the file, or use another path, for a new release. None: each
        request makes a release.

    error_path : str, path-like or None, default=None
        The owner's file for errors with their tracebacks, which may quote rows. None: they are
        not stored. They are never logged, because frameworks may send logs to the server.

    Returns
    -------
    answer : dict
        ``{"release": bytes}``, a file that :meth:`~skdp.Release.save` wrote, or
        ``{"error": str}``.

    See Also
    --------
    collect_answers : Merges answers at the server.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> from skdp.federated import owner_answer
    >>> rng = np.random.RandomState(0)
    >>> X, y = rng.rand(300, 2), rng.randint(2, size=300)
    >>> X[:, 0] = (X[:, 0] + y) / 2
    >>> answer = owner_answer(lambda: DPStatisticsSource(classes=[0, 1]).fit(X, y))
    >>> list(answer), len(answer["release"]) < 20_000
    (['release'], True)
    >>> owner_answer(lambda: DPStatisticsSource(classes=[0, 1]).fit(X, y[:7]))
    {'error': 'ValueError'}
    """
    try:
        if path is not None and os.path.exists(path):
            Release.load(path)  # raises if it is not a release
            return {"release": Path(path).read_bytes()}
        made = make_release()
        release = getattr(made, "release_", made)
        if not isinstance(release, Release):
            raise TypeError(f"make_release must return a release, got {type(release).__name__}")
        if path is not None:
            release.save(path, overwrite=False)
            return {"release": Path(path).read_bytes()}
        with TemporaryDirectory() as folder:
            file = Path(folder, "release.skdp")
            release.save(file)
            return {"release": file.read_bytes()}
    except Exception as error:
        if error_path is not None:
            _keep(error, error_path)
        return {"error": _type_name(error)}


def loaded_answer(loader, owner, **paths):
    """Return the answer of an owner whose own function loads the source and the rows.

    Parameters
    ----------
    loader : str
        ``"module:function"``, importable at the owner. The function takes the owner's name and
        returns a source, and what its ``fit`` takes: ``(source, X, y)``, or with ``groups``.

    owner : str

    **paths : str or None
        ``path`` and ``error_path`` of :func:`owner_answer`.
    """

    def make_release():
        module, _, function = loader.partition(":")
        source, *rows = getattr(import_module(module), function)(owner)
        return source.fit(*rows)

    return owner_answer(make_release, **paths)


def _type_name(error):
    """Return the name of the first known type of which the error is an instance."""
    return next((known.__name__ for known in _TYPES if isinstance(error, known)), "Exception")


def _keep(error, path):
    """Append the traceback to the owner's file; the answer is sent even if that fails."""
    lines = traceback.format_exception(error)
    try:
        with open(path, "a", encoding="utf-8", opener=_private) as file:
            file.writelines(lines)
    except OSError:
        pass


def _private(path, flags):
    """Open a file, readable by its owner only if it is new."""
    return os.open(path, flags, 0o600)
