"""Classes as mixtures of normal distributions, learned behind noise whose law is known."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.cluster import KMeans

# What noise hides takes longer to find.
_STEPS, _NOISY_STEPS, _ADAPTING_STEPS = 5, 15, 3
_MOST_PARTS, _ROWS_PER_DIRECTION = 10, 2
# Rows are in units in which the average variance of a direction is 1: no part is flatter.
_LEAST = 0.1


@dataclass(frozen=True)
class Mixtures:
    """A mixture of normal distributions for each class, in a subspace.

    Attributes
    ----------
    classes : ndarray of shape (n_parts,)
        Class number of each part; they never go down.

    weights : ndarray of shape (n_parts,)
        Of the parts; those of a class add up to 1.

    means : ndarray of shape (n_parts, n_directions)

    covariances : ndarray of shape (n_parts, n_directions, n_directions)
        Of rows without noise.
    """

    classes: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    @classmethod
    def single(cls, means, covariances):
        """Return one normal distribution for each class."""
        n_classes = len(means)
        return cls(np.arange(n_classes), np.ones(n_classes), means, covariances)

    @property
    def has_parts(self):
        """Whether a class has more than one part."""
        return len(self.classes) > self.classes[-1] + 1

    @classmethod
    def fit(cls, Z, labels, noise, random_state):
        """Estimate from noisy rows by expectation maximisation; their noise is hidden too.

        Rows are z = x + n, with x ~ N(m, S) of an unknown part and n ~ N(0, V) for the noise.
        Given the part, x is expected at m + Gᵀ(z − m) with covariance S − SG, where
        G = (S + V)⁻¹S. This is "extreme deconvolution": Bovy, Hogg and Roweis (2011),
        equations (16) and (17).

        A class has one part for every 2·n_directions of its rows, at most ten. Covariances
        are shrunk towards the average one of their class, and these towards that of all
        classes, by n_directions/2 rows' worth.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Rows, in units in which the average variance of a direction is about 1.

        labels : ndarray of shape (n_samples,)
            Class numbers; all of 0, …, n_classes − 1 occur.

        noise : ndarray of shape (n_directions,)
            Variances.

        random_state : RandomState
            Seeds k-means.
        """
        rows = [Z[labels == c] for c in range(labels.max() + 1)]
        starts = [_start(members, noise, random_state) for members in rows]
        classes = np.repeat(np.arange(len(rows)), [len(weights) for weights, _, _ in starts])
        weights, means, covariances = (np.concatenate(p) for p in zip(*starts, strict=True))
        for _ in range(_NOISY_STEPS if noise.any() else _STEPS):
            mixtures = cls(classes, weights, means, covariances)
            steps = [mixtures._step(c, members, noise) for c, members in enumerate(rows)]
            counts, means, covariances = (np.concatenate(p) for p in zip(*steps, strict=True))
            totals = np.bincount(classes, counts)
            weights = counts / totals[classes]
            covariances = _shrunk(covariances, counts, classes, noise)
            if len(classes) == len(rows) and not noise.any():
                break  # nothing is hidden
        return cls(classes, weights, means, covariances)

    def _step(self, c, rows, noise):
        """Return expected counts, means and covariances of the parts of a class."""
        here = self.select([c])
        shares = here._shares(rows, noise)
        counts = shares.sum(axis=0, dtype=np.float64) + np.finfo(np.float32).tiny
        means, covariances = np.empty_like(here.means), np.empty_like(here.covariances)
        for k, (m, S) in enumerate(zip(here.means, here.covariances, strict=True)):
            centre = shares[:, k] @ rows / counts[k]
            deviations = rows - centre.astype(rows.dtype)
            scatter = (deviations.T * shares[:, k]) @ deviations / counts[k]
            G = np.linalg.solve(S + np.diag(noise), S)
            means[k] = m + (centre - m) @ G
            covariances[k] = G.T @ scatter @ G + S - S @ G
        return counts, means, covariances

    def adapt(self, Z, counts, noise):
        """Return the mixtures of these rows and of the noisy ones behind this object.

        Few steps of expectation maximisation on rows without labels. Besides the n rows that
        a part with covariance S gets here, it stands for n′ noisy ones. If it were known which
        they are, they would tell its mean with precision n′(S + V)⁻¹, these with nS⁻¹; and
        with G = (S + V)⁻¹S, they would be worth n′ tr(G²)/d rows for its covariance. For its
        frequency they count as n′ tr(G)/d, a rule of thumb. More steps would follow the rows
        to where they are not normal.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Rows without noise.

        counts : ndarray of shape (n_classes,)
            Noisy rows of each class that this object was learned from.

        noise : ndarray of shape (n_directions,)
            Variances of their noise.
        """
        behind, d = counts[self.classes] * self.weights, len(noise)
        noisy = self.covariances + np.diag(noise)
        gains = np.linalg.solve(noisy, self.covariances)
        precisions = behind[:, np.newaxis, np.newaxis] * np.linalg.inv(noisy)
        worth = behind * np.einsum("kij,kji->k", gains, gains) / d
        frequent = behind * np.trace(gains, axis1=1, axis2=2) / d
        adapted = replace(self, weights=behind / behind.sum())
        for _ in range(_ADAPTING_STEPS):
            shares = adapted._shares(Z, np.zeros(d))
            sizes = shares.sum(axis=0, dtype=np.float64) + np.finfo(np.float32).tiny
            means, covariances = np.empty_like(self.means), np.empty_like(self.covariances)
            for k, n in enumerate(sizes):
                own = n * np.linalg.inv(adapted.covariances[k])
                total = precisions[k] @ self.means[k] + own @ (shares[:, k] @ Z / n)
                means[k] = np.linalg.solve(precisions[k] + own, total)
                deviations = Z - means[k].astype(Z.dtype)
                scatter = (deviations.T * shares[:, k]) @ deviations
                S = (worth[k] * self.covariances[k] + scatter) / (worth[k] + n)
                covariances[k] = _at_least(S, np.full(d, _LEAST))
            weights = (frequent + sizes) / (frequent + sizes).sum()
            adapted = Mixtures(self.classes, weights, means, covariances)
        totals = np.bincount(self.classes, adapted.weights)
        return replace(adapted, weights=adapted.weights / totals[self.classes])

    def select(self, classes):
        """Return the mixtures of some of the classes, numbered anew."""
        parts = [np.flatnonzero(self.classes == c) for c in classes]
        new = np.repeat(np.arange(len(parts)), [len(numbers) for numbers in parts])
        here = np.concatenate(parts)
        return Mixtures(new, self.weights[here], self.means[here], self.covariances[here])

    def _shares(self, Z, noise):
        """Return the probability of each part for each row."""
        return softmax(self._part_likelihoods(Z, noise), axis=1)

    def _part_likelihoods(self, Z, noise):
        """Return the log-density of each row in each part, up to a constant."""
        logs = np.empty((len(Z), len(self.means)), dtype=Z.dtype)
        for k, (m, S) in enumerate(zip(self.means, self.covariances, strict=True)):
            factor = np.linalg.cholesky(S + np.diag(noise))
            # An inverse, for one product of matrices is faster than many substitutions.
            residuals = (Z - m.astype(Z.dtype)) @ np.linalg.inv(factor).T.astype(Z.dtype)
            logs[:, k] = -0.5 * np.einsum("ij,ij->i", residuals, residuals)
            logs[:, k] += np.log(self.weights[k]) - np.log(np.diag(factor)).sum()
        return logs

    def log_likelihood(self, Z, noise):
        """Return the log-density of each row in each class, up to a constant.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Rows.

        noise : ndarray of shape (n_directions,)
            Variances of their noise; 0 without.
        """
        logs = self._part_likelihoods(Z, noise)
        classes = range(self.classes.max() + 1)
        return np.stack([logsumexp(logs[:, self.classes == c], axis=1) for c in classes], axis=1)

    def denoise(self, Z, labels, noise):
        """Return noisy rows of known class as what is expected behind their noise.

        The sum of m + S(S + V)⁻¹(z − m) over the parts of the class, each by its probability.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Noisy rows.

        labels : ndarray of shape (n_samples,)
            Class numbers.

        noise : ndarray of shape (n_directions,)
            Variances of their noise.
        """
        denoised = np.zeros(Z.shape)
        for c in np.unique(labels):
            here, members = self.select([c]), labels == c
            rows = Z[members]
            expected = np.zeros(rows.shape)
            for share, m, S in zip(
                here._shares(rows, noise).T, here.means, here.covariances, strict=True
            ):
                gain = np.linalg.solve(S + np.diag(noise), S)
                expected += share[:, np.newaxis] * (m + (rows - m) @ gain)
            denoised[members] = expected
        return denoised


class MixtureClassifier:
    """Mixtures of clean rows, with classes named as they are."""

    def __init__(self, rows, labels, random_state):
        self._noise = np.zeros(rows.shape[1])
        numbers = np.unique(labels, return_inverse=True)[1]
        self._mixtures = Mixtures.fit(rows, numbers, self._noise, random_state)

    def reconstruction_errors(self, X):
        """Return minus the log-density of each row in each class, up to a constant."""
        return -self._mixtures.log_likelihood(X, self._noise)


def fit_mixtures(random_state, settings, rows, labels):
    """Return a :class:`MixtureClassifier`, which has no use for settings."""
    return MixtureClassifier(rows, labels, random_state)


def _start(rows, noise, random_state):
    """Return weights, means and covariances of the parts of a class to begin with.

    All parts are as wide as the class: where noise hides clusters, narrow ones would stay.
    """
    n, d = rows.shape
    n_parts = int(np.clip(n // (_ROWS_PER_DIRECTION * d), 1, _MOST_PARTS))
    mean = rows.mean(axis=0, dtype=np.float64)
    deviations = rows.astype(np.float64, copy=False) - mean
    spread = deviations.T @ deviations / n - np.diag(noise)
    covariance = _at_least(spread, _hidden(noise, n))
    if n_parts == 1:
        return np.ones(1), mean[np.newaxis], covariance[np.newaxis]
    expected = deviations @ np.linalg.solve(covariance + np.diag(noise), covariance)
    n_parts = min(n_parts, len(np.unique(rows, axis=0)))
    clusters = KMeans(n_parts, n_init=1, random_state=random_state).fit_predict(expected)
    # Where rows coincide, clusters may be empty nevertheless.
    clusters = np.unique(clusters, return_inverse=True)[1]
    counts = np.bincount(clusters)
    n_parts = len(counts)
    means = np.stack([rows[clusters == k].mean(axis=0, dtype=np.float64) for k in range(n_parts)])
    return counts / n, means, np.repeat(covariance[np.newaxis], n_parts, axis=0)


def _shrunk(covariances, counts, classes, noise):
    """Return covariances of the parts drawn towards their class, and it towards all."""
    d = covariances.shape[1]
    worth, common = d / 2, _average(covariances, counts)
    shrunk = np.empty_like(covariances)
    for c in np.unique(classes):
        here = np.flatnonzero(classes == c)
        n = counts[here].sum()
        own = (n * _average(covariances[here], counts[here]) + worth * common) / (n + worth)
        for k in here:
            S = (counts[k] * covariances[k] + worth * own) / (counts[k] + worth)
            shrunk[k] = _at_least(S, _hidden(noise, counts[k]))
    return shrunk


def _average(covariances, counts):
    return np.tensordot(counts / counts.sum(), covariances, 1)


def _hidden(noise, n):
    """Return variances that n rows with this noise cannot tell from none."""
    return np.maximum(_LEAST, noise * np.sqrt(2 / n))


def _at_least(S, least):
    """Return S, with variances of at least some in all directions."""
    units = np.sqrt(np.outer(least, least))
    values, vectors = np.linalg.eigh(S / units)
    return S if values[0] >= 1 else (vectors * np.maximum(values, 1)) @ vectors.T * units
