r"""Upper bounds on the information that a release contains about one unit, in nats.

Each holds for every prior of the unit given everything else, so that the bounds of several
mechanisms, each chosen adaptively, add up by the chain rule.
"""

from dataclasses import dataclass
from math import ceil, exp, expm1, floor, inf, isfinite, log, log1p, log10, prod, sinh

import numpy as np
from scipy.special import xlogy

# ε and arguments of x − log(1 + x) up to which an integral replaces a difference that would lose
# digits (rule of thumb: 20 nodes have full precision, tests/privacy/test_information.py).
_SMALL = 1.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2  # on [0, 1]


@dataclass(frozen=True)
class InformationBound:
    """Upper bound on the information that a release contains about one unit.

    Parameters
    ----------
    nats : float
        Upper bound on the mutual information of the unit and the release, given all other data.

    about : str
        The unit, or its presence, that the bound is about.

    source : str
        The inequality from which the bound follows.

    assumes : str
        The prior of the unit for which it holds.

    Examples
    --------
    >>> from skdp.privacy import InformationBound
    >>> bound = InformationBound(0.1, "the label", "likelihood ratios", "any prior")
    >>> round(bound.bits, 3)
    0.144
    >>> print(bound)
    It says at most 0.145 bits (0.1 nats) about the label, for any prior.
    """

    nats: float
    about: str
    source: str
    assumes: str

    @property
    def bits(self) -> float:
        """The bound in bits: nats divided by log 2."""
        return self.nats / log(2)

    def __str__(self) -> str:
        if self.nats == inf:
            return (
                f"Without a prior over finitely many values there is no bound on what it says "
                f"about {self.about}."
            )
        return (
            f"It says at most {round_up(self.bits)} bits ({round_up(self.nats)} nats) about "
            f"{self.about}, for {self.assumes}."
        )


def round_up(value, n_digits=3):
    """Return a number ≥ 0 as a string of a few significant digits, rounded up."""
    if not value or not isfinite(value):
        return f"{value:g}"
    digits = n_digits - 1 - floor(log10(value))
    if digits <= 0:
        return f"{ceil(value * (1 - 1e-12)):,}"
    return f"{ceil(value * 10**digits * (1 - 1e-12)) / 10**digits:.{n_digits}g}"


def information_bound_of(guarantee, prior=None):
    """Return the bound for a guarantee, see :meth:`PrivacyGuarantee.information_bound`."""
    presence = guarantee.relation == "add/remove"
    probabilities = None if prior is None else _check_prior(prior)
    if presence and probabilities is not None and len(probabilities) != 2:
        raise ValueError(
            "The 'prior' parameter must have two probabilities with relation='add/remove', that "
            f"the {guarantee.unit} is there and that it is not, got {len(probabilities)}. For its "
            "values, given that it is there, use to_replace_one().information_bound()."
        )
    nats, source = _bound(guarantee.mechanisms, probabilities, presence, guarantee.unit)
    unit = guarantee.unit.replace("labeled record", "record with its label")
    return InformationBound(
        nats=nats,
        about=f"whether the {unit} is in the data" if presence else f"the {unit}",
        source=source,
        assumes=_assumptions(guarantee, probabilities),
    )


def _assumptions(guarantee, prior):
    many = "any prior" if prior is None else f"the given prior of {len(prior)} values"
    if guarantee.sensitivity is None:
        return many
    who = "that differ" if guarantee.unit == "element" else "each element of which differs"
    return f"{many}, over values {who} by {guarantee.sensitivity:g} at most"


