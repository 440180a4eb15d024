"""What is public about columns."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp import TabularEncoder
from skdp.source._private_rows import PublicColumns

SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "smokes": {"type": "category", "categories": ["never", "formerly", "now"]},
    "male": {"type": "category", "categories": ["no", "yes"]},
}


def test_bounds_are_numbers_or_one_for_each_column():
    columns = PublicColumns.of_array(3, (0, [1, 2, 3]), dtype=np.float32)
    assert_array_equal(columns.bounds, [[0, 0, 0], [1, 2, 3]])
    assert columns.dtype == np.float32
    assert columns.n_features == columns.n_inputs == 3
    assert columns.names is columns.input_names is None


@pytest.mark.parametrize(
    "bounds",
    [
        (1, 0),
        (0, 0),
        (0, np.inf),
        (np.nan, 1),
        (0, [1, 2]),
        (0,),
        (0, 1, 2),
        ("low", "high"),
        (0, [1, 0, 1]),
        5,
    ],
)
def test_what_are_no_bounds_is_refused(bounds):
    with pytest.raises(ValueError, match="'bounds' parameter"):
        PublicColumns.of_array(3, bounds)


def test_a_schema_tells_what_an_encoder_will_make_before_any_row():
    X = pd.DataFrame({"age": [50.0], "smokes": ["now"], "male": ["no"]})
    encoder = TabularEncoder(SCHEMA).fit(X)
    before, after = PublicColumns.of_encoder(SCHEMA), PublicColumns.of_encoder(encoder)
    assert_array_equal(before.names, after.names)
    assert_array_equal(before.sizes, after.sizes)
    assert_array_equal(before.bounds, after.bounds)
    assert before.schema.to_json() == after.schema.to_json()
    assert before.n_features == encoder.transform(X).shape[1]
    assert before.n_inputs == 3
    assert before.input_names.tolist() == list(SCHEMA)


def test_terms_are_of_the_columns():
    basis = PublicColumns.of_encoder(SCHEMA).basis((2,))
    columns = PublicColumns.of_encoder(SCHEMA)
    assert_array_equal(basis.column[: columns.n_features], np.arange(columns.n_features))
    assert basis.order.max() == 2
    assert (columns.sizes[basis.column[basis.order > 1]] == 0).all()
