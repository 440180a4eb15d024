"""A target's model of classes: sources of log-posteriors, and regressions around them."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from skdp.transfer._classes import OTHER_LEVEL, sampling_offsets
from skdp.transfer._columns import same_population
from skdp.transfer._likelihoods import SoftmaxLikelihood
from skdp.transfer._scorers import contradicts, source_scorer
from skdp.transfer._target_model import (
    CHANGED,
    TARGET,
    Beliefs,
    Source,
    TargetModel,
)
from skdp.transfer._task import PairedRelease, TransferResult

# Prior standard deviation of the log-odds of classes if their frequencies are those of the source.
_SAME_LEVEL = 0.3
# Of slopes, and of the sum of functions of the columns, in log-odds. With an unchanged source as
# one of three probabilities, another level and slope without functions gain nothing (.0002 of log
# loss). Releases of more classes may be far too sure, and labels of images and sensors show more
# than evidence tells of so many coefficients: with 4, that of 30 photographs is that of an
# uninformative release; with 6, it is half of it. Nor is it left unchanged for a same population:
# 1 to 5 points would be lost on human activity and on photographs.
_OWN = (1.0, 2.0, 4.0, 8.0)
_OF_TWO = Beliefs((), 0.3, (0.5, 1.0, 2.0), _OWN)
_OF_MANY = Beliefs((), 1.0, (4.0,), _OWN)
# Number of sites as which the deviation for arbitrary frequencies counts if the spread between
# sites is known: with the spread of three others in its place, log loss is .477 and .522 with 10
# labels (ε = 4 and 1), and .447 and .484 with this.
_N_SITES = 4
# Share of the source in self-training below which it hardly matters: on digits with 100 labels,
# sources that help have .2 or more, and sources of noise below .1.
_HARDLY = 0.1
# Largest number of coefficients: columns of more classes are rotated to fewer directions.
_MOST_COEFFICIENTS = 800


def class_beliefs(task, release=None):
    """Return the prior of the target's deviation from a release about classes."""
    level = OTHER_LEVEL
    if release is not None and release.statistics:
        spread, n_others = release.linear.intercept_sd, release.statistics.n_sources - 1
        if spread is not None:
            squares = _N_SITES * level**2 + n_others * float(spread[0]) ** 2
            level = float(np.sqrt(squares / (_N_SITES + n_others)))
    levels = (_SAME_LEVEL, level) if task.sampling == "random" else (_SAME_LEVEL,)
    beliefs = _OF_TWO if task.n_classes == 2 else _OF_MANY
    if release is not None and task.n_classes == 2 and not task.is_embedded:
        shared = task.X[:, : task.n_shared]
        beliefs = beliefs.given(same_population(release.moments, shared))
    return replace(beliefs, levels=levels, own_level=levels[-1])


def release_sources(task, terms):
    """Return the sources of releases with their log-posteriors of all rows, all together first."""
    pairs, any_label = task.pairs, bool((task.labels >= 0).any())

    def named(pair):
        return pair.name, pair.release, source_scorer(pair).log_posteriors

    parts = [named(pair) for pair in pairs]
    if len(pairs) > 1:
        rows = np.array([pair.release.model.effective_rows(pair.release) for pair in pairs])
        pool = partial(log_linear_pool, [part[-1] for part in parts], rows / rows.sum())
        parts = [("all sources", None, pool), *(parts if any_label else [])]
    if any_label:
        parts += [named(PairedRelease(task, *source)) for source in task.single_sources]
    shares = [1.0] if len(parts) == 1 else [0.5, *[0.5 / (len(parts) - 1)] * (len(parts) - 1)]
    return [
        (Source(name, share, predict, terms, class_beliefs(task, release)), predict(task.X))
        for (name, release, predict), share in zip(parts, shares, strict=False)
    ]


