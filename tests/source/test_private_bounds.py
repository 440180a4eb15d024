"""Bounds behind noise: exact without it, one row changes little, nobody's category is listed."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from skdp import PrivacyLeakWarning, quantile_bounds
from skdp.privacy import BudgetExceededError, PrivacyLedger
from skdp.source._evaluation import row_weights
from skdp.source._integers import ROW
from skdp.source._private_bounds import (
    _category_counts,
    _fine_bin,
    _histograms,
    _Noise,
    coarse_bin,
    coarse_edges,
)
from skdp.tabular import CategoryColumn

PUBLIC = {"version": 1, "classes": ["alive", "dead"]} | {
    "columns": {"age": {"type": "numeric", "low": 0, "high": 100}}
}


def patients(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.uniform(20, 90, n), "bmi": rng.normal(27, 4, n)})
    frame["lactate"] = np.where(rng.random(n) < 0.3, np.nan, np.exp(rng.normal(0.5, 0.6, n)))
    frame["change"] = rng.normal(-2, 30, n)
    frame["ward"] = rng.choice(np.array(["B", "A", "C"], dtype=object), n, p=[0.5, 0.3, 0.2])
    frame["smoker"] = rng.choice(np.array(["1", "0", None], dtype=object), n)
    return frame


def exact(X, *columns, **settings):
    with warnings.catch_warnings(action="ignore"):
        return quantile_bounds(X, *columns, epsilon=np.inf, **settings).schema


class TestWithoutNoise:
    def test_numbers_lie_within_the_bounds_but_for_the_quantiles(self):
        X = patients(4000)
        schema = exact(X, ["bmi", "lactate", "change"])
        assert [column.missing for column in schema.columns] == [False, True, False]
        for column in schema.columns:
            values = X[column.name].dropna()
            below, above = np.mean(values < column.low), np.mean(values > column.high)
            assert max(below, above) <= 0.0101
            # Rounding outwards and bins cost less than half of the width.
            width = np.subtract(*np.quantile(values, [0.99, 0.01]))
            assert column.high - column.low < 1.5 * width
            assert column.noisy

    @pytest.mark.parametrize(
        ("values", "low", "high"),
        [
            (np.zeros(50), -1, 1),
            (np.full(50, 7.0), 0, 14),
            (np.repeat([0.0, 1.0], 25), 0, 1),
            (np.repeat([-np.inf, 3.0, np.inf], 20), -(2.0**60), 2.0**60),
        ],
    )
    def test_strange_columns_have_bounds(self, values, low, high):
        [column] = exact(pd.DataFrame({"x": values}), ["x"]).columns
        finite = values[np.isfinite(values)]
        assert column.low <= finite.min() <= finite.max() <= column.high
        assert column.low >= low - (high - low)
        assert column.high <= high + (high - low)

    def test_categories_are_those_of_the_rows_in_order(self):
        ward, smoker = exact(patients(300), [], ["ward", "smoker"]).columns
        assert ward == CategoryColumn("ward", ("A", "B", "C"), noisy=True)
        assert smoker == CategoryColumn("smoker", ("0", "1"), missing=True, noisy=True)

    def test_public_columns_come_first_with_the_classes(self):
        schema = exact(patients(300), ["bmi"], schema=PUBLIC)
        assert schema.names == ("age", "bmi")
        assert [column.noisy for column in schema.columns] == [False, True]
        assert schema.classes == ("alive", "dead")
        assert exact(patients(300), ["bmi"], classes=["a", "b"]).classes == ("a", "b")


class TestSensitivity:
    """What one record, or one person, changes in what noise is added to: by whole numbers."""

    ROWS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-300, -1e300, 5.0)

    @pytest.mark.parametrize("row", ROWS)
    def test_a_row_changes_one_bin_by_one(self, row):
        values = np.array([*self.ROWS, *np.random.default_rng(0).normal(0, 9, 30)])
        with_it = np.append(values, row)
        for bins, n_bins in (
            (coarse_bin, len(coarse_edges()[0])),
            (lambda x: _fine_bin(x, (-4.0, 8.0)), 65),
        ):
            before, after = (
                _histograms([bins(x)], row_weights(None, len(x)), n_bins)
                for x in (values, with_it)
            )
            assert sorted((after - before).ravel())[-2:] == [0, ROW]
            assert (after - before).sum() == ROW

    @pytest.mark.parametrize("k", [1, 3, 7])
    def test_a_person_changes_counts_by_one_in_all(self, k):
        rng = np.random.default_rng(0)
        persons, x = np.repeat(np.arange(10), 3), rng.normal(size=30)
        keys = rng.choice(["A", "B"], 30).tolist()
        more_persons, more_x = np.append(persons, np.full(k, 99)), np.append(x, rng.normal(size=k))
        more_keys = [*keys, *(None, "C", "D", "E", "A", "B", "F")[:k]]
        n_bins = len(coarse_edges()[0])
        before = _histograms([coarse_bin(x)], row_weights(persons, 30), n_bins)
        after = _histograms([coarse_bin(more_x)], row_weights(more_persons, 30 + k), n_bins)
        assert (after >= before).all()
        assert ROW - k < (after - before).sum() <= ROW
        counts = [
            dict(zip([*found, None], count, strict=True))
            for found, count in (
                _category_counts(keys, persons),
                _category_counts(more_keys, more_persons),
            )
        ]
        changes = {key: counts[1][key] - counts[0].get(key, 0) for key in counts[1]}
        assert sorted(changes.values())[-2:] in ([0, ROW], [ROW])
        assert sum(changes.values()) == ROW

    def test_shares_are_for_as_many_columns(self):
        noise = _Noise(1.0, 1e-5, 3, 2, np.random.RandomState(0))
        # One bin of each of 3 columns, twice, and of 2: in units of noise μ in all.
        squared = 2 * 3 / noise._deviation("coarse") ** 2 + 2 / noise._deviation("categories") ** 2
        assert squared == pytest.approx(noise._queries.distance**2, rel=1e-12)

    def test_edges_hold_their_values(self):
        values = np.random.default_rng(0).normal(size=500) * 10.0 ** np.linspace(-8, 8, 500)
        low, high = (edges[coarse_bin(values)] for edges in coarse_edges())
        assert ((low <= values) & (values <= high)).all()


class TestCategoriesOfOnePerson:
    def test_the_threshold_is_that_of_delta(self):
        noise = _Noise(1.0, 1e-5, 1, 4, np.random.RandomState(0))
        passes = 4 * ndtr(-(noise._threshold() - 1) / noise._deviation("categories"))
        assert passes == pytest.approx(5e-6, rel=1e-3)
        assert passes <= 5e-6

    @pytest.mark.filterwarnings("ignore")
    def test_they_pass_as_rarely_as_delta_says(self):
        values = [f"v{i}" for i in range(1000)]
        counts = np.append(np.full(1000, ROW), 0)
        passed = []
        for seed in range(12):
            noise = _Noise(1.0, 0.5, 0, 1, np.random.RandomState(seed))
            [make] = noise.category_columns({"c": (values, counts)}).values()
            passed.append(len(make().categories) / 1000)
        # δ/2, and neither 10 % more nor 10 % less.
        assert np.mean(passed) == pytest.approx(0.25, abs=3 * np.sqrt(0.25 * 0.75 / 12000))

    def test_delta_is_for_the_noise_and_the_threshold(self):
        with warnings.catch_warnings(action="ignore"):
            found = quantile_bounds(patients(3000), ["bmi"], ["ward"], epsilon=1.0, delta=1e-4)
            alone = quantile_bounds(patients(3000), ["bmi"], epsilon=1.0, delta=1e-4)
        assert found.guarantee.epsilon == pytest.approx(1.0)
        assert found.guarantee.delta == pytest.approx(1e-4)
        assert [m.delta for m in found.guarantee.mechanisms] == [5e-5, 5e-5]
        assert [m.delta for m in alone.guarantee.mechanisms] == [1e-4]


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
class TestWithNoise:
    def test_bounds_are_near_those_of_the_rows(self):
        X = patients(20_000)
        found = quantile_bounds(X, ["bmi", "change"], ["ward"], epsilon=0.5, random_state=0)
        bmi, change, ward = found.schema.columns
        assert ward.categories == ("A", "B", "C")
        for column in (bmi, change):
            values = X[column.name]
            assert np.mean((values < column.low) | (values > column.high)) < 0.04
            width = np.subtract(*np.quantile(values, [0.99, 0.01]))
            assert column.high - column.low < 1.6 * width

    def test_what_noise_hides_is_left_out(self):
        X = patients(3000).assign(rare=np.where(np.arange(3000) < 20, 1.0, np.nan))
        with pytest.warns(UserWarning, match="'rare'.*left out"):
            found = quantile_bounds(X, ["bmi", "rare"], epsilon=0.5, random_state=0)
        assert found.left_out == ("rare",)
        assert found.schema.names == ("bmi",)
        assert "Left out, because noise hides their values: 'rare'" in found.summary()

    def test_the_ledger_is_charged_first_and_once(self, tmp_path):
        ledger = PrivacyLedger(1.0, 1e-4, path=tmp_path / "ledger.json")
        X = patients(2000)
        quantile_bounds(X, ["bmi"], epsilon=0.8, ledger=tmp_path / "ledger.json", name="b")
        ledger = PrivacyLedger.open(tmp_path / "ledger.json")
        assert [name for name, *_ in ledger.entries] == ["b"]
        assert ledger.total.epsilon == pytest.approx(0.8)
        with pytest.raises(BudgetExceededError):
            quantile_bounds(X, ["bmi"], epsilon=0.8, ledger=ledger)
        assert len(ledger.entries) == 1


def test_no_noise_and_seeds_are_warned_of():
    with pytest.warns(PrivacyLeakWarning, match="quantile_bounds"):
        quantile_bounds(patients(300), ["bmi"], epsilon=np.inf)


@pytest.mark.parametrize(
    ("columns", "settings", "said"),
    [
        ((), {}, "names no column"),
        (("bmi",), {}, "'numeric' .* must be a list of columns, got 'bmi'"),
        ((["bmi"], ["bmi"]), {}, "names a column twice"),
        ((["weight"],), {}, r"'numeric' .* names \['weight'\]"),
        ((["age"],), {"schema": PUBLIC}, r"\['age'\], which are in the public 'schema'"),
        ((["bmi"],), {"epsilon": 0}, "'epsilon' .* got 0"),
        ((["bmi"],), {"delta": 1.0}, "'delta' .* below 1, got 1.0"),
        ((["bmi"],), {"quantiles": (0.9, 0.1)}, "'quantiles' .* two shares"),
        ((["bmi"],), {"groups": [1, 2]}, "'groups' .* one entry for each row"),
        ((["bmi"],), {"groups": [None] * 1500}, "lacks the group of some rows"),
        (([], ["id"]), {}, "'categories' .* 'id', a column of more than 1,000"),
    ],
)
def test_refusals_charge_nothing(columns, settings, said):
    X = patients(1500).assign(id=[f"p{i}" for i in range(1500)])
    ledger = PrivacyLedger(10.0, 1e-3)
    with pytest.raises(ValueError, match=said):
        quantile_bounds(X, *columns, **{"epsilon": 1.0, "ledger": ledger} | settings)
    assert not ledger.entries


def test_no_column_found_is_a_result_too():
    ledger = PrivacyLedger()
    with pytest.warns(UserWarning, match="hides the values.*there is no schema"):
        found = quantile_bounds(patients(20), ["bmi"], epsilon=0.1, random_state=0, ledger=ledger)
    assert (found.schema, found.left_out) == (None, ("bmi",))
    assert "No schema" in found.summary()
    assert len(ledger.entries) == 1


def test_columns_that_a_schema_cannot_have_are_left_out_behind_the_charge():
    X = pd.DataFrame({"ward": ["A", "B", "C"] * 100, "ward_A": np.arange(300.0)})
    ledger = PrivacyLedger()
    with pytest.warns(UserWarning, match="ward"):
        found = quantile_bounds(X, ["ward_A"], ["ward"], epsilon=8.0, ledger=ledger)
    assert [column.name for column in found.schema.columns] == ["ward_A"]
    assert found.left_out == ("ward",)
    assert len(ledger.entries) == 1
