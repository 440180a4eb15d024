"""The model of mixtures of normal distributions, by noisy steps of Lloyd's algorithm."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skdp.noise import Share
from skdp.release import Mixtures, PrincipalModel, reliability
from skdp.source._integers import GRID, WEIGHT_GRID, IntegerMap, squared_norms
from skdp.source._principal_model import COMMON_FRACTIONS, PRECISION, PrincipalDirectionsModel
from skdp.utils._linalg import NEGLIGIBLE, TINY, positive_definite_floor

# Largest number of mixture components of a class: with 3 and 6, mixtures classify 96.9 and 97.6%
# of the test digits of MNIST correctly without noise (pixels, 40 directions).
_MAX_COMPONENTS = 6
# Largest squared relative noise of a component's covariance, for each direction: about 3
# components of a digit of MNIST at ε = 8, which classify 96.8% of the test digits correctly (one
# 96.5%), and one component at ε = 1.
_BEARABLE = 0.05
# Noisy steps of Lloyd's algorithm on the private rows, which share their budget: more of them
# have more noise each (rule of thumb).
N_STEPS = 2

# Smallest variance of a shrunken covariance, relative to that of its target. With 0.3, 0.5 and
# 0.7 mixtures classify 96.5, 96.7 and 96.8% of the test digits of MNIST correctly at ε = 8 (one
# seed).
_LEAST_RATIO = 0.5
# Floor of the pooled variances in units of the largest eigenvalue of their noise. With 1, 2 and
# 4 normal distributions classify 92.0, 93.7 and 94.8% of the test digits of MNIST at ε = 1.
_FLOOR = 4.0


class MixturesModel(PrincipalDirectionsModel):
    """Mixtures of normal distributions of each class, by noisy steps of Lloyd's algorithm."""

    # With 30 and 50 directions mixtures get 97.1 and 97.0% of the test digits of MNIST right at
    # ε = 8, with 40 they get 96.9%; at ε = 1 94.8, 95.1 and 94.9%.
    n_directions = 40
    # Fraction of the rows that are not clipped in these directions (rule of thumb).
    quantile = 0.9
    # Of the budget: most of it for second moments, which have the most noise.
    fractions = COMMON_FRACTIONS | {
        "second": 0.10,
        "class counts": 0.01,
        "class sums": 0.05,
        "class second moments": 0.19,
        "step counts": 0.01,
        "step sums": 0.05,
        "component counts": 0.01,
        "component sums": 0.08,
        "component second moments": 0.39,
    }

    def _shares_in_directions(self, n_classes, n_directions):
        shares, products = {}, n_directions * (n_directions + 1) // 2
        components = _MAX_COMPONENTS * n_classes
        for name, groups, uses in (
            ("class", n_classes, 1),
            ("step", components, N_STEPS),
            ("component", components, 1),
        ):
            answers = {"counts": (1, WEIGHT_GRID), "sums": (n_directions, GRID)}
            if name != "step":
                answers["second moments"] = (products, GRID**2)
            for what, (numbers, sensitivity) in answers.items():
                query = f"{name} {what}"
                shares[query] = Share(self.fractions[query], groups * numbers, sensitivity, uses)
        return shares

    def _learn(self, whitened, subspace, moments, queries):
        n_classes = len(moments.class_counts)
        mixtures = lloyd_mixtures(whitened, subspace, n_classes, queries)
        model = PrincipalModel(moments, subspace=subspace, mixtures=mixtures)
        units = _units(whitened, subspace)
        in_codes = replace(
            mixtures,
            means=mixtures.means / units,
            covariances=mixtures.covariances / np.outer(units, units),
        )
        log_frequencies = np.log(moments.frequencies)
        score = partial(_exact_scores, _log_densities(in_codes), mixtures.class_indices)
        return model, partial(score, log_frequencies)


