"""Private evaluation: counts and their noise, limits without noise, intervals, refusals, files."""

import json
import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    roc_auc_score,
)

from skdp import evaluate_privately
from skdp.privacy import gaussian_sigma
from skdp.release import SCORE_BINS, PrivateEvaluation
from skdp.release._score_posterior import posterior_draws
from skdp.tabular import ClassOutcome


class Known:
    """A model whose probabilities are the rows themselves."""

    def __init__(self, classes):
        self.classes_ = np.array(classes)

    def predict_proba(self, X):
        X = np.asarray(X)
        return np.column_stack([1 - X[:, 0], X[:, 0]]) if len(self.classes_) == 2 else X


def scored(n, seed, classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    logits = rng.normal(0, 1, (n, classes)) + 1.5 * np.eye(classes)[y]
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    return (p[:, 1:] if classes == 2 else p), y


def exact(model, X, y, **settings):
    with warnings.catch_warnings(action="ignore"):
        return evaluate_privately(model, X, y, epsilon=np.inf, **settings)


class TestWithoutNoise:
    def test_two_classes_are_judged_as_by_scikit_learn(self):
        X, y = scored(3000, 0)
        found = exact(Known([0, 1]), X, y)
        binned = expit(SCORE_BINS.centers)[SCORE_BINS.of(X[:, 0])]
        assert found.auc().value == pytest.approx(roc_auc_score(y, binned), abs=1e-12)
        assert found.log_loss().value == pytest.approx(log_loss(y, binned), abs=1e-12)
        assert found.brier_score().value == pytest.approx(brier_score_loss(y, binned), abs=1e-12)
        # Bins cost little: log-odds are at most an eighth off.
        assert found.auc().value == pytest.approx(roc_auc_score(y, X[:, 0]), abs=2e-3)
        assert found.log_loss().value == pytest.approx(log_loss(y, X[:, 0]), abs=3e-3)
        shares = found.confusion()
        (tn, fp), (fn, tp) = confusion_matrix(y, X[:, 0] >= 0.5) / len(y)
        names = ("true negative", "false positive", "false negative", "true positive")
        for name, value in zip(names, (tn, fp, fn, tp), strict=True):
            assert shares[name].value == pytest.approx(value)
        assert shares["accuracy"].value == pytest.approx(accuracy_score(y, X[:, 0] >= 0.5))
        assert shares["sensitivity"].value == pytest.approx(tp / (tp + fn))
        assert found.n_rows.value == 3000

    def test_rows_of_no_class_and_probabilities_that_are_none_are_no_errors(self):
        X, y = scored(50, 2)
        strange = np.where(np.arange(50) < 10, 7.0, y)
        X[20] = np.nan
        assert exact(Known([0, 1]), X, strange).n_rows.value == 40


def test_intervals_hold_what_they_promise():
    """Over-confident scores, so that calibration is learned and not assumed."""
    truth_rng, rng = np.random.default_rng(0), np.random.RandomState(1)

    def histograms(n, generator):
        y = generator.random(n) < 0.2
        scores = 1.8 * (1.3 * generator.normal(1.3 * y, 1) - 0.85 + logit(0.2))
        bins = SCORE_BINS.of(expit(scores))
        return np.stack([np.bincount(bins[y == c], minlength=SCORE_BINS.n) for c in (0, 1)])

    guarantee = exact(Known([0, 1]), *scored(10, 0)).guarantee
    outcome = ClassOutcome((0, 1))
    true = PrivateEvaluation(outcome, [histograms(500_000, truth_rng)], 0.0, guarantee)
    deviation, held = gaussian_sigma(1.0, 1e-5), []
    measures = [PrivateEvaluation.auc, PrivateEvaluation.log_loss, PrivateEvaluation.brier_score]
    expected = [measure(true).value for measure in measures]
    for seed in range(25):
        noisy = histograms(1500, np.random.default_rng(seed)) + rng.normal(
            0, deviation, (2, SCORE_BINS.n)
        )
        draws = posterior_draws(noisy, SCORE_BINS.centers, deviation, 200, rng)
        found = PrivateEvaluation(outcome, [noisy], deviation, guarantee)
        object.__setattr__(found, "_draws", draws[np.newaxis])
        ends = [measure(found) for measure in measures]
        held.append([e.low <= x <= e.high for e, x in zip(ends, expected, strict=True)])
        assert np.ptp([e.high - e.low for e in ends]) < 0.5
    assert 0.88 <= np.mean(held) <= 1.0  # intervals half as wide hold two thirds


@pytest.fixture(scope="module")
def evaluation():
    X, y = scored(20_000, 10)
    labels = np.array(["no", "yes"])[y]
    with warnings.catch_warnings(action="ignore"):
        return evaluate_privately(Known(["no", "yes"]), X, labels, 1.0, random_state=0)


class TestCurvesAndFiles:
    def test_curves(self, evaluation):
        roc = evaluation.roc_curve()
        assert roc["true_positives"].is_monotonic_increasing
        assert roc.iloc[-1][["false_positives", "true_positives"]].tolist() == [1, 1]
        area = np.trapezoid(roc["true_positives"], roc["false_positives"])
        assert area == pytest.approx(evaluation.auc().value, abs=0.01)
        calibration = evaluation.calibration_curve(5)
        assert calibration["rows"].sum() == pytest.approx(1)
        # Two classes that differ by 1.5 √2 on an axis of unit variance have log-odds of 1.5 times
        # the score, which these probabilities take for 1.
        expected = expit(1.5 * logit(calibration["probability"]))
        assert (abs(calibration["frequency"] - expected) < 0.03).all()
        assert (calibration["low"] <= calibration["high"]).all()
        with pytest.raises(ValueError, match="'n_groups' parameter"):
            evaluation.calibration_curve(0)
        with pytest.raises(ValueError, match="'threshold' parameter"):
            evaluation.confusion(threshold=1.5)

    def test_text_and_plot(self, evaluation):
        assert "AUC" in str(evaluation)
        assert "sensitivity" in evaluation.summary()
        assert f"{evaluation.auc().value:.3f} (95%" in evaluation._repr_html_()
        pyplot = pytest.importorskip("matplotlib.pyplot")
        left, right = evaluation.plot()
        assert right.get_xlabel() == "probability of yes"
        pyplot.close(left.figure)

    def test_a_file_of_another_version_says_so(self, evaluation, tmp_path):
        path = tmp_path / "evaluation.json"
        evaluation.save(path)
        later = {"kind": json.loads(path.read_text())["kind"], "version": 2, "areas": []}
        path.write_text(json.dumps(later))
        said = (
            r"evaluation.json' was made by another version of skdp.* 2, this skdp reads 1\. Update"
        )
        with pytest.raises(ValueError, match=said):
            PrivateEvaluation.load(path)

    def test_merging_refuses_what_does_not_fit(self, evaluation):
        X, y = scored(50, 0)
        other = exact(Known([0, 1]), X, y)
        with pytest.raises(ValueError, match=r"their classes are .*no.* and \[0, 1\]"):
            PrivateEvaluation.merge([evaluation, other], disjoint=True)
        with pytest.raises(ValueError, match="'disjoint' parameter"):
            PrivateEvaluation.merge([evaluation], disjoint=None)
        with pytest.raises(ValueError, match="one evaluation or more"):
            PrivateEvaluation.merge([], disjoint=True)


def test_no_evaluation_counts_twice_alone_merged_or_from_a_file(tmp_path):
    X, y = scored(300, 12)
    a, b, c = (evaluate_privately(Known([0, 1]), X, y) for _ in range(3))

    def merge(*evaluations):
        return PrivateEvaluation.merge(evaluations, disjoint=True)

    merge(a, b).save(tmp_path / "merged.json")
    loaded = PrivateEvaluation.load(tmp_path / "merged.json")
    assert merge(loaded, c).parts == merge(a, merge(b, c)).parts
    for pair, evaluations in {
        "1 and 2": (a, b, b),
        "0 and 1": (merge(a, b), b),
        "0 and 2": (loaded, c, a),
        "1 and 2 ": (c, merge(a, b), merge(b)),
    }.items():
        with pytest.raises(ValueError, match=f"Evaluations {pair.strip()} cannot .* each .* once"):
            merge(*evaluations)
    # Without noise, equal counts may be those of different rows.
    without = exact(Known([0, 1]), X[:1], y[:1])
    assert merge(without, without, a).parts == a.parts


def test_merged_noise_and_guarantees_add_up():
    X, y = scored(400, 11)
    parts = [
        evaluate_privately(Known([0, 1]), X[here], y[here], epsilon)
        for here, epsilon in ((slice(200), 1.0), (slice(200, 400), 2.0))
    ]
    apart = PrivateEvaluation.merge(parts, disjoint=True)
    assert apart.deviation == pytest.approx(np.hypot(*(each.deviation for each in parts)))
    assert apart.guarantee.epsilon == pytest.approx(2.0)
    assert PrivateEvaluation.merge(parts, disjoint=False).guarantee.epsilon > 2.0


class TestWhereTheRowsSayNothing:
    """Values would be those of the prior: .84 for the AUC of rows none of which has the class."""

    @pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
    @pytest.mark.parametrize("epsilon", [1.0, np.inf])
    def test_a_class_without_rows_has_no_auc_and_no_sensitivity(self, epsilon):
        X = np.random.default_rng(0).beta(1, 3, (1000, 1))
        found = evaluate_privately(Known([0, 1]), X, np.zeros(1000), epsilon, random_state=1)
        decisions = found.confusion()
        for unknown in (found.auc(), decisions["sensitivity"]):
            assert np.isnan(unknown).all()
        for known in (found.log_loss(), found.brier_score(), decisions["specificity"]):
            assert np.isfinite(known).all()
        assert "AUC           n/a: fewer than 20 rows, or noise hides them" in found.summary()
        assert found.roc_curve()["low"].isna().all()
        assert found.calibration_curve(4)["frequency"].notna().all()

    def test_the_mean_auc_is_that_of_classes_with_rows(self):
        X, y = scored(2000, 1, classes=3)
        y[y == 2] = 0
        y[:19] = 2
        found = exact(Known(range(3)), X, y)
        areas = [roc_auc_score(y == k, X[:, k]) for k in (0, 1)]
        assert found.auc().value == pytest.approx(np.mean(areas), abs=3e-3)
        assert ", over 2 of 3 classes" in found.summary()
        y[19] = 2
        assert ", over" not in exact(Known(range(3)), X, y).summary()

    def test_few_rows_have_no_figure(self):
        found = evaluate_privately(Known([0, 1]), np.full((30, 1), 0.4), np.arange(30) % 2)
        assert found.summary().count("n/a") == 6
        assert (
            found.calibration_curve(3).drop(columns=["probability", "rows"]).isna().all(axis=None)
        )
        assert "n/a" not in exact(Known([0, 1]), *scored(60, 0)).summary()
