"""Columns by name: another order, fewer, more, and a partial overlap."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from skdp import (
    DPSource,
    DPStatisticsSource,
    DPTransferClassifier,
    OptimalDPNoise,
    SelfTrainingSchedule,
)

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


def test_a_column_that_cannot_be_encoded_is_left_out(release, target):
    X, marked, X_test, _ = target
    dated = X.assign(day=pd.Timestamp("2020-01-01"))
    with pytest.warns(UserWarning, match=r"'day' .* The column is not used"):
        model = DPTransferClassifier(release, random_state=0).fit(dated, marked)
    assert "day" not in model.feature_names_in_
    assert len(model.predict(X_test)) == 200


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


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["noise_aware", "alignment", "multitask"])
def test_as_many_columns_of_other_names_are_embedded_like_more_columns(rng, strategy):
    X = pd.DataFrame(rng.rand(900, 4), columns=list("abcd"))
    y = (X["a"] + 2 * X["b"] > 1.5).astype(int).to_numpy()
    X["c"] += y
    noise = OptimalDPNoise(16.0, random_state=np.random.RandomState(0))
    settings = {"parts": "all", "n_components": 2, "n_layers": 1, "random_state": 0}
    source = DPSource(bounds=(0, 2), noise=noise, **settings)
    release = source.fit(X[:600], y[:600]).release_
    other = X[600:] @ pd.DataFrame(np.linalg.qr(rng.randn(4, 4))[0], index=X.columns)
    other.columns = list("efgh")
    schedule, marked = SelfTrainingSchedule(n_components=(2, 2), n_layers=1), y[600:]
    model = DPTransferClassifier(
        release, strategy=strategy, self_training=schedule, random_state=0
    )
    with pytest.warns(UserWarning, match=r"\['e', .*'h'\] of X are embedded as .*\['a', "):
        scores = model.fit(other, marked).source_scores(other)
    assert model.score(other, marked) > 0.7
    # Another column that is constant tells nothing.
    more = other.assign(i=0.0)
    with pytest.warns(UserWarning, match="give them the same names"):
        assert_allclose(model.fit(more, marked).source_scores(more), scores, rtol=1e-5, atol=1e-8)
    if strategy != "noise_aware":  # which restricts the release to the common column
        with pytest.warns(UserWarning, match="of X are embedded as other"):
            model.fit(more.rename(columns={"e": "a"}), marked)
    # By position they would be taken to be the source's, as an array is, or a frame without names.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = model.fit(other.to_numpy(), marked).source_scores(other.to_numpy())
        numbered = other.set_axis(range(4), axis=1)
        assert_array_equal(model.fit(numbered, marked).source_scores(numbered), plain)
    assert np.abs(plain - scores).max() > 0.1
    if strategy == "noise_aware":
        effects = model.fit(other, marked).explain(other.iloc[[0]]).columns
        assert {effect.name for effect in effects} == set(other.columns)


def test_other_names_need_an_alignment_and_labels(rng):
    X, y = pd.DataFrame(rng.rand(200, 3), columns=list("abc")), np.arange(200) % 2
    other = X.set_axis(list("def"), axis=1)
    release = DPStatisticsSource(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, y).release_
    with pytest.raises(ValueError, match=r"no alignment.* Pass a DataFrame .* by their names"):
        DPTransferClassifier(release).fit(other, y)
    schema = {name: {"type": "numeric", "low": 0, "high": 1} for name in "abc"}
    release = DPStatisticsSource(4.0, encoder=schema, classes=[0, 1]).fit(X, y).release_
    with pytest.raises(ValueError, match=r"by their names \['a', 'b', 'c'\]"):
        DPTransferClassifier(release).fit(np.zeros((200, 2)), y)  # as a scaler returns it
    release = DPSource(16.0, bounds=(0, 1), n_components=2, n_layers=1).fit(X, y).release_
    with pytest.raises(ValueError, match="labels of one class at most"):
        DPTransferClassifier(release).fit(other)
    papers = DPSource(16.0, bounds=(0, 1), parts="papers", n_components=2, n_layers=1).fit(X, y)
    with pytest.raises(ValueError, match="Equally many columns must be the same columns"):
        DPTransferClassifier(papers, strategy="alignment").fit(X.set_axis(list("abd"), axis=1), y)
