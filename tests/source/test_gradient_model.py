"""The descent of classes, numbers and times: exact gradients, their limit, steps, and its end."""

from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from scipy.stats import chi2

from skdp import DPStatisticsSource
from skdp.noise import GaussianQueries, RandomBits
from skdp.release import (
    BasisFunctions,
    NoisyStatistics,
    NumberBins,
    Statistics,
    TableModel,
    TimeCells,
)
from skdp.source import _gradient_model, _problems
from skdp.source._door import read_outcome
from skdp.source._gradient_model import (
    EncodedRows,
    GradientModel,
    chosen_grid,
    descend,
    exact_gradient,
    number_of_steps,
    score_table,
    tightness,
)
from skdp.source._integers import ROW, WEIGHT_GRID
from skdp.source._linear_model import perturb_sums
from skdp.source._private_rows import PublicColumns, SummationPlan
from skdp.source._problems import Number, problem_of
from skdp.tabular import ClassOutcome, EventOutcome, NumberOutcome

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
N_FEATURES = 3
OUTCOMES = ["two classes", "four classes", "number", "time"]
NUMBER = NumberOutcome(0.0, 1.0)
EVENT = EventOutcome(100.0)


def outcomes_of(kind, X, rng):
    """Return labels that depend on the rows."""
    signal = 4 * X[:, 0] - 2 * X[:, 1] - 1
    if kind == "two classes":
        return (rng.random_sample(len(X)) < expit(signal)).astype(int)
    if kind == "four classes":
        return np.argmax(rng.gumbel(size=(len(X), 4)) + signal[:, None] * np.arange(4) / 2, axis=1)
    if kind == "number":
        return np.clip(0.4 + 0.1 * signal + rng.normal(0, 0.1, len(X)), 0, 1)
    y = np.zeros(len(X), dtype=[("event", bool), ("time", float)])
    y["time"] = rng.exponential(60 * np.exp(-signal))
    y["event"] = rng.random_sample(len(X)) < 0.8
    return y


def plan_of(kind, by_group=False):
    columns = PublicColumns.of_array(N_FEATURES, (0, 1))
    model = GradientModel()
    classes = ClassOutcome(range(4 if kind == "four classes" else 2))
    outcome = {"number": NUMBER, "time": EVENT}.get(kind, classes)
    grid = replace(model.grid(columns), exits=outcome.exits)
    return SummationPlan(columns, outcome, grid, by_group, model)


def rows_of(plan, X, y, groups=None):
    return plan.label(X, read_outcome(y, X, plan.outcome), groups)


class Exact:
    """Queries without noise, as many as are wanted."""

    distance = 1.0

    def __init__(self):
        self.steps = None

    def divide(self, name, uses):
        self.steps = uses

    def deviation(self, name, sensitivity):
        return 0.0

    def add(self, name, values, sensitivity, scales=1.0):
        return values


def made(kind, n=300, seed=0, groups=None):
    """Return a plan, rows, features, labels, and what a descent asks of the outcome."""
    rng = np.random.RandomState(seed)
    X = np.round(rng.random_sample((n, N_FEATURES)), 4)
    y = outcomes_of(kind, X, rng)
    plan = plan_of(kind, groups is not None)
    rows = rows_of(plan, X, y, groups)
    statistics = Statistics(
        perturb_sums(rows.sums(plan.grid), plan.grid, Exact()), plan.grid.basis
    )
    return plan, rows, X, y, problem_of(statistics), statistics


