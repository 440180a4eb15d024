"""Gaussian noise on integer queries of private rows that share one budget."""

from dataclasses import dataclass
from functools import lru_cache
from math import exp, floor, inf, log, sqrt

import numpy as np

from skdp.noise._distributions import GAUSSIAN_CUT, PRECISION, GaussianDistribution
from skdp.privacy import Mechanism, gaussian_sigma

# Rounding tolerance of the sum of the fractions of a budget.
_SUM_ROUNDING = 1e-9


@dataclass(frozen=True)
class Share:
    """The fraction of a budget for one query, and the size of its answer."""

    fraction: float  # of the sum of all 1/σ², in (0, 1]
    numbers: int  # most noisy values of one answer; each costs the sampler's 2^-30 in ε
    sensitivity: float  # most L2 distance of the answers of two neighbors, in steps of their grid
    uses: int = 1  # how often the query is asked at most; each use gets an equal part


class GaussianQueries:
    """Add Gaussian noise to integers, query by query, within one budget.

    The ``shares`` are public and fixed before any row is used. ``report`` receives the name of
    each answered query. ``distance`` is μ, infinite without noise. ``draws`` is the number of
    draws that add up to the noise of a number; each costs the sampler's precision. ``uses`` says
    how often each query is asked.
    """

    # Query i of L2 sensitivity s_i and fraction f_i of the budget gets noise of standard deviation
    # s_i/(μ√f_i). Even if later queries are chosen adaptively, all together are as private as one
    # Gaussian mechanism of sensitivity/σ = μ, since μ² Σ f_i ≤ μ² (Dong, Roth and Su, 2022). It is
    # (ε, δ)-private for the largest μ of the analytic calibration (Balle and Wang, 2018).

    def __init__(self, epsilon, delta, shares, bits, report=None, draws=1):
        if sum(share.fraction for share in shares.values()) > 1 + _SUM_ROUNDING:
            raise ValueError(
                f"The 'shares' parameter of GaussianQueries adds up to more than 1: {shares}."
            )
        self._shares, self._bits, self._report = dict(shares), bits, report
        self.uses = {name: share.uses for name, share in shares.items()}
        self._uses_left = dict(self.uses)
        n_numbers = draws * sum(share.numbers * share.uses for share in shares.values())
        epsilon, delta = float(epsilon), float(delta)
        self.distance = _distance(epsilon, delta, n_numbers)
        for name, share in shares.items() if self.distance < inf else ():
            largest = self.deviation(name, share.sensitivity)
            _checked(largest, name)
            _checked(largest / sqrt(share.uses), name)  # of a single use, see divide
        error = {} if self.distance == inf else _sampler_error(n_numbers)
        squared = self.distance * self.distance
        self.mechanism = Mechanism("gaussian", epsilon, delta, squared_distance=squared, **error)

    def deviation(self, name, sensitivity):
        """Return the standard deviation of one use of a query, in units of the sensitivity."""
        share = self._shares[name].fraction / self.uses[name]
        return sensitivity / (self.distance * sqrt(share))

    def divide(self, name, uses):
        """Divide the share of a query evenly into fewer uses than the most, before the first one.

        The number may depend on the answers to earlier queries: the parts of any number of uses
        add up to the share.
        """
        # Given these answers, the uses are μ√f-private together, for a public f, whatever their
        # number; so all queries compose as if it had been fixed beforehand.
        most = self._shares[name].uses
        if not 1 <= uses <= most or not self._uses_left[name] == self.uses[name] == most:
            raise RuntimeError(
                f"The share of query {name!r} can be divided once, before its first use, into 1 "
                f"to {most} uses, not {uses}."
            )
        self.uses[name] = self._uses_left[name] = uses

    def add(self, name, values, sensitivity, scales=1.0):
        """Return the noisy answer to a query, in steps of a public grid, and spend its share.

        The sensitivity is the largest L2 distance between answers for neighbors, in these steps,
        after dividing each coordinate by its scale. Scales multiply the standard deviation.
        """
        values = self._spend(name, np.asarray(values), sensitivity)
        if self._report is not None:
            self._report(name)
        return self._noisy(name, values, self.deviation(name, sensitivity), scales)

    def _noisy(self, name, values, deviation, scales):
        """Return values with noise of this standard deviation times each scale."""
        if not deviation:
            return values.copy()
        scales = np.broadcast_to(np.asarray(scales, dtype=np.float64), values.shape)
        noisy = values.ravel().copy()
        for scale in np.unique(scales):
            scaled = np.flatnonzero(scales.ravel() == scale)
            sampler = _sampler(_checked(deviation * scale, name))
            for start in range(0, len(scaled), 2**16):  # for a small workspace
                block = scaled[start : start + 2**16]
                noisy[block] += sampler.sample(len(block), self._bits)
        return noisy.reshape(values.shape)

    def rehearsal(self):
        """Return queries with the same shares for a rehearsal without rows and noise.

        They answer zeros and refuse other values, so no private row can come through.
        """
        return _Rehearsal(self)

    def _spend(self, name, values, sensitivity):
        """Return values that the share of a query allows, and spend the share."""
        if values.dtype != np.int64:
            raise TypeError(f"The answers of query {name!r} must be int64, got {values.dtype}.")
        if not self._uses_left.get(name):
            raise RuntimeError(f"The share of query {name!r} is spent.")
        share = self._shares[name]
        if values.size > share.numbers or sensitivity > share.sensitivity:
            raise RuntimeError(f"Query {name!r} asks for more than its share allows.")
        self._uses_left[name] -= 1
        return values


