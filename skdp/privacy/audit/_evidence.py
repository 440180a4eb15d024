"""Bounds of ε from below by how often something happened, and what samples can show at all."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import beta, norm, rankdata

from skdp.privacy._composition import gaussian_epsilon_of
from skdp.privacy._gaussian import gaussian_sigma

# ε of which no sample shows that it is too small: Q(E) is below 1e-43 there.
_BEYOND_ALL_SAMPLES = 100.0
# μ of which no sample shows that it is too small: Φ(μ/√2) is 1 in float64.
_BEYOND_ALL_NORMALS = 40.0
# Thresholds of the scores that are tried (rule of thumb).
_THRESHOLDS = 200


def clopper_pearson(
    hits: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact confidence interval of a probability.

    Parameters
    ----------
    hits, n : array-like of int
        Successes, and trials.

    confidence : float, default=0.95
        Probability with which the interval holds the truth, at least.

    Returns
    -------
    low, high : ndarray
        Each misses the truth with probability (1 − confidence)/2 at most.

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
    r"""Return an ε that a mechanism cannot be below, from how often an event happened.

    An (ε, δ)-private mechanism has :math:`P(E) \le e^ε Q(E) + δ` for every event E and any
    two neighbours. With a lower limit of P(E) and an upper one of Q(E),

    .. math:: ε \ge \log\frac{P_{low}(E) - δ}{Q_{high}(E)}

    Parameters
    ----------
    hits, n : array-like of int
        How often E happened with one neighbour, in how many trials.

    other_hits, other_n : array-like of int
        The same with the other.

    delta : float, default=0.0
        The δ that is granted.

    confidence : float, default=0.95
        Probability with which the bound is right, for an event chosen beforehand.

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
    r"""Return the least ε that samples of a given size can tell from a smaller claim.

    No event tells the neighbours of an (ε, δ)-private mechanism apart better than one with

    .. math:: P(E) = 1 - Q(E), \qquad Q(E) = \frac{1 - δ}{1 + e^ε}

    (Kairouz et al., 2015). The ε returned is where :func:`epsilon_lower_bound` at the expected
    counts of that event reaches the claim, so that about every other audit refutes it. An
    event that tells less needs a larger leak.

    Parameters
    ----------
    claim : float
        The claimed ε.

    n, other_n : int
        Trials with either neighbour.

    delta : float, default=0.0
        The claimed δ.

    confidence : float, default=0.95
        Of the bound.

    Returns
    -------
    epsilon : float
        Infinite where even perfect separation would not refute the claim.

    References
    ----------
    Kairouz, P., Oh, S. and Viswanath, P., "The composition theorem for differential privacy",
    ICML 2015.

    Examples
    --------
    >>> round(detectable_epsilon(1.0, 10_000, 10_000), 2)
    1.04
    >>> detectable_epsilon(8.0, 100, 100)
    inf
    """
    if epsilon_lower_bound(n, n, 0, other_n, delta, confidence) <= claim:
        return np.inf

    def excess(epsilon):
        q = (1 - delta) * expit(-epsilon)
        low, _ = clopper_pearson(n * (1 - q), n, confidence)
        _, high = clopper_pearson(other_n * q, other_n, confidence)
        return float(low - delta - np.exp(claim) * high)

    return float(brentq(excess, claim, _BEYOND_ALL_SAMPLES))


def mu_lower_bound(wins, n, confidence=0.95):
    r"""Return a μ that a mechanism with Gaussian losses cannot be below, from pairs of outputs.

    A mechanism with losses of Gaussian noise tells two neighbours apart no better than two normal
    distributions of variance 1 whose means are μ apart: no test has a higher ROC curve (Dong,
    Roth and Su, 2022). So whatever number is computed of outputs, that of the one neighbour is the
    greater one with a probability of at most the area under that curve,

    .. math:: P(\text{win}) \le Φ(μ/\sqrt{2}).

    A lower limit of P, from independent pairs, bounds μ from below whatever the distribution of
    the number is. Nasr et al. (2023) bound μ by thresholds; pairs take about a third of the
    trials, and no threshold.

    Parameters
    ----------
    wins, n : array-like of int
        How often the number was the greater one, strictly, in how many pairs.

    confidence : float, default=0.95
        Probability with which the bound is right.

    Returns
    -------
    mu : ndarray
        ≥ 0.

    References
    ----------
    Dong, J., Roth, A. and Su, W. J., "Gaussian differential privacy", Journal of the Royal
    Statistical Society B 84, 2022.

    Nasr, M., Hayes, J., Steinke, T., Balle, B., Tramèr, F., Jagielski, M., Carlini, N. and
    Terzis, A., "Tight auditing of differentially private machine learning", USENIX Security
    2023.

    Examples
    --------
    >>> round(float(mu_lower_bound(760, 1000)), 2)  # Φ(1/√2) is 0.76
    0.9
    """
    # All that may be missed is on one side.
    low, _ = clopper_pearson(wins, n, 2 * confidence - 1)
    return np.sqrt(2) * np.maximum(norm.ppf(low), 0.0)


