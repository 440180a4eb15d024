"""Labels that are a random sample, or chosen class by class: what they say of frequencies."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import hide_labels
from skdp.transfer._classes import sampling_of, warn_of_frequencies

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
    assert found < of_labels + 0.005


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


def test_auto_takes_equal_counts_beside_unlabeled_rows_for_stratified():
    given = np.array([0, 0, 1, 1, -1])
    assert sampling_of(given, "auto", None) == "stratified"
    assert sampling_of(given, "random", None) == "random"
    assert sampling_of(given[:4], "auto", None) == "random"  # no row without a label remains
    assert sampling_of(given[1:], "auto", None) == "random"
    assert sampling_of(given[:4], "stratified", None) == "stratified"
    assert sampling_of(np.array([2, 1, -1]), "auto", None) == "stratified"  # 0 has no label
    assert sampling_of(np.array([-1, -1]), "auto", None) == "stratified"


def test_auto_takes_a_single_class_for_random_unless_that_surprises():
    def taken(n, frequency):
        labels = np.append(np.ones(n, int), -1)
        return sampling_of(labels, "auto", np.array([1 - frequency, frequency]))

    assert taken(10, 0.9) == taken(10, 0.5) == taken(1, 0.1) == "random"
    assert taken(30, 0.5) == taken(10, 0.1) == "stratified"
    # At log-odds 1 above those of one half, n labels of one class have probability .731ⁿ.
    assert taken(22, 0.5) == "random"
    assert taken(23, 0.5) == "stratified"
    with pytest.warns(UserWarning, match="If they were chosen class by class"):
        warn_of_frequencies(np.ones(10, int), np.array([0.3, 0.7]), "random")
    # A class that the source knows not to occur: expected without, and then no warning.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_frequencies(np.ones(10, int), np.array([0.0, 1.0]), "random")
        warn_of_frequencies(np.ones(2, int), np.array([0.3, 0.7]), "random")


def test_frequencies_that_chance_does_not_explain_are_named():
    labels = np.repeat([0, 1], [30, 10])
    with pytest.warns(UserWarning, match=r"\[0.75, 0.25\].*expects \[0.3, 0.7\].*'stratified'"):
        warn_of_frequencies(labels, np.array([0.3, 0.7]), "random")
    with pytest.warns(UserWarning, match="label_sampling='random'"):
        warn_of_frequencies(labels, np.array([0.3, 0.7]), "stratified")
    # The test is significant at .001: just so, and just not.
    level = chi2.isf(0.001, 1)
    near, far = (
        brentq(lambda p, by=by: ratio(labels, p) - level + by, 0.3, 0.74) for by in (0.1, -0.1)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_frequencies(labels, np.array([near, 1 - near]), "random")
    with pytest.warns(UserWarning, match="name the classes"):
        warn_of_frequencies(labels, np.array([far, 1 - far]), "random")


def ratio(labels, p):
    """Twice the log-likelihood ratio of labels against a frequency p of class 0."""
    n = np.bincount(labels)
    return 2 * (n * np.log(n / n.sum() / [p, 1 - p])).sum()