class ClassModel(TargetModel):
    """Average of candidates for log-posteriors of classes.

    Parameters
    ----------
    task : Task

    sources : list of (Source, ndarray of shape (n_samples, n_classes))
        With log-posteriors of all rows, of labeled ones by what has not seen their labels. The
        first is that of all releases, if there is one.

    terms : Terms
        Of the target alone.

    Attributes
    ----------
    target_classifier : WideCDMMAClassifier or None
        Classifier of self-training.

    offsets : ndarray of shape (n_classes,), default=0
        Added to log-posteriors, for expected class frequencies.
    """

    target_classifier = None
    offsets = 0.0

    def __init__(self, task, sources, terms):
        labeled, self.n_classes = ~task.unlabeled, task.n_classes
        labels, known = task.labels[labeled], task.X[labeled]
        # Slopes of more classes are about 0, and their probabilities those of the mode. About
        # frequencies, class means lose two points on human activity with 3 labels per class;
        # moderated for so many directions that labels do not show, log loss on USPS with 10 is
        # .97 instead of .45.
        self.of_two = self.n_classes == 2
        if self.of_two:
            sources = [(replace(s, center=log_frequencies(logs)), logs) for s, logs in sources]
        if len(labels):
            sources = [*sources, self._alone(task, sources, terms, labels)]
        rotated = terms.rotated(known, _MOST_COEFFICIENTS // (self.n_classes - 1))
        likelihoods, design = [], _with_constant(rotated, known)
        for source, scores in sources:
            offsets = source.center
            if task.sampling == "stratified":  # for a random sample they are evidence
                offsets = offsets + sampling_offsets(labels, np.exp(scores))
            own = design if source.terms is terms else design[:, :1]
            centered = (scores - source.center)[labeled]
            likelihoods.append(SoftmaxLikelihood(own, labels, centered, offsets))
        held = [replace(s, terms=rotated) if s.terms is terms else s for s, _ in sources]
        self.is_contradicted = contradicts(labels, sources[0][1][labeled])
        super().__init__(held, likelihoods, len(known), tells=len(known) > 0)

    def _alone(self, task, sources, terms, labels):
        """Return the target alone, around the expected class frequencies."""
        if sources:
            logs = log_frequencies(sources[0][1])
        else:
            logs = np.log(np.bincount(labels, minlength=self.n_classes) / len(labels))
        logs = np.tile(logs, (len(task.X), 1))
        beliefs = class_beliefs(task)
        share = sources[0][0].beliefs.alone if sources else 1.0
        source = Source(TARGET, share, None, terms, beliefs, center=logs[0], source_weight=0.0)
        return source, logs

    def _mixed(self, X, chosen):
        """Return logarithms of posteriors averaged over candidates of chosen sources."""
        logs, weights = [], []
        for source, likelihood, kept in self._kept():
            if not chosen(source):
                continue
            prior = _with_constant(source.terms, X), source.predicted(X), source.center
            for posterior, weight in kept:
                logs.append(likelihood.log_probabilities(posterior, *prior, moderated=self.of_two))
                weights.append(weight)
        if not logs:
            return np.zeros((len(X), self.n_classes))
        logs = np.array(logs) + np.log(np.array(weights) / sum(weights))[:, np.newaxis, np.newaxis]
        return logsumexp(logs, axis=0)

    def log_posteriors(self, X):
        """Return log-posteriors."""
        return self._mixed(X, lambda source: True).astype(X.dtype)

    def scores(self, X):
        """Return log-posteriors, up to a constant for each row."""
        return (self.log_posteriors(X) + self.offsets).astype(X.dtype, copy=False)

    def weighted_scores(self, X, class_weight):
        """Return log-posteriors plus log weights, the largest of which is predicted."""
        return self.scores(X) + np.log(class_weight)

    def probabilities(self, X):
        """Return the probability of each class."""
        return softmax(self.scores(X), axis=1)

    def source_scores(self, X):
        """Return log-posteriors by the candidates with a source, 0 without any."""
        return self._mixed(X, lambda source: source.source_weight > 0).astype(X.dtype)

    def target_scores(self, X):
        """Return the change of these by the target alone."""
        return self.log_posteriors(X) - self.source_scores(X)

    @property
    def ignores_source(self):
        """Whether candidates that hardly use a source have most of the weight."""
        hardly = [c.source.source_weight < _HARDLY for c in self.candidates]
        return bool(self.weights @ hardly > 0.5)

    @property
    def favors_target(self):
        """Whether labels are more likely under the target alone than under the first source."""
        unchanged = [c for c in self.candidates if CHANGED not in c.name]
        first = [c.log_odds for c in unchanged if c.source is self.sources[0]]
        own = [c.log_odds for c in self.candidates if c.name == TARGET]
        alone_odds = np.log([s.probability for s in self.sources if s.name == TARGET])
        return bool(logsumexp(own) - alone_odds[0] > logsumexp(first))

    def result(self, task, history):
        """Return the result of a strategy."""
        distributions = softmax(self.log_posteriors(task.X), axis=1)
        labeled = ~task.unlabeled
        distributions[labeled] = np.eye(self.n_classes)[task.labels[labeled]]
        return TransferResult(distributions, history, self)


def _with_constant(terms, rows):
    return np.column_stack([np.ones(len(rows)), terms(rows)])


def log_linear_pool(scorers, weights, X):
    """Return log-posteriors of several scorers, averaged by weights that sum to 1."""
    return log_softmax(np.tensordot(weights, [scorer(X) for scorer in scorers], 1), axis=1)


def log_frequencies(log_posteriors):
    """Return the logarithms of class frequencies that posteriors of all rows expect."""
    return np.log(np.exp(log_posteriors).mean(axis=0) + 1e-6)
