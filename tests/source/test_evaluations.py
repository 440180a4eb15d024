"""Evaluations of classes, numbers and times alike: noise, people, merging, files, refusals."""

import json
import warnings

import numpy as np
import pytest

from skdp import evaluate_privately
from skdp.privacy import BudgetExceededError, PrivacyLedger, gaussian_sigma
from skdp.release import CELL_SCALE, N_PLACES, SUM_SCALES, PrivateEvaluation, StepFunction
from skdp.source._door import row_weights
from skdp.source._evaluation import ClassCounts, NumberCounts, TimeCounts
from skdp.source._integers import ROW
from skdp.tabular import ClassOutcome, EventOutcome, NumberOutcome

GRID, TIMES = np.linspace(0, 10, 41), [2.5, 5.0, 7.5]
OUTCOMES = {
    "class": None,
    "number": {"type": "number", "low": 0, "high": 20},
    "event": {"type": "event", "horizon": 10.0},
}
each_kind = pytest.mark.parametrize("kind", OUTCOMES)


class Classes:
    """A model whose probabilities are the rows themselves."""

    classes_ = np.arange(3)

    def predict_proba(self, X):
        return np.asarray(X)


class Numbers:
    """A regressor whose rows are predictions and their deviations."""

    def predict(self, X, return_std=False):
        X = np.asarray(X)
        return (X[:, 0], X[:, 1]) if return_std else X[:, 0]


class Times:
    """A model whose rows are hazards, constant over time."""

    def predict_survival_function(self, X):
        return [StepFunction(GRID, np.exp(-h * GRID)) for h in np.asarray(X)[:, 0]]


MODELS = {"class": Classes, "number": Numbers, "event": Times}


def rows(kind, n, seed):
    rng = np.random.default_rng(seed)
    if kind == "class":
        y = rng.integers(3, size=n)
        p = np.exp(rng.normal(0, 1, (n, 3)) + 1.5 * np.eye(3)[y])
        return p / p.sum(axis=1, keepdims=True), y
    if kind == "number":
        prediction = rng.normal(9, 3, n)
        return np.column_stack([prediction, np.full(n, 2.0)]), prediction + rng.normal(0, 15, n)
    y = np.zeros(n, dtype=[("event", bool), ("time", float)])
    hazards = 0.06 * np.exp(rng.standard_normal(n))
    times, left = rng.exponential(1 / hazards), rng.uniform(0, 14, n)
    y["event"], y["time"] = times <= left, np.minimum(times, left)
    return hazards[:, np.newaxis], y


def evaluated(kind, X, y, epsilon=np.inf, **settings):
    with warnings.catch_warnings(action="ignore"):
        return evaluate_privately(
            MODELS[kind](), X, y, epsilon, outcome=OUTCOMES[kind], **settings
        )


def counted(kind, X, y, groups):
    """Return what noise is added to, in whole numbers, and divided by its relative size."""
    weights = row_weights(groups, len(X))
    if kind == "class":
        return ClassCounts(Classes(), ClassOutcome(Classes.classes_), None).count(X, [y], weights)
    if kind == "number":
        scales = np.append(np.full(N_PLACES**2, CELL_SCALE), SUM_SCALES)
        return NumberCounts(Numbers(), NumberOutcome(0, 20), None).count(X, [y], weights) / scales
    exits = y["event"], y["time"]
    return TimeCounts(Times(), EventOutcome(10.0), TIMES).count(X, exits, weights)


@each_kind
def test_one_more_person_changes_the_numbers_by_no_more_than_stated(kind):
    groups = np.random.default_rng(0).integers(12, size=60)
    X, y = rows(kind, 60, 6)
    full = counted(kind, X, y, groups)
    for person in np.unique(groups):
        keep = groups != person
        change = full - counted(kind, X[keep], y[keep], groups[keep])
        if kind == "number":
            assert np.linalg.norm(change) <= ROW
        else:  # one row in one cell for each score or time
            assert (np.abs(change).sum(axis=(1, 2)) <= ROW).all()


@each_kind
def test_noise_is_as_large_as_the_guarantee_says_and_not_a_tenth_less(kind):
    X, y = rows(kind, 30, 7)
    clean, sigma, noise = evaluated(kind, X, y), gaussian_sigma(0.7, 1e-6), []
    scale = CELL_SCALE if kind == "number" else np.sqrt(3)
    for seed in range(20):
        found = evaluated(kind, X, y, 0.7, delta=1e-6, random_state=seed)
        assert found.deviation == pytest.approx(sigma * scale, rel=0.01)
        noise.append((found.histograms - clean.histograms).ravel() / (sigma * scale))
        if kind == "number":
            sums = (found.sums - clean.sums) / (sigma * SUM_SCALES)
            noise[-1] = np.append(noise[-1], sums)
    assert 0.97 < np.std(noise) < 1.03  # 3,600 counts or more: 2.5 standard errors
    if kind == "number":  # 120 sums: a deviation of 1.3 is refused
        assert 0.8 < np.std(np.array(noise)[:, -6:]) < 1.2
    assert found.guarantee.epsilon == pytest.approx(0.7)
    assert found.guarantee.relation == "add/remove"


