"""Outcomes that are numbers, at the source: sums, their sensitivity, and what is refused."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Schema
from skdp.source._integers import GRID, ROW, SQUARE_ROW, WEIGHT_GRID, ExactSums
from skdp.source._private_rows import one_pass_plan
from skdp.tabular import NumberOutcome

COLUMNS = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
}
NUMBER = {"type": "number", "low": 0, "high": 80, "step": 1}
SCHEMA = Schema.from_mapping({"version": 1, "columns": COLUMNS, "outcome": NUMBER})
pytestmark = pytest.mark.filterwarnings("ignore:This release may predict")


def table(n, seed=0):
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame({"age": rng.uniform(0, 100, n), "ward": rng.choice([*"abc"], n)})
    y = 10 + 0.4 * frame["age"] + 5 * (frame["ward"] == "b") + rng.normal(0, 5, n)
    return frame, y.to_numpy().copy()


def exact(X, y, groups=None, **settings):
    unit = "record" if groups is None else "group"
    settings = {"encoder": SCHEMA, "model": "linear", "privacy_unit": unit} | settings
    with pytest.warns(UserWarning, match="adds no noise"):
        return DPStatisticsSource(np.inf, **settings).fit(X, y, groups=groups).release_


def test_sums_are_those_of_whole_numbers():
    rng = np.random.RandomState(1)
    Q = rng.randint(-GRID // 2, GRID // 2, (50, 3)).astype(float)
    places = rng.randint(0, WEIGHT_GRID + 1, 50)
    sums = ExactSums.of_rows(Q, places, None, NumberOutcome(0, 1))
    high = np.zeros(3, dtype=object)
    for q, place in zip(Q, places, strict=True):
        high += [int(Fraction(int(v) * int(place), WEIGHT_GRID)) for v in q]  # int truncates
    assert sums.sums[1].tolist() == high.tolist()
    assert sums.sums.sum(axis=0).tolist() == Q.sum(axis=0).tolist()
    assert sums.counts.sum() == 50 * ROW
    assert sums.counts[1] == sum(int(p) * ROW // WEIGHT_GRID for p in places)
    coarse = places >> 10
    assert sums.squares.tolist() == [
        50 * SQUARE_ROW,
        SQUARE_ROW * coarse.sum(),
        SQUARE_ROW * (coarse**2).sum(),
    ]


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("extreme", [0.0, 80.0, 41.3, -5.0, 1e9])
def test_a_record_or_person_changes_answers_by_no_more_than_is_claimed(extreme, k, changes):
    settings = {"encoder": SCHEMA, "model": "linear"}
    source = DPStatisticsSource(1.0, privacy_unit="group", **settings)
    plan = one_pass_plan(source, None, None, np.float64)
    X, y = table(40)
    more = pd.DataFrame({"age": [0.0, 100.0, 55.5] * 3, "ward": [*"abcabcabc"]})[:k]
    before = plan.sums(X, y, np.arange(40))
    after = before + plan.sums(more, np.full(k, extreme), np.full(k, 99))
    for counts in (before.counts, np.array([39 * ROW, ROW]), np.array([ROW, 39 * ROW])):
        for name, (changed, claimed) in changes(before, after, plan.grid, counts).items():
            assert changed <= claimed <= plan.shares[name].sensitivity, name


def test_the_claims_are_nearly_reached(changes):
    """Hence a claim that is 10 % smaller is violated."""
    plan = one_pass_plan(DPStatisticsSource(encoder=SCHEMA, model="linear"), None, None, float)
    far = pd.DataFrame({"age": [100.0], "ward": ["b"]})
    before, one = plan.sums(*table(40)), plan.sums(far, np.array([80.0]))
    found = changes(before, before + one, plan.grid, np.array([30 * ROW, 10 * ROW]))
    for name in ("counts", "total", "contrast", "second", "squares"):
        assert found[name][0] > 0.95 * found[name][1], name


def test_numbers_beyond_the_bounds_count_as_these_and_missing_ones_are_left_out():
    X, y = table(200)
    y[:20], y[20:40], y[40:60] = -7, 1e6, np.nan
    sums = exact(X, y).statistics.sums
    clipped = np.clip(np.delete(y, slice(40, 60)), 0, 80) / 80
    assert sums.counts.sum() == 180
    assert sums.counts[0, 1] == pytest.approx(clipped.sum(), abs=1e-5)
    text = [None if np.isnan(v) else f"{v:.6f}" for v in y]
    same = exact(X, np.array(text, dtype=object)).statistics.sums
    assert same.counts[0, 1] == pytest.approx(sums.counts[0, 1], abs=1e-5)


@pytest.mark.parametrize("model", ["linear", "gradients", "auto"])
def test_noise_is_calibrated_to_the_shares(model):
    X, y = table(400)
    source = DPStatisticsSource(1.0, encoder=SCHEMA, model=model).fit(X, y)
    assert source.guarantee_.epsilon == pytest.approx(1.0)
    assert not hasattr(source, "classes_")
    assert source.release_.outcome == SCHEMA.outcome
    assert "the bounds of the outcome" in source.guarantee_.excludes


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({"classes": [0, 1]}, None, "'classes' parameter .* cannot be combined"),
        ({"model": "mixtures"}, None, "'model' parameter .* is 'mixtures'"),
        (
            {"outcome": {"type": "number", "low": 0, "high": 9}},
            None,
            "differs from what the schema",
        ),
        ({"outcome": {"type": "class"}}, None, "must be a mapping such as"),
        ({}, np.ones(60, dtype=bool), "holds booleans, but the outcome is a number"),
        ({}, np.full(60, np.datetime64("2020-01-01")), "holds dates"),
    ],
)
def test_what_does_not_fit_is_refused(settings, y, message):
    X, numbers = table(60)
    with pytest.raises(ValueError, match=message):
        DPStatisticsSource(encoder=SCHEMA, **settings).fit(X, numbers if y is None else y)


@pytest.mark.parametrize(
    ("n_columns", "shape", "tolerance"),
    [(6, 1, 0.05), (1, 2, 0.09), (1, 5, 0.05), (2, 5, 0.05)],
)
def test_few_columns_have_the_slopes_of_least_squares(n_columns, shape, tolerance):
    # Clipping makes those of one to three columns of uniform values 18, 8 and 5 % too steep.
    rng = np.random.RandomState(0)
    X = rng.beta(shape, shape, size=(20_000, n_columns))
    y = 0.2 + 0.6 * X[:, 0] + rng.normal(0, 0.1, len(X))
    names = [f"x{j}" for j in range(n_columns)]
    schema = {
        "version": 1,
        "columns": {name: {"type": "numeric", "low": 0, "high": 1} for name in names},
        "outcome": {"type": "number", "low": 0, "high": 1},
    }
    release = exact(pd.DataFrame(X, columns=names), y, encoder=schema)
    asked = np.full((99, n_columns), 0.5)
    asked[:, 0] = np.linspace(*np.quantile(X[:, 0], [0.05, 0.95]), 99)
    predicted = release.predict(pd.DataFrame(asked, columns=names))
    slope = np.polyfit(asked[:, 0], predicted, 1)[0]
    assert slope == pytest.approx(0.6, rel=tolerance)
