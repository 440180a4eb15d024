"""Private evaluation of numbers: sums without noise, their sensitivity, intervals, refusals."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.metrics import mean_absolute_error, r2_score

from skdp import DPStatisticsSource, DPTransferRegressor, evaluate_privately
from skdp.release import CELL_SCALE, N_PLACES, SUM_SCALES, PrivateEvaluation
from skdp.release._number_evaluation import NumberErrors, cell_of
from skdp.source._door import row_weights
from skdp.source._evaluation import NumberCounts
from skdp.source._integers import ROW
from skdp.tabular import NumberOutcome

OUTCOME = {"type": "number", "low": 0, "high": 20}
COLUMN = NumberOutcome(0, 20)
SCALES = np.append(np.full(N_PLACES**2, CELL_SCALE), SUM_SCALES)


class Known:
    """A regressor of no library, whose rows are predictions and their deviations."""

    def predict(self, X, return_std=False):
        X = np.asarray(X)
        return (X[:, 0], X[:, 1]) if return_std else X[:, 0]


class Plain(Known):
    """The same without deviations."""

    def predict(self, X):
        return np.asarray(X)[:, 0]


def rows(n, seed, sd=2.0):
    """Return rows of predictions and their deviations, and outcomes, some beyond the bounds."""
    rng = np.random.default_rng(seed)
    prediction = rng.normal(9, 3, n)
    y = prediction + rng.normal(0, sd, n)
    return np.column_stack([prediction, np.full(n, sd)]), y


def exact(model, X, y, outcome=OUTCOME, **settings):
    with warnings.catch_warnings(action="ignore"):
        return evaluate_privately(model, X, y, np.inf, outcome=outcome, **settings)


class TestWithoutNoise:
    def test_numbers_are_judged_as_by_scikit_learn(self):
        X, y = rows(4000, 0)
        found = exact(Known(), X, y)
        truth, predicted = np.clip(y, 0, 20), np.clip(X[:, 0], 0, 20)
        assert found.r2().value == pytest.approx(r2_score(truth, predicted), abs=1e-6)
        error = mean_absolute_error(truth, predicted)
        assert found.mean_absolute_error().value == pytest.approx(error, abs=1e-6)
        inside = np.mean(np.abs(truth - predicted) <= 1.2815515655 * 2)
        assert found.interval_coverage().value == pytest.approx(inside, abs=1e-9)
        assert found.n_rows.value == pytest.approx(4000)
        low, high = found.r2()[1:]
        assert low < found.r2().value < high < low + 0.05

    def test_a_logarithmic_scale_is_judged_on_it(self):
        rng = np.random.default_rng(1)
        log = rng.normal(1, 1, 3000)
        X, y = np.exp(log)[:, np.newaxis], np.exp(log + rng.normal(0, 0.5, 3000))
        found = exact(Plain(), X, y, outcome={**OUTCOME, "low": 0.01, "high": 100, "log": True})
        scale = NumberOutcome(0.01, 100, log=True).positions
        expected = r2_score(scale(y), scale(X[:, 0]))
        assert found.r2().value == pytest.approx(expected, abs=1e-6)
        inside = np.clip(y, 0.01, 100), np.clip(X[:, 0], 0.01, 100)
        assert found.mean_absolute_error().value == pytest.approx(
            mean_absolute_error(*inside), abs=1e-5
        )
        assert "R² (log)" in found.summary()


class TestNoise:
    def test_one_more_record_changes_the_numbers_by_no_more_than_stated(self):
        # Among them the worst: as far off as can be, at a bound.
        X = np.array([[0, 1], [20, 100], [20, 1], [0, 100], [-50, 1], [10, 0], [1, np.nan]])
        y = np.array([20.0, 0, 20, 0, 70, 10, 7])
        counts = NumberCounts(Known(), COLUMN, None).count
        full = counts(X, [y], row_weights(None, 7))
        changes = []
        for left_out in range(7):
            keep = np.arange(7) != left_out
            part = counts(X[keep], [y[keep]], row_weights(None, 6))
            changes.append(np.linalg.norm((full - part) / SCALES))
        assert max(changes) == pytest.approx(ROW)
        assert max(changes) <= ROW


def simulated(n, sigma, seed, claimed=1.0):
    """Return noisy errors of skewed numbers, with noise that may be other than is claimed."""
    rng = np.random.default_rng(seed)
    p = np.clip(0.25 + 0.1 * rng.standard_normal(n), 0.02, 1)
    y = np.clip(rng.gamma(4, p / 4), 0, 1)
    inside = (np.abs(p - y) < 0.12).sum()
    sums = np.array([inside, n - inside, np.abs(p - y).sum(), ((p - y) ** 2).sum()])
    sums = np.append(sums, [(y - 0.5).sum(), ((y - 0.5) ** 2).sum()])
    cells = np.zeros((N_PLACES, N_PLACES))
    np.add.at(cells, (cell_of(p), cell_of(y)), 1)
    cells += sigma * CELL_SCALE * rng.standard_normal(cells.shape)
    sums += sigma * SUM_SCALES * rng.standard_normal(6)
    return NumberErrors(NumberOutcome(0, 1), cells, sums, claimed * sigma * CELL_SCALE)


def held(n, sigma, claimed=1.0, n_draws=150):
    """Return how often intervals hold what more rows would show."""
    many = simulated(400_000, 1e-9, 99)
    truth = np.array([many.r2()[0], many.mean_absolute_error()[0], many.coverage()[0]])
    hits = np.zeros(3)
    for seed in range(n_draws):
        errors = simulated(n, sigma, seed, claimed)
        found = np.array([errors.r2(), errors.mean_absolute_error(), errors.coverage()])
        hits += (found[:, 1] <= truth) & (truth <= found[:, 2])
    return hits / n_draws


class TestIntervals:
    @pytest.mark.slow
    @pytest.mark.parametrize(("n", "sigma"), [(1500, 3.7), (1500, 0.3), (20_000, 3.7)])
    def test_they_hold_at_their_level(self, n, sigma):
        assert (held(n, sigma) >= 0.9).all()  # 150 of .95: .90 is 2.8 standard errors

    def test_and_do_not_where_noise_is_larger_than_claimed(self):
        assert (held(20_000, 12.0, claimed=0.3)[:2] < 0.85).all()

    def test_where_noise_leaves_nothing_known_they_say_so(self):
        value, low, high = simulated(5, 1e6, 3).r2()
        assert np.isnan(value) or (low < 0 < high)
        nothing = NumberErrors(COLUMN, np.zeros((16, 16)), np.full(6, -1e9), 1.0)
        assert nothing.r2()[1:] == (-np.inf, 1.0)
        assert nothing.mean_absolute_error()[1:] == (0.0, 20.0)


class TestModels:
    def test_a_release_needs_no_bounds_and_its_intervals_are_right(self):
        rng = np.random.default_rng(8)
        X = rng.uniform(-1, 1, (6000, 3))
        y = 10 + 4 * X[:, 0] + rng.normal(0, 2, 6000)
        source = DPStatisticsSource(4.0, bounds=(-1, 1), outcome=OUTCOME, random_state=0)
        with warnings.catch_warnings(action="ignore"):
            release = source.fit(X[:3000], y[:3000]).release_
            found = evaluate_privately(release, X[3000:], y[3000:], 4.0, random_state=0)
            target = DPTransferRegressor(release).fit(X[:3000], y[:3000])
            assert evaluate_privately(target, X[3000:], y[3000:]).outcome == release.outcome
        low, high = found.r2()[1:]
        assert low < release.score(X[3000:], y[3000:]) < high
        assert 0.75 < found.interval_coverage().value < 0.85
        assert repr(found) == "PrivateEvaluation(a number, ε=4)"

    def test_a_regressor_needs_them(self):
        X, y = rows(400, 9)
        model = LinearRegression().fit(X, y)
        with pytest.raises(ValueError, match="must be public bounds for a regressor"):
            evaluate_privately(model, X, y)
        found = exact(model, X, y)
        assert not found.has_intervals
        with pytest.raises(ValueError, match="has no intervals"):
            found.interval_coverage()
        assert "intervals" not in found.summary()
        assert exact(BayesianRidge().fit(X, y), X, y).has_intervals

    def test_a_classifier_has_none(self):
        class Classifier(Known):
            classes_ = np.array([0, 1])

        with pytest.raises(ValueError, match="must be left out for a classifier"):
            exact(Classifier(), *rows(10, 0))
        with pytest.raises(ValueError, match="must be a mapping such as"):
            exact(Known(), *rows(10, 0), outcome={"low": 0, "high": 1})


class TestValue:
    def test_other_figures_are_refused_by_name(self):
        found = exact(Known(), *rows(100, 0))
        with pytest.raises(ValueError, match="about a number, which has no classes"):
            found.auc()
        with pytest.raises(ValueError, match="whole number from 1 to 16"):
            found.prediction_curve(17)
        without = exact(Plain(), *rows(100, 1))
        with pytest.raises(ValueError, match="with and without intervals cannot be merged"):
            PrivateEvaluation.merge([found, without], disjoint=True)


def test_few_rows_have_no_figure():
    few = exact(Known(), *rows(19, 0))
    for unknown in (few.r2(), few.mean_absolute_error(), few.interval_coverage()):
        assert np.isnan(unknown).all()
    assert few.summary().count("n/a: fewer than 20 rows, or noise hides them") == 3
    assert few.prediction_curve(2)["outcome"].isna().all()
    assert "n/a" not in exact(Known(), *rows(20, 0)).summary()
    # Thirty rows are hidden by noise as large as 17 of them, and 400 are not.
    hidden = evaluate_privately(Known(), *rows(30, 0), outcome=OUTCOME)
    assert np.isnan(hidden.mean_absolute_error()).all()
    assert np.isfinite(evaluate_privately(Known(), *rows(400, 0), outcome=OUTCOME).r2()).all()
