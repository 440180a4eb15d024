"""Curves of survival: those of a release, and predictions against what was observed."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource
from skdp.displays import SurvivalDisplay
from skdp.release import StepFunction
from skdp.utils._survival import kaplan_meier

plt = pytest.importorskip("matplotlib.pyplot")


def rows(n, seed):
    """Return rows of which the first column counts, and their events and times."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(0, 1, (n, 2)), np.zeros(n, dtype=[("event", bool), ("time", float)])
    times, left = rng.exponential(12 * np.exp(-2 * X[:, 0])), rng.uniform(0, 14, n)
    y["event"], y["time"] = times <= left, np.minimum(times, left)
    return X, y


def released(epsilon, n, seed):
    outcome = {"type": "event", "horizon": 8}
    with warnings.catch_warnings(action="ignore"):
        source = DPStatisticsSource(epsilon, bounds=(0, 1), outcome=outcome, random_state=seed)
        return source.fit(*rows(n, seed)).release_


@pytest.fixture(scope="module")
def release():
    return released(4.0, 4000, 0)


def survival(times):
    """Return the true share of rows without the event."""
    x = (np.arange(1000) + 0.5) / 1000
    return np.exp(-np.outer(times, np.exp(2 * x)) / 12).mean(axis=1)


class TestKaplanMeier:
    def test_by_hand(self):
        event = np.array([True, False, True, True, False])
        x, y, low, high = kaplan_meier(event, np.array([1.0, 2.0, 3.0, 3.0, 5.0]), 6.0)
        np.testing.assert_allclose(x, [0, 1, 3, 6])
        np.testing.assert_allclose(y, [1, 0.8, 0.8 / 3, 0.8 / 3])
        # Greenwood: 1/(5 4) + 2/(3 1), on the scale of log(-log S).
        half = 1.96 * np.sqrt(1 / 20 + 2 / 3) / -np.log(0.8 / 3)
        assert low[2] == pytest.approx((0.8 / 3) ** np.exp(half))
        assert high[2] == pytest.approx((0.8 / 3) ** np.exp(-half))

    def test_nobody_has_the_event(self):
        x, y, *_ = kaplan_meier(np.zeros(3, bool), np.ones(3), 6.0)
        np.testing.assert_allclose(x, [0, 6])
        np.testing.assert_allclose(y, [1, 1])

    def test_scikit_survival_agrees(self):
        sksurv = pytest.importorskip("sksurv.nonparametric")
        _, y = rows(300, 1)
        settings = {"conf_type": "log-log"}
        x, s, ends = sksurv.kaplan_meier_estimator(y["event"], y["time"], **settings)
        own = kaplan_meier(y["event"], y["time"], x[-1])
        at = np.searchsorted(own[0], x, side="right") - 1
        np.testing.assert_allclose(own[1][at], s)
        np.testing.assert_allclose(own[2][at][s < 1], ends[0][s < 1], atol=1e-4)


class TestRelease:
    def test_the_band_holds_the_truth(self, release):
        curve = SurvivalDisplay.from_release(release).curves
        assert curve[["time", "survival"]].iloc[0].tolist() == [0, 1]
        assert curve["time"].iloc[-1] == 8
        assert (np.diff(curve["survival"]) <= 0).all()
        assert (curve["low"] <= curve["survival"]).all()
        assert (curve["survival"] <= curve["high"]).all()
        np.testing.assert_allclose(curve["survival"], survival(curve["time"]), atol=0.03)

    def test_bands_hold_at_their_level(self):
        held = []
        for seed in range(24):
            curve = released(1.0, 600, 100 + seed).survival_curve(0.8).iloc[[60, 120, 200]]
            truth = survival(curve["time"])
            held.append((curve["low"] <= truth) & (truth <= curve["high"]))
        assert 0.66 < np.mean(held) < 0.97

    def test_they_are_wider_with_more_confidence_and_noise(self, release):
        def width(curve):
            return (curve["high"] - curve["low"]).iloc[-1]

        assert width(release.survival_curve(0.5)) < width(release.survival_curve())
        assert width(release.survival_curve()) < width(released(0.1, 4000, 0).survival_curve())
        with pytest.raises(ValueError, match=r"'confidence' parameter of Release\.survival_curve"):
            release.survival_curve(1.0)

    def test_other_releases_have_none(self):
        X, y = rows(200, 2)
        source = DPStatisticsSource(4.0, bounds=(0, 1), classes=[False, True])
        other = source.fit(X, y["event"]).release_
        with pytest.raises(ValueError, match="must be a Release about a time to an event"):
            SurvivalDisplay.from_release(other)


class TestRows:
    def test_a_curve_for_each_row(self, release):
        X, _ = rows(30, 3)
        display = SurvivalDisplay.from_estimator(release, X[:3])
        last = display.curves.groupby("name")["survival"].last()
        expected = release.predict_survival_function(X[:3], return_array=True)[:, -1]
        np.testing.assert_allclose(last, expected)
        assert len(display.plot().lines_) == 3
        plt.close(display.figure_)
        with pytest.raises(ValueError, match="has 30 rows, and each has a curve up to 20"):
            SurvivalDisplay.from_estimator(release, X)

    def test_groups_by_risk_are_compared_with_what_was_observed(self, release):
        X, y = rows(3000, 4)
        display = SurvivalDisplay.from_estimator(release, X, y, n_groups=3)
        names = ["lowest risk", "group 2", "highest risk"]
        assert display.curves["name"].unique().tolist() == names
        last = display.curves.groupby("name")["survival"].last()[names].to_numpy()
        assert (np.diff(last) < 0).all()
        observed = display.observed.groupby("name")["survival"].last()[names].to_numpy()
        np.testing.assert_allclose(last, observed, atol=0.08)
        assert len(display.plot().lines_) == 6
        labels = display.ax_.get_legend_handles_labels()[1]
        assert labels == [*names, "observed"]
        plt.close(display.figure_)

    def test_tables_and_other_models(self, release):
        class Known:
            def predict_survival_function(self, X):
                return [StepFunction(np.array([0.0, 4.0]), np.array([1.0, 0.5])) for _ in X]

        X, y = rows(50, 5)
        own = SurvivalDisplay.from_estimator(Known(), X, y)
        assert own.curves["name"].unique().tolist() == ["all rows"]
        table = pd.DataFrame({name: y[name] for name in ("time", "event")})
        for given in (table, y):
            display = SurvivalDisplay.from_estimator(release, X, given)
            assert display.observed["survival"].min() < 1

    def test_refusals_quote_no_row(self, release):
        X, y = rows(50, 6)
        text = pd.DataFrame({"time": ["secret"] * 50, "event": y["event"]})
        negative = y.copy()
        negative["time"][0] = -1
        for wrong in (text, negative, y[:10], [1] * 50, y["time"]):
            with pytest.raises(ValueError, match="'y' parameter of SurvivalDisplay") as caught:
                SurvivalDisplay.from_estimator(release, X, wrong)
            assert "secret" not in str(caught.value)
        for n_groups in (0, 51, 2.0):
            with pytest.raises(ValueError, match="'n_groups' parameter of SurvivalDisplay"):
                SurvivalDisplay.from_estimator(release, X, n_groups=n_groups)
