"""Linear scores of more than two classes, calibrated on rows simulated from noisy sums."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, ndtr, ndtri

from skdp.release._basis import column_density
from skdp.release._posterior import difference_posteriors
from skdp.release._separation import likely_posteriors
from skdp.utils._linalg import NEGLIGIBLE, TINY

# Simulated rows, about, and at least of a class. With 8,000 losses are the same within .003.
_N_ROWS = 4000
_LEAST_ROWS = 20
# Number of classes beyond which the map of scores has no matrix D, and rare classes fewer rows, so
# that time and memory grow with the number of classes and not with its square.
_MANY = 50
# Least variance of the scores within classes, in units of what simulated rows have. Of .5, .7 and
# 1 the log loss without noise is .562, .502 and .483 on adult's marital status, and .050, .085 and
# .141 on human activity.
_LEAST_RATIO = 0.7
# Penalty on the squared deviation of the map of scores from a multiple of the identity, for scores
# of unit standard deviation. On human activity (ε = 4) the log loss is .457, .422 and .406 with
# .01, .003 and .001, on adult's occupation (ε = .5) 1.947, 1.963 and 1.985.
_PENALTY = 0.003
# Share of simulated rows whose label is any, by its frequency: where classes lie far apart a few
# real rows lie elsewhere than any simulated one. With 0, .002 and .005 the log loss without noise
# is .133, .054 and .095 on human activity, .490, .481 and .475 on adult's marital status.
_OUTLIERS = 0.002
# Least probability of a scale whose covariance counts, to save time.
_LEAST_LIKELY = 1e-3
# Most iterations that fit the map of scores (rule of thumb).
_MAX_ITER = 100


@dataclass(frozen=True)
class ScoredClasses:
    """Scores of clipped rows, and the posterior of their differences between classes.

    Attributes
    ----------
    coefficients : ndarray of shape (n_classes, n_basis)

    intercepts : ndarray of shape (n_classes,)

    means, sds : ndarray of shape (n_classes, n_classes)
        Posterior mean and standard deviation of the difference, between two classes, of the mean
        of one score less the other (for two classes, in units of their direction).

    variances : ndarray of shape (n_classes, n_classes)
        Variance within classes of one score minus the other.
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    means: np.ndarray
    sds: np.ndarray
    variances: np.ndarray


def scores_of_several_classes(population, basis, shrinkage):
    """Return linear scores of more than two classes, and the class means."""
    # Each class and the rest have the posterior that two classes have, with a prior scale of their
    # own, so that the noise of a rare class hides that class alone. The scores s of its weights
    # become
    # (T I + D) s + b
    # by softmax regression on simulated rows: the temperature T and the intercepts b undo that
    # weights have followed the noise, and that classes differ in their covariances; the matrix D,
    # with a penalty, what is due to correlated noise in the means of the classes.
    # Simulated rows are those of the columns' own structure (RowSimulator) about the posterior
    # means of the classes; their scores are scaled to the variance that the noisy second moment
    # has beyond these means, and shifted, each by a draw of its mean from the posterior, see
    # _simulate. The generator has a fixed seed: all is post-processing.
    # With one scale of the weights and one of the means for all classes, both without a prior of
    # d', log loss is .051 higher over 84 cells of seven labels (300 to 10,000 rows, ε = .5 to 4).
    pi = population.frequencies
    coefficients, offsets, uncertainty = _posterior_of_classes(population)
    middles = population.mean + offsets / 2
    intercepts = np.log(pi) - (coefficients * middles).sum(axis=1)
    coefficients = coefficients - coefficients.mean(axis=0)
    # More classes than functions: scores lie in a subspace, in whose coordinates rows are cheap.
    axes, few = None, coefficients
    if len(coefficients) > coefficients.shape[1]:
        axes, few = np.linalg.qr(coefficients)
    of_classes = offsets, few @ uncertainty @ few.T
    simulated = _simulate(population, basis, shrinkage, few, *of_classes)
    scores = [(s if axes is None else s @ axes.T) + intercepts for s in simulated.scores]
    matrix, shift = _softmax_map(scores, pi)
    coefficients, intercepts = matrix @ coefficients, matrix @ intercepts + shift
    matrix = matrix if axes is None else matrix @ axes
    coefficients = coefficients - coefficients.mean(axis=0)
    return ScoredClasses(
        coefficients, intercepts - intercepts.mean(), *simulated.separations(matrix)
    )