def float_residuals(kind, scores, y, statistics):
    """Return residuals of rows, by formulas of their own."""
    if kind == "two classes":
        return expit(scores) - np.asarray(y)[:, None]
    if kind == "four classes":
        return softmax(scores, axis=1) - np.eye(4)[y]
    if kind == "number":
        return scores - np.asarray(y)[:, None]
    cumulative = np.append(0, np.cumsum(statistics.exits.hazards))
    ends = np.append(0, EVENT.ends)
    residuals = []
    for [score], event, time in zip(scores, y["event"], y["time"], strict=True):
        # Exits count in the middle of their interval.
        k = np.searchsorted(ends, min(time, 100.0)) - 1
        there = time > 100 or (time == 100 and not event)
        hazard = cumulative[-1] if there else (cumulative[k] + cumulative[k + 1]) / 2
        residuals.append(min(hazard * np.exp(score), 3.0) - (event and time <= 100))
    return np.array(residuals)[:, None]


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize("by_group", [False, True])
def test_the_gradient_is_the_sum_of_rows_one_by_one(kind, by_group):
    groups = np.arange(300) // 7 if by_group else None
    plan, rows, X, y, problem, statistics = made(kind, groups=groups)
    grid = plan.grid.descents[-1]
    rng = np.random.RandomState(1)
    weights = rng.normal(0, 1, (grid.n_basis + 1, len(problem.start)))
    clip = 0.6 * problem.scale * grid.clip
    found = exact_gradient(EncodedRows(rows, grid), problem.residuals, weights, clip)
    Z = grid.basis.encode(X)
    Z *= np.minimum(1, grid.radius / np.linalg.norm(Z, axis=1))[:, None]
    Z = np.column_stack([Z, np.full(len(Z), grid.constant * grid.step)])
    residuals = float_residuals(kind, Z @ weights, y, statistics)
    norms = np.linalg.norm(residuals, axis=1) * np.linalg.norm(Z, axis=1)
    assert 0.01 < (norms > clip).mean() < 0.99
    residuals *= np.minimum(1, clip / norms)[:, None]
    if by_group:
        residuals /= np.bincount(groups)[groups][:, None]
    expected = Z.T @ residuals * (grid.sensitivity / clip)
    assert np.abs(found - expected).max() < 2e-4 * np.abs(expected).max()
    assert np.abs(expected).max() > 10 * grid.sensitivity / 7


@pytest.mark.parametrize("kind", OUTCOMES)
def test_order_chunks_and_memory_change_no_bit(kind, monkeypatch):
    plan, rows, X, y, problem, _ = made(kind)
    grid = plan.grid.descents[0]
    weights = np.random.RandomState(1).normal(0, 1, (grid.n_basis + 1, len(problem.start)))
    expected = exact_gradient(EncodedRows(rows, grid), problem.residuals, weights, 1.0)
    order = np.random.RandomState(2).permutation(len(X))
    monkeypatch.setattr(_gradient_model, "_ROWS", 37)
    monkeypatch.setattr(_gradient_model, "_MOST_KEPT", 0)
    encoded = EncodedRows(rows_of(plan, X[order], y[order]), grid)
    for _ in range(2):  # the rows are read again for each step
        assert_array_equal(exact_gradient(encoded, problem.residuals, weights, 1.0), expected)


def newcomers(kind, k):
    """Yield rows and outcomes that a person may have, far from what is expected."""
    rng = np.random.RandomState(3)
    extremes = {
        "two classes": [0, 1], "four classes": [0, 3], "number": [0.0, 1.0, 1e300],
        "time": [(True, 0.0), (False, 1e300), (True, 99.0), (False, 50.0)],
    }[kind]  # fmt: skip
    dtype = outcomes_of(kind, np.zeros((1, N_FEATURES)), rng).dtype
    for x in (np.zeros(3), np.ones(3), np.full(3, 0.5), np.array([0, 1, 0]), np.full(3, 1e300)):
        for y in extremes:
            yield np.tile(x, (k, 1)).astype(float), np.full(k, np.array(y, dtype))
    yield rng.random_sample((k, N_FEATURES)), outcomes_of(kind, rng.random_sample((k, 3)), rng)


def largest_change(kind, k=1):
    """Return the largest change of a gradient by a person of k rows, over the sensitivity."""
    plan, _, X, y, problem, _ = made(kind)
    groups = np.arange(len(X)) // 2 if k > 1 else None
    by_group = plan_of(kind, k > 1)
    rng, largest = np.random.RandomState(4), 0.0
    for grid in (plan.grid.descents[0], plan.grid.descents[-1]):
        for size in (0.0, 1.0, 30.0, 1e4):
            weights = size * rng.normal(0, 1, (grid.n_basis + 1, len(problem.start)))
            clip = problem.scale * grid.clip
            old = exact_gradient(
                EncodedRows(rows_of(by_group, X, y, groups), grid),
                problem.residuals,
                weights,
                clip,
            )
            for more, outcomes in newcomers(kind, k):
                many = np.vstack([X, more]), np.append(y, outcomes)
                ids = None if k == 1 else np.append(groups, np.full(k, 9999))
                new = EncodedRows(rows_of(by_group, *many, ids), grid)
                change = exact_gradient(new, problem.residuals, weights, clip) - old
                # In whole numbers of any size.
                squared = sum(int(x) ** 2 for x in change.ravel())
                largest = max(largest, squared**0.5 / grid.sensitivity)
                assert squared <= grid.sensitivity**2
    return largest


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize("k", [1, 5])
def test_nobody_moves_a_gradient_by_more_than_the_sensitivity(kind, k):
    assert largest_change(kind, k) > 0.9


