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

    Attributes
    ----------
    predictions : ndarray of shape (n_predictions,)
        Rescaled predictions in ascending order.

    shares : ndarray of shape (n_predictions,)
        Shares of the rows of the source with about these predictions.

    residuals : ndarray of shape (n_predictions, 100)
        Quantiles of the residuals; between predictions they are interpolated.
    """

    predictions: np.ndarray = array("g", "f", below=1e3)
    shares: np.ndarray = array("g", "f", least=0, below=2.0)
    residuals: np.ndarray = array("g 100", "f", below=1e3)

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
        return cls(predictions, _OF_NODES / _OF_NODES.sum(), np.tile(residuals, (9, 1)))

    @classmethod
    def measured(cls, predictions: np.ndarray, numbers: np.ndarray, rows: np.ndarray) -> Self:
        """Return the distribution of numbers in cells of known predictions.

        Parameters
        ----------
        predictions : ndarray of shape (n_groups, n_parts)
            Of groups of rows, in ascending order; of equal ones there is one group.

        numbers, rows : ndarray of shape (n_groups, n_parts, n_cells)
            The number of each cell, and how many rows it has.
        """
        if predictions[0, 0] == predictions[-1, -1]:
            predictions, numbers, rows = (
                a.reshape(1, -1, *a.shape[2:]) for a in (predictions, numbers, rows)
            )
        shares = rows.sum(axis=(1, 2))
        residuals = (numbers - predictions[..., np.newaxis]).reshape(len(shares), -1)
        pairs = zip(residuals, rows.reshape(residuals.shape), strict=True)
        quantiles = np.array([weighted_quantiles(*pair) for pair in pairs])
        return cls(predictions.mean(axis=1), shares / shares.sum(), quantiles)

    @classmethod
    def mean(cls, parts: Sequence[Self], weights: np.ndarray) -> Self:
        """Return the mean of the quantiles of several distributions, by weight."""
        if len(parts) == 1:
            return parts[0]
        ends = np.array([part.predictions[[0, -1]] for part in parts])
        at = np.linspace(ends.min(), ends.max(), _N_PREDICTIONS)
        middles = (at[1:] + at[:-1]) / 2
        shares, residuals = np.zeros(len(at)), np.zeros((len(at), len(LEVELS)))
        for part, weight in zip(parts, weights, strict=True):
            bins = np.searchsorted(middles, part.predictions)
            shares += weight * np.bincount(bins, part.shares, len(at))
            residuals += weight * np.array([part._residual(at, k) for k in range(len(LEVELS))]).T
        return cls(at, shares, residuals)

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

    def _residual(self, places, k):
        return np.interp(places, self.predictions, self.residuals[:, k])

    @property
    def symmetric(self) -> bool:
        """Whether positive and negative residuals are equally large, as normal ones."""
        return np.allclose(self.residuals, -self.residuals[:, ::-1])

    @property
    def deviation(self) -> float:
        """Standard deviation for which normal 80% intervals hold 80% of the numbers."""
        away = np.abs(self.residuals).ravel()
        order = np.argsort(away)
        held = np.cumsum(np.outer(self.shares, _SHARES).ravel()[order])
        return float(np.interp(0.8 * held[-1], held, away[order]) / 1.2815515655446004)

    def quantile(self, places: np.ndarray, wider: Any, level: float) -> np.ndarray:
        """Return a quantile of the rescaled number of each prediction.

        ``wider`` is a factor of the residuals.
        """
        of_level = [np.interp(level, LEVELS, residuals) for residuals in self.residuals]
        return places + wider * np.interp(places, self.predictions, of_level)

    def sample(self, places: np.ndarray, random_state: Any) -> np.ndarray:
        """Return random rescaled numbers of predictions."""
        levels = np.searchsorted(np.cumsum(_SHARES)[:-1], random_state.random_sample(len(places)))
        drawn = places.copy()
        for k in np.unique(levels):
            drawn[levels == k] += self._residual(places[levels == k], k)
        return drawn

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
            means = values @ _SHARES
            mean = self.shares @ means / total
            between = self.shares @ (means - mean) ** 2
            within = self.shares @ ((values - means[:, np.newaxis]) ** 2 @ _SHARES)
            explained.append(float(between / max(between + within, TINY)))
        return float(mean), explained[:-1]

    def moments(self, places: np.ndarray, wider: Any, decode: Callable) -> tuple[Any, Any]:
        """Return mean and standard deviation of a function of the rescaled number."""
        mean, square = np.zeros((2, len(places)))
        for k, share in enumerate(_SHARES):
            values = decode(places + wider * self._residual(places, k))
            mean, square = mean + share * values, square + share * values**2
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
