r"""Likelihoods of outcomes given terms of their rows, with normal priors of the coefficients.

The posterior of numbers has a closed form (Bishop, 2006, "Pattern recognition and machine
learning", section 3.5 and exercises 3.12 and 3.23). That of classes and of times is Laplace's
approximation about the mode (MacKay, 1992, "Bayesian interpolation").
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import gammaln, log_softmax

from skdp.utils._linalg import TINY

# Steps of Newton's method, and halvings of one, far more than it needs.
_N_STEPS = 50
# Half the squared length of a step, in posterior standard deviations, at which it stops.
_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Posterior:
    """The posterior of coefficients.

    Attributes
    ----------
    coefficients : ndarray of shape (n_coefficients,)
        Their mean or mode.

    factor : ndarray of shape (n_coefficients, n_coefficients)
        Their covariance is variance·factorᵀ factor.

    log_evidence : float
        Logarithm of the mean likelihood over the prior.

    variance : float, default=1
        Mean of the variance of a number about its expectation; 1 for classes and times.
    """

    coefficients: np.ndarray
    factor: np.ndarray
    log_evidence: float
    variance: float = 1.0

    def leverage(self, terms: np.ndarray) -> np.ndarray:
        """Return the variance of each row's expectation, relative to ``variance``."""
        return ((terms @ self.factor.T) ** 2).sum(axis=1)


@dataclass(frozen=True)
class GaussianLikelihood:
    """Numbers about linear expectations.

    The variance about these has an inverse gamma prior, and prior deviations of coefficients are
    relative to its root.

    Attributes
    ----------
    terms : ndarray of shape (n_rows, n_terms)

    outcome : ndarray of shape (n_rows,)

    variance : float
        Prior mean of the variance.

    freedom : float
        Degrees of freedom of its prior, above 2: the prior counts as ``freedom − 2`` rows.
    """

    terms: np.ndarray
    outcome: np.ndarray
    variance: float
    freedom: float

    @cached_property
    def _gram(self):
        return self.terms.T @ self.terms

    def posterior(self, mean: np.ndarray, deviations: np.ndarray) -> Posterior:
        """Return the posterior; a deviation of 0 fixes a coefficient at its prior mean."""
        excess = self.outcome - self.terms @ mean
        precision = deviations[:, np.newaxis] * self._gram * deviations
        precision[np.diag_indices_from(precision)] += 1
        L = cholesky(precision, lower=True)
        explained = solve_triangular(L, deviations * (self.terms.T @ excess), lower=True)
        factor = solve_triangular(L, np.diag(deviations), lower=True)
        n, total = len(excess), self.freedom + len(excess)
        before = (self.freedom - 2) * self.variance
        after = before + max(excess @ excess - explained @ explained, 0.0)
        log_evidence = gammaln(total / 2) - gammaln(self.freedom / 2)
        log_evidence -= np.log(L.diagonal()).sum() + n * np.log(np.pi) / 2
        log_evidence += (self.freedom * np.log(before) - total * np.log(after)) / 2
        coefficients = mean + factor.T @ explained
        return Posterior(coefficients, factor, float(log_evidence), float(after / (total - 2)))


