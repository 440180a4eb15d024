"""Warnings with the location of the user's code."""

import inspect
import os
import warnings
from pathlib import Path
from types import FrameType

import sklearn

# Frames of these packages are skipped.
_OWN_CODE = tuple(
    f"{folder}{os.sep}" for folder in (Path(__file__).parents[1], Path(sklearn.__file__).parent)
)


def warn(message, category=UserWarning):
    """Warn at the innermost line of code outside skdp and scikit-learn."""
    level = 1
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_CODE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
