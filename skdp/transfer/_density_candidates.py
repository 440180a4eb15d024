"""Candidates where a release has densities: class means and mixtures adapted to a target's rows.

Expectation maximization finds separated classes again, as of images and sensors, and unrelated
clusters where classes overlap. A candidate thus has to agree with the release as far as this
claims to be right. Self-training is a candidate too, see :func:`trained_source`.
"""

from functools import partial

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from skdp.release import ClassModel, Mixtures, Subspace
from skdp.transfer._scorers import (
    Scorer,
    agrees_with_source,
    certainty,
    densities,
    errs_as_claimed,
)
from skdp.transfer._target_model import Beliefs, Source, Terms
from skdp.utils._linalg import TINY

# Smallest number of target rows per class to which mixtures are adapted: on MNIST, with 20 they
# lose .1 points, with 900 they gain .5; rule of thumb.
_ROWS_PER_CLASS = 100
# Probability of adapted class means and of self-training, compared with the release with which
# they agree. On human activity with 10 labels per class, 1, e, e² and e³ gain 10.7, 11.2, 11.6 and
# 12.1 points by class means; without labels, log loss is .2-.45 with 1, at the same accuracy.
_AGREES = np.exp(3.0)
# Of self-training that does not agree with a calibrated release: on pixels of Fashion-MNIST with 1
# and 3 labels per class, 3.6 and 1.3 points are lost with 1; if it were no candidate, 10 on USPS.
_DISAGREES = np.exp(-6.0)


class _Adaptation:
    """Settings of class means that are adapted to the target."""

    # Smallest number of target rows; rule of thumb.
    min_rows = 10
    # Largest number of directions; human activity: accuracy is 88-90% with 60, 93-95% with 120.
    max_directions = 120
    # Number of rows for each direction of the common covariance; rule of thumb.
    rows_per_direction = 20
    # Largest fraction of rows with the same value in a column: otherwise the value forms a
    # cluster, independently of the classes. With indicators, the class means of adult found who is
    # married, with an accuracy of 74 instead of 85% at ε = 1. Digits, USPS, Office and human
    # activity are the same without, but covariances of iris are then singular.
    max_tied = 0.1
    # Floor of the variance of a direction, relative to the largest one; rule of thumb.
    min_variance = 1e-6
    # Number of steps, after which hardly any row changes its class; rule of thumb.
    n_steps = 20
    # Power of the densities in responsibilities, against premature certainty; rule of thumb.
    temperature = 0.5
    # Number of rows as which a noiseless class mean of the source counts, so that classes that are
    # rare in the target hardly move. On human activity at record ε = 1, accuracy is 92.9 and
    # 93.0% with 200 and 1,000, and 92.3% if noise is not considered.
    prior_rows = 500.0
    # Number of rows as which a labeled one counts: on human activity with 5 labels per class, 10
    # gain .2 points on average, and 100 lose .4.
    label_rows = 10.0
    # Uniform fraction of the class frequencies, so that no class vanishes; rule of thumb.
    uniform = 0.5


def density_sources(task, reference):
    """Yield adapted densities with their log-posteriors of all rows.

    ``reference`` has the posteriors of all rows by the releases.
    """
    for pair in task.pairs:
        if pair.release.moments:
            yield from _class_means(pair, reference)
            yield from _mixtures(pair, reference)


def density_source(name, scorer, log_posteriors, probability=1.0):
    """Return a source whose log-posteriors labels only scale, and these of all rows."""
    # They are too sure.
    beliefs = Beliefs((0.0,), 1.0, (1.0,), unchanged=0.0)
    return Source(name, probability, scorer.log_posteriors, Terms(), beliefs), log_posteriors


def trained_source(trained, reference, calibrated):
    """Return self-training as a source, by out-of-fold log-posteriors."""
    # It is not changed by labels: those of rows that it has labeled itself are no evidence, and a
    # slope by 3 labels per class adds .02-.09 of log loss on digits.
    model, logs = trained.model, trained.log_posteriors
    trusted = not calibrated or agrees_with_source(np.exp(logs), reference)
    source = Source(
        "self-training",
        _AGREES if trusted else _DISAGREES,
        model.log_posteriors,
        Terms(),
        Beliefs((), 0.0, unchanged=1.0),
        source_weight=model.source_weight,
    )
    return source, logs


def _class_means(pair, reference):
    """Yield class means by the likelier of two starts, if the source errs as it claims."""
    # Means are initialized in leading directions of the target: either from those of the source,
    # relative to the mean of all its rows and shrunk according to noise, or as means of the
    # target's rows weighted by the source's posteriors. A few noisy means can be a worse start
    # than a regression: on human activity at ε = 1 their accuracy becomes 92-96% by the second
    # start and 60-90% by the first, while that of linear scores becomes 91-95% by the first and
    # 70-83% by the second. The likelier of the two is better in nearly all cases.
    carry, X, labels = pair.to_source(), pair.task.X, pair.task.labels
    rows = carry(pair.X)
    if len(rows) < _Adaptation.min_rows or tied_columns(rows).all():
        return
    subspace = leading_directions(rows)
    Z, sizes = subspace.project(rows), reference.sum(axis=0)[:, np.newaxis]
    seen = ClassModel.of_moments(pair.moments, subspace.components, subspace.variances)
    starts = [(seen.means, seen.uncertainty), (reference.T @ Z / np.maximum(sizes, TINY), 0.0)]

    def adapted(start, labels):
        normals = adapted_means(Z, subspace.variances.mean(), start, labels)
        score, maps = partial(normal_log_posteriors, *normals), (carry, subspace.project)
        return Scorer(score, maps, n_columns=pair.task.n_shared)

    scorers = [adapted(start, np.full(len(rows), -1)) for start in starts]
    scores = [np.asarray(scorer.scores(X), np.float64) for scorer in scorers]
    best = np.argmax([logsumexp(log_densities, axis=1).mean() for log_densities in scores])
    log_posteriors = log_softmax(scores[best], axis=1)
    posteriors = np.exp(log_posteriors)
    if agrees_with_source(posteriors, reference) and errs_as_claimed(posteriors, reference):
        final = adapted(starts[best], labels) if (labels >= 0).any() else scorers[best]
        yield density_source("adapted class means", final, log_posteriors, _AGREES)


