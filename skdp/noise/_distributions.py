"""Noise distributions, and exact samplers of their discrete counterparts.

Distributions are plain objects, not estimators. Each has ``pdf(v)``, ``cdf(v)``,
``expected_magnitude``, ``variance`` and ``on_grid(step)``, which returns a sampler of its discrete
counterpart on multiples of a step.

Adding float64 noise to a float64 value is not private for any ε: which sums can occur depends on
the value (Mironov, 2012). Here a value is first rounded to a grid whose step is a power of two,
which is exact. The noise is an integer number of steps, with a distribution that tables state
exactly, and rounding the exact sum is post-processing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import exp, expm1, pi, sinh, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

# Precision of log ratios of probabilities (argued at IntegerNoise, which checks every cell).
# Transformers reduce ε by it, divided by 1 − δ to be safe with a point mass.
PRECISION = 2.0**-30
# Smallest ε of one element or label, a thousand times that: even then noise hides all of the data.
LEAST_EPSILON = 1e-6
# Random bits of one draw, and binary digits of a table's weights.
_BITS = 64
# Outcome of a table that refers to the next one.
_FURTHER = -1
# A table holds weights down to this fraction of their sum, so that each becomes an integer of
# 2^33 or more, and keeps a relative error of 2^-33 at most.
_SMALLEST_WEIGHT = 2.0**-31
# Relative error of the probability of each cell, from its own integer and from the one that leads
# to its table. Checked for every cell of every table that is built.
CELL_PRECISION = 2.0**-32
# Smallest number of bits that decide whether a place is accepted, so that its probability has a
# relative error of 2^-33 if it is 1/2 or more, which holds in a cell that is a 128th of a scale
# wide.
_LEAST_FREE = 34
# The point mass is rounded down by this, so that it never exceeds the δ that is claimed.
_ROUNDING = 2.0**-30
# Cells of a Laplace table, each a 256th to a 128th of the scale wide: it reaches 8 to 16 scales,
# and one draw in 3,000 or fewer needs another round.
_LAPLACE_CELLS = 2048
# Upper bound of the probability of these values: 2Φ(−32).
GAUSSIAN_CUT = 2.0**-730


@dataclass(frozen=True)
class Cells:
    """A symmetric, unimodal weight function on the integers, cut into intervals of magnitudes."""

    starts: np.ndarray
    widths: np.ndarray
    heights: np.ndarray  # weight at the start of each cell, the largest within it
    total: float  # sum of the weights of all integers, of both signs
    # Sum of the weights of magnitudes from length on, of both signs. There the weights repeat
    # those from zero on, up to a factor.
    tail: float = 0.0

    @property
    def length(self) -> int:
        """First magnitude beyond the cells."""
        return int(self.starts[-1] + self.widths[-1])


class AliasTable:
    """Sampler of an index with given weights from 64 random bits (Walker's alias method)."""

    # The weights become integers that sum to 2^64, so that the probabilities are known exactly:
    # ``weights`` / 2^64. Each is rounded down, and the remainder is added to the largest.

    def __init__(self, weights):
        weights = np.asarray(weights, dtype=np.float64)
        scaled, largest = weights / weights.sum() * 2.0**_BITS, int(weights.argmax())
        scaled[largest] = 0.0  # alone it can be 2^64, which is one too many for 64 bits
        self.weights = scaled.astype(np.uint64).tolist()
        self.weights[largest] = (1 << _BITS) - sum(self.weights)
        bits = max((len(weights) - 1).bit_length(), 1)
        self._shift = _BITS - bits
        capacity = 1 << self._shift  # of each column of the table; all of them hold 2^64
        keep = self.weights + [0] * ((1 << bits) - len(weights))
        alias = list(range(len(keep)))
        small = [i for i in alias if keep[i] < capacity]
        large = [i for i in alias if keep[i] > capacity]
        while small:
            # The last large column fills small ones until it is full, or small itself.
            j = large.pop()
            left = keep[j]
            while left > capacity and small:
                i = small.pop()
                alias[i] = j
                left -= capacity - keep[i]
            keep[j] = left
            if left != capacity:
                (small if left < capacity else large).append(j)
        # A full column is its own alias, so that a threshold one short changes nothing.
        self._keep = np.array([min(k, capacity - 1) for k in keep], dtype=np.uint64)
        self._alias = np.array(alias, dtype=np.int64)

    def draw(self, integers):
        """Return an index for each integer of 64 random bits."""
        column = (integers >> np.uint64(self._shift)).view(np.int64)
        rest = integers & np.uint64((1 << self._shift) - 1)
        return np.where(rest < self._keep[column], column, self._alias[column])


class IntegerNoise:
    """Draw integers: a cell by a table, then a place in it by rejection.

    ``atom`` is the probability of a point mass at zero, drawn first; it is rounded down.
    """

    # ``log_ratio(starts, offsets)`` is the logarithm of the weight at start over that at start +
    # offset. A table contains weights down to 2^-31 of their sum; one additional outcome
    # represents all smaller ones, and refers to a further table. Each cell thus has its
    # probability up to a relative error of 2^-32, which the constructor checks, and each place in
    # it up to 2^-34: the logarithm of the ratio of two integers' probabilities is correct to
    # 2^-30. ``proposals`` are the probabilities of proposing each cell, the tail beyond them, and
    # the point mass.

    proposals: np.ndarray
    atom: float

    def __init__(self, cells: Cells, log_ratio: Callable[..., np.ndarray], atom: float = 0.0):
        self.atom = atom
        self._log_ratio = log_ratio
        self._length = cells.length
        n_cells = len(cells.starts)
        self._tail, self._atom = n_cells, n_cells + 1
        # Places within a cell are uniform on a power of two; those beyond the cell are rejected.
        # Nearly all cells are equally wide, or of few widths.
        widths, of_cell = np.unique(cells.widths, return_inverse=True)
        bits = [int(width - 1).bit_length() for width in widths]
        self._place_bits = max(bits)
        sizes = np.array([1 << b for b in bits], dtype=np.int64)[of_cell]
        self._starts = np.append(cells.starts, [0, 0])
        self._widths = np.append(cells.widths, [1, 1])
        self._masks = np.append(sizes - 1, [0, 0]).astype(np.uint64)
        point = atom / (1 - atom) * (1 - _ROUNDING) * cells.total
        self._build_tables(np.append(2 * sizes * cells.heights, [cells.tail, point]))

    def _build_tables(self, weights):
        """Split weights into tables, the largest ones first."""
        order = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]
        total = float(weights.sum())
        self._tables, self.proposals = [], np.zeros(len(weights))
        outcomes, cell_weights, reached = order, weights[order], 1.0
        while True:
            least = cell_weights.sum() * _SMALLEST_WEIGHT
            n_cells = int((cell_weights >= least).sum())
            later, left = outcomes[n_cells:], cell_weights[n_cells:]
            outcomes, cell_weights = outcomes[:n_cells], cell_weights[:n_cells].copy()
            further = 0.0
            if len(later):
                if left.sum() < least:
                    # Too small for an integer of 2^33: the largest cell is in both tables.
                    cell_weights[0] -= least
                    later, left = np.append(outcomes[0], later), np.append(least, left)
                # Relative to what remains, so that rounding errors do not accumulate.
                further = left.sum() / (total * reached)
            reached = self._add_table(outcomes, cell_weights, further, reached)
            if not len(later):
                break
            outcomes, cell_weights = later, left
        error = np.abs(self.proposals[order] * total / weights[order] - 1).max()
        if not error <= CELL_PRECISION:
            raise ArithmeticError(f"A cell's probability has a relative error of {error:g}.")

    def _add_table(self, outcomes, weights, further, reached):
        """Add a table; return the probability of all further tables."""
        if further:
            outcomes = np.append(outcomes, _FURTHER)
            weights = np.append(weights, weights.sum() * further / (1 - further))
        if not self._tables and self._atom not in outcomes:
            outcomes, weights = np.append(outcomes, self._atom), np.append(weights, 0.0)
        # The order, in which the point mass has a place even at δ = 0, is fixed so that seeds keep
        # producing the same noise.
        order = np.argsort(np.where(outcomes == _FURTHER, self._tail + 0.5, outcomes))
        outcomes, weights = outcomes[order], weights[order]
        table = AliasTable(weights)
        self._tables.append((table, outcomes))
        probabilities = reached * np.array(table.weights, dtype=np.float64) / 2.0**_BITS
        is_outcome = outcomes != _FURTHER
        self.proposals[outcomes[is_outcome]] += probabilities[is_outcome]
        return float(probabilities[~is_outcome].sum())

    def _draw_cells(self, n, bits):
        table, outcomes = self._tables[0]
        cell = outcomes[table.draw(bits.draw(n))]
        for table, outcomes in self._tables[1:]:
            further = np.flatnonzero(cell == _FURTHER)
            if not len(further):
                break
            cell[further] = outcomes[table.draw(bits.draw(len(further)))]
        return cell

    def sample(self, n: int, bits: Any) -> np.ndarray:
        """Draw n independent values, of int64."""
        noise, done, tail = self._attempt(n, 0, bits)
        left = np.flatnonzero(~done)
        base = self._length * tail[left]
        while len(left):
            again, done, tail = self._attempt(len(left), base, bits)
            noise[left[done]] = again[done]
            base = (base + self._length * tail)[~done]
            left = left[~done]
        return noise

    def _attempt(self, n, base, bits):
        """Propose n magnitudes from base on, with masks of accepted and of tail values."""
        cell, second = self._draw_cells(n, bits), bits.draw(n)
        start = self._starts[cell]
        place = (second & self._masks[cell]).view(np.int64)
        magnitude = start + place
        magnitude += base
        # One bit is the sign, the low ones are the place: the rest decides, if it is enough.
        free = 63 - self._place_bits
        if free < _LEAST_FREE:
            free, decision = 63, bits.draw(n) >> np.uint64(1)
        else:
            decision = (second >> np.uint64(self._place_bits)) & np.uint64((1 << free) - 1)
        chance = np.exp(-self._log_ratio(start, place))
        zero = np.flatnonzero(magnitude == 0)
        chance[zero] *= 0.5  # zero has no sign, and would be drawn twice
        done = decision * 2.0**-free < chance
        done &= place < self._widths[cell]
        tail = cell == self._tail
        done &= ~tail
        done[zero[cell[zero] == self._atom]] = True
        if np.ndim(base):
            done &= (cell != self._atom) | (base == 0)  # no point mass beyond the table
        # Two's complement: all bits flipped, plus one, where the sign bit is set.
        sign = second.view(np.int64) >> 63
        magnitude ^= sign
        magnitude -= sign
        return magnitude, done, tail


def split_steps(widths, n_pieces):
    """Split adjacent steps into pieces, nearly all as wide as a power of two.

    Return start and width of each piece and the index of its step.
    """
    # Places in such a piece need no rejection. The largest powers of two are split off first; the
    # remainder after the last piece but one is one more piece, of any width.
    starts, pieces, steps = [], [], []
    start = 0
    for step, width in enumerate(widths):
        left = int(width)
        for k in range(n_pieces):
            if not left:
                break
            piece = left if k == n_pieces - 1 else 1 << (left.bit_length() - 1)
            starts.append(start)
            pieces.append(piece)
            steps.append(step)
            start, left = start + piece, left - piece
    return np.array(starts), np.array(pieces), np.array(steps)


def equal_cells(scale, n_cells):
    """Return starts and widths of cells, one power of two, at most a 128th of a scale wide."""
    width = 1 << max(0, int(np.floor(np.log2(scale / 128))))
    starts = np.arange(n_cells, dtype=np.int64) * width
    return starts, np.full(n_cells, width, dtype=np.int64)


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
