"""What columns contribute to a prediction: closed forms, re-encoded rows and texts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skdp import Schema, TabularEncoder
from skdp.tabular import ColumnEffect, Explanation, explain_prediction

SCHEMA = Schema.from_mapping(
    {
        "age": {"type": "numeric", "low": 20, "high": 100},
        "creatinine": {"type": "numeric", "low": 0.1, "high": 10, "log": True, "missing": True},
        "idle": {"type": "numeric", "low": -5, "high": 5},
        "ward": {"type": "category", "categories": ["A", "B", "C"], "missing": True},
        "sex": {"type": "category", "categories": ["F", "M"]},
        "stage": {"type": "category", "categories": ["I", "II", "III"], "ordered": True},
    }
)
CLASSES = ["alive", "dead", "lost"]
SHORT = {
    "age": {"type": "numeric", "low": 20, "high": 100, "missing": True},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
}
# Of age, of a missing age, which has the place in the middle, and of the wards.
WEIGHTS = np.array([8.0, -7.0, 1.0, 2.0, 6.0])


def linear(rows):
    return 3 + rows @ WEIGHTS


@pytest.fixture(scope="module")
def encoder():
    return TabularEncoder(SCHEMA).fit(pd.DataFrame(columns=list(SCHEMA.names)))


@pytest.fixture(scope="module")
def frame():
    """Rows of all kinds of values."""
    rng = np.random.RandomState(0)
    n = 25
    creatinine = 10 ** rng.uniform(-1, 1, n)
    creatinine[::4] = np.nan
    return pd.DataFrame(
        {
            "age": rng.uniform(20, 100, n),
            "creatinine": creatinine,
            "idle": rng.uniform(-5, 5, n),
            "ward": rng.choice(["A", "B", "C", None], n),
            "sex": rng.choice(["F", "M"], n),
            "stage": rng.choice(["I", "II", "III"], n),
        }
    )


def network(X, seed=3):
    """Return scores of three classes, not linear in any column, and without the idle one."""
    rng = np.random.RandomState(seed)
    X = np.delete(X, list(SCHEMA.encoded_names).index("idle"), axis=1)
    hidden = np.tanh(2 * (X - 0.5) @ rng.randn(X.shape[1], 8) + rng.randn(8))
    return 3 * hidden @ rng.randn(8, 3)


def changed(frame, row, name, values):
    """Return the row of a frame with each of the values in a column."""
    rows = pd.concat([frame.iloc[[row]]] * len(values), ignore_index=True)
    return rows.assign(**{name: pd.Series(values, dtype=frame[name].dtype)})


@pytest.fixture(scope="module")
def explained(frame, encoder):
    """Numbers of the rows, and their explanations."""
    X = encoder.transform(frame)
    return list(enumerate(explain_prediction(network, x, CLASSES, schema=SCHEMA) for x in X))


def test_effects_are_log_odds_less_their_mean(explained, frame, encoder):
    for row, explanation in explained:
        labels = [CLASSES.index(c) for c in (explanation.prediction, explanation.runner_up)]

        def margins(rows, labels=labels):
            scores = network(encoder.transform(rows))[:, labels]
            return scores[:, 0] - scores[:, 1]

        [margin] = margins(frame.iloc[[row]])
        alternatives = {
            "age": np.linspace(20, 100, 101),
            "ward": ["A", "B", "C", None],
            "stage": ["I", "II", "III"],
        }
        table = explanation.to_frame()
        for name, values in alternatives.items():
            others = margins(changed(frame, row, name, values))
            average, every = others.mean(), [*others, margin]
            assert_allclose(table["effect"][name], margin - average, atol=1e-9)
            assert_allclose(table["least"][name], min(every) - average, atol=1e-9)
            assert_allclose(table["most"][name], max(every) - average, atol=1e-9)


def test_a_column_that_never_matters_adds_nothing(explained):
    for _, explanation in explained:
        [column] = [c for c in explanation.columns if c.name == "idle"]
        assert column.effect == pytest.approx(0, abs=1e-12)
        assert column.least == pytest.approx(column.most, abs=1e-12)


def test_values_are_those_of_the_table(explained, frame):
    for row, explanation in explained:
        for name, value in explanation.to_frame()["value"].items():
            expected = frame[name][row]
            if pd.isna(expected):
                assert value is None or np.isnan(value)
            else:
                assert value == (expected if isinstance(value, str) else pytest.approx(expected))


def test_labels_and_probabilities_are_those_of_the_scores(explained, frame, encoder):
    for (_, explanation), scores in zip(explained, network(encoder.transform(frame)), strict=True):
        weights = np.exp(scores - scores.max())
        assert explanation.prediction == CLASSES[scores.argmax()]
        assert_allclose(explanation.probability, weights.max() / weights.sum())
        assert explanation.runner_up == CLASSES[np.argsort(scores)[1]]


def test_of_a_sum_they_are_the_centered_terms():
    explanation = explain_prediction(linear, [0.75, 0, 0, 1, 0], schema=SHORT, deviation=1.5)
    assert explanation.prediction == 3 + 6 + 2
    assert explanation.deviation == 1.5
    age, ward = explanation.columns
    assert (age.name, age.value, ward.name, ward.value) == ("age", 80.0, "ward", "B")
    # The mean is over the scale; a missing age counts among the other values only.
    assert_allclose([age.effect, age.least, age.most], [6 - 4, -7, 8 - 4])
    assert_allclose([ward.effect, ward.least, ward.most], [2 - 3, 1 - 3, 6 - 3])


def test_of_a_product_the_other_columns_stay():
    explanation = explain_prediction(lambda rows: rows[:, 0] * rows[:, 1], [0.5, 0.8])
    effects = {column.name: column for column in explanation.columns}
    assert_allclose(effects["x0"].effect, 0.8 * (0.5 - 0.5), atol=1e-12)
    assert_allclose(effects["x1"].effect, 0.5 * (0.8 - 0.5))
    assert explanation.columns[0].name == "x1"  # the largest effect comes first
    assert_allclose([effects["x0"].least, effects["x0"].most], [-0.4, 0.4])


@pytest.mark.parametrize(
    ("row", "value", "effect"),
    [([0.5, 1, 0, 0, 0], None, -7), ([0.25, 0, 0, 0, 0], 40.0, 2 - 4)],
)
def test_missing_and_unknown_values(row, value, effect):
    explanation = explain_prediction(linear, row, schema=SHORT)
    columns = {column.name: column for column in explanation.columns}
    assert columns["age"].value == value
    assert_allclose(columns["age"].effect, effect)
    assert columns["ward"].value is None  # no ward of the schema
    assert_allclose(columns["ward"].effect, 0 - 3)
    assert_allclose(columns["ward"].least, 0 - 3)  # by no ward, the row's own value


def test_beyond_its_bounds_a_number_is_tried_up_to_there():
    explanation = explain_prediction(lambda rows: rows[:, 0], [3.0])
    assert_allclose(
        explanation.to_frame().loc["x0", ["effect", "least", "most"]], [1.5, -1.5, 1.5]
    )


def test_one_class_and_far_scores():
    alone = explain_prediction(lambda X: X[:, :1], [0.3, 0.4], ["a"])
    assert (alone.prediction, alone.runner_up, alone.probability) == ("a", None, 1.0)
    assert str(alone) == "'a', the only class"
    far = explain_prediction(lambda X: 1e6 * np.c_[X[:, 0], -X[:, 0]], [0.5], ["a", "b"])
    assert far.probability == 1
    assert_allclose(far.columns[0].effect, 0, atol=1e-3)


@pytest.mark.parametrize(("age", "predicted"), [(0.9, "dead"), (0.1, "alive")])
def test_of_two_classes_effects_point_to_the_second_whichever_is_predicted(age, predicted):
    def scores(X):
        return np.c_[np.zeros(len(X)), 8 * X[:, 0] - 4]

    explanation = explain_prediction(scores, [age], ["alive", "dead"])
    assert explanation.prediction == predicted
    assert (explanation.towards, explanation.against) == ("dead", "alive")
    assert_allclose(explanation.columns[0].effect, 8 * (age - 0.5))


def test_a_schema_of_other_columns_is_refused():
    def scores(X):
        return np.zeros((len(X), 2))

    with pytest.raises(
        ValueError, match="'schema' parameter has 10 encoded columns, the row has 2"
    ):
        explain_prediction(scores, [0.5, 0.5], [0, 1], schema=SCHEMA)
    schema = {name: {"type": "numeric", "low": 0, "high": 1} for name in ("a", "b")}
    with pytest.raises(ValueError, match="the row has 2 of other names"):
        explain_prediction(scores, [0.5, 0.5], [0, 1], schema=schema, names=["b", "a"])


def test_names_from_a_file_do_nothing_to_a_terminal():
    column = ColumnEffect("a\x1b[2J", "b\x1b", 1.0, 0.0, 2.0)
    shown = str(Explanation("x\x1b", 0.8, "y\x1b", np.nan, (column,)))
    assert "\x1b" not in shown
    assert "a\\x1b[2J" in shown


def test_texts():
    used = ColumnEffect("dose\n", 0.5, -1.25, -2.0, 4.5)
    idle = ColumnEffect("ward", None, 0.0, 3.0, 3.0)
    lines = str(Explanation(3.0, None, None, np.nan, (used, *[idle] * 6))).splitlines()
    assert lines[0] == "3. Added to it, relative to the average value of each column:"
    assert Explanation(3.0, None, None, np.nan, ()).against is None
    assert lines[1] == "dose\\n is 0.5: -1.25 (its values: -2 to +4.5)"
    assert lines[2] == "ward is missing: no effect"
    hazard = Explanation(0.5, None, None, np.nan, (used,), unit="log-hazard")
    assert str(hazard).startswith("log-hazard 0.5. Added to it")
    assert lines[-1] == "and 2 more columns"
    of_class = Explanation("alive", 0.83, "dead", np.nan, (used,), towards="dead")
    assert str(of_class).splitlines()[:3] == [
        "'alive', with probability 0.83. Added to the log-odds of 'dead' (against 'alive'),",
        "relative to the average value of each column:",
        lines[1],
    ]
    html = Explanation(3.0, None, None, 1.0, (ColumnEffect("<b>", "<i>", 1, 2, 3),))._repr_html_()
    assert "<b>" not in html
    assert "&lt;i&gt;" in html