@dataclass(frozen=True)
class _Simulation:
    """Simulated scores without intercepts, and the distributions they were drawn from.

    Attributes
    ----------
    scores : list of ndarray of shape (n_rows, n_scores)
        For each class.

    centers : ndarray of shape (n_classes, n_scores)
        Scores of the posterior means of the classes.

    uncertainty : ndarray of shape (n_classes, n_scores, n_scores)
        For each class, the posterior covariance of its center.

    within : ndarray of shape (n_classes, n_scores, n_scores)
        For each class, the covariance of the scores of its rows.
    """

    scores: list
    centers: np.ndarray
    uncertainty: np.ndarray
    within: np.ndarray

    def separations(self, matrix):
        """Return the means, standard deviations and variances of :class:`ScoredClasses`.

        They are of scores that a matrix is applied to.
        """
        means, squares, variances = np.zeros((3, len(matrix), len(matrix)))
        for c, row in enumerate(matrix):
            weights = row - matrix  # of each pair, what its score is in the scores here
            means[c] = (weights * (self.centers[c] - self.centers)).sum(axis=1)
            squares[c] = ((weights @ self.uncertainty[c]) * weights).sum(axis=1)
            variances[c] = ((weights @ self.within[c]) * weights).sum(axis=1)
        # Of both classes of a pair.
        squares, variances = squares + squares.T, variances + variances.T
        return means, np.sqrt(np.maximum(squares, 0)), variances / 2


def _posterior_of_classes(population):
    """Return for each class its weights, its difference from all rows, and its covariance."""
    by_class = [
        _mean_posterior(
            difference_posteriors(
                difference, population.within, population.within_errors, noise, size
            )
        )
        for difference, noise, size in zip(
            population.differences, population.noise, population.sizes, strict=True
        )
    ]
    weights, differences, spreads = map(np.array, zip(*by_class, strict=True))
    # A class mean is (1 − π) times as far from that of all rows as from that of the rest.
    rest = 1 - population.frequencies[:, None]
    return rest * weights, rest * differences, rest[:, None] ** 2 * spreads


def _mean_posterior(posteriors):
    """Return mean weights and difference over posteriors, and the difference's covariance."""
    likely = likely_posteriors(posteriors)
    means = np.array([posterior.difference for posterior in posteriors])
    deviations = means - likely @ means
    covariance = (deviations.T * likely) @ deviations
    for p, posterior in zip(likely, posteriors, strict=True):
        if p > _LEAST_LIKELY:
            covariance += p * posterior.covariance
    return likely @ [posterior.weights for posterior in posteriors], likely @ means, covariance