def _bound(mechanisms, prior, presence, unit):
    """Return the smallest proven bound, and the inequality from which it follows."""
    entropy, n_values = (log(2), 2) if presence else (inf, inf)
    if prior is not None:
        entropy = float(max(0.0, -xlogy(prior, prior).sum()))
        prior = prior[prior > 0]
        n_values = len(prior)
    if entropy == 0:
        return 0.0, "entropy"
    # Probability that any mechanism shows the data themselves.
    shown = 1 - prod(1 - _shown(mechanism, n_values) for mechanism in mechanisms)
    free, source = _without_point_masses(mechanisms, prior, n_values, unit)
    if free >= entropy or shown == 1:
        return entropy, "entropy"
    if shown:
        free = inf if entropy == inf else (1 - shown) * free + shown * entropy
        source = f"{source}, and entropy where the data are shown"
    return free, source


def _shown(mechanism, n_values):
    """Return the probability that a mechanism shows the data, being ε-private otherwise."""
    # Between two values this describes every (ε, δ) mechanism (Kairouz, Oh and Viswanath, 2015).
    # "pure" may stand for other mechanisms (joint_guarantee), for which it does not hold.
    if mechanism.kind == "laplace" or (mechanism.kind != "gaussian" and n_values == 2):
        return mechanism.total_delta
    return 0.0


def _without_point_masses(mechanisms, prior, n_values, unit):
    """Return the sum of the bounds of mechanisms without point masses, and the inequalities."""
    total, sources = 0.0, []
    gaussian = [mechanism for mechanism in mechanisms if mechanism.kind == "gaussian"]
    others = [mechanism for mechanism in mechanisms if mechanism.kind != "gaussian"]
    if gaussian:
        total += _of_gaussian_noise(gaussian, prior, n_values, unit)
        sources.append("variance against that of Gaussian noise")
    if others:
        answers = sum(_of_private_answers(mechanism, n_values) for mechanism in others)
        sources.append("likelihood ratios")
        decompose = all(not m.delta or _shown(m, n_values) for m in others)
        if prior is not None and decompose and not gaussian:
            # With a prior, the bound on all answers together may be smaller than the sum.
            together = sum(mechanism.total_epsilon for mechanism in others)
            answers = min(answers, pure_information(together, prior))
        total += answers
    return total, " and ".join(sources)


def _of_private_answers(mechanism, n_values):
    uses, epsilon, delta = mechanism.uses, mechanism.parameter, mechanism.atom
    if not delta or _shown(mechanism, n_values):
        return uses * pure_information(epsilon)
    return inf if n_values == inf else uses * approximate_information(epsilon, delta, n_values)


def _of_gaussian_noise(mechanisms, prior, n_values, unit):
    squared = sum(mechanism.squared_distance for mechanism in mechanisms)
    slack = sum(mechanism.slack for mechanism in mechanisms)
    # Samplers of skdp cut off 2^-730 for each value, without an effect in float64. For others only
    # the entropy is a bound.
    if sum(mechanism.cut for mechanism in mechanisms) > 1e-150 or slack > _SMALL:
        return inf
    on_a_line = unit == "element" or n_values == 2
    ideal = gaussian_information(squared, 1 if on_a_line else inf, prior)
    # The sampler's P is within e^±η of the distribution Q: with f = log(Q_s/Q̄), information is
    # E_P log(P_s/P̄) ≤ E_P log(P_s/Q̄) ≤ η + E_P f, and E_P f ≤ e^η E_Q f + (e^η − e^−η) E_Q f⁻,
    # where E_Q f⁻ is no more than the total variation of Q_s and Q̄, hence than 1.
    return exp(slack) * ideal + slack + 2 * sinh(slack)


def pure_information(epsilon, prior=None):
    """Return the largest information of answers with likelihood ratios of at most e^ε."""
    # Given an answer, the likelihoods of all values lie in [m, e^ε m]. As x log x is convex, the
    # information is largest at the ends of this interval. If values of total probability a are at
    # the upper end, with Z = 1 + a(e^ε − 1), it is I(a) = a e^ε ε/Z − log Z, which is largest at Z
    # = ε/(1 − e^−ε): Z − 1 − log Z, for small ε ε²/8. With a prior over few values, a is the
    # probability of a subset of them.
    if epsilon == inf:
        return inf
    excess = _scale_less_one(epsilon)
    best = _minus_log1p(excess)
    if prior is None or len(prior) > 16:  # of 16, all of some 65,000 subsets are tried
        return best
    shares = np.zeros(1)
    for probability in prior:
        shares = np.concatenate([shares, shares + probability])
    return min(best, float(_by_share(np.clip(shares, 0, 1), epsilon).max()))


