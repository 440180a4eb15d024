"""Distributions of scores in two or more classes, from noisy histograms.

The expected rows λ in the bins of a class are smooth in the score, and so is the logarithm of the
ratio of two classes, which for calibrated scores is the score itself. Histograms differ from λ by
sampling and by noise of known variance:

    h ~ N(λ, λ + σ²),  log λ of the first class and log-ratios ~ random walks of second order.

The posterior is normal about its mode (Laplace), and how smooth both are is chosen by evidence.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit
from scipy.stats import chi2

from skdp.utils._linalg import NEGLIGIBLE

# Precisions of second differences of the logarithms that are compared: of the density, and of its
# ratio, which is smoother.
_DENSITIES = 10.0 ** np.arange(0, 5)
_RATIOS = 10.0 ** np.arange(1, 6)
# Precision of the logarithms about their prior means: nearly zero.
_RIDGE = 0.01
# Most steps of Newton's method, the change at which it stops, and the largest change in one step
# (rules of thumb).
_MOST_STEPS, _TOLERANCE, _LARGEST_STEP = 60, 1e-6, 2.0
# Share of the draws of a normal posterior that counts as implausible.
_EXCLUDED = 1e-3
# Rows that a measure needs, shown with 95% confidence. With fewer, the prior would determine its
# value: an AUC of 0.84 for 1,000 rows, none of which has the class.
LEAST_ROWS, _CONFIDENCE = 20, 1.645


def enough_rows(counts, deviation, axis=None):
    """Return whether the sum of noisy counts shows enough rows for a measure."""
    total = np.sum(counts, axis=axis)
    noise = deviation * np.sqrt(np.size(counts) / np.size(total))
    return total - _CONFIDENCE * noise >= LEAST_ROWS


@dataclass(frozen=True)
class Bins:
    """Public bins of log-odds, of equal width; the outer bins include all values beyond."""

    low: float
    high: float
    n: int

    @property
    def width(self):
        """Width of a bin."""
        return (self.high - self.low) / self.n

    @property
    def centers(self):
        """Log-odds in the middle of each bin, (n,)."""
        return self.low + self.width * (np.arange(self.n) + 0.5)

    @property
    def probabilities(self):
        """Probability in the middle of each bin, (n,)."""
        return expit(self.centers)

    def of(self, probabilities):
        """Return the bin of each probability; NaN counts in the middle bin."""
        with np.errstate(all="ignore"):
            log_odds = np.log(probabilities) - np.log1p(-probabilities)
        log_odds = np.nan_to_num(log_odds, nan=self.middle, posinf=inf, neginf=-inf)
        steps = np.floor((log_odds - self.low) / self.width)
        return np.clip(steps, 0, self.n - 1).astype(np.int64)

    @property
    def middle(self):
        """Log-odds in the middle of all bins."""
        return (self.low + self.high) / 2


def posterior_draws(histograms, ratios, deviation, n_draws, random_state):
    """Return expected rows by class and bin, drawn from their posterior.

    ``ratios`` are the expected log-ratios of each other class to the first, by bin.
    """
    ratios = np.atleast_2d(ratios)
    if deviation == 0:
        return random_state.gamma(
            np.maximum(histograms, NEGLIGIBLE), size=(n_draws, *histograms.shape)
        )
    fits = [
        _fit(histograms, ratios, deviation, density, ratio)
        for density in _DENSITIES
        for ratio in _RATIOS
    ]
    evidence = np.array([fit[0] for fit in fits])
    weights = np.exp(evidence - evidence.max())
    chosen = random_state.choice(len(fits), n_draws, p=weights / weights.sum())
    draws = np.empty((n_draws, *histograms.shape))
    for k in np.unique(chosen):
        of_fit = np.flatnonzero(chosen == k)
        _, mode, root, loss = fits[k]
        normal = random_state.standard_normal((mode.size, len(of_fit)))
        x = mode[:, np.newaxis] + solve_triangular(root, normal, lower=True, trans="T")
        # Where hardly any rows are, a logarithm is skewed, and its normal approximation has draws
        # of thousands of rows: those that the posterior excludes are replaced by others.
        plausible = loss(x) - loss(mode[:, np.newaxis]) < chi2.isf(_EXCLUDED, mode.size) / 2
        if plausible.any():
            other = random_state.choice(np.flatnonzero(plausible), len(of_fit))
            x = np.where(plausible, x, x[:, other])
        logs = (_adding(*histograms.shape) @ x).reshape(*histograms.shape, -1)
        draws[of_fit] = np.exp(np.clip(logs, -30, 30)).transpose(2, 0, 1)
    return draws


def _adding(n_classes, n):
    """Return what makes logarithms of rows from those of the first class, and log-ratios."""
    first = np.zeros((n_classes, n_classes))
    first[:, 0] = 1
    return np.kron(np.maximum(first, np.eye(n_classes)), np.eye(n))


def _fit(histograms, ratios, deviation, density, ratio):
    """Return log evidence, posterior mode, lower root of the precision, and log density."""
    n_classes, n = histograms.shape
    differences = np.diff(np.eye(n), 2, axis=0)
    smooth = differences.T @ differences
    precisions = np.diag([density, *[ratio] * (n_classes - 1)])
    precision = np.kron(precisions, smooth) + _RIDGE * np.eye(n_classes * n)
    rows = np.maximum(histograms.sum(axis=1), 1.0)
    prior = np.concatenate([np.full(n, np.log(rows[0] / n)), *ratios])
    target = histograms.ravel()
    both = _adding(n_classes, n)
    x, variances = prior.copy(), np.repeat(rows / n, n) + deviation**2

    def loss(x, variances=None):
        """Return the negative logarithm of the posterior of columns."""
        expected = np.exp(np.minimum(both @ x, 30))
        if variances is None:
            variances = expected + deviation**2
        terms = (target[:, np.newaxis] - expected) ** 2 / variances + np.log(variances)
        distance = x - prior[:, np.newaxis]
        return (terms.sum(axis=0) + (distance * (precision @ distance)).sum(axis=0)) / 2

    def of_step(x):
        return loss(x[:, np.newaxis], variances[:, np.newaxis])[0]

    for _ in range(_MOST_STEPS):
        expected = np.exp(np.minimum(both @ x, 30))
        variances = expected + deviation**2
        slopes = expected[:, np.newaxis] * both
        gradient = slopes.T @ ((target - expected) / variances) - precision @ (x - prior)
        curvature = slopes.T @ (slopes / variances[:, np.newaxis]) + precision
        factor = cho_factor(curvature, lower=True)
        step = cho_solve(factor, gradient)
        step *= min(1.0, _LARGEST_STEP / max(np.abs(step).max(), NEGLIGIBLE))
        before = of_step(x)
        while of_step(x + step) > before and np.abs(step).max() > _TOLERANCE:
            step /= 2
        x = x + step
        if np.abs(step).max() < _TOLERANCE:
            break
    root = np.linalg.cholesky(curvature)
    log_prior = np.log(np.linalg.cholesky(precision).diagonal()).sum()
    return log_prior - of_step(x) - np.log(root.diagonal()).sum(), x, root, loss