@each_kind
def test_people_count_once(kind):
    found = evaluated(kind, *rows(kind, 60, 3), groups=np.repeat(np.arange(20), 3))
    assert found.n_rows.value == pytest.approx(20, abs=1e-6)
    assert found.guarantee.unit == "group"


@each_kind
def test_merged_evaluations_are_one_of_all_rows_and_so_is_their_file(kind, tmp_path):
    X, y = rows(kind, 500, 4)
    parts = [evaluated(kind, X[part], y[part]) for part in (slice(200), slice(200, 500))]
    merged, whole = PrivateEvaluation.merge(parts, disjoint=True), evaluated(kind, X, y)
    np.testing.assert_allclose(merged.histograms, whole.histograms)
    if kind == "number":
        np.testing.assert_allclose(merged.sums, whole.sums, rtol=1e-12)
    merged.save(tmp_path / "a.json")
    loaded = PrivateEvaluation.load(tmp_path / "a.json")
    np.testing.assert_array_equal(loaded.histograms, merged.histograms)
    for name in ("outcome", "guarantee", "times"):
        assert getattr(loaded, name) == getattr(merged, name)
    assert loaded.summary() == merged.summary()
    with pytest.raises(FileExistsError):
        merged.save(tmp_path / "a.json")


class Twice(Classes):
    classes_ = np.array([0, 1, 1])


WRONG = {
    "class": [{"model": Twice()}],
    "number": [{"outcome": None}],
    "event": [{"times": [0.0]}, {"times": [11]}, {"times": [5, 2]}, {"outcome": None}],
}


@each_kind
def test_the_ledger_is_charged_once_and_never_for_nothing(kind):
    X, y = rows(kind, 30, 8)
    ledger, fresh = PrivacyLedger(1.0, 1e-3), PrivacyLedger()
    given = {"model": MODELS[kind](), "X": X, "y": y, "epsilon": 0.8, "outcome": OUTCOMES[kind]}
    evaluate_privately(**given, ledger=ledger, name="ours")
    assert ledger.to_frame()["name"].tolist() == ["ours"]
    with pytest.raises(BudgetExceededError):
        evaluate_privately(**given, ledger=ledger)
    assert len(ledger.entries) == 1
    wrong = [{"y": y[:-1]}, {"model": object()}, {"epsilon": 0}, {"delta": 1.0}]
    for change in (*wrong, {"groups": np.arange(5)}, *WRONG[kind]):
        with pytest.raises(ValueError, match=r"parameter|label|inconsistent"):
            evaluate_privately(**given | change, ledger=fresh)
    assert fresh.entries == []


@each_kind
def test_a_model_that_fails_quotes_no_row(kind):
    def fail(self, X, **settings):
        raise ValueError(f"secret {X[0]}")

    [method] = [name for name in vars(MODELS[kind]) if name.startswith("predict")]
    model = type("Failing", (MODELS[kind],), {method: fail})()
    with pytest.raises(RuntimeError, match="message is withheld") as caught:
        evaluate_privately(model, *rows(kind, 20, 0), outcome=OUTCOMES[kind])
    assert "secret" not in str(caught.value)


ALTERED = {
    "class": [{"classes": ["no"]}, {"classes": [["a"], ["b"], ["c"]]}],
    "number": [
        *({"sums": [1.0, 2.0]}, {"sums": None}, {"has_intervals": 1}, {"classes": [0, 20]}),
        {"outcome": {"type": "number", "low": 1, "high": 1}},
    ],
    "event": [
        *({"times": times} for times in ([2.5, 5.0, 11.0], [5.0, 2.5, 7.5], [2.5, 5.0], "abc")),
        *({"times": []}, {"times": [True, 5.0, 7.5]}, {"sums": [1.0] * 6}),
        *({"outcome": {"type": "event", "horizon": horizon}} for horizon in (5, float("nan"))),
        {"outcome": {"type": "number", "low": 0, "high": 1}},
        {"histograms": [[["a"] * 20] * 3] * 3},
    ],
}
ANY = [
    *({"kind": "other"}, {"histograms": [[[0.0]]]}, {"histograms": "many"}, {"more": 1}),
    *({"deviation": -1.0}, {"deviation": float("nan")}, {"guarantee": {}}),
    *({"parts": 3}, {"parts": [3]}, {"parts": ["a", "a"]}),
]


@pytest.mark.parametrize(
    ("kind", "change"), [(kind, each) for kind in OUTCOMES for each in ANY + ALTERED[kind]]
)
def test_altered_files_are_refused(kind, change, tmp_path):
    path = tmp_path / "a.json"
    evaluated(kind, *rows(kind, 30, 0)).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match="holds no evaluation of skdp"):
        PrivateEvaluation.load(path)
