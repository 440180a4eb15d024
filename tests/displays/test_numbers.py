"""What is drawn equals what is computed in another way."""

import warnings
from datetime import date

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest, norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB

from skdp import DPStatisticsSource, DPTransferClassifier, OptimalDPNoise, plan_release
from skdp.displays import (
    AuditDisplay,
    CalibrationDisplay,
    ExplanationDisplay,
    LedgerDisplay,
    PredictionErrorDisplay,
    PrivacyUtilityDisplay,
    ReleaseDisplay,
    ShapeFunctionsDisplay,
)
from skdp.displays._base import claimed_rates
from skdp.privacy import Mechanism, PrivacyGuarantee, PrivacyLedger, gaussian_sigma
from skdp.privacy.audit import audit_mechanism
from skdp.tabular import ColumnEffect, Explanation, NumberEffect, NumberExplanation

plt = pytest.importorskip("matplotlib.pyplot")


def gaussian(epsilon, delta=1e-5):
    noise = [Mechanism("gaussian", epsilon, delta)]
    what = {"unit": "labeled record", "relation": "add/remove"}
    return PrivacyGuarantee("noisy sums", noise, None, 4, "sums", "nothing", **what)


def stated(epsilon, delta):
    what = {"unit": "labeled record", "relation": "add/remove"}
    return PrivacyGuarantee("m", [Mechanism("any", epsilon, delta)], None, 4, "c", "e", **what)


