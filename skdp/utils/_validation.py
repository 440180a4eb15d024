"""Checks of values that several subpackages make."""

import numpy as np

# Smallest and largest magnitude of data. Kernel weights are inverse squares of ranges, and
# squares of squared errors are summed: with these bounds, rules of thumb, all of them stay
# within double precision, and squares within single precision.
SMALLEST = 1e-12
LARGEST = 1e12


def check_magnitude(values, name):
    """Raise ValueError unless the largest magnitude is such that its powers can be told apart.

    Squares, products and inverse squares of the values must stay within floating point.
    """
    largest = np.abs(values).max()
    if largest and not SMALLEST < largest < LARGEST:
        raise ValueError(
            f"Input {name} must have its largest magnitude between {SMALLEST:g} and "
            f"{LARGEST:g}, got {largest:g}. Scale it to about unit range."
        )


def forget_fit(estimator):
    """Delete what an earlier fit left: all attributes that end in an underscore."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def stored_array(arrays, key, dtype, shape):
    """Return an array that was read from a file, checked.

    Parameters
    ----------
    arrays : dict of str to ndarray
        What was read.

    key : str
        Name of the array.

    dtype : dtype
        What it must be of.

    shape : tuple of int or None
        What it must have; None stands for any length but zero.

    Returns
    -------
    array : ndarray
        Finite.

    Raises
    ------
    ValueError
        When there is no such array.
    """
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
