"""Which columns decide a prediction: closed forms, re-encoded rows, sentences and tables."""

from dataclasses import replace

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


def predicted(frame, encoder):
    return [CLASSES[k] for k in network(encoder.transform(frame)).argmax(axis=1)]


def changed(frame, row, name, values):
    """Return the row of a frame with each of the values in a column."""
    rows = pd.concat([frame.iloc[[row]]] * len(values), ignore_index=True)
    return rows.assign(**{name: pd.Series(values, dtype=frame[name].dtype)})


@pytest.fixture(scope="module")
def explained(frame, encoder):
    """Numbers of the rows, and their explanations."""
    X = encoder.transform(frame)
    explanations = [
        explain_prediction(network, x, CLASSES, schema=SCHEMA, n_columns=99) for x in X
    ]
    return list(enumerate(explanations))


def test_ranges_end_where_the_prediction_changes(explained, frame, encoder):
    n_borders = 0
    for row, explanation in explained:
        for column in explanation.columns:
            if column.low is None:
                continue
            assert column.low <= frame[column.name][row] <= column.high
            width = column.high - column.low
            inside = column.low + width * np.array([1e-6, 0.25, 0.5, 0.75, 1 - 1e-6])
            stays = predicted(changed(frame, row, column.name, inside), encoder)
            assert stays == [explanation.label] * 5
            ends = zip((column.low, column.high), column.bounds, (-1, 1), strict=True)
            for end, bound, sign in ends:
                if end != bound:
                    n_borders += 1
                    beyond = [end + sign * 1e-6 * (column.bounds[1] - column.bounds[0])]
                    [other] = predicted(changed(frame, row, column.name, beyond), encoder)
                    assert other != explanation.label
                    assert other in column.otherwise
    assert n_borders > 15


def test_categories_are_those_with_which_it_stays(explained, frame, encoder):
    n_changing = 0
    for row, explanation in explained:
        for column in explanation.columns:
            if column.bounds:
                continue
            outcomes = predicted(
                changed(frame, row, column.name, [*column.values, *column.changing]), encoder
            )
            n = len(column.values)
            assert outcomes[:n] == [explanation.label] * n
            assert set(outcomes[n:]) == set(column.otherwise)
            assert explanation.label not in column.otherwise
            value = frame[column.name][row]
            assert column.value == (None if pd.isna(value) else value)
            n_changing += len(column.changing)
    assert n_changing > 10


def test_missing_numbers_are_told(explained, frame, encoder):
    n_changing = 0
    for row, explanation in explained:
        [column] = [c for c in explanation.columns if c.name == "creatinine"]
        if np.isnan(frame["creatinine"][row]):
            assert column.value is column.low is None
            assert str(column) == "creatinine is missing"
            values = np.geomspace(0.1, 10, 101)  # even on the logarithmic scale
            others = set(predicted(changed(frame, row, "creatinine", values), encoder))
            assert set(column.otherwise) == others - {explanation.label}
        else:
            [other] = predicted(changed(frame, row, "creatinine", [np.nan]), encoder)
            assert other in {explanation.label, *column.otherwise}
            if other != explanation.label and (column.low, column.high) == column.bounds:
                assert str(column) == "creatinine is not missing"
        n_changing += bool(column.otherwise)
    assert n_changing > 5


def test_effects_are_log_odds_less_their_mean(explained, frame, encoder):
    for row, explanation in explained:
        labels = [CLASSES.index(label) for label in (explanation.label, explanation.runner_up)]

        def margins(rows, labels=labels):
            scores = network(encoder.transform(rows))[:, labels]
            return scores[:, 0] - scores[:, 1]

        [margin] = margins(frame.iloc[[row]])
        alternatives = {
            "age": np.linspace(20, 100, 101),
            "ward": ["A", "B", "C", None],
            "stage": ["I", "II", "III"],
        }
        effects = explanation.to_frame()["effect"]
        for name, values in alternatives.items():
            mean = margins(changed(frame, row, name, values)).mean()
            assert_allclose(effects[name], margin - mean, atol=1e-9)
        assert_allclose(explanation.odds, np.exp(margin))


def test_a_column_that_never_matters_is_not_named(explained):
    for _, explanation in explained:
        [column] = [c for c in explanation.columns if c.name == "idle"]
        assert column.effect == pytest.approx(0, abs=1e-12)
        assert column.otherwise == ()
        assert "idle" not in explanation.named
        assert (column.low, column.high) == column.bounds == (-5.0, 5.0)
        assert explanation.to_frame()["condition"]["idle"] == ""


