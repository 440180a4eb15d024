"""Warnings located at the user's code, and deferred warnings."""

import inspect
import os
import threading
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import sklearn

# Frames of these packages are skipped.
_OWN_CODE = tuple(
    f"{folder}{os.sep}" for folder in (Path(__file__).parents[1], Path(sklearn.__file__).parent)
)
# Lists of recorded warnings by thread, and the replaced function while there are any.
_recorders: dict[int, list] = {}
_replaced: list = []
_lock = threading.RLock()
# Warnings already shown, so that filters show each of them once.
_registry: dict = {}


def warn(message, category=UserWarning):
    """Warn at the innermost line of code outside skdp and scikit-learn."""
    level = 1
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_CODE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def recorded_warnings():
    """Record the warnings of this thread, which are neither shown nor raised; yields a list.

    Unlike :class:`warnings.catch_warnings`, it can be used by several threads at a time.
    """
    thread = threading.get_ident()
    with _lock:
        outer = _recorders.get(thread)
        if not _recorders:
            _replaced.append(warnings.catch_warnings())
            _replaced[0].__enter__()
            _replaced.append(warnings.showwarning)
            warnings.simplefilter("always")
            warnings.showwarning = _record
        told = _recorders[thread] = []
    try:
        yield told
    finally:
        with _lock:
            if outer is None:
                del _recorders[thread]
            else:
                _recorders[thread] = outer
            if not _recorders:
                _replaced[0].__exit__(None, None, None)
                _replaced.clear()


def _record(message, category, filename, lineno, file=None, line=None):
    told = _recorders.get(threading.get_ident())
    if told is None:  # of a thread that records nothing
        _replaced[1](message, category, filename, lineno, file, line)
    else:
        told.append(warnings.WarningMessage(message, category, filename, lineno, file, line))


def show_warnings(told):
    """Show recorded warnings; one that a filter would raise is shown too, and not raised."""
    for warning in told:
        place = warning.category, warning.filename, warning.lineno
        try:
            warnings.warn_explicit(warning.message, *place, registry=_registry)
        except Exception:
            with suppress(Exception):  # whoever replaced it may raise
                warnings.showwarning(warning.message, *place)
