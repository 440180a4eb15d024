"""Bayesian model averaging of a few candidates: statistics of a source, and a target's labels."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp, softmax

from skdp.transfer.self_training import SelfTraining, self_train
from skdp.transfer.strategies._candidates import (
    Adapted,
    Columns,
    Constant,
    Corrected,
    Pooled,
    SelfTrained,
)
from skdp.transfer.strategies._evidence import (
    AGREED,
    ALONE,
    agrees,
    label_tilt,
    log_evidence,
    posterior_weights,
)
from skdp.transfer.strategies._noise_aware import NoiseAwareStrategy, target_subspace
from skdp.transfer.strategies._release_scorers import (
    adapted_mixtures,
    class_means,
    linear_scorer,
    precision,
    reference_scorer,
)
from skdp.transfer.strategies._tight_prior import tight_variance
from skdp.utils._folds import stratified_folds

# Folds in which labelled rows are left out; rule of thumb.
_N_FOLDS = 5


@dataclass
class Weighed:
    """A candidate, and the evidence for it.

    Attributes
    ----------
    candidate : Corrected, Adapted or SelfTrained

    log_odds : float
        Against the source, labels included.
    """

    candidate: Corrected | Adapted | SelfTrained
    log_odds: float


class Candidates:
    """Learn a target with releases of statistics, or without labels.

    The candidates are:

    - the score of each source, and of all together by how precise each is, corrected by the
      labelled rows with a prior so tight that few labels cannot harm (:class:`Correction`);
    - densities of the sources that follow the target's rows, if they agree with what the
      sources say (:func:`agrees`);
    - a logistic regression of the labelled rows alone;
    - self-training, which is tried where mixtures that follow the target agree with the source,
      or the target alone does better than the source.

    Posteriors are averaged. Each candidate is weighed by the likelihood of labels that it has
    not seen, and by prior odds that favour the source.

    Parameters
    ----------
    task : Task
        With one release at least.
    """

    def __init__(self, task):
        self._task, self._subspace = task, target_subspace(task)
        self._columns = Columns(task.X)
        self._known = ~task.unlabelled
        self._labels = task.labels[self._known]
        self._scorers = [self._scorer(part) for part in task.parts]
        self._precisions = np.array([precision(part.release) for part in task.parts])
        self._weighed: list = []

    def _scorer(self, part):
        make = reference_scorer if part.release.linear is None else linear_scorer
        return make(part, self._subspace)

    def _pooled(self, scorers):
        if len(scorers) == 1:
            return scorers[0]
        return Pooled(scorers, self._precisions / self._precisions.sum())

    def _corrected(self, scorer, *, variance=tight_variance, source_weight=1.0):
        return Corrected(scorer, self._task.X, self._columns, variance, source_weight)

    def learn(self, schedule, *, tol, verbose):
        """Return what :func:`self_train` returns, of the candidates together.

        Parameters
        ----------
        schedule, tol, verbose
            See :func:`self_train`.
        """
        task = self._task
        sources = [self._pooled(self._scorers)]
        sources += self._scorers if len(self._scorers) > 1 else []
        sources = [self._corrected(scorer) for scorer in sources]
        reference = np.exp(sources[0].base)
        means, mixtures = self._adapted(reference)
        self._weighed = [Weighed(c, -np.log(len(sources))) for c in sources]
        self._weighed += [Weighed(c, AGREED) for c in means]
        # Mixtures are the source's own, whose steps are few: as likely as these.
        self._weighed += [Weighed(c, 0.0) for c in mixtures]
        history = {}
        if self._known.any():
            self._hear_labels(sources[0])
            # Class means that agree have been trained by the target's rows already.
            promising = (mixtures and not means) or self._alone_does_better()
            every = len(np.unique(self._labels)) == len(task.class_indices)
            if task.unlabelled.any() and every and promising:
                scorers = [each.scorer for each in mixtures]
                history = self._self_train(scorers, reference, schedule, tol, verbose)
        return self._result(history)

    def _adapted(self, reference):
        """Return class means, and mixtures, that follow the target and agree with the source."""
        means, mixtures = [], []
        for part in self._task.parts:
            adapt = partial(class_means, part, self._subspace)
            follower = adapt()
            if follower is not None:
                means.append(Adapted(follower, part.X, adapt))
            scorer = adapted_mixtures(part, self._subspace)
            if scorer is not None:
                mixtures.append(Adapted(scorer, part.X))
        return [
            [each for each in found if agrees(np.exp(each.base), reference)]
            for found in (means, mixtures)
        ]

    def _hear_labels(self, source):
        """Correct the candidates by the labelled rows; add the target alone."""
        frequencies = np.log(self._elsewhere(np.exp(source.base)).mean(axis=0) + 1e-6)
        alone = self._corrected(
            Constant(frequencies), variance=lambda scores, n_columns: 1.0, source_weight=0.0
        )
        self._weighed.append(Weighed(alone, ALONE))
        folds = stratified_folds(self._labels, _N_FOLDS, self._task.random_state)
        Z = self._columns.standardise(self._task.X[self._known])
        for weighed in self._weighed:
            base = np.exp(weighed.candidate.base)
            tilt = label_tilt(self._labels, self._elsewhere(base))
            logs = weighed.candidate.learn(Z, self._known, self._labels, folds, tilt)
            weighed.log_odds += log_evidence(logs, self._labels, tilt)

    def _elsewhere(self, values):
        """Return the values of unlabelled rows; of all, where all are labelled."""
        return values if self._known.all() else values[~self._known]

    def _alone_does_better(self):
        return self._weighed[-1].log_odds > self._weighed[0].log_odds

    def _self_train(self, scorers, reference, schedule, tol, verbose):
        """Add self-training with the sources; return its history."""
        strategy = NoiseAwareStrategy(self._task, [*self._scorers, *scorers])
        found = self_train(strategy, schedule, self._task.labels, tol=tol, verbose=verbose)
        logs = strategy.log_posteriors
        prior = AGREED if agrees(np.exp(logs), reference) else ALONE
        tilt = label_tilt(self._labels, self._elsewhere(np.exp(logs)))
        evidence = log_evidence(logs[self._known], self._labels, tilt)
        self._weighed.append(Weighed(SelfTrained(found.model), prior + evidence))
        return found.history

    def _result(self, history):
        weights = posterior_weights([weighed.log_odds for weighed in self._weighed])
        candidates = [weighed.candidate for weighed in self._weighed]
        model = WeighedModel(candidates, weights)
        distributions = model.probabilities(self._task.X)
        distributions[self._known] = np.eye(distributions.shape[1])[self._labels]
        return SelfTraining(distributions.argmax(axis=1), distributions, history, model)


class WeighedModel:
    """Posteriors of candidates, averaged.

    Parameters
    ----------
    candidates : list of Corrected, Adapted or SelfTrained

    weights : ndarray of shape (n_candidates,)
        Those with none are forgotten.
    """

    def __init__(self, candidates, weights):
        kept = np.flatnonzero(weights)
        self.candidates, self._weights = [candidates[k] for k in kept], weights[kept]
        own = np.array([candidate.source_weight for candidate in self.candidates])
        self._of_source = self._weights * (own > 0)
        self.source_weight = float(self._weights @ own)
        trained = [c.target_classifier for c in self.candidates if isinstance(c, SelfTrained)]
        self.target_classifier = trained[0] if trained else None

    def _mixed(self, X, weights):
        used = np.flatnonzero(weights)
        logs = [self.candidates[k].log_posteriors(X) + np.log(weights[k]) for k in used]
        return logsumexp(logs, axis=0)

    def scores(self, X):
        """Return log-posteriors."""
        return self._mixed(X, self._weights).astype(X.dtype)

    def source_scores(self, X):
        """Return log-posteriors by the candidates in which a source counts, 0 without any."""
        if not self._of_source.any():
            return np.zeros((len(X), self.scores(X[:1]).shape[1]), dtype=X.dtype)
        return self._mixed(X, self._of_source / self._of_source.sum()).astype(X.dtype)

    def target_scores(self, X):
        """Return what the target alone changes of these."""
        return self.scores(X) - self.source_scores(X)

    def probabilities(self, X):
        """Return the probability of each class."""
        return softmax(self.scores(X), axis=1)
