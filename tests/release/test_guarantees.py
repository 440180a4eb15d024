import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skdp import DPSource, GaussianDPNoise, OptimalDPNoise, RandomizedResponse
from skdp.privacy import gaussian_delta, record_guarantee
from skdp.release import (
    elements_per_record,
    elements_per_value,
    report_page,
    value_guarantee,
)
from skdp.tabular import as_schema, fitted_encoder

AGE = {"type": "numeric", "low": 0, "high": 100}
WARD = {"type": "category", "categories": ["A", "B", "C"]}


def of_noise(noise, schema):
    return noise.set_params(bounds=(0, 1)).fit(np.zeros((1, len(schema.encoded_names)))).guarantee_


@pytest.mark.parametrize(
    ("column", "values", "moved"),
    [
        (AGE, [0, 30, 100], 1),
        (AGE | {"missing": True}, [0, 100, None], 2),
        (WARD, ["A", "B", "C"], 2),
        (WARD | {"missing": True}, ["A", "B", "C", None], 2),
        ({"type": "category", "categories": ["no", "yes"]}, ["no", "yes"], 1),
    ],
)
def test_no_change_of_a_value_loses_more_than_is_stated(column, values, moved):
    schema = as_schema({"column": column})
    guarantee = of_noise(OptimalDPNoise(2.0), schema)
    stated = value_guarantee(guarantee, schema)
    assert stated.unit == "value"
    assert elements_per_value(schema) == moved
    assert_allclose(stated.epsilon, 2.0 * moved)
    rows = fitted_encoder(schema).transform(pd.DataFrame({"column": values}))
    # Laplace noise of scale 1/ε: greatest log ratio of densities over all outputs, which are at
    # the corners, and over all pairs of values.
    corners = np.array(list(product([-1.0, 2.0], repeat=rows.shape[1])))
    exponents = -2.0 * np.abs(corners[:, np.newaxis] - rows).sum(axis=2)
    losses = exponents[:, :, np.newaxis] - exponents[:, np.newaxis]
    if column.get("missing") and column["type"] == "numeric":
        assert losses.max() < stated.epsilon  # missing is in the middle, half as far
    else:
        assert_allclose(losses.max(), stated.epsilon)


# Every kind of column, with values at both ends and in between.
KINDS = {
    "age": (AGE, [0, 100]),
    "weight": (AGE | {"missing": True}, [0, 100, None]),
    "ward": (WARD, ["A", "B", "C", "other"]),
    "site": (WARD | {"missing": True}, ["A", "B", "C", None]),
    "sex": ({"type": "category", "categories": ["F", "M"]}, ["F", "M"]),
    "smoker": ({"type": "category", "categories": [0, 1], "missing": True}, [0, 1, None]),
    "stage": (WARD | {"ordered": True, "missing": True}, ["A", "C", None]),
}


@pytest.mark.parametrize("names", [["age", "ward"], ["weight", "sex", "smoker"], list(KINDS)])
def test_no_change_of_a_record_moves_more_elements_than_are_counted(names):
    schema = as_schema({name: KINDS[name][0] for name in names})
    records = list(product(*(KINDS[name][1] for name in names)))
    rows = fitted_encoder(schema).transform(pd.DataFrame(records, columns=names))
    # The most that move between any two records: of all pairs, and against a few with all.
    moved = max((rows != row).sum(axis=1).max() for row in rows[:: max(1, len(rows) // 200)])
    counted = elements_per_record(schema, rows.shape[1])
    assert moved == counted
    assert elements_per_record(schema, rows.shape[1] + 5) == counted + 5  # of unknown columns
    assert elements_per_record(None, 7) == 7


def test_the_guarantee_of_a_record_counts_what_it_moves(rng):
    schema = {name: KINDS[name][0] for name in ("age", "ward", "site")}
    table = pd.DataFrame(
        {"age": rng.randint(0, 99, 90)}
        | dict.fromkeys(("ward", "site"), np.resize(list("ABC"), 90))
    )
    y = np.arange(90) % 2
    settings = {"encoder": schema, "n_components": 1, "n_layers": 1}
    source = DPSource(0.5, label_noise=RandomizedResponse(1.0), **settings)
    release = source.fit(table, y).release_
    # 1 + 2 + 2 of the 1 + 3 + 4 encoded elements, and the label.
    assert release.record_guarantee.epsilon == 5 * 0.5 + 1.0
    assert release.record_guarantee.n_features == 8
    assert source.guarantee_for(table, y) == release.record_guarantee
    text = " ".join(release.summary().split())
    assert "A record with its label epsilon = 3.5, delta = 0, for all features of a row" in text
    assert (
        "moves at most 5 of 8 encoded elements: epsilon = 2.5, delta = 0. Suppose that an attacker"
        in text
    )
    # The officer's page has the same numbers in its table.
    page = " ".join(re.sub("<[^>]*>", " ", report_page(release).html).split())
    assert "a value of the table 1 0" in page
    assert "a whole row 2.5 0" in page
    assert "a row with its label 3.5 0" in page
    # Nobody who has fewer columns knows how the others were encoded.
    assert release.restrict(["site"]).record_guarantee.epsilon == (2 + 4) * 0.5 + 1.0


def test_a_record_under_gaussian_noise_moves_by_the_root_of_its_elements():
    schema = as_schema({name: KINDS[name][0] for name in ("age", "ward", "site")})
    noise = GaussianDPNoise(1.0, 1e-5)
    guarantee = of_noise(noise, schema)
    labels = RandomizedResponse(1.0).fit(["a", "b"]).guarantee_
    joint = record_guarantee(guarantee, labels, elements_per_record(schema, 8))
    sigma = np.sqrt(noise.variance_)
    assert_allclose(gaussian_delta(sigma, joint.epsilon - 1.0, np.sqrt(5)), 1e-5, rtol=1e-5)
    assert joint.epsilon < record_guarantee(guarantee, labels).epsilon


def test_two_elements_under_gaussian_noise_are_further_by_the_root_of_two():
    schema = as_schema({"ward": WARD})
    noise = GaussianDPNoise(1.0, 1e-5)
    stated = value_guarantee(of_noise(noise, schema), schema)
    sigma = np.sqrt(noise.variance_)
    assert stated.delta == 1e-5
    assert_allclose(gaussian_delta(sigma, stated.epsilon, np.sqrt(2)), 1e-5, rtol=1e-5)
    assert 1.0 < stated.epsilon < 2.0


def test_whole_records_and_plain_rows_need_no_line():
    schema = as_schema({"ward": WARD})
    record = of_noise(OptimalDPNoise(2.0, privacy_unit="record"), schema)
    assert value_guarantee(record, schema) is record
    element = of_noise(OptimalDPNoise(2.0), schema)
    assert value_guarantee(element, None) is element


def test_a_value_does_not_say_what_a_record_has():
    value = of_noise(OptimalDPNoise(2.0), as_schema({"ward": WARD})).to_value(2)
    with pytest.raises(ValueError, match=r"release_\.guarantee\.to_record\(\)"):
        value.to_record()
    with pytest.raises(ValueError, match="'n_elements' parameter"):
        of_noise(OptimalDPNoise(2.0), as_schema({"ward": WARD})).to_value(0)