class _Rehearsal(GaussianQueries):
    """Queries without rows, whose exact answers are zeros without noise."""

    def __init__(self, queries):
        self._queries, self._shares = queries, queries._shares
        self.uses = {name: share.uses for name, share in self._shares.items()}
        self._uses_left = dict(self.uses)
        self.distance, self.mechanism = queries.distance, queries.mechanism

    def deviation(self, name, sensitivity):
        longer = self.uses[name] / self._shares[name].uses
        return self._queries.deviation(name, sensitivity) * sqrt(longer)

    def add(self, name, values, sensitivity, scales=1.0):
        values = self._spend(name, np.asarray(values), sensitivity)
        if values.any():
            raise RuntimeError(f"Query {name!r} of a rehearsal has an answer other than zero.")
        return values.copy()


class RoundEnd(Exception):
    """All queries of a round have been asked."""


class JointQueries(GaussianQueries):
    """Queries whose answers are sums over several owners, each adding part of the noise.

    Up to ``n_colluding`` of the ``n_owners`` may reveal their own noise; the rest suffices. A
    unit may be in the data of ``overlap`` owners and adds the sensitivity in each. ``distance`` is
    μ of a single release with the joint noise.

    Queries are answered in rounds: ``rounds`` has the names that are asked together, which are
    repeated for queries of several uses. ``answers`` has the sums of all owners' answers, one
    array for each earlier round; :meth:`add` returns these without a look at ``values``, which are
    not needed before ``is_asking``. In the next round it keeps this owner's part of the answers
    in ``contributions``, by the names ``asked``, and raises :class:`RoundEnd` after the last one.
    Without ``bits`` no noise is added, and only answers of zeros, of no rows, are allowed.
    """

    # Each owner draws discrete Gaussian noise of variance σ²/(S − t). The sum of n draws of
    # deviation s has deviation s√n, up to a factor e^τ of each probability, with
    # τ = 10 Σ_{k<n} exp(−2π² s² k/(k + 1)) per number (Kairouz, Liu and Steinke, 2021): below
    # e^-(10^8) here, where s is at least 2^12 steps. What remains is the precision of the
    # sampler, once per draw.

    def __init__(
        self, epsilon, delta, shares, bits, *, n_owners, n_colluding, overlap, rounds, answers
    ):
        self._part = sqrt(1 / n_owners)
        self._rounds, self._answers = rounds, list(answers)
        self._known, self.asked, self.contributions = {}, (), {}
        super().__init__(epsilon, delta, shares, bits, draws=n_owners)
        # More noise than one release has if nobody colludes: the sum of all parts.
        self.distance *= sqrt((n_owners - n_colluding) / n_owners) / overlap
        for name, share in shares.items() if self.distance < inf else ():
            largest = self._part * self.deviation(name, share.sensitivity)
            _checked(largest, name)
            _checked(largest / sqrt(share.uses), name)

    def add(self, name, values, sensitivity, scales=1.0):
        if name not in self._known and name not in self.asked:
            self._begin(next(names for names in self._rounds if name in names))
        if name in self._known:
            answer = self._spend(name, self._known.pop(name), sensitivity)
            return answer.reshape(np.shape(values))
        self.contributions[name] = super().add(name, values, sensitivity, scales).ravel()
        if len(self.contributions) == len(self.asked):
            raise RoundEnd
        return np.zeros_like(values)

    @property
    def is_asking(self):
        """Whether the answers to all earlier rounds have been returned."""
        return not self._answers

    def _begin(self, names):
        """Begin a round, which is answered or asked."""
        if self._answers:
            ends = np.cumsum([self._shares[name].numbers for name in names[:-1]], dtype=int)
            parts = np.split(self._answers.pop(0), ends)
            self._known = dict(zip(names, parts, strict=True))
        else:
            self.asked = names

    def _noisy(self, name, values, deviation, scales):
        if self._bits is None and values.any():
            raise RuntimeError(f"Query {name!r} has an answer other than zero, and no noise.")
        part = 0.0 if self._bits is None else self._part
        return super()._noisy(name, values, deviation * part, scales)