def test_labels_and_probabilities_are_those_of_the_scores(explained, frame, encoder):
    for (_, explanation), scores in zip(explained, network(encoder.transform(frame)), strict=True):
        weights = np.exp(scores - scores.max())
        assert explanation.label == CLASSES[scores.argmax()]
        assert_allclose(explanation.probability, weights.max() / weights.sum())
        assert explanation.runner_up == CLASSES[np.argsort(scores)[1]]


def test_linear_scores_in_closed_form():
    # Log-odds w·u + b change sign at u_j − (w·u + b)/w_j, if that is on the scale.
    weights, b = np.array([3.0, -2.0, 0.5]), -0.5
    schema = {
        "age": {"type": "numeric", "low": 20, "high": 100},
        "lab": {"type": "numeric", "low": 0.01, "high": 100, "log": True},
        "bmi": {"type": "numeric", "low": 10, "high": 60},
    }
    u = np.array([0.5, 0.25, 0.5])
    explanation = explain_prediction(
        lambda X: np.c_[np.zeros(len(X)), X @ weights + b], u, [0, 1], schema=schema
    )
    margin = weights @ u + b
    borders = u - margin / weights
    table = explanation.to_frame()
    assert explanation.label == 1
    assert_allclose(table.loc[["age", "lab", "bmi"], "effect"], weights * (u - 0.5), atol=1e-9)
    assert_allclose(table["low"]["age"], 20 + 80 * borders[0], atol=1e-5)
    assert_allclose(np.log10(table["high"]["lab"]), 4 * borders[1] - 2, atol=1e-6)
    assert table.loc["bmi", ["low", "high"]].tolist() == [10, 60]  # its border is below zero
    # A border a tenth of the scale off is told from the right one.
    assert abs(table["low"]["age"] - (20 + 80 * (borders[0] + 0.1))) > 1


@pytest.mark.parametrize(
    ("threshold", "value", "expected"),
    [
        (1.1, 0.6, (2, 1 - 0.1**2 / 2 / 0.5**2)),
        (1.2, 0.9, (1, 1.0)),
    ],
)
def test_columns_are_named_as_long_as_their_ranges_hold_together(threshold, value, expected):
    # Both may fall by 2·value − threshold alone; in the square of both ranges a triangle of that
    # leg predicts the other class: 2 % of the square, and 37 %.
    explanation = explain_prediction(
        lambda X: np.c_[np.zeros(len(X)), X[:, 0] + X[:, 1] - threshold], [value] * 2, [0, 1]
    )
    assert all(column.otherwise for column in explanation.columns)
    n_named, precision = expected
    assert len(explanation.named) == n_named
    assert_allclose(explanation.precision, precision, atol=0.01)


def test_both_columns_of_a_box_are_named():
    def scores(X):
        return np.c_[np.zeros(len(X)), X[:, :2].min(axis=1) - 0.5]

    x = [0.8, 0.9, 0.3]
    explanation = explain_prediction(scores, x, ["no", "yes"], names=["a", "b", "c"])
    assert set(explanation.named) == {"a", "b"}
    assert explanation.precision == 1.0
    one = explain_prediction(scores, x, ["no", "yes"], names=["a", "b", "c"], n_columns=1)
    assert len(one.named) == 1
    assert one.columns == explanation.columns


def test_values_beyond_the_scale_without_a_schema():
    explanation = explain_prediction(
        lambda X: np.c_[X[:, 0], -X[:, 0] + 3.0], [4.0, -2.0], ["high", "low"]
    )
    first, second = explanation.columns
    assert (first.name, first.value, first.bounds) == ("x0", 4.0, (0.0, 4.0))
    assert_allclose([first.low, first.high], [1.5, 4.0], atol=1e-6)
    assert (second.name, second.bounds, second.otherwise) == ("x1", (-2.0, 1.0), ())


def test_an_unknown_category_is_none_of_them(encoder):
    x = encoder.transform(
        pd.DataFrame([[50, 1.0, 0, "A", "unheard of", "I"]], columns=SCHEMA.names)
    )
    [x] = x
    sex = list(SCHEMA.encoded_names).index("sex_M")
    explanation = explain_prediction(
        lambda X: np.c_[np.full(len(X), 0.01), np.abs(X[:, sex] - 0.5)],
        x,
        ["unknown", "known"],
        schema=SCHEMA,
    )
    assert explanation.named == ("sex",)
    first = explanation.columns[0]
    assert (first.value, first.values, first.changing) == (None, (), ("F", "M"))
    assert explanation.precision == 1.0
    assert str(explanation).startswith("if sex is missing, then 'unknown'")


