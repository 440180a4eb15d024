"""Bayesian model averaging of a few candidates: statistics of a source, and a target's labels."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp, softmax

from skdp.transfer._columns import has_indicators
from skdp.transfer.self_training import SelfTraining
from skdp.transfer.strategies._candidates import (
    Adapted,
    Columns,
    Constant,
    Corrected,
    Pooled,
    SelfTrained,
)
from skdp.transfer.strategies._contributions import of_candidates
from skdp.transfer.strategies._evidence import (
    AGREED,
    agrees,
    held_out_probabilities,
    label_tilt,
    log_evidence,
    posterior_weights,
    prior_odds,
)
from skdp.transfer.strategies._noise_aware import NoiseAwareStrategy
from skdp.transfer.strategies._release_scorers import (
    adapted_mixtures,
    class_means,
    precision,
    source_scorer,
)
from skdp.transfer.strategies._tight_prior import tight_variance
from skdp.utils._labels import stratified_folds

# Folds in which labelled rows are left out; rule of thumb.
_N_FOLDS = 5
# Prior variances of the coefficients of standardised columns for the target alone, and their
# log-odds. Over six tables the AUC with 10 labels a class is .698 with .01, .675 with 1, and .669
# with scikit-learn's default on columns in [0, 1]; with 50 labels .749, .731 and .732. Pictures
# want 1.
_ALONE = (("target alone", 0.02, 0.0), ("target alone, weak prior", 1.0, -1.0))


@dataclass
class Weighed:
    """A candidate, and the evidence for it.

    Attributes
    ----------
    name : str
        What it is.

    candidate : Corrected, Adapted or SelfTrained

    log_odds : float
        Prior log-odds; those by labels are added once these have been used.

    held_out : ndarray of shape (n_labelled,) or None, default=None
        Probability of the label of each labelled row, without that label. None without labels.
    """

    name: str
    candidate: Corrected | Adapted | SelfTrained
    log_odds: float
    held_out: np.ndarray | None = None


class Candidates:
    """Learn a target where classes overlap, with releases of statistics, or without labels.

    The candidates are:

    - the score of each source, and of all together by how precise each is, corrected by the
      labelled rows with a prior so tight that few labels cannot harm (:class:`Correction`);
    - densities of the sources that follow the target's rows, if they agree with what the
      sources say (:func:`agrees`);
    - a logistic regression of the labelled rows alone;
    - self-training, where it may be tried, mixtures that follow the target agree with the source
      or the target alone does better than the source, and classes lie apart.

    Posteriors are averaged. Each candidate is weighed by the likelihood of labels that it has
    not seen, and by prior odds that favour the source.

    Parameters
    ----------
    task : Task
        With a release that has moments, or a label of each of two classes.
    """

    def __init__(self, task):
        self._task = task
        self._columns = Columns(task.X)
        self._known = ~task.unlabelled
        self._labels = task.labels[self._known]
        self._parts = [part for part in task.parts if part.release.moments is not None]
        self._subspace = self._parts[0].subspace if self._parts else None
        scorers = [source_scorer(part, self._subspace) for part in self._parts]
        self._scorers = [task.of_all_columns(scorer) for scorer in scorers]
        self._weighed: list = []

    def _pooled(self, scorers):
        if len(scorers) == 1:
            return scorers[0]
        precisions = np.array([precision(part.release) for part in self._parts])
        return Pooled(scorers, precisions / precisions.sum())

    def _corrected(self, scorer, *, variance=tight_variance, source_weight=1.0):
        return Corrected(scorer, self._task.X, self._columns, variance, source_weight)

    def learn(self, chain=None, trained=None):
        """Return what :func:`self_train` returns, of the candidates together.

        Parameters
        ----------
        chain : Chain or None, default=None
            How to train further; None where that is not to be tried.

        trained : tuple of (SelfTraining, ndarray) or None, default=None
            What has been trained, with log-posteriors of the labelled rows that have not seen
            their labels, (n_labelled, n_classes).
        """
        self._ask_sources()
        history = {}
        if self._known.any():
            self._weigh_by_labels()
            if trained is not None:
                history = self._add_trained(trained[0], trained[1], self._prior_odds())
            elif chain is not None and self._is_promising():
                history = self._train_itself(chain)
        return self._result(history)

    def _ask_sources(self):
        """Add what the sources say, and densities of theirs that follow the target and agree."""
        if not self._scorers:
            return
        named = {"source": self._pooled(self._scorers)}
        if len(self._scorers) > 1:
            named |= {f"source {k}": scorer for k, scorer in enumerate(self._scorers)}
        for name, scorer in named.items():
            self._weighed.append(Weighed(name, self._corrected(scorer), -np.log(len(named))))
        self._reference = np.exp(self._weighed[0].candidate.base)
        if has_indicators(self._task.X):  # which make clusters of their own
            return
        # Mixtures are the source's own, whose steps are few: as likely as these.
        for name, follow, prior, follows_labels in _FOLLOWERS:
            for part in self._parts:
                found = self._following(follow, part, follows_labels)
                if found is not None and agrees(np.exp(found.base), self._reference):
                    self._weighed.append(Weighed(name, found, prior))

    def _following(self, follow, part, follows_labels):
        """Return densities of a source that follow the target, as a candidate; or None."""
        adapt = partial(follow, part, self._subspace)
        scorer, whole = adapt(), self._task.of_all_columns
        if scorer is None:
            return None
        again = (lambda labels: whole(adapt(labels))) if follows_labels else None
        return Adapted(whole(scorer), self._task.X, again if self._known.any() else None)

    def _named(self, name):
        return [each for each in self._weighed if each.name == name]

    def _weigh_by_labels(self):
        """Add the target alone, and correct and weigh all by the labelled rows."""
        own, prior = self._own_frequencies(), self._prior_odds()
        for name, value, log_odds in _ALONE:
            alone = self._corrected(
                Constant(own), variance=lambda *_, value=value: value, source_weight=0.0
            )
            self._weighed.append(Weighed(name, alone, prior + log_odds))
        folds = stratified_folds(self._labels, _N_FOLDS, self._task.random_state)
        Z = self._columns.standardise(self._task.X[self._known])
        for weighed in self._weighed:
            tilt = label_tilt(self._labels, self._elsewhere(np.exp(weighed.candidate.base)))
            logs = weighed.candidate.learn(Z, self._known, self._labels, folds, tilt)
            self._weigh(weighed, logs, tilt)

    def _weigh(self, weighed, logs, tilt):
        """Add what labels say of a candidate's log-posteriors of their rows."""
        weighed.held_out = held_out_probabilities(logs, self._labels, tilt)
        weighed.log_odds += log_evidence(weighed.held_out, logs.shape[1])

    def _prior_odds(self):
        """Return the log-odds of what is learned from labels, before these are used."""
        if not self._parts:
            return 0.0
        known = sum(precision(part.release) for part in self._parts)
        return prior_odds(known, len(self._labels) / len(self._task.class_indices))

    def _own_frequencies(self):
        """Return log-frequencies of classes, by the source, or the labels where there is none."""
        if self._scorers:
            return np.log(self._elsewhere(self._reference).mean(axis=0) + 1e-6)
        return np.log(np.bincount(self._labels) / len(self._labels))

    def _elsewhere(self, values):
        """Return the values of unlabelled rows; of all, where all are labelled."""
        return values if self._known.all() else values[~self._known]

    def _is_promising(self):
        """Return whether self-training may add to what there is."""
        if has_indicators(self._task.X):
            return False
        every = len(np.unique(self._labels)) == len(self._task.class_indices)
        # Class means that agree have been trained by the target's rows already.
        follow = self._named("adapted mixtures") and not self._named("adapted class means")
        best_alone = max(each.log_odds for name, *_ in _ALONE for each in self._named(name))
        better_alone = best_alone > self._weighed[0].log_odds
        return self._task.unlabelled.any() and every and (follow or better_alone)

    def _train_itself(self, chain):
        """Add self-training with the sources; return its history, none where classes overlap."""
        mixtures = [each.candidate.scorer for each in self._named("adapted mixtures")]
        strategy = NoiseAwareStrategy(self._task, [*self._scorers, *mixtures])
        found = chain.train(strategy, self._task.labels)
        if found is None:
            return {}
        posteriors = np.exp(strategy.log_posteriors)
        prior = AGREED if agrees(posteriors, self._reference) else self._prior_odds()
        return self._add_trained(found, strategy.log_posteriors[self._known], prior)

    def _add_trained(self, found, logs, prior):
        """Add what was trained, by the log-posteriors of labelled rows; return its history."""
        weighed = Weighed("self-training", SelfTrained(found.model), prior)
        tilt = label_tilt(self._labels, self._elsewhere(found.distributions))
        self._weigh(weighed, logs, tilt)
        self._weighed.append(weighed)
        return found.history

    def _result(self, history):
        weights = posterior_weights([weighed.log_odds for weighed in self._weighed])
        model = WeighedModel(self._weighed, weights)
        distributions = model.probabilities(self._task.X)
        distributions[self._known] = np.eye(distributions.shape[1])[self._labels]
        return SelfTraining(distributions.argmax(axis=1), distributions, history, model)


# Densities of a source that follow the target, with their prior log-odds, and whether they
# follow its labels too.
_FOLLOWERS = (
    ("adapted class means", class_means, AGREED, True),
    ("adapted mixtures", adapted_mixtures, 0.0, False),
)


class WeighedModel:
    """Posteriors of candidates, averaged.

    Parameters
    ----------
    weighed : list of Weighed

    weights : ndarray of shape (n_candidates,)
        Candidates with none are forgotten, but for their ``contributions``.
    """

    # Scores are log-posteriors as they are.
    temperature = 1.0
    # Below it the labels favour the target alone.
    least_source_weight = 0.5

    def __init__(self, weighed, weights):
        self.contributions = of_candidates(weighed, weights)
        kept = np.flatnonzero(weights)
        self.candidates = [weighed[k].candidate for k in kept]
        self._weights = weights[kept]
        own = np.array([candidate.source_weight for candidate in self.candidates])
        self._of_source = self._weights * (own > 0)
        self.source_weight = min(float(self._weights @ own), 1.0)  # but for rounding
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
