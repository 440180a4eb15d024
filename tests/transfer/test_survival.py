"""DPTransferSurvival: limits, sources, columns, outcomes, other packages' tools, and messages."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold

from skdp import (
    DPStatisticsSource,
    DPTransferSurvival,
    LabeledSplit,
)
from skdp.tabular import EventOutcome

OUTCOME = {"type": "event", "horizon": 1000.0}
SCHEMA = {
    "version": 1,
    "columns": {
        "a": {"type": "numeric", "low": 0, "high": 1},
        "b": {"type": "numeric", "low": 0, "high": 1},
        "c": {"type": "category", "categories": ["x", "y", "z"]},
    },
    "outcome": OUTCOME,
}


def made(n, rng, level=1.0, slope=2.0):
    X = pd.DataFrame({"a": rng.random(n), "b": rng.random(n), "c": rng.choice(list("xyz"), n)})
    risk = slope * (X["a"] - 0.5) + 0.8 * (X["c"] == "x") * np.sign(slope)
    times = rng.exponential(1500 / level * np.exp(-risk))
    left = rng.uniform(0, 1600, n)
    y = np.empty(n, dtype=[("died", bool), ("days", float)])
    y["died"], y["days"] = times < left, np.round(np.minimum(times, left)) + 1
    return X, y


def release_of(n=3000, seed=0, schema=SCHEMA, **changes):
    X, y = made(n, np.random.default_rng(seed), **changes)
    y = pd.DataFrame({"event": y["died"], "time": y["days"]}) if schema is SCHEMA else y
    return DPStatisticsSource(8.0, encoder=schema, model="linear").fit(X, y).release_


@pytest.fixture(scope="module")
def release():
    return release_of()


@pytest.fixture
def target():
    return made(400, np.random.default_rng(1), level=2.0)


def hidden(y, n):
    """Outcomes of which only the first ones are known."""
    y = y.copy()
    y["days"][n:] = np.nan
    return y


@pytest.mark.parametrize("y", ["none", "missing"])
def test_without_outcomes_it_predicts_what_the_release_does(release, target, y):
    X, outcomes = target
    model = DPTransferSurvival(release).fit(X, None if y == "none" else hidden(outcomes, 0))
    np.testing.assert_allclose(model.predict(X), release.predict(X), rtol=1e-12)
    for name in ("predict_survival_function", "predict_cumulative_hazard_function"):
        given, expected = (getattr(m, name)(X, return_array=True) for m in (model, release))
        np.testing.assert_allclose(given, expected, rtol=1e-12)
        curve, other = (getattr(m, name)(X.iloc[:1])[0] for m in (model, release))
        assert curve(500.0) == pytest.approx(other(500.0))
    np.testing.assert_array_equal(model.unique_times_, release.unique_times_)
    assert model.source_weight_ == 1
    assert model.outcome_ == release.outcome
    report = model.report()
    assert report["name"].tolist() == ["source"]
    assert report["n_labels"].tolist() == [0]


def test_a_single_event_leaves_the_order_to_the_release(release, target):
    X, y = target
    y = hidden(y, 20)
    y["died"] = np.arange(len(y)) == 3
    model = DPTransferSurvival(release).fit(X, y)
    assert model.report()["name"].tolist() == ["source"]
    assert np.corrcoef(model.predict(X), release.predict(X))[0, 1] == pytest.approx(1)


def slow_cox(Z, y, horizon):
    """Coefficients of Breslow's partial likelihood, by sums over pairs of rows."""
    events, times = y["died"] & (y["days"] <= horizon), np.minimum(y["days"], horizon)
    at_risk = times >= times[events][:, np.newaxis]

    def loss(c):
        predicted = Z @ c
        factors = at_risk * np.exp(predicted)
        sums = factors.sum(axis=1)
        gradient = Z[events].sum(axis=0) - (factors @ Z / sums[:, np.newaxis]).sum(axis=0)
        return np.log(sums).sum() - predicted[events].sum(), -gradient

    return minimize(loss, np.zeros(Z.shape[1]), jac=True).x


def test_with_many_outcomes_the_target_alone_decides(release):
    X, y = made(2500, np.random.default_rng(3), slope=-2.0)
    asked, _ = made(1000, np.random.default_rng(4))
    with pytest.warns(UserWarning, match="contradict the source"):
        model = DPTransferSurvival(release).fit(X, y)
    basis = release.regression.basis
    Z, asked_Z = (basis.encode(release.encode(rows)) for rows in (X, asked))
    expected = asked_Z @ slow_cox(Z, y, 1000.0)
    given = model.predict(asked)
    error = (given - given.mean()) - (expected - expected.mean())
    assert np.sqrt(np.mean(error**2)) < 0.06
    assert model.source_weight_ < 0.6
    report = model.report().set_index("name")["weight"]
    assert report["source"] < 1e-6


