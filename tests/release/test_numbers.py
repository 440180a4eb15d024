"""Releases about a number: the regression, its intervals, and all that a release offers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from skdp import DPStatisticsSource, Release, Schema
from skdp.tabular import ClassOutcome

COLUMNS = {f"x{k}": {"type": "numeric", "low": -3, "high": 3} for k in range(3)}
COLUMNS["sex"] = {"type": "category", "categories": ["f", "m"]}
pytestmark = pytest.mark.filterwarnings("ignore")


def schema(**settings):
    outcome = {"type": "number", "low": -10, "high": 20} | settings
    return Schema.from_mapping({"version": 1, "columns": COLUMNS, "outcome": outcome})


def rows(n, seed=0, curved=False):
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(rng.uniform(-2, 2, (n, 3)), columns=["x0", "x1", "x2"])
    X["sex"] = np.where(rng.rand(n) < 0.5, "f", "m")
    mean = 5 + 2 * X["x0"] - X["x1"] + 3 * (X["sex"] == "m")
    mean = mean + 2 * X["x2"] ** 2 if curved else mean
    return X, (mean + rng.normal(0, 1.5, n)).to_numpy()


def release(epsilon, n=4000, model="linear", seed=0, curved=False, **settings):
    # Seeded, so that whether an interval holds is no matter of chance.
    source = DPStatisticsSource(
        epsilon, encoder=schema(**settings), model=model, random_state=seed
    )
    return source.fit(*rows(n, seed, curved)).release_


@pytest.fixture(scope="module")
def exact():
    return release(np.inf, 20_000)


def test_without_noise_it_is_least_squares(exact):
    X, y = rows(20_000)
    encoded = exact.encode(X)
    plain = LinearRegression().fit(encoded, y).predict(encoded)
    assert np.abs(exact.predict(X) - plain).mean() < 0.15
    assert exact.score(X, y) > LinearRegression().fit(encoded, y).score(encoded, y) - 0.01


def test_one_binary_column_has_the_means_of_its_groups():
    rng = np.random.RandomState(0)
    x = rng.randint(2, size=30_000)
    y = np.where(x == 1, 30.0, 12.0) + rng.normal(0, 4, len(x))
    column = {"type": "category", "categories": [0, 1]}
    outcome = {"type": "number", "low": 0, "high": 50}
    table = {"version": 1, "columns": {"x": column}, "outcome": outcome}
    made = DPStatisticsSource(np.inf, encoder=table, model="linear").fit(pd.DataFrame({"x": x}), y)
    low, high = made.release_.predict(pd.DataFrame({"x": [0, 1]}))
    assert low == pytest.approx(12, abs=0.3)
    assert high == pytest.approx(30, abs=0.3)


def test_what_it_expects_comes_true(exact):
    X, y = rows(4000, seed=1)
    mean, low, high = exact.regression.r2
    assert low <= exact.score(X, y) + 0.02
    assert exact.score(X, y) - 0.02 <= high
    assert abs(mean - exact.score(X, y)) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("model", ["linear", "gradients"])
def test_intervals_hold_as_often_as_they_say(epsilon, model, no_doubts, no_rehearsals):
    X, y = rows(4000, seed=1, curved=True)
    held = []
    for seed in range(100, 106):
        predicted, sd = release(epsilon, 3000, model, seed, curved=True).predict(X, True)
        held.append(np.mean(np.abs(y - predicted) < 1.2816 * sd))
    assert 0.72 < np.mean(held) < 0.9


def test_nothing_there_is_said():
    X, y = rows(1000)
    y = np.random.RandomState(3).permutation(y)
    source = DPStatisticsSource(1.0, encoder=schema(), model="linear", random_state=0)
    with pytest.warns(UserWarning, match="no better than the mean"):
        made = source.fit(X, y).release_
    assert made.regression.r2[1] == 0


def test_file_merge_and_restrict(exact, tmp_path):
    X, y = rows(2000, seed=2)
    exact.save(tmp_path / "number.skdp")
    again = Release.load(tmp_path / "number.skdp")
    assert again.outcome == exact.outcome
    assert np.array_equal(again.predict(X), exact.predict(X))
    parts = [
        DPStatisticsSource(np.inf, encoder=schema(), model="linear").fit(*part).release_
        for part in (rows(5000, 5), rows(7000, 6))
    ]
    both = pd.concat([rows(5000, 5)[0], rows(7000, 6)[0]])
    y_both = np.concatenate([rows(5000, 5)[1], rows(7000, 6)[1]])
    source = DPStatisticsSource(np.inf, encoder=schema(), model="linear")
    whole = source.fit(both, y_both).release_
    merged = Release.merge(parts, disjoint=True)
    assert np.abs(merged.predict(X) - whole.predict(X)).max() < 0.1
    assert merged.statistics.sums.squares[0] == pytest.approx(
        whole.statistics.sums.squares[0], rel=0.01
    )
    fewer = exact.restrict(["sex", "x0"])
    assert 0.1 < fewer.score(X, y) < exact.score(X, y)
    with pytest.raises(ValueError, match="outcomes are different"):
        Release.merge([exact, release(4.0, high=21)], disjoint=True)


def test_a_logarithmic_scale(exact):
    rng = np.random.RandomState(0)
    X, _ = rows(8000)
    y = np.exp(1 + 0.8 * X["x0"].to_numpy() + rng.normal(0, 0.3, len(X)))
    made = DPStatisticsSource(np.inf, encoder=schema(low=0.1, high=100, log=True), model="linear")
    made = made.fit(X, y).release_
    predicted, sd = made.predict(X, return_std=True)
    assert np.corrcoef(np.log(predicted), np.log(y))[0, 1] > 0.9
    assert ((predicted > 0.1) & (predicted < 100) & (sd > 0)).all()
    inside = np.abs(np.log(y) - np.log(predicted)) < 1.2816 * 0.3
    assert 0.7 < inside.mean() < 0.9


@pytest.mark.parametrize(
    "damage",
    [
        {"squares": None},
        {"squares": np.array([np.nan])},
        {"square_sd": np.array([-1.0])},
        {"squares": np.array([1.0, 2.0])},
    ],
)
def test_damaged_sums_are_refused(exact, damage):
    sums = replace(exact.statistics.sums, **damage)
    model = replace(exact.model, statistics=replace(exact.statistics, sums=sums))
    with pytest.raises(ValueError, match="of a release"):
        replace(exact, model=model)


def test_an_outcome_that_does_not_belong_is_refused(exact):
    with pytest.raises(ValueError, match="'outcome'"):
        replace(exact, outcome=None)
    with pytest.raises(ValueError, match=r"'outcome' .* must be what the model is about"):
        replace(exact, outcome=ClassOutcome((0.0, 1.0)))
