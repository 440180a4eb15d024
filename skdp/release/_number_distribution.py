"""The distribution of a number about its prediction, from which all that is predicted follows.

Means, medians, quantiles and intervals in the unit of the outcome are those of one distribution:
that of the residuals of the rescaled number, by the size of the prediction. Where a noisy table of
scores measured it, residuals may be skewed, vary with the prediction, and lie at a bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import ndtr

from skdp.release._parts import Part, array, require
from skdp.utils._linalg import TINY

# Levels of the quantiles of residuals, equally far apart on a normal scale, and their shares: the
# mean of an exponential depends on quantiles far out.
_EDGES = np.linspace(-4, 4, 101)
LEVELS = ndtr((_EDGES[:-1] + _EDGES[1:]) / 2)
_SHARES = np.diff(ndtr(_EDGES)) / np.diff(ndtr(_EDGES)).sum()
# Nodes of a standard normal distribution of predictions.
_NODES, _OF_NODES = np.polynomial.hermite_e.hermegauss(9)
# Largest share of zeros, so that other numbers have a distribution.
_MOST_ZEROS = 0.999
# Least share of rows, in equal shares, with which predictions have a distribution of their own:
# where there are hardly any rows, it is that of a model.
_LEAST_SHARE = 0.1
# Number of predictions of a mean of distributions.
_N_PREDICTIONS = 20


def weighted_quantiles(values, weights):
    """Return the quantiles at ``LEVELS`` of values with weights."""
    order = np.argsort(values)
    weights = weights[order] / weights.sum()
    return np.interp(LEVELS, np.cumsum(weights) - weights / 2, values[order])


@dataclass(frozen=True)
class NumberDistribution(Part):
    """Quantiles of a rescaled number minus its prediction, by prediction.

    If zero is a class, these are quantiles of the other numbers.

    Attributes
    ----------
    predictions : ndarray of shape (n_predictions,)
        Rescaled predictions in ascending order.

    shares : ndarray of shape (n_predictions,)
        Shares of the rows of the source with about these predictions.

    residuals : ndarray of shape (n_predictions, 100)
        Quantiles of the residuals; between predictions they are interpolated.

    zeros : ndarray of shape (n_predictions,)
        Shares of rows with about these predictions that have the class zero.
    """

    predictions: np.ndarray = array("g", "f", below=1e3)
    shares: np.ndarray = array("g", "f", least=0, below=2.0)
    residuals: np.ndarray = array("g 100", "f", below=1e3)
    zeros: np.ndarray = array("g", "f", least=0, below=1.0)

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless predictions and quantiles ascend, and rows have shares."""
        ascend = (np.diff(self.predictions) > 0).all() and (np.diff(self.residuals) >= 0).all()
        require(ascend, f"{name}.residuals", "must ascend, and their predictions")
        require(self.shares.sum() > 0, f"{name}.shares", "must not all be 0")

    @classmethod
    def normal(cls, mean: float, spread: float, deviation: float) -> Self:
        """Return normal residuals about predictions that are normal too."""
        residuals = deviation * (_EDGES[:-1] + _EDGES[1:]) / 2
        predictions = mean + max(spread, TINY**0.5) * _NODES
        shares = _OF_NODES / _OF_NODES.sum()
        return cls(predictions, shares, np.tile(residuals, (9, 1)), np.zeros(9))

    @classmethod
    def measured(
        cls, predictions: np.ndarray, numbers: np.ndarray, rows: np.ndarray, zeros: np.ndarray
    ) -> Self:
        """Return the distribution of numbers in cells of known predictions.

        Parameters
        ----------
        predictions : ndarray of shape (n_groups, n_parts)
            Of groups of rows, in ascending order; of equal ones there is one group.

        numbers, rows : ndarray of shape (n_groups, n_parts, n_cells)
            The number of each cell, and how many rows it has.

        zeros : ndarray of shape (n_groups,)
            How many more rows each group has of the class zero.
        """
        if predictions[0, 0] == predictions[-1, -1]:
            predictions, numbers, rows = (
                a.reshape(1, -1, *a.shape[2:]) for a in (predictions, numbers, rows)
            )
            zeros = zeros.sum(keepdims=True)
        shares = rows.sum(axis=(1, 2)) + zeros
        some = shares >= _LEAST_SHARE * shares.mean()
        predictions, numbers, rows, zeros, shares = (
            a[some] for a in (predictions, numbers, rows, zeros, shares)
        )
        residuals = (numbers - predictions[..., np.newaxis]).reshape(len(shares), -1)
        pairs = zip(residuals, rows.reshape(residuals.shape), strict=True)
        quantiles = np.array([weighted_quantiles(*pair) for pair in pairs])
        of_zero = np.minimum(zeros / shares, _MOST_ZEROS)
        return cls(predictions.mean(axis=1), shares / shares.sum(), quantiles, of_zero)

    @classmethod
    def mean(cls, parts: Sequence[Self], weights: np.ndarray) -> Self:
        """Return the mean of the quantiles of several distributions, by weight."""
        if len(parts) == 1:
            return parts[0]
        ends = np.array([part.predictions[[0, -1]] for part in parts])
        at = np.linspace(ends.min(), ends.max(), _N_PREDICTIONS)
        middles = (at[1:] + at[:-1]) / 2
        shares, zeros, residuals = *np.zeros((2, len(at))), np.zeros((len(at), len(LEVELS)))
        for part, weight in zip(parts, weights, strict=True):
            bins = np.searchsorted(middles, part.predictions)
            shares += weight * np.bincount(bins, part.shares, len(at))
            zeros += weight * part._at(at, part.zeros)
            residuals += weight * part._all(at).T
        return cls(at, shares, residuals, np.clip(zeros, 0, _MOST_ZEROS))

    def updated(self, residuals: np.ndarray, weight: float) -> Self:
        """Return the mean with the distribution of known residuals; this one counts ``weight``.

        It is the posterior mean of a Dirichlet process (Ferguson, 1973), and smears known
        residuals (Duan, 1983) if they are many.
        """
        if not len(residuals):
            return self
        weights = np.concatenate([weight * _SHARES, np.ones(len(residuals))])
        mixed = [
            weighted_quantiles(np.concatenate([own, residuals]), weights) for own in self.residuals
        ]
        return replace(self, residuals=np.array(mixed))

    def _at(self, places, values):
        return np.interp(places, self.predictions, values)

    def _all(self, places):
        """Return all quantiles of the residuals of predictions, (100, n_samples)."""
        return np.array([self._at(places, of_level) for of_level in self.residuals.T])

    @property
    def symmetric(self) -> bool:
        """Whether positive and negative residuals are equally large, as normal ones."""
        return np.allclose(self.residuals, -self.residuals[:, ::-1])

    @property
    def deviation(self) -> float:
        """Standard deviation for which normal 80% intervals hold 80% of the numbers.

        If zero is a class, the root mean square: the distribution has two modes.
        """
        total = self.shares.sum()
        if self.zeros.any():
            squares = (1 - self.zeros) * (self.residuals**2 @ _SHARES)
            squares += self.zeros * self.predictions**2
            return float(np.sqrt(self.shares @ squares / total))
        away = np.abs(self.residuals).ravel()
        order = np.argsort(away)
        held = np.cumsum(np.outer(self.shares, _SHARES).ravel()[order])
        return float(np.interp(0.8 * total, held, away[order]) / 1.2815515655446004)

    @property
    def spread(self) -> float:
        """Standard deviation of the rescaled numbers, of predictions and residuals together."""
        center = self.shares @ self.predictions / self.shares.sum()
        apart = self.shares @ (self.predictions - center) ** 2 / self.shares.sum()
        return max(float(np.hypot(self.deviation, np.sqrt(apart))), TINY)

    def centers(self, places: np.ndarray) -> np.ndarray:
        """Return the mean of the numbers other than zero about each prediction."""
        return places + self._at(places, self.residuals @ _SHARES)

    def quantile(self, places: np.ndarray, wider: Any, level: Any) -> np.ndarray:
        """Return a quantile of the rescaled number of each prediction.

        ``wider`` is a factor of the distance from the mean of numbers other than zero; ``level``
        may be one of each prediction.
        """
        zeros, levels = self._at(places, self.zeros), np.broadcast_to(level, places.shape)
        k = np.interp((levels - zeros) / (1 - zeros), LEVELS, np.arange(len(LEVELS)))
        below = np.minimum(k.astype(int), len(LEVELS) - 2)
        residuals, rows = self._all(places), np.arange(len(places))
        low, high = residuals[below, rows], residuals[below + 1, rows]
        centers = self.centers(places)
        found = centers + wider * (places + low + (k - below) * (high - low) - centers)
        return np.where(levels <= zeros, 0.0, found)

    def sample(self, places: np.ndarray, random_state: Any) -> np.ndarray:
        """Return random rescaled numbers of predictions."""
        return self.quantile(places, 1.0, random_state.random_sample(len(places)))

    def summary(self, decode: Callable, r2: float, of_r2: Sequence[float]) -> tuple:
        """Return the mean of a function of the number, and its R².

        These R² belong to those in ``of_r2`` of the rescaled number; ``r2`` is its R² here.
        """
        total = self.shares.sum()
        center = self.shares @ self.predictions / total
        mean, explained = 0.0, []
        for value in (*of_r2, r2):
            apart = np.sqrt(value / max(r2, TINY)) * (self.predictions - center)
            left = np.sqrt((1 - value) / max(1 - r2, TINY)) * self.residuals
            values = decode((center + apart[:, np.newaxis] + left).ravel()).reshape(left.shape)
            [of_zero], zeros = decode(np.zeros(1)), self.zeros
            means = (1 - zeros) * (values @ _SHARES) + zeros * of_zero
            squares = (1 - zeros) * (values**2 @ _SHARES) + zeros * of_zero**2
            mean = self.shares @ means / total
            between = self.shares @ (means - mean) ** 2
            within = self.shares @ np.maximum(squares - means**2, 0.0)
            explained.append(float(between / max(between + within, TINY)))
        return float(mean), explained[:-1]

    def moments(self, places: np.ndarray, wider: Any, decode: Callable) -> tuple[Any, Any]:
        """Return mean and standard deviation of a function of the rescaled number."""
        mean, square = np.zeros((2, len(places)))
        centers, zeros = self.centers(places), self._at(places, self.zeros)
        for of_level, share in zip(self.residuals.T, _SHARES, strict=True):
            away = places + self._at(places, of_level) - centers
            values = decode(centers + wider * away)
            mean, square = mean + share * values, square + share * values**2
        of_zero = decode(np.zeros(len(places)))
        mean = (1 - zeros) * mean + zeros * of_zero
        square = (1 - zeros) * square + zeros * of_zero**2
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