def detectable_mu(claim, n, confidence=0.95):
    """Return the least μ that pairs of outputs can tell from a smaller claim.

    Where :func:`mu_lower_bound` reaches the claim at the expected number of wins, so that about
    every other audit refutes it.

    Parameters
    ----------
    claim : float
        The claimed μ.

    n : int
        Number of pairs.

    confidence : float, default=0.95
        Of the bound.

    Returns
    -------
    mu : float
        Infinite where even perfect separation would not refute the claim.

    Examples
    --------
    >>> round(detectable_mu(1.0, 1000), 2), detectable_mu(6.0, 1000)
    (1.11, inf)
    """
    if mu_lower_bound(n, n, confidence) <= claim:
        return np.inf
    least = norm.cdf(claim / np.sqrt(2))

    def excess(mu):
        low, _ = clopper_pearson(n * norm.cdf(mu / np.sqrt(2)), n, 2 * confidence - 1)
        return float(low - least)

    return float(brentq(excess, claim, _BEYOND_ALL_NORMALS))


def area_under_curve(members, others, confidence=0.95):
    """Return the area under the ROC curve with its confidence interval.

    Parameters
    ----------
    members, others : array-like of shape (n,)
        Scores of either kind.

    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    area, low, high : float
        By the normal approximation of DeLong et al. (1988), clipped to [0, 1].

    References
    ----------
    DeLong, E., DeLong, D. and Clarke-Pearson, D., "Comparing the areas under two or more
    correlated receiver operating characteristic curves", Biometrics 44, 1988.

    Examples
    --------
    >>> area, low, high = area_under_curve([1, 2, 3, 4], [0, 1, 2, 3])
    >>> area, low < area < high
    (0.71875, True)
    """
    m, n = len(members), len(others)
    joint = rankdata(np.concatenate([members, others]))
    # How many of the others each member beats, and the reverse; ties count half.
    above = (joint[:m] - rankdata(members)) / n
    below = 1 - (joint[m:] - rankdata(others)) / m
    area = above.mean()
    spread = np.sqrt(above.var() / max(m - 1, 1) + below.var() / max(n - 1, 1))
    reach = norm.isf((1 - confidence) / 2) * spread
    return float(area), float(max(area - reach, 0)), float(min(area + reach, 1))


@dataclass(frozen=True)
class Evidence:
    """A lower bound of ε, and what a sample of its size could have shown.

    Parameters
    ----------
    claim : float or None
        The claimed ε; None where nothing is claimed.

    delta : float
        The claimed δ.

    epsilon_lower : float
        ε at this δ that the mechanism cannot be below.

    confidence : float
        Probability with which that bound is right.

    n, other_n : int
        Trials with either neighbour on which it rests.

    attacks : str, default="these attacks"
        What the verdict calls what was tried.

    Examples
    --------
    >>> Evidence(1.0, 0.0, 0.3, 0.95, 300, 300).verdict
    'not refuted by these attacks, which detect at least epsilon = 1.28'
    >>> Evidence(64.0, 0.0, 0.3, 0.95, 300, 300).verdict
    'not refuted, and cannot be: samples of this size show at most epsilon = 4.39'
    """

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
        """The bound that perfect separation of the neighbours would have given."""
        sizes = (self.n, self.n, 0, self.other_n)
        return float(epsilon_lower_bound(*sizes, self.delta, self.confidence))

    @property
    def detectable(self) -> float:
        """The least ε that the sample could have told from the claim, or from none at all."""
        claim = 0.0 if self.claim is None else self.claim
        return detectable_epsilon(claim, self.n, self.other_n, self.delta, self.confidence)

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.refuted:
            return "REFUTED"
        if self.claim == np.inf:
            return "not refuted: an infinite epsilon claims nothing"
        if np.isinf(self.detectable):
            return (
                "not refuted, and cannot be: samples of this size show at most epsilon = "
                f"{self.limit:.3g}"
            )
        attacks = f"{self.attacks}, which detect at least epsilon = {self.detectable:.3g}"
        return (
            f"nothing to refute, by {attacks}"
            if self.claim is None
            else f"not refuted by {attacks}"
        )


