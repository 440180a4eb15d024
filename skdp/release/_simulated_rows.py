"""Simulated rows of a class, from its means and a covariance, column by column."""

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import beta

from skdp.release._basis import PLACES

# Bounds of the mean of a column between 0 and 1, of its variance, and of that in units of the
# largest there is with this mean: beta distributions beyond are narrower than the grid, or two
# points (rule of thumb).
_LEAST_COLUMN_MEAN = 0.02
_LEAST_COLUMN_VARIANCE = 2e-3
_MOST_COLUMN_VARIANCE = 0.95
# Added to variances of the functions of a column, in units of their guesses, to be inverted.
_RIDGE = 1e-9
_TINY = np.finfo(np.float64).tiny


def column_density(values, mean, variance):
    """Return probabilities of the values of a linear function, of a beta distribution."""
    low, high = values[0], values[-1]
    mean = np.clip((mean - low) / (high - low), _LEAST_COLUMN_MEAN, 1 - _LEAST_COLUMN_MEAN)
    most = mean * (1 - mean)
    largest = _MOST_COLUMN_VARIANCE * most
    variance = np.clip(variance / (high - low) ** 2, _LEAST_COLUMN_VARIANCE, largest)
    size = most / variance - 1
    density = beta.pdf(PLACES, mean * size, (1 - mean) * size)
    return density / density.sum()


class RowSimulator:
    """Sampler of encoded rows of a class with given correlations of its columns.

    Columns follow from correlated normal numbers (a Gaussian copula). One of two values is the
    higher where its number is among the highest, as often as the mean of the class says. A numeric
    column has a beta distribution times the linear combination of its basis functions that gives
    these the means of the class.

    Parameters
    ----------
    basis : BasisFunctions

    covariance : ndarray of shape (n_basis, n_basis)
        Within classes; positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import BasisFunctions
    >>> from skdp.release._simulated_rows import RowSimulator
    >>> basis = BasisFunctions.of_columns([1])  # of two values, -1/2 and 1/2
    >>> simulator = RowSimulator(basis, np.array([[0.2]]))
    >>> rows = simulator.draw(np.array([0.3]), 1000, np.random.RandomState(0))
    >>> float(rows.mean().round(1)), np.unique(rows).tolist()
    (0.3, [-0.5, 0.5])
    """

    def __init__(self, basis, covariance):
        self.n_basis, self.single = len(basis.column), basis.two_valued
        self.low = (basis.scale * (basis.low - basis.centre))[self.single]
        self.high = (basis.scale * (basis.high - basis.centre))[self.single]
        self.numeric = list(basis.numeric_tables())
        self.variances = covariance.diagonal()
        columns = [*self.single, *(at[0] for at, _ in self.numeric)]
        within = covariance[np.ix_(columns, columns)]
        values, vectors = np.linalg.eigh(within)
        root = vectors * np.sqrt(np.maximum(values, 0))
        self.root = root / np.sqrt(np.maximum((root**2).sum(axis=1), _TINY))[:, None]

    def draw(self, mean, n, random_state):
        """Return n rows of a class with a mean, ndarray of shape (n, n_basis)."""
        latent = random_state.standard_normal((n, len(self.root))) @ self.root.T
        Z, n_single = np.empty((n, self.n_basis)), len(self.single)
        often = np.clip((mean[self.single] - self.low) / (self.high - self.low), 0, 1)
        Z[:, self.single] = np.where(latent[:, :n_single] > ndtri(1 - often), self.high, self.low)
        for (at, values), normal in zip(self.numeric, latent[:, n_single:].T, strict=True):
            density = column_density(values[:, 0], mean[at[0]], self.variances[at[0]])
            cumulative = np.cumsum(_tilted(values, density, mean[at]))
            places = np.searchsorted(cumulative, cumulative[-1] * ndtr(normal))
            Z[:, at] = values[np.minimum(places, len(values) - 1)]
        return Z


def _tilted(values, density, mean):
    """Return a density times what is linear in some functions and gives these their means."""
    expected = density @ values
    centred = values - expected
    covariance = (centred.T * density) @ centred
    covariance[np.diag_indices_from(covariance)] += _RIDGE * np.ptp(values, axis=0) ** 2
    tilted = density * np.maximum(1 + centred @ np.linalg.solve(covariance, mean - expected), 0)
    return tilted + _TINY
