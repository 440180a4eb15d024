"""Public bounds of the features: clip to them, and measure in units of their width."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bounds:
    """Bounds of each feature.

    Parameters
    ----------
    low, high : ndarray of shape (n_features,)
        Finite, low below high.

    Examples
    --------
    >>> import numpy as np
    >>> bounds = Bounds(np.array([0.0, -1.0]), np.array([2.0, 1.0]))
    >>> bounds.to_unit(np.array([[1.0, 5.0]])).tolist()
    [[0.5, 1.0]]
    """

    low: np.ndarray
    high: np.ndarray

    @property
    def width(self):
        """High less low."""
        return self.high - self.low

    def to_unit(self, X):
        """Return X, clipped and scaled to [0, 1]."""
        return (np.clip(X, self.low, self.high) - self.low) / self.width

    def from_unit(self, Z):
        """Return values of [0, 1], and of beyond, in the units of the data."""
        return self.low + self.width * Z


def check_bounds(estimator, bounds, X):
    """Return the bounds that a parameter stands for.

    Parameters
    ----------
    estimator : estimator
        Named in errors.

    bounds : "data" or pair of array-like
        Low and high, each a number or one for each feature; or those of X itself.

    X : ndarray of shape (n_samples, n_features)
        Data.

    Returns
    -------
    bounds : Bounds

    Raises
    ------
    ValueError
        When they are not two, do not fit the features, or are not finite and in order.
    """
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
        f"finite numbers, or of one for each of the {X.shape[1]} features, low below high, got "
        f"{bounds!r}. Use what is publicly known about the features, such as (0, 255)."
    )