def lloyd_mixtures(whitened, subspace, n_classes, queries):
    """Return a mixture of normal distributions for each class."""
    # First every class is one normal distribution. Its covariance is shrunk towards that of all
    # classes. Then rows are assigned to the most likely component of their class, and the
    # components' counts and sums are released; at the end also their second moments, which are
    # shrunk towards the covariance of their class. Spends the shares "class ...", "step ..." and
    # "component ...".
    labels = whitened.class_indices
    classes = noisy_statistics(whitened, labels, n_classes, queries, "class")
    means = classes.means
    spread = classes.second_moments / classes.counts[:, np.newaxis, np.newaxis] - _outer(means)
    covariances = pooled_covariances(spread, classes.counts, classes.deviation)
    final = queries.deviation("component second moments", 1.0)
    n_components = _numbers_of_components(covariances, classes.counts, final)
    indices = np.repeat(np.arange(n_classes), n_components)
    # The start is arbitrary, public and always the same.
    anywhere = np.random.RandomState(0)
    starts = [_starts(*c, anywhere) for c in zip(means, covariances, n_components, strict=True)]
    mixtures = Mixtures(
        indices, 1 / n_components[indices], np.concatenate(starts), covariances[indices]
    )
    for step in range(N_STEPS + 1):
        last = step == N_STEPS
        assigned = assignments(whitened, mixtures)
        components = noisy_statistics(
            whitened,
            assigned,
            len(indices),
            queries,
            "component" if last else "step",
            with_second_moments=last,
        )
        within = _within(classes, components, indices, last)
        mixtures = _mixtures(indices, components, within, last)
    units = _units(whitened, subspace)
    return Mixtures(
        indices,
        mixtures.weights,
        mixtures.means * units,
        positive_definite_floor(
            mixtures.covariances * np.outer(units, units), NEGLIGIBLE, NEGLIGIBLE
        ),
    )


def _units(whitened, subspace):
    """Return the units of integer codes divided by 2¹⁶, in the directions of a subspace."""
    return subspace.scale * np.sqrt(subspace.variances) * whitened.radius


def _log_densities(mixtures):
    """Return a function of each component and integer codes: log-densities, up to a constant.

    Each depends on its own row only, to the last bit: see :class:`IntegerMap`.
    """
    maps, constants = [], []
    for weight, m, S in zip(mixtures.weights, mixtures.means, mixtures.covariances, strict=True):
        inverse = np.linalg.inv(np.linalg.cholesky(S)).T
        maps.append(IntegerMap.nearest(inverse, -GRID * (m @ inverse)))
        constants.append(np.log(weight) + np.log(np.diag(inverse)).sum())

    def log_density(k, codes):
        return squared_norms(maps[k](codes)) * (-0.5 / GRID**2) + constants[k]

    return log_density


def _exact_scores(log_density, class_indices, log_frequencies, codes):
    """Return log-posteriors of integer codes by the likeliest component of each class."""
    scores = np.full((len(codes), len(log_frequencies)), -np.inf)
    for k, c in enumerate(class_indices):
        scores[:, c] = np.maximum(scores[:, c], log_density(k, codes) + log_frequencies[c])
    return scores


def assignments(whitened, mixtures):
    """Return the most likely component of each row among those of its class."""
    log_density = _log_densities(mixtures)
    assigned = []
    for codes, class_indices, _ in whitened.chunks():
        likeliest = np.zeros(len(codes), dtype=np.int64)
        for c in np.unique(class_indices):
            members = np.flatnonzero(class_indices == c)
            candidates = np.flatnonzero(mixtures.class_indices == c)
            if len(candidates) == 1:
                likeliest[members] = candidates[0]
                continue
            logs = [log_density(k, codes[members]) for k in candidates]
            likeliest[members] = candidates[np.argmax(logs, axis=0)]
        assigned.append(likeliest)
    return np.concatenate([np.zeros(0, dtype=np.int64), *assigned])


def _numbers_of_components(covariances, counts, deviation):
    """Return the number of components of each class that the noise of second moments allows."""
    d = covariances.shape[1]
    noises = [relative_noise(S, deviation / n) for S, n in zip(covariances, counts, strict=True)]
    room = np.sqrt(_BEARABLE * d / np.maximum(noises, TINY))
    return np.clip(np.minimum(room, counts / (2 * d)), 1, _MAX_COMPONENTS).astype(np.int64)


def _starts(mean, covariance, n_components, random_state):
    """Return centers of a normal distribution, by Lloyd's algorithm on rows drawn from it."""
    if n_components == 1:
        return mean[np.newaxis]
    # Five steps of Lloyd's algorithm on 200 draws for each component, which are not private and
    # hence free.
    draws = random_state.standard_normal((200 * n_components, len(mean)))
    draws = mean + draws @ np.linalg.cholesky(covariance).T
    centers = draws[:n_components].copy()
    for _ in range(5):
        nearest = ((centers**2).sum(axis=1) - 2 * draws @ centers.T).argmin(axis=1)
        for k in np.unique(nearest):
            centers[k] = draws[nearest == k].mean(axis=0)
    return centers


def _outer(means):
    return means[:, :, np.newaxis] * means[:, np.newaxis, :]


