"""Private evaluation of times: counts without noise, their sensitivity, intervals, refusals."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from skdp import DPStatisticsSource, PrivacyLeakWarning, evaluate_privately
from skdp.privacy import gaussian_sigma
from skdp.release import TIME_BINS, PrivateEvaluation, StepFunction
from skdp.source._door import row_weights
from skdp.source._evaluation import TimeCounts
from skdp.source._integers import ROW
from skdp.tabular import EventOutcome

HORIZON = 10.0
OUTCOME = {"type": "event", "horizon": HORIZON}
EVENT = EventOutcome(HORIZON)
TIMES = [2.5, 5.0, 7.5]
GRID = np.linspace(0, HORIZON, 41)


class Known:
    """A model of no library: rows are hazards, constant over time."""

    def predict_survival_function(self, X):
        hazards = np.asarray(X)[:, 0]
        return [StepFunction(GRID, np.exp(-hazard * GRID)) for hazard in hazards]


def outcomes(events, times):
    y = np.zeros(len(times), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = events, times
    return y


def rows(n, seed, spread=1.0, latest=14.0):
    """Return hazards, and times of events that are censored evenly."""
    rng = np.random.default_rng(seed)
    hazards = 0.06 * np.exp(spread * rng.standard_normal(n))
    times, left = rng.exponential(1 / hazards), rng.uniform(0, latest, n)
    return hazards[:, np.newaxis], outcomes(times <= left, np.minimum(times, left))


def exact(model, X, y, **settings):
    settings = {"outcome": OUTCOME, **settings}
    with warnings.catch_warnings(action="ignore"):
        return evaluate_privately(model, X, y, np.inf, **settings)


def survival(events, times, at):
    """Return Kaplan and Meier's estimate at a time, row by row."""
    left = 1.0
    for time in np.unique(times[events & (times <= at)]):
        left *= 1 - np.sum(events & (times == time)) / np.sum(times >= time)
    return left


def slow(X, y, at):
    """Return AUC and Brier score at a time, with the survival of each bin."""
    p = 1 - np.exp(-X[:, 0] * at)
    bins = TIME_BINS.of(p)
    places = np.unique(bins)
    n = np.array([np.sum(bins == b) for b in places])
    event = np.array(
        [1 - survival(*(y[k][bins == b] for k in ("event", "time")), at) for b in places]
    )
    middle = expit(TIME_BINS.centers)[places]
    brier = (n * (event * (1 - middle) ** 2 + (1 - event) * middle**2)).sum() / n.sum()
    own, others = n * event, n * (1 - event)
    pairs = sum(
        own[i] * others[j] * ((i > j) + (i == j) / 2)
        for i in range(len(places))
        for j in range(len(places))
    )
    return pairs / (own.sum() * others.sum()), brier, own.sum() / n.sum()


class TestWithoutNoise:
    def test_it_is_the_estimate_of_kaplan_and_meier_in_each_bin(self):
        X, y = rows(6000, 0)
        table = exact(Known(), X, y).at_times()
        for at, line in zip(TIMES, table.to_dict("records"), strict=True):
            area, brier, event = slow(X, y, at)
            # Within an interval between times, those who leave do so evenly with the hazard.
            assert line["auc"] == pytest.approx(area, abs=0.004)
            assert line["brier_score"] == pytest.approx(brier, abs=0.002)
            assert line["event"] == pytest.approx(event, abs=0.004)
            assert line["auc_low"] < line["auc"] < line["auc_high"]
            # A model that is right.
            assert line["predicted"] == pytest.approx(line["event"], abs=0.015)

    def test_tables_text_and_missing_outcomes(self):
        X, y = rows(50, 4)
        table = pd.DataFrame({"time": y["time"], "event": y["event"].astype(int).astype(object)})
        table.loc[:4, "time"] = -1.0
        table.loc[5:9, "event"] = None
        table.loc[10:11, "event"] = "secret"
        assert exact(Known(), X, table).n_rows.value == pytest.approx(38)
        assert exact(
            Known(), X, y, groups=np.repeat(np.arange(10), 5)
        ).n_rows.value == pytest.approx(10, abs=1e-6)


def adversarial():
    """Return rows at all limits of time, of both kinds, with predictions at all ends."""
    times = [0.0, 2.5, np.nextafter(2.5, 3), 5.0, HORIZON, np.nextafter(HORIZON, 11), 1e9, np.inf]
    y = outcomes(np.repeat([True, False], len(times)), times * 2)
    hazards = np.resize([0.0, 1e-12, 0.1, 1e9, np.nan, -1.0, np.inf], len(y))
    return hazards[:, np.newaxis], y