@pytest.mark.parametrize("kind", OUTCOMES)
def test_clipping_that_is_left_out_is_found(kind, monkeypatch):
    def unclipped(residuals, unit, largest, weights):
        return np.trunc(residuals / unit * WEIGHT_GRID * (weights / WEIGHT_GRID)[:, None])

    monkeypatch.setattr(_gradient_model, "integer_residuals", unclipped)
    with pytest.raises(AssertionError):
        largest_change(kind)


def test_norms_count_what_is_appended(monkeypatch):
    monkeypatch.setattr(_gradient_model, "squared_norms", lambda rows: np.zeros(len(rows)))
    with pytest.raises(AssertionError):
        largest_change("two classes")


class TestSteps:
    def test_they_follow_from_noisy_rows_and_what_is_public(self):
        plan, _, _, _, problem, _ = made("two classes")
        few, many = plan.grid.descents[0], plan.grid.descents[-1]
        assert (few.n_basis, many.n_basis) == (9, 24)
        for n_rows, mu in ((300, 0.5), (5000, 0.1), (20_000, 0.3)):
            of = copy(problem)
            of.n_rows = n_rows
            signal = n_rows * mu / np.sqrt(10)
            steps, rate = number_of_steps(of, few, mu)
            wanted = problem.steps_per_signal * signal
            assert steps == min(int(wanted), 200)
            assert rate == np.clip(wanted / 200, 1, 2)
            chosen = chosen_grid(of, plan.grid, mu)
            assert chosen is plan.grid.descents[int(np.clip(np.log2(signal / 80), 0, 5))]

    def test_noise_makes_the_norm_smaller_but_for_several_classes(self):
        for kind, least in (("two classes", 0.7), ("four classes", 1.0)):
            problem, grid = made(kind)[4], plan_of(kind).grid.descents[0]
            found = [tightness(problem, grid, mu) for mu in (1e-3, 1e3, np.inf)]
            assert found == [least, 1.0, 1.0]
        problem, grid = made("two classes")[4], plan_of("two classes").grid.descents[0]
        problem.n_rows = 80 * 1.5 * np.sqrt(10)
        assert tightness(problem, grid, 1.0) == pytest.approx(0.7 * np.sqrt(1.5))

    def test_more_scores_need_more_rows(self):
        two, four = (copy(made(kind)[4]) for kind in ("two classes", "four classes"))
        two.steps_per_signal = four.steps_per_signal
        grid = plan_of("two classes").grid.descents[0]
        assert number_of_steps(four, grid, 1.0)[0] == int(
            number_of_steps(two, grid, 1.0)[0] / 2**0.5
        )

    def test_they_are_shorter_where_columns_are_correlated(self):
        problem, grid = made("number")[4], plan_of("number").grid.descents[0]
        assert number_of_steps(problem, grid, 1.0)[1] == 0.5
        problem.largest_square = 16.0
        assert number_of_steps(problem, grid, 1.0)[1] == 2 / 16

    def test_noise_hides_small_moments_and_does_not_enlarge_others(self):
        rng, p = np.random.default_rng(0), 300
        sums = made("number")[5].sums
        direction = rng.normal(size=p)
        spike = np.outer(direction, direction) / (direction @ direction)
        noise = np.triu(rng.normal(size=(p, p)), 1)
        for deviation, largest in ((0.0, 10.0), (0.4, 10.0), (4.0, 4 * np.sqrt(p / 2))):
            of_noise = deviation * (noise + noise.T) * np.sqrt(0.5)
            noisy = replace(sums, second=100 * (10 * spike + of_noise))
            noisy = replace(noisy, second_sd=np.array(100 * deviation))
            assert _problems._largest_square(noisy, 100.0) == pytest.approx(largest, rel=0.1)

    def test_without_noise_there_are_the_most_steps_and_functions_as_at_large_epsilon(self):
        plan, _, _, _, problem, _ = made("number")
        few = chosen_grid(problem, plan.grid, 2.0)
        assert chosen_grid(problem, plan.grid, np.inf) is few
        problem.n_rows *= 1e6
        assert chosen_grid(problem, plan.grid, np.inf) is plan.grid.descents[-1]
        problem.n_rows /= 1e6
        assert number_of_steps(problem, plan.grid.descents[0], np.inf) == (200, 1.0)