def test_baseline_with_many_outcomes_is_breslow_s(release):
    X, y = made(2500, np.random.default_rng(3), level=2.0)
    model = DPTransferSurvival(release).fit(X, y)
    risks = np.exp(model.predict(X))
    hazard = model.predict_cumulative_hazard_function(X, return_array=True)[0] / risks[0]
    for t in (100.0, 400.0, 900.0):
        # As it is defined: events over the sum of hazards of those at risk.
        died = y["died"] & (y["days"] <= t)
        breslow = sum(1 / risks[y["days"] >= day].sum() for day in y["days"][died])
        assert np.interp(t, model.unique_times_, hazard) == pytest.approx(breslow, rel=0.04)


def test_level_of_the_baseline_is_learned_from_few_events(release):
    rng = np.random.default_rng(5)
    levels = []
    for n in (0, 30, 2000):
        X, y = made(2000, rng, level=2.0)
        model = DPTransferSurvival(release).fit(X, hidden(y, n))
        hazards = [
            m.predict_cumulative_hazard_function(X, return_array=True)[:, -1].mean()
            for m in (model, release)
        ]
        levels.append(hazards[0] / hazards[1])
    assert levels[0] == pytest.approx(1)
    assert 1.2 < levels[1] < 3
    assert levels[2] == pytest.approx(2, rel=0.15)


def test_intervals_that_nobody_reaches_keep_the_shape_of_the_release(release):
    X, y = made(1000, np.random.default_rng(6), level=2.0)
    y["died"] &= y["days"] <= 300
    y["days"] = np.minimum(y["days"], 300)
    hazards = [
        np.diff(m.predict_cumulative_hazard_function(X, return_array=True)).mean(axis=0)
        for m in (DPTransferSurvival(release).fit(X, y), release)
    ]
    late = release.unique_times_[1:] > 450
    np.testing.assert_allclose(hazards[0][late] / hazards[1][late], 2, rtol=0.3)


def test_few_outcomes_are_no_worse_than_either_side(release):
    asked, true = made(2000, np.random.default_rng(2))
    scores = []
    for seed in range(6):
        X, y = made(200, np.random.default_rng(10 + seed))
        models = [DPTransferSurvival(release), DPTransferSurvival()]
        rows, others = release.encode(X), release.encode(asked)
        scores.append([m.fit(rows, hidden(y, 40)).score(others, true) for m in models])
    transfer, alone = np.mean(scores, axis=0)
    assert transfer > alone + 0.01
    assert transfer > release.score(asked, true) - 0.01


def test_a_source_that_contradicts_gets_little_weight(target):
    X, y = target
    wrong = release_of(slope=-2.0)
    with pytest.warns(UserWarning, match=r"contradict the source: .* have the event later"):
        model = DPTransferSurvival(wrong).fit(X, y)
    report = model.report().set_index("name")["weight"]
    assert report["source"] < 0.01
    assert model.score(X, y) > 0.6 > 0.5 > wrong.score(X, y)


@pytest.mark.filterwarnings("ignore:This release may order times no better than chance")
def test_single_sources_stay_candidates(target):
    X, y = target
    releases = [release_of(seed=k, slope=(-2.0, 2.0)[k]) for k in range(2)]
    model = DPTransferSurvival(releases).fit(X, hidden(y, 100))
    weight = model.report().set_index("name")["weight"]
    assert {"sources 0, 1", "source 0", "source 1", "target alone"} < set(weight.index)
    of = {k: weight[weight.index.str.startswith(f"source {k}")].sum() for k in range(2)}
    assert of[1] > of[0]
    curves = model.predict_survival_function(X, return_array=True)
    assert ((curves >= 0) & (curves <= 1)).all()
    assert (np.diff(curves, axis=1) <= 0).all()


def test_without_a_source_it_is_penalized_cox_regression():
    X, y = made(1200, np.random.default_rng(8))
    X = X[["a", "b"]].to_numpy()
    model = DPTransferSurvival().fit(X, y)
    expected, given = X @ slow_cox(X, y, np.inf), model.predict(X)
    assert np.std(given - expected) < 0.05
    assert (model.guarantee_, model.source_weight_) == (None, 0)
    assert model.outcome_ == EventOutcome(float(y["days"].max()))
    risks = np.exp(given)
    hazard = model.predict_cumulative_hazard_function(X, return_array=True)[0] / risks[0]
    died = y["died"] & (y["days"] <= 500)
    breslow = sum(1 / risks[y["days"] >= day].sum() for day in y["days"][died])
    assert np.interp(500, model.unique_times_, hazard) == pytest.approx(breslow, rel=0.05)