class TestCalibration:
    def test_groups_by_hand(self):
        y = np.array([0, 0, 1, 0, 1, 1, 1, 1])
        p = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
        curve = CalibrationDisplay.from_predictions(y, p, n_bins=2).curve
        assert_allclose(curve["probability"], [0.25, 0.75])
        assert_allclose(curve["frequency"], [0.25, 1.0])
        assert_allclose(curve["rows"], [0.5, 0.5])
        for k, hits in enumerate((1, 4)):
            interval = binomtest(hits, 4).proportion_ci(0.95, method="exact")
            assert_allclose(curve.loc[k, ["low", "high"]].astype(float), interval)

    def test_steps_of_equal_width(self):
        rng = np.random.default_rng(0)
        p = rng.uniform(size=500) ** 3
        y = rng.uniform(size=500) < p
        settings = {"n_bins": 5, "strategy": "uniform", "confidence": 0.8}
        curve = CalibrationDisplay.from_predictions(y, p, **settings).curve
        for k, low in enumerate((0, 0.2, 0.4, 0.6, 0.8)):
            here = (p > low) & (p <= low + 0.2)
            assert curve["frequency"][k] == pytest.approx(y[here].mean())
            interval = binomtest(int(y[here].sum()), here.sum()).proportion_ci(0.8)
            assert curve["high"][k] == pytest.approx(interval.high)

    def test_ties_stay_in_one_group(self):
        curve = CalibrationDisplay.from_predictions([0, 1, 0, 1], [0.5] * 4).curve
        assert len(curve) == 1
        assert curve["frequency"][0] == 0.5

    def test_an_estimator_and_a_release(self, table, release):
        X, y = table
        display = CalibrationDisplay.from_estimator(release, X, y)
        p = release.predict_proba(X)[:, 1]
        pd.testing.assert_frame_equal(
            display.curve, CalibrationDisplay.from_predictions(y == "yes", p).curve
        )
        model = LogisticRegression().fit(X[["dose"]], y)
        other = CalibrationDisplay.from_estimator(model, X[["dose"]], y, positive="no").plot()
        assert other.ax_.get_xlabel() == "probability of no"
        assert display.plot(other.ax_).ax_ is other.ax_
        labels = other.ax_.get_legend_handles_labels()[1]
        assert sorted(labels) == ["LogisticRegression", "Release", "perfectly calibrated"]
        plt.close(other.figure_)
        with pytest.raises(ValueError, match=r"'positive' parameter .*'maybe'"):
            CalibrationDisplay.from_estimator(release, X, y, positive="maybe")

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"y_true": ["a", "b"]}, "'y_true'"),
            ({"y_prob": [0.5, 1.5]}, "'y_prob'"),
            ({"y_prob": [0.5]}, "'y_prob'"),
            ({"n_bins": 0}, "'n_bins'"),
            ({"strategy": "some"}, "'strategy'"),
            ({"confidence": 1.0}, "'confidence'"),
        ],
    )
    def test_refusals(self, change, named):
        given = {"y_true": [0, 1], "y_prob": [0.2, 0.7]} | change
        with pytest.raises(ValueError, match=named):
            CalibrationDisplay.from_predictions(**given)


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
    def test_roc_by_hand(self):
        is_member = [True, True, False, True, False, False]
        display = AuditDisplay.from_predictions(is_member, [6, 5, 4, 3, 2, 1], name="a").plot()
        fpr, tpr = display.lines_["a"].get_data()
        assert_allclose(tpr[np.isclose(fpr, 1 / 3)], [2 / 3, 1.0])
        assert (tpr[fpr > 1 / 3 + 1e-9] == 1).all()
        assert tpr[fpr == fpr.min()].max() == pytest.approx(2 / 3)
        assert display.claim_ is None
        plt.close(display.figure_)

    def test_between_corners_a_curve_is_straight(self):
        """Random decisions between two thresholds, on logarithmic axes a bent line."""
        curves = {"a": (np.array([0, 0.5, 1]), np.array([0, 0.9, 1]))}
        display = AuditDisplay(curves, gaussian(2.0)).plot()
        fpr, tpr = display.lines_["a"].get_data()
        assert_allclose(tpr, np.maximum(np.interp(fpr, *curves["a"]), 1e-3), atol=2e-3)
        rates, most = display.claim_.get_data()
        assert_allclose(most, claimed_rates(gaussian(2.0), rates))
        plt.close(display.figure_)

    def test_lower_bound_of_a_mechanism(self):
        report = audit_mechanism(OptimalDPNoise(1.0), n_trials=20_000)
        display = AuditDisplay.from_report(report)
        assert display.bound == (report.epsilon_lower, 0.0)
        display.plot()
        _, labels = display.ax_.get_legend_handles_labels()
        assert f"refuted: ε < {report.epsilon_lower:.3g}" in labels
        plt.close(display.figure_)

    def test_refusals(self):
        with pytest.raises(ValueError, match="of one length"):
            AuditDisplay.from_predictions([True, False], [1.0])
        with pytest.raises(ValueError, match="some records as members"):
            AuditDisplay.from_predictions([True, True], [1.0, 2.0])


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

    @pytest.mark.filterwarnings("ignore:.*may tell the classes apart no better")
    def test_sources_by_cross_validation(self):
        rng = np.random.RandomState(0)
        y = rng.randint(0, 2, 600)
        X = np.clip(rng.uniform(size=(600, 2)) + 0.3 * y[:, np.newaxis], 0, 1)
        models = {
            "release": DPStatisticsSource(bounds=(0, 1), classes=[0, 1]),
            "not private": GaussianNB(),
        }
        # Noise has no seed: a single direction of pure noise may be right by chance, 24 are not.
        cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=8, random_state=0)
        settings = {"epsilon": [0.005, 50.0], "cv": cv, "scoring": "roc_auc"}
        display = PrivacyUtilityDisplay.from_estimator(models, X, y, **settings)
        by_model = display.table.set_index("model")
        scores = by_model.loc["release", "score"].tolist()
        assert scores[0] < scores[1] - 0.05
        folds = np.array_split(np.arange(600), 3)
        assert by_model.loc["not private", "epsilon"] == np.inf
        own = roc_auc_score(
            y[folds[0]],
            GaussianNB().fit(X[200:], y[200:]).predict_proba(X[folds[0]])[:, 1],
        )
        assert by_model.loc["not private", "score"] == pytest.approx(own, abs=0.05)
        with pytest.raises(ValueError, match=r"'param_name' parameter .*none of the estimators"):
            PrivacyUtilityDisplay.from_estimator(GaussianNB(), X, y)

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"it lacks \['score'\]"):
            PrivacyUtilityDisplay.from_scores(pd.DataFrame({"epsilon": [1.0]}))
        with pytest.raises(ValueError, match="above 0"):
            PrivacyUtilityDisplay.from_scores(pd.DataFrame({"epsilon": [0.0], "score": [1.0]}))


