"""Class means and covariances from noisy moments: empirical Bayes with the noise known."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from skdp.release._mixtures import Mixtures

# Share of the variance of a direction that is within classes, at least: none is all between
# them; rule of thumb.
_MIN_WITHIN = 0.05
# Share of the common covariance that a class has in any direction, at least; rule of thumb.
_MIN_OF_COMMON = 0.25


def power_prior(values, noise, shape):
    """Return variances a·shape^g of centred normal values that were observed with noise.

    The parameters a ≤ 1 and g ≥ 0 maximise the marginal likelihood of
    x ~ N(0, a·shape^g + noise).

    Parameters
    ----------
    values, noise, shape : ndarrays of one shape
        Observations, their known noise variances, and numbers in (0, 1].

    Returns
    -------
    prior : ndarray
        Of that shape.
    """
    logs = np.log(shape)

    def loss(log_scale, slope):
        variance = np.exp(log_scale + slope * logs) + noise
        return np.mean(values**2 / variance + np.log(variance))

    starts = [(log_scale, slope) for log_scale in (0.0, -4.0) for slope in (0.0, 1.0)]
    bounds = [(-16.0, 0.0), (0.0, 8.0)]
    fits = [
        minimize(lambda x: loss(*x), start, method="Nelder-Mead", bounds=bounds)
        for start in starts
    ]
    log_scale, slope = min(fits, key=lambda fit: fit.fun).x
    return np.exp(log_scale + slope * logs)


def flat_prior(values, noise):
    """Return the one variance a ≤ 1 of such values: :func:`power_prior` with g = 0."""

    def loss(log_scale):
        variance = np.exp(log_scale) + noise
        return np.mean(values**2 / variance + np.log(variance))

    return float(np.exp(minimize_scalar(loss, bounds=(-16.0, 0.0), method="bounded").x))


@dataclass(frozen=True)
class ClassModel:
    """One normal distribution for each class, in a subspace.

    Attributes
    ----------
    means : ndarray of shape (n_classes, n_directions)

    covariances : ndarray of shape (n_classes, n_directions, n_directions)
        Of the rows of a class.

    uncertainty : ndarray of shape (n_classes, n_directions)
        Posterior variance of the means.
    """

    means: np.ndarray
    covariances: np.ndarray
    uncertainty: np.ndarray

    @classmethod
    def of_moments(cls, moments, directions, total):
        """Estimate from noisy moments in a subspace, see :meth:`shrink`.

        Parameters
        ----------
        moments : Moments

        directions : ndarray of shape (n_directions, n_features)
            Orthogonal rows, in the features of the moments.

        total : ndarray of shape (n_directions,)
            Variances of all rows in the directions, which are uncorrelated.
        """
        means, covariances, noise = moments.project(directions)
        own = moments.project_noise(directions)
        return cls.shrink(means, covariances, noise, moments.effective_sizes, total, *own)

    @classmethod
    def shrink(
        cls,
        means,
        covariances,
        noise,
        effective_sizes,
        total,
        mean_noise=0.0,
        covariance_noise=0.0,
    ):
        """Estimate from noisy moments, by empirical Bayes.

        In units of the total variance of each direction, means are N(0, a·t^g), t being that
        variance; entries of the covariances are N(W, b), W being the total covariance less
        that of the means. a, g and b maximise the marginal likelihood given the noise, of
        which N rows of a class leave (1 + v)/N in a mean and (W_ii + v_i)(W_jj + v_j)/N
        in a covariance, twice that on the diagonal; so much noise means no difference. Noise
        of the moments themselves comes on top of that.

        Parameters
        ----------
        means, covariances, noise : ndarrays
            See :meth:`Moments.project`.

        effective_sizes : ndarray of shape (n_classes,)
            Effective sample size of each class.

        total : ndarray of shape (n_directions,)
            Variances of all rows in the directions, which are uncorrelated.

        mean_noise, covariance_noise : ndarrays or 0.0
            See :meth:`Moments.project_noise`.
        """
        (K, d), scale = means.shape, np.sqrt(total)
        frequencies = effective_sizes / effective_sizes.sum()
        sizes = effective_sizes[:, np.newaxis]
        x, v = means / scale, noise / total
        error = (1 + v) / sizes + mean_noise / total
        t = np.broadcast_to(total / total[0], x.shape)
        prior = power_prior(x * np.sqrt(K / (K - 1)), error, t)
        gain = prior / (prior + error)
        x, uncertainty = gain * x, gain * error
        between = (x.T * frequencies) @ x + np.diag(frequencies @ uncertainty)
        values, vectors = np.linalg.eigh(between)
        values = np.minimum(values, 1 - _MIN_WITHIN)
        W = np.eye(d) - (vectors * values) @ vectors.T
        deviations = covariances / np.outer(scale, scale) - W
        if len(covariances) < K:
            sizes = sizes.sum(keepdims=True)
        own = np.sqrt(covariance_noise) / total * np.ones((len(sizes), d))
        deviations = cls._shrink_deviations(deviations, np.diag(W) + v, sizes, own)
        values, vectors = np.linalg.eigh(W)
        root, inverse = vectors * np.sqrt(values), vectors / np.sqrt(values)
        shrunk = []
        for deviation in np.broadcast_to(deviations, (K, d, d)):
            values, vectors = np.linalg.eigh(inverse.T @ deviation @ inverse)
            vectors = scale[:, np.newaxis] * (root @ vectors)
            shrunk.append((vectors * np.maximum(1 + values, _MIN_OF_COMMON)) @ vectors.T)
        return cls(x * scale, np.array(shrunk), uncertainty * total)

    @staticmethod
    def _shrink_deviations(deviations, spread, sizes, noise):
        """Return what of the deviations from the common covariance is not noise.

        ``noise`` has the standard deviations of the diagonals of the covariances themselves.
        """
        upper = np.triu_indices(len(spread))
        twice = 1 + np.eye(len(spread))
        squares = np.outer(spread, spread) * twice
        error = squares / np.maximum(sizes - 1, 1)[:, :, np.newaxis]
        error = error + noise[:, :, np.newaxis] * noise[:, np.newaxis] * (twice / 2)
        prior = flat_prior(deviations[:, *upper], error[:, *upper])
        return deviations * (prior / (prior + error))

    def predictive(self):
        """Return the distributions of further rows, whose means are uncertain."""
        spread = self.uncertainty[:, :, np.newaxis] * np.eye(self.means.shape[1])
        return Mixtures.single(self.means, self.covariances + spread)
