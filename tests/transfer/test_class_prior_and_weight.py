"""Class frequencies and costs of a target: what they move, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skdp import DPStatisticsSource, DPTransferClassifier, Release, SelfTrainingSchedule

pytestmark = [
    pytest.mark.usefixtures("few_rounds"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]
LABELS = np.array(["ill", "well"])


def people(rng, n, ill, distance=0.3, n_columns=4):
    y = np.where(rng.rand(n) < ill, 0, 1)
    X = rng.uniform(0, 1 - distance, (n, n_columns))
    X[:, :2] += distance * y[:, np.newaxis]
    return X, LABELS[y]


def release_of(rng, ill, epsilon=8.0):
    source = DPStatisticsSource(epsilon, bounds=(0, 1), classes=LABELS, random_state=0)
    return source.fit(*people(rng, 4000, ill)).release_


@pytest.fixture(scope="module")
def release():
    return release_of(np.random.RandomState(0), 0.5)


@pytest.fixture(scope="module")
def target():
    X, y = people(np.random.RandomState(1), 1500, 0.1)
    marked = y.astype(object)
    marked[60:] = None
    return X, y, marked


@pytest.mark.parametrize(
    ("epsilon", "given"), [(0.2, [0.1, 0.9]), (100.0, {"well": 0.9, "ill": 0.1})]
)
def test_given_frequencies_hold_whatever_the_epsilon(rng, target, epsilon, given):
    X, y, marked = (each[:400] for each in target)
    model = DPTransferClassifier(release_of(rng, 0.5, epsilon), class_prior=given, random_state=0)
    one_left = np.where(np.arange(len(X)) < len(X) - 1, y, None)
    for labels, n_known in ((None, 0), (one_left, len(X) - 1), (y, len(X)), (marked, 60)):
        model.fit(X, labels)
        p = model.predict_proba(X)
        assert_allclose(p.mean(axis=0), [0.1, 0.9], atol=1e-6)
        assert_allclose(model.label_distributions_[n_known:], p[n_known:], atol=1e-12)
        assert_array_equal(model.predict(X)[n_known:], model.transduction_[n_known:])
    assert_array_equal(model.transduction_[:60], marked[:60])


def test_the_source_s_frequencies_are_those_of_its_release(rng, target):
    release = release_of(rng, 0.3)
    X, _, marked = target
    model = DPTransferClassifier(release, class_prior="source", random_state=0).fit(X, marked)
    found = model.predict_proba(X).mean(axis=0)
    assert_allclose(found, release.moments.frequencies, atol=1e-6)
    both = [release, release_of(rng, 0.1)]
    model = DPTransferClassifier(both, class_prior="source", random_state=0).fit(X)
    expected = Release.merge(both, disjoint=True).moments.frequencies
    assert_allclose(model.predict_proba(X).mean(axis=0), expected, atol=1e-6)


def test_costs_decide_and_probabilities_stay(release, target):
    X, _, marked = target
    plain = DPTransferClassifier(release, random_state=0).fit(X, marked)
    assert_array_equal(plain.class_weight_, [1, 1])
    p = plain.predict_proba(X)
    weights = {"ill": 5}
    model = clone(plain).set_params(class_weight=weights).fit(X, marked)
    assert_array_equal(model.predict_proba(X), p)
    assert_array_equal(model.decision_function(X), plain.decision_function(X))
    expected = LABELS[(p * [5, 1]).argmax(axis=1)]
    assert_array_equal(model.predict(X), expected)
    assert (expected != plain.predict(X)).sum() > 20
    assert_array_equal(model.transduction_[60:], expected[60:])
    assert_array_equal(model.transduction_[:60], marked[:60])
    model.set_params(class_weight=None)  # what was fitted stays
    assert_array_equal(model.predict(X), expected)
    balanced = clone(plain).set_params(class_weight="balanced").fit(X, marked)
    assert_allclose(balanced.class_weight_, 0.5 / p.mean(axis=0))


@pytest.mark.parametrize("strategy", ["alignment", "multitask"])
def test_costs_scale_errors_by_their_temperature(rng, strategy):
    X, y = people(rng, 300, 0.5)
    marked = y.astype(object)
    marked[100:] = None
    model = DPTransferClassifier(
        strategy=strategy,
        self_training=SelfTrainingSchedule(n_components=2),
        class_weight={"ill": 30},
        random_state=0,
    ).fit(X, marked)
    log_odds = model.decision_function(X) / model.target_classifier_.temperature_
    expected = LABELS[(log_odds > np.log(30)).astype(int)]
    assert_array_equal(model.predict(X), expected)
    assert_array_equal(model.transduction_[100:], expected[100:])
    assert (expected == "ill").sum() > (log_odds < 0).sum()
    model.set_params(class_weight="balanced").fit(X, marked)
    assert (model.class_weight_ > 0).all()


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "class_prior",
            [0.2, 0.3, 0.5],
            r"one number for each of the classes \['ill', 'well'\]",
        ),
        ("class_prior", [[0.5, 0.5]], r"got shape \(1, 2\)"),
        ("class_prior", [0.5, 0.6], "add up to 1"),
        ("class_prior", [0.0, 1.0], "positive"),
        ("class_prior", [np.nan, 1.0], "positive"),
        ("class_prior", ["a", "b"], "must hold numbers"),
        ("class_prior", {"ill": 1.0}, r"positive .* got \[1.0, 0.0\]"),
        ("class_prior", {"ill": 0.5, "well": 0.4, "dead": 0.1}, "Name no other"),
        ("class_weight", {"dead": 2.0}, r"names \['dead'\], but the classes are"),
        ("class_weight", {"ill": 0.0}, "positive and finite"),
        ("class_weight", {"ill": np.inf}, "positive and finite"),
        ("class_weight", {"ill": "much"}, "must hold numbers"),
    ],
)
def test_frequencies_and_weights_that_are_none_are_refused(release, target, name, given, message):
    model = DPTransferClassifier(release, **{name: given})
    with pytest.raises(ValueError, match=f"'{name}' parameter.*" + message):
        model.fit(*target[::2])


def test_frequencies_of_no_source_and_of_no_probabilities_are_refused(target):
    X, _, marked = target
    with pytest.raises(ValueError, match="needs the class frequencies of a source"):
        DPTransferClassifier(class_prior="source").fit(X, marked)
    for strategy in ("alignment", "multitask"):
        with pytest.raises(ValueError, match=f"strategy='{strategy}' does not have"):
            DPTransferClassifier(strategy=strategy, class_prior=[0.5, 0.5]).fit(X, marked)
    with pytest.raises(ValueError, match="'class_prior'"):
        DPTransferClassifier(class_prior="mine").fit(X, marked)