def _distance(epsilon, delta, n_numbers):
    """Return the μ for which the sampled noise is (ε, δ)-private."""
    if epsilon == inf:
        return inf
    error = _sampler_error(n_numbers)
    if epsilon <= error["slack"]:
        raise ValueError(
            f"The 'epsilon' parameter, {epsilon:g}, is smaller than the sampler's error for "
            f"{n_numbers} noisy numbers. Use a larger epsilon or fewer features."
        )
    epsilon -= error["slack"]
    # In logarithms, as e^ε may overflow.
    if np.logaddexp(0.0, epsilon) + log(error["cut"]) >= log(delta):
        most = floor(log(delta) - log(error["cut"])) - 1
        remedy = "a delta such as 1e-5"
        if most > 0:
            remedy = f"at most {most}, with negligible noise, or epsilon=inf for no noise"
        raise ValueError(
            f"The 'epsilon' parameter, {epsilon:g}, exceeds the precision of the sampler with "
            f"delta={delta:g} and {n_numbers} noisy numbers. Use {remedy}."
        )
    delta -= (1 + exp(epsilon)) * error["cut"]
    # The factor compensates for the grid (at δ = 1e-5 it lowers δ relatively by 1e-6).
    return 1 / (gaussian_sigma(epsilon, delta) * (1 + 1e-7))


def _sampler_error(n_numbers):
    return {"slack": n_numbers * PRECISION, "cut": n_numbers * GAUSSIAN_CUT}


def _checked(deviation, name):
    # At 2^12 steps, the δ of answers on the grid relatively exceeds the δ of continuous noise by
    # 3e-8, and by less for larger noise. Of 2^56, a multiple of 32 is still a 64-bit integer.
    least, most = 2.0**12, 2.0**56
    if not least <= deviation <= most:
        size = "large" if deviation < least else "small"
        raise ValueError(
            f"The 'epsilon' parameter leads to noise of {deviation:g} steps for query {name!r}, "
            f"not between {least:g} and {most:g}: epsilon is too {size} for the "
            "grid. Use a value closer to 1."
        )
    return float(deviation)


@lru_cache(maxsize=32)
def _sampler(deviation):
    return GaussianDistribution(deviation).on_grid(1.0)
