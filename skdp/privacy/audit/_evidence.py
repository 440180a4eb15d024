"""What an audit found beside what was claimed: one verdict for both audits."""

from dataclasses import dataclass

import numpy as np

from skdp.privacy._composition import gaussian_epsilon_of
from skdp.privacy._gaussian import gaussian_sigma
from skdp.privacy.audit._intervals import (
    detectable_epsilon,
    detectable_mu,
    epsilon_lower_bound,
    mu_lower_bound,
)


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

    @property
    def refuted(self):
        """Whether the bound is above the claim."""
        return self.claim is not None and bool(self.epsilon_lower > self.claim)

    @property
    def limit(self):
        """The bound that perfect separation of the neighbours would have given."""
        sizes = (self.n, self.n, 0, self.other_n)
        return float(epsilon_lower_bound(*sizes, self.delta, self.confidence))

    @property
    def detectable(self):
        """The least ε that the sample could have told from the claim, or from none at all."""
        claim = 0.0 if self.claim is None else self.claim
        return detectable_epsilon(claim, self.n, self.other_n, self.delta, self.confidence)

    @property
    def verdict(self):
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
        attacks = f"these attacks, which detect at least epsilon = {self.detectable:.3g}"
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
