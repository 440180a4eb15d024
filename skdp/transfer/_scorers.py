"""Scores of target rows by the parts of a release, unchanged or adapted to the target."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import log_softmax, softmax

from skdp.release import ClassModel, Mixtures, Subspace, linear_discriminant
from skdp.transfer._embedding import Embedding, map_to_source
from skdp.transfer._evidence import agrees_with_source, has_indicators
from skdp.transfer._strategy import N_DIRECTIONS

# Fraction of the length of a target direction that other features must span; rule of thumb.
_MIN_SHARED = 0.5
# Number of source rows for each column from which a discriminant of all columns is used. With one
# or less (Office), its accuracy is 20-52 %, that in 60 directions 31-77 %; rule of thumb.
_ROWS_PER_COLUMN = 5
# Standard deviation of the intercepts of sites where a single source does not tell it. With 0, .5
# and 1 the log loss of one hospital for another at ε = 8 is .774, .756 and .717 without labels and
# .594, .586 and .568 with 10; of adult for itself (3,000 rows, ε = 4) .3375, with .7 .3384, with 1
# .3409.
_SPREAD_OF_SITES = 0.7
# Smallest number of target rows per class to which mixtures are adapted: on MNIST, with 20 they
# lose .1 points, with 900 they gain .5; rule of thumb.
_ROWS_PER_CLASS = 100


@dataclass(frozen=True)
class Scorer:
    """Scores of target rows: mapped to the space of a model, and scored there for some classes.

    Attributes
    ----------
    score : callable
        ``score(Z)`` returns one score for each row and class; larger is more likely.

    maps : tuple of callable, default=()
        Applied to the rows in this order.

    class_indices : list of int or None, default=None
        The target's classes among those of the model; None for all.

    name : str, default="source"
        Name in the report.
    """

    score: Callable
    maps: tuple = ()
    class_indices: list | None = None
    name: str = "source"

    def scores(self, X):
        """Return one score for each row and class."""
        for carry in self.maps:
            X = carry(X)
        scores = self.score(X)
        return scores if self.class_indices is None else scores[:, self.class_indices]


def normalized_log_posteriors(scorer, X):
    """Return the scores of a scorer as log-posteriors, in float64."""
    return log_softmax(np.asarray(scorer.scores(X), dtype=np.float64), axis=1)


def on_all_columns(task, scorer):
    """Return a scorer of all columns of the target, given one of the releases' columns."""
    if task.n_shared is None:
        return scorer
    return replace(scorer, maps=(partial(_first_columns, task.n_shared), *scorer.maps))


def _first_columns(n, X):
    return X[:, :n]


def _densities(mixtures):
    """Return a function of the log-densities of rows without noise, up to a constant."""
    return partial(mixtures.log_likelihood, noise=np.zeros(mixtures.means.shape[1]))


# For self-training: scores on any scale, weighted by the labeled rows.


def source_scorers(task):
    """Return the scorers of releases for self-training."""
    scorers: list = []
    for pair in task.pairs:
        release, embedding = pair.release, Embedding.of_means(pair)
        if release.classifier is not None:
            score = partial(_classifier_scores, release)
            scorers.append(Scorer(score, (embedding.rows,), pair.class_indices, "classifier"))
        if _normals_see_best(release):
            scorers.append(normals_in_target_directions(pair, embedding))
        if release.mixtures is not None:
            scorers.append(mixtures_on_target(pair, embedding))
    return [on_all_columns(task, scorer) for scorer in scorers]


def _classifier_scores(release, rows):
    """Return the negative squared errors of the classifier of the source."""
    with warnings.catch_warnings():
        # Mapped or shifted rows are not in the public units, which were checked before.
        warnings.filterwarnings("ignore", message="Most values of the columns")
        return release.scores(rows)


def _normals_see_best(release):
    """Return whether noise of rows or labels leaves single normals the best model of classes.

    Otherwise they would duplicate better scorers, and err on the same rows as the target.
    """
    if release.mixtures is not None:
        return not release.mixtures.is_multimodal
    nothing_finer = release.label_guarantee is not None or release.classifier is None
    return release.moments is not None and nothing_finer


