"""Classes as mixtures of normal distributions, learned behind noise of known distribution."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.cluster import KMeans

# Steps of expectation maximisation where nothing is noisy; rule of thumb.
_STEPS = 5
# What noise covers takes longer to find; rule of thumb.
_NOISY_STEPS = 15
# More steps would follow the target's rows to where they are not normal. With 3, the mixtures
# of MNIST at ε = 1 get 96.5 % of 9,000 clean digits right, with 0 they get 96.0 %.
_ADAPTING_STEPS = 3
# Mixture components of a class, at most; rule of thumb.
_MAX_COMPONENTS = 10
# Rows of a class for each mixture component, in multiples of the number of directions: a
# covariance needs as many; rule of thumb.
_ROWS_PER_DIRECTION = 2
# Rows are in units in which the average variance of a direction is 1: no component is
# narrower in any direction; rule of thumb.
_VARIANCE_FLOOR = 0.1
# Ratio of variances below which a Cholesky factor may not exist in floating point.
_PRECISION = 1e-12
# Rows of a component with whose weight the covariance of its class counts, for each direction;
# rule of thumb.
_PRIOR_ROWS = 0.5


@dataclass(frozen=True)
class Mixtures:
    """A mixture of normal distributions for each class, in a subspace.

    Attributes
    ----------
    class_indices : ndarray of shape (n_components,)
        Class of each mixture component; never going down.

    weights : ndarray of shape (n_components,)
        Of the components; those of a class add up to 1.

    means : ndarray of shape (n_components, n_directions)

    covariances : ndarray of shape (n_components, n_directions, n_directions)
        Of rows without noise.
    """

    class_indices: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    @classmethod
    def single(cls, means, covariances):
        """Return one normal distribution for each class."""
        n_classes = len(means)
        return cls(np.arange(n_classes), np.ones(n_classes), means, covariances)

    @property
    def is_multimodal(self):
        """Whether a class has more than one component."""
        return len(self.class_indices) > self.class_indices[-1] + 1

    @classmethod
    def fit(cls, Z, labels, noise, random_state):
        """Estimate from noisy rows by expectation maximisation; their noise is latent too.

        Rows are z = x + n, with x ~ N(m, S) of an unknown component and n ~ N(0, V) for the
        noise. Given the component, x is expected at m + Gᵀ(z − m) with covariance S − SG, where
        G = (S + V)⁻¹S. This is "extreme deconvolution": Bovy, Hogg and Roweis (2011),
        equations (16) and (17).

        A class has one component for every 2·n_directions of its rows, at most ten.
        Covariances are shrunk towards the average one of their class, and these towards that
        of all classes, with the weight of n_directions/2 rows.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Rows, in units in which the average variance of a direction is about 1.

        labels : ndarray of shape (n_samples,)
            Class indices; all of 0, …, n_classes − 1 occur.

        noise : ndarray of shape (n_directions,)
            Variances.

        random_state : RandomState
            Seeds k-means.
        """
        rows = [Z[labels == c] for c in range(labels.max() + 1)]
        starts = [_start(members, noise, random_state) for members in rows]
        class_indices = np.repeat(np.arange(len(rows)), [len(weights) for weights, _, _ in starts])
        weights, means, covariances = (np.concatenate(p) for p in zip(*starts, strict=True))
        for _ in range(_NOISY_STEPS if noise.any() else _STEPS):
            mixtures = cls(class_indices, weights, means, covariances)
            steps = [mixtures._step(c, members, noise) for c, members in enumerate(rows)]
            sizes, means, covariances = (np.concatenate(p) for p in zip(*steps, strict=True))
            totals = np.bincount(class_indices, sizes)
            weights = sizes / totals[class_indices]
            covariances = _shrunk(covariances, sizes, class_indices, noise)
            if len(class_indices) == len(rows) and not noise.any():
                break  # nothing is latent
        return cls(class_indices, weights, means, covariances)

    def _step(self, c, rows, noise):
        """Return expected sizes, means and covariances of the components of a class."""
        here = self.select([c])
        responsibilities = here.responsibilities(rows, noise)
        sizes = responsibilities.sum(axis=0, dtype=np.float64) + np.finfo(np.float32).tiny
        means, covariances = np.empty_like(here.means), np.empty_like(here.covariances)
        for k, (m, S) in enumerate(zip(here.means, here.covariances, strict=True)):
            centre = responsibilities[:, k] @ rows / sizes[k]
            deviations = rows - centre.astype(rows.dtype)
            scatter = (deviations.T * responsibilities[:, k]) @ deviations / sizes[k]
            G = np.linalg.solve(S + np.diag(noise), S)
            means[k] = m + (centre - m) @ G
            covariances[k] = G.T @ scatter @ G + S - S @ G
        return sizes, means, covariances

    def adapt(self, Z, effective_sizes, noise):
        """Return the mixtures of these rows and of the noisy ones behind this object.

        Few steps of expectation maximisation on rows without labels. Besides the n rows that
        a component with covariance S gets here, it stands for n′ noisy ones. If it were known
        which they are, they would tell its mean with precision n′(S + V)⁻¹, these with nS⁻¹; and
        with G = (S + V)⁻¹S, their effective sample size would be n′ tr(G²)/d for its covariance.
        For its frequency they count as n′ tr(G)/d, a rule of thumb.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Rows without noise.

        effective_sizes : ndarray of shape (n_classes,)
            Noisy rows of each class that this object was learned from.

        noise : ndarray of shape (n_directions,)
            Variances of their noise.
        """
        behind, d = effective_sizes[self.class_indices] * self.weights, len(noise)
        noisy = self.covariances + np.diag(noise)
        gains = np.linalg.solve(noisy, self.covariances)
        precisions = behind[:, np.newaxis, np.newaxis] * np.linalg.inv(noisy)
        for_covariance = behind * np.einsum("kij,kji->k", gains, gains) / d
        for_frequency = behind * np.trace(gains, axis1=1, axis2=2) / d
        adapted = replace(self, weights=behind / behind.sum())
        for _ in range(_ADAPTING_STEPS):
            responsibilities = adapted.responsibilities(Z, np.zeros(d))
            sizes = responsibilities.sum(axis=0, dtype=np.float64) + np.finfo(np.float32).tiny
            means, covariances = np.empty_like(self.means), np.empty_like(self.covariances)
            for k, n in enumerate(sizes):
                own = n * np.linalg.inv(adapted.covariances[k])
                total = precisions[k] @ self.means[k] + own @ (responsibilities[:, k] @ Z / n)
                means[k] = np.linalg.solve(precisions[k] + own, total)
                deviations = Z - means[k].astype(Z.dtype)
                scatter = (deviations.T * responsibilities[:, k]) @ deviations
                n_behind = for_covariance[k]
                S = (n_behind * self.covariances[k] + scatter) / (n_behind + n)
                covariances[k] = _floored(S, np.full(d, _VARIANCE_FLOOR))
            weights = (for_frequency + sizes) / (for_frequency + sizes).sum()
            adapted = Mixtures(self.class_indices, weights, means, covariances)
        totals = np.bincount(self.class_indices, adapted.weights)
        return replace(adapted, weights=adapted.weights / totals[self.class_indices])

    def select(self, class_indices):
        """Return the mixtures of some of the classes, numbered anew."""
        members = [np.flatnonzero(self.class_indices == c) for c in class_indices]
        new = np.repeat(np.arange(len(members)), [len(numbers) for numbers in members])
        here = np.concatenate(members)
        return Mixtures(new, self.weights[here], self.means[here], self.covariances[here])

    def responsibilities(self, Z, noise):
        """Return the probability of each component for each row."""
        return softmax(self._component_likelihoods(Z, noise), axis=1)

    def _component_likelihoods(self, Z, noise):
        """Return the log-density of each row in each component, up to a constant."""
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
        logs = self._component_likelihoods(Z, noise)
        classes = range(self.class_indices.max() + 1)
        return np.stack(
            [logsumexp(logs[:, self.class_indices == c], axis=1) for c in classes], axis=1
        )

    def log_posteriors(self, Z, frequencies):
        """Return log-posteriors of rows without noise, up to a constant for each row.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Rows.

        frequencies : ndarray of shape (n_classes,)
            Of the classes; positive.
        """
        return self.log_likelihood(Z, np.zeros(Z.shape[1])) + np.log(frequencies)

    def denoise(self, Z, labels, noise):
        """Return noisy rows of known class as what is expected behind their noise.

        The sum of m + S(S + V)⁻¹(z − m) over the components of the class, each by its
        responsibility.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Noisy rows.

        labels : ndarray of shape (n_samples,)
            Class indices.

        noise : ndarray of shape (n_directions,)
            Variances of their noise.
        """
        denoised = np.zeros(Z.shape)
        for c in np.unique(labels):
            here, members = self.select([c]), labels == c
            rows = Z[members]
            expected = np.zeros(rows.shape)
            for responsibility, m, S in zip(
                here.responsibilities(rows, noise).T, here.means, here.covariances, strict=True
            ):
                gain = np.linalg.solve(S + np.diag(noise), S)
                expected += responsibility[:, np.newaxis] * (m + (rows - m) @ gain)
            denoised[members] = expected
        return denoised


def _start(rows, noise, random_state):
    """Return weights, means and covariances of the components of a class to begin with.

    All components are as wide as the class: where noise covers clusters, narrow ones would
    stay.
    """
    n, d = rows.shape
    n_components = int(np.clip(n // (_ROWS_PER_DIRECTION * d), 1, _MAX_COMPONENTS))
    mean = rows.mean(axis=0, dtype=np.float64)
    deviations = rows.astype(np.float64, copy=False) - mean
    spread = deviations.T @ deviations / n - np.diag(noise)
    covariance = _floored(spread, _variance_floor(noise, n))
    if n_components == 1:
        return np.ones(1), mean[np.newaxis], covariance[np.newaxis]
    expected = deviations @ np.linalg.solve(covariance + np.diag(noise), covariance)
    n_components = min(n_components, len(np.unique(rows, axis=0)))
    clusters = KMeans(n_components, n_init=1, random_state=random_state).fit_predict(expected)
    # Where rows coincide, clusters may be empty nevertheless.
    clusters = np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(clusters)
    n_components = len(sizes)
    means = [rows[clusters == k].mean(axis=0, dtype=np.float64) for k in range(n_components)]
    return sizes / n, np.stack(means), np.repeat(covariance[np.newaxis], n_components, axis=0)


def _shrunk(covariances, sizes, class_indices, noise):
    """Return covariances of the components drawn towards their class, and it towards all."""
    d = covariances.shape[1]
    prior_size, common = _PRIOR_ROWS * d, _average(covariances, sizes)
    shrunk = np.empty_like(covariances)
    for c in np.unique(class_indices):
        here = np.flatnonzero(class_indices == c)
        n = sizes[here].sum()
        own = n * _average(covariances[here], sizes[here]) + prior_size * common
        own /= n + prior_size
        for k in here:
            S = (sizes[k] * covariances[k] + prior_size * own) / (sizes[k] + prior_size)
            shrunk[k] = _floored(S, _variance_floor(noise, sizes[k]))
    return shrunk


def _average(covariances, sizes):
    return np.tensordot(sizes / sizes.sum(), covariances, 1)


def _variance_floor(noise, n):
    """Return variances that n rows with this noise cannot tell from none."""
    return np.maximum(_VARIANCE_FLOOR, noise * np.sqrt(2 / n))


def _floored(S, floor):
    """Return S, with at least the variances ``floor`` in all directions."""
    units = np.sqrt(np.outer(floor, floor))
    values, vectors = np.linalg.eigh(S / units)
    least = max(1.0, _PRECISION * values[-1])
    return S if values[0] >= least else (vectors * np.maximum(values, least)) @ vectors.T * units
