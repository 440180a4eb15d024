"""Classes as normal distributions and mixtures of them, estimated under known noise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.cluster import KMeans

from skdp.release._moments import Moments, normal_root
from skdp.release._parts import Part, array, require
from skdp.release._posterior import shrunk_vectors
from skdp.utils._linalg import NEGLIGIBLE, positive_definite_floor

# Steps of expectation maximization without noise; rule of thumb.
_STEPS = 5
# With noise expectation maximization converges more slowly; rule of thumb.
_NOISY_STEPS = 15
# More steps would overfit the target's rows, which are not normal. With 3, the mixtures of MNIST
# at ε = 1 classify 96.5% of 9,000 clean digits correctly, with 0 96.0%.
_ADAPTING_STEPS = 3
# Largest number of mixture components of a class; rule of thumb.
_MAX_COMPONENTS = 10
# Rows of a class for each mixture component, in multiples of the number of directions: with
# fewer than one, a covariance would be singular.
_ROWS_PER_DIRECTION = 2
# Rows are in units in which the average variance of a direction is 1: no component is
# narrower in any direction, so that none ends on a single row.
_VARIANCE_FLOOR = 0.1
# Ratio of variances below which a Cholesky factor may not exist in floating point.
_PRECISION = 1e-12
# Weight of the covariance of its class in that of a component, in rows for each direction; rule
# of thumb.
_PRIOR_ROWS = 0.5
# Smallest share of the variance of a direction that is within classes; rule of thumb.
_MIN_WITHIN = 0.05
# Smallest share of the common covariance in that of a class, in any direction; rule of thumb.
_MIN_OF_COMMON = 0.25
# Of a covariance matrix in a release, in units of the average variance of a direction, and of its
# own largest one: below it a Cholesky factor may not exist in floating point.
_SMALLEST_VARIANCE = 1e-12
# Distance of a mean of a mixture component, in units of the average deviation of a direction.
_FARTHEST_MEAN = 1e9


@dataclass(frozen=True)
class Mixtures(Part):
    """A mixture of normal distributions for each class, in a subspace.

    Attributes
    ----------
    class_indices : ndarray of shape (n_components,)
        Class of each mixture component, in ascending order.

    weights : ndarray of shape (n_components,)
        Weights of the components; they add up to 1 within a class.

    means : ndarray of shape (n_components, n_directions)

    covariances : ndarray of shape (n_components, n_directions, n_directions)
        Covariances of rows, corrected for the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import Mixtures
    >>> mixtures = Mixtures.single(np.array([[0.0], [4.0]]), np.ones((2, 1, 1)))
    >>> rows = np.array([[0.0], [2.0]])
    >>> mixtures.log_likelihood(rows, noise=np.zeros(1)).round(2)
    array([[ 0., -8.],
           [-2., -2.]])
    """

    class_indices: np.ndarray = array("m", "i")
    weights: np.ndarray = array("m")
    means: np.ndarray = array("m d", below=_FARTHEST_MEAN)
    covariances: np.ndarray = array("m d d")

    @classmethod
    def single(cls, means: np.ndarray, covariances: np.ndarray) -> Self:
        """Return one normal distribution for each class."""
        n_classes = len(means)
        return cls(np.arange(n_classes), np.ones(n_classes), means, covariances)

    @classmethod
    def of_moments(cls, moments: Moments, subspace: Any) -> Self:
        """Return a normal distribution for each class, by empirical Bayes.

        On some columns of noisy rows of tables, this does better than marginals of mixtures of all
        columns; on images, slightly worse.

        Parameters
        ----------
        moments : Moments

        subspace : Subspace
            Directions in the columns of the moments, centered at the mean of all rows.

        Returns
        -------
        mixtures : Mixtures
            One component for each class, see ``ClassModel.of_moments``.
        """
        directions = subspace.components * subspace.scale
        variances = subspace.variances * subspace.scale**2
        model = ClassModel.of_moments(moments, directions, variances)
        return cls.single(model.means, model.covariances)

    @property
    def is_multimodal(self) -> bool:
        """bool: whether a class has more than one component."""
        return len(self.class_indices) > self.class_indices[-1] + 1

    @classmethod
    def fit(
        cls,
        Z: np.ndarray,
        labels: np.ndarray,
        noise: np.ndarray,
        random_state: np.random.RandomState,
    ) -> Self:
        """Estimate from noisy rows by expectation maximization, with their noise as latent.

        Rows are z = x + n, with x ~ N(m, S) of an unknown component and n ~ N(0, V) for the
        noise. Given the component, x is expected at m + Gᵀ(z − m) with covariance S − SG, where
        G = (S + V)⁻¹S. This is "extreme deconvolution": Bovy, Hogg and Roweis (2011),
        equations (16) and (17).

        A class gets one component for every 2·n_directions of its rows, at most ten. Covariances
        are shrunk towards the average of their class, and this average towards the average of all
        classes, with the weight of n_directions/2 rows.

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
        mixture = self.select([c])
        responsibilities = mixture.responsibilities(rows, noise)
        sizes = responsibilities.sum(axis=0, dtype=np.float64) + np.finfo(np.float32).tiny
        means, covariances = np.empty_like(mixture.means), np.empty_like(mixture.covariances)
        for k, (m, S) in enumerate(zip(mixture.means, mixture.covariances, strict=True)):
            center = responsibilities[:, k] @ rows / sizes[k]
            deviations = rows - center.astype(rows.dtype)
            scatter = (deviations.T * responsibilities[:, k]) @ deviations / sizes[k]
            G = np.linalg.solve(S + np.diag(noise), S)
            means[k] = m + (center - m) @ G
            covariances[k] = G.T @ scatter @ G + S - S @ G
        return sizes, means, covariances

    def adapt(self, Z: np.ndarray, effective_sizes: np.ndarray, noise: np.ndarray) -> "Mixtures":
        """Return mixtures that these unlabeled rows have updated.

        A few steps of expectation maximization. A component with covariance S already summarizes
        n′ noisy rows, and gets n more here. Given their components, the noisy rows determine its
        mean with precision n′(S + V)⁻¹, the new ones with nS⁻¹. With G = (S + V)⁻¹S, the noisy
        rows count as n′ tr(G²)/d rows for its covariance, and as n′ tr(G)/d, which is between, for
        its frequency.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Rows without noise.

        effective_sizes : ndarray of shape (n_classes,)
            Number of noisy rows of each class that the mixtures were learned from.

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
                row_precision = n * np.linalg.inv(adapted.covariances[k])
                total = precisions[k] @ self.means[k] + row_precision @ (
                    responsibilities[:, k] @ Z / n
                )
                means[k] = np.linalg.solve(precisions[k] + row_precision, total)
                deviations = Z - means[k].astype(Z.dtype)
                scatter = (deviations.T * responsibilities[:, k]) @ deviations
                n_behind = for_covariance[k]
                S = (n_behind * self.covariances[k] + scatter) / (n_behind + n)
                covariances[k] = _floored(S, np.full(d, _VARIANCE_FLOOR))
            weights = (for_frequency + sizes) / (for_frequency + sizes).sum()
            adapted = Mixtures(self.class_indices, weights, means, covariances)
        totals = np.bincount(self.class_indices, adapted.weights)
        return replace(adapted, weights=adapted.weights / totals[self.class_indices])

    def select(self, class_indices: Sequence[int] | np.ndarray) -> "Mixtures":
        """Return the mixtures of some of the classes, renumbered from 0."""
        members = [np.flatnonzero(self.class_indices == c) for c in class_indices]
        new = np.repeat(np.arange(len(members)), [len(numbers) for numbers in members])
        chosen = np.concatenate(members)
        return Mixtures(new, self.weights[chosen], self.means[chosen], self.covariances[chosen])

    def responsibilities(self, Z: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return the probability of each component for each row."""
        return softmax(self._component_likelihoods(Z, noise), axis=1)

    def _component_likelihoods(self, Z, noise):
        """Return the log-density of each row in each component, up to a constant."""
        logs = np.empty((len(Z), len(self.means)), dtype=Z.dtype)
        for k, (m, S) in enumerate(zip(self.means, self.covariances, strict=True)):
            factor = np.linalg.cholesky(S + np.diag(noise))
            # An inverse, because one matrix product is faster than many substitutions.
            residuals = (Z - m.astype(Z.dtype)) @ np.linalg.inv(factor).T.astype(Z.dtype)
            logs[:, k] = -0.5 * np.einsum("ij,ij->i", residuals, residuals)
            logs[:, k] += np.log(self.weights[k]) - np.log(np.diag(factor)).sum()
        return logs

    def log_likelihood(self, Z: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return the log-density of each row in each class, up to a constant.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Rows.

        noise : ndarray of shape (n_directions,)
            Variances of the noise in the rows; 0 for rows without noise.
        """
        logs = self._component_likelihoods(Z, noise)
        classes = range(self.class_indices.max() + 1)
        return np.stack(
            [logsumexp(logs[:, self.class_indices == c], axis=1) for c in classes], axis=1
        )

    def log_posteriors(self, Z: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
        """Return log-posteriors of rows without noise, up to a constant for each row.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Rows.

        frequencies : ndarray of shape (n_classes,)
            Of the classes; positive.
        """
        return self.log_likelihood(Z, np.zeros(Z.shape[1])) + np.log(frequencies)

    def denoise(self, Z: np.ndarray, labels: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return the expected noiseless rows, given noisy rows and their classes.

        The sum of m + S(S + V)⁻¹(z − m) over the components of the class, weighted by
        responsibilities.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_directions)
            Noisy rows.

        labels : ndarray of shape (n_samples,)
            Class indices.

        noise : ndarray of shape (n_directions,)
            Variances of their noise.
        """
        denoised = np.empty_like(Z)
        for c in np.unique(labels):
            mixture, members = self.select([c]), labels == c
            rows = Z[members]
            expected = np.zeros(rows.shape)
            for responsibility, m, S in zip(
                mixture.responsibilities(rows, noise).T,
                mixture.means,
                mixture.covariances,
                strict=True,
            ):
                gain = np.linalg.solve(S + np.diag(noise), S)
                expected += responsibility[:, np.newaxis] * (m + (rows - m) @ gain)
            denoised[members] = expected
        return denoised

    def sample(self, n: int, random_state: np.random.RandomState) -> np.ndarray:
        """Draw noiseless rows; these mixtures must have a single class."""
        which = random_state.choice(len(self.weights), n, p=self.weights)
        codes = np.empty((n, self.means.shape[1]))
        for k in np.unique(which):
            rows = np.flatnonzero(which == k)
            normal = random_state.standard_normal((len(rows), codes.shape[1]))
            codes[rows] = self.means[k] + normal @ normal_root(self.covariances[k])
        return codes

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless these are mixtures of the classes of a release."""
        indices, weights, S = self.class_indices, self.weights, self.covariances
        K = release.outcome.n_sums
        numbered = np.array_equal(np.unique(indices), np.arange(K))
        numbered = numbered and bool((np.diff(indices) >= 0).all())
        require(numbered, f"{name}.class_indices", f"must go up from 0 to {K - 1}")
        proper = weights.min() > 0 and np.allclose(np.bincount(indices, weights), 1)
        require(proper, f"{name}.weights", "must be positive and add up to 1 in each class")
        require(np.allclose(S, S.swapaxes(1, 2)), f"{name}.covariances", "must be symmetric")
        variances = np.linalg.eigvalsh(S)
        definite = variances[:, 0] > _SMALLEST_VARIANCE * np.maximum(variances[:, -1], 1)
        require(definite.all(), f"{name}.covariances", "must be positive definite")

    def restrict(self, columns: np.ndarray, subspace: Any, moments: Moments) -> "Mixtures":
        r"""Return the mixtures of some of the columns, in the subspace of these.

        With directions V of all columns, rows of a component of class c are
        :math:`x = m + V^T u + (I - V^T V)(x - m)`, where u has the normal distribution of the
        component, and the part outside V has the class mean and the covariance within classes of
        the moments. The remaining columns S get the subspace of their own leading principal
        directions Q, see :meth:`Subspace.restrict`. With :math:`E = Q (I - V^T V)_S`, a component
        with mean a and covariance C of u has there

        .. math:: Q V_S^T a + E (μ_c - m) + Q (m - m_Q)_S, \qquad Q V_S^T C V_S Q^T + E W E^T

        Mixtures that were learned from noisy rows depend too much on columns that are gone, and
        are not used, see :meth:`of_moments`. Where all columns remain, in another order,
        nothing changes.
        """
        V = subspace.components
        if len(columns) == V.shape[1]:
            return self
        new = subspace.restrict(columns, moments)
        if moments.noise.any():
            return Mixtures.of_moments(moments.restrict(columns), new)
        inside = new.components @ V[:, columns].T
        outside = -inside @ V
        outside[:, columns] += new.components
        T, class_indices = new.scale / subspace.scale * inside, self.class_indices
        left_out = _credible_means(moments, outside) - subspace.mean @ outside.T
        shift = new.components @ (subspace.mean[columns] - new.mean)
        spread = new.scale**2 * positive_definite_floor(
            outside @ moments.within_covariance() @ outside.T
        )
        covariances = [_definite(T @ covariance @ T.T + spread) for covariance in self.covariances]
        means = self.means @ T.T + new.scale * (left_out + shift)[class_indices]
        return Mixtures(class_indices, self.weights, means, np.stack(covariances))

    def contents(self) -> str:
        """Describe the mixtures in a few words."""
        n = len(self.weights)
        return f"{n} normal distributions in {self.means.shape[1]} principal directions"


def _start(rows, noise, random_state):
    """Return initial weights, means and covariances of the components of a class."""
    # All components are as wide as the class: where noise hides clusters, narrow ones would
    # remain.
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
    """Return covariances shrunk towards their class, and of classes towards all classes."""
    d = covariances.shape[1]
    prior_size, common = _PRIOR_ROWS * d, _average(covariances, sizes)
    shrunk = np.empty_like(covariances)
    for c in np.unique(class_indices):
        members = np.flatnonzero(class_indices == c)
        n = sizes[members].sum()
        class_covariance = n * _average(covariances[members], sizes[members]) + prior_size * common
        class_covariance /= n + prior_size
        for k in members:
            S = (sizes[k] * covariances[k] + prior_size * class_covariance) / (
                sizes[k] + prior_size
            )
            shrunk[k] = _floored(S, _variance_floor(noise, sizes[k]))
    return shrunk


def _average(covariances, sizes):
    return np.tensordot(sizes / sizes.sum(), covariances, 1)


def _variance_floor(noise, n):
    """Return variances that n rows with this noise cannot distinguish from zero."""
    return np.maximum(_VARIANCE_FLOOR, noise * np.sqrt(2 / n))


def _floored(S, floor):
    """Return S with no variance below ``floor`` in any direction."""
    units = np.sqrt(np.outer(floor, floor))
    values, vectors = np.linalg.eigh(S / units)
    least = max(1.0, _PRECISION * values[-1])
    return S if values[0] >= least else (vectors * np.maximum(values, least)) @ vectors.T * units


def power_prior(values, noise, shape):
    """Return variances a·shape^g of centered normal values that were observed with noise."""
    # The parameters a ≤ 1 and g ≥ 0 maximize the marginal likelihood of x ~ N(0, a·shape^g +
    # noise).
    logs = np.log(shape)

    def loss(log_scale, slope):
        variance = np.exp(log_scale + slope * logs) + noise
        return np.mean(values**2 / variance + np.log(variance))

    starts = [(log_scale, slope) for log_scale in (0.0, -4.0) for slope in (0.0, 1.0)]
    bounds = [(-16.0, 0.0), (0.0, 8.0)]
    fits = [
        minimize(lambda x: loss(*x), start, method="Nelder-Mead", bounds=bounds)
        for start in starts
    ]
    log_scale, slope = min(fits, key=lambda fit: fit.fun).x
    return np.exp(log_scale + slope * logs)


def flat_prior(values, noise):
    """Return one common variance a ≤ 1 of such values: :func:`power_prior` with g = 0."""

    def loss(log_scale):
        variance = np.exp(log_scale) + noise
        return np.mean(values**2 / variance + np.log(variance))

    return float(np.exp(minimize_scalar(loss, bounds=(-16.0, 0.0), method="bounded").x))


@dataclass(frozen=True)
class ClassModel:
    """One normal distribution for each class, in a subspace.

    Attributes
    ----------
    means : ndarray of shape (n_classes, n_directions)

    covariances : ndarray of shape (n_classes, n_directions, n_directions)
        Of the rows of a class.

    uncertainty : ndarray of shape (n_classes, n_directions)
        Posterior variance of the means.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import ClassModel, Moments
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 3.0], [6.0, 5.0]])
    >>> labels = np.array([0, 0, 1, 1])
    >>> moments = Moments.measure(rows, np.eye(2)[labels], noise=np.zeros(2))
    >>> model = ClassModel.of_moments(moments, np.eye(2), moments.total_covariance().diagonal())
    >>> model.means.shape, model.covariances.shape
    ((2, 2), (2, 2, 2))
    """

    means: np.ndarray
    covariances: np.ndarray
    uncertainty: np.ndarray

    @classmethod
    def of_moments(cls, moments: Moments, directions: np.ndarray, total: np.ndarray) -> Self:
        """Estimate from noisy moments in a subspace, see :meth:`shrink`.

        Parameters
        ----------
        moments : Moments

        directions : ndarray of shape (n_directions, n_features)
            Orthogonal rows, in the features of the moments.

        total : ndarray of shape (n_directions,)
            Variances of all rows in the directions, which are uncorrelated.
        """
        means, covariances, noise = moments.project(directions)
        moment_noise = moments.project_noise(directions)
        return cls.shrink(means, covariances, noise, moments.effective_sizes, total, *moment_noise)

    @classmethod
    def shrink(
        cls,
        means: np.ndarray,
        covariances: np.ndarray,
        noise: np.ndarray,
        effective_sizes: np.ndarray,
        total: np.ndarray,
        mean_noise: Any = 0.0,
        covariance_noise: Any = 0.0,
    ) -> Self:
        """Estimate from noisy moments, by empirical Bayes.

        In units of the total variance of each direction, means are N(0, a·t^g), t being that
        variance; entries of the covariances are N(W, b), W being the total covariance minus
        the covariance of the means. a, g and b maximize the marginal likelihood given the noise.
        Of this, N rows of a class leave (1 + v)/N in a mean and (W_ii + v_i)(W_jj + v_j)/N
        in a covariance, twice as much on the diagonal: smaller differences are sampling noise. The
        noise of the moments is added.

        Parameters
        ----------
        means, covariances, noise : ndarrays
            See :meth:`Moments.project`.

        effective_sizes : ndarray of shape (n_classes,)
            Effective sample size of each class.

        total : ndarray of shape (n_directions,)
            Variances of all rows in the directions, which are uncorrelated.

        mean_noise, covariance_noise : ndarrays or 0.0
            See :meth:`Moments.project_noise`.
        """
        (K, d), scale = means.shape, np.sqrt(total)
        frequencies = effective_sizes / effective_sizes.sum()
        sizes = effective_sizes[:, np.newaxis]
        x, v = means / scale, noise / total
        error = (1 + v) / sizes + mean_noise / total
        t = np.broadcast_to(total / total[0], x.shape)
        prior = power_prior(x * np.sqrt(K / (K - 1)), error, t)
        gain = prior / (prior + error)
        x, uncertainty = gain * x, gain * error
        between = (x.T * frequencies) @ x + np.diag(frequencies @ uncertainty)
        values, vectors = np.linalg.eigh(between)
        values = np.minimum(values, 1 - _MIN_WITHIN)
        W = np.eye(d) - (vectors * values) @ vectors.T
        deviations = covariances / np.outer(scale, scale) - W
        if len(covariances) < K:
            sizes = sizes.sum(keepdims=True)
        moment_noise = np.sqrt(covariance_noise) / total * np.ones((len(sizes), d))
        deviations = cls._shrink_deviations(deviations, np.diag(W) + v, sizes, moment_noise)
        values, vectors = np.linalg.eigh(W)
        root, inverse = vectors * np.sqrt(values), vectors / np.sqrt(values)
        shrunk = []
        for deviation in np.broadcast_to(deviations, (K, d, d)):
            values, vectors = np.linalg.eigh(inverse.T @ deviation @ inverse)
            vectors = scale[:, np.newaxis] * (root @ vectors)
            shrunk.append((vectors * np.maximum(1 + values, _MIN_OF_COMMON)) @ vectors.T)
        return cls(x * scale, np.array(shrunk), uncertainty * total)

    @staticmethod
    def _shrink_deviations(deviations, spread, sizes, noise):
        """Return deviations from the common covariance, shrunk by their noise.

        ``noise`` has the standard deviations of the diagonals of the covariances themselves.
        """
        upper = np.triu_indices(len(spread))
        twice = 1 + np.eye(len(spread))
        squares = np.outer(spread, spread) * twice
        error = squares / np.maximum(sizes - 1, 1)[:, :, np.newaxis]
        error = error + noise[:, :, np.newaxis] * noise[:, np.newaxis] * (twice / 2)
        prior = flat_prior(deviations[:, *upper], error[:, *upper])
        return deviations * (prior / (prior + error))

    def predictive(self) -> "Mixtures":
        """Return the predictive distributions of new rows, which include uncertain means."""
        spread = self.uncertainty[:, :, np.newaxis] * np.eye(self.means.shape[1])
        return Mixtures.single(self.means, self.covariances + spread)


def _credible_means(moments, directions):
    """Return class means in few directions, shrunk by their noise to the mean of all rows."""
    noise, _ = moments.project_noise(directions)
    means, center = moments.means @ directions.T, moments.mean @ directions.T
    return shrunk_vectors(means, center, noise.sum(axis=1))


def _definite(covariance):
    symmetric = (covariance + covariance.T) / 2
    definite = positive_definite_floor(symmetric, NEGLIGIBLE, NEGLIGIBLE)
    return (definite + definite.T) / 2
