"""Lower bounds of ε from event counts, and the smallest violations that samples can detect."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import beta, norm, rankdata

from skdp.privacy._composition import gaussian_epsilon_of
from skdp.privacy._gaussian import gaussian_sigma


def clopper_pearson(
    hits: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact confidence interval of a probability.

    Parameters
    ----------
    hits, n : array-like of int
        Numbers of successes and of trials.

    confidence : float, default=0.95
        Coverage probability, at least.

    Returns
    -------
    low, high : ndarray
        Limits, each wrong with a probability of at most (1 − confidence)/2.

    References
    ----------
    Clopper, C. and Pearson, E., "The use of confidence or fiducial limits illustrated in the
    case of the binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> from skdp.privacy.audit import clopper_pearson
    >>> low, high = clopper_pearson(0, 100)
    >>> float(low), round(float(high), 4)
    (0.0, 0.0362)
    """
    hits, n = np.asarray(hits, dtype=np.float64), np.asarray(n, dtype=np.float64)
    miss = (1 - confidence) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, beta.ppf(miss, hits, n - hits + 1), 0.0)
        high = np.where(hits < n, beta.isf(miss, hits + 1, n - hits), 1.0)
    return low, high


def epsilon_lower_bound(
    hits: ArrayLike,
    n: ArrayLike,
    other_hits: ArrayLike,
    other_n: ArrayLike,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> np.ndarray:
    r"""Return a lower bound of the ε of a mechanism from how often an event occurred.

    An (ε, δ)-private mechanism has :math:`P(E) \le e^ε Q(E) + δ` for every event E and any
    two neighbors. With a lower limit of P(E) and an upper limit of Q(E),

    .. math:: ε \ge \log\frac{P_{low}(E) - δ}{Q_{high}(E)}

    Parameters
    ----------
    hits, n : array-like of int
        How often E occurred with one neighbor, and in how many trials.

    other_hits, other_n : array-like of int
        The same with the other neighbor.

    delta : float, default=0.0
        The claimed δ.

    confidence : float, default=0.95
        Probability that the bound is right, for an event chosen beforehand.

    Returns
    -------
    epsilon : ndarray
        ≥ 0.

    Examples
    --------
    >>> from skdp.privacy.audit import epsilon_lower_bound
    >>> round(float(epsilon_lower_bound(500, 1000, 10, 1000)), 2)
    3.24
    """
    low, _ = clopper_pearson(hits, n, confidence)
    _, high = clopper_pearson(other_hits, other_n, confidence)
    return np.log(np.maximum((low - delta) / high, 1.0))


def detectable_epsilon(claim, n, other_n, delta=0.0, confidence=0.95):
    """Return the smallest ε that an audit detects with a power of about 50%, or infinity."""
    # No event distinguishes the neighbors of an (ε, δ)-private mechanism better than one with
    # P(E) = 1 − Q(E), Q(E) = (1 − δ)/(1 + e^ε) (Kairouz, Oh and Viswanath, 2015). The ε returned
    # is where the lower bound at the expected counts of that event reaches the claim.
    if epsilon_lower_bound(n, n, 0, other_n, delta, confidence) <= claim:
        return np.inf

    def excess(epsilon):
        q = (1 - delta) * expit(-epsilon)
        low, _ = clopper_pearson(n * (1 - q), n, confidence)
        _, high = clopper_pearson(other_n * q, other_n, confidence)
        return float(low - delta - np.exp(claim) * high)

    return float(brentq(excess, claim, 100.0))  # Q(E) is below 1e-43 there, beyond all samples


def mu_lower_bound(wins, n, confidence=0.95):
    """Return a lower bound of μ of a mechanism with Gaussian losses, from won pairs of outputs."""
    # With the losses of Gaussian noise, two neighbors are no easier to distinguish than two normal
    # distributions of variance 1 whose means differ by μ (Dong, Roth and Su, 2022). For any score
    # of the outputs, one neighbor therefore exceeds the other with a probability of at most the
    # area under that ROC curve, Φ(μ/√2). Nasr et al. (2023) bound μ by thresholds; pairs need
    # about a third of the trials, and no threshold.
    # A one-sided limit.
    low, _ = clopper_pearson(wins, n, 2 * confidence - 1)
    return np.sqrt(2) * np.maximum(norm.ppf(low), 0.0)


def detectable_mu(claim, n, confidence=0.95):
    """Return the smallest μ that pairs detect with a power of about 50%, or infinity."""
    if mu_lower_bound(n, n, confidence) <= claim:
        return np.inf
    least = norm.cdf(claim / np.sqrt(2))

    def excess(mu):
        low, _ = clopper_pearson(n * norm.cdf(mu / np.sqrt(2)), n, 2 * confidence - 1)
        return float(low - least)

    return float(brentq(excess, claim, 40.0))  # Φ(μ/√2) is 1 in float64 there


def area_under_curve(members, others, confidence=0.95):
    """Return the area under the ROC curve of two groups of scores, and its interval."""
    # By the normal approximation of DeLong, DeLong and Clarke-Pearson (1988), clipped to [0, 1].
    m, n = len(members), len(others)
    joint = rankdata(np.concatenate([members, others]))
    # Fraction of the others below each member, and the reverse; ties count half.
    above = (joint[:m] - rankdata(members)) / n
    below = 1 - (joint[m:] - rankdata(others)) / m
    area = above.mean()
    spread = np.sqrt(above.var() / max(m - 1, 1) + below.var() / max(n - 1, 1))
    reach = norm.isf((1 - confidence) / 2) * spread
    return float(area), float(max(area - reach, 0)), float(min(area + reach, 1))


@dataclass(frozen=True)
class Evidence:
    """A lower bound of ε, and what a sample of this size could have detected."""

    claim: float | None
    delta: float
    epsilon_lower: float
    confidence: float
    n: int
    other_n: int
    attacks: str = "these attacks"

    @property
    def refuted(self) -> bool:
        """Whether the bound is above the claim."""
        return self.claim is not None and bool(self.epsilon_lower > self.claim)

    @property
    def limit(self) -> float:
        """The bound that perfect separation of the neighbors would have given."""
        sizes = (self.n, self.n, 0, self.other_n)
        return float(epsilon_lower_bound(*sizes, self.delta, self.confidence))

    @property
    def detectable(self) -> float:
        """The smallest ε that the sample could have distinguished from the claim or from 0."""
        claim = 0.0 if self.claim is None else self.claim
        return detectable_epsilon(claim, self.n, self.other_n, self.delta, self.confidence)

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        if self.refuted:
            return "REFUTED"
        if self.claim == np.inf:
            return "not refuted: an infinite epsilon claims nothing"
        if np.isinf(self.detectable):
            return (
                "not refuted, and cannot be: samples of this size show at most epsilon = "
                f"{self.limit:.3g}"
            )
        verdict = "nothing to refute, by" if self.claim is None else "not refuted by"
        least = f"{self.detectable:.3g}"
        return f"{verdict} {self.attacks}, which detect at least epsilon = {least}"


class GaussianEvidence(Evidence):
    """Evidence against a claim of Gaussian losses from pairs of trials: a bound of μ as ε at δ.

    It does not refute a claim that states nothing about its losses.
    """

    @property
    def limit(self):
        """The bound that perfect separation of the neighbors would have given."""
        mu = float(mu_lower_bound(self.n, self.n, self.confidence))
        return gaussian_epsilon_of(mu, self.delta)

    @property
    def detectable(self):
        """The smallest ε that the sample could have distinguished from the claim."""
        claim = 1 / gaussian_sigma(self.claim, self.delta)
        mu = detectable_mu(claim, self.n, self.confidence)
        return gaussian_epsilon_of(mu, self.delta) if np.isfinite(mu) else np.inf


class AuditReport:
    """Properties shared by the reports of all audits."""

    evidence: Evidence

    @property
    def passed(self) -> bool:
        """Whether the claim survives: the bound is not above the claimed ε."""
        return not self.evidence.refuted

    @property
    def epsilon_lower(self) -> float:
        """Lower bound of the true ε at the claimed δ."""
        return self.evidence.epsilon_lower

    @property
    def epsilon_limit(self) -> float:
        """The bound that perfect separation would have given; larger claims cannot be refuted."""
        return self.evidence.limit

    @property
    def epsilon_detectable(self) -> float:
        """The smallest ε that a sample of this size could have detected with a power of 50%.

        For the best possible attack, compared with the claim, or with 0 without a claim; infinite
        if no attack could detect any.
        """
        return self.evidence.detectable

    @property
    def verdict(self) -> str:
        """The verdict as a sentence, with the smallest ε that the attacks could have detected."""
        return self.evidence.verdict


def find_evidence(trials, guarantee, confidence):
    """Return the joint evidence of several attacks and the strongest of them.

    Each attack has scores, higher for likelier members, who is a member, and who chooses the
    threshold.
    """
    delta = 0.0 if guarantee is None else guarantee.delta
    of_one = 1 - (1 - confidence) / len(trials)
    bounds, sizes = {}, []
    for attack, trial in trials.items():
        choice, test = count_halves(*trial)
        bounds[attack] = best_epsilon(choice, test, of_one, delta)
        sizes.append(test.sizes)
    attack = max(bounds, key=lambda name: bounds[name])
    claim = None if guarantee is None else guarantee.epsilon
    return Evidence(claim, delta, bounds[attack], of_one, *max(sizes, key=min)), attack


def best_epsilon(choice, test, confidence, delta):
    """Return the bound of ε on one half, for the event that was best on the other half."""
    best = choice.epsilon(confidence, delta).argmax()
    return float(test.epsilon(confidence, delta)[best])


def find_gaussian_evidence(members, others, guarantee, confidence):
    """Return the evidence for Gaussian losses from independent pairs, and the μ bound."""
    n = len(members)
    mu = float(mu_lower_bound(np.count_nonzero(members > others), n, confidence))
    epsilon = gaussian_epsilon_of(mu, guarantee.delta)
    return GaussianEvidence(guarantee.epsilon, guarantee.delta, epsilon, confidence, n, n), mu


def count_halves(scores, is_member, chooses):
    """Return counts at thresholds, for the records that choose and for those that test."""
    # Neighboring thresholds differ by half a percent of the records.
    thresholds = np.unique(np.quantile(scores[chooses], np.linspace(0, 1, 200)))
    return [
        ThresholdCounts(scores[rows], is_member[rows], thresholds) for rows in (chooses, ~chooses)
    ]


class ThresholdCounts:
    """Numbers of members and others at or above each of several thresholds."""

    def __init__(self, scores, is_member, thresholds):
        samples = [np.sort(scores[is_member == member]) for member in (True, False)]
        self.sizes = [len(sample) for sample in samples]
        self._above = [len(s) - np.searchsorted(s, thresholds, "left") for s in samples]

    def advantage(self):
        members, others = (a / n for a, n in zip(self._above, self.sizes, strict=True))
        return members - others

    def epsilon(self, confidence, delta):
        """Return bounds of ε at δ for the events "above" and then "not above"."""
        (members, others), (m, n) = self._above, self.sizes
        above = epsilon_lower_bound(members, m, others, n, delta, confidence)
        below = epsilon_lower_bound(n - others, n, m - members, m, delta, confidence)
        return np.concatenate([above, below])
