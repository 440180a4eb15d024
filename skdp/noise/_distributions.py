"""Noise distributions: plain objects, not estimators.

Each has ``pdf(v)``, ``cdf(v)``, ``expected_magnitude``, ``variance`` and ``on_grid(step)``, which
returns a sampler of its discrete counterpart on multiples of a step.
"""

from dataclasses import dataclass
from functools import partial
from math import exp, expm1, pi, sinh, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from skdp.noise._sampler import Cells, IntegerNoise, equal_cells, split_steps

# Cells of a Laplace table, each a 256th to a 128th of the scale wide: it reaches 8 to 16 scales,
# and one draw in 3,000 or fewer needs another round.
_LAPLACE_CELLS = 2048
# Upper bound of the probability of these values: 2Φ(−32).
GAUSSIAN_CUT = 2.0**-730


@dataclass(frozen=True)
class OptimalDistribution:
    r"""Zero with probability δ, Laplace otherwise: the optimal noise of Kumar and Moser.

    This noise has the smallest expected magnitude among point masses plus densities that meet
    their pointwise sufficient condition for (ε, δ)-privacy (Kumar and Moser, Result 3). With
    scale b,

    .. math:: f(v) = δ\,\mathrm{Dirac}(v) + (1 - δ)\,\frac{1}{2b} e^{-|v|/b}

    Parameters
    ----------
    scale : float
        Scale b = sensitivity / ε of the Laplace noise, in the units of the data.

    delta : float
        Probability of the point mass at zero, in [0, 1).

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Result 3 and equations (114)–(116). SERUMS D3.1 (2019), Result 4 and
    equations (2.83)–(2.88).

    Examples
    --------
    >>> from skdp.noise import OptimalDistribution
    >>> noise = OptimalDistribution(scale=2.0, delta=0.25)
    >>> float(noise.cdf(0.0)), noise.expected_magnitude, noise.variance
    (0.625, 1.5, 6.0)
    """

    scale: float
    delta: float = 0.0

    def pdf(self, v: ArrayLike) -> np.ndarray:
        """Return the density without the point mass; its integral is 1 − δ.

        Parameters
        ----------
        v : array-like
            Points, in the units of the data.

        Returns
        -------
        density : ndarray
            Same shape as ``v``; 0 without noise.

        Examples
        --------
        >>> from skdp.noise import OptimalDistribution
        >>> float(OptimalDistribution(scale=2.0).pdf(0.0).round(4))
        0.25
        """
        v = np.asarray(v, dtype=np.float64)
        if not self.scale:
            return np.zeros_like(v)
        return 0.5 * (1 - self.delta) / self.scale * np.exp(-np.abs(v) / self.scale)

    def cdf(self, v: ArrayLike) -> np.ndarray:
        """Return P(noise ≤ v) (Kumar and Moser, equation (115)).

        Parameters
        ----------
        v : array-like
            Points, in the units of the data.

        Returns
        -------
        probability : ndarray
            Same shape as ``v``.

        Examples
        --------
        >>> from skdp.noise import OptimalDistribution
        >>> float(OptimalDistribution(scale=2.0).cdf(1.0).round(4))
        0.6967
        """
        v = np.asarray(v, dtype=np.float64)
        distance = np.abs(v) / self.scale if self.scale else np.where(v == 0, 0.0, np.inf)
        tail = 0.5 * (1 - self.delta) * np.exp(-distance)
        return np.where(v < 0, tail, 1 - tail)

    def on_grid(self, step: float) -> IntegerNoise:
        """Return a sampler of P(k·step) ∝ exp(−|k|·step/b) with the same point mass.

        Parameters
        ----------
        step : float
            Small compared with the scale.

        Returns
        -------
        noise : IntegerNoise
            In units of the step.

        Examples
        --------
        >>> from skdp.noise import OptimalDistribution
        >>> OptimalDistribution(scale=2.0).on_grid(2.0**-20).atom
        0.0
        """
        scale = self.scale / step
        starts, widths = equal_cells(scale, _LAPLACE_CELLS)
        one_sided = -1 / expm1(-1 / scale)
        tail = 2 * exp(-(starts[-1] + widths[-1]) / scale) * one_sided
        cells = Cells(starts, widths, np.exp(-starts / scale), 2 * one_sided - 1, tail)
        return IntegerNoise(cells, partial(_laplace_ratio, scale), self.delta)

    @property
    def expected_magnitude(self) -> float:
        """E|v| = (1 − δ)·b (SERUMS D3.1, 2019, equations (2.85) and (2.86))."""
        return (1 - self.delta) * self.scale

    @property
    def variance(self) -> float:
        """Var v = 2·(1 − δ)·b²."""
        return 2 * (1 - self.delta) * self.scale**2


