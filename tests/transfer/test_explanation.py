"""What moved a prediction: columns that change it, and others that never do."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skdp import DPStatisticsSource, DPTransferClassifier, SelfTrainingSchedule
from skdp.tabular._movable_columns import bounded_columns
from skdp.utils._frames import one_row

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]
SCHEMA = {
    "age": {"type": "numeric", "low": 20, "high": 100},
    "ward": {"type": "category", "categories": ["A", "B"]},
    "same": {"type": "numeric", "low": 0, "high": 10},
}


def table(n, seed):
    rng = np.random.RandomState(seed)
    age = rng.uniform(20, 100, n)
    X = pd.DataFrame({"age": age, "ward": rng.choice(["A", "B"], n), "same": 5.0})
    return X, np.where(rng.rand(n) < (age - 20) / 80, "ill", "well")


@pytest.fixture(scope="module")
def release():
    source = DPStatisticsSource(
        100.0, encoder=SCHEMA, classes=["ill", "well"], model="linear", random_state=0
    )
    return source.fit(*table(5000, 0)).release_


@pytest.fixture(scope="module")
def fitted(release):
    X, y = table(300, 1)
    marked = y.astype(object)
    marked[100:] = None
    return DPTransferClassifier(release, random_state=0).fit(X, marked)


@pytest.mark.parametrize("age", [30.0, 55.0, 70.0, 95.0])
def test_effects_are_those_of_rows_that_differ_in_the_column(fitted, age):
    row = pd.DataFrame({"age": [age], "ward": ["B"], "same": [5.0]})
    explanation = fitted.explain(row)
    assert explanation.prediction == fitted.predict(row)[0]
    assert_allclose(explanation.probability, fitted.predict_proba(row).max())
    effects = {effect.name: effect for effect in explanation.columns}
    assert explanation.columns[0].name == "age"
    assert effects["age"].value == pytest.approx(age)
    rows = pd.concat([row] * 101, ignore_index=True).assign(age=np.linspace(20, 100, 101))
    p = fitted.predict_proba(rows)[:, 1]  # of the class that effects point to
    assert (explanation.towards, explanation.against) == ("well", "ill")
    log_odds = np.log(p / (1 - p))
    assert_allclose(
        [effects["age"].least, effects["age"].most],
        [log_odds.min() - log_odds.mean(), log_odds.max() - log_odds.mean()],
        rtol=1e-5,
    )


def test_encoded_rows_are_explained_alike(release, fitted):
    row = table(1, 2)[0]
    expected = fitted.explain(row)
    encoded = release.encode(row)
    named = pd.DataFrame(encoded, columns=release.feature_names)
    X, y = table(300, 1)
    marked = y.astype(object)
    marked[100:] = None
    again = DPTransferClassifier(release, random_state=0).fit(release.encode(X), marked)
    for x in (row, encoded, encoded[0], encoded[0].tolist(), named):
        assert str(again.explain(x)) == str(expected)
    assert str(fitted.explain(row.iloc[0])) == str(expected)  # a Series, by its index


def test_a_row_of_a_table_is_explained_by_itself(fitted):
    X, _ = table(3, 2)
    assert str(fitted.explain(X.iloc[1])) == str(fitted.explain(X[1:2]))


def test_costs_move_the_border(release, fitted):
    X, y = table(300, 1)
    row = X[:1].assign(age=50.0)
    marked = y.astype(object)
    marked[100:] = None
    model = DPTransferClassifier(release, class_weight={"ill": 4}, random_state=0)
    model.fit(X, marked)
    explanations = [each.explain(row) for each in (fitted, model)]
    assert [each.prediction for each in explanations] == ["well", "ill"]
    for each, explanation in zip((fitted, model), explanations, strict=True):
        assert each.predict(row)[0] == explanation.prediction


@pytest.mark.parametrize("given", ["names", "none"])
def test_numbers_have_the_bounds_of_the_release(rng, given):
    X = rng.uniform([0, 100], [10, 200], (3000, 2))
    y = (rng.rand(3000) < X[:, 0] / 10).astype(int)
    if given == "names":
        X = pd.DataFrame(X, columns=["dose", "height"])
    source = DPStatisticsSource(50.0, bounds=([0, 100], [10, 200]), classes=[0, 1], random_state=0)
    release = source.fit(X, y).release_
    model = DPTransferClassifier(release, random_state=0).fit(X[:200], y[:200])
    row = X[:1] * 0 + [2, 150]
    explanation = model.explain(row)
    assert explanation.prediction == model.predict(row)[0] == 0
    [dose] = [each for each in explanation.columns if each.name in ("dose", "x0")]
    assert dose.name == ("dose" if given == "names" else "x0")
    assert dose.value == pytest.approx(2)
    assert dose.least < 0 < dose.most
    beyond = model.explain(row * 0 + [12, 150])
    assert beyond.prediction == 1
    [dose] = [each for each in beyond.columns if each.name in ("dose", "x0")]
    assert dose.value == pytest.approx(12)


def test_without_a_source_numbers_are_in_the_unit_interval(rng):
    X = rng.rand(300, 2)
    y = (X[:, 0] > 0.5).astype(int)
    model = DPTransferClassifier(
        random_state=0, self_training=SelfTrainingSchedule(n_components=2)
    ).fit(X, y)
    explanation = model.explain([0.9, 0.5])
    assert explanation.prediction == 1
    assert explanation.columns[0].name == "x0"
    assert explanation.columns[0].least < 0


@pytest.mark.parametrize("strategy", ["alignment", "multitask"])
def test_the_papers_strategies_are_explained_too(rng, strategy):
    X = rng.rand(200, 3)
    X[:, 0] = (np.arange(200) % 2 + X[:, 0]) / 2
    model = DPTransferClassifier(
        strategy=strategy,
        self_training=SelfTrainingSchedule(n_components=2, n_layers=1),
        random_state=0,
    )
    model.fit(X, np.arange(200) % 2)
    assert model.explain(X[1]).prediction == model.predict(X[1:2])[0]


def test_only_one_row_of_the_columns_that_were_fitted_is_taken(fitted):
    X, _ = table(2, 3)
    with pytest.raises(ValueError, match="'x' parameter of explain must be one row, got 2"):
        fitted.explain(X)
    with pytest.raises(ValueError, match=r"X is an array, .* was fitted to a table"):
        fitted.explain([0.5, 0.5])
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.explain(X[:1].drop(columns="age"))


@pytest.mark.filterwarnings("ignore:The columns .* of X are not among the source's")
@pytest.mark.filterwarnings("ignore:X lacks the columns")
@pytest.mark.filterwarnings("ignore:The labeled rows favor")
def test_columns_that_one_side_alone_has(release):
    X, _ = table(400, 4)
    X = X.drop(columns="same").assign(dose=np.random.RandomState(4).uniform(0, 50, 400))
    y = np.where(X["dose"] > 25, "ill", "well")
    model = DPTransferClassifier(release, random_state=0).fit(X, y)
    row = X[:1].assign(dose=48.0, age=60.0)
    explanation = model.explain(row)
    assert explanation.prediction == model.predict(row)[0] == "ill"
    effects = {effect.name: effect for effect in explanation.columns}
    assert set(effects) == {"age", "ward", "dose"}
    assert explanation.columns[0].name == "dose"
    assert effects["dose"].value == pytest.approx(48)
    assert effects["dose"].least < 0
    assert effects["age"].value == pytest.approx(60)
    assert model.predict(row.assign(dose=2.0))[0] == "well"


@pytest.mark.filterwarnings("ignore:The columns .* of X are not among the source's")
@pytest.mark.filterwarnings("ignore:The labeled rows favor")
@pytest.mark.parametrize("encoded", [False, True])
def test_numbers_that_only_the_target_has(rng, release, encoded):
    if encoded:
        names = list(release.feature_names)
        X = pd.DataFrame(release.encode(table(300, 5)[0]), columns=names)
    else:
        names = ["a", "b"]
        X = pd.DataFrame(rng.uniform(0, 9, (300, 2)), columns=names)
        source = DPStatisticsSource(8.0, bounds=(0, 9), classes=["ill", "well"], random_state=0)
        release = source.fit(X, np.where(X["a"] > 4, "ill", "well")).release_
    X["own"] = rng.rand(300)
    y = np.where(X["own"] > 0.5, "ill", "well")
    model = DPTransferClassifier(release, random_state=0).fit(X, y)
    explanation = model.explain(X[:1].assign(own=0.99))
    own = explanation.columns[0]
    assert own.name == "own"
    assert own.value == pytest.approx(0.99)
    assert own.least < 0 < own.most


def test_rows_and_bounds():
    assert one_row([1, 2, 3]).shape == (1, 3)
    columns = bounded_columns(
        ["a", "b"], np.array([[0.0, 3.0], [1.0, 3.0]]), np.array([-2.0, 3.0])
    )
    assert [(c.name, c.low, c.high) for c in columns] == [("a", -2, 1), ("b", 3, 4)]
