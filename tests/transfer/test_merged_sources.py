"""Several sources of one schema: merged, with each as a candidate, and what is guaranteed."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.metrics import log_loss

from skdp import DPStatisticsSource, DPTransferClassifier, Release
from skdp.transfer._class_model import class_beliefs

pytestmark = [
    pytest.mark.usefixtures("few_rounds"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]


def people(rng, n, ill, sign=1):
    y = (rng.rand(n) < ill).astype(int)
    X = rng.uniform(0, 0.7, (n, 4))
    X[:, :2] += 0.3 * (y if sign > 0 else 1 - y)[:, np.newaxis]
    return X, y


def release_of(rng, n, ill, sign=1, epsilon=8.0, **settings):
    settings = {"bounds": (0, 1), "classes": [0, 1], **settings}
    return DPStatisticsSource(epsilon, **settings).fit(*people(rng, n, ill, sign)).release_


def fitted(releases, X, y=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return DPTransferClassifier(releases, random_state=0, **settings).fit(X, y)


@pytest.fixture(scope="module")
def releases():
    rng = np.random.RandomState(0)
    return [release_of(rng, 500, ill) for ill in (0.3, 0.5, 0.7)]


def test_without_labels_it_is_the_merged_release_at_another_site(rng, releases, at_another_site):
    X, _ = people(rng, 400, 0.5)
    merged = Release.merge(releases, disjoint=True)
    model = fitted(releases, X)
    assert merged.linear.intercept_sd[0] > 0.3
    assert_allclose(model.predict_proba(X), at_another_site(merged, X), atol=0.02)
    assert np.abs(model.predict_proba(X) - merged.predict_proba(X)).max() > 0.02
    assert model.report()["name"].tolist() == ["sources 0, 1, 2"]
    assert_allclose(fitted(merged, X).predict_proba(X), model.predict_proba(X), atol=1e-10)


def test_labels_may_favor_one_of_them(rng, releases):
    # Two of three sources are misleading: their classes lie the other way round.
    misleading = [release_of(rng, 500, 0.5, sign=-1) for _ in range(2)]
    X, y = people(rng, 400, 0.5)
    X_test, y_test = people(rng, 2000, 0.5)
    labels = np.where(np.arange(400) < 60, y, -1)
    mixed = [misleading[0], releases[1], misleading[1]]
    model = fitted(mixed, X, labels, label_sampling="random")
    weights = model.report().set_index("name")["weight"]
    of = {
        name: weights[weights.index.str.startswith(name)].sum() for name in ("source 1", "target")
    }
    assert weights.index[0] == "sources 0, 1, 2"
    # Those that mislead get none as they are, and little where labels turn them round.
    assert weights[["sources 0, 1, 2", "source 0", "source 2"]].sum() < 0.01
    assert of["source 1"] > 0.3
    merged = Release.merge(mixed, disjoint=True).predict_proba(X_test)
    assert log_loss(y_test, model.predict_proba(X_test)) < log_loss(y_test, merged) - 0.2


def test_the_spread_of_sites_is_the_prior_of_the_intercept(rng):
    # Sites with frequencies that spread by so much, and a target with 95%.
    moved = []
    X, y = people(rng, 400, 0.95)
    labels = np.where(np.arange(400) < 12, y, -1)
    for spread in (0.05, 3.0):
        log_odds = spread * np.linspace(-1, 1, 40)
        sites = [release_of(rng, 300, expit(b), epsilon=20.0) for b in log_odds]
        merged = Release.merge(sites, disjoint=True)
        model = fitted(merged, X, labels, label_sampling="random")
        before, after = (each.predict_proba(X)[:, 1].mean() for each in (merged, model))
        moved.append(logit(after) - logit(before))
    assert moved[1] > moved[0] + 0.1
    # Of few sites, less is known.
    for n_sources, expected in ((2, np.sqrt((4 + 9) / 5)), (41, np.sqrt((4 + 40 * 9) / 44))):
        release = SimpleNamespace(
            statistics=SimpleNamespace(n_sources=n_sources),
            linear=SimpleNamespace(intercept_sd=np.array([3.0])),
        )
        for sampling, levels in (("random", (0.3, expected)), ("stratified", (0.3,))):
            task = SimpleNamespace(sampling=sampling, n_classes=2, is_embedded=True)
            assert class_beliefs(task, release).levels == pytest.approx(levels)


def test_disjoint_changes_the_guarantee_alone(rng, releases):
    X, y = people(rng, 200, 0.5)
    labels = np.where(np.arange(200) < 20, y, -1)
    added, weakest = (fitted(releases, X, labels, disjoint=value) for value in (False, True))
    assert_array_equal(added.predict_proba(X), weakest.predict_proba(X))
    assert weakest.guarantee_.epsilon == releases[0].guarantee.epsilon
    assert added.guarantee_.epsilon > 14
    assert added.guarantee_ == Release.merge(releases, disjoint=False).guarantee
    persons = release_of(rng, 300, 0.5)  # with a guarantee of another kind, there is none for all
    source = DPStatisticsSource(8.0, classes=[0, 1], privacy_unit="group")
    groups = source.fit(*people(rng, 300, 0.5), groups=np.arange(300)).release_
    both = fitted([persons, groups], X, labels, disjoint=True)
    assert isinstance(both.guarantee_, tuple)
    with pytest.raises(ValueError, match="'disjoint' parameter"):
        DPTransferClassifier(releases, disjoint="yes").fit(X, labels)
