"""Bayesian linear regression in closed form.

Coefficients have independent normal priors whose variances are relative to the variance of the
outcome about its expectation, which has an inverse gamma prior. The posterior, the evidence and
predictions, of Student's t distribution, then have closed forms (Bishop, 2006, "Pattern
recognition and machine learning", section 3.5 and exercises 3.12 and 3.23).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import gammaln


@dataclass(frozen=True)
class Sums:
    """What rows say of a linear regression.

    Attributes
    ----------
    gram : ndarray of shape (n_terms, n_terms)
        Sums of products of terms.

    moments : ndarray of shape (n_terms,)
        Sums of products of terms and outcome.

    square : float
        Sum of squares of the outcome.

    n_rows : int
    """

    gram: np.ndarray
    moments: np.ndarray
    square: float
    n_rows: int

    @classmethod
    def of(cls, terms: np.ndarray, outcome: np.ndarray) -> Self:
        """Return the sums of rows, (n_rows, n_terms), and their outcomes."""
        return cls(terms.T @ terms, terms.T @ outcome, float(outcome @ outcome), len(outcome))

    def about(self, coefficients: np.ndarray) -> "Sums":
        """Return the sums with the outcome minus its expectation by some coefficients."""
        fitted = self.gram @ coefficients
        square = self.square + coefficients @ (fitted - 2 * self.moments)
        return Sums(self.gram, self.moments - fitted, float(square), self.n_rows)


@dataclass(frozen=True)
class Posterior:
    """The posterior of a linear regression.

    Attributes
    ----------
    coefficients : ndarray of shape (n_terms,)
        Their mean.

    factor : ndarray of shape (n_terms, n_terms)
        Their covariance is variance·factorᵀ factor.

    variance : float
        Mean of the variance of the outcome about its expectation.

    log_evidence : float
        Logarithm of the density of the outcomes before they are seen.
    """

    coefficients: np.ndarray
    factor: np.ndarray
    variance: float
    log_evidence: float

    @classmethod
    def of(
        cls,
        sums: Sums,
        mean: np.ndarray,
        deviations: np.ndarray,
        variance: float,
        freedom: float,
    ) -> Self:
        """Return the posterior given the sums of rows.

        Parameters
        ----------
        sums : Sums

        mean : ndarray of shape (n_terms,)
            Prior mean of the coefficients.

        deviations : ndarray of shape (n_terms,)
            Prior standard deviations, relative to that of the outcome about its expectation;
            0 fixes a coefficient at its mean.

        variance : float
            Prior mean of the variance of the outcome about its expectation.

        freedom : float
            Degrees of freedom of its prior, above 2: it counts for as many rows as exceed 2.
        """
        sums = sums.about(mean)
        precision = deviations[:, np.newaxis] * sums.gram * deviations
        precision[np.diag_indices_from(precision)] += 1
        L = cholesky(precision, lower=True)
        explained = solve_triangular(L, deviations * sums.moments, lower=True)
        factor = solve_triangular(L, np.diag(deviations), lower=True)
        n, total = sums.n_rows, freedom + sums.n_rows
        before = (freedom - 2) * variance
        after = before + max(sums.square - explained @ explained, 0.0)
        log_evidence = gammaln(total / 2) - gammaln(freedom / 2) - np.log(L.diagonal()).sum()
        log_evidence += (freedom * np.log(before) - total * np.log(after) - n * np.log(np.pi)) / 2
        coefficients = mean + factor.T @ explained
        return cls(coefficients, factor, float(after / (total - 2)), float(log_evidence))

    def leverage(self, terms: np.ndarray) -> np.ndarray:
        """Return the variance of the expected outcome of each row, relative to ``variance``."""
        return ((terms @ self.factor.T) ** 2).sum(axis=1)

    def held_out(self, terms: np.ndarray, outcome: np.ndarray) -> np.ndarray:
        """Return the expectation of each training row, (n_rows,), by the other rows."""
        left = outcome - terms @ self.coefficients
        return outcome - left / (1 - self.leverage(terms))
