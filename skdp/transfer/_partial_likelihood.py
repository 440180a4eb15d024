r"""Bayesian Cox regression by Breslow's partial likelihood.

Log-hazards are linear in terms of a row, η = zᵀc, and

.. math:: ℓ(c) = \sum_{i: δ_i = 1} \Big( η_i - \log \sum_{j: t_j \ge t_i} e^{η_j} \Big),

with coefficients that have independent normal priors. The posterior mode is found by Newton's
method; the evidence is Laplace's approximation of the integral of the partial likelihood over the
prior (Breslow, 1974, "Covariance analysis of censored survival data"; MacKay, 1992, "Bayesian
interpolation"). Sums over rows at risk are cumulative sums over rows by time, latest first.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cho_solve, cholesky

from skdp.utils._linalg import TINY

# Steps of Newton's method, and halvings of one, far more than it needs.
_N_STEPS, _N_HALVINGS = 50, 30
# Half the squared length of a step, in posterior standard deviations, at which it stops.
_TOLERANCE = 1e-10


@dataclass(frozen=True)
class PartialLikelihood:
    """Rows by time, latest first, and who is at risk at each event.

    Attributes
    ----------
    terms : ndarray of shape (n_rows, n_terms)

    events : ndarray of shape (n_rows,)
        Which rows have the event.

    last : ndarray of shape (n_events,)
        Position of the last row that is at risk at each event: rows of equal times are.
    """

    terms: np.ndarray
    events: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, terms: np.ndarray, events: np.ndarray, times: np.ndarray) -> Self:
        """Return it by terms, events and times of rows in any order."""
        order = np.argsort(-times, kind="stable")
        earlier = -times[order]
        last = np.searchsorted(earlier, earlier, side="right") - 1
        return cls(terms[order], events[order], last[events[order]])

    def derivatives(self, coefficients: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the logarithm of the partial likelihood, its gradient and minus its Hessian."""
        predicted = self.terms @ coefficients
        highest = predicted.max(initial=0.0)
        factors = np.exp(predicted - highest)
        at_risk = np.maximum(np.cumsum(factors)[self.last], TINY)
        sums = np.cumsum(factors[:, np.newaxis] * self.terms, axis=0)[self.last]
        means = sums / at_risk[:, np.newaxis]
        value = predicted[self.events].sum() - (np.log(at_risk) + highest).sum()
        gradient = (self.terms[self.events] - means).sum(axis=0)
        # A row is at risk at all events whose last row is not before it.
        of_events = np.bincount(self.last, 1 / at_risk, len(factors))
        expected = factors * np.cumsum(of_events[::-1])[::-1]
        squares = self.terms.T @ (expected[:, np.newaxis] * self.terms)
        return float(value), gradient, squares - means.T @ means

    def score_test(self) -> float:
        """Return, of a single term, the standard deviations by which its gradient at 0 is off."""
        _, [gradient], [[information]] = self.derivatives(np.zeros(1))
        return float(gradient / np.sqrt(information)) if information > TINY else 0.0


@dataclass(frozen=True)
class HazardPosterior:
    """The posterior of the coefficients of a Cox regression.

    Attributes
    ----------
    coefficients : ndarray of shape (n_terms,)
        Their mode.

    log_evidence : float
        Laplace's approximation of the logarithm of the mean partial likelihood over the prior.
    """

    coefficients: np.ndarray
    log_evidence: float

    @classmethod
    def of(cls, likelihood: PartialLikelihood, mean: np.ndarray, deviations: np.ndarray) -> Self:
        """Return the posterior given rows.

        Parameters
        ----------
        likelihood : PartialLikelihood

        mean, deviations : ndarray of shape (n_terms,)
            Of the prior of the coefficients; a deviation of 0 fixes a coefficient at its mean.
        """
        # In units of the prior: coefficients are mean + deviations · z.
        z = np.zeros(len(mean))
        objective, slope, L = _in_units(likelihood, mean, deviations, z)
        for _ in range(_N_STEPS):
            step = cho_solve((L, True), slope)
            gain = float(slope @ step)
            for _ in range(_N_HALVINGS):
                found = _in_units(likelihood, mean, deviations, z + step)
                if found[0] >= objective - _TOLERANCE:
                    break
                step = step / 2
            z, (objective, slope, L) = z + step, found
            if gain < 2 * _TOLERANCE:
                break
        return cls(mean + deviations * z, float(objective - np.log(L.diagonal()).sum()))


def _in_units(likelihood, mean, deviations, z):
    """Return the log-posterior at z, its gradient, and a factor of minus its Hessian."""
    value, gradient, information = likelihood.derivatives(mean + deviations * z)
    precision = deviations[:, np.newaxis] * information * deviations
    precision[np.diag_indices_from(precision)] += 1
    return value - z @ z / 2, deviations * gradient - z, cholesky(precision, lower=True)