def test_outcomes_may_be_a_table(release, target):
    X, y = target
    y = hidden(y, 50)
    table = pd.DataFrame({"time": y["days"], "event": y["died"], "other": 1})
    model = DPTransferSurvival(release).fit(X, table)
    expected = DPTransferSurvival(release).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert model.score(X[:50], table[:50]) == expected.score(X[:50], y[:50])
    with pytest.raises(ValueError, match=r"marks 350 of 400 outcomes as unknown.*LabeledSplit"):
        model.score(X, table)
    # An unknown event makes an unknown outcome, too.
    table["event"] = table["event"].astype("boolean").where(np.arange(len(X)) < 30)
    assert DPTransferSurvival(release).fit(X, table).report()["n_labels"][0] == 30


def test_rows_are_followed_up_to_the_horizon(release, target):
    X, y = target
    later = y.copy()
    beyond = y["days"] > 1000
    later["days"][beyond] = 5000
    later["died"][beyond] = True
    models = [DPTransferSurvival(release).fit(X, outcomes) for outcomes in (y, later)]
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(X))
    assert models[1].score(X, later) == pytest.approx(models[0].score(X, y))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_it_goes_through_scikit_learn_s_tools(release, target):
    X, y = target
    encoded = release.encode(X)
    grid = {"source": [release, None]}
    search = GridSearchCV(DPTransferSurvival(), grid, cv=KFold(3), error_score="raise")
    assert search.fit(encoded, y).best_score_ > 0.6
    assert search.predict(encoded).shape == (len(X),)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda y: y["days"], r"'y' parameter .* structured array.*'event' and 'time', got ndarr"),
        (lambda y: pd.DataFrame({"event": y["died"]}), r"'y' parameter .*, got DataFrame"),
        (lambda y: np.rec.fromarrays([y["days"], y["died"]]), r"'y' parameter .*, got recarray"),
        (lambda y: changed(y, -1.0), r"finite times from 0 on.*1 of 400 rows"),
        (lambda y: changed(y, np.inf), r"finite times from 0 on.*1 of 400 rows"),
        (lambda y: y[:300], "inconsistent numbers of samples"),
    ],
)
def test_outcomes_of_another_form_are_refused(release, target, wrong, message):
    X, y = target
    with pytest.raises(ValueError, match=message):
        DPTransferSurvival(release).fit(X, wrong(y))


def changed(y, time):
    y = y.copy()
    y["days"][3] = time
    return y


def test_without_events_a_source_is_needed(release, target):
    X, y = target
    rows = release.encode(X)
    for outcomes in (hidden(y, 0), changed(y[y["died"] == 0], 5.0)):
        with pytest.raises(ValueError, match=r"has no known event, or .* and there is no source"):
            DPTransferSurvival().fit(rows[: len(outcomes)], outcomes)
    with pytest.raises(ValueError, match="requires y to be passed"):
        DPTransferSurvival().fit(rows)


