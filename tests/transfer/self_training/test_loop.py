import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DPTransferClassifier
from skdp.transfer.self_training import Round, Step, self_train

SCHEDULE = {"n_components": (2, 3, 4), "n_inducing": (0.1, 0.2, 0.25), "n_layers": 2}


class Settling:
    """Of twelve unlabelled rows, guesses one fewer of class 0 in every round."""

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


def test_the_loop_writes_to_nothing_of_the_caller_s(labels):
    given = labels.copy()
    given.flags.writeable = False
    strategy = Settling(labels)
    result = self_train(strategy, tuple(SETTINGS), given, tol=0.0, verbose=0)
    assert_array_equal(given, labels)
    writeable = labels.copy()
    assert_array_equal(
        self_train(Settling(labels), SETTINGS, writeable, tol=0.0, verbose=0).labels, result.labels
    )
    assert_array_equal(writeable, labels)
    assert not np.shares_memory(result.labels, given)


def test_the_result_is_that_of_the_last_round(labels):
    strategy = Settling(labels)
    result = self_train(strategy, SETTINGS, labels, tol=0.0, verbose=0)
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
    result = self_train(strategy, SETTINGS, labels, tol=1 / 12, verbose=0)
    assert result.history["round"] == [0, 1, 3]
    assert strategy.settings[-1] == SETTINGS[-1]


def test_without_unlabelled_rows_the_last_round_is_the_only_one():
    class Sure(Settling):
        def step(self, settings, labels):
            return Step(np.eye(3)[labels], {})

    known = np.array([0, 1, 2, 0])
    result = self_train(Sure(known), SETTINGS, known, tol=0.0, verbose=0)
    assert result.history["round"] == [3]
    assert_array_equal(result.labels, known)


@pytest.mark.parametrize("strategy", ["noise_aware", "alignment", "multitask"])
def test_fitting_writes_to_nothing_of_the_caller_s(release, same, strategy):
    X, _, marked, _, _ = same
    X, marked = X.copy(), marked.copy()
    X.flags.writeable = marked.flags.writeable = False
    model = DPTransferClassifier(release, strategy=strategy, n_components=3, random_state=0)
    model.fit(X, marked)
    assert_array_equal(model.transduction_[marked >= 0], marked[marked >= 0])


def test_history_tells_what_happened(release, same, capsys):
    X, _, marked, _, _ = same
    model = DPTransferClassifier(
        release, strategy="alignment", tol=0.0, verbose=1, random_state=0, **SCHEDULE
    )
    history = model.fit(X, marked).history_
    assert history["round"] == [0, 1, 2, 3]
    assert history["n_components"] == [4, 2, 3, 4]  # five labels a class, less one
    assert history["n_inducing"] == [1.0, 0.1, 0.2, 0.25]
    assert history["n_layers"] == [1, 1, 1, 2]
    assert history["changed"][0] == 450
    assert_allclose(history["agreement"], 1 - np.array(history["changed"]) / 450)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1].startswith(f"[DPTransferClassifier] round 1 of 3: {history['changed'][1]} of")


def test_rounds_end_early_when_labels_settle(release, same):
    X, _, marked, _, _ = same
    settings = {
        "strategy": "alignment",
        "n_components": (2, 3, 4, 5),
        "n_inducing": 0.2,
        "random_state": 0,
    }
    model = DPTransferClassifier(release, tol=1.0, **settings).fit(X, marked)
    assert model.history_["round"] == [0, 1, 4]
    assert model.n_iter_ == 2
    assert DPTransferClassifier(release, tol=0.0, **settings).fit(X, marked).n_iter_ == 4


def test_settled_is_settled_at_the_boundary(release, same):
    X, _, marked, _, _ = same
    X = np.concatenate([X, X[marked < 0]])  # many unlabelled rows beside the labelled ones
    marked = np.append(marked, np.full(450, -1))
    settings = {
        "strategy": "alignment",
        "n_components": (2, 2, 2, 3),
        "n_inducing": 0.2,
        "random_state": 0,
    }
    changed = DPTransferClassifier(release, tol=0.0, **settings).fit(X, marked)
    [first] = changed.history_["changed"][1:2]
    assert first > 0
    for tol, rounds in ((first / 900, [0, 1, 4]), ((first - 1) / 900, None)):
        model = DPTransferClassifier(release, tol=tol, **settings).fit(X, marked)
        assert (model.history_["round"] == rounds) == (rounds is not None)
