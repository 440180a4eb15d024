"""Labels that are a random sample, or chosen class by class: what they say of frequencies."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import hide_labels

pytestmark = [
    pytest.mark.usefixtures("few_rounds"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]


def people(rng, n, ill, distance=0.3):
    """Rows of two classes that lie apart in two of four columns, and labels."""
    y = (rng.rand(n) < ill).astype(int)
    X = rng.uniform(0, 1 - distance, (n, 4))
    X[:, :2] += distance * y[:, np.newaxis]
    return X, y


@pytest.fixture(scope="module")
def release():
    source = DPStatisticsSource(8.0, bounds=(0, 1), classes=[0, 1], random_state=0)
    return source.fit(*people(np.random.RandomState(0), 4000, 0.9)).release_


@pytest.fixture(scope="module")
def target():
    return *people(np.random.RandomState(1), 1000, 0.2), *people(
        np.random.RandomState(2), 5000, 0.2
    )


def learned(release, X, labels, label_sampling="auto"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = DPTransferClassifier(release, label_sampling=label_sampling, random_state=0)
        return model.fit(X, labels)


def loss_of(model, X, y):
    return log_loss(y, model.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 60, 1000])
def test_a_random_sample_beats_the_release_and_labels_alone(release, target, n):
    X, y, X_test, y_test = target
    losses = []
    for seed in range(3):
        marked = hide_labels(y, n, sampling="random", random_state=seed)
        known = marked >= 0
        alone = LogisticRegressionCV(
            Cs=7, cv=3, scoring="neg_log_loss", l1_ratios=(0,), use_legacy_attributes=False
        )
        alone.fit(X[known], y[known])
        model = learned(release, X, marked, "random")
        losses.append([loss_of(each, X_test, y_test) for each in (model, release, alone)])
    found, of_release, of_labels = np.mean(losses, axis=0)
    assert found < of_release - 0.1
    assert found < of_labels + 0.002


def test_stratified_labels_keep_the_frequencies_that_the_source_expects(release, target):
    X, y, X_test, _ = target
    marked = hide_labels(y, 30, random_state=0)
    expected = release.predict_proba(X_test)[:, 1].mean()
    kept = learned(release, X, marked).predict_proba(X_test)[:, 1].mean()
    assert abs(kept - expected) < 0.1
    moved = learned(release, X, marked, "random").predict_proba(X_test)[:, 1].mean()
    assert abs(moved - expected) > 0.1
    assert expected > 0.35  # which is wrong, as 20 % are


@pytest.mark.parametrize("label_sampling", ["auto", "random"])
def test_nothing_jumps_where_the_last_unlabeled_row_goes(release, target, label_sampling):
    X, y, X_test, _ = target
    one_left = np.where(np.arange(len(y)) == 7, -1, y)
    before, after = (
        learned(release, X, labels, label_sampling).predict_proba(X_test)
        for labels in (one_left, y)
    )
    assert_allclose(before, after, atol=0.04)


def test_auto_warns_where_much_depends_on_it_and_a_choice_does_not(release, target):
    X, y, *_ = target
    marked = hide_labels(y, 40, sampling="random", random_state=0)
    with pytest.warns(
        UserWarning, match="name the classes .* set label_sampling='stratified'"
    ) as w:
        DPTransferClassifier(release, random_state=0).fit(X, marked)
    assert w[0].filename == __file__
    for given in (
        {"label_sampling": "random"},
        {"label_sampling": "stratified"},
        {"class_prior": [0.8, 0.2]},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            DPTransferClassifier(release, random_state=0, **given).fit(X, marked)