class TestNoise:
    @pytest.mark.parametrize("times", [[5.0], TIMES, [0.1, HORIZON], list(np.arange(1.0, 11))])
    def test_one_more_record_changes_the_numbers_by_no_more_than_stated(self, times):
        X, y = adversarial()

        def counted(keep):
            given = X[keep], (y["event"][keep], y["time"][keep])
            return TimeCounts(Known(), EVENT, times).count(*given, row_weights(None, keep.sum()))

        everyone = np.ones(len(y), dtype=bool)
        full = counted(everyone)
        for left_out in range(len(y)):
            keep = everyone.copy()
            keep[left_out] = False
            change = full - counted(keep)
            # In whole numbers: one row in one cell for each time.
            assert (np.abs(change).sum(axis=(1, 2)) == ROW).all()
            assert (change >= 0).all()


@cache
def population():
    """Return figures of many rows whom nobody leaves, and how many of others are in each cell."""
    names = ["auc", "brier_score", "event"]
    truth = exact(Known(), *rows(200_000, 1, latest=1e9), times=[5.0]).at_times()[names].iloc[0]
    X, y = rows(200_000, 2)
    exits = y["event"], y["time"]
    return truth, TimeCounts(Known(), EVENT, [5.0]).count(X, exits, np.ones(len(X), int))


def held(monkeypatch, n, sigma, claimed=1.0, n_draws=300):
    """Return how often intervals of 95% hold the truth: as they are, and a tenth narrower.

    Of AUC, Brier score and share of events together. The posterior has one smoothness in place of
    many, and fewer draws: it is faster so.
    """
    monkeypatch.setattr("skdp.release._score_posterior._DENSITIES", [10.0])
    monkeypatch.setattr("skdp.release._score_posterior._RATIOS", [100.0])
    monkeypatch.setattr("skdp.release._evaluation._DRAWS", 300)
    usual = exact(Known(), *rows(50, 0), times=[5.0])
    truth, cells = population()
    hits = np.zeros(2)
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        counts = rng.multinomial(n, cells.ravel() / cells.sum()).reshape(cells.shape)
        noisy = counts + sigma * rng.standard_normal(cells.shape)
        found = replace(usual, histograms=noisy, deviation=claimed * sigma, parts=())
        table = found.at_times().iloc[0]
        for name, true in truth.items():
            low, value, high = (table[f"{name}{end}"] for end in ("_low", "", "_high"))
            ends = np.array([value - low, high - value]) * np.array([[1.0], [0.9]])
            hits += (value - ends[:, 0] <= true) & (true <= value + ends[:, 1])
    return hits / (len(truth) * n_draws)


class TestIntervals:
    def test_they_hold_at_their_level_and_a_tenth_narrower_they_do_not(self, monkeypatch):
        usual, narrower = held(monkeypatch, 1500, 6.5)
        # By these seeds, of 900: .951 and .928; of 3,000 .959 and .933.
        assert narrower < 0.94 < usual

    def test_and_do_not_where_noise_is_larger_than_claimed(self, monkeypatch):
        assert held(monkeypatch, 1500, 13.0, claimed=0.3, n_draws=60)[0] < 0.8


class TestValue:
    def test_other_figures_are_refused_by_name(self):
        found = exact(Known(), *rows(100, 0))
        with pytest.raises(ValueError, match="or about a time, which has no errors"):
            found.r2()
        with pytest.raises(ValueError, match="whole number from 1 to 20"):
            found.calibration_curve(21)

    def test_other_outcomes_are_not_merged(self):
        first = exact(Known(), *rows(100, 0))
        horizon = exact(Known(), *rows(100, 1), outcome={**OUTCOME, "horizon": 12}, times=TIMES)
        with pytest.raises(ValueError, match="of other outcomes cannot be merged"):
            PrivateEvaluation.merge([first, horizon], disjoint=True)
        times = exact(Known(), *rows(100, 1), times=[1, 2, 3])
        with pytest.raises(ValueError, match="of other times cannot be merged"):
            PrivateEvaluation.merge([first, times], disjoint=True)