def _within(classes, components, indices, last):
    """Return covariances within the components of each class, shrunk towards their average.

    The final second moments of a class average both releases, weighted by their precisions.
    """
    K, numbers = len(classes.counts), np.bincount(indices)
    variances = np.full(K, classes.deviation**2)
    second_moments, within = classes.second_moments, np.empty_like(classes.second_moments)
    if last:
        total = np.array([components.second_moments[indices == c].sum(axis=0) for c in range(K)])
        total_variances = numbers * components.deviation**2
        weight = total_variances / np.maximum(total_variances + variances, TINY)
        second_moments = weight[:, np.newaxis, np.newaxis] * second_moments
        second_moments = second_moments + (1 - weight)[:, np.newaxis, np.newaxis] * total
        variances = weight**2 * variances + (1 - weight) ** 2 * total_variances
    for c in range(K):
        of_class = indices == c
        weights = components.counts[of_class] / components.counts[of_class].sum()
        between = (components.means[of_class].T * weights) @ components.means[of_class]
        within[c] = second_moments[c] / classes.counts[c] - between
    return pooled_covariances(within, classes.counts, np.sqrt(variances.mean()))


def _mixtures(indices, components, within, by_component):
    """Return mixtures whose components have covariances of their class, or their own."""
    weights = components.counts / np.bincount(indices, components.counts)[indices]
    covariances = within[indices]
    if by_component and len(indices) > len(within):
        n = components.counts
        spread = components.second_moments / n[:, np.newaxis, np.newaxis] - _outer(
            components.means
        )
        covariances = np.array(
            [
                shrunk(S, base, components.deviation / size)
                for S, base, size in zip(spread, covariances, n, strict=True)
            ]
        )
    return Mixtures(indices, weights, components.means, covariances)


@dataclass(frozen=True)
class GroupStatistics:
    """Noisy sums over groups of integer rows, in units in which the longest row has norm 1.

    Attributes
    ----------
    counts : ndarray of shape (n_groups,)

    sums : ndarray of shape (n_groups, n_directions)

    second_moments : ndarray of shape (n_groups, n_directions, n_directions)
        Sums of rrᵀ.

    deviation : float
        Standard deviation of the noise on the diagonals of ``second_moments``; off them, 1/√2
        of it.
    """

    counts: np.ndarray
    sums: np.ndarray
    second_moments: np.ndarray
    deviation: float

    @property
    def means(self):
        """Return the means of the groups."""
        return self.sums / self.counts[:, np.newaxis]


def noisy_statistics(whitened, groups, n_groups, queries, name, *, with_second_moments=True):
    """Return noisy statistics of groups of rows; each row is in one group."""
    # Spends "... counts", "... sums" and, with second moments, "... second moments".
    counts, sums = whitened.sums(groups, n_groups)
    counts = queries.add(f"{name} counts", counts, WEIGHT_GRID) / WEIGHT_GRID
    counts = np.maximum(counts, max(1.0, 4 * queries.deviation(f"{name} counts", 1.0)))
    sums = queries.add(f"{name} sums", sums, GRID) / GRID
    d = sums.shape[1]
    second_moments, deviation = np.zeros((n_groups, d, d)), 0.0
    if with_second_moments:
        rows, columns = np.triu_indices(d)
        scales = np.where(rows == columns, 1.0, np.sqrt(0.5))
        exact = whitened.second_moments(groups, n_groups)
        packed = queries.add(f"{name} second moments", exact, GRID**2, scales) / GRID**2
        second_moments[:, rows, columns] = second_moments[:, columns, rows] = packed
        deviation = queries.deviation(f"{name} second moments", 1.0)
    return GroupStatistics(counts, sums, second_moments, deviation)


def pooled_covariances(covariances, counts, deviation):
    """Return covariances shrunk towards their average as far as noise explains differences."""
    K, d = covariances.shape[:2]
    pooled = np.tensordot(counts / counts.sum(), covariances, 1)
    noise = np.sqrt(K) * deviation / counts.sum() * np.sqrt(2 * d)
    pooled = positive_definite_floor(
        pooled, max(_FLOOR * noise, np.finfo(np.float32).tiny), PRECISION
    )
    return np.array(
        [shrunk(S, pooled, deviation / n) for S, n in zip(covariances, counts, strict=True)]
    )


def relative_noise(base, deviation):
    """Return the expected squared norm of the noise after whitening by ``base``."""
    # For a symmetric E with deviation s on the diagonal and s/√2 off it, that of AEA with A =
    # base^−½ is s²/2 · ((tr base⁻¹)² + tr base⁻²).
    inverses = 1 / np.linalg.eigvalsh(base)
    return 0.5 * deviation**2 * (inverses.sum() ** 2 + (inverses**2).sum())


def shrunk(covariance, base, deviation):
    """Return a noisy covariance shrunk linearly towards another one."""
    # By the fraction of their squared distance that noise explains, in units of base.
    values, vectors = np.linalg.eigh(base)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    excess = inverse @ covariance @ inverse - np.eye(len(base))
    excess *= reliability((excess**2).sum(), relative_noise(base, deviation))
    return root @ positive_definite_floor(np.eye(len(base)) + excess, _LEAST_RATIO) @ root