def _mixtures(pair, reference):
    """Yield mixtures, if there are enough rows and they separate classes better.

    Labels do not change them.
    """
    # On digits of other writers this gains 2-6 points. Without a shift, as on Fashion-MNIST,
    # and on human activity, certainty decreases, and .5 to 17 points would be lost.
    few = len(pair.X) < _ROWS_PER_CLASS * pair.task.n_classes
    if few or not pair.release.model.structure:
        return
    scorer = mixtures_on_target(pair)
    log_posteriors = scorer.log_posteriors(pair.task.X)
    posteriors = np.exp(log_posteriors)
    better = certainty(posteriors) >= certainty(reference)
    if better and agrees_with_source(posteriors, reference):
        yield density_source("adapted mixtures", scorer, log_posteriors)


def mixtures_on_target(pair):
    """Return log-densities by a source's mixtures without noise, adapted to the target rows."""
    release, embed = pair.release, pair.embedding()
    codes = release.subspace.encode(embed(pair.X))
    noise = release.subspace.noise(pair.moments.noise)
    mixtures = release.mixtures.select(pair.class_indices)
    mixtures = mixtures.adapt(codes, pair.moments.effective_sizes, noise)
    maps = embed, release.subspace.encode
    return Scorer(densities(mixtures), maps, n_columns=pair.task.n_shared)


def adapted_means(Z, variance, start, labels):
    """Return class means adapted to target rows in a subspace, with few or no labels.

    ``start`` has the first means and their variances. The covariance of all classes and the class
    frequencies are returned too.
    """
    # Expectation maximization, from an isotropic covariance of ``variance``, with a common
    # covariance of all classes, responsibilities tempered by 1/2, each initial mean counted as
    # the number of rows that would be equally precise, at most 500, and class frequencies that
    # are half uniform. If classes are well separated, those of other people or devices are
    # found again; if they overlap, means move to unrelated clusters, which errs_as_claimed
    # detects.
    (means, uncertainty), (n, d) = start, Z.shape
    K = len(means)
    counts, is_labeled = np.ones((n, 1)), labels >= 0
    counts[is_labeled], certain = _Adaptation.label_rows, np.eye(K)[labels[is_labeled]]
    squares = (counts * Z).T @ Z
    frequencies = np.full(K, 1 / K)
    covariance = np.eye(d) * variance
    for _ in range(_Adaptation.n_steps):
        logs = normal_log_posteriors(means, covariance, frequencies, Z)
        r = softmax(_Adaptation.temperature * logs, axis=1)
        r[is_labeled] = certain
        r *= counts
        sizes, sums = r.sum(axis=0), r.T @ Z
        held = 1 / (1 / _Adaptation.prior_rows + uncertainty / covariance.diagonal())
        means = (held * start[0] + sums) / (held + sizes[:, np.newaxis])
        frequencies = _Adaptation.uniform / K + (1 - _Adaptation.uniform) * sizes / sizes.sum()
        cross = sums.T @ means
        covariance = (squares - cross - cross.T + (means.T * sizes) @ means) / sizes.sum()
        floor = _Adaptation.min_variance * np.trace(covariance) / d
        covariance = covariance + floor * np.eye(d)
    return means, covariance, frequencies


def normal_log_posteriors(means, covariance, frequencies, Z):
    """Return log-posteriors by normal distributions, up to a constant for each row."""
    K, d = means.shape
    normals = Mixtures.single(means, np.broadcast_to(covariance, (K, d, d)))
    return normals.log_posteriors(Z, frequencies)


def tied_columns(X):
    """Return which columns have a value shared by more than a tenth of the rows."""
    k = int(np.ceil(_Adaptation.max_tied * len(X)))
    ordered = np.sort(X, axis=0)
    return (ordered[k:] == ordered[: len(X) - k]).any(axis=0)


def leading_directions(X):
    """Return directions of the target's rows, as many as a covariance can be estimated in.

    Tied columns are not used.
    """
    X, tied = X.astype(np.float64), tied_columns(X)
    X[:, tied] = X[:, tied].mean(axis=0)
    n_directions = int(
        np.clip(len(X) // _Adaptation.rows_per_direction, 1, _Adaptation.max_directions)
    )
    subspace = Subspace.of_rows(X, n_directions)
    kept = subspace.variances > _Adaptation.min_variance * subspace.variances[0]
    kept[0] = True
    return Subspace(subspace.mean, subspace.components[kept], subspace.variances[kept])