@dataclass(frozen=True)
class GaussianDistribution:
    """Normal noise of mean zero.

    Parameters
    ----------
    scale : float
        Standard deviation σ, in the units of the data.

    Examples
    --------
    >>> from skdp.noise import GaussianDistribution
    >>> noise = GaussianDistribution(scale=2.0)
    >>> float(noise.cdf(0.0)), round(noise.expected_magnitude, 4), noise.variance
    (0.5, 1.5958, 4.0)
    """

    scale: float

    def pdf(self, v: ArrayLike) -> np.ndarray:
        """Return the density.

        Parameters
        ----------
        v : array-like
            Points, in the units of the data.

        Returns
        -------
        density : ndarray
            Same shape as ``v``.

        Examples
        --------
        >>> from skdp.noise import GaussianDistribution
        >>> float(GaussianDistribution(scale=2.0).pdf(0.0).round(4))
        0.1995
        """
        steps = np.asarray(v, dtype=np.float64) / self.scale
        return np.exp(-0.5 * steps * steps) / (self.scale * sqrt(2 * pi))

    def cdf(self, v: ArrayLike) -> np.ndarray:
        """Return P(noise ≤ v).

        Parameters
        ----------
        v : array-like
            Points, in the units of the data.

        Returns
        -------
        probability : ndarray
            Same shape as ``v``.

        Examples
        --------
        >>> from skdp.noise import GaussianDistribution
        >>> float(GaussianDistribution(scale=2.0).cdf(1.0).round(4))
        0.6915
        """
        return ndtr(np.asarray(v, dtype=np.float64) / self.scale)

    def on_grid(self, step: float) -> IntegerNoise:
        """Return a sampler of P(k·step) ∝ exp(−(k·step)²/2σ²).

        Parameters
        ----------
        step : float
            Small compared with σ.

        Returns
        -------
        noise : IntegerNoise
            In units of the step. Its tables end at 32σ or later; values beyond have a
            probability below 2^-730.

        Examples
        --------
        >>> from skdp.noise import GaussianDistribution
        >>> GaussianDistribution(scale=2.0).on_grid(2.0**-20).atom
        0.0
        """
        scale = self.scale / step
        # Cells as wide as in a Laplace table reach 32σ or more; values beyond are never drawn
        # because their probabilities exceed double precision.
        starts, widths = equal_cells(scale, 8192)
        kept = starts <= 33 * scale
        starts, widths = starts[kept], widths[kept]
        cells = Cells(starts, widths, np.exp(-0.5 * (starts / scale) ** 2), scale * sqrt(2 * pi))
        return IntegerNoise(cells, partial(_gaussian_ratio, scale))

    @property
    def expected_magnitude(self) -> float:
        """E|v| = σ·√(2/π) (SERUMS D3.1, 2019, equations (2.97)–(2.101))."""
        return self.scale * sqrt(2 / pi)

    @property
    def variance(self) -> float:
        """Var v = σ²."""
        return self.scale**2