class TestLedger:
    def test_totals_of_gaussian_noise(self, ledger):
        """μ of several releases is the root of the sum of their squares."""
        display = LedgerDisplay.from_ledger(ledger).plot()
        mu = np.sqrt(2) / gaussian_sigma(1.0, 1e-5)
        together = ledger.total
        assert 1 / gaussian_sigma(together.epsilon, together.delta) == pytest.approx(mu, rel=1e-3)
        assert_allclose(display.line_.get_ydata(), [1.0, together.epsilon])
        assert (display.spent, display.left) == (together.epsilon, 4.0 - together.epsilon)
        heights = [bar.get_height() for bar in display.ax_.patches[:2]]
        assert_allclose(heights, [1.0, together.epsilon - 1.0])
        plt.close(display.figure_)

    def test_dates(self, ledger):
        dates = [date(2026, 3, 1), date(2026, 9, 1)]
        display = LedgerDisplay.from_ledger(ledger, dates=dates).plot()
        assert pd.DatetimeIndex(display.line_.get_xdata()).date.tolist() == dates
        plt.close(display.figure_)
        for wrong in (dates[:1], dates[::-1]):
            with pytest.raises(ValueError, match="'dates' parameter"):
                LedgerDisplay.from_ledger(ledger, dates=wrong)

    def test_the_ledgers_own_dates(self, ledger):
        display = LedgerDisplay.from_ledger(ledger).plot()
        labels = [label.get_text().split("\n")[-1] for label in display.ax_.get_xticklabels()]
        assert labels == [day[:10] for day in ledger.dates]
        plt.close(display.figure_)
        display = LedgerDisplay.from_ledger(ledger, dates=ledger.dates).plot()
        assert len(display.line_.get_xdata()) == 2
        plt.close(display.figure_)

    def test_without_a_limit_and_without_entries(self):
        ledger = PrivacyLedger()
        with pytest.raises(ValueError, match="has no entries"):
            LedgerDisplay.from_ledger(ledger)
        ledger.spend(gaussian(1.0))
        assert LedgerDisplay.from_ledger(ledger).left == np.inf


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


class TestShapes:
    def test_widest_first(self):
        lines = [(f"c{k}", v, k * v, 0.1) for k in range(14) for v in (-1.0, 1.0)]
        effects = pd.DataFrame(lines, columns=["column", "value", "effect", "noise"])
        display = ShapeFunctionsDisplay(effects).plot()
        assert [ax.get_title() for ax in display.axes_.flat] == [f"c{k}" for k in range(13, 1, -1)]
        heights = [bar.get_height() for bar in display.ax_.patches]
        assert_allclose(heights, [-13, 13])  # of few numbers, bars
        plt.close(display.figure_)

    def test_bands_are_two_deviations(self):
        x = np.linspace(0, 1, 33)
        effects = pd.DataFrame({"column": "a", "value": x, "effect": x**2, "noise": 0.25 * x})
        display = ShapeFunctionsDisplay(effects).plot()
        assert_allclose(display.ax_.lines[0].get_ydata(), x**2)
        [band] = display.ax_.collections
        ends = band.get_paths()[0].vertices
        for k in (8, 32):
            here = ends[np.isclose(ends[:, 0], (x[k] + x[k - 1]) / 2), 1]
            assert np.isclose(here, x[k] ** 2 + 0.5 * x[k]).any()
            assert np.isclose(here, x[k] ** 2 - 0.5 * x[k]).any()
        plt.close(display.figure_)


def explain(label, age, sex, other=None):
    runner_up = {"no": "yes", "yes": "no"}.get(label) if other is None else other
    columns = (
        ColumnEffect("age", 50.0 + age, age, (runner_up,), 40.0, 62.5, (18.0, 99.0)),
        ColumnEffect("sex", "F", sex, (), values=("F", "M")),
    )
    return Explanation(label, 0.8, runner_up, 4.0, columns, ("age",), 1.0)