@pytest.fixture
def to_the_end(monkeypatch):
    """Make so many steps, and clip so little, that the descent ends at the minimum."""
    monkeypatch.setattr(_gradient_model, "MOST_STEPS", 4000)
    monkeypatch.setattr(_gradient_model, "_CLIP", 20.0)
    monkeypatch.setattr(_gradient_model, "_ORDERS", (3,))
    monkeypatch.setattr(_gradient_model, "TAIL", 0.2)


SETTINGS = {"two classes": {"classes": [0, 1]}, "four classes": {"classes": [0, 1, 2, 3]}}
SETTINGS |= {"number": {"outcome": {"type": "number", "low": 0, "high": 1}}}
SETTINGS |= {"time": {"outcome": {"type": "event", "horizon": 100}}}


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")
def test_without_noise_it_ends_where_the_loss_is_least(kind, to_the_end):
    rng = np.random.RandomState(0)
    X = rng.random_sample((2000, N_FEATURES))
    y = outcomes_of(kind, X, rng)
    release = DPStatisticsSource(np.inf, model="gradients", **SETTINGS[kind]).fit(X, y).release_
    descent = release.descent
    Z = descent.basis.encode(X)
    radius = np.sqrt(3 * descent.basis.variances.sum())
    assert np.linalg.norm(Z, axis=1).max() < radius
    A = np.column_stack([Z, np.ones(len(Z))])
    K = len(descent.intercepts)

    def gradient(w):
        residuals = float_residuals(kind, A @ w.reshape(-1, K), y, release.statistics)
        return (A.T @ residuals).ravel() / len(A)

    found = np.column_stack([descent.coefficients, descent.intercepts]).T
    start = found.ravel()

    # Newton's method on a numerical derivative: the solution is independent of the descent.
    w = start.copy()
    for _ in range(5):
        H = np.array(
            [(gradient(w + 1e-5 * e) - gradient(w - 1e-5 * e)) / 2e-5 for e in np.eye(len(w))]
        )
        w -= np.linalg.lstsq(H, gradient(w), rcond=1e-9)[0]
    assert np.abs(gradient(w)).max() < 1e-8
    scores, best = A @ found, A @ w.reshape(-1, K)
    assert np.abs(scores - best).max() < 5e-3
    assert np.sqrt(np.mean((scores - best) ** 2)) < 1e-3


