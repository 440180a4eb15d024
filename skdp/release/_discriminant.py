"""Linear scores of classes from the moments of noisy rows: an empirical-Bayes discriminant."""

import numpy as np

from skdp.release._linear import LinearScores
from skdp.release._posterior import positive_mean, posterior_weights

# Least eigenvalue of the correlations. The AUC over six tables is the same from .05 to .2.
_LEAST_EIGENVALUE = 0.05
# Slope of the log-odds along the direction found, where a discriminant of normal classes has 1:
# columns of tables are not normal, and the direction has followed the noise. On six tables, at
# ε = 4 and 16 an element, slopes fitted to held-out rows are .68-1.06, .84 in the median.
_SLOPE = 0.85
# Least fraction of rows that are of other classes: a file may have a class beside which others
# vanish in floating point (rule of thumb, less than one of a billion rows).
_LEAST_REST = 1e-12
_TINY = np.finfo(np.float64).tiny


def linear_discriminant(moments):
    """Return linear log-posteriors of the classes from the moments of noisy rows.

    For each class against the rest, the weights are the posterior mean of those of a linear
    discriminant (:func:`posterior_weights`), with a covariance W within classes whose variances
    are positive and whose correlations are shrunk by the noise in them. In shrunk directions W
    is too small, and weights too long; slopes are therefore w·δ/(w·Ŵw), with the unshrunk Ŵ.

    Parameters
    ----------
    moments : Moments
        Of noisy rows.

    Returns
    -------
    linear : LinearScores
        Of the columns themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import Moments, linear_discriminant
    >>> rng = np.random.RandomState(0)
    >>> y = rng.randint(2, size=2000)
    >>> noisy = np.column_stack([0.3 * y, 0 * y]) + 0.1 * rng.randn(2000, 2) + rng.randn(2000, 2)
    >>> moments = Moments.measure(noisy, np.eye(2)[y], noise=np.ones(2))
    >>> linear = linear_discriminant(moments)
    >>> linear.scores(np.array([[0.0, 0.0], [0.3, 0.0]])).argmax(axis=1)
    array([0, 1])
    """
    pi, n = moments.frequencies[:, np.newaxis], moments.effective_sizes.sum()
    pi = np.minimum(pi, 1 - _LEAST_REST)
    within = moments.within_covariance()
    # What is left of a variance may be negative; what made the noise in it is not.
    covariance, errors = _shrink(within, np.maximum(within.diagonal(), 0) + moments.noise, n)
    # The mean of a class less that of the rest.
    differences = (moments.means - moments.mean) / (1 - pi)
    sizes = n * pi * (1 - pi)
    weights = np.array(
        [
            posterior_weights(difference, covariance, errors, np.diag(moments.noise / size), size)[
                0
            ]
            for difference, size in zip(differences, sizes[:, 0], strict=True)
        ]
    )
    found, spread = (weights * differences).sum(axis=1), ((weights @ within) * weights).sum(axis=1)
    spread = np.maximum(spread, _TINY)
    slopes = np.clip(_SLOPE * found, 0, spread) / spread
    weights *= slopes[:, np.newaxis]
    # A class mean is (1 − π) times as far from that of all rows as from that of the rest.
    coefficients, offsets = (1 - pi) * weights, (1 - pi) * differences
    middles = moments.mean + offsets / 2
    intercepts = np.log(pi[:, 0]) - (coefficients * middles).sum(axis=1)
    coefficients = coefficients - coefficients.mean(axis=0)
    return LinearScores(coefficients, intercepts - intercepts.mean())


def _shrink(within, spread, n):
    """Return a covariance that can be inverted, and the posterior variances of its entries.

    Rows of variances ``spread``, noise included, leave 1/n of their products in an entry, and
    twice that on the diagonal.
    """
    off = ~np.eye(len(within), dtype=bool)
    errors = np.outer(spread, spread) / n * np.where(off, 1, 2)
    variances = positive_mean(within.diagonal(), np.sqrt(errors.diagonal()))
    squares = np.maximum(np.outer(variances, variances), _TINY)
    correlations, noise = within / np.sqrt(squares), errors / squares
    excess = max(np.mean((correlations**2 - noise)[off]), _TINY) if off.any() else 1.0
    shrinkage = excess / (excess + noise)
    # Where noise took more than all of a variance, correlations would exceed 1.
    correlations = np.where(off, np.clip(correlations * shrinkage, -1, 1), 1.0)
    values, vectors = np.linalg.eigh((correlations + correlations.T) / 2)
    correlations = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    remaining = np.where(off, errors * shrinkage, np.minimum(errors, squares))
    return correlations * np.sqrt(squares), remaining