def normals_in_target_directions(pair, embedding):
    """Return log-densities by a normal distribution of each class, in the target's subspace.

    In those few directions class means are known even if single rows are dominated by noise.
    """
    moments, subspace = pair.moments, pair.subspace
    directions = embedding.directions(subspace.components)
    # Other features may not span all directions of the target.
    shared = np.flatnonzero((directions**2).sum(axis=1) > _MIN_SHARED)
    subspace = Subspace(subspace.mean, subspace.components[shared], subspace.variances[shared])
    means, covariances, noise = moments.project(directions[shared])
    mean_noise, covariance_noise = moments.project_noise(directions[shared])
    s = 1 / embedding.scale
    model = ClassModel.shrink(
        means * s,
        covariances * s**2,
        noise * s**2,
        moments.effective_sizes,
        subspace.variances,
        mean_noise * s**2,
        covariance_noise * s**4,
    )
    normals = model.predictive()
    return Scorer(_densities(normals), (subspace.project,), name="normal distributions")


def mixtures_on_target(pair, embedding):
    """Return log-densities by a source's mixtures without noise, adapted to the target rows."""
    release = pair.release
    maps = embedding.rows, release.subspace.encode
    mixtures = release.mixtures.select(pair.class_indices)
    # If noise of rows left one normal distribution for each class, wider than the true one,
    # adaptation would mislead it.
    if release.model.structure is not None:
        moments = pair.moments
        codes = release.subspace.encode(embedding.rows(pair.X))
        noise = release.subspace.noise(moments.noise)
        mixtures = mixtures.adapt(codes, moments.effective_sizes, noise)
    return Scorer(_densities(mixtures), maps, name="adapted mixtures")


def fit_mixtures(rows, labels, random_state):
    """Return a scorer by log-densities of noiseless rows, with labels other than 0, 1, … too."""
    present = np.unique(labels, return_inverse=True)[1]
    noise = np.zeros(rows.shape[1])
    return Scorer(_densities(Mixtures.fit(rows, present, noise, random_state)))


# For candidates: calibrated log-posteriors.


def source_scorer(pair):
    """Return the log-posteriors of a source for the target."""
    # These are its linear scores, if it has any. For noisy rows they are those of the discriminant
    # of the moments, unless there are too few rows, or densities find the same, well-separated
    # classes. If classes overlap, or there are indicators, densities would be overconfident.
    release, maps = pair.release, (map_to_source(pair),)
    if release.linear is not None:
        return Scorer(partial(at_another_site, release), maps, pair.class_indices)
    densities = calibrated_densities(pair)
    few = release.moments.effective_sizes.sum() < _ROWS_PER_COLUMN * release.n_features
    if not release.model.noise_in_rows or few:
        return densities
    linear = Scorer(linear_discriminant(release.moments).scores, maps, pair.class_indices)
    if has_indicators(pair.X):
        return linear
    posteriors = [
        np.exp(normalized_log_posteriors(scorer, pair.X)) for scorer in (densities, linear)
    ]
    return densities if agrees_with_source(*posteriors) else linear


def at_another_site(release, rows):
    """Return log-posteriors at a site whose intercept differs from that of the sources."""
    # The mean of the logistic function of x + N(0, s²) is about that of x/√(1 + π s²/8) (MacKay,
    # 1992). Of more than two classes the spread of intercepts is not known.
    if len(release.classes) > 2:
        return release.model.score(rows)
    deviations = release.linear.intercept_sd
    spread = _SPREAD_OF_SITES if deviations is None else float(deviations[0])
    return release.model.score(rows) / np.sqrt(1 + np.pi * spread**2 / 8)


def calibrated_densities(pair):
    """Return calibrated log-posteriors by densities of the source."""
    # These are its mixtures, or normal distributions from the moments if noise of rows leaves no
    # structure within classes.
    release, mixtures, moments = pair.release, pair.release.model.structure, pair.release.moments
    if mixtures is not None:
        encode = release.subspace.encode
    else:
        encode, mixtures = discriminant(moments)
    score = partial(_tempered_posteriors, release.model, mixtures, moments.frequencies)
    return Scorer(score, (map_to_source(pair), encode), pair.class_indices)


