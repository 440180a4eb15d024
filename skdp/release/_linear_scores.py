"""Linear scores of classes: their values, restriction, and estimation from noisy moments."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, softmax
from scipy.stats import norm

from skdp.release._basis import BasisFunctions
from skdp.release._parts import (
    LARGEST_COEFFICIENT,
    Part,
    array,
    check_shape,
    class_names,
    part,
    require,
)
from skdp.release._posterior import (
    WEIGHT_SCALES,
    mean_direction,
    positive_mean,
    posteriors_by_scale,
    shrunk_correlations,
)
from skdp.release._separation import (
    Distances,
    Separation,
    d_primes,
    likely_posteriors,
    likely_variances,
)
from skdp.utils._linalg import NEGLIGIBLE, TINY, positive_definite_floor

# Share of the largest variance below which the variance of a direction is zero in float32.
_PRECISION = 1e-6
# AUC below which two classes count as not separated: more than 45% of pairs of rows, one of each
# class, have scores in the wrong order.
_LEAST_AUC = 0.55
# The warning if noise hides the classes.
NOT_SEPARATED = "This release does not separate the classes."
# Probability of the posterior interval of an AUC.
_INTERVAL = 0.8
_D_PRIMES = ("d_primes", "d_prime_sds")
# Largest number of pairs of classes that are listed.
_MAX_PAIRS = 3


@dataclass(frozen=True)
class LinearScores(Part):
    """Log-posteriors that are linear in functions of the columns.

    Attributes
    ----------
    coefficients : ndarray of shape (n_classes, n_basis)
        Coefficients with sum zero over the classes: −w/2 and w/2 for two classes.

    intercepts : ndarray of shape (n_classes,)

    d_primes : ndarray of shape (n_classes, n_classes) or None, default=None
        Posterior mean of d' of each pair of classes: the difference of their mean scores in
        units of the standard deviation within a class. 0 if noise hides it; None if unknown.

    basis : BasisFunctions or None, default=None
        Functions of the columns; None for the columns themselves.

    d_prime_sds : ndarray of shape (n_classes, n_classes) or None, default=None
        Posterior standard deviations of ``d_primes``; None for 0.

    intercept_sd : ndarray of shape (1,) or None, default=None
        For two classes and rows of several sources: standard deviation of the intercept at
        another site. None if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import LinearScores
    >>> d = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> linear = LinearScores(np.array([[-1.0], [1.0]]), np.zeros(2), d)
    >>> linear.scores(np.array([[0.0], [3.0]]))
    array([[ 0.,  0.],
           [-3.,  3.]])
    >>> linear.expected_auc.round(3)
    array([[0.5  , 0.921],
           [0.921, 0.5  ]])
    """

    coefficients: np.ndarray = array("K f", "f", below=LARGEST_COEFFICIENT)
    intercepts: np.ndarray = array("K", "f", below=LARGEST_COEFFICIENT)
    d_primes: np.ndarray | None = array(
        "K K", "f", least=0, below=LARGEST_COEFFICIENT, optional=True
    )
    basis: BasisFunctions | None = part(BasisFunctions, optional=True)
    d_prime_sds: np.ndarray | None = array(
        "K K", "f", least=0, below=LARGEST_COEFFICIENT, optional=True
    )
    intercept_sd: np.ndarray | None = array("1", "f", below=LARGEST_COEFFICIENT, optional=True)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return log-posteriors up to a constant for each row, (n_samples, n_classes)."""
        Z = X if self.basis is None else self.basis.encode(X)
        return Z @ self.coefficients.T + self.intercepts

    @property
    def expected_auc(self) -> np.ndarray | None:
        r"""Expected area under the ROC curve of each pair of classes.

        For normal scores of equal variance, it is Φ(d'/√2) on rows of the source's distribution.
        For d' ~ N(m, s²), its posterior mean is

        .. math:: Φ(m / \sqrt{2 + s^2})

        ndarray of shape (n_classes, n_classes), 0.5 is chance; None if unknown.
        """
        if self.d_primes is None:
            return None
        return ndtr(self.d_primes / np.sqrt(2 + self._spread**2))

    @property
    def auc_interval(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Bounds of the central 80% posterior interval of the expected AUC, or None.

        Two ndarrays of shape (n_classes, n_classes).
        """
        if self.d_primes is None:
            return None
        half = norm.ppf(0.5 + _INTERVAL / 2) * self._spread
        low, high = (ndtr((self.d_primes + side * half) / np.sqrt(2)) for side in (-1, 1))
        return np.maximum(low, 0.5), high

    @property
    def _spread(self):
        return 0.0 if self.d_prime_sds is None else self.d_prime_sds

    @property
    def tells_classes_apart(self) -> bool:
        """bool: whether any two classes may be separated; True if unknown."""
        interval = self.auc_interval
        return interval is None or bool(interval[1].max() >= _LEAST_AUC)

    def doubt(self) -> str | None:
        """Return a warning if noisy numbers show that classes may not be separated, else None."""
        if not self.tells_classes_apart:
            return NOT_SEPARATED
        areas, interval = self.expected_auc, self.auc_interval
        if areas is None or interval is None or interval[0].max() > 0.5:
            return None
        best = np.unravel_index(areas.argmax(), areas.shape)
        return (
            "This release may separate the classes no better than chance: expected AUC "
            f"{areas[best]:.2f} (80% likely: 0.5 to {interval[1][best]:.2f})."
        )

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless these score the columns of a release, or functions of them."""
        n_inputs = release.n_features if self.basis is None else len(self.basis.column)
        shape = release.outcome.n_sums, n_inputs
        check_shape(self.coefficients, shape, f"{name}.coefficients")
        for key in _D_PRIMES:
            distances = getattr(self, key)
            if distances is not None:
                proper = np.allclose(distances, distances.T) and not distances.diagonal().any()
                wanted = "must be symmetric and not negative, with 0 for a class and itself"
                require(proper, f"{name}.{key}", wanted)
        consistent = self.d_primes is not None or self.d_prime_sds is None
        require(consistent, f"{name}.d_prime_sds", "must be left out where d_primes is")

    def result_lines(self, release: Any) -> list[str]:
        """Return lines about the separation of two classes, if it is known."""
        expected, interval = self.expected_auc, self.auc_interval
        if expected is None or interval is None:
            return []
        labels = class_names(release)
        pairs = np.triu_indices(len(labels), 1)
        areas, low, high = (area[pairs] for area in (expected, *interval))
        texts = [f"{area:.2f}" for area in areas]
        if self.d_prime_sds is not None:
            ends = zip(texts, low, high, strict=True)
            texts = [f"{text} (80% likely: {a:.2f} to {b:.2f})" for text, a, b in ends]
        if not self.tells_classes_apart:
            text = "0.5, as for guesses: noise leaves no difference between classes"
        elif len(areas) == 1:
            text = texts[0]
        elif len(areas) <= _MAX_PAIRS:
            text = "; ".join(
                f"{text} for {labels[a]} and {labels[b]}"
                for a, b, text in zip(*pairs, texts, strict=True)
            )
        else:
            least = int(np.argmin(areas))
            worst = " and ".join(labels[side[least]] for side in pairs)
            text = (
                f"{np.median(areas):.2f} for the median pair of classes, {texts[least]} for "
                f"{worst}, the lowest"
            )
        return [f"expected AUC at the owners, elsewhere it may be lower (chance: 0.5): {text}"]


def restrict_linear(linear, moments, columns):
    """Return linear scores, of all columns themselves, for some of the columns."""
    # Where rows of a class are normal with means μ_c and a covariance W that all classes share,
    # log-posteriors are linear, and those of the columns R that remain are those of all columns
    # with
    # A z_R + r_c, \qquad A = W_{MR} W_{RR}^{-1}
    # in place of the others, M. Here r_c is the average, for class c, of μ_{c,M} - A μ_{c,R} and
    # of its mean over the classes: two classes have their midpoint. The separation d' of two
    # classes lessens: d'² loses the share of the variance of the difference of their scores that R
    # leaves unexplained. See regress for the noise in W: with the plain inverse of a W that was
    # made positive definite, the AUC of adult and flchain without five pairs of columns (three
    # draws, ε = 4 and 1) is .0005 and .0061 lower.
    within, means = moments.within_covariance(), moments.shrunken_means()
    remains = np.isin(np.arange(len(within)), columns)
    left, gone = np.flatnonzero(remains), np.flatnonzero(~remains)
    A = _regress_in_units(moments, within, left, gone)
    coefficients = linear.coefficients.copy()
    missing = coefficients[:, gone]
    coefficients[:, left] += missing @ A
    expected = means[:, gone] - means[:, left] @ A.T
    expected = (expected + expected.mean(axis=0)) / 2
    intercepts = linear.intercepts + (missing * expected).sum(axis=1)
    lost = _squares(missing, _unexplained(within, A, left, gone))
    of_all = _squares(linear.coefficients, positive_definite_floor(within))
    share = np.sqrt(np.clip(1 - lost / np.maximum(of_all, TINY), 0, 1))
    d_primes, sds = (getattr(linear, name) for name in _D_PRIMES)
    d_primes, sds = (None if array is None else share * array for array in (d_primes, sds))
    intercepts = intercepts - intercepts.mean()
    return LinearScores(coefficients[:, columns], intercepts, d_primes, None, sds)


def regress(covariance, left, gone, noise, n_rows):
    """Return coefficients of a linear regression of some columns on others."""
    # Those of one column are a ~ N(0, τ² I) a priori, and its noisy covariances with the columns
    # that are left are y = W a + e with
    # e \sim N(0, (v + |R| v τ²) I + W s/N)
    # for noise of variance v in y and in every entry of W, and N rows of a column of variance s.
    # The posterior mean is averaged over scales τ that are equally likely before y is seen.
    values, vectors = np.linalg.eigh(covariance[np.ix_(left, left)])
    sound = values > _PRECISION * max(values[-1], 0)
    values, vectors = values[sound], vectors[:, sound]
    y = covariance[np.ix_(gone, left)] @ vectors
    variances = np.maximum(covariance.diagonal()[gone], np.sqrt(noise))[:, np.newaxis]
    scales = WEIGHT_SCALES[1:][:, np.newaxis, np.newaxis] ** 2
    signal = scales * values**2
    total = np.maximum(
        signal + noise * (1 + len(left) * scales) + values * variances / n_rows, TINY
    )
    evidence = -(y**2 / total + np.log(total)).sum(axis=2) / 2
    gain = scales * values / total
    return np.einsum("tg,tgd->gd", softmax(evidence, axis=0), gain * y) @ vectors.T


def _regress_in_units(moments, within, left, gone):
    """Return coefficients of :func:`regress`, in units in which noise is equal."""
    noise, units = moments.shares**2 @ moments.covariance_noise, np.ones(len(within))
    if noise.all():  # in units that the owner found comparable
        units = noise**-0.25
    variances = np.maximum(within.diagonal(), np.sqrt(noise)) * units**2
    units = units / (np.sqrt(variances.mean()) or 1.0)
    # A covariance has half the noise of a variance.
    of_covariance = (noise * units**4).mean() / 2
    n_rows = moments.class_counts.sum()
    A = regress(within * np.outer(units, units), left, gone, of_covariance, n_rows)
    return A * units[left] / units[gone][:, np.newaxis]


def _squares(coefficients, covariance):
    """Return the variance of the difference of each pair of scores, (n_classes, n_classes)."""
    v = coefficients[:, np.newaxis] - coefficients
    return ((v @ covariance) * v).sum(axis=2)


def _unexplained(covariance, A, left, gone):
    """Return the covariance of some columns given others."""
    cross = A @ covariance[np.ix_(left, gone)]
    marginal = covariance[np.ix_(gone, gone)]
    covariance = marginal - cross - cross.T + A @ covariance[np.ix_(left, left)] @ A.T
    return positive_definite_floor(covariance)


def linear_discriminant(moments):
    """Return linear log-posteriors of the classes from the moments of noisy rows."""
    # Each class and the rest have the posterior that noisy sums have, with a covariance within
    # classes whose variances are positive and whose correlations are shrunk by the noise in them,
    # and the slope of their separation along the direction of its mean.
    pi, n = moments.frequencies[:, np.newaxis], moments.effective_sizes.sum()
    pi = np.minimum(pi, 1 - NEGLIGIBLE)  # one class may make the others vanish
    # A noise-corrected variance may be negative; the variance of its noise is not.
    within, total = moments.within_covariance(), moments.total_covariance()
    covariance, errors = _shrink(within, np.maximum(within.diagonal(), 0) + moments.noise, n)
    noise_of_variances = np.sqrt(2 / n) * moments.noise.mean()
    # The mean of a class less that of the rest.
    differences = (moments.means - moments.mean) / (1 - pi)
    weights, separations = [], []
    for difference, share in zip(differences, pi[:, 0].tolist(), strict=True):
        size = n * share * (1 - share)
        noise = np.diag(moments.noise / size)
        posteriors = posteriors_by_scale(difference, covariance, errors, noise, size)
        direction = mean_direction(posteriors, likely_posteriors(posteriors), covariance)
        distances = Distances.along(direction, posteriors)
        totals = likely_variances(direction, total, noise_of_variances, n, covariance.diagonal())
        separation = Separation.of(distances, share, *totals)
        separations.append(separation)
        weights.append(separation.slope * direction)
    # The distance of a class mean from the overall mean is (1 − π) times its distance from the
    # mean of the rest.
    coefficients, offsets = (1 - pi) * weights, (1 - pi) * differences
    middles = moments.mean + offsets / 2
    intercepts = np.log(pi[:, 0]) - (coefficients * middles).sum(axis=1)
    coefficients = coefficients - coefficients.mean(axis=0)
    scores = LinearScores(coefficients, intercepts - intercepts.mean())
    if len(pi) > 2:
        return scores
    mean, sd = separations[1].d_prime
    pair = 1 - np.eye(2)
    distances, uncertainty = d_primes(mean * pair, sd * pair, pair, np.ones(2))
    return replace(scores, d_primes=distances, d_prime_sds=uncertainty)


def _shrink(within, spread, n):
    """Return a covariance that can be inverted, and the posterior variances of its entries."""
    # Rows of variances spread, noise included, leave 1/n of their products in an entry, and twice
    # that on the diagonal.
    off = ~np.eye(len(within), dtype=bool)
    errors = np.outer(spread, spread) / n * np.where(off, 1, 2)
    variances = positive_mean(within.diagonal(), np.sqrt(errors.diagonal()))
    # Where the noise exceeds a variance, correlations would exceed 1.
    covariance, shrinkage = shrunk_correlations(within, variances, errors, largest=1)
    squares = np.maximum(np.outer(variances, variances), TINY)
    return covariance, np.where(off, errors * shrinkage, np.minimum(errors, squares))
