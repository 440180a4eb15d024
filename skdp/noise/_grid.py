"""Clipping to public bounds, and noise on a grid."""

from dataclasses import dataclass

import numpy as np

# Number of elements of a block. The workspace is small for any size of data, and each of its
# arrays is below the 128 KiB from which malloc requests new pages each time (argued;
# benchmarks/bench_privacy.py measures speed and memory).
_BLOCK = 15_000


def grid_step(sensitivity, magnitude):
    """Return a power of two that is small compared with the sensitivity and the noise."""
    # It is 2^-25 to 2^-24 of the smaller one, but at least 2^-35 of the noise, so that enough of
    # 64 random bits remain for the rejection.
    finest = max(min(sensitivity, magnitude) * 2.0**-24, magnitude * 2.0**-34)
    return float(2.0 ** np.floor(np.log2(finest)))


def add_noise(X, noise, step, bits, bounds=None):
    """Return a copy of X in its dtype with noise in units of a step, a power of two.

    With bounds, X is clipped and scaled to [0, 1] first.
    """
    # Rounding to the grid is exact and increases the distance of two values by less than one
    # step. Rounding the sum with the noise to the dtype of X and rescaling it to the bounds are
    # post-processing.
    noisy = np.empty_like(X, order="C")
    rows = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], rows):
        block = X[start : start + rows].astype(np.float64)
        if bounds is not None:
            block = bounds.to_unit(block)
        with np.errstate(over="ignore"):
            block /= step
        np.rint(block, out=block)
        block += noise.sample(block.size, bits).reshape(block.shape)
        block *= step
        beyond = np.isinf(block)
        if beyond.any():
            # Too large for the grid: floating-point numbers of this size within the sensitivity of
            # each other are equal.
            block[beyond] = X[start : start + rows][beyond]
        noisy[start : start + rows] = block if bounds is None else bounds.from_unit(block)
    return noisy


@dataclass(frozen=True)
class Bounds:
    """Finite bounds of each feature, low below high."""

    low: np.ndarray
    high: np.ndarray

    @property
    def width(self):
        """High minus low."""
        return self.high - self.low

    def to_unit(self, X):
        """Return X, clipped and scaled to [0, 1]."""
        return (np.clip(X, self.low, self.high) - self.low) / self.width

    def from_unit(self, Z):
        """Return values in the units of the data, given values in units of the width."""
        return self.low + self.width * Z


def check_bounds(estimator, bounds, X):
    """Return bounds from a pair of numbers or arrays, or of X for "data"."""
    if isinstance(bounds, str):
        low, high = (end.astype(np.float64) for end in (X.min(axis=0), X.max(axis=0)))
        high = np.where(high > low, high, low + np.maximum(1, np.abs(low)))
    else:
        try:
            low, high = (np.broadcast_to(b, X.shape[1]).astype(np.float64) for b in bounds)
        except (TypeError, ValueError) as error:
            raise _wrong(estimator, bounds, X) from error
    if not (np.isfinite(high - low).all() and (low < high).all()):
        raise _wrong(estimator, bounds, X)
    return Bounds(low, high)


def _wrong(estimator, bounds, X):
    return ValueError(
        f"The 'bounds' parameter of {type(estimator).__name__} must be a pair (low, high) of "
        f"finite numbers, or {X.shape[1]} numbers each, low below high, got "
        f"{bounds!r}. Use publicly known bounds of the features, such as (0, 255)."
    )
