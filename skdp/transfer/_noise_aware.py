"""Noise-aware transfer: what the noise left of the source, and the target's own structure."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import softmax

from skdp.transfer._folds import stratified_folds
from skdp.transfer._graph import neighbour_graph, spread
from skdp.transfer._judges import judges_of
from skdp.transfer._mixtures import fit_mixtures
from skdp.transfer._rounds import History, crossed_scores, first_round, scores_by
from skdp.transfer._stacking import fit_weights, frequency_offsets, mean_margin
from skdp.transfer._subspace import Subspace

_DIRECTIONS = 60


class NoiseAware:
    """Self-training in the target's subspace, with judges weighed on the labelled rows.

    Every round has the same four steps: two target classifiers, fuzzy sets and mixtures of
    normal distributions, score each fold of the rows without having seen it, and count alike;
    their scores and those of the source are weighed by how well they explain the labelled
    rows; guesses are moved towards the class frequencies of the source; and rows whose
    neighbours disagree with their guess sit out the next round.

    Parameters
    ----------
    source : DPSource or None
        The release.

    columns : list of int
        Position of each of the target's classes among those of the source.
    """

    def __init__(self, source, columns):
        self._source, self._columns = source, columns

    def train(self, fit, schedule, X, labels, *, n_folds, n_jobs, random_state, tol, verbose):
        """Label the unlabelled rows in place, and return the history of the rounds."""
        self._subspace = Subspace.of_rows(X, _DIRECTIONS)
        self._judges = judges_of(self._source, self._columns, X, labels, self._subspace)
        state = _Rows(labels, self._subspace.encode(X), self._expected(), n_jobs)
        given = [judge.scores(X) for judge in self._judges]
        self._units = [mean_margin(scores) for scores in given]
        state.given = [scores / unit for scores, unit in zip(given, self._units, strict=True)]
        fits = (fit, partial(fit_mixtures, random_state))
        history = History(len(schedule), int(state.hidden.sum()), verbose)
        k = len(schedule)
        if state.hidden.any():
            k = 1
            settings = first_round(labels[state.known])
            scores = [_first_scores(fit, settings, state, n_folds, random_state) for fit in fits]
            changed = state.judge(scores, labels)
            history.add(0, settings, changed, **state.shares())
        while True:
            # Depth is for the model that remains.
            settings = replace(schedule[k - 1], n_layers=1)
            folds = stratified_folds(labels, n_folds, random_state)
            rows = (state.codes, labels, state.trusted, folds)
            scores = [crossed_scores(fit, settings, *rows) for fit in fits]
            changed = state.judge(scores, labels)
            history.add(k, schedule[k - 1], changed, **state.shares())
            if k == len(schedule):
                break
            k = len(schedule) if changed <= tol * state.hidden.sum() else k + 1
        self._units.append(state.unit)
        self._target_units = state.target_units
        self._weights, self._offsets = state.weights, state.offsets
        self.source_weight = state.shares()["source_weight"]
        self.classifier, self._mixtures = (fit(schedule[-1], state.codes, labels) for fit in fits)
        return history.columns

    def _expected(self):
        """Return the frequencies of the classes in the source, where they are known."""
        moments = None if self._source is None else self._source.moments_
        return None if moments is None else moments.select(self._columns).frequencies

    def _weighed(self, scores, k):
        return (self._weights[k] / self._units[k]) * scores

    def source_scores(self, X):
        """Return what the judges of the source add to the log-posteriors."""
        scores = [self._weighed(judge.scores(X), k) for k, judge in enumerate(self._judges)]
        return np.sum(scores, axis=0).astype(X.dtype)

    def target_scores(self, X):
        """Return what the target classifier adds to the log-posteriors."""
        codes = self._subspace.encode(X)
        scores = [-m.reconstruction_errors(codes) for m in (self.classifier, self._mixtures)]
        return self._weighed(_mean(scores, self._target_units), -1).astype(X.dtype)

    def scores(self, X):
        """Return log-posteriors, up to a constant for each row."""
        scores = self.target_scores(X)
        if self._judges:
            scores = scores + self.source_scores(X)
        return (scores + self._offsets).astype(X.dtype)


class _Rows:
    """The target rows, and what is believed of them."""

    def __init__(self, labels, codes, expected, n_jobs):
        self.known, self.hidden = labels >= 0, labels < 0
        self.codes, self.expected, self.given = codes, expected, []
        self.n_classes = labels.max() + 1
        self.trusted = self.known
        self.true = labels[self.known]
        self._graph = neighbour_graph(codes, n_jobs) if self.hidden.any() else None

    def judge(self, scores, labels):
        """Weigh all scores, write the guesses, say how many changed, and see whom to trust.

        ``scores`` are those of each target classifier.
        """
        self.target_units = [mean_margin(each) for each in scores]
        target = _mean(scores, self.target_units)
        self.unit = mean_margin(target)
        stacked = np.stack([*self.given, target / self.unit])
        self.weights = fit_weights(stacked[:, self.known], self.true)
        posteriors = np.tensordot(self.weights, stacked, 1)
        self.offsets = np.zeros(self.n_classes)
        if not self.hidden.any():
            return 0
        if self.expected is not None:
            self.offsets = frequency_offsets(posteriors[self.hidden], self.expected)
        posteriors = softmax(posteriors + self.offsets, axis=1)
        posteriors[self.known] = np.eye(self.n_classes)[self.true]
        guesses = posteriors.argmax(axis=1)
        changed = int(np.count_nonzero(labels != guesses))
        labels[:] = guesses
        agreed = spread(self._graph, posteriors, self.known).argmax(axis=1) == guesses
        self.trusted = self.known | agreed
        return changed

    def shares(self):
        """Return the weight of the source among all, and the fraction of rows trusted."""
        weight = self.weights[:-1].sum() / self.weights.sum()
        return {"source_weight": float(weight), "trusted": float(self.trusted.mean())}


def _mean(scores, units):
    return np.mean([each / unit for each, unit in zip(scores, units, strict=True)], axis=0)


def _first_scores(fit, settings, state, n_folds, random_state):
    """Return scores by the labelled rows alone; of these, by the labelled rows of other folds."""
    codes, known = state.codes[state.known], state.true
    scores = np.zeros((len(state.codes), state.n_classes))
    queries = state.codes[state.hidden]
    scores[state.hidden] = scores_by(fit, settings, codes, known, queries, state.n_classes)
    if np.bincount(known).min() > 1:  # else nothing can be said of a class without its only row
        folds = stratified_folds(known, n_folds, random_state)
        fewer = first_round(known[folds != 0])
        everyone = np.ones(len(known), dtype=bool)
        scores[state.known] = crossed_scores(fit, fewer, codes, known, everyone, folds)
    return scores
