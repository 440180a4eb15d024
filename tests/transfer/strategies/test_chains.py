"""Self-training where classes lie apart, and candidates where they overlap."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import DPSource, DPTransferClassifier
from skdp.transfer.strategies._candidates import Corrected, SelfTrained
from skdp.transfer.strategies._chains import Chain, held_out_log_posteriors
from skdp.transfer.strategies._evidence import certainty, lie_apart, prior_odds
from skdp.transfer.strategies._noise_aware import NoiseAwareModel
from skdp.transfer.strategies._weighed import WeighedModel

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]


def records(rng, n, weights):
    """Records of three numbers and three indicators, with classes that overlap."""
    X = np.column_stack([rng.rand(n, 3), rng.rand(n, 3) < 0.3]).astype(float)
    logit = (X - X.mean(axis=0)) @ weights
    return X, (rng.rand(n) < 1 / (1 + np.exp(-logit))).astype(int)


def few_labels(y, n):
    marked = np.full(len(y), -1)
    for c in np.unique(y):
        marked[np.flatnonzero(y == c)[:n]] = c
    return marked


def test_certainty_is_the_share_of_entropy_that_is_gone():
    half = np.full((4, 2), 0.5)
    assert certainty(half) == pytest.approx(0)
    assert certainty(np.eye(2)[[0, 1, 0, 1]]) == pytest.approx(1)
    assert certainty(np.eye(2)[[0, 0, 0, 0]]) == 0  # one class alone says nothing
    mixed = np.array([[0.9, 0.1], [0.1, 0.9]])
    entropy = -(0.9 * np.log(0.9) + 0.1 * np.log(0.1)) / np.log(2)
    assert certainty(mixed) == pytest.approx(1 - entropy)
    assert not lie_apart(mixed)
    assert lie_apart(np.array([[0.99, 0.01], [0.01, 0.99]]))


def test_prior_odds_grow_with_what_the_source_knows():
    assert prior_odds(10.0, 10.0) == 0
    assert prior_odds(5.0, 10.0) == 0  # never for the labels
    assert prior_odds(20.0, 10.0) == pytest.approx(-3 * np.log(2))
    assert prior_odds(1e6, 10.0) == -6


def test_records_do_no_harm(rng):
    weights = np.array([4.0, -3.0, 0.0, 1.5, 0.0, -1.5])
    gains = {"source": [], "target": []}
    for _ in range(5):
        rows, labels = records(rng, 3000, weights)
        source = DPSource(4.0, bounds=(0, 1), n_components=2, n_layers=1, random_state=0)
        release = source.fit(rows, labels).release_
        X, y = records(rng, 300, weights)
        X_test, y_test = records(rng, 3000, weights)
        marked = few_labels(y, 10)
        known = marked >= 0
        model = DPTransferClassifier(release, random_state=0).fit(X, marked)
        assert isinstance(model.model_, WeighedModel)
        without = DPTransferClassifier(release, random_state=0).fit(X)
        alone = LogisticRegression().fit(X[known], y[known])
        found, of_source, of_target = (
            roc_auc_score(y_test, each.predict_proba(X_test)[:, 1])
            for each in (model, without, alone)
        )
        gains["source"].append(found - of_source)
        gains["target"].append(found - of_target)
    assert np.mean(gains["source"]) > -0.003
    assert np.mean(gains["target"]) > 0.03
    # Probabilities are those of a calibrated model: far from the errors' own scale.
    assert np.mean(model.predict_proba(X_test).max(axis=1)) == pytest.approx(
        model.score(X_test, y_test), abs=0.06
    )


def test_the_target_alone_is_a_regularised_logistic_regression_on_records(rng):
    X, y = records(rng, 400, np.array([4.0, -3.0, 0.0, 1.5, 0.0, -1.5]))
    marked = few_labels(y, 20)
    model = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
    assert {type(each) for each in model.model_.candidates} == {Corrected}
    assert model.source_weight_ == 0
    known = marked >= 0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    candidate = model.model_.candidates[0]
    odds = np.diff(candidate.log_posteriors(X), axis=1)[:, 0]
    # Coefficients have prior variance v for each of two classes.
    expected = LogisticRegression(C=2 * 0.02).fit(Z[known], y[known]).decision_function(Z)
    assert np.corrcoef(odds, expected)[0, 1] > 0.999
    assert np.std(odds) == pytest.approx(np.std(expected), rel=0.05)


def test_classes_that_lie_apart_are_trained_by_guesses(same, release):
    X, _, marked, X_test, y_test = same
    model = DPTransferClassifier(release, random_state=0).fit(X, marked)
    assert isinstance(model.model_, NoiseAwareModel)
    assert model.score(X_test, y_test) > 0.85


def test_chains_have_not_seen_the_labels_they_are_judged_by(same, make_task):
    X, y = same[0][:200], same[1][:200]
    marked, schedule = few_labels(y, 3), [_round(2)]
    task = make_task(X, marked)
    chain = Chain(schedule, 1e-3, 0)
    logs = held_out_log_posteriors(task, chain)
    assert logs.shape == ((marked >= 0).sum(), 10)
    assert_allclose(np.exp(logs).sum(axis=1), 1)
    # A wrong label of each class is not confirmed by what is said of its own row.
    known = np.flatnonzero(marked >= 0)
    first = np.array([np.flatnonzero(marked[known] == c)[0] for c in range(10)])
    wrong = marked.copy()
    wrong[known[first]] = (marked[known[first]] + 1) % 10
    other = held_out_log_posteriors(make_task(X, wrong), chain).argmax(axis=1)
    assert (logs.argmax(axis=1) == marked[known]).mean() > 0.4
    assert (other[first] == wrong[known[first]]).mean() < 0.4


def test_a_class_with_one_label_has_no_held_out_chain(same, make_task):
    X, _, marked, *_ = same
    single = np.full(len(marked), -1)
    first = [np.flatnonzero(marked == c)[0] for c in range(10)]
    single[first] = marked[first]
    assert held_out_log_posteriors(make_task(X, single), Chain([_round(2)], 1e-3, 0)) is None


def _round(n_components):
    from skdp.transfer.self_training._schedule import Round

    return Round(n_components, 0.5, 1)


def test_doubtful_chains_are_weighed(rng):
    # Four classes in ten directions, with one or two of their neighbours' spreads between them.
    means = 1.6 * rng.randn(4, 12)
    y = rng.randint(0, 4, 300)
    X = means[y] + rng.randn(300, 12) * np.linspace(1, 3, 12)
    marked = few_labels(y, 5)
    model = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
    names = model.report()["name"].tolist()
    if isinstance(model.model_, WeighedModel):
        assert "target alone" in names
        kinds = {type(each) for each in model.model_.candidates}
        assert kinds <= {Corrected, SelfTrained}
    assert model.score(X, y) > 0.6
    assert_array_equal(model.transduction_[marked >= 0], y[marked >= 0])


@pytest.mark.parametrize("table", [True, False])
def test_one_labelled_class_is_enough(rng, table):
    weights = np.array([4.0, -3.0, 0.0, 1.5, 0.0, -1.5])
    rows, labels = records(rng, 3000, weights)
    release = DPSource(8.0, bounds=(0, 1), n_components=2, n_layers=1, random_state=0)
    release = release.fit(rows, labels).release_
    X, y = records(rng, 300, weights)
    if not table:
        X, rows = X[:, :3], rows[:, :3]
        release = DPSource(8.0, bounds=(0, 1), n_components=2, n_layers=1, random_state=0)
        release = release.fit(rows, labels).release_
    marked = np.where((np.arange(300) < 40) & (y == 1), 1, -1)
    model = DPTransferClassifier(release, random_state=0).fit(X, marked)
    assert_array_equal(model.classes_, [0, 1])
    without = DPTransferClassifier(release, random_state=0).fit(X)
    assert model.score(X, y) > without.score(X, y) - 0.03