@dataclass(frozen=True)
class StaircaseDistribution:
    r"""Zero with probability δ, a staircase otherwise: the smallest ε-private noise.

    The density falls by a factor of e^ε from step to step. Each interval of the sensitivity d has
    two steps; the upper one has width γd (Geng & Viswanath, 2014). For k = 0, 1, …,

    .. math::
       f(v) = δ\,\mathrm{Dirac}(v) + (1 - δ)\,a\,e^{-kε} \cdot
       \begin{cases} 1 & kd \le |v| < (k + γ)d \\
       e^{-ε} & (k + γ)d \le |v| < (k + 1)d \end{cases}

    with :math:`γ = 1/(1 + e^{ε/2})`, which minimizes E|v|.

    Parameters
    ----------
    epsilon : float
        Privacy-loss bound ε of the staircase.

    sensitivity : float
        Width d of two steps, in the units of the data.

    delta : float
        Probability of the point mass at zero, in [0, 1).

    References
    ----------
    Geng, Q. and Viswanath, P., "The optimal mechanism in differential privacy", ISIT 2014.

    Examples
    --------
    >>> from skdp.noise import StaircaseDistribution
    >>> noise = StaircaseDistribution(epsilon=8.0, sensitivity=1.0)
    >>> float(noise.cdf(0.0)), round(noise.expected_magnitude, 4), round(noise.variance, 4)
    (0.5, 0.0183, 0.0066)
    """

    epsilon: float
    sensitivity: float
    delta: float = 0.0

    @property
    def gamma(self) -> float:
        """Fraction γ of the upper step."""
        return 1 / (1 + exp(self.epsilon / 2))

    @property
    def _height(self):
        # a·d, so that the staircase has mass one.
        return -expm1(-self.epsilon) / (2 * (self.gamma + exp(-self.epsilon) * (1 - self.gamma)))

    def pdf(self, v: ArrayLike) -> np.ndarray:
        """Return the density without the point mass; its integral is 1 − δ.

        Parameters
        ----------
        v : array-like
            Points, in the units of the data.

        Returns
        -------
        density : ndarray
            Same shape as ``v``.

        Examples
        --------
        >>> from skdp.noise import StaircaseDistribution
        >>> float(StaircaseDistribution(epsilon=1.0, sensitivity=1.0).pdf(0.0).round(4))
        0.5211
        """
        steps = np.abs(np.asarray(v, dtype=np.float64)) / self.sensitivity
        k = np.floor(steps)
        falls = k + (steps - k >= self.gamma)
        return (1 - self.delta) * self._height / self.sensitivity * np.exp(-self.epsilon * falls)

    def cdf(self, v: ArrayLike) -> np.ndarray:
        """Return P(noise ≤ v).

        Parameters
        ----------
        v : array-like
            Points, in the units of the data.

        Returns
        -------
        probability : ndarray
            Same shape as ``v``.

        Examples
        --------
        >>> from skdp.noise import StaircaseDistribution
        >>> float(StaircaseDistribution(epsilon=1.0, sensitivity=1.0).cdf(1.0).round(4))
        0.8161
        """
        v = np.asarray(v, dtype=np.float64)
        steps = np.abs(v) / self.sensitivity
        k = np.floor(steps)
        fraction = steps - k
        within = np.minimum(fraction, self.gamma)
        within += exp(-self.epsilon) * np.maximum(fraction - self.gamma, 0)
        tail = np.exp(-k * self.epsilon) * (0.5 - self._height * within)
        tail *= 1 - self.delta
        return np.where(v < 0, tail, 1 - tail)

    def on_grid(self, step: float) -> IntegerNoise:
        """Return a sampler of the staircase with steps rounded to the grid.

        Parameters
        ----------
        step : float
            Small compared with γ·sensitivity. The sensitivity, the width of two steps, is
            rounded up.

        Returns
        -------
        noise : IntegerNoise
            In units of the step.

        Examples
        --------
        >>> from skdp.noise import StaircaseDistribution
        >>> StaircaseDistribution(epsilon=1.0, sensitivity=1.0).on_grid(2.0**-20).atom
        0.0
        """
        period = int(np.ceil(self.sensitivity / step))
        upper = max(1, round(self.gamma * period))
        lower = period - upper
        log_ratio = _flat_ratio
        # At a smaller ε a cell contains several steps and is as wide as in a Laplace table.
        # With one cell per step the table would end within 8 losses, most draws would pass
        # through it several times, and their duration would reveal their magnitude.
        if self.epsilon < 1 / 256:
            starts, widths = equal_cells(period / self.epsilon, _LAPLACE_CELLS)
            n_periods = int(starts[-1] + widths[-1]) // period
            widths[-1] = n_periods * period - starts[-1]  # the tail begins with a whole period
            falls = (starts + lower) // period
            log_ratio = partial(_stairs_ratio, self.epsilon, period, lower)
        else:
            # Up to 12 losses, with a tail of probability e^-12, and 2048 cells of each kind of
            # step. A step may have up to eight cells, the widths of nearly all of
            # which are powers of two, without rejections: this doubled the speed
            # (benchmarks/bench_privacy.py).
            n_periods = min(int(np.ceil(12 / self.epsilon)), 2048)
            n_pieces = int(np.clip(2048 // n_periods, 1, 8))
            starts, widths, steps = split_steps([upper, lower] * n_periods, n_pieces)
            falls = (steps + 1) // 2
        one_sided = (upper + exp(-self.epsilon) * lower) / -expm1(-self.epsilon)
        cells = Cells(
            starts,
            widths,
            np.exp(-self.epsilon * falls),
            2 * one_sided - 1,
            2 * exp(-self.epsilon * n_periods) * one_sided,
        )
        return IntegerNoise(cells, log_ratio, self.delta)

    @property
    def expected_magnitude(self) -> float:
        """E|v| = (1 − δ)·d·e^{ε/2} / (e^ε − 1)."""
        return (1 - self.delta) * self.sensitivity / (2 * sinh(self.epsilon / 2))

    @property
    def variance(self) -> float:
        """Var v, from the sums of q^k, k·q^k and k²·q^k with q = e^{−ε}."""
        q, g = exp(-self.epsilon), self.gamma
        p = -expm1(-self.epsilon)
        sums = 1 / p, q / p**2, q * (1 + q) / p**3
        upper = sums[2] * g + sums[1] * g**2 + sums[0] * g**3 / 3
        lower = sums[2] * (1 - g) + sums[1] * (1 - g**2) + sums[0] * (1 - g**3) / 3
        return 2 * (1 - self.delta) * self._height * self.sensitivity**2 * (upper + q * lower)


def _laplace_ratio(scale, starts, offsets):
    """Return the log ratio of the weights at a start and at start + offset."""
    return offsets / scale


def _gaussian_ratio(scale, starts, offsets):
    return (starts + 0.5 * offsets) / scale * (offsets / scale)


def _flat_ratio(starts, offsets):
    return np.zeros(len(offsets))


def _stairs_ratio(epsilon, period, lower, starts, offsets):
    # The weight falls by a factor of e^ε wherever magnitude + lower is a multiple of the period.
    begin = starts + lower
    return epsilon * ((begin + offsets) // period - begin // period)