def _tempered_posteriors(model, mixtures, frequencies, codes):
    """Return log-posteriors by densities, as sure as the noise of a model leaves them."""
    return model.tempered(mixtures.log_posteriors(codes, frequencies))


def discriminant(moments):
    """Return a projection on leading directions of a source, with a normal of each class."""
    # Means and covariances are shrunk according to their noise, so that posteriors are about
    # calibrated.
    subspace = Subspace.of_moments(moments, N_DIRECTIONS)
    model = ClassModel.of_moments(moments, subspace.components, subspace.variances)
    return subspace.project, model.predictive()


def adapted_mixtures(pair):
    """Return the mixtures of a release, adapted to all columns of the target.

    None if it has no suitable ones, or the target has too few rows.
    """
    few = len(pair.X) < _ROWS_PER_CLASS * pair.task.n_classes
    if few or pair.release.model.structure is None:
        return None
    return on_all_columns(pair.task, mixtures_on_target(pair, Embedding.of_means(pair)))


def adapted_class_means(pair, posteriors=None, labels=None):
    """Return the class means of a release, adapted to the target, see :meth:`ClassMeans.adapt`.

    None if every column is tied.
    """
    carry = map_to_source(pair)
    rows = carry(pair.X)
    if len(rows) < _ADAPTATION.min_rows or tied_columns(rows).all():
        return None
    means = ClassMeans.adapt(rows, pair.moments, posteriors, labels)
    scorer = Scorer(means.log_posteriors, (carry, means.subspace.project))
    return on_all_columns(pair.task, scorer)


@dataclass(frozen=True)
class _Adaptation:
    """Settings of class means that are adapted to the target."""

    # Smallest number of target rows; rule of thumb.
    min_rows: int = 10
    # Largest number of directions; human activity: accuracy is 88-90 % with 60, 93-95 % with 120.
    max_directions: int = 120
    # Number of rows for each direction of the common covariance; rule of thumb.
    rows_per_direction: int = 20
    # Largest fraction of rows with the same value in a column: otherwise the value forms a
    # cluster, independently of the classes. With indicators, the class means of adult found who is
    # married, with an accuracy of 74 instead of 85 % at ε = 1.
    max_tied: float = 0.1
    # Floor of the variance of a direction, relative to the largest one; rule of thumb.
    min_variance: float = 1e-6
    # Number of steps, after which hardly any row changes its class; rule of thumb.
    n_steps: int = 20
    # Power of the densities in responsibilities, against premature certainty; rule of thumb.
    temperature: float = 0.5
    # Number of rows as which a noiseless class mean of the source counts, so that classes that are
    # rare in the target hardly move. On human activity at record ε = 1, accuracy is 92.9 and
    # 93.0 % with 200 and 1,000, and 92.3 % if noise is not considered.
    prior_rows: float = 500.0
    # Number of rows as which a labeled one counts: on human activity with 5 labels per class, 10
    # gain .2 points on average, and 100 lose .4.
    label_rows: float = 10.0
    # Floor of the number of rows of a class in means; rule of thumb.
    min_size: float = 1e-3
    # Uniform fraction of the class frequencies, so that no class vanishes; rule of thumb.
    uniform: float = 0.5


_ADAPTATION = _Adaptation()