class _LaplaceLikelihood:
    """A concave log-likelihood with ``derivatives``: value, gradient and minus the Hessian."""

    def derivatives(self, coefficients: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        raise NotImplementedError

    def posterior(self, mean: np.ndarray, deviations: np.ndarray) -> Posterior:
        """Return the posterior; a deviation of 0 fixes a coefficient at its prior mean."""
        # In units of the prior: coefficients are mean + deviations · z.
        z = np.zeros(len(mean))
        objective, slope, L = self._in_units(mean, deviations, z)
        for _ in range(_N_STEPS):
            step = cho_solve((L, True), slope)
            gain = float(slope @ step)
            for _ in range(_N_STEPS):
                following = self._in_units(mean, deviations, z + step)
                if following[0] >= objective - _TOLERANCE:
                    break
                step = step / 2
            z, (objective, slope, L) = z + step, following
            if gain < 2 * _TOLERANCE:
                break
        factor = solve_triangular(L, np.diag(deviations), lower=True)
        log_evidence = float(objective - np.log(L.diagonal()).sum())
        return Posterior(mean + deviations * z, factor, log_evidence)

    def _in_units(self, mean, deviations, z):
        """Return the log-posterior at z, its gradient, and a factor of minus its Hessian."""
        value, gradient, information = self.derivatives(mean + deviations * z)
        precision = deviations[:, np.newaxis] * information * deviations
        precision[np.diag_indices_from(precision)] += 1
        return value - z @ z / 2, deviations * gradient - z, cholesky(precision, lower=True)


def contrasts(n_classes: int) -> np.ndarray:
    """Return orthonormal contrasts of classes, (n_classes, n_classes − 1)."""
    rows = np.arange(n_classes)[:, np.newaxis]
    k = np.arange(1, n_classes)
    helmert = np.where(rows < k, -1.0, np.where(rows == k, k, 0.0))
    return helmert / np.sqrt(k * (k + 1))


@dataclass(frozen=True)
class SoftmaxLikelihood(_LaplaceLikelihood):
    """Classes by scores: a slope of given scores, and coefficients of terms for each contrast.

    The first coefficient is the slope; those of terms follow, (n_terms, n_classes − 1). Terms of
    two classes differ by √2 times their coefficient, so that a prior deviation is that of their
    log-odds: with two classes it is a logistic regression.

    Attributes
    ----------
    terms : ndarray of shape (n_rows, n_terms)

    labels : ndarray of shape (n_rows,)
        Class indices.

    scores : ndarray of shape (n_rows, n_classes)
        Multiplied by the slope.

    offsets : ndarray of shape (n_classes,)
        Added to all rows.
    """

    terms: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    offsets: np.ndarray

    @cached_property
    def _contrasts(self):
        return contrasts(self.scores.shape[1])

    def posterior(self, mean, deviations):
        """Return the posterior, given the prior of the slope and of terms in log-odds."""
        k = self._contrasts.shape[1]
        deviations = np.append(deviations[0], np.repeat(deviations[1:], k) / np.sqrt(2))
        return super().posterior(np.append(mean[0], np.repeat(mean[1:], k)), deviations)

    def derivatives(self, coefficients):
        """Return the log-likelihood, its gradient and minus its Hessian."""
        X, C, s = self.terms, self._contrasts, self.scores
        q, k = X.shape[1], C.shape[1]
        logits = self.offsets + coefficients[0] * s
        logs = log_softmax(logits + X @ coefficients[1:].reshape(q, k) @ C.T, axis=1)
        p, own = np.exp(logs), (np.arange(len(X)), self.labels)
        excess = -p
        excess[own] += 1
        gradient = np.append((excess * s).sum(), X.T @ excess @ C)
        # Each row's covariance of indicators, in contrasts and against the scores.
        means, weighed = p @ C, p * (s - (p * s).sum(axis=1, keepdims=True))
        inner = np.einsum("nc,ca,cb->abn", p, C, C) - means.T[:, np.newaxis] * means.T
        information = np.empty((1 + q * k, 1 + q * k))
        information[0, 0] = (weighed * s).sum()
        information[0, 1:] = information[1:, 0] = (X.T @ (weighed @ C)).ravel()
        blocks = information[1:, 1:].reshape(q, k, q, k)
        for a in range(k):
            for b in range(a + 1):
                blocks[:, a, :, b] = (X * inner[a, b][:, np.newaxis]).T @ X
                blocks[:, b, :, a] = blocks[:, a, :, b]
        return float(logs[own].sum()), gradient, information

    def log_probabilities(self, posterior, terms, scores, offsets=0.0, *, moderated=False):
        """Return log-probabilities of other rows.

        Those of uncertain coefficients are moderated (MacKay, 1992): logits are divided by
        √(1 + πv/8), with the mean variance v of the part of log-odds that is due to terms.
        """
        C, (q, k) = self._contrasts, (self.terms.shape[1], self._contrasts.shape[1])
        W = posterior.coefficients[1:].reshape(q, k)
        logits = offsets + posterior.coefficients[0] * scores + terms @ W @ C.T
        if moderated:
            factor = posterior.factor[:, 1:].reshape(-1, q, k)
            covariance = np.tensordot(factor, factor, axes=((0, 2), (0, 2)))
            variance = 2 / k * ((terms @ covariance) * terms).sum(axis=1)
            logits = logits / np.sqrt(1 + np.pi * variance / 8)[:, np.newaxis]
        return log_softmax(logits, axis=1)


@dataclass(frozen=True)
class CoxLikelihood(_LaplaceLikelihood):
    r"""Breslow's partial likelihood of times (1974), of rows by time, latest first.

    .. math:: ℓ(c) = \sum_{i: δ_i = 1} \Big( η_i - \log \sum_{j: t_j \ge t_i} e^{η_j} \Big)

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
    def of(cls, terms: np.ndarray, events: np.ndarray, times: np.ndarray) -> "CoxLikelihood":
        """Return it by terms, events and times of rows in any order."""
        order = np.argsort(-times, kind="stable")
        earlier = -times[order]
        last = np.searchsorted(earlier, earlier, side="right") - 1
        return cls(terms[order], events[order], last[events[order]])

    def derivatives(self, coefficients):
        """Return the logarithm of the partial likelihood, its gradient and minus its Hessian."""
        predicted = self.terms @ coefficients
        highest = predicted.max(initial=0.0)
        factors = np.exp(predicted - highest)
        at_risk = np.maximum(np.cumsum(factors)[self.last], TINY)
        sums = np.cumsum(factors[:, np.newaxis] * self.terms, axis=0)[self.last]
        means = sums / at_risk[:, np.newaxis]
        value = float((predicted[self.events] - np.log(at_risk) - highest).sum())
        gradient = (self.terms[self.events] - means).sum(axis=0)
        # A row is at risk at all events whose last row is not before it.
        of_events = np.bincount(self.last, 1 / at_risk, len(factors))
        expected = factors * np.cumsum(of_events[::-1])[::-1]
        squares = self.terms.T @ (expected[:, np.newaxis] * self.terms)
        return value, gradient, squares - means.T @ means

    def score_test(self) -> float:
        """Return, of a single term, the standard deviations by which its gradient at 0 is off."""
        _, [gradient], [[information]] = self.derivatives(np.zeros(1))
        return float(gradient / np.sqrt(information)) if information > TINY else 0.0
