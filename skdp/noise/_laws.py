"""Noise laws: plain objects that sample and describe a distribution, no estimator in sight.

A law has ``sample(size, rng)``, ``cdf(v)``, ``expected_magnitude`` and ``variance``; a
further noise is one more small class here.
"""

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from scipy.special import ndtr

# Elements perturbed at a time: the workspace stays at a few MiB for any size of data.
_BLOCK = 1 << 18


@dataclass(frozen=True)
class OptimalLaw:
    r"""Zero with probability δ, Laplace otherwise: the papers' optimal noise.

    Among the noises made of one point mass and a density that meets the papers' pointwise
    sufficient condition for (ε, δ)-privacy, this one has the least expected magnitude
    (Result 3 of 004). With b the scale,

    .. math:: f(v) = δ\,\mathrm{Dirac}(v) + (1 - δ)\,\frac{1}{2b} e^{-|v|/b}

    Parameters
    ----------
    scale : float
        Scale b = sensitivity / ε of the Laplace part, in the units of the data.

    delta : float
        Probability of the point mass at zero, in [0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.noise import OptimalLaw
    >>> law = OptimalLaw(scale=2.0, delta=0.25)
    >>> float(law.cdf(0.0)), law.expected_magnitude, law.variance
    (0.625, 1.5, 6.0)
    >>> law.sample((2, 3), np.random.default_rng()).shape
    (2, 3)
    """

    scale: float
    delta: float = 0.0

    def sample(self, size, rng):
        """Draw independent noise values.

        Parameters
        ----------
        size : int or tuple of int
            Shape of the draw.

        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        noise : ndarray of float64
            The draw.
        """
        # The difference of two exponentials is Laplace; both come from a ziggurat, which
        # is faster than the logarithm of the inverse CDF (116) and reaches further tails.
        noise = rng.standard_exponential(size)
        noise -= rng.standard_exponential(size)
        noise *= self.scale
        if self.delta:
            # Independent atoms = a binomial number of them at uniformly drawn places.
            n_atoms = rng.binomial(noise.size, self.delta)
            noise.flat[rng.choice(noise.size, n_atoms, replace=False, shuffle=False)] = 0.0
        return noise

    def cdf(self, v):
        """Return P(noise ≤ v), equation (115) of 004.

        Parameters
        ----------
        v : array-like
            Points, in the units of the data.

        Returns
        -------
        probability : ndarray
            Same shape as ``v``.
        """
        v = np.asarray(v, dtype=np.float64)
        distance = np.abs(v) / self.scale if self.scale else np.where(v == 0, 0.0, np.inf)
        tail = 0.5 * (1 - self.delta) * np.exp(-distance)
        return np.where(v < 0, tail, 1 - tail)

    @property
    def expected_magnitude(self):
        """E|v| = (1 − δ)·b."""
        return (1 - self.delta) * self.scale

    @property
    def variance(self):
        """Var v = 2·(1 − δ)·b²."""
        return 2 * (1 - self.delta) * self.scale**2


@dataclass(frozen=True)
class GaussianLaw:
    """Normal noise of mean zero.

    Parameters
    ----------
    scale : float
        Standard deviation σ, in the units of the data.

    Examples
    --------
    >>> from skdp.noise import GaussianLaw
    >>> law = GaussianLaw(scale=2.0)
    >>> float(law.cdf(0.0)), round(law.expected_magnitude, 4), law.variance
    (0.5, 1.5958, 4.0)
    """

    scale: float

    def sample(self, size, rng):
        """Draw independent noise values.

        Parameters
        ----------
        size : int or tuple of int
            Shape of the draw.

        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        noise : ndarray of float64
            The draw.
        """
        noise = rng.standard_normal(size)
        noise *= self.scale
        return noise

    def cdf(self, v):
        """Return P(noise ≤ v).

        Parameters
        ----------
        v : array-like
            Points, in the units of the data.

        Returns
        -------
        probability : ndarray
            Same shape as ``v``.
        """
        return ndtr(np.asarray(v, dtype=np.float64) / self.scale)

    @property
    def expected_magnitude(self):
        """E|v| = σ·√(2/π)."""
        return self.scale * sqrt(2 / pi)

    @property
    def variance(self):
        """Var v = σ²."""
        return self.scale**2


def add_noise(X, law, rng):
    """Return a noisy copy of X, in its dtype, with one copy's memory and a small workspace.

    The sum is formed in float64 and rounded once, so a float32 result is a post-processing
    of the float64 mechanism.
    """
    noisy = np.empty_like(X, order="C")
    rows = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], rows):
        block = slice(start, start + rows)
        noise = law.sample(X[block].shape, rng)
        np.add(X[block], noise, out=noisy[block], casting="same_kind")
    return noisy
