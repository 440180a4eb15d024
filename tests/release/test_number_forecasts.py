"""Means, quantiles and intervals of numbers in their own unit, at the source and at a target."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from skdp import DPStatisticsSource, DPTransferRegressor, Release
from skdp.release import NumberDistribution, NumberForecast
from skdp.tabular import NumberOutcome, outcome_from

COLUMNS = {name: {"type": "numeric", "low": -1, "high": 1} for name in "ab"}
LOG = {"type": "number", "low": 1, "high": 20_000, "log": True}
pytestmark = pytest.mark.filterwarnings("ignore")


def costs(n, seed=0, zeros=False, deviation=0.8):
    """Return rows, costs and expected costs."""
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 2)), columns=list("ab"))
    center = 5 + X["a"].to_numpy()
    y = np.exp(center + deviation * rng.standard_normal(n))
    p = 1 / (1 + np.exp(-X["b"].to_numpy() - X["a"].to_numpy())) if zeros else np.ones(n)
    return X, np.where(rng.rand(n) < p, y, 0), p * np.exp(center + deviation**2 / 2)


def released(outcome, epsilon=np.inf, n=20_000, seed=0, model="auto", **settings):
    schema = {"version": 1, "columns": COLUMNS, "outcome": outcome}
    source = DPStatisticsSource(epsilon, encoder=schema, model=model, random_state=seed)
    X, y, _ = costs(n, seed, **settings)
    return source.fit(X, y).release_


@pytest.fixture(scope="module")
def logarithmic():
    return released(LOG)


@pytest.fixture(scope="module")
def zeros():
    return released({**LOG, "low": 0, "zero": True}, zeros=True)


def forecast(deviation, places, outcome):
    distribution = NumberDistribution.normal(0.5, 0.1, deviation)
    return NumberForecast.of(outcome, places, np.ones(len(places)), distribution)


def test_normal_residuals_on_a_logarithmic_scale_are_lognormal():
    outcome, places = NumberOutcome(1, np.exp(20), log=True), np.array([0.4, 0.5])
    asked = forecast(0.05, places, outcome)
    mean, sd = asked.answer(return_std=True)
    np.testing.assert_allclose(mean, np.exp(20 * places + 0.5), rtol=2e-3)
    np.testing.assert_allclose(sd / mean, np.sqrt(np.e - 1), rtol=0.02)
    for level in (0.1, 0.5, 0.9):
        expected = np.exp(20 * places + ndtri(level))
        np.testing.assert_allclose(asked.answer(quantile=level), expected, rtol=5e-3)
    median = asked.answer(statistic="median")
    np.testing.assert_array_equal(median, asked.answer(quantile=0.5))


def test_a_number_on_a_linear_scale_keeps_its_prediction():
    places, outcome = np.array([0.02, 0.5, 0.9]), NumberOutcome(0, 10)
    mean, ends = forecast(0.1, places, outcome).answer(return_interval=0.8)
    np.testing.assert_allclose(mean, 10 * places)
    # Where a tenth lies at a bound, the interval ends there, and holds no more for that.
    away = np.array([[-ndtri(0.9)] * 3, [ndtri(0.8), ndtri(0.9), ndtri(0.9)]])
    away[0, 2] = -ndtri(0.8)
    expected = 10 * (places + 0.1 * away)
    np.testing.assert_allclose(ends.T, np.clip(expected, 0, 10), atol=0.02)


def test_known_residuals_change_the_shape():
    prior = NumberDistribution.normal(0.5, 0.1, 0.1)
    assert prior.updated(np.empty(0), 100.0) is prior
    skewed = np.random.RandomState(0).gamma(1.0, 0.1, 100_000) - 0.1
    after, places = prior.updated(skewed, 100.0), np.array([0.5])
    for level in (0.1, 0.5, 0.9):
        found = after.quantile(places, 1.0, level) - places
        assert found == pytest.approx(np.quantile(skewed, level), abs=2e-3)
    half = NumberDistribution.mean([prior, after], np.array([0.5, 0.5]))
    middle = (prior.quantile(places, 1.0, 0.9) + after.quantile(places, 1.0, 0.9)) / 2
    assert half.quantile(places, 1.0, 0.9) == pytest.approx(middle, abs=1e-3)


def test_without_noise_totals_and_means_are_right(logarithmic):
    X, _, expected = costs(20_000, seed=1)
    predicted = logarithmic.predict(X)
    assert predicted.sum() == pytest.approx(expected.sum(), rel=0.03)
    for fifth in np.array_split(np.argsort(expected), 5):
        assert predicted[fifth].sum() == pytest.approx(expected[fifth].sum(), rel=0.06)
    median = logarithmic.predict(X, statistic="median")
    assert median.sum() == pytest.approx(expected.sum() / np.exp(0.32), rel=0.05)
    levels = [logarithmic.predict(X, quantile=q) for q in (0.05, 0.3, 0.5, 0.8, 0.95)]
    assert (np.diff(levels, axis=0) > 0).all()


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_intervals_hold_their_share(logarithmic, zeros, share):
    X, y, _ = costs(20_000, seed=1)
    low, high = logarithmic.predict(X, return_interval=share)[1].T
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(share, abs=0.03)
    assert np.mean(y < low) == pytest.approx((1 - share) / 2, abs=0.02)
    X, y, _ = costs(20_000, seed=1, zeros=True)
    low, high = zeros.predict(X, return_interval=share)[1].T
    held = np.mean((low <= y) & (y <= high))  # more where more than the share are zero
    assert share - 0.03 < held < (0.65 if share == 0.5 else share + 0.03)
    assert (low >= 0).all()


def test_zeros_are_a_class(zeros, tmp_path):
    X, y, expected = costs(20_000, seed=1, zeros=True)
    predicted = zeros.predict(X)
    assert predicted.sum() == pytest.approx(expected.sum(), rel=0.04)
    assert np.corrcoef(predicted, expected)[0, 1] > 0.97
    likely = np.argsort(X["a"] + X["b"])  # of a number that is not zero
    assert (zeros.predict(X.iloc[likely[:100]], quantile=0.5) == 0).all()
    assert (zeros.predict(X.iloc[likely[-100:]], quantile=0.5) > 0).all()
    zeros.save(tmp_path / "zeros.skdp")
    again = Release.load(tmp_path / "zeros.skdp")
    np.testing.assert_array_equal(again.predict(X), predicted)
    assert again.outcome.description()["outcome"]["zero"] is True
    both = Release.merge(
        [zeros, released({**LOG, "low": 0, "zero": True}, zeros=True, seed=5)], disjoint=True
    )
    assert both.predict(X).sum() == pytest.approx(expected.sum(), rel=0.05)
    drawn = zeros.sample(5000, random_state=0)[1]
    assert np.mean(drawn == 0) == pytest.approx(np.mean(y == 0), abs=0.04)
    assert drawn.mean() == pytest.approx(expected.mean(), rel=0.1)


@pytest.mark.parametrize("outcome", [{**LOG, "zero": True}, {**LOG, "low": 0, "zero": "yes"}])
def test_zero_must_be_the_lower_bound(outcome):
    with pytest.raises(ValueError, match="The 'zero' of an outcome"):
        outcome_from(outcome)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["auto", "linear"])
def test_noisy_releases_have_the_right_total(model):
    X, y, expected = costs(8000, seed=1)
    found = [
        released(LOG, 2.0, 8000, seed, model).predict(X, return_interval=0.8) for seed in range(4)
    ]
    assert np.mean([p.sum() for p, _ in found]) == pytest.approx(expected.sum(), rel=0.04)
    held = [np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])) for _, ends in found]
    assert np.mean(held) == pytest.approx(0.8, abs=0.03)


def test_a_target_predicts_the_same_scale(logarithmic):
    X, y, expected = costs(3000, seed=2)
    model = DPTransferRegressor(logarithmic).fit(X)
    for asked in ({}, {"statistic": "median"}, {"quantile": 0.9}):
        np.testing.assert_allclose(model.predict(X, **asked), logarithmic.predict(X, **asked))
    known = np.where(np.arange(3000) < 1000, y, np.nan)
    predicted, ends = (
        DPTransferRegressor(logarithmic).fit(X, known).predict(X, return_interval=0.8)
    )
    assert predicted[1000:].sum() == pytest.approx(expected[1000:].sum(), rel=0.1)
    assert np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])) == pytest.approx(0.8, abs=0.04)
    alone, ends = DPTransferRegressor().fit(X[:1000], y[:1000]).predict(X, return_interval=0.8)
    assert (ends[:, 0] < alone).all()
    assert (alone < ends[:, 1]).all()


def test_the_expected_r2_is_that_of_the_outcome(logarithmic):
    X, y, _ = costs(20_000, seed=1)
    text = " ".join(logarithmic.summary().split())
    expected = float(
        text.split("expected R² at the owners, elsewhere it may be lower (0: the mean): ")[1][:4]
    )
    assert expected == pytest.approx(logarithmic.score(X, y), abs=0.04)
    assert "; of its logarithm: 0.3" in text
    mean = float(text.split("mean of the outcome: ")[1].split()[0])
    assert mean == pytest.approx(y.mean(), rel=0.04)


def test_bounds_that_are_far_too_wide_are_named():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (5000, 2)), columns=list("ab"))
    y = 40 + 10 * X["a"] + rng.normal(0, 8, 5000)  # a deviation of 9.9
    for high, is_wide in ((99, False), (990, True)):
        outcome = {"type": "number", "low": 0, "high": high}
        schema = {"version": 1, "columns": COLUMNS, "outcome": outcome}
        release = DPStatisticsSource(2.0, encoder=schema, random_state=0).fit(X, y).release_
        doubt = release.model.doubt()
        assert (doubt is not None) == is_wide
        if is_wide:
            assert 80 < float(doubt.split("about ")[1].split()[0]) < 125


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"statistic": "mode"}, "'statistic'"),
        ({"quantile": 50}, "'quantile'"),
        ({"return_interval": 0}, "'return_interval'"),
    ],
)
def test_what_cannot_be_asked_is_refused(logarithmic, asked, named):
    with pytest.raises(ValueError, match=named):
        logarithmic.predict(costs(3)[0], **asked)


@pytest.mark.parametrize("columns", [["segment"], ["power", "segment"]])
def test_costs_of_few_categories_are_those_of_their_rows(columns):
    """Scores have three values, or three clusters; a power is mostly in a third of its bounds."""
    rng, n = np.random.RandomState(0), 20_000
    segment = rng.choice(3, n, p=[0.7, 0.15, 0.15])
    power = np.clip(rng.normal(100, 35, n), 40, 300).round()
    X = pd.DataFrame({"power": power, "segment": np.array(["private", "fleet", "young"])[segment]})
    odds = np.exp(-2 + np.array([0, 0.8, 0.6])[segment])
    amounts = np.exp(rng.normal(7.3 + 0.4 * (segment == 1), 0.8))
    y = np.where(rng.rand(n) < odds / (1 + odds), amounts, 0)
    described = {
        "power": {"type": "numeric", "low": 40, "high": 300},
        "segment": {"type": "category", "categories": ["private", "fleet", "young"]},
    }
    outcome = {"type": "number", "low": 0, "high": 80_000, "log": True, "zero": True}
    schema = {"columns": {name: described[name] for name in columns}, "outcome": outcome}
    source = DPStatisticsSource(20.0, encoder={"version": 1, **schema}, random_state=0)
    predicted = source.fit(X[columns], y).release_.predict(X[columns])
    by_segment = pd.DataFrame({"true": y, "predicted": predicted}).groupby(segment).mean()
    assert predicted.mean() == pytest.approx(y.mean(), rel=0.15)
    # Of zeros and amounts together, one score describes the largest of three means less well.
    np.testing.assert_allclose(by_segment["predicted"], by_segment["true"], rtol=0.3)
