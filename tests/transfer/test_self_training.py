"""Self-training: its schedule, its loop, and scores by models that left rows out."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import DPTransferClassifier, SelfTrainingSchedule
from skdp.transfer._noise_aware import NOISE_AWARE
from skdp.transfer._self_training import Round, Step, first_round, out_of_fold_scores, scores_by
from skdp.transfer.papers import ALIGNMENT, MULTITASK
from skdp.utils._labels import stratified_folds


class Settling:
    """Of twelve unlabeled rows, guesses one fewer of class 0 in every round."""

    def __init__(self, labels):
        self.labels, self.seen, self.settings = labels.copy(), [], []

    def _guess(self, settings, labels, n_zero):
        self.settings.append(settings)
        self.seen.append(labels.copy())
        guesses = self.labels.copy()
        guesses[self.labels < 0] = np.arange(12) >= n_zero
        return Step(0.8 * np.eye(3)[guesses] + 0.2 / 3, {"share": 1 / len(self.seen)})

    def start(self, settings, labels):
        return self._guess(settings, labels, 6)

    def step(self, settings, labels):
        return self._guess(settings, labels, 6 - len(self.seen))

    def finish(self, settings, labels):
        self.last = settings, labels.copy()
        return "a model"


@pytest.fixture
def labels():
    return np.array([2, 0, 1, 0, 1, 2, *[-1] * 12])


SETTINGS = [Round(2, 0.1, 1), Round(3, 0.2, 1), Round(4, 0.5, 2)]


def resolved(strategy, rows_per_class, *, n_jobs=None, random_state=None, **settings):
    """A schedule with the values that a strategy has for "auto"."""
    defaults = {each.name: each.schedule for each in (NOISE_AWARE, ALIGNMENT, MULTITASK)}
    given = {"n_jobs": n_jobs, "verbose": 0, "random_state": random_state}
    return SelfTrainingSchedule(**settings).resolve(defaults[strategy], rows_per_class, **given)


def run(strategy, labels, rounds=SETTINGS, *, tol=0.0, min_certainty=-np.inf):
    training = replace(resolved("alignment", 60.0, tol=tol), rounds=rounds)
    return training.run(strategy, labels, min_certainty)


def test_the_result_is_that_of_the_last_round(labels):
    strategy = Settling(labels)
    result = run(strategy, labels)
    expected = np.append(labels[:6], np.arange(12) >= 3)
    assert_array_equal(result.labels, expected)
    assert_array_equal(result.distributions, 0.8 * np.eye(3)[expected] + 0.2 / 3)
    assert result.model == "a model"
    assert result.history == {
        "round": [0, 1, 2, 3],
        "n_components": [1, 2, 3, 4],
        "n_inducing": [1.0, 0.1, 0.2, 0.5],
        "n_layers": [1, 1, 1, 2],
        "changed": [12, 1, 1, 1],
        "agreement": [0.0, *[1 - 1 / 12] * 3],
        "share": [1.0, 1 / 2, 1 / 3, 1 / 4],
    }
    # Each round sees the labels of the one before it, and the model those of the last.
    assert strategy.settings == [Round(1, 1.0, 1), *SETTINGS]
    assert_array_equal(strategy.seen[0], labels)
    for k, n_zero in ((1, 6), (2, 5), (3, 4)):
        assert_array_equal(strategy.seen[k][6:], np.arange(12) >= n_zero)
    assert strategy.last[0] == SETTINGS[-1]
    assert_array_equal(strategy.last[1], expected)


def test_when_labels_settle_the_last_round_comes_next(labels):
    strategy = Settling(labels)
    result = run(strategy, labels, tol=1 / 12)
    assert result.history["round"] == [0, 1, 3]
    assert strategy.settings[-1] == SETTINGS[-1]


@pytest.mark.parametrize(("tol", "rounds"), [(0.0, [0, 1, 2, 3]), (1e-9, [0, 1, 3])])
def test_without_a_tolerance_all_rounds_are_run(labels, tol, rounds):
    class Settled(Settling):
        def step(self, settings, labels):
            return self._guess(settings, labels, 6)  # as the start

    assert run(Settled(labels), labels, tol=tol).history["round"] == rounds


def test_without_unlabeled_rows_the_last_round_is_the_only_one():
    class Sure(Settling):
        def step(self, settings, labels):
            return Step(np.eye(3)[labels], {})

    known = np.array([0, 1, 2, 0])
    result = run(Sure(known), known)
    assert result.history["round"] == [3]
    assert_array_equal(result.labels, known)


@pytest.mark.parametrize("strategy", ["noise_aware", "alignment", "multitask"])
def test_fitting_writes_to_nothing_of_the_caller_s(release, same, strategy):
    X, _, marked, _, _ = same
    X, marked = X.copy(), marked.copy()
    X.flags.writeable = marked.flags.writeable = False
    model = DPTransferClassifier(
        release,
        strategy=strategy,
        self_training=SelfTrainingSchedule(n_components=3),
        random_state=0,
    )
    model.fit(X, marked)
    assert_array_equal(model.transduction_[marked >= 0], marked[marked >= 0])


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (2, 1), (9, 8), (40, 20)])
def test_first_round_has_one_component_less_than_labels(n, expected):
    settings = first_round(np.repeat([0, 1, 2], [n, n + 5, n]))
    assert (settings.n_components, settings.n_inducing, settings.n_layers) == (expected, 1.0, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": (4, 6), "n_inducing": (0.1, 0.2, 0.3)}, "must be equally long"),
        ({"n_components": (4, 6), "n_layers": (1, 2, 2)}, "must be equally long"),
        ({"n_components": (4, 6), "n_layers": (1, 1.5)}, "'n_layers' .* positive counts"),
        ({"n_components": (0, 4, 8, 10)}, "positive counts"),
        ({"n_components": ()}, "non-empty"),
        ({"n_inducing": (0.1, 0.2, 0.3, 1.5)}, "fractions in"),
        ({"n_inducing": (0.5, 0.5, 1, 10)}, "'n_inducing' parameter"),
        ({"n_components": ("a", "b")}, "'n_components' parameter"),
        ({"n_components": ("auto", 4)}, "'n_components' parameter"),
        ({"n_layers": 0}, "'n_layers' parameter"),
        ({"n_folds": 1}, "'n_folds' parameter"),
    ],
)
def test_impossible_settings_are_refused(same, settings, message):
    with pytest.raises(ValueError, match=message):
        DPTransferClassifier(self_training=SelfTrainingSchedule(**settings)).fit(same[0], same[1])


@pytest.mark.parametrize(
    ("settings", "sizes", "fractions", "depths"),
    [
        ({}, ["auto"] * 4, [1 / 2] * 4, [1, 1, 1, 5]),
        (
            {"n_components": (4, 6, 8, 10)},
            *([4, 6, 8, 10], [1 / 10, 1 / 8, 1 / 6, 1 / 4], [1, 1, 1, 5]),
        ),
        ({"n_inducing": 40}, ["auto"] * 4, [40] * 4, [1, 1, 1, 5]),
        ({"n_components": ("auto", "auto")}, ["auto"] * 2, [1 / 6, 1 / 4], [1, 5]),
        ({"strategy": "noise_aware"}, [5, 5] + [9] * 6, [1 / 2] * 8, [1] * 8),
        ({"strategy": "multitask"}, ["auto"] * 4, [1 / 2] * 4, [1] * 4),
        ({"strategy": "multitask", "n_layers": 5}, ["auto"] * 4, [1 / 2] * 4, [5] * 4),
        (
            {"strategy": "multitask", "n_components": (5, 10, 15, 20)},
            *([5, 10, 15, 20], [1 / 2] * 4, [1] * 4),
        ),
        ({"n_components": 7}, [7], [1 / 4], [5]),
        ({"n_components": (2, 3)}, [2, 3], [1 / 6, 1 / 4], [1, 5]),
        (
            {"n_components": np.arange(1, 6)},
            *([1, 2, 3, 4, 5], [0.1, 0.1, 1 / 8, 1 / 6, 1 / 4], [1, 1, 1, 1, 5]),
        ),
        ({"n_components": [2, 3], "n_inducing": 40}, [2, 3], [40, 40], [1, 5]),
        ({"n_components": [2, 3], "n_inducing": [10, 40]}, [2, 3], [10, 40], [1, 5]),
        ({"n_components": [2, 3], "n_layers": [2, 3]}, [2, 3], [1 / 6, 1 / 4], [2, 3]),
    ],
)
def test_schedules(settings, sizes, fractions, depths):
    strategy = settings.pop("strategy", "alignment")
    rounds = resolved(strategy, 110.0, **settings).rounds
    assert [r.n_components for r in rounds] == sizes
    assert [r.n_inducing for r in rounds] == fractions
    assert [r.n_layers for r in rounds] == depths


@pytest.mark.parametrize(
    ("strategy", "inference"),
    [("noise_aware", "gamma"), ("alignment", "gamma"), ("multitask", "empirical")],
)
def test_auto_is_what_the_paper_of_the_strategy_uses(strategy, inference):
    assert resolved(strategy, 60.0).schedule.inference == inference
    assert resolved(strategy, 60.0, inference="gamma").schedule.inference == "gamma"


class Remembers:
    """Scores each class that it learned from, and fails when it sees a row again."""

    def __init__(self, rows, labels):
        self.rows, self.n_classes = rows, len(np.unique(labels))

    def scores(self, queries):
        assert not np.isin(queries, self.rows).any()
        return np.ones((len(queries), self.n_classes))


def test_no_row_is_scored_by_a_model_that_saw_it(rng):
    labels = np.repeat([0, 1, 2], [30, 7, 2])
    folds = stratified_folds(labels, 4, rng)
    codes = np.arange(39.0)[:, np.newaxis]
    trained = []

    def fit(settings, rows, known):
        trained.append(rows[:, 0].astype(int))
        return Remembers(rows, known)

    scores = out_of_fold_scores(fit, None, codes, labels, folds)
    assert scores.shape == (39, 3)
    assert np.isfinite(scores).all()
    assert set(np.concatenate(trained)) == set(range(39))


def test_a_class_that_was_not_seen_is_as_far_below_the_worst_as_that_below_the_best():
    class Fixed:
        def scores(self, queries):
            return -np.array([[-3.0, 1.0], [2.0, 5.0]])

    labels = np.array([0, 2])
    scores = scores_by(lambda *_: Fixed(), None, np.zeros((2, 1)), labels, np.zeros((2, 1)), 4)
    assert_array_equal(scores, [[3, -5, -1, -5], [-2, -8, -5, -8]])
    alone = scores_by(None, None, np.zeros((1, 1)), np.array([2]), np.zeros((5, 1)), 4)
    assert_array_equal(alone, np.zeros((5, 4)))


@pytest.mark.parametrize(("least", "goes_on"), [(0.5, False), (0.25, True)])
def test_a_first_round_that_is_not_certain_is_the_last(labels, least, goes_on):
    class Unsure(Settling):
        def step(self, settings, labels):
            step = super().step(settings, labels)
            return replace(step, certainty=0.3 if len(self.seen) == 2 else 0.0)

    strategy = Unsure(labels)
    result = run(strategy, labels, min_certainty=least)
    assert (result is not None) == goes_on
    assert len(strategy.seen) == (4 if goes_on else 2)