def _scale_less_one(epsilon):
    """Return ε/(1 − e^−ε) − 1, which is ε ∫ (1 − e^−εs) ds / (1 − e^−ε)."""
    if epsilon == 0:
        return 0.0
    if epsilon > _SMALL:
        return epsilon / -expm1(-epsilon) - 1
    return float(epsilon * (_WEIGHTS @ -np.expm1(-epsilon * _NODES)) / -expm1(-epsilon))


def _minus_log1p(x):
    """Return x − log(1 + x), which is x² ∫ s/(1 + xs) ds."""
    if x > _SMALL:
        return x - log1p(x)
    return float(x * x * (_WEIGHTS @ (_NODES / (1 + x * _NODES))))


def _by_share(a, epsilon):
    """Return the information of an answer that is e^ε times as likely for a part a of values."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        less = exp(-epsilon)
        upper = a / (a + (1 - a) * less)
        if epsilon <= _SMALL:
            return upper * epsilon - np.log1p(a * expm1(epsilon))
        said = -(1 - upper) * epsilon - np.log(a + (1 - a) * less)
    return np.where(a > 0, said, 0.0)


def gaussian_information(squared_distance, n_dimensions=inf, prior=None):
    """Return the largest information about values observed with normal noise of variance one."""
    # Values at distances up to μ lie in a ball of the radius of Jung's theorem, so that the trace
    # V of their covariance is at most μ²·d/(2(d + 1)) in d dimensions. It is also half the mean
    # squared distance of two independent values, hence at most μ²(1 − Σp²)/2. For a given trace,
    # the information is largest for values that are normal and isotropic: d/2 · log(1 + V/d).
    if not squared_distance:
        return 0.0
    d = n_dimensions
    trace_share = 0.5 if d == inf else d / (2 * (d + 1))
    if prior is not None:
        p = np.asarray(prior)
        trace_share = min(trace_share, float(p @ (1 - p)) / 2)
    trace = squared_distance * trace_share
    return trace / 2 if d == inf else d / 2 * log1p(trace / d)


def approximate_information(epsilon, delta, n_values):
    """Return the largest information of (ε, δ)-private answers about which of k values it is."""
    # With the distribution P of one value as reference, clip that of each other value to [e^−ε P,
    # e^ε P] and redistribute the mass that is cut off: this changes it by at most δ in total
    # variation, since at most δ is above e^ε P and at most e^−ε δ is missing below. The answers
    # are therefore those of a mechanism with ratios up to e^2ε, except in an event B of
    # probability at most δ. Knowing whether B occurred adds at most h(δ), and its outcome log k:
    # C(2ε) + h(δ) + δ log k.
    half = min(delta, 0.5)
    surprise = 0.0 if half == 0 else -half * log(half) - (1 - half) * log1p(-half)
    return pure_information(2 * epsilon) + surprise + delta * log(n_values)


def _check_prior(prior):
    try:
        probabilities = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        probabilities = np.empty(0)
    if probabilities.ndim != 1 or not len(probabilities) or not np.isfinite(probabilities).all():
        raise ValueError(
            "The 'prior' parameter must be None or a list of probabilities, got "
            f"{prior!r:.60}. Pass one probability for each value."
        )
    if (probabilities < 0).any() or abs(probabilities.sum() - 1) > 1e-9:
        raise ValueError(
            "The 'prior' parameter must have probabilities of at least 0 that sum to 1, got a "
            f"least one of {probabilities.min():g} and a sum of {probabilities.sum():.12g}. "
            "Divide by the sum."
        )
    return probabilities