def test_one_class_and_far_scores():
    alone = explain_prediction(lambda X: X[:, :1], [0.3, 0.4], ["a"])
    assert (alone.label, alone.runner_up, alone.named, alone.probability) == ("a", None, (), 1.0)
    assert str(alone) == "'a', the only class"
    far = explain_prediction(lambda X: 1e6 * np.c_[X[:, 0], -X[:, 0]], [0.5], ["a", "b"])
    assert np.isfinite(far.odds)


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


def number(name="age", value=50.0, **given):
    given = {"low": 20.0, "high": 90.0, "bounds": (20.0, 90.0)} | given
    return ColumnEffect(name, value, 1.0, ("dead",), **given)


def category(values, changing, value="A"):
    return ColumnEffect("ward", value, 1.0, ("dead",), values=values, changing=changing)


def test_names_from_a_file_do_nothing_to_a_terminal():
    column = number("a\x1b[2J", low=40.0)
    still = replace(column, name="b\x1b[2J", otherwise=())
    for named in ((column.name,), ()):
        shown = str(Explanation("x\x1b", 0.8, "y", 4.0, (column, still), named, 1.0))
        assert "\x1b" not in shown
        assert "a\\x1b[2J" in shown
        assert "b\\x1b[2J" in shown


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (number(low=40.0, high=62.54321), "age is between 40 and 62.54"),
        (number(low=40.0), "age is above 40"),
        (number(high=62.5), "age is below 62.5"),
        (number(), "age is not missing"),
        (number(value=None, low=None, high=None), "age is missing"),
        (number(high=123456.7, bounds=(20.0, 1e6)), "age is below 123457"),
        (number(low=0.00012345, bounds=(0.0, 90.0)), "age is above 0.0001234"),
        (category(("A",), ("B", "C")), "ward is 'A'"),
        (category(("A", None), ("B", "C")), "ward is 'A' or missing"),
        (category(("A", "B", "D"), ("C",)), "ward is not 'C'"),
        (category(("A", "B", "D"), ("C", None)), "ward is not 'C' or missing"),
        (category((None,), ("A", "B"), value=None), "ward is missing"),
    ],
)
def test_conditions(column, sentence):
    assert str(column) == sentence


def test_a_rule_says_what_it_holds_for_and_what_else_could_change_it():
    age, ward = number(low=40.0, high=62.5), category(("A",), ("B", "C"))
    lab = number("lab", low=30.0)
    idle = [ColumnEffect(f"c{k}", 0.5, 0.0, (), 0.0, 1.0, (0.0, 1.0)) for k in range(12)]
    explanation = Explanation(
        "alive", 0.83, "dead", 4.882, (age, ward, lab, *idle), ("age", "ward"), 0.97
    )
    assert str(explanation).splitlines() == [
        "if age is between 40 and 62.5 and ward is 'A', then 'alive' (probability 0.83, 4.88 "
        "times that of 'dead')",
        "with the other columns as they are, this holds for 97% of the rows that meet it",
        "one of these alone could change it as well: lab",
        "none of these alone could change it: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more",
    ]
    table = explanation.to_frame()
    assert table.index.tolist()[:3] == ["age", "ward", "lab"]
    assert table["condition"].tolist()[:4] == [
        *("age is between 40 and 62.5", "ward is 'A'", "lab is above 30", ""),
    ]
    assert table["otherwise"]["age"] == ("dead",)


def test_where_no_column_changes_it_the_greatest_effects_are_told():
    columns = tuple(
        ColumnEffect(name, 0.5, effect, (), 0.0, 1.0, (0.0, 1.0))
        for name, effect in [("a", -2.0), ("b", 1.5), ("c", 1.0), ("d", 0.1)]
    )
    explanation = Explanation(1, 0.9, 0, 9.0, columns, (), None)
    assert str(explanation).splitlines() == [
        "1 (probability 0.90, 9 times that of 0), whatever any single column changes to",
        "greatest effects, in log-odds: a (-2), b (+1.5), c (+1)",
    ]