class TestScikitSurvival:
    """Its own metrics, scorers and searches."""

    @pytest.fixture(autouse=True)
    def package(self):
        pytest.importorskip("sksurv")

    def test_metrics(self, release, target):
        from sksurv.metrics import (
            concordance_index_censored,
            concordance_index_ipcw,
            integrated_brier_score,
        )

        X, y = target
        asked, true = made(800, np.random.default_rng(9), level=2.0)
        model = DPTransferSurvival(release).fit(X, hidden(y, 100))
        risks = model.predict(asked)
        c = concordance_index_censored(true["died"], true["days"], risks)[0]
        # Beyond the horizon model.score knows no order.
        assert model.score(asked, true) == pytest.approx(c, abs=0.01)
        assert concordance_index_ipcw(y, true, risks, tau=900)[0] > 0.6
        times = np.linspace(50, 900, 20)
        curves = [[curve(t) for t in times] for curve in model.predict_survival_function(asked)]
        alone = [[curve(t) for t in times] for curve in release.predict_survival_function(asked)]
        own, other = (integrated_brier_score(y, true, s, times) for s in (curves, alone))
        assert own < other < 0.25

    @pytest.mark.filterwarnings("ignore:X does not have valid feature names")
    @pytest.mark.parametrize(
        ("scorer", "settings"),
        [
            ("as_concordance_index_ipcw_scorer", {"tau": 900}),
            ("as_cumulative_dynamic_auc_scorer", {"times": [200, 500, 800]}),
            ("as_integrated_brier_score_scorer", {"times": [200, 500, 800]}),
        ],
    )
    def test_scorers_take_releases_and_searches_over_them(self, release, target, scorer, settings):
        from sksurv import metrics

        X, y = target
        rows, wrapped = release.encode(X), getattr(metrics, scorer)
        alone = wrapped(FrozenEstimator(release), **settings).fit(rows, y).score(rows, y)
        search = GridSearchCV(
            wrapped(DPTransferSurvival(), **settings),
            {"estimator__source": [release, None]},
            cv=3,
            error_score="raise",
        ).fit(rows, y)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.score(rows, y) > alone - 0.05

    @pytest.mark.filterwarnings("ignore:X does not have valid feature names")
    def test_searches_with_unknown_times(self, release, target):
        from sksurv.metrics import concordance_index_ipcw

        X, y = target
        rows, part = release.encode(X), hidden(y, 90)
        table = pd.DataFrame({"died": part["died"], "days": part["days"]})
        usual = pd.DataFrame({"event": part["died"], "time": part["days"]})

        def ipcw(model, rows, y):
            return concordance_index_ipcw(part[:90], y, model.predict(rows), tau=900)[0]

        grid = {"source": [release, None]}
        for scoring in (None, ipcw):
            settings = {"cv": LabeledSplit(3), "scoring": scoring, "error_score": "raise"}
            search = GridSearchCV(DPTransferSurvival(), grid, **settings).fit(rows, part)
            assert (search.cv_results_["mean_test_score"] > 0.5).all()
        again = GridSearchCV(DPTransferSurvival(), grid, cv=LabeledSplit(3)).fit(rows, usual)
        plain = GridSearchCV(DPTransferSurvival(), grid, cv=LabeledSplit(3)).fit(rows, part)
        scores = [found.cv_results_["mean_test_score"] for found in (again, plain)]
        np.testing.assert_allclose(*scores)
        # Without a source, a table of two columns is read in their order.
        assert DPTransferSurvival().fit(rows, table).outcome_.columns == ("died", "days")
        with pytest.raises(ValueError, match="events that are true or false"):
            DPTransferSurvival().fit(rows, table[["days", "died"]])

    def test_dynamic_auc_of_probabilities_at_a_time(self, release, target):
        from sksurv.metrics import brier_score, cumulative_dynamic_auc

        X, y = target
        model, times = DPTransferSurvival(release).fit(X, hidden(y, 100)), [100, 400, 800]
        asked, true = made(800, np.random.default_rng(9), level=2.0)
        at = model.predict_proba_at(asked, times)
        by_risk = cumulative_dynamic_auc(y, true, model.predict(asked), times)[0]
        np.testing.assert_allclose(cumulative_dynamic_auc(y, true, at, times)[0], by_risk)
        assert (by_risk > 0.65).all()
        assert (brier_score(y, true, 1 - at, times)[1] < 0.25).all()


def test_absolute_risk_is_calibrated_by_the_target_s_own_baseline(release):
    """Twice the hazard of the source, learned from 200 outcomes."""
    X, y = made(2000, np.random.default_rng(3), level=2.0)
    asked, _ = made(4000, np.random.default_rng(4), level=2.0)
    risk = 2 * (asked["a"] - 0.5) + 0.8 * (asked["c"] == "x")
    model = DPTransferSurvival(release).fit(X, hidden(y, 200))
    for time in (100, 300, 700):
        truth = (1 - np.exp(-2 * time / 1500 * np.exp(risk))).mean()
        assert model.predict_proba_at(asked, time).mean() == pytest.approx(truth, abs=0.06)
        assert release.predict_proba_at(asked, time).mean() < truth - 0.04


def test_curves_last_as_long_as_the_longer_side(release, target):
    X, y = target
    short = y.copy()
    short["died"] &= y["days"] <= 300
    short["days"] = np.minimum(y["days"], 300)
    brief = pd.DataFrame({"event": short["died"], "time": short["days"]})
    source = DPStatisticsSource(8.0, encoder=SCHEMA, model="linear").fit(X, brief).release_
    assert 250 < source.unique_times_[-1] < 400
    np.testing.assert_array_equal(
        DPTransferSurvival(source).fit(X, short).unique_times_, source.unique_times_
    )
    longer = DPTransferSurvival(source).fit(X, y)
    n_left = [(y["days"] >= end).sum() for end in source.outcome.ends]
    assert longer.unique_times_[-1] == source.outcome.ends[np.sum(np.array(n_left) >= 20) - 1]
    assert longer.predict_proba_at(X, longer.unique_times_[-1]).shape == (400,)
    with pytest.raises(ValueError, match="'times' parameter of predict_proba_at"):
        DPTransferSurvival(source).fit(X, short).predict_proba_at(X, [100, 900])