def _simulate(population, basis, shrinkage, coefficients, offsets, uncertainty):
    """Return the scores of simulated rows, as :func:`scores_of_several_classes` says."""
    rng, pi = np.random.RandomState(0), population.frequencies
    # Rows before clipping are longer.
    longer = 1 / np.sqrt(shrinkage)
    means = longer * (population.mean + offsets)
    simulator = RowSimulator(basis, population.within / shrinkage)
    least = max(2, min(_LEAST_ROWS, _LEAST_ROWS * _MANY // len(pi)))
    n_rows = np.maximum(np.ceil(_N_ROWS * pi), least).astype(int)
    deviations = []
    for mean, n in zip(means, n_rows, strict=True):
        scores = simulator.draw(mean, n, rng) @ coefficients.T / longer
        deviations.append(scores - scores.mean(axis=0))

    simulated = sum(p * s.T @ s / len(s) for p, s in zip(pi, deviations, strict=True))
    centers = offsets @ coefficients.T
    between = centers - pi @ centers
    between = (between.T * pi) @ between + np.tensordot(pi, uncertainty, 1)
    scale = _rescaling(simulated, coefficients @ population.covariance @ coefficients.T - between)
    scores = []
    for center, deviation, spread in zip(centers, deviations, uncertainty, strict=True):
        shifts = rng.standard_normal(deviation.shape) @ _root(spread)
        scores.append(population.mean @ coefficients.T + center + deviation @ scale + shifts)
    within = np.array([s.T @ s / len(s) for s in (d @ scale for d in deviations)])
    return _Simulation(scores, centers, uncertainty, within)


def _rescaling(simulated, wanted):
    """Return the matrix that gives rows of one covariance another covariance.

    No direction loses more than a fixed share of its variance.
    """
    values, vectors = np.linalg.eigh((simulated + simulated.T) / 2)
    some = values > NEGLIGIBLE * max(values[-1], TINY)  # none is along the sum of the classes
    roots, vectors = np.sqrt(values[some]), vectors[:, some]
    whitened = vectors / roots
    ratios, directions = np.linalg.eigh(whitened.T @ (wanted + wanted.T) @ whitened / 2)
    stretched = directions * np.sqrt(np.maximum(ratios, _LEAST_RATIO))
    return whitened @ stretched @ directions.T @ (vectors * roots).T


def _root(covariance):
    """Return the matrix that gives standard normal rows this covariance."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.sqrt(np.maximum(values, 0))[:, None] * vectors.T


def _softmax_map(scores, frequencies):
    """Return the matrix T I + D and the intercepts b of a softmax regression on scores.

    With very many classes, D is zero.
    """
    K = len(scores)
    sizes = [len(s) for s in scores]
    labels = (1 - _OUTLIERS) * np.repeat(np.eye(K), sizes, axis=0) + _OUTLIERS * frequencies
    s, w = np.vstack(scores), np.repeat(frequencies / sizes, sizes)[:, None]
    mean = (w * s).sum(axis=0)
    unit = max(np.sqrt((w * (s - mean) ** 2).sum() / K), np.sqrt(TINY))
    s = (s - mean) / unit

    full = K * K if K <= _MANY else 0

    def parts(x):
        return x[0], x[1 : 1 + full].reshape(-1, K), x[1 + full :]

    def loss(x):
        T, D, b = parts(x)
        log_p = log_softmax((T * s + s @ D.T if full else T * s) + b, axis=1)
        slope = w * (np.exp(log_p) - labels)
        if full:
            by_matrix = slope.T @ s
            gradient = [by_matrix.trace(), (by_matrix + 2 * _PENALTY * D).ravel()]
        else:
            gradient = [(slope * s).sum()]
        gradient.append(slope.sum(axis=0))
        return _PENALTY * (D**2).sum() - (w * labels * log_p).sum(), np.hstack(gradient)

    start = np.concatenate([[unit], np.zeros(full), mean])
    T, D, b = parts(
        minimize(loss, start, jac=True, options={"maxiter": _MAX_ITER}, method="L-BFGS-B").x
    )
    matrix = (T * np.eye(K) + (D if full else 0.0)) / unit
    return matrix, b - matrix @ mean


class RowSimulator:
    """Sampler of encoded rows of a class with given correlations of its columns.

    Each column is a function of one of several correlated normal numbers (a Gaussian copula). A
    column of two values takes the higher one if its normal number exceeds a threshold that fits
    the mean of the class. A numeric column has a beta density times the linear combination of its
    basis functions that gives these the means of the class.

    Parameters
    ----------
    basis : BasisFunctions

    covariance : ndarray of shape (n_basis, n_basis)
        Within classes; positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import BasisFunctions
    >>> from skdp.release._several_classes import RowSimulator
    >>> basis = BasisFunctions.of_columns([1])  # of two values, -1/2 and 1/2
    >>> simulator = RowSimulator(basis, np.array([[0.2]]))
    >>> rows = simulator.draw(np.array([0.3]), 1000, np.random.RandomState(0))
    >>> float(rows.mean().round(1)), np.unique(rows).tolist()
    (0.3, [-0.5, 0.5])
    """

    def __init__(self, basis, covariance):
        self.n_basis, self.single = len(basis.column), basis.two_valued
        self.low = (basis.scale * (basis.low - basis.center))[self.single]
        self.high = (basis.scale * (basis.high - basis.center))[self.single]
        self.numeric = list(basis.numeric_tables())
        self.variances = covariance.diagonal()
        columns = [*self.single, *(at[0] for at, _ in self.numeric)]
        within = covariance[np.ix_(columns, columns)]
        values, vectors = np.linalg.eigh(within)
        root = vectors * np.sqrt(np.maximum(values, 0))
        self.root = root / np.sqrt(np.maximum((root**2).sum(axis=1), TINY))[:, None]

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
    """Return a density times a linear combination of functions that gives these their means."""
    expected = density @ values
    centered = values - expected
    covariance = (centered.T * density) @ centered
    covariance[np.diag_indices_from(covariance)] += NEGLIGIBLE * np.ptp(values, axis=0) ** 2
    tilted = density * np.maximum(1 + centered @ np.linalg.solve(covariance, mean - expected), 0)
    return tilted + TINY