class TestTable:
    """Rows by outcome and bin of a score that is fixed."""

    @pytest.mark.parametrize("kind", OUTCOMES)
    def test_it_counts_each_row_once(self, kind):
        plan, rows, X, y, problem, statistics = made(kind)
        grid = plan.grid.descents[0]
        rng = np.random.RandomState(1)
        weights = rng.normal(0, 1, (grid.n_basis + 1, len(problem.start)))
        table = score_table(EncodedRows(rows, grid), problem, weights, 0.0, Exact())
        assert table.counts.sum() == pytest.approx(len(X), abs=1e-3)
        Z = np.column_stack([grid.basis.encode(X), np.full(len(X), grid.constant * grid.step)])
        scores = Z @ weights
        if kind == "two classes":
            score, outcome = scores[:, 0], y
        elif kind == "four classes":
            score, outcome = [], []
            for s, own in zip(scores, y, strict=True):
                for other in set(range(4)) - {own}:
                    score.append(abs(s[own] - s[other]))
                    best = 2 if s[own] == max(s) else 1
                    outcome.append(0 if s[other] > s[own] else best)
            score, outcome = np.array(score), np.array(outcome)
        elif kind == "number":
            edges = NumberBins.of(2 * problem.mean - 1).edges
            score = 2 * scores[:, 0] - 1
            left = 2 * y - 1 - score
            outcome = np.array([np.sum(edges[1:-1] <= residual) for residual in left])
        else:
            groups = TimeCells.of(statistics.exits, 0.0).cells
            score, outcome = scores[:, 0], groups[EVENT.cells(y["event"], y["time"])]
        bins = table.score_bins
        edges = bins.low + bins.width * np.arange(1, bins.n)
        apart = np.abs(np.subtract.outer(score, edges)).min(axis=1) > 1e-3  # not for rounding
        if kind == "number":
            of_numbers = NumberBins.of(2 * problem.mean - 1).edges
            apart &= np.abs(np.subtract.outer(left, of_numbers)).min(axis=1) > 1e-3
        expected = np.zeros(table.counts.shape)
        for s, o in zip(score[apart], outcome[apart], strict=True):
            expected[int(o), int(np.sum(edges <= s))] += len(X) / len(score)
        rest = table.counts - expected
        assert rest.min() > -1e-3
        assert rest.sum() == pytest.approx((~apart).mean() * len(X), abs=1e-3)
        assert (~apart).mean() < 0.07

    @pytest.mark.parametrize("kind", OUTCOMES)
    def test_a_person_adds_one_at_most(self, kind):
        groups = np.arange(300) // 7
        plan, _, X, y, problem, _ = made(kind, groups=groups)
        grid = plan.grid.descents[0]
        weights = np.random.RandomState(1).normal(0, 1, (grid.n_basis + 1, len(problem.start)))
        tables = []
        for more, outcomes in [(X[:0], y[:0]), *newcomers(kind, 5)]:
            ids = np.append(groups, np.full(len(more), 999))
            rows = rows_of(plan, np.vstack([X, more]), np.append(y, outcomes), ids)
            encoded = EncodedRows(rows, grid)
            tables.append(score_table(encoded, problem, weights, 0.0, Exact()).counts)
        changes = [np.linalg.norm(table - tables[0]) for table in tables[1:]]
        # Each pair of four classes has a third of it.
        assert (0.57 if kind == "four classes" else 0.99) < max(changes) <= 1


class Recorded:
    """Queries with a budget, which keep what they are asked, or give the answers of others."""

    def __init__(self, plan, given=None):
        self._queries = GaussianQueries(4.0, 1e-5, plan.shares, RandomBits(bytes(32)))
        self.distance, self._given, self.asked = self._queries.distance, given, []
        self.divide, self.deviation = self._queries.divide, self._queries.deviation

    def add(self, name, values, sensitivity, scales=1.0):
        answer = self._queries.add(name, values, sensitivity, scales)
        if self._given is not None:
            answer = self._given[len(self.asked)].answer
        question = {"sensitivity": sensitivity, "deviation": self.deviation(name, 1.0)}
        self.asked.append(SimpleNamespace(name=name, exact=values, answer=answer, **question))
        return answer.copy()


def learned(kind, n, seed, given=None):
    """Return a model of rows, the queries that it asked, and the plan."""
    plan, rows, *_ = made(kind, n, seed)
    queries = Recorded(plan, given)
    return plan.model.learn(rows, plan.grid, queries), queries, plan


@pytest.mark.parametrize("kind", OUTCOMES)
def test_what_is_learned_follows_from_noisy_answers_alone(kind, quick_noise):
    model, queries, _ = learned(kind, 300, 1)
    # Twice as many rows, whose answers are those of the others.
    same, others, _ = learned(kind, 600, 2, queries.asked)
    for one, other in zip(queries.asked, others.asked, strict=True):
        assert (one.name, one.sensitivity, one.deviation) == (
            other.name, other.sensitivity, other.deviation
        )  # fmt: skip
        assert not np.array_equal(one.exact, other.exact)
    expected, found = model.pack(), same.pack()
    assert expected.keys() == found.keys()
    for name in expected:
        assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("kind", OUTCOMES)
