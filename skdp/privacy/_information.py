"""Upper bounds on the information that a release contains about one unit.

Each holds for every prior of the unit given everything else, so the bounds of several mechanisms,
even chosen adaptively, add up by the chain rule.
"""

from math import exp, expm1, inf, log, log1p, prod, sinh


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
