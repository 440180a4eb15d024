"""Noise laws: plain objects that describe a distribution, no estimator in sight.

A law has ``cdf(v)``, ``expected_magnitude`` and ``variance``, and ``on_grid(step)``, which
makes of it a law on the multiples of a step that can be sampled. A further noise is one
more small class here.
"""

from dataclasses import dataclass
from functools import partial
from math import exp, expm1, pi, sinh, sqrt

import numpy as np
from scipy.special import ndtr

from skdp.noise._sampler import Cells, IntegerNoise, equal_cells, split_steps


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
    >>> from skdp.noise import OptimalLaw
    >>> law = OptimalLaw(scale=2.0, delta=0.25)
    >>> float(law.cdf(0.0)), law.expected_magnitude, law.variance
    (0.625, 1.5, 6.0)
    """

    scale: float
    delta: float = 0.0

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

    def on_grid(self, step):
        """Return the law with P(k·step) ∝ exp(−|k|·step/b) and the same point mass.

        Parameters
        ----------
        step : float
            Small against the scale.

        Returns
        -------
        noise : IntegerNoise
            In units of the step.
        """
        scale = self.scale / step
        starts, widths = equal_cells(scale, 2048)
        one_sided = -1 / expm1(-1 / scale)
        tail = 2 * exp(-(starts[-1] + widths[-1]) / scale) * one_sided
        cells = Cells(starts, widths, np.exp(-starts / scale), 2 * one_sided - 1, tail)
        return IntegerNoise(cells, partial(_laplace_ratio, scale), self.delta)

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

    def on_grid(self, step):
        """Return the law with P(k·step) ∝ exp(−(k·step)²/2σ²).

        Parameters
        ----------
        step : float
            Small against σ.

        Returns
        -------
        noise : IntegerNoise
            In units of the step. Its tables end at 32σ or later, beyond which the law has
            less than 2^-730.
        """
        scale = self.scale / step
        starts, widths = equal_cells(scale, 8192)
        cells = Cells(starts, widths, np.exp(-0.5 * (starts / scale) ** 2), scale * sqrt(2 * pi))
        return IntegerNoise(cells, partial(_gaussian_ratio, scale))

    @property
    def expected_magnitude(self):
        """E|v| = σ·√(2/π)."""
        return self.scale * sqrt(2 / pi)

    @property
    def variance(self):
        """Var v = σ²."""
        return self.scale**2


@dataclass(frozen=True)
class StaircaseLaw:
    r"""Zero with probability δ, a staircase otherwise: the least noise that is ε-private.

    A density that falls by a factor of e^ε from step to step, two steps to each sensitivity
    d, the upper one γd wide (Geng & Viswanath, 2014). With k a natural number,

    .. math::
       f(v) = δ\,\mathrm{Dirac}(v) + (1 - δ)\,a\,e^{-kε} \cdot
       \begin{cases} 1 & kd \le |v| < (k + γ)d \\
       e^{-ε} & (k + γ)d \le |v| < (k + 1)d \end{cases}

    with :math:`γ = 1/(1 + e^{ε/2})`, which makes E|v| least.

    Parameters
    ----------
    epsilon : float
        Privacy-loss bound ε of the staircase.

    sensitivity : float
        Width d of two steps, in the units of the data.

    delta : float
        Probability of the point mass at zero, in [0, 1).

    Examples
    --------
    >>> from skdp.noise import StaircaseLaw
    >>> law = StaircaseLaw(epsilon=8.0, sensitivity=1.0)
    >>> float(law.cdf(0.0)), round(law.expected_magnitude, 4), round(law.variance, 4)
    (0.5, 0.0183, 0.0066)
    """

    epsilon: float
    sensitivity: float
    delta: float = 0.0

    @property
    def gamma(self):
        """Share γ of the upper step."""
        return 1 / (1 + exp(self.epsilon / 2))

    @property
    def _height(self):
        # a·d, so that the staircase has mass one.
        return -expm1(-self.epsilon) / (2 * (self.gamma + exp(-self.epsilon) * (1 - self.gamma)))

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
        v = np.asarray(v, dtype=np.float64)
        steps = np.abs(v) / self.sensitivity
        k = np.floor(steps)
        part = steps - k
        within = np.minimum(part, self.gamma)
        within += exp(-self.epsilon) * np.maximum(part - self.gamma, 0)
        tail = np.exp(-k * self.epsilon) * (0.5 - self._height * within)
        tail *= 1 - self.delta
        return np.where(v < 0, tail, 1 - tail)

    def on_grid(self, step):
        """Return the law whose steps are whole numbers of grid steps wide.

        Parameters
        ----------
        step : float
            Small against γ·sensitivity. Two steps of the staircase are as wide as the
            sensitivity, rounded up.

        Returns
        -------
        noise : IntegerNoise
            In units of the step.
        """
        period = int(np.ceil(self.sensitivity / step))
        upper = max(1, round(self.gamma * period))
        lower = period - upper
        ratio = exp(-self.epsilon)
        n_periods = int(np.clip(np.ceil(12 / self.epsilon), 1, 2048))
        n_pieces = int(np.clip(2048 // n_periods, 1, 8))
        starts, widths, steps = split_steps([upper, lower] * n_periods, n_pieces)
        one_sided = (upper + ratio * lower) / -expm1(-self.epsilon)
        cells = Cells(
            starts,
            widths,
            np.exp(-self.epsilon * ((steps + 1) // 2)),
            2 * one_sided - 1,
            2 * exp(-self.epsilon * n_periods) * one_sided,
        )
        return IntegerNoise(cells, _flat_ratio, self.delta)

    @property
    def expected_magnitude(self):
        """E|v| = (1 − δ)·d·e^{ε/2} / (e^ε − 1)."""
        return (1 - self.delta) * self.sensitivity / (2 * sinh(self.epsilon / 2))

    @property
    def variance(self):
        """Var v, from the sums of q^k, k·q^k and k²·q^k with q = e^{−ε}."""
        q, g = exp(-self.epsilon), self.gamma
        p = -expm1(-self.epsilon)
        sums = 1 / p, q / p**2, q * (1 + q) / p**3
        upper = sums[2] * g + sums[1] * g**2 + sums[0] * g**3 / 3
        lower = sums[2] * (1 - g) + sums[1] * (1 - g**2) + sums[0] * (1 - g**3) / 3
        return 2 * (1 - self.delta) * self._height * self.sensitivity**2 * (upper + q * lower)


def _laplace_ratio(scale, starts, offsets):
    return offsets / scale


def _gaussian_ratio(scale, starts, offsets):
    return (starts + 0.5 * offsets) / scale * (offsets / scale)


def _flat_ratio(starts, offsets):
    return np.zeros(len(offsets))
