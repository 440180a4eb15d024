"""What a fitted model says of its parts: a table, a picture and a warning."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_rel

from skdp import DPStatisticsSource, DPTransferClassifier, SelfTrainingSchedule
from skdp.datasets import hide_labels
from skdp.transfer._inspection import candidate_contributions

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]


COLUMNS = ["name", "side", "weight", "log_odds"]


COLUMNS += ["n_labels", "label_sampling", "log_loss", "difference", "standard_error"]


def people(rng, n, flipped=False):
    X = rng.rand(n, 3)
    y = (rng.rand(n) < 0.1 + 0.8 * X[:, 0]).astype(int)
    return X, 1 - y if flipped else y


def release_of(seed, flipped=False):
    source = DPStatisticsSource(8.0, bounds=(0, 1), classes=[0, 1], random_state=seed)
    return source.fit(*people(np.random.RandomState(seed), 3000, flipped)).release_


@pytest.fixture(scope="module")
def helpful():
    return release_of(0)


@pytest.fixture(scope="module")
def wrong():
    return release_of(0, flipped=True)


@pytest.fixture(scope="module")
def target():
    X, y = people(np.random.RandomState(5), 400)
    return X, y, hide_labels(y, 40, random_state=0)


def test_candidates_have_rows(helpful, wrong, target):
    X, _, marked = target
    model = DPTransferClassifier([helpful, wrong], random_state=0).fit(X, marked)
    report = model.report()
    assert list(report.columns) == COLUMNS
    assert report["name"].tolist()[:3] == ["source", "source 0", "source 1"]
    assert set(report["side"]) == {"source", "target"}
    assert (report["n_labels"] == 80).all()
    assert_allclose(report["weight"].sum(), 1)
    of_source = report.loc[report["side"] == "source", "weight"].sum()
    assert_allclose(of_source, model.source_weight_)
    assert report.loc[0, ["log_odds", "difference", "standard_error"]].tolist() == [0, 0, 0]
    assert_allclose(report["difference"], report["log_loss"] - report["log_loss"][0])
    good, bad = report["log_loss"][1], report["log_loss"][2]
    assert good + 0.02 < bad
    kept = model.model_.contributions
    assert str(pickle.loads(pickle.dumps(kept))) == str(kept)
    assert len(pickle.dumps(kept)) < 4000


def test_a_source_that_does_not_help_is_warned_of(helpful, wrong, target):
    X, _, marked = target
    with pytest.warns(UserWarning, match=r"contradict the source.* see report\(\)") as found:
        DPTransferClassifier(wrong, random_state=0).fit(X, marked)
    assert found[0].filename == __file__
    for source, labels in ((helpful, marked), (wrong, None), (None, marked)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            DPTransferClassifier(source, random_state=0).fit(X, labels)


def test_a_source_that_self_training_ignores_is_warned_of(all_parts, same, rng):
    X, _, marked, _, _ = same
    settings = {"self_training": SelfTrainingSchedule(n_components=4), "random_state": 0}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The labeled rows favor")
        DPTransferClassifier(all_parts, **settings).fit(X, marked)
    shuffled = X[:, rng.permutation(X.shape[1])]  # the columns mean something else
    with pytest.warns(UserWarning, match="The labeled rows favor"):
        DPTransferClassifier(all_parts, **settings).fit(shuffled, marked)


def candidate(name, log_odds, held_out, source_weight=1.0):
    return SimpleNamespace(
        name=name, log_odds=log_odds, held_out=held_out, source_weight=source_weight
    )


def test_candidates_are_compared_to_the_first(rng):
    first, second = rng.uniform(0.1, 1, (2, 30))
    parts = [candidate("source", -2.0, first), candidate("both", 1.0, second, 0.4)]
    a, b = candidate_contributions(parts, np.array([0.25, 0.75]))
    assert (a.name, a.side, a.weight, a.log_odds) == ("source", "source", 0.25, 0.0)
    assert (a.difference, a.standard_error) == (0, 0)
    assert (b.side, b.weight, b.log_odds) == ("both", 0.75, 3.0)
    assert_allclose(b.log_loss, -np.log(second).mean())
    assert_allclose(b.difference, b.log_loss - a.log_loss)
    assert_allclose(b.difference / b.standard_error, ttest_rel(-np.log(second), -np.log(first))[0])


def test_without_labels_or_with_one_no_error_is_known():
    [none] = candidate_contributions([candidate("source", 0.0, None)], np.ones(1))
    assert np.isnan([none.log_loss, none.difference, none.standard_error]).all()
    [one] = candidate_contributions([candidate("source", 0.0, np.zeros(1))], np.ones(1))
    assert np.isfinite(one.log_loss)
    assert np.isnan(one.standard_error)
