"""What is drawn equals what is computed in another way."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from skdp import DPStatisticsSource, evaluate_privately, plan_release
from skdp.displays import (
    AuditDisplay,
    EffectsDisplay,
    EvaluationDisplay,
    PrivacyUtilityDisplay,
    ReleaseDisplay,
)
from skdp.displays._base import claimed_rates
from skdp.privacy import Mechanism, PrivacyGuarantee, gaussian_sigma
from skdp.privacy.audit._evidence import Evidence

plt = pytest.importorskip("matplotlib.pyplot")


def gaussian(epsilon, delta=1e-5):
    noise = [Mechanism("gaussian", epsilon, delta)]
    what = {"unit": "labeled record", "relation": "add/remove"}
    return PrivacyGuarantee("noisy sums", noise, None, 4, "sums", "nothing", **what)


def stated(epsilon, delta):
    what = {"unit": "labeled record", "relation": "add/remove"}
    return PrivacyGuarantee("m", [Mechanism("any", epsilon, delta)], None, 4, "c", "e", **what)


class TestClaims:
    def test_gaussian_noise_has_a_closed_form(self):
        """Φ(μ + Φ⁻¹(α)), of Dong, Roth and Su (2022)."""
        rates = np.linspace(0.001, 0.999, 50)
        mu = 1 / gaussian_sigma(2.0, 1e-5)
        exact = norm.cdf(mu + norm.ppf(rates))
        found = claimed_rates(gaussian(2.0), rates)
        assert (found > exact - 1e-9).all()
        assert_allclose(found, exact, atol=2e-3)

    def test_any_mechanism_has_two_lines(self):
        """Kairouz, Oh and Viswanath (2015), with δ = 0: e^ε α, and 1 − e^−ε (1 − α)."""
        rates = np.array([0.0, 0.1, 0.5, 1.0])
        expected = np.minimum(np.e * rates, 1 - (1 - rates) / np.e)
        assert_allclose(claimed_rates(stated(1.0, 0.0), rates), expected, atol=1e-12)
        slack = claimed_rates(stated(1.0, 0.01), rates)
        assert_allclose(slack, np.minimum(np.minimum(expected + 0.01, 1), slack))
        assert slack[0] == pytest.approx(0.01)

    def test_no_noise_claims_nothing(self):
        assert_allclose(claimed_rates(stated(np.inf, 0.0), [0.0, 0.5]), 1)


class TestAudit:
    def test_between_corners_a_curve_is_straight(self):
        """Random decisions between two thresholds, on logarithmic axes a bent line."""
        curves = {"a": (np.array([0, 0.5, 1]), np.array([0, 0.9, 1]))}
        display = AuditDisplay(curves, gaussian(2.0)).plot()
        fpr, tpr = display.lines_["a"].get_data()
        assert_allclose(tpr, np.maximum(np.interp(fpr, *curves["a"]), 1e-3), atol=2e-3)
        rates, most = display.claim_.get_data()
        assert_allclose(most, claimed_rates(gaussian(2.0), rates))
        plt.close(display.figure_)

    def test_lower_bound_of_a_source(self):
        evidence = Evidence(2.0, 1e-5, 0.4567, 0.95, 1000, 1000)
        report = SimpleNamespace(evidence=evidence, guarantee=gaussian(2.0), verdict="")
        display = AuditDisplay.from_report(report)
        assert display.bound == (0.4567, 1e-5)
        display.plot()
        _, labels = display.ax_.get_legend_handles_labels()
        assert "refuted: ε < 0.457" in labels
        plt.close(display.figure_)


class TestUtility:
    def test_means_and_deviations(self):
        rng = np.random.default_rng(0)
        scores = pd.DataFrame(
            {
                "model": np.repeat(["b", "a"], 30),
                "epsilon": np.tile([4.0, 0.5, np.inf], 20),
                "score": rng.uniform(size=60),
            }
        )
        display = PrivacyUtilityDisplay.from_scores(scores, score_name="AUC").plot()
        assert display.table["model"].tolist() == ["b"] * 3 + ["a"] * 3
        for row in display.table.itertuples():
            here = (scores["model"] == row.model) & (scores["epsilon"] == row.epsilon)
            values = scores.loc[here, "score"].to_numpy()
            assert row.score == pytest.approx(values.mean())
            assert row.sd == pytest.approx(np.sqrt(np.sum((values - values.mean()) ** 2) / 9))
        assert display.ax_.get_xscale() == "log"
        first = display.lines_[0]
        assert first.get_xdata().tolist() == [0.5, 4.0]  # rising to the right
        left, right = display.ax_.get_xlim()
        assert left < right
        plt.close(display.figure_)

    def test_a_plan(self):
        column = {"age": {"type": "numeric", "low": 0, "high": 100}}
        schema = {"version": 1, "classes": ["died", "home"], "columns": column}
        settings = {"epsilon": [0.1, 10], "effects": "strong", "n_draws": 2, "random_state": 0}
        plan = plan_release(schema, 100, (0.5, 0.5), **settings)
        table = PrivacyUtilityDisplay.from_plan(plan).table
        assert_allclose(table["score"][:2], plan.table["auc"])
        assert_allclose(table["sd"][:2], plan.table["auc_sd"])
        assert np.isinf(table["epsilon"][2])
        assert table["score"][2] == plan.table["auc_without_noise"][0]

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"it lacks \['score'\]"):
            PrivacyUtilityDisplay.from_scores(pd.DataFrame({"epsilon": [1.0]}))
        with pytest.raises(ValueError, match="above 0"):
            PrivacyUtilityDisplay.from_scores(pd.DataFrame({"epsilon": [0.0], "score": [1.0]}))


class TestEvaluation:
    def test_of_classes(self, table, release):
        evaluation = evaluate_privately(release, *table, epsilon=8.0)
        display = EvaluationDisplay.from_evaluation(evaluation).plot()
        [line, _] = display.ax_.lines
        roc, curve = evaluation.roc_curve(), evaluation.calibration_curve()
        assert_allclose(line.get_xydata(), roc[["false_positives", "true_positives"]])
        points = display.axes_[0, 1].lines[0].get_xydata()
        assert_allclose(points, curve[["probability", "frequency"]])
        assert display.axes_[0, 1].get_xlabel() == "probability of yes"
        plt.close(display.figure_)

    def test_of_a_number(self, number_release):
        evaluation = evaluate_privately(*number_release, epsilon=8.0)
        display = EvaluationDisplay.from_evaluation(evaluation).plot()
        residuals, curve = evaluation.residuals(), evaluation.prediction_curve()
        assert_allclose(display.ax_.lines[0].get_xydata(), residuals[["residual", "share"]])
        points = display.axes_[0, 1].lines[0].get_xydata()
        assert_allclose(points, curve[["prediction", "outcome"]])
        plt.close(display.figure_)


class TestRelease:
    def test_numbers_are_those_of_the_release(self, release):
        display = ReleaseDisplay.from_release(release)
        table = release.describe_columns()
        rows = table[(table["statistic"] == "rows") & table["class"].notna()]
        assert_allclose(display.counts["value"], rows["value"])
        assert display.areas["classes"].tolist() == ["no and yes"]
        assert display.areas["value"][0] == release.linear.expected_auc[0, 1]
        dose = display.places[display.places["column"] == "dose (0 to 10)"].set_index("class")
        means = table[(table["column"] == "dose") & (table["statistic"] == "mean")]
        for row in means[means["class"].notna()].itertuples():
            assert dose.loc[row[3], "value"] == pytest.approx(row.value / 10)
        ward = table[table["statistic"] == "share of B"].set_index("class")["value"]
        found = display.places[display.places["column"] == "ward = B"].set_index("class")["value"]
        assert_allclose(found, ward[found.index])

    def test_what_is_unknown_of_a_class_is_not_drawn(self, release, monkeypatch):
        # As of a class whose noisy number of rows is not above zero.
        table = release.describe_columns()
        table.loc[table["class"] == "no", ["value", "low", "high"]] = np.nan, -np.inf, np.inf
        monkeypatch.setattr(type(release), "describe_columns", lambda self: table)
        places = ReleaseDisplay.from_release(release).places.set_index(["column", "class"])
        assert places.xs("no", level="class")["value"].isna().all()
        assert places.xs("yes", level="class")["value"].notna().all()
        assert {"dose (0 to 10)", "ward = B"} <= set(places.index.get_level_values("column"))

    def test_arrays_of_many_classes(self):
        rng = np.random.RandomState(0)
        y = rng.randint(0, 6, 900)
        X = np.clip(rng.uniform(-1, 1, (900, 3)) + y[:, np.newaxis] / 6, -1, 1)
        release = DPStatisticsSource(8.0, bounds=(-1, 1), classes=range(6)).fit(X, y).release_
        display = ReleaseDisplay.from_release(release, max_columns=2).plot()
        assert len(display.areas) == 15
        assert display.places["column"].nunique() == 2
        means = release.describe_columns().query("column == 'x0' and statistic == 'mean'")
        mean = means[means["class"] == 5]["value"].iloc[0]
        x0 = display.places[display.places["column"] == "x0 (-1 to 1)"].set_index("class")
        if len(x0):
            assert x0.loc[5, "value"] == pytest.approx((mean + 1) / 2)
        assert display.ax_.get_title() == "Rows of each class"
        plt.close(display.figure_)


class TestEffects:
    def test_widest_first(self):
        lines = [(f"c{k}", v, k * v) for k in range(14) for v in (-1.0, 1.0)]
        effects = pd.DataFrame(lines, columns=["column", "value", "effect"])
        display = EffectsDisplay(effects).plot()
        assert [ax.get_title() for ax in display.axes_.flat] == [f"c{k}" for k in range(13, 1, -1)]
        heights = [bar.get_height() for bar in display.ax_.patches]
        assert_allclose(heights, [-13, 13])  # of few numbers, bars
        plt.close(display.figure_)

    def test_a_line_shows_the_effects(self):
        x = np.linspace(0, 1, 33)
        display = EffectsDisplay(pd.DataFrame({"column": "a", "value": x, "effect": x**2})).plot()
        assert_allclose(display.ax_.lines[0].get_ydata(), x**2)
        plt.close(display.figure_)


@pytest.fixture(scope="module")
def number_release():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 2))
    y = 10 + 4 * X[:, 0] + rng.normal(0, 2, 3000)
    outcome = {"type": "number", "low": 0, "high": 20}
    settings = {"bounds": (-1, 1), "outcome": outcome, "random_state": 0}
    with warnings.catch_warnings(action="ignore"):
        return DPStatisticsSource(8.0, **settings).fit(X, y).release_, X, y


class TestNumbersAsOutcomes:
    def test_effects_are_in_the_unit_of_the_outcome(self, number_release):
        axes = EffectsDisplay.from_release(number_release[0]).plot().axes_
        assert axes.flat[0].get_ylabel() == "adds to the outcome"
        plt.close(axes.flat[0].figure)

    def test_a_release_has_no_rows_of_classes(self, number_release):
        display = ReleaseDisplay.from_release(number_release[0]).plot()
        assert display.counts is display.areas is None
        plt.close(display.figure_)
