"""Survival by a release."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource
from skdp.displays import SurvivalDisplay

pytest.importorskip("matplotlib.pyplot")


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


class TestRelease:
    def test_the_band_holds_the_truth(self, release):
        curve = SurvivalDisplay.from_release(release).curve
        assert curve[["time", "survival"]].iloc[0].tolist() == [0, 1]
        assert curve["time"].iloc[-1] == 8
        assert (np.diff(curve["survival"]) <= 0).all()
        assert (curve["low"] <= curve["survival"]).all()
        assert (curve["survival"] <= curve["high"]).all()
        np.testing.assert_allclose(curve["survival"], survival(curve["time"]), atol=0.03)

    @pytest.mark.usefixtures("quick_noise", "no_rehearsals", "no_doubts")
    def test_bands_hold_at_their_level(self):
        held = []
        for seed in range(24):
            curve = released(1.0, 600, 100 + seed).survival_curve(0.8).iloc[[60, 120, -1]]
            truth = survival(curve["time"])
            held.append((curve["low"] <= truth) & (truth <= curve["high"]))
        # With this much noise they are too wide.
        assert 0.66 < np.mean(held) < 0.99

    def test_they_are_wider_with_more_confidence_and_noise(self, release):
        def width(curve):
            return (curve["high"] - curve["low"]).iloc[-1]

        assert width(release.survival_curve(0.5)) < width(release.survival_curve())
        assert width(release.survival_curve()) < width(released(0.1, 4000, 0).survival_curve())
        with pytest.raises(ValueError, match=r"'confidence' parameter of Release\.survival_curve"):
            release.survival_curve(1.0)

    def test_curves_of_rows_are_the_mean_of_their_curves(self, release):
        X = pd.DataFrame(rows(50, 1)[0])
        display = SurvivalDisplay.from_estimator(release, X).plot()
        mean = release.predict_survival_function(X, return_array=True).mean(axis=0)
        np.testing.assert_allclose(display.curve["survival"], np.append(1, mean))
        assert display.line_.get_xdata()[-1] == release.unique_times_[-1]
        with pytest.raises(ValueError, match="must be a model of times to an event"):
            SurvivalDisplay.from_estimator(display, X)

    def test_other_releases_have_none(self):
        X, y = rows(200, 2)
        source = DPStatisticsSource(4.0, bounds=(0, 1), classes=[False, True])
        other = source.fit(X, y["event"]).release_
        with pytest.raises(ValueError, match=r"a time to an event, got one about .*class"):
            SurvivalDisplay.from_release(other)
        with pytest.raises(ValueError, match="a time to an event, got a str"):
            SurvivalDisplay.from_release("clinic.skdp")
