"""Checks of values that several subpackages make."""

import numpy as np

_SMALLEST, _LARGEST = 1e-12, 1e12


def check_magnitude(values, name):
    """Raise ValueError unless the largest magnitude is such that its powers can be told apart.

    Squares, products and inverse squares of the values must stay within floating point.
    """
    largest = np.abs(values).max()
    if largest and not _SMALLEST < largest < _LARGEST:
        raise ValueError(
            f"Input {name} must have its largest magnitude between {_SMALLEST:g} and "
            f"{_LARGEST:g}, got {largest:g}. Scale it to about unit range."
        )
