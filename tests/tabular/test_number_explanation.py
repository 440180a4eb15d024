"""What columns contribute to a number: closed forms of sums and products, and the same texts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp.tabular import NumberEffect, NumberExplanation, explain_number

SCHEMA = {
    "age": {"type": "numeric", "low": 20, "high": 100, "missing": True},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
}
# Of age, of a missing age, which has the place in the middle, and of the wards.
WEIGHTS = np.array([8.0, -7.0, 1.0, 2.0, 6.0])


def predict(rows):
    return 3 + rows @ WEIGHTS


def test_of_a_sum_they_are_the_centered_terms():
    explanation = explain_number(predict, [0.75, 0, 0, 1, 0], schema=SCHEMA, deviation=1.5)
    assert explanation.prediction == 3 + 6 + 2
    assert explanation.deviation == 1.5
    age, ward = explanation.columns
    assert (age.name, age.value, ward.name, ward.value) == ("age", 80.0, "ward", "B")
    # The mean is over the scale; a missing age counts among the other values only.
    assert_allclose([age.effect, age.least, age.most], [6 - 4, 5 + 4 - 7, 5 + 8])
    assert_allclose([ward.effect, ward.least, ward.most], [2 - 3, 9 + 1, 9 + 6])


def test_of_a_product_the_other_columns_stay():
    explanation = explain_number(lambda rows: rows[:, 0] * rows[:, 1], [0.5, 0.8])
    effects = {column.name: column for column in explanation.columns}
    assert_allclose(effects["x0"].effect, 0.8 * (0.5 - 0.5), atol=1e-12)
    assert_allclose(effects["x1"].effect, 0.5 * (0.8 - 0.5))
    assert explanation.columns[0].name == "x1"  # the largest effect comes first
    assert (effects["x0"].least, effects["x0"].most) == (0.0, 0.8)


@pytest.mark.parametrize(
    ("row", "value", "effect"),
    [([0.5, 1, 0, 0, 0], None, -7), ([0.25, 0, 0, 0, 0], 40.0, 2 - 4)],
)
def test_missing_and_unknown_values(row, value, effect):
    explanation = explain_number(predict, row, schema=SCHEMA)
    columns = {column.name: column for column in explanation.columns}
    assert columns["age"].value == value
    assert_allclose(columns["age"].effect, effect)
    assert columns["ward"].value is None  # no ward of the schema
    assert_allclose(columns["ward"].effect, 0 - 3)
    assert columns["ward"].least == explanation.prediction  # by no ward, the row's own value


def test_beyond_its_bounds_a_number_is_tried_up_to_there():
    explanation = explain_number(lambda rows: rows[:, 0], [3.0])
    assert_allclose(explanation.to_frame().loc["x0", ["effect", "least", "most"]], [1.5, 0, 3])


def test_a_schema_of_other_columns_is_refused():
    with pytest.raises(ValueError, match="5 encoded columns, the row has 2"):
        explain_number(predict, [0.1, 0.2], schema=SCHEMA)


def test_texts():
    used = NumberEffect("dose\n", 0.5, -1.25, 2.0, 4.5)
    idle = NumberEffect("ward", None, 0.0, 3.0, 3.0)
    explanation = NumberExplanation(3.0, np.nan, (used, *[idle] * 6))
    lines = str(explanation).splitlines()
    assert lines[0] == "3"
    assert lines[1] == "dose\\n is 0.5: adds -1.25 (2 to 4.5 by other values)"
    assert lines[2] == "ward is missing: adds 0"
    assert lines[-1] == "and 2 more columns"
    html = NumberExplanation(3.0, 1.0, (NumberEffect("<b>", "<i>", 1, 2, 3),))._repr_html_()
    assert "<b>" not in html
    assert "&lt;i&gt;" in html
