"""What a fitted model says of its parts: a table, a picture and a warning."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from skdp import (
    DPStatisticsSource,
    DPTransferClassifier,
    DPTransferRegressor,
    DPTransferSurvival,
    SelfTrainingSchedule,
)
from skdp.datasets import hide_labels

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]


COLUMNS = ["name", "side", "weight", "log_odds"]


COLUMNS += ["n_labels", "label_sampling", "log_likelihood"]


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
    # Names of the wrong source come last but for the target alone.
    assert report["name"].tolist() == [
        "all sources",
        "all sources, own coefficients",
        "source 0",
        "source 0, own coefficients",
        "source 1",
        "source 1, own coefficients",
        "target alone",
    ]
    assert set(report["side"]) == {"source", "both", "target"}
    assert (report["n_labels"] == 80).all()
    assert_allclose(report["weight"].sum(), 1)
    of_source = report.loc[report["side"] != "target", "weight"].sum()
    assert_allclose(of_source, model.source_weight_)
    assert report.loc[0, "log_odds"] == 0
    likely = report["log_likelihood"]
    assert likely[2] > likely[4] + 0.04
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


@pytest.mark.parametrize("kind", ["classes", "numbers", "times"])
def test_all_outcomes_have_one_layout(rng, kind):
    X, y = people(rng, 60)
    labels, model = {
        "classes": (np.where(np.arange(60) < 40, y, -1), DPTransferClassifier()),
        "numbers": (np.where(np.arange(60) < 40, X[:, 0] + y, np.nan), DPTransferRegressor()),
        "times": (
            np.rec.fromarrays([y == 1, np.where(np.arange(60) < 40, 1 + X[:, 0], np.nan)]),
            DPTransferSurvival(),
        ),
    }[kind]
    report = model.fit(X, labels).report()
    assert list(report.columns) == COLUMNS
    assert report["n_labels"].tolist() == [40]
    assert np.isfinite(report["log_likelihood"]).all()
    assert report["side"].tolist() == ["target"]


def test_log_likelihood_is_the_evidence_of_a_label(rng):
    X = rng.rand(40, 2)
    y = X @ [2.0, -1.0] + 0.1 * rng.randn(40)
    [given] = DPTransferRegressor().fit(X, y).report()["log_likelihood"]
    y, Z = (y - y.mean()) / y.std(), (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(2)
    strengths = np.array([0.2, 0.6, 2.0, 6.0, 20.0])
    shapes = [(np.eye(40) + 1.0 + k**2 * Z @ Z.T) * 0.5 for k in strengths]
    evidence = [multivariate_t(np.zeros(40), shape, df=4).logpdf(y) for shape in shapes]
    shares = np.log(1 / strengths / (1 / strengths).sum())
    assert given == pytest.approx(logsumexp(evidence + shares) / 40, rel=1e-8)
