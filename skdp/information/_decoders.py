"""Decoders: densities of a private value given released values, learned from other rows."""

import numpy as np
from scipy.special import logsumexp, ndtri
from scipy.stats import norm, t
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline

from skdp.membership import MembershipMapping

# Inducing points of a mapping, and the most principal components that its kernel reads: with more,
# all rows are far apart.
_N_INDUCING, _N_COMPONENTS = 100, 20
# Equally likely bins of a number for boosting, and rows per bin. With 8 bins, 2,000 values behind
# a staircase at ε = 4 give .88 nats, with 16 .90, with 24 .87 (exactly: 1.16).
_N_BINS, _ROWS_PER_BIN = 16, 100


class StandardNormal:
    """The distribution of a normal score without released values."""

    def predictions(self, X, z, train, test):
        return 0.0

    def log_density(self, predicted, z, train):
        return norm.logpdf(z)


class Residuals:
    """A regression with Student-t residuals on the scale of other rows' predictions."""

    def __init__(self, regressor):
        self.regressor = regressor

    def predictions(self, X, z, train, test):
        """Return predictions of the rows of one part, learned from the other part."""
        fitted = clone(self.regressor).fit(X[train], z[train])
        return np.asarray(fitted.predict(X[test]), dtype=np.float64).ravel()

    def log_density(self, predicted, z, train):
        """Return log densities of all rows, on the scale of some rows' residuals."""
        return t.logpdf(z - predicted, **student_fit((z - predicted)[train]))


class Bins:
    """Probabilities of equally likely bins; within a bin, the normal density."""

    def __init__(self, classifier, n_bins):
        self.classifier, self.n_bins = classifier, n_bins

    def predictions(self, X, z, train, test):
        cuts = ndtri(np.arange(1, self.n_bins) / self.n_bins)
        return Probabilities(self.classifier).predictions(X, np.searchsorted(cuts, z), train, test)

    def log_density(self, predicted, z, train):
        # Relative to the normal density: the probability of a bin over its share of the rows.
        return predicted + np.log(self.n_bins) + norm.logpdf(z)


class Probabilities:
    """A classifier's log-probability of the true class of a row."""

    def __init__(self, classifier):
        self.classifier = classifier

    def predictions(self, X, labels, train, test):
        fitted = clone(self.classifier).fit(X[train], labels[train])
        p = np.zeros((len(test), labels.max() + 1))
        p[:, fitted.classes_] = fitted.predict_proba(X[test])
        frequencies = np.bincount(labels[train], minlength=p.shape[1]) + 1e-3
        share = 1 / (1 + len(train))  # one row's worth of frequencies, lest a probability be zero
        p = (1 - share) * p + share * frequencies / frequencies.sum()
        return np.log(p[np.arange(len(test)), labels[test]])

    def log_density(self, predicted, labels, train):
        return predicted


def number_decoders(n_columns, n_train, seed):
    """Return the decoders of normal scores except the marginal one."""
    mapping = MembershipMapping(
        min(_N_INDUCING, n_train),
        input_variance=1e-4,
        length_scale=1.0,
        standardize=False,
        max_iter=1000,
        random_state=seed,
    )
    if n_columns > _N_COMPONENTS:
        mapping = make_pipeline(PCA(_N_COMPONENTS, random_state=seed), mapping)
    decoders = [Residuals(RidgeCV(np.logspace(-2, 5, 15))), Residuals(mapping)]
    n_bins = min(_N_BINS, n_train // _ROWS_PER_BIN)
    return decoders if n_bins < 2 else [*decoders, Bins(_boosting(), n_bins)]


def category_decoders(n_train):
    """Return the decoders of categories except the marginal one."""
    decoders = [Probabilities(LogisticRegression(C=c, max_iter=1000)) for c in (0.01, 1.0)]
    # With more rows boosting finds what smooth decoders miss.
    return decoders if n_train < 200 else [*decoders, Probabilities(_boosting())]


def frequencies():
    """Return the distribution of a category without released values."""
    return Probabilities(DummyClassifier(strategy="prior"))


def _boosting():
    return HistGradientBoostingClassifier(
        learning_rate=0.1, max_iter=40, max_leaf_nodes=8, early_stopping=False
    )


def normal_scores(values, ties):
    """Return the normal quantiles of the ranks of numbers; ``ties`` order equal ones."""
    scores = np.empty(len(values))
    scores[np.lexsort((ties, values))] = ndtri((np.arange(len(values)) + 0.5) / len(values))
    return scores


def student_fit(residuals):
    """Return the parameters of the most likely Student-t distribution around zero."""
    squares = residuals * residuals
    start = max(np.mean(squares), 1e-12)

    def fitted(degrees):
        scale = start
        for _ in range(30):  # which by then changes digits that do not matter
            scale = max(np.mean((degrees + 1) * squares / (degrees + squares / scale)), 1e-12)
        return {"df": degrees, "scale": np.sqrt(scale)}

    # The last one is the normal distribution's.
    fits = map(fitted, (2.1, 3.0, 5.0, 10.0, 30.0, 1e6))
    return max(fits, key=lambda fit: t.logpdf(residuals, **fit).sum())


def mixture_weights(log_densities):
    """Return the most likely weights of a mixture, by expectation-maximization."""
    relative = np.exp(log_densities - log_densities.max(axis=1, keepdims=True))
    weights = np.full(relative.shape[1], 1 / relative.shape[1])
    for _ in range(30):
        shares = weights * relative
        weights = np.mean(shares / shares.sum(axis=1, keepdims=True), axis=0)
    return weights


def cross_fitted(decoders, X, target, folds):
    """Return log densities of all rows by a mixture of decoders, learned from the other folds.

    The first decoder ignores X.
    """
    # Weights of the mixture and scales of residuals are the most likely ones for the rows of the
    # other folds, whose predictions are out of fold.
    predicted = np.empty((len(decoders), len(X)))
    for train, test in folds:
        for of_decoder, decoder in zip(predicted, decoders, strict=True):
            of_decoder[test] = decoder.predictions(X, target, train, test)
    log_densities = np.empty(len(X))
    for train, test in folds:
        parts = np.column_stack(
            [
                decoder.log_density(of_decoder, target, train)
                for of_decoder, decoder in zip(predicted, decoders, strict=True)
            ]
        )
        log_densities[test] = logsumexp(parts[test], axis=1, b=mixture_weights(parts[train]))
    return log_densities