def test_each_step_is_noisy_and_all_spend_the_budget(kind, quick_noise):
    model, queries, plan = learned(kind, 300, 1)
    problem = problem_of(model.statistics)
    grid = chosen_grid(problem, plan.grid, queries.distance)
    n_steps, _ = number_of_steps(problem, grid, queries.distance)
    names = [each.name for each in queries.asked]
    assert names[-n_steps - 1 :] == ["gradients"] * n_steps + ["claims"]
    assert names.count("gradients") == n_steps > 3
    for each in queries.asked[-n_steps - 1 :]:
        assert each.sensitivity == (ROW if each.name == "claims" else grid.sensitivity)
        noise = (each.answer - each.exact) / each.sensitivity / each.deviation
        assert 1e-9 < chi2(noise.size).cdf((noise**2).sum()) < 1 - 1e-9
    # All of the budget is spent, and the table is what was answered.
    spent = sum(each.deviation**-2 for each in queries.asked)
    assert spent == pytest.approx(queries.distance**2)
    assert_array_equal(model.descent.table.counts.ravel() * ROW, queries.asked[-1].answer)


class TestStart:
    @pytest.mark.parametrize("kind", ["two classes", "time"])
    def test_it_is_halfway_between_no_effects_and_those_of_the_sums(self, kind, monkeypatch):
        plan, rows, X, _, problem, statistics = made(kind)
        of_sums, seen = TableModel(statistics), []

        def step(encoded, residuals, weights, clip):
            seen.append(weights.copy())
            return np.zeros(weights.shape, dtype=np.int64)

        monkeypatch.setattr(_gradient_model, "exact_gradient", step)
        # Functions of the sums are anywhere among those of the gradients.
        grid, rng = plan.grid.descents[-1], np.random.RandomState(5)
        order = rng.permutation(grid.n_basis)
        parts = {name: array[order] for name, array in vars(grid.basis).items()}
        grid = replace(grid, basis=BasisFunctions(**parts))
        places = statistics.basis.places_in(grid.basis)
        descend(EncodedRows(rows, grid), problem, Exact(), places)
        scores = grid.basis.encode(X) @ seen[0][:-1] + seen[0][-1] * grid.constant * grid.step
        if kind == "time":
            expected = of_sums.risks(X) / 2
        else:
            counts = statistics.sums.row_counts
            log_odds = np.diff(statistics.linear.scores(X), axis=1)[:, 0]
            expected = (np.log(counts[1] / counts[0]) + log_odds) / 2
        assert expected.std() > 0.2
        assert_allclose(scores[:, 0], expected, atol=1e-9)

    @pytest.mark.parametrize("kind", ["two classes", "time"])
    def test_after_many_steps_it_does_not_matter(self, kind, to_the_end):
        plan, rows, X, _, problem, statistics = made(kind)
        [grid] = plan.grid.descents
        encoded, queries, scores = EncodedRows(rows, grid), Exact(), []
        queries.distance = np.inf
        places = statistics.basis.places_in(grid.basis)
        for factor in (1.0, 0.0, -2.0):
            other = copy(problem)
            other.start, other.first = factor * problem.start, factor * problem.first
            weights, _ = descend(encoded, other, queries, places)
            scores.append(grid.basis.encode(X) @ weights[:-1] + weights[-1])
        assert queries.steps == 4000
        assert_allclose(scores[1:], [scores[0]] * 2, atol=1e-6)


@pytest.mark.parametrize(
    ("squares", "noise", "least", "most"), [(3.0, 0.0, 0.119, 0.121), (-20.0, 30.0, 0.06, 0.4)]
)
def test_residuals_of_numbers_are_clipped_at_the_likely_scale(squares, noise, least, most):
    # 300 rows with a standard deviation of .1, known exactly; or noise that hides it.
    sums = NoisyStatistics(
        counts=np.array([180.0, 120.0]),
        total=np.zeros(1),
        contrast=np.zeros((2, 1)),
        frequencies=np.array([0.6, 0.4]),
        second=np.eye(1),
        radius=1.0,
        count_sd=0.0,
        total_sd=0.0,
        contrast_sd=0.0,
        second_sd=0.0,
        squares=np.array([squares]),
        square_sd=np.array([noise]),
    )
    assert least < Number(sums).scale < most