class GaussianEvidence(Evidence):
    """The same where Gaussian losses are claimed: a bound of μ, as the ε that it has at δ.

    Of ``n`` pairs of trials, one with either neighbour. A claim that says nothing of its losses
    is not refuted by it.

    Examples
    --------
    >>> GaussianEvidence(1.0, 1e-5, 0.3, 0.95, 1000, 1000).verdict
    'not refuted by these attacks, which detect at least epsilon = 1.4'
    """

    @property
    def limit(self):
        """The bound that perfect separation of the neighbours would have given."""
        mu = float(mu_lower_bound(self.n, self.n, self.confidence))
        return gaussian_epsilon_of(mu, self.delta)

    @property
    def detectable(self):
        """The least ε that the sample could have told from the claim."""
        claim = 1 / gaussian_sigma(self.claim, self.delta)
        mu = detectable_mu(claim, self.n, self.confidence)
        return gaussian_epsilon_of(mu, self.delta) if np.isfinite(mu) else np.inf


class AuditReport:
    """What the reports of all audits say of their ``evidence``."""

    evidence: Evidence

    @property
    def passed(self) -> bool:
        """Whether the claim survives: the bound is not above the claimed ε."""
        return not self.evidence.refuted

    @property
    def epsilon_lower(self) -> float:
        """ε at the claimed δ that what was audited cannot be below."""
        return self.evidence.epsilon_lower

    @property
    def epsilon_limit(self) -> float:
        """The bound that perfect separation would have given: no larger claim can be refuted."""
        return self.evidence.limit

    @property
    def epsilon_detectable(self) -> float:
        """The least ε that so large a sample could have told from the claim, or from none at all.

        With the most telling attack there can be, in every other audit; infinite where no
        attack would do.
        """
        return self.evidence.detectable

    @property
    def verdict(self) -> str:
        """The verdict in words, with the least ε that these attacks could have shown."""
        return self.evidence.verdict


def find_evidence(trials, guarantee, confidence):
    """Return what several attacks together show, and which of them shows most.

    Parameters
    ----------
    trials : dict of {str: tuple}
        Of each attack the ``scores`` of records, of which higher ones are likelier members,
        whether each ``is_member``, and whether it ``chooses`` the threshold or tests it.

    guarantee : PrivacyGuarantee or None
        The claim.

    confidence : float
        That all bounds are right at once (Bonferroni).

    Returns
    -------
    evidence : Evidence
        The greatest bound, and the sizes of the largest sample.

    attack : str
    """
    delta = 0.0 if guarantee is None else guarantee.delta
    each = 1 - (1 - confidence) / len(trials)
    bounds, sizes = {}, []
    for attack, trial in trials.items():
        choice, test = count_halves(*trial)
        bounds[attack] = best_epsilon(choice, test, each, delta)
        sizes.append(test.sizes)
    attack = max(bounds, key=lambda name: bounds[name])
    claim = None if guarantee is None else guarantee.epsilon
    return Evidence(claim, delta, bounds[attack], each, *max(sizes, key=min)), attack


def best_epsilon(choice, test, confidence, delta):
    """Return the bound of ε on one half, by the event that is best on the other half."""
    best = choice.epsilon(confidence, delta).argmax()
    return float(test.epsilon(confidence, delta)[best])


def find_gaussian_evidence(members, others, guarantee, confidence):
    """Return what independent pairs of scores show of Gaussian losses, and the bound of μ."""
    n = len(members)
    mu = float(mu_lower_bound(np.count_nonzero(members > others), n, confidence))
    epsilon = gaussian_epsilon_of(mu, guarantee.delta)
    return GaussianEvidence(guarantee.epsilon, guarantee.delta, epsilon, confidence, n, n), mu


def count_halves(scores, is_member, chooses):
    """Return counts at thresholds: of the records that choose, and of those that test."""
    thresholds = np.unique(np.quantile(scores[chooses], np.linspace(0, 1, _THRESHOLDS)))
    return [
        ThresholdCounts(scores[rows], is_member[rows], thresholds) for rows in (chooses, ~chooses)
    ]


class ThresholdCounts:
    """How many members and others score at least each of some thresholds."""

    def __init__(self, scores, is_member, thresholds):
        samples = [np.sort(scores[is_member == member]) for member in (True, False)]
        self.sizes = [len(sample) for sample in samples]
        self._above = [len(s) - np.searchsorted(s, thresholds, "left") for s in samples]

    def advantage(self):
        members, others = (a / n for a, n in zip(self._above, self.sizes, strict=True))
        return members - others

    def epsilon(self, confidence, delta):
        """Return bounds of ε at δ by the events "above" and then by "not above"."""
        (members, others), (m, n) = self._above, self.sizes
        above = epsilon_lower_bound(members, m, others, n, delta, confidence)
        below = epsilon_lower_bound(n - others, n, m - members, m, delta, confidence)
        return np.concatenate([above, below])
