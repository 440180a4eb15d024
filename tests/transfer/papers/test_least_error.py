from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import DPTransferClassifier, SelfTrainingSchedule, WideCDMMAClassifier
from skdp.transfer._self_training import Round
from skdp.transfer.papers._least_error import LeastErrorModel, LeastErrorRounds, SourceSide


def test_without_unlabeled_rows_there_is_one_round(release, same):
    X, y, _, X_test, _ = same
    schedule = SelfTrainingSchedule((4, 6, 8, 10))
    settings = {"strategy": "alignment", "self_training": schedule, "random_state": 0}
    model = DPTransferClassifier(release, **settings).fit(X, y)
    assert model.history_["round"] == [4]
    assert_array_equal(model.transduction_, y)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    plain = WideCDMMAClassifier(10, 0.25, 5, error_scale="shared", random_state=seed).fit(X, y)
    assert_array_equal(model.target_scores(X_test), plain.decision_function(X_test))


class Knowing(SourceSide):
    """Knows some of the rows, and nothing of the others."""

    def __init__(self, y, known):
        self._scores = np.where(known[:, np.newaxis], np.eye(y.max() + 1)[y] - 1, -np.inf)

    def current_scores(self, X):
        return self._scores


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_least_error_decides(same, make_task, make_training, share):
    X, y, marked, _, _ = same
    unlabeled = marked < 0
    known = np.arange(450) < share * 450
    task = make_task(X, marked)
    side = Knowing(y[unlabeled], known)
    strategy = LeastErrorRounds(side, task, make_training(task))
    start = strategy.start(Round(2, 1.0, 1), marked)
    assert start.details == {"source_share": 0.0}
    step = strategy.step(Round(2, 0.5, 1), start.distributions.argmax(axis=1))
    assert step.details == {"source_share": share}
    guesses = step.distributions.argmax(axis=1)
    # Errors of the source are 0 for the class, and no autoencoder is as good.
    assert_array_equal(guesses[unlabeled][known], y[unlabeled][known])
    assert_array_equal(guesses[~unlabeled], y[~unlabeled])
    assert set(step.distributions.ravel()) == {0.0, 1.0}


def test_a_source_that_has_nothing_to_give_leaves_the_target_alone(same, make_task, make_training):
    X, y, marked, X_test, _ = same
    task = make_task(X, marked)
    strategy = LeastErrorRounds(SourceSide(), task, make_training(task))
    strategy.step(Round(2, 0.5, 1), y)
    model = strategy.finish(Round(2, 0.5, 1), y)
    assert_array_equal(model.scores(X_test), model.target_scores(X_test))
    assert model.source_weight == 0.0


@pytest.mark.parametrize("alone", [True, False])
def test_contributions_are_the_shares_of_rows(alone):
    target = SimpleNamespace(classifier=None)
    share = 0.0 if alone else 0.3
    parts = LeastErrorModel(SourceSide(), target, share, alone=alone).contributions
    assert [part.side for part in parts] == ["source", "target"][alone:]
    assert sum(part.weight for part in parts) == pytest.approx(1)