@dataclass(frozen=True)
class ClassMeans:
    """Normal distributions of classes with one covariance, in a subspace of the target.

    Attributes
    ----------
    subspace : Subspace
        Subspace of the target's rows.

    means : ndarray of shape (n_classes, n_directions)

    covariance : ndarray of shape (n_directions, n_directions)

    frequencies : ndarray of shape (n_classes,)
        Class frequencies, half uniform.
    """

    subspace: Subspace
    means: np.ndarray
    covariance: np.ndarray
    frequencies: np.ndarray

    @classmethod
    def adapt(cls, X, moments, posteriors=None, labels=None):
        """Return the class means of a release, adapted to target rows with few or no labels."""
        # Means are initialized in leading directions of the target, with an isotropic covariance:
        # either from those of the source, relative to the mean of all its rows and shrunk
        # according to noise, or as means of the target's rows weighted by the source's posteriors.
        # A few noisy means can be a worse start than a regression: on human activity at ε = 1
        # their accuracy becomes 92-96 % by the second start and 60-90 % by the first, while that
        # of linear scores becomes 91-95 % by the first and 70-83 % by the second. The likelier of
        # the two is better in nearly all cases. Expectation maximization then updates them, with a
        # common covariance of all classes, responsibilities tempered by 1/2, each initial mean
        # counted as the number of rows that would be equally precise, at most 500, and class
        # frequencies that are half uniform.
        # Columns of few values are not used. If classes are well separated, those of other people
        # or devices are found again; if they overlap, means move to unrelated clusters, which
        # errs_as_claimed detects.
        subspace = _leading_directions(X)
        Z = subspace.project(X)
        uncertainty: float | np.ndarray
        if posteriors is None:
            seen = ClassModel.of_moments(moments, subspace.components, subspace.variances)
            start, uncertainty = seen.means, seen.uncertainty
        else:
            sizes = posteriors.sum(axis=0)[:, np.newaxis]
            start, uncertainty = posteriors.T @ Z / np.maximum(sizes, _ADAPTATION.min_size), 0.0
        K, (n, d) = len(start), Z.shape
        counts, certain = np.ones((n, 1)), np.zeros((0, K))
        is_labeled = np.zeros(n, dtype=bool) if labels is None else labels >= 0
        if labels is not None:
            counts[is_labeled], certain = _ADAPTATION.label_rows, np.eye(K)[labels[is_labeled]]
        squares = (counts * Z).T @ Z
        means, frequencies = start, np.full(K, 1 / K)
        covariance = np.eye(d) * subspace.variances.mean()
        for _ in range(_ADAPTATION.n_steps):
            model = cls(subspace, means, covariance, frequencies)
            r = softmax(_ADAPTATION.temperature * model.log_posteriors(Z), axis=1)
            r[is_labeled] = certain
            r *= counts
            sizes, sums = r.sum(axis=0), r.T @ Z
            held = 1 / (1 / _ADAPTATION.prior_rows + uncertainty / covariance.diagonal())
            means = (held * start + sums) / (held + sizes[:, np.newaxis])
            frequencies = _ADAPTATION.uniform / K + (1 - _ADAPTATION.uniform) * sizes / sizes.sum()
            cross = sums.T @ means
            covariance = (squares - cross - cross.T + (means.T * sizes) @ means) / sizes.sum()
            floor = _ADAPTATION.min_variance * np.trace(covariance) / d
            covariance = covariance + floor * np.eye(d)
        return cls(subspace, means, covariance, frequencies)

    def log_posteriors(self, Z):
        """Return log-posteriors of rows in the subspace, up to a constant for each row."""
        K, d = self.means.shape
        covariances = np.broadcast_to(self.covariance, (K, d, d))
        normals = Mixtures.single(self.means, covariances)
        return normals.log_posteriors(Z, self.frequencies)


def tied_columns(X):
    """Return which columns have a value shared by more than a tenth of the rows."""
    k = int(np.ceil(_ADAPTATION.max_tied * len(X)))
    ordered = np.sort(X, axis=0)
    return (ordered[k:] == ordered[: len(X) - k]).any(axis=0)


def _leading_directions(X):
    """Return directions of the target's rows, as many as a covariance can be estimated in.

    Tied columns are not used.
    """
    X, tied = X.astype(np.float64), tied_columns(X)
    X[:, tied] = X[:, tied].mean(axis=0)
    n_directions = int(
        np.clip(len(X) // _ADAPTATION.rows_per_direction, 1, _ADAPTATION.max_directions)
    )
    subspace = Subspace.of_rows(X, n_directions)
    kept = subspace.variances > _ADAPTATION.min_variance * subspace.variances[0]
    kept[0] = True
    return Subspace(subspace.mean, subspace.components[kept], subspace.variances[kept])
