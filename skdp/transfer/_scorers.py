"""Scores of target rows by the parts of a release, unchanged or adapted to the target."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_softmax

from skdp.release import ClassModel, Subspace, linear_discriminant
from skdp.transfer._task import N_DIRECTIONS
from skdp.utils._linalg import TINY

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

    n_columns : int or None, default=None
        Number of leading columns of the rows that the maps take; None for all.
    """

    score: Callable
    maps: tuple = ()
    class_indices: Any = ...
    n_columns: int | None = None

    def scores(self, X):
        """Return one score for each row and class."""
        X = X[:, : self.n_columns]
        for carry in self.maps:
            X = carry(X)
        return self.score(X)[:, self.class_indices]

    def log_posteriors(self, X):
        """Return scores as log-posteriors, in float64."""
        return log_softmax(np.asarray(self.scores(X), dtype=np.float64), axis=1)


def densities(mixtures):
    """Return a function of the log-densities of rows without noise, up to a constant."""
    return partial(mixtures.log_likelihood, noise=np.zeros(mixtures.means.shape[1]))


def source_scorer(pair):
    """Return a scorer of a source for the target, of calibrated log-posteriors if it has any."""
    # These are its linear scores, if it has any. For noisy rows they are those of the discriminant
    # of the moments, unless there are too few rows, or densities find the same, well-separated
    # classes. If classes overlap, or there are indicators, densities would be overconfident.
    # Without moments they are errors of reconstruction.
    release, n = pair.release, pair.task.n_shared
    if not release.moments:
        score, maps = partial(_by_errors, release), (pair.embedding(),)
        return Scorer(score, maps, pair.class_indices, n)
    maps = (pair.to_source(),)
    if release.linear:
        return Scorer(partial(at_another_site, release), maps, pair.class_indices, n)
    by_densities = calibrated_densities(pair)
    few = release.moments.effective_sizes.sum() < _ROWS_PER_COLUMN * release.n_features
    if not release.model.noise_in_rows or few:
        return by_densities
    linear = Scorer(linear_discriminant(release.moments).scores, maps, pair.class_indices, n)
    if pair.task.has_indicators:
        return linear
    posteriors = [np.exp(scorer.log_posteriors(pair.X)) for scorer in (by_densities, linear)]
    return by_densities if agrees_with_source(*posteriors) else linear


def _by_errors(release, rows):
    """Return negative squared errors of reconstruction, in units of those of the training rows."""
    return release.scores(rows) / release.row_classifier.temperature_


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
    encode, mixtures = (
        discriminant(moments) if mixtures is None else (release.subspace.encode, mixtures)
    )
    score = partial(_tempered_posteriors, release.model, mixtures, moments.frequencies)
    maps = pair.to_source(), encode
    return Scorer(score, maps, pair.class_indices, pair.task.n_shared)


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
    # too, with 1.4 or more. Without this condition, 11.5 points are lost on those of Fashion-MNIST
    # (mixtures, 60,000 rows at ε = 1, no label). With 9,000 rows at ε = 1, mixtures on
    # Fashion-MNIST have .8, and eight points are lost.
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
