"""Columns by name: another order, fewer, more, and a partial overlap."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from skdp import DPSource, DPStatisticsSource, DPTransferClassifier, SelfTrainingSchedule

pytestmark = [
    pytest.mark.usefixtures("few_rounds"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]
SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "bmi": {"type": "numeric", "low": 10, "high": 60},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
}


def table(n, seed):
    """Patients of whom age, ward and a gene decide; bmi follows age."""
    rng = np.random.RandomState(seed)
    age, ward, gene = rng.uniform(0, 100, n), rng.choice(list("ABC"), n), rng.choice(["x", "y"], n)
    bmi = np.clip(15 + 0.2 * age + 3 * rng.randn(n), 10, 60)
    logit = 0.06 * (age - 50) + 1.5 * (ward == "B") + 3 * (gene == "y") - 2
    y = np.where(rng.rand(n) < 1 / (1 + np.exp(-logit)), "ill", "well")
    return pd.DataFrame({"age": age, "bmi": bmi, "ward": ward, "gene": gene}), y


def auc(model, X, y):
    return roc_auc_score(y == model.classes_[1], model.predict_proba(X)[:, 1])


@pytest.fixture(scope="module")
def release():
    X, y = table(4000, 0)
    source = DPStatisticsSource(4.0, encoder=SCHEMA, classes=["ill", "well"], random_state=0)
    return source.fit(X[list(SCHEMA)], y).release_


@pytest.fixture(scope="module")
def target():
    X, y = table(600, 1)
    marked = y[:400].astype(object)
    marked[200:] = None
    return X[:400], marked, X[400:], y[400:]


def test_the_order_of_columns_does_not_matter(release, target):
    X, marked, X_test, _ = target
    names = list(SCHEMA)
    model = DPTransferClassifier(release, random_state=0).fit(X[names], marked)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = DPTransferClassifier(release, random_state=0).fit(X[names[::-1]], marked)
    assert_array_equal(other.predict_proba(X_test), model.predict_proba(X_test))
    assert_array_equal(other.feature_names_in_, names)


def test_fewer_columns_use_the_marginal_of_the_release(release, target, at_another_site):
    X, _, X_test, y_test = target
    names = ["ward", "bmi"]
    with pytest.warns(UserWarning, match=r"lacks the columns \['age'\] of the source"):
        model = DPTransferClassifier(release, random_state=0).fit(X[names])
    expected = at_another_site(release.restrict(["bmi", "ward"]), X_test)
    assert_allclose(model.predict_proba(X_test), expected, atol=0.02)
    # bmi tells much of what age does.
    without = DPTransferClassifier(release.restrict(["ward"]), random_state=0).fit(X[["ward"]])
    assert auc(model, X_test, y_test) > auc(without, X_test, y_test) + 0.05
    assert model.guarantee_ == release.guarantee


def test_what_only_the_target_has_feeds_its_own_models(release, target):
    X, marked, X_test, y_test = target
    with pytest.warns(UserWarning, match=r"columns \['gene'\] of X are not among the source's"):
        model = DPTransferClassifier(release, random_state=0).fit(X, marked)
    shared = DPTransferClassifier(release, random_state=0).fit(X[list(SCHEMA)], marked)
    assert auc(model, X_test, y_test) > auc(shared, X_test, y_test) + 0.02
    assert_array_equal(model.feature_names_in_, [*SCHEMA, "gene"])
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X_test[X_test.columns[::-1]]), model.predict(X_test))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X_test.drop(columns="gene"))


def test_partial_overlap_without_labels(release, target):
    X, _, X_test, y_test = target
    with pytest.warns(UserWarning, match="lacks the columns"):
        model = DPTransferClassifier(release, random_state=0).fit(X[["gene", "ward", "age"]])
    assert auc(model, X_test, y_test) > 0.7


def test_a_column_that_cannot_be_encoded_is_left_out(release, target):
    X, marked, X_test, _ = target
    dated = X.assign(day=pd.Timestamp("2020-01-01"))
    with pytest.warns(UserWarning, match=r"'day' .* The column is not used"):
        model = DPTransferClassifier(release, random_state=0).fit(dated, marked)
    assert "day" not in model.feature_names_in_
    assert len(model.predict(X_test)) == 200


@pytest.mark.parametrize("names", [["c", "a", "b"], ["b", "a"], ["a", "d", "b", "c"], ["d", "c"]])
def test_named_columns_of_numbers_too(rng, names):
    X = pd.DataFrame(rng.rand(900, 4), columns=list("abcd"))
    y = (X["a"] + X["c"] > rng.rand(900) + 0.5).astype(int).to_numpy()
    source = DPSource(16.0, bounds=(0, 1), n_components=2, n_layers=1, random_state=0)
    release = source.fit(X[:600][["a", "b", "c"]], y[:600]).release_
    marked = y[600:].copy()
    marked[30:] = -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPTransferClassifier(
            release, self_training=SelfTrainingSchedule(n_components=2), random_state=0
        ).fit(X[600:][names], marked)
    shared = [name for name in "abc" if name in names]
    own = [name for name in names if name == "d"]
    assert_array_equal(model.feature_names_in_, shared + own)
    assert model.score(X[600:], y[600:]) > 0.6
    assert model.source_scores(X[600:]).shape == (300, 2)


def test_the_papers_strategies_take_the_same_columns_in_any_order(rng):
    X = pd.DataFrame(rng.rand(90, 3), columns=list("abc"))
    y = np.arange(90) % 2
    source = DPSource(16.0, bounds=(0, 1), parts="papers", n_components=2, n_layers=1)
    release = source.set_params(random_state=0).fit(X, y).release_
    fit = DPTransferClassifier(
        release,
        strategy="alignment",
        self_training=SelfTrainingSchedule(n_components=2),
        random_state=0,
    ).fit
    expected = fit(X, y).decision_function(X)
    assert_array_equal(fit(X[["c", "a", "b"]], y).decision_function(X), expected)
    with pytest.warns(UserWarning, match=r"columns \['d'\] of X .* are ignored by"):
        model = fit(X.assign(d=0.0), y)
    assert_array_equal(model.decision_function(X), expected)


def test_the_papers_strategies_need_all_columns_of_a_table():
    X, y = table(200, 2)
    source = DPSource(16.0, encoder=SCHEMA, parts="papers", n_components=1, n_layers=1)
    release = source.set_params(random_state=0).fit(X[list(SCHEMA)], y).release_
    model = DPTransferClassifier(
        release, strategy="alignment", self_training=SelfTrainingSchedule(n_components=1)
    )
    with pytest.raises(ValueError, match=r"lacks the columns \['bmi'\] .* strategy='alignment'"):
        model.fit(X[["age", "ward"]], y)


def test_sources_may_have_the_same_columns_in_another_order(rng):
    X = pd.DataFrame(rng.rand(900, 3), columns=list("abc"))
    y = (X["a"] + X["b"] > 1).astype(int).to_numpy()
    releases = [
        DPStatisticsSource(4.0, classes=[0, 1], random_state=k).fit(X[names], y).release_
        for k, names in enumerate((["a", "b", "c"], ["c", "a", "b"]))
    ]
    model = DPTransferClassifier(releases, random_state=0).fit(X[["b", "c", "a"]])
    turned = [releases[0], releases[1].restrict(["a", "b", "c"])]
    expected = DPTransferClassifier(turned, random_state=0).fit(X)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X))
    assert model.score(X, y) > 0.9
