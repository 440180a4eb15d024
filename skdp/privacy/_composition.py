"""Composition of mechanisms: ε and δ by closed forms or a numerical bound, and information.

Mechanisms are :class:`~skdp.privacy.Mechanism`, with point masses and sampling errors. The bounds
of the information that a release contains about one unit hold for every prior of the unit given
everything else, so those of several mechanisms, even chosen adaptively, add up by the chain rule.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, expm1, inf, log, log1p, prod, sinh, sqrt

from scipy.optimize import brentq
from scipy.special import betainc, expit

from skdp.privacy._gaussian import MOST_EXPONENT, gaussian_delta, gaussian_epsilon
from skdp.utils._warnings import warn


@dataclass(frozen=True)
class _Numerics:
    """Resolution, errors and limits of numerical composition."""

    sum_rounding: float = 1e-12  # relative: of a sum of losses, and of point masses
    max_rounds: int = 100  # until ε and the correction of δ agree; a few suffice
    # Privacy losses are rounded up to multiples of this fraction of the smallest one, so that ε is
    # right to about a thousandth (tests/privacy/test_accounting.py) ...
    resolution: float = 1e-3
    # ... or of this fraction of their whole range, if that is larger, which bounds the cost.
    range_resolution: float = 1e-5
    multiple_rounding: float = 1e-12  # relative safety margin of a multiple
    # Error of δ by the FFT and by the sum of its tail, times the square root of the number of
    # composed mechanisms: ten times what was measured against binomial sums for 30 to 100,000 of
    # them (5e-15) ...
    random_error: float = 5e-14
    # ... and, times the number itself, float64's epsilon: a rounding error of a total probability
    # is raised to that power.
    systematic_error: float = 2.2e-16
    least_delta: float = 1e-11  # below, that error may be most of δ (20,000 mechanisms: 1.1e-11)
    # Where e^ε overflows, log δ is found from here on, far below the former, to this precision.
    log_least: float = -40.0
    log_precision: float = 0.01
    # Relative error of a binomial tail, times the square root of the number of trials: eight
    # times what was measured for 1000 to 10^9 trials against sums in 40 digits.
    tail_error: float = 3e-14
    # Largest number of mechanisms composed numerically, in about a second. Ten million took ten
    # seconds, and losses so small compared with their sum are hardly resolved.
    most_composed: int = 10**6
    # Smallest parameter and largest sum of losses composed numerically, where e to the power of
    # one step is a float (noise has at least a thousand times the former).
    smallest: float = 1e-9
    greatest: float = 5e7
    safety: float = 1e-10  # relative safety margin of a numerical solution


def composed_delta(mechanisms, epsilon, *, warns=True):
    """Return an upper bound of the δ at which the composition of mechanisms is (ε, δ)-private.

    It includes the numerical error, with a warning where this may be most of it.
    """
    # Apart from point masses it is tight for Gaussian mechanisms, and for pure ones of one
    # parameter; for others, up to a thousandth of the smallest loss, or a 100,000th of all losses.
    if any(mechanism.parameter == inf for mechanism in mechanisms):
        return 0.0 if epsilon == inf else 1.0
    slack, cut = _sampler_error(mechanisms)
    delta = _ideal_delta(mechanisms, max(epsilon - slack, 0.0), warns)
    # The outputs of each neighbor deviate from the distribution by at most the cut.
    return min(1.0, delta + (1 + exp(min(epsilon, MOST_EXPONENT))) * cut) if cut else delta


def _sampler_error(mechanisms):
    """Return the joint slack and cut of all mechanisms."""
    return sum(m.slack for m in mechanisms), sum(m.cut for m in mechanisms)


def _ideal_delta(mechanisms, epsilon, warns):
    # An observer is assumed to notice a point mass: either one occurs and the loss is infinite,
    # or the loss comes from the rest.
    shown, distance = _shown(mechanisms), _gaussian_distance(mechanisms)
    if distance:
        delta = gaussian_delta(1 / distance, epsilon)
    elif _most_epsilon(mechanisms) <= epsilon * (1 + _Numerics.sum_rounding):
        delta = 0.0
    else:
        delta = min(1.0, _tight_delta(_uses(mechanisms), epsilon, warns))
    return shown + (1 - shown) * delta


def _uses(mechanisms):
    """Return the number of uses by kind and parameter, without point masses."""
    uses: dict = {}
    for mechanism in mechanisms:
        if mechanism.parameter > 0:
            key = "pure" if mechanism.kind == "any" else mechanism.kind, mechanism.parameter
            uses[key] = uses.get(key, 0) + mechanism.uses
    return uses


def _shown(mechanisms):
    """Return the probability that any point mass occurs."""
    if any(mechanism.atom == 1 for mechanism in mechanisms):
        return 1.0
    return -expm1(sum(mechanism.uses * log1p(-mechanism.atom) for mechanism in mechanisms))


def _gaussian_distance(mechanisms):
    """Return sensitivity/σ of the single Gaussian mechanism equivalent to all, or None."""
    # Gaussian mechanisms of distances μ_i compose exactly to one of distance √(Σ μ_i²).
    lossy = [mechanism for mechanism in mechanisms if mechanism.parameter > 0]
    if any(mechanism.kind != "gaussian" for mechanism in lossy):
        return None
    return sqrt(sum(mechanism.squared_distance for mechanism in lossy))


def _most_epsilon(mechanisms):
    """Return the largest privacy loss, without point masses."""
    if any(mechanism.kind == "gaussian" and mechanism.parameter > 0 for mechanism in mechanisms):
        return inf
    return sum(mechanism.uses * mechanism.parameter for mechanism in mechanisms)


def composed_epsilon(mechanisms, delta):
    """Return the smallest ε for which the composition of mechanisms is (ε, δ)-private.

    As exact as :func:`composed_delta`; infinite if δ is below the point masses.
    """
    slack, cut = _sampler_error(mechanisms)
    if any(mechanism.parameter == inf for mechanism in mechanisms) or delta < _shown(mechanisms):
        return inf
    epsilon, left = 0.0, delta
    # The part of δ that the cut uses grows with ε: iterate until both agree.
    for _ in range(_Numerics.max_rounds):
        left = delta - (1 + exp(min(epsilon, MOST_EXPONENT))) * cut if cut else delta
        if left < 0:
            return inf
        larger = _ideal_epsilon(mechanisms, left) + slack
        if not cut or larger <= epsilon * (1 + 1e-12):
            return larger
        epsilon = larger
    return inf


def _ideal_epsilon(mechanisms, delta):
    shown, distance = _shown(mechanisms), _gaussian_distance(mechanisms)
    left = (delta - shown) / (1 - shown)
    if distance:
        return gaussian_epsilon_of(distance, left)
    most = _most_epsilon(mechanisms)
    if most == 0 or left <= delta * _Numerics.sum_rounding:
        return most
    return min(most, _tight_epsilon(_uses(mechanisms), left))


def _tight_delta(uses, epsilon, warns=True):
    """Return an upper bound of δ for numbers of uses by kind and positive parameter."""
    bound = _by_pure(uses, _pure_delta, epsilon)
    if bound is not None and _is_enough(uses):
        return bound
    total, error = _loss_distribution(tuple(uses.items()))
    if epsilon <= MOST_EXPONENT:
        delta = max(0.0, total.get_delta_for_epsilon(epsilon)) + error
    else:  # where e^ε overflows
        delta = _invert(total.get_epsilon_for_delta, epsilon) + error
    if bound is not None and bound <= delta:
        return bound
    if warns:
        _warn_below(delta)
    return delta


def _tight_epsilon(uses, delta):
    """Return an upper bound of ε for such uses; infinite if the error is as large as δ."""
    bound = _by_pure(uses, _pure_epsilon, delta)
    if bound is not None and _is_enough(uses):
        return bound
    total, error = _loss_distribution(tuple(uses.items()))
    epsilon = total.get_epsilon_for_delta(delta - error) if delta > error else inf
    if bound is not None and bound <= epsilon:
        return bound
    _warn_below(delta)
    return epsilon


def _by_pure(uses, function, argument):
    """Return a closed form for pure mechanisms of equal ε, or None if there is none."""
    # A Laplace mechanism is at most as bad as a pure one of its ε, and hardly better if very many
    # of a small ε are composed: both have losses of mean ε²/2 and variance ε².
    kinds = {kind for kind, _ in uses}
    parameters = {parameter for _, parameter in uses}
    if "gaussian" in kinds or len(parameters) > 1:
        return None
    return function(parameters.pop(), sum(uses.values()), argument)


def _is_enough(uses):
    """Return whether the closed form cannot be improved numerically."""
    return {kind for kind, _ in uses} == {"pure"} or sum(uses.values()) > _Numerics.most_composed


def _invert(epsilon_of, epsilon):
    """Return δ of a decreasing function from δ to ε, rounded up."""
    low, high = _Numerics.log_least, 0.0
    while high - low > _Numerics.log_precision:
        middle = (low + high) / 2
        low, high = (low, middle) if epsilon_of(exp(middle)) <= epsilon else (middle, high)
    return exp(high)


def _warn_below(delta):
    if delta < _Numerics.least_delta:
        warn(
            f"delta={delta:.1e} is below {_Numerics.least_delta:g}, the resolution of composition "
            "by FFT: the numerical error may be most of this upper bound. Use a larger delta, or "
            "the closed forms epsilon and delta of the guarantee.",
        )


def _pure_delta(epsilon0, k, epsilon):
    """Return δ of k answers, each e^ε0 times as likely for one of two neighbors."""
    # i of k answers are the less likely ones with a binomial distribution, and the loss is (k −
    # 2i)ε0: with q = 1/(1 + e^ε0) and the largest i whose loss exceeds ε, δ = P(Bin(k, q) ≤ i) −
    # e^ε P(Bin(k, 1 − q) ≤ i).
    i = -((epsilon / epsilon0 - k) // 2) - 1
    if i < 0:
        return 0.0
    one = betainc(k - i, i + 1, expit(epsilon0))
    other = betainc(k - i, i + 1, expit(-epsilon0))
    # The subtracted term can be omitted if e^ε overflows.
    both = one - exp(epsilon) * other if epsilon <= MOST_EXPONENT else one
    return float(min(1.0, max(both, 0.0) + _Numerics.tail_error * sqrt(k) * one))


def _pure_epsilon(epsilon0, k, delta):
    most = k * epsilon0
    if _pure_delta(epsilon0, k, 0.0) <= delta:
        return 0.0

    def excess(epsilon):
        return _pure_delta(epsilon0, k, epsilon) - delta

    if excess(most * (1 - _Numerics.safety)) >= 0:
        return most
    root = brentq(excess, 0.0, most * (1 - _Numerics.safety), xtol=1e-305, rtol=1e-14)
    return min(most, root * (1 + _Numerics.safety))


@lru_cache(maxsize=4)  # δ is computed at many ε of one distribution
def _loss_distribution(uses):
    """Return the distribution of the privacy loss, and the error of its probabilities."""
    uses = dict(uses)
    try:
        from dp_accounting.pld import privacy_loss_distribution
    except ImportError as error:
        raise ImportError(
            "Tight composition of this mechanism needs dp-accounting. Install it (pip install "
            "'skdp[privacy]'), or use the closed forms epsilon and delta of compose and "
            "to_record."
        ) from error

    n_composed = sum(uses.values())
    if n_composed > _Numerics.most_composed:
        raise ValueError(
            f"{n_composed} mechanisms are too many for tight composition; the limit is "
            f"{_Numerics.most_composed}. Use the closed forms epsilon and delta of the "
            "guarantee."
        )
    smallest = min(parameter for _, parameter in uses)
    if not (smallest >= _Numerics.smallest and _range(uses) <= _Numerics.greatest):
        raise ValueError(
            f"Losses from {smallest:g} to {_range(uses):g} in sum are too extreme for tight "
            "composition. Use the closed forms epsilon and delta of the guarantee."
        )
    interval = _Numerics.resolution * min(smallest, 1.0)
    interval = max(interval, _Numerics.range_resolution * _range(uses))
    # Make the smallest loss a multiple, so that rounding up does not change it.
    interval = smallest / (smallest // interval) if smallest > interval else interval
    interval *= 1 + _Numerics.multiple_rounding
    options = {"value_discretization_interval": interval}
    total = None
    for (kind, parameter), count in uses.items():
        if kind == "laplace":
            one = privacy_loss_distribution.from_laplace_mechanism(1 / parameter, **options)
        elif kind == "gaussian":
            one = privacy_loss_distribution.from_gaussian_mechanism(1 / parameter, **options)
        else:
            # With ε rounded up to a multiple, both losses are multiples.
            n = ceil(parameter / interval)
            masses = {n: expit(n * interval), -n: expit(-n * interval)}
            distribution = privacy_loss_distribution.PrivacyLossDistribution
            one = distribution.create_from_rounded_probability(masses, 0.0, interval)
        one = one.self_compose(count) if count > 1 else one
        total = one if total is None else total.compose(one)
    random, systematic = _Numerics.random_error, _Numerics.systematic_error
    return total, random * sqrt(n_composed) + systematic * n_composed


def _range(uses):
    """Return a privacy loss that is exceeded with negligible probability."""
    gaussian = sum(n * p * p for (kind, p), n in uses.items() if kind == "gaussian")
    others = sum(count * p for (kind, p), count in uses.items() if kind != "gaussian")
    return others + sqrt(gaussian) * (sqrt(gaussian) / 2 + 10)


def gaussian_epsilon_of(distance, delta):
    """Return ε of a Gaussian mechanism whose sensitivity/σ is ``distance``."""
    if not distance:
        return 0.0
    return gaussian_epsilon(1 / distance, delta) if delta else inf


def information_bound_of(mechanisms, presence):
    """Return the bound in nats, see :meth:`PrivacyGuarantee.information_bound`."""
    gaussian = [mechanism for mechanism in mechanisms if mechanism.kind == "gaussian"]
    others = [mechanism for mechanism in mechanisms if mechanism.kind != "gaussian"]
    nats = _of_gaussian_noise(gaussian, presence) if gaussian else 0.0
    nats += sum(mechanism.uses * pure_information(mechanism.parameter) for mechanism in others)
    # Between two values an (ε, δ) mechanism shows the data with probability δ and is ε-private
    # otherwise (Kairouz, Oh and Viswanath, 2015).
    shown = 1 - prod(1 - mechanism.total_delta for mechanism in others)
    if not presence:
        return inf if shown else nats
    return log(2) if nats >= log(2) else (1 - shown) * nats + shown * log(2)


def _of_gaussian_noise(mechanisms, presence):
    squared = sum(mechanism.squared_distance for mechanism in mechanisms)
    slack = sum(mechanism.slack for mechanism in mechanisms)
    # Samplers of skdp cut off 2^-730 per value, without an effect in float64. For others only the
    # entropy is a bound.
    if sum(mechanism.cut for mechanism in mechanisms) > 1e-150 or slack > 1:
        return inf
    # Values at distances up to μ lie in a ball of the radius of Jung's theorem, so that the trace
    # V of their covariance is at most μ²·d/(2(d + 1)) in d dimensions; two values lie in one. For
    # a given trace, the information is largest for values that are normal and isotropic: d/2 ·
    # log(1 + V/d), which tends to V/2.
    ideal = log1p(squared / 4) / 2 if presence else squared / 4
    # The sampler's P is within e^±η of the distribution Q: with f = log(Q_s/Q̄), information is
    # E_P log(P_s/P̄) ≤ E_P log(P_s/Q̄) ≤ η + E_P f, and E_P f ≤ e^η E_Q f + (e^η − e^−η) E_Q f⁻,
    # where E_Q f⁻ is no more than the total variation of Q_s and Q̄, hence than 1.
    return exp(slack) * ideal + slack + 2 * sinh(slack)


def pure_information(epsilon):
    """Return the largest information of answers with likelihood ratios of at most e^ε."""
    # Given an answer, the likelihoods of all values lie in [m, e^ε m]. As x log x is convex, the
    # information is largest at the ends of this interval. If values of total probability a are at
    # the upper end, with Z = 1 + a(e^ε − 1), it is I(a) = a e^ε ε/Z − log Z, which is largest at Z
    # = ε/(1 − e^−ε): Z − 1 − log Z. That is ε²/8 − ε⁴/576 for small ε, where it loses digits.
    if epsilon < 1e-3 or epsilon == inf:
        return epsilon**2 / 8
    z = epsilon / -expm1(-epsilon)
    return z - 1 - log(z)
