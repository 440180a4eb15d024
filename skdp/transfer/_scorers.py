"""Scores of target rows by the parts of a release, unchanged or adapted to the target."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_softmax

from skdp.release import ClassModel, Mixtures, Subspace, linear_discriminant
from skdp.transfer._embedding import Embedding, map_to_source
from skdp.transfer._task import N_DIRECTIONS, has_indicators
from skdp.utils._linalg import TINY

# Fraction of the length of a target direction that other features must span; rule of thumb.
_MIN_SHARED = 0.5
# Number of source rows for each column from which a discriminant of all columns is used. With one
# or less (Office), its accuracy is 20-52%, that in 60 directions 31-77%; rule of thumb.
_ROWS_PER_COLUMN = 5
# Standard deviation of the intercepts of sites, which a single source does not show. With 0, .5
# and 1 the log loss of one hospital for another at ε = 8 is .774, .756 and .717 without labels and
# .594, .586 and .568 with 10; of adult for itself (3,000 rows, ε = 4) .3375, with .7 .3384, with 1
# .3409.
_SPREAD_OF_SITES = 0.7
# Standard deviations below the mean from which labels contradict scores or a source: by chance,
# six in a thousand do.
CONTRADICTION = 2.5


@dataclass(frozen=True)
class Scorer:
    """Scores of target rows: mapped to the space of a model, and scored there for some classes.

    Attributes
    ----------
    score : callable
        ``score(Z)`` returns one score for each row and class; larger is more likely.

    maps : tuple of callable, default=()
        Applied to the rows in this order.

    class_indices : list of int, default=...
        The target's classes among those of the model, all by default.

    name : str, default="source"
        Name in the report.
    """

    score: Callable
    maps: tuple = ()
    class_indices: Any = ...
    name: str = "source"

    def scores(self, X):
        """Return one score for each row and class."""
        for carry in self.maps:
            X = carry(X)
        return self.score(X)[:, self.class_indices]


def normalized_log_posteriors(scorer, X):
    """Return the scores of a scorer as log-posteriors, in float64."""
    return log_softmax(np.asarray(scorer.scores(X), dtype=np.float64), axis=1)


def on_all_columns(task, scorer):
    """Return a scorer of all columns of the target, given one of the releases' columns."""
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


def fit_mixtures(random_state, settings, rows, labels):
    """Return a scorer by log-densities of noiseless rows, with labels other than 0, 1, … too.

    It is called as ``fit_autoencoders`` is; the settings are not used.
    """
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
    """Return log-posteriors by densities, with confidence reduced by a model's noise."""
    return model.tempered(mixtures.log_posteriors(codes, frequencies))


def discriminant(moments):
    """Return a projection on leading directions of a source, with a normal of each class."""
    # Means and covariances are shrunk according to their noise, so that posteriors are about
    # calibrated.
    subspace = Subspace.of_moments(moments, N_DIRECTIONS)
    model = ClassModel.of_moments(moments, subspace.components, subspace.variances)
    return subspace.project, model.predictive()


# Evidence for a candidate: agreement with the source, without labels, or with labels.


class _Agreement:
    """Conditions under which a candidate agrees with the source and is used without labels."""

    # Fraction of the entropy of classes that a candidate must remove on the target's rows, so that
    # its classes are well separated. Human activity has .95 or more; with a quarter of its
    # columns, where class means are up to four points worse than a good source, .92 or less;
    # tables have below .1.
    min_certainty = 0.93
    # Required agreement of source and candidate beyond chance, relative to that which the source
    # claims with the true classes. Human activity has .57-1.1; unrelated clusters have none.
    min_agreement = 0.5
    # Floor of the agreement beyond chance that a source claims: one that cannot distinguish
    # classes confirms nothing; rule of thumb.
    min_claim = 0.05
    # Largest number of rows on which a candidate may disagree with the source, relative to the
    # number on which the source claims to err. Among mixtures and regressions on digits and human
    # activity, all that improve have 1.4 or less, and all below 1.5 improve; on Fashion-MNIST all
    # get worse, and with many source rows have 2.1 or more; oriented gradients of digits get worse
    # too, with 1.4 or more. With 9,000 rows at ε = 1, mixtures on Fashion-MNIST have .8, and eight
    # points are lost.
    max_disagreement = 1.3


def entropy(probabilities):
    """Return the entropy of each row of probabilities."""
    safe = np.maximum(probabilities, TINY)
    return -(probabilities * np.log(safe)).sum(axis=-1)


def certainty(posteriors):
    """Return the fraction of the entropy of classes that posteriors remove, 0 if it is zero."""
    possible = entropy(posteriors.mean(axis=0))
    return float(1 - entropy(posteriors).mean() / possible) if possible > 0 else 0.0


def agrees_with_source(posteriors, reference):
    """Return whether the classes of a candidate are well separated and agree with the source."""
    # If the source is correct as often as its posteriors imply, its agreement with the true
    # classes is Cohen's
    # κ = \frac{\bar p - p_e}{1 - p_e}, \qquad p_e = \sum_c f_c g_c
    # with the mean \bar p of its largest posteriors and the frequencies f and g with which source
    # and candidate predict the classes. The test requires half of that between source and
    # candidate, and a candidate that is certain of nearly all rows. It needs no labels.
    if certainty(posteriors) < _Agreement.min_certainty:
        return False
    guesses, source_guesses = posteriors.argmax(axis=1), reference.argmax(axis=1)
    K = reference.shape[1]
    counts = [np.bincount(predicted, minlength=K) for predicted in (guesses, source_guesses)]
    chance = counts[0] @ counts[1] / len(guesses) ** 2
    claimed = max(reference.max(axis=1).mean() - chance, _Agreement.min_claim)
    agreement = np.mean(guesses == source_guesses) - chance
    return bool(agreement >= _Agreement.min_agreement * claimed)


def errs_as_claimed(posteriors, reference):
    """Return whether the source errs as often as it claims, assuming that a candidate is right."""
    # True classes differ from those of the source exactly on the rows on which the source errs.
    # With the mean \bar p of its largest posteriors, the fraction of rows on which the two differ
    # should thus be about 1 - \bar p; unrelated clusters differ on more.
    differ = np.mean(posteriors.argmax(axis=1) != reference.argmax(axis=1))
    claimed = 1 - reference.max(axis=1).mean()
    return bool(differ <= _Agreement.max_disagreement * claimed)


def contradicts(labels, scores):
    """Return whether labels contradict scores: scores of the rows' own classes are too low."""
    # The sum over rows of the score of the label, minus the averages of the row and the class, is
    # compared with its distribution under permutations of the labels, which has mean 0 and the
    # variance of Hoeffding's combinatorial central limit theorem (1951).
    n = len(labels)
    if n < 2:
        return False
    frequencies = np.bincount(labels, minlength=scores.shape[1]) / n
    more = scores - scores.mean(axis=0)
    more -= (more @ frequencies)[:, np.newaxis]
    variance = (more**2 @ frequencies).sum() * n / (n - 1)
    return bool(more[np.arange(n), labels].sum() < -CONTRADICTION * np.sqrt(variance))