class TestExplanation:
    def test_one_row(self):
        display = ExplanationDisplay.from_explanation(explain("yes", -0.5, 1.5)).plot()
        assert_allclose([bar.get_width() for bar in display.bars_], [1.5, -0.5])
        labels = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert labels == ["sex = F", "age = 49.5"]
        texts = [text.get_text() for text in display.ax_.texts]
        assert texts == ["stays while age is between 40 and 62.5"]
        assert display.ax_.get_xlabel() == "adds to the log-odds of yes against no"
        plt.close(display.figure_)

    def test_many_rows_are_summed_up_towards_one_class(self):
        rows = [explain("yes", 1.0, 0.5), explain("no", 2.0, -0.25), explain("no", -3.0, 0.25)]
        display = ExplanationDisplay.from_explanation(rows).plot()
        assert display.importances.to_dict() == {"age": 2.0, "sex": pytest.approx(1 / 3)}
        assert_allclose(display.dots_[0].get_offsets()[:, 0], [1.0, -2.0, 3.0])
        assert_allclose(display.dots_[0].get_array(), [0.5, 1.0, 0.0])
        assert_allclose(display.dots_[1].get_offsets()[:, 0], [0.5, 0.25, -0.25])
        assert display.dots_[1].get_array() is None  # of categories there is no order
        plt.close(display.figure_)
        turned = ExplanationDisplay.from_explanation(rows, positive="no")
        assert_allclose(turned.effects["effect"], -display.effects["effect"])
        with pytest.raises(ValueError, match="'positive' parameter"):
            ExplanationDisplay.from_explanation(rows, positive="maybe")
        with pytest.raises(ValueError, match="has no rows"):
            ExplanationDisplay.from_explanation([])

    def test_of_a_number(self):
        def explained(effect):
            dose = NumberEffect("dose", 0.5, effect, 2.0, 4.5)
            return NumberExplanation(3.0, 1.5, (dose, NumberEffect("sex", "F", 0.25, 3.0, 3.0)))

        display = ExplanationDisplay.from_explanation(explained(-1.0)).plot()
        assert_allclose([bar.get_width() for bar in display.bars_], [-1.0, 0.25])
        assert [text.get_text() for text in display.ax_.texts] == ["2 to 4.5 by other values"]
        assert display.ax_.get_xlabel() == "adds to the predicted number"
        assert display.title == "3, with a standard deviation of 1.5"
        plt.close(display.figure_)
        rows = ExplanationDisplay.from_explanation([explained(-1.0), explained(2.0)])
        assert rows.effects["effect"].tolist() == [-1.0, 0.25, 2.0, 0.25]
        with pytest.raises(ValueError, match="mixes classes and numbers"):
            ExplanationDisplay.from_explanation([explained(1.0), explain("yes", 1.0, 0.5)])

    def test_of_three_classes_each_row_has_its_own(self):
        rows = [explain("yes", 1.0, 0.5), explain("no", 2.0, 0.5, other="maybe")]
        display = ExplanationDisplay.from_explanation(rows)
        assert display.about == "adds to the log-odds of the predicted class"
        assert display.effects["effect"].tolist() == [1.0, 0.5, 2.0, 0.5]

    def test_rows_of_a_classifier(self, table, release):
        X, y = table
        marked = np.where(np.arange(60) < 30, y[:60], None)
        model = DPTransferClassifier(release, random_state=0).fit(X[:60], marked)
        display = ExplanationDisplay.from_estimator(model, X[60:63])
        for k in range(3):
            one = model.explain(X.iloc[60 + k])
            sign = 1 if one.label == "yes" else -1
            own = display.effects[display.effects["row"] == k].set_index("column")["effect"]
            assert own.to_dict() == {c.name: sign * c.effect for c in one.columns}
        assert display.importances.index[0] == "dose"
        one = ExplanationDisplay.from_estimator(model, X[60:61])
        assert one.title == f"{model.predict(X[60:61])[0]}, with probability " + (
            f"{model.predict_proba(X[60:61]).max():.2f}"
        )


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
    def test_predictions_against_what_was_observed(self, number_release):
        release, X, y = number_release
        display = PredictionErrorDisplay.from_estimator(release, X, y, n_bins=5).plot()
        order = np.argsort(release.predict(X), kind="stable")
        first = order[:600]
        assert display.curve["rows"].tolist() == [0.2] * 5
        assert display.curve["outcome"][0] == pytest.approx(y[first].mean())
        assert_allclose(display.errorbar_[0].get_ydata(), display.curve["outcome"])
        mean = (display.residuals["residual"] * display.residuals["share"]).sum()
        assert mean == pytest.approx((y - release.predict(X)).mean(), abs=0.3)
        plt.close(display.figure_)

    def test_intervals_of_means_are_those_of_sampling(self, number_release):
        _, X, y = number_release
        expected = 10 + 4 * X[:, 0]
        for shift, share in ((0.0, (0.85, 1.0)), (0.7, (0.0, 0.2))):
            curve = PredictionErrorDisplay.from_predictions(y, expected + shift, n_bins=20).curve
            inside = curve["prediction"].between(curve["low"], curve["high"]).mean()
            assert share[0] <= inside <= share[1]

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (([1.0, np.nan], [1.0, 2.0]), "y_true contains NaN"),
            (([1.0, 2.0], [1.0]), "inconsistent numbers of samples"),
            ((["long"], [1.0]), "could not convert"),
        ],
    )
    def test_what_is_no_number_is_refused(self, given, message):
        with pytest.raises(ValueError, match=message):
            PredictionErrorDisplay.from_predictions(*given)

    def test_effects_are_in_the_unit_of_the_outcome(self, number_release):
        axes = number_release[0].plot_effects()
        assert axes.flat[0].get_ylabel() == "adds to the outcome"
        plt.close(axes.flat[0].figure)

    def test_a_release_has_no_rows_of_classes(self, number_release):
        display = ReleaseDisplay.from_release(number_release[0]).plot()
        assert display.counts is display.areas is None
        plt.close(display.figure_)
