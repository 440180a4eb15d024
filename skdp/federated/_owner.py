"""The answer of an owner in a federation: its release, or none."""

import os
import traceback
from collections.abc import Callable
from io import BytesIO
from math import isinf
from pathlib import Path
from typing import Any

from skdp.release import Release
from skdp.utils._files import locked, write_whole


def owner_answer(
    make_release: Callable[[], Any],
    *,
    path: str | os.PathLike[str],
    error_path: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Return the answer of an owner to the server of a federation: its release or a failure.

    Every failure gives the same answer, because even the type of an error may reveal something
    about a row. Only ``KeyboardInterrupt`` is raised, without its text.

    Parameters
    ----------
    make_release : callable
        Function without arguments that reads the owner's rows and returns a
        :class:`~skdp.Release` or a fitted source.

    path : str or path-like
        File of the owner's release. An existing release is sent again instead of making another,
        which would spend ε and δ again: servers repeat requests, for instance after a broken
        connection, and the mean of many releases has little noise. Of simultaneous requests, one
        makes it and the others wait. Use another path for a new release. If the file cannot be
        created, ``make_release`` is not called; a release that cannot be written, as on a full
        disk, is sent nevertheless.

    error_path : str, path-like or None, default=None
        The owner's file for tracebacks, which may quote rows. None: errors are not stored. They
        are never logged, because frameworks may send logs to the server.

    Returns
    -------
    answer : dict
        ``{"release": bytes}``, a file that :meth:`~skdp.Release.save` wrote, or
        ``{"error": "no release"}``.

    See Also
    --------
    collect_answers : Merges answers at the server.

    Notes
    -----
    Releases with an infinite ε and releases of sources with a ``random_state`` are not sent:
    whoever guesses a seed can subtract the noise. A :class:`~skdp.Release` does not show whether
    its noise had a seed, so let ``make_release`` return the source.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> from skdp.federated import owner_answer
    >>> rng = np.random.RandomState(0)
    >>> X, y = rng.rand(300, 2), rng.randint(2, size=300)
    >>> X[:, 0] = (X[:, 0] + y) / 2
    >>> def make_release():
    ...     return DPStatisticsSource(classes=[0, 1]).fit(X, y)
    >>> answer = owner_answer(make_release, path="own.skdp")
    >>> list(answer), len(answer["release"]) < 20_000
    (['release'], True)
    >>> owner_answer(make_release, path="own.skdp") == answer  # not a second one
    True
    >>> owner_answer(lambda: DPStatisticsSource(classes=[0, 1]).fit(X, y[:7]), path="other.skdp")
    {'error': 'no release'}
    """

    def release_file():
        if not path:
            raise ValueError("The 'path' parameter of owner_answer is empty. Configure a file.")
        unsaved = None if os.path.lexists(path) else _make_once(make_release, path, error_path)
        if unsaved is not None:
            return unsaved
        _check_release(Release.load(path))
        return Path(path).read_bytes()

    try:
        return {"release": release_file()}
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None
    except BaseException as error:  # even SystemExit may quote a row
        _keep(error, error_path)
        return {"error": "no release"}


def _make_once(make_release, path, error_path):
    """Write the release, or return the one that somebody wrote meanwhile; survive failures."""
    lock = Path(f"{os.path.realpath(path)}.lock")
    # A request waits for the one that makes the release as long as servers wait for an answer.
    with locked(lock, 600.0):
        if os.path.lexists(path):
            return None
        content = BytesIO()
        try:
            with write_whole(path, overwrite=False) as file:  # opened before a ledger is charged
                made = make_release()
                _check_source(made)
                release = getattr(made, "release_", made)
                _check_release(release)
                release.save(content)
                file.write(content.getvalue())
        except OSError as error:
            if not content.tell():
                raise
            _keep(error, error_path)
            return content.getvalue()
        return None


def _check_source(source):
    """Raise ValueError if the noise of a source has a seed, or there is none."""
    for name, value in getattr(source, "get_params", dict)().items():
        if name.endswith("random_state") and value is not None:
            raise ValueError(f"The {name!r} of the source is a seed. Make releases without one.")
        if name.endswith("epsilon") and isinstance(value, float) and isinf(value):
            raise ValueError(f"The {name!r} of the source is infinite. Use a number.")


def _check_release(release):
    """Raise unless it is a release with noise."""
    if not isinstance(release, Release):
        raise TypeError(f"make_release must return a release, got {type(release).__name__}.")
    for guarantee in (release.guarantee, release.label_guarantee):
        if guarantee is not None and isinf(guarantee.epsilon):
            raise ValueError("The release has no noise. Make it with a finite epsilon.")


def _keep(error, path):
    """Append the traceback to the owner's file, if any; ignore failures."""
    if path is None:
        return
    try:
        with open(path, "a", encoding="utf-8", errors="replace", opener=_private) as file:
            file.writelines(traceback.format_exception(error))
    except Exception:  # such as a path that is none
        pass


def _private(path, flags):
    """Open a file; a new one is readable by its owner only."""
    return os.open(path, flags, 0o600)