class TestWhereNobodyIsFollowed:
    """Rows that all leave by day 4, and times up to day 7.5: only by 2.5 something is known."""

    def test_there_is_no_figure_and_the_summary_says_why(self):
        X, y = rows(1000, 9, latest=4.0)
        found = exact(Known(), X, y)
        table = found.at_times()
        assert table["followed"].tolist() == [(y["time"] >= time).sum() for time in TIMES]
        figures = table.drop(columns=["time", "followed"])
        assert figures.iloc[0].notna().all()
        assert figures.iloc[1:].isna().all(axis=None)
        # What is known is right, and means are of that.
        area, brier, event = slow(X, y, 2.5)
        assert table["auc"][0] == found.auc().value == pytest.approx(area, abs=0.02)
        assert table["brier_score"][0] == pytest.approx(brier, abs=0.005)
        assert table["event"][0] == pytest.approx(event, abs=0.01)
        said = found.summary()
        assert said.count("n/a: too few rows are left, about 0 still followed") == 2
        assert said.count(", over 1 of 3 times") == 3
        assert found.roc_curve(1)["true_positives"].isna().all()
        assert found.calibration_curve(class_index=2)["frequency"].isna().all()
        assert np.isnan(found.confusion(class_index=1)["accuracy"].value)
        nothing = exact(Known(), X, y, times=[5.0, 7.5])
        assert np.isnan([*nothing.auc(), *nothing.brier_score(), *nothing.log_loss()]).all()
        assert nothing.summary().count("n/a: fewer than 20 rows, or noise hides them") == 3

    def test_nor_behind_noise_that_looks_like_rows(self):
        found, rng = exact(Known(), *rows(1000, 9, latest=4.0)), np.random.default_rng(0)
        sigma = np.sqrt(3) * gaussian_sigma(1.0, 1e-5)
        known = np.array(
            [
                replace(
                    found,
                    histograms=found.histograms + rng.normal(0, sigma, found.histograms.shape),
                    deviation=sigma,
                    parts=(),
                )._known[0]
                for _ in range(1000)
            ]
        )
        # Noise alone is as large as 29 rows, and passes for 20 of them in 10 of 1,000 sums.
        assert known[:, 0].all()
        assert known[:, 1].sum() <= 25
        assert known[:, 2].sum() <= 2

    def test_few_events_have_no_auc(self):
        X, y = rows(1000, 10, latest=1e6)
        y["event"] &= (y["time"] > 3) | (np.arange(1000) < 20)
        y["time"] = np.where(y["event"], y["time"], 1e6)
        found = exact(Known(), X, y)
        table = found.at_times()
        assert found.histograms[0, 1].sum() < 20
        assert table["auc"].notna().tolist() == [False, True, True]
        assert table["event"].notna().all()
        assert "AUC n/a: too few events, Brier score" in found.summary()
        assert found.auc().value == pytest.approx(table["auc"][1:].mean())

    def test_it_is_drawn_without_a_curve(self):
        plt = pytest.importorskip("matplotlib.pyplot")
        axes = exact(Known(), *rows(1000, 9, latest=4.0)).plot()
        assert [text.get_text() for text in axes[0].texts] == ["too few rows"]
        plt.close(axes[0].figure)


class TestRefusals:
    def test_parameters_of_other_models(self):
        X, y = rows(20, 0)
        with pytest.raises(ValueError, match="must be a public horizon"):
            exact(Known(), X, y, outcome={"type": "number", "low": 0, "high": 1})

        class Plain:
            def predict(self, X):
                return np.asarray(X)[:, 0]

        with pytest.raises(ValueError, match="must be public bounds"):
            exact(Plain(), X, y["time"])
        number = {"type": "number", "low": 0, "high": 1}
        with pytest.raises(ValueError, match=r"'times' parameter .* is for models of a time"):
            exact(Plain(), X, y["time"], outcome=number, times=[1])

    def test_a_release_needs_no_horizon(self):
        rng = np.random.default_rng(9)
        x = rng.uniform(-1, 1, (3000, 2))
        times = rng.exponential(12 * np.exp(-1.5 * x[:, 0]))
        y = outcomes(times <= 12, np.minimum(times, 12))
        with warnings.catch_warnings(action="ignore"):
            source = DPStatisticsSource(4.0, bounds=(-1, 1), outcome=OUTCOME, random_state=0)
            release = source.fit(x[:1500], y[:1500]).release_
            found = evaluate_privately(release, x[1500:], y[1500:], 4.0, random_state=0)
        table = found.at_times()
        assert (table["auc_low"] > 0.5).all()
        inside = (table["event_low"] < table["predicted"]) & (
            table["predicted"] < table["event_high"]
        )
        assert inside.sum() >= 2
        assert found.guarantee.epsilon == 4.0
        assert found.deviation == pytest.approx(gaussian_sigma(4.0, 1e-5) * np.sqrt(3), rel=0.01)
        with pytest.warns(PrivacyLeakWarning):
            evaluate_privately(release, x[1500:], y[1500:], 4.0, random_state=0)
