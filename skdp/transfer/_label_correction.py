"""Correction by labels: offset logistic regression around a source's log-posteriors."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, rel_entr, softmax
from scipy.stats import chi2

from skdp.transfer._evidence import average_posteriors, held_out_probabilities, log_likelihood
from skdp.utils._warnings import warn

# Largest variance of the coefficients of standardized columns. Over six tables with 10-20 labels
# per class, wider priors lose up to .017 of AUC.
MAX_VARIANCE = 1 / 300
# Largest prior variance of all columns together, relative to that of the scores; rule of thumb.
_SHARE_OF_COLUMNS = 0.25
# Smallest prior variances, of each column and of all together: labels must have an effect even
# with an uninformative source. Over six tables the gain of AUC by 10 labels per class is .0004
# without and .0075 with it at ε = .5 for a record, .0005 and .0029 at 1, and the same at 4.
_MIN_VARIANCE, _MIN_TOGETHER = 1 / 1000, 0.1
# Weight below which a correction is excluded; rule of thumb.
_MIN_WEIGHT = 0.05
# Significance level of class frequencies among labels for a warning, and the same if all labels
# are of one class, when more depends on it; rules of thumb.
_SURPRISING, _SURPRISING_ALONE = 1e-3, 0.05
# Relative variation below which columns are treated as constant; rule of thumb.
_MIN_VARIATION = 1e-5


@dataclass(frozen=True)
class _Prior:
    """Prior of the corrections: standard deviations of slope and intercepts, variances, odds."""

    # Standard deviation of the slope of scores around 1. Over five tables with 10-20 labels per
    # class, log loss falls by .0009 with .1 and by .0005 with .2, both ± .0004; AUC is the same.
    slope: float = 0.1
    # Standard deviation of the intercepts if frequencies are those of the source. Over six tables,
    # log loss falls by .0011, .0010 and .0008 with .3, .2 and .1, all ± .0006; on adult, where no
    # correction is needed, it rises by .0011, .0004 and .0001.
    same_frequencies: float = 0.2
    # Standard deviation of the intercepts for arbitrary frequencies, and the number of sites as
    # which it counts if the spread between sites is known. Over four hospitals, .5 to 1.5 are
    # similar; with the spread of three others in its place, log loss is .477 and .522 with 10
    # labels (ε = 4 and 1), and .447 and .484 with this.
    other_frequencies: float = 1.0
    n_sites: int = 4
    # Prior log-odds of other frequencies, for a random sample of labels. For six tables split by a
    # column, and four hospitals from one source and from three, with 10 labels, log loss is more
    # than .01 above that of the source alone in 8 of 52 cases with 0, and in 3 with −1.
    other_log_odds: float = -1.0
    # Wider corrections for more labels: variances of coefficients and their prior log-odds, and
    # the standard deviation of the slope. With log-odds of −1 and −2, 30 labels cost up to .045 of
    # AUC in the same cases; a slope of standard deviation 1 with the second is as good as .3.
    looser: tuple = ((0.02, -3.0), (0.1, -5.0))
    looser_slope: float = 0.3
    # Standard deviation of the slope if labels correct only the slope, for more than two classes,
    # and its prior log-odds for stratified labels; they are 0 for a random sample, whose
    # intercepts have to be learned. With 10 labels per class, log-odds of 0 to 3 are similar on
    # human activity; on Fashion-MNIST up to 2 points are lost without it and with 0, .4 with 2 and
    # .2 with 3, and .05 of log loss is gained.
    scaled_slope: float = 1.0
    scaled_log_odds: float = 3.0
    # Variances of coefficients for labels alone, and their prior log-odds: a logistic regression
    # averaged over regularization strengths by cross-validation. 1 is best for images, .02 for
    # tables with 10 labels per class: over six, log loss is .653 with these log-odds, .686 with 0
    # for all (and .005 in addition), and .692 with two variances, .02 and 1; with 60 labels of a
    # random sample it is .434, .437 and .443.
    alone: tuple = ((0.02, 0.0), (0.1, -2.0), (0.5, -4.0), (2.5, -6.0))


_PRIOR = _Prior()


class Standardizer:
    """Standardization of the target's columns; constant ones become 0.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        All target rows.
    """

    def __init__(self, X):
        self._mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        constant = deviation <= _MIN_VARIATION * np.abs(self._mean)
        self._inverse = np.where(constant, 0.0, 1 / np.where(constant, 1.0, deviation))

    def transform(self, X):
        """Return standardized rows."""
        return (X - self._mean) * self._inverse


@dataclass(frozen=True)
class LabeledRows:
    """The labeled rows of a target.

    Attributes
    ----------
    is_labeled : ndarray of shape (n_samples,), bool
        Mask of the labeled rows.

    labels, folds : ndarrays of shape (n_labeled,)
        Class indices, and folds of cross-validation.

    Z : ndarray of shape (n_labeled, n_features)
        Standardized columns.
    """

    is_labeled: np.ndarray
    labels: np.ndarray
    folds: np.ndarray
    Z: np.ndarray

    @property
    def all_labels(self):
        """Class indices of all rows, −1 where unlabeled."""
        labels = np.full(len(self.is_labeled), -1)
        labels[self.is_labeled] = self.labels
        return labels

    @cached_property
    def rotated(self):
        """The columns, rotated to at most as many as rows, and the directions of these."""
        U, s, directions = np.linalg.svd(self.Z, full_matrices=False)
        return U * s, directions


def sampling_of(labels, label_sampling, frequencies):
    """Return how the labeled rows were chosen, "random" or "stratified"."""
    # "auto" stands for stratified if some rows are unlabeled and the classes with labels have
    # equally many of them. Labels of a single class are a random sample, for which this is common
    # with few labels, unless it would be unlikely even if the class were as frequent as one
    # standard deviation of the prior of the intercepts allows.
    if label_sampling != "auto":
        return label_sampling
    classes, counts = np.unique(labels[labels >= 0], return_counts=True)
    if (labels >= 0).all() or (counts != counts[:1]).any():
        return "random"
    if len(classes) == 1 and frequencies is not None:
        likely = expit(logit(frequencies[classes[0]]) + _PRIOR.other_frequencies)
        return "random" if likely ** counts[0] >= _SURPRISING else "stratified"
    return "stratified"


def warn_of_frequencies(labels, expected, sampling):
    """Warn if class frequencies among labels differ much from those expected of all rows."""
    # The likelihood-ratio test of a random sample must be significant at one in a thousand, or at
    # one in twenty if a single class has labels.
    shares = np.bincount(labels, minlength=len(expected)) / len(labels)
    level = _SURPRISING_ALONE if shares.max() == 1 else _SURPRISING
    if 2 * len(labels) * rel_entr(shares, expected).sum() < chi2.isf(level, len(expected) - 1):
        return
    consequence = {
        "random": "They count as a random sample: predictions follow their frequencies. If they "
        "were chosen class by class, set label_sampling='stratified'",
        "stratified": "They count as chosen class by class: predictions follow the frequencies "
        "that the source expects. If they are a random sample, set label_sampling='random'",
    }[sampling]
    observed, expected = (np.round(p, 2).tolist() for p in (shares, expected))
    warn(
        f"The {len(labels)} labels name the classes with frequencies {observed}, where the source "
        f"expects {expected} (in the order of classes_). {consequence}; name it either way, or "
        "give class_prior, to end this warning."
    )


def sampling_offsets(labels, posteriors):
    """Return the log-ratio of class frequencies among labels and in the posteriors of all rows."""
    # With these offsets, labels drawn equally from each class are no evidence of its frequency.
    # One label of each class is added, since all may be missing.
    counts = np.bincount(labels, minlength=posteriors.shape[1]) + 1.0
    return np.log(counts / counts.sum()) - np.log(posteriors.mean(axis=0) + 1e-6)


@dataclass(frozen=True)
class OffsetLogisticRegression:
    r"""Correction of log-posteriors s by labels: a s + b + Z u; the identity before it is fitted.

    The prior is centered at no change,

    .. math:: a \sim N(1, \sigma_a^2), \quad b_c \sim N(0, \sigma_b^2), \quad
       u_{jc} \sim N(0, v).

    Attributes
    ----------
    variance : float
        Prior variance v of the coefficients.

    intercept_deviation, slope_deviation : float
        Prior standard deviations of intercepts and slope.

    slope : float, default=1
        Slope a.

    intercepts : ndarray of shape (n_classes,) or float, default=0
        Intercepts b.

    coefficients : ndarray of shape (n_columns, n_classes) or None, default=None
        Coefficients u; None for 0.
    """

    variance: float
    intercept_deviation: float = _PRIOR.same_frequencies
    slope_deviation: float = _PRIOR.slope
    slope: float = 1.0
    intercepts: np.ndarray | float = 0.0
    coefficients: np.ndarray | None = None

    def fit(self, scores, Z, labels, offsets):
        """Return the posterior mode of the correction, given labeled rows."""
        K, rows = scores.shape[1], np.arange(len(labels))
        deviations = np.full(1 + K + Z.shape[1] * K, np.sqrt(self.variance))
        deviations[0], deviations[1 : K + 1] = self.slope_deviation, self.intercept_deviation

        def parts(x):
            x = deviations * x  # x itself has unit variance, so that deviations may be 0
            return 1 + x[0], x[1 : K + 1], x[K + 1 :].reshape(-1, K)

        def loss(x):
            a, b, u = parts(x)
            logs = log_softmax(a * scores + offsets + b + Z @ u, axis=1)
            excess = np.exp(logs)
            excess[rows, labels] -= 1
            slope, intercepts = (excess * scores).sum(), excess.sum(axis=0)
            gradient = deviations * np.r_[slope, intercepts, (Z.T @ excess).ravel()]
            return x @ x / 2 - logs[rows, labels].sum(), gradient + x

        a, b, u = parts(minimize(loss, 0 * deviations, jac=True, method="L-BFGS-B").x)
        return replace(self, slope=float(a), intercepts=b, coefficients=u)

    def cross_fit(self, scores, rows, offsets):
        """Return the correction by all labeled rows, and their out-of-fold log-posteriors."""
        # The prior is isotropic, so that columns may be rotated.
        Z, directions = rows.rotated
        corrected = np.empty_like(scores)
        for k in np.unique(rows.folds):
            held_out, train = rows.folds == k, rows.folds != k
            fewer = self.fit(scores[train], Z[train], rows.labels[train], offsets)
            corrected[held_out] = fewer.apply(scores[held_out], Z[held_out])
        fitted = self.fit(scores, Z, rows.labels, offsets)
        return replace(fitted, coefficients=directions.T @ fitted.coefficients), corrected

    def apply(self, scores, Z):
        """Return corrected log-posteriors."""
        u = self.coefficients
        if u is None:
            u = np.zeros((Z.shape[1], scores.shape[1]))
        return log_softmax(self.slope * scores + self.intercepts + Z @ u, axis=1)


@dataclass(frozen=True)
class AveragedCorrection:
    """Average of corrections of several strengths, weighted by held-out labels.

    Attributes
    ----------
    corrections : tuple of OffsetLogisticRegression
        The first one is used without labels.

    log_odds : tuple of float
        Prior log-odds of each.

    weights : ndarray of shape (n_corrections,) or None, default=None
        Weights, None before it is fitted.
    """

    corrections: tuple
    log_odds: tuple
    weights: np.ndarray | None = None

    @classmethod
    def of_source(cls, log_posteriors, n_columns, sampling, spread=None, n_sources=1):
        """Return corrections in which few labels change little, and many as much as needed."""
        few = coefficient_variance(log_posteriors, n_columns)
        corrections, log_odds = [OffsetLogisticRegression(few)], [0.0]
        level = _PRIOR.same_frequencies
        if sampling == "random":
            level, n_others = _PRIOR.other_frequencies, n_sources - 1
            if spread is not None:
                level = np.sqrt(
                    (_PRIOR.n_sites * level**2 + n_others * spread**2)
                    / (_PRIOR.n_sites + n_others)
                )
            corrections.append(OffsetLogisticRegression(few, level))
            log_odds.append(_PRIOR.other_log_odds)
        corrections += [
            OffsetLogisticRegression(v, level, _PRIOR.looser_slope) for v, _ in _PRIOR.looser
        ]
        log_odds += [odds for _, odds in _PRIOR.looser]
        if log_posteriors.shape[1] > 2:
            corrections.append(OffsetLogisticRegression(0.0, 0.0, _PRIOR.scaled_slope))
            log_odds.append(_PRIOR.scaled_log_odds if sampling == "stratified" else 0.0)
        return cls(tuple(corrections), tuple(log_odds))

    @classmethod
    def of_slope(cls):
        """Return a correction that only scales overconfident scores."""
        return cls((OffsetLogisticRegression(0.0, 0.0, _PRIOR.scaled_slope),), (0.0,))

    @classmethod
    def of_labels_alone(cls, sampling):
        """Return logistic regressions of several strengths, around the frequencies of classes."""
        level = _PRIOR.other_frequencies if sampling == "random" else _PRIOR.same_frequencies
        corrections = tuple(OffsetLogisticRegression(v, level) for v, _ in _PRIOR.alone)
        return cls(corrections, tuple(odds for _, odds in _PRIOR.alone))

    def cross_fit(self, scores, rows, offsets):
        """Return the correction by all labeled rows, and their out-of-fold log-posteriors.

        The parameters are those of :meth:`OffsetLogisticRegression.cross_fit`.
        """
        fits = [correction.cross_fit(scores, rows, offsets) for correction in self.corrections]
        corrections, log_posteriors = zip(*fits, strict=True)
        probabilities = [held_out_probabilities(p, rows.labels, offsets) for p in log_posteriors]
        evidence = [log_likelihood(p, scores.shape[1]) for p in probabilities]
        weights = softmax(np.add(evidence, self.log_odds))
        weights = np.where(weights < _MIN_WEIGHT, 0.0, weights)
        weights /= weights.sum()
        held_out = average_posteriors(log_posteriors, weights)
        return replace(self, corrections=corrections, weights=weights), held_out

    def apply(self, scores, Z):
        """Return corrected log-posteriors."""
        if self.weights is None:
            return self.corrections[0].apply(scores, Z)
        kept = np.flatnonzero(self.weights)
        log_posteriors = [self.corrections[k].apply(scores, Z) for k in kept]
        return average_posteriors(log_posteriors, self.weights[kept])


def coefficient_variance(scores, n_columns):
    """Return the prior variance of coefficients around these scores."""
    # 1/300, or less if all columns together would have more than a quarter of the variance of the
    # scores; never below 1/1000, or .1 for all columns together.
    centered = scores - scores.mean(axis=1, keepdims=True)
    score_variance = centered.var(axis=0).mean()
    least = min(_MIN_VARIANCE, _MIN_TOGETHER / n_columns)
    return float(np.clip(_SHARE_OF_COLUMNS * score_variance / n_columns, least, MAX_VARIANCE))
