"""What a release claims of a fixed score, by a noisy table of it."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm, t
from sklearn.metrics import r2_score, roc_auc_score

from skdp.release import _claims, _score_table
from skdp.release._claims import (
    NumberBins,
    TimeCells,
    class_claims,
    number_claims,
    pair_claims,
    time_claims,
)
from skdp.release._exits import Exits, N
from skdp.release._score_table import (
    MOMENTUM,
    MOST_CELLS,
    PARTS,
    ScoreBins,
    ScoreTable,
    pair_frame,
    score_frame,
    trajectory,
)

MANY = 200_000
# Variances of three functions, which do not matter to a table of other rows.
OF_OTHERS = np.ones(3)


def table_of(scores, outcomes, n_outcomes, rng, *, deviation=0.0, fit=(0, 0, 0, 0), **settings):
    """The noisy table of rows, with ``claimed`` as the deviation that it states."""
    claimed = settings.pop("claimed", deviation)
    weights = settings.pop("weights", None)
    center, unit = settings.pop("frame", (float(np.mean(scores)), float(np.std(scores))))
    bins = ScoreBins.of(center, unit, len(scores), deviation, **settings)
    cells = (outcomes * bins.n + bins.index(scores)).ravel()
    counts = np.bincount(cells, weights, minlength=n_outcomes * bins.n).astype(float)
    counts += deviation * rng.standard_normal(len(counts))
    of_bins = np.array([bins.low, bins.width, bins.n, bins.unit])
    of_noise = np.array([float(claimed)]), of_bins, np.array(fit, float)
    return ScoreTable(counts.reshape(n_outcomes, -1), *of_noise)


def classes(scores, rng, slope=1.0, intercept=0.0):
    return (rng.uniform(size=len(scores)) < expit(slope * scores + intercept)).astype(int)


SHAPES = {
    "normal": lambda rng: -0.5 + 1.5 * rng.standard_normal(MANY),
    "skewed": lambda rng: rng.gamma(2.0, 0.8, MANY) - 3,
    "two groups": lambda rng: rng.standard_normal(MANY) * 0.6 + rng.choice([-2.5, 1.0], MANY),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_without_noise_two_classes_have_their_slope_and_area(shape, rng):
    scores = SHAPES[shape](rng)
    for slope, intercept in ((1.0, 0.0), (0.5, 1.0)):
        y = classes(scores, rng, slope, intercept)
        claims = class_claims(table_of(scores, y, 2, rng), OF_OTHERS, np.bincount(y), 0.1)
        assert claims.slope == pytest.approx(slope, rel=0.03)
        assert claims.intercept == pytest.approx(intercept, abs=0.05)
        mean, low, high = claims.value
        assert mean == pytest.approx(roc_auc_score(y, scores), abs=0.003)
        assert low < mean < high < low + 0.02


def test_without_noise_a_number_has_its_slope_r2_and_residuals(rng):
    scores = 0.25 * rng.standard_normal(MANY) - 0.1
    residuals = 0.06 * (rng.gamma(4.0, 1.0, MANY) - 4)
    for slope, intercept in ((1.0, 0.0), (0.6, 0.1)):
        u = np.clip(slope * scores + intercept + residuals, -1, 1)
        numbers = NumberBins.of(u.mean())
        table = table_of(scores, numbers.index(u, scores), numbers.n, rng)
        claims = number_claims(table, OF_OTHERS, numbers, 1e-3, MANY, 1.0)
        assert claims.slope == pytest.approx(slope, rel=0.03)
        predicted = claims.slope * scores + claims.intercept
        mean, low, high = claims.value
        assert mean == pytest.approx(r2_score(u, predicted), abs=0.01)
        assert low <= mean <= high < low + 0.06
        places, spread = (1 + predicted) / 2, claims.distribution
        inside = np.abs(u - predicted) / 2 < norm.ppf(0.9) * spread.deviation
        assert inside.mean() == pytest.approx(0.8, abs=0.02)
        wanted = np.exp(3 * u).mean()
        found = spread.moments(places, 1.0, lambda place: np.exp(3 * (2 * place - 1)))[0]
        assert found.mean() == pytest.approx(wanted, rel=0.02)
        for level in (0.1, 0.5, 0.9):
            below = (1 + u) / 2 < spread.quantile(places, 1.0, level)
            assert below.mean() == pytest.approx(level, abs=0.03)


def test_far_residuals_of_a_number_near_a_bound_count(rng):
    scores = 0.03 * rng.standard_normal(MANY) - 0.92
    u = np.clip(scores + 0.01 * (rng.lognormal(1.0, 1.2, MANY) - 4), -1, 1)
    numbers = NumberBins.of(u.mean())
    assert numbers.edges[0] <= -1 - numbers.mean
    assert numbers.edges[-1] >= 1 - numbers.mean
    table = table_of(scores, numbers.index(u, scores), numbers.n, rng)
    claims = number_claims(table, OF_OTHERS, numbers, 1e-3, MANY, 1.0)
    reached = r2_score(u, claims.slope * scores + claims.intercept)
    assert claims.value[0] == pytest.approx(reached, abs=0.04)


def test_far_residuals_have_the_distribution_of_student():
    x = np.array([-np.inf, -1e200, *np.linspace(-30, 30, 50), 1e200, np.inf])
    assert _claims._student(x) == pytest.approx(t.cdf(x, 3), abs=1e-12)


def ways_to_leave(log_hazards, rng, hazard=1.0, leaving=0.6):
    """Times to events of proportional hazards, and the way in which each row leaves."""
    n = len(log_hazards)
    times = rng.exponential(size=n) / (hazard * np.exp(log_hazards))
    left = rng.exponential(size=n) / leaving
    events = (times <= left) & (times <= 1)
    times = np.minimum(np.minimum(times, left), 1.0)
    intervals = np.minimum((times * N).astype(int), N - 1)
    return np.where(events, intervals, np.where(times < 1, N + intervals, 2 * N)), events, times


def harrell(events, times, scores):
    """The concordance of Harrell, pair by pair."""
    first = events[:, np.newaxis] & (times[:, np.newaxis] < times)
    right = (scores[:, np.newaxis] > scores) + (scores[:, np.newaxis] == scores) / 2
    return (first * right).sum() / first.sum()


@pytest.mark.parametrize("spread", [1.0, 0.4])
def test_without_noise_times_have_their_slope_and_concordance(spread, rng):
    scores = spread * rng.standard_normal(MANY)
    ways, events, times = ways_to_leave(scores, rng)
    exits = Exits.of(np.bincount(ways, minlength=2 * N + 1).astype(float), 0.0)
    cells = TimeCells.of(exits, 0.0)
    table = table_of(scores, cells.cells[ways], cells.n, rng)
    claims = time_claims(table, OF_OTHERS, cells, exits, 0.1)
    assert claims.slope == pytest.approx(1.0, rel=0.05)
    some = slice(6000)
    expected = harrell(events[some], times[some], scores[some])
    assert claims.value[0] == pytest.approx(expected, abs=0.012)
    assert np.ptp(claims.value) < 0.02


@pytest.mark.parametrize("n_classes", [3, 7])
def test_without_noise_several_classes_have_their_temperature_and_accuracy(n_classes, rng):
    n = MANY // 4
    scores = 1.5 * rng.standard_normal((n, n_classes))
    for slope in (1.0, 0.6):
        gumbel = rng.gumbel(size=scores.shape)
        y = (slope * scores + gumbel).argmax(axis=1)
        table = table_of(**pairs(scores, y), rng=rng)
        claims = pair_claims(table, OF_OTHERS, n_classes, n, 0.1)
        assert claims.slope == pytest.approx(slope, rel=0.03)
        assert claims.value[0] == pytest.approx(np.mean(scores.argmax(axis=1) == y), abs=0.005)


def pairs(scores, y):
    """Pairs of the class of each row with each other class, as tables of several have them."""
    n, n_classes = scores.shape
    rows = np.arange(n)
    others = np.array([[k for k in range(n_classes) if k != c] for c in range(n_classes)])[y]
    apart = scores[rows, y][:, np.newaxis] - scores[rows[:, np.newaxis], others]
    highest = (apart > 0).all(axis=1, keepdims=True)
    outcomes = np.where(apart > 0, 1 + highest, 0)
    weights = np.full(apart.size, 1 / (n_classes - 1))
    frame = 0.0, float(np.sqrt(np.mean(apart**2)))
    given = {"folded": True, "frame": frame, "weights": weights, "n_outcomes": 3}
    return {"scores": np.abs(apart), "outcomes": outcomes, **given}


def binormal(rng, n, d_prime, frequency=0.4):
    """Scores of two normal classes in units that are not those of log-odds, and their area."""
    y = (rng.uniform(size=n) < frequency).astype(int)
    scores = 0.7 * (d_prime * y + rng.standard_normal(n))
    return scores, y, norm.cdf(d_prime / np.sqrt(2))


def simulated(rng, n, deviation, **settings):
    scores, y, area = binormal(rng, n, np.exp(np.log(1.0) + 0.5 * rng.standard_normal()))
    frame = float(rng.normal(scores.mean(), 0.3)), float(scores.std() * rng.uniform(0.7, 1.4))
    table = table_of(scores, y, 2, rng, deviation=deviation, frame=frame, **settings)
    counts = np.bincount(y, minlength=2) + 10 * rng.standard_normal(2)
    return class_claims(table, OF_OTHERS, counts, 10.0), area


@pytest.mark.parametrize("n", [300, 3000])
def test_intervals_hold_the_area(n, rng):
    claims = [simulated(rng, n, 12.0) for _ in range(80)]
    held = [low <= area <= high for (_, low, high), area in _values(claims)]
    # Nominally 80%.
    assert 0.68 < np.mean(held) < 0.96
    errors = np.array([mean - area for (mean, *_), area in _values(claims)])
    assert abs(errors.mean()) < 0.03


def _values(claims):
    return [(claim.value, area) for claim, area in claims]


def test_intervals_say_too_little_of_noise_that_is_not_stated(rng):
    wrong = [simulated(rng, 3000, 36.0, claimed=6.0) for _ in range(40)]
    assert np.mean([low <= area <= high for (_, low, high), area in _values(wrong)]) < 0.7


@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (0.9, False), (1.1, False)])
def test_cells_vary_as_the_posterior_says(factor, accepted, rng):
    # About the expected rows, with deviations of cells, sampling and noise: chi-squared.
    deviation, draws = 20.0, 400
    scores, y, _ = binormal(rng, 5000, 1.2)
    table = table_of(scores, y, 2, rng, deviation=deviation)
    table = ScoreTable(table.counts, factor * table.deviation, table.bins, table.fit)
    model = _claims._Classes(table, OF_OTHERS, np.bincount(y), 10.0, np.eye(2))
    t = model.mean.copy()
    t[0], t[_score_table.EFFECT] = np.log(5000), 1.0
    [expected] = model.expected(t[np.newaxis])
    cells = expected[:-2].reshape(table.counts.shape)
    variances = _score_table._variances(model, expected)
    squares = []
    for _ in range(draws):
        rows = cells + model.of_cells * cells * rng.standard_normal(cells.shape)
        rows += np.sqrt(cells) * rng.standard_normal(cells.shape)
        rows += deviation * rng.standard_normal(cells.shape)
        left = np.append(rows.ravel(), expected[-2:]) - expected
        squares.append((left**2 / variances).sum())
    mean = np.mean(squares) / cells.size
    assert (abs(mean - 1) < 4 * np.sqrt(2 / (cells.size * draws))) == accepted


def noise_claims(kind, rng):
    """The claim of a score that says nothing, and the value of nothing."""
    n, deviation = 500, 10.0
    scores = rng.standard_normal(n)
    if kind == "classes":
        y = (rng.uniform(size=n) < 0.4).astype(int)
        table = table_of(scores, y, 2, rng, deviation=deviation)
        return class_claims(table, OF_OTHERS, np.bincount(y, minlength=2), 10.0), 0.5
    if kind == "number":
        u = np.clip(0.2 * rng.standard_normal(n), -1, 1)
        numbers = NumberBins.of(u.mean())
        table = table_of(
            0.2 * scores, numbers.index(u, 0.2 * scores), numbers.n, rng, deviation=deviation
        )
        return number_claims(table, OF_OTHERS, numbers, 0.02, n, 10.0), 0.0
    ways, *_ = ways_to_leave(np.zeros(n), rng)
    counts = np.bincount(ways, minlength=2 * N + 1) + 3 * rng.standard_normal(2 * N + 1)
    exits = Exits.of(counts, 3.0)
    cells = TimeCells.of(exits, deviation)
    table = table_of(scores, cells.cells[ways], cells.n, rng, deviation=deviation)
    return time_claims(table, OF_OTHERS, cells, exits, 3.0), 0.5


@pytest.mark.parametrize("kind", ["classes", "number", "time"])
def test_of_noise_the_claim_contains_nothing(kind, rng):
    lows = [
        claims.value[1] - nothing
        for claims, nothing in (noise_claims(kind, rng) for _ in range(30))
    ]
    # Nominally in 90 % of draws.
    assert np.mean(np.array(lows) <= 0) >= 0.73


def test_same_table_same_claims(rng):
    scores, y, _ = binormal(rng, 500, 1.0)
    table = table_of(scores, y, 2, rng, deviation=5.0)
    one, two = (class_claims(table, OF_OTHERS, np.bincount(y), 5.0) for _ in range(2))
    assert one.slope == two.slope
    np.testing.assert_array_equal(one.value, two.value)


def descended(gradients, square, rate, curvature):
    """The mean coefficient of the last half of steps towards 1, with these errors of gradients."""
    at, speed, seen = 0.0, 0.0, []
    for gradient in gradients:
        speed = MOMENTUM * speed - rate * (curvature * square * (at - 1) + gradient)
        at += speed
        seen.append(at)
    return np.mean(seen[-max(len(seen) // 2, 1) :])


@pytest.mark.parametrize("n_steps", [1, 2, 3, 10, 25])
def test_trajectory_is_that_of_a_descent(n_steps):
    squares, rate, curvature = np.array([0.3, 0.1, 0.02]), 0.5, 0.25
    progress, noise = trajectory(squares, n_steps, rate, curvature)
    for k, square in enumerate(squares):
        exact = descended(np.zeros(n_steps), square, rate, curvature)
        assert progress[k] == pytest.approx(exact, rel=1e-9)
        moved = [descended(row, square, rate, curvature) - exact for row in np.eye(n_steps)]
        assert noise[k] == pytest.approx(np.square(moved).sum(), rel=1e-9)


def test_a_descent_of_many_steps_is_complete_and_one_of_none_has_not_begun():
    squares = np.array([0.3, 0.1, 0.02])
    assert trajectory(squares, 20_000, 1.0, 0.25)[0] == pytest.approx(np.ones(3), rel=1e-3)
    for found in trajectory(squares, 0, 1.0, 0.25):
        assert (found == 0).all()


def test_the_descent_knows_the_mean_of_numbers_better_than_one_noisy_sum(rng):
    # 300 rows: the noisy mean is off by .3, and the descent has moved to the true one.
    scores = 0.2 + 0.15 * rng.standard_normal(300)
    u = np.clip(scores + 0.25 * rng.standard_normal(300), -1, 1)
    numbers = NumberBins.of(u.mean() + 0.3)
    errors = []
    for fit in ((0, 0, 9, 0), (60, 0.5, 9, 1e-3)):
        table = table_of(scores, numbers.index(u, scores), numbers.n, rng, deviation=20.0, fit=fit)
        claims = number_claims(table, OF_OTHERS, numbers, 0.3, 300.0, 20.0)
        errors.append(claims.slope * scores.mean() + claims.intercept - u.mean())
    assert abs(errors[1]) < 0.1 < abs(errors[0])


def test_noisy_tables_have_half_of_the_bins_whose_edges_are_among_the_others():
    few, many = NumberBins.of(0.2, fine=False), NumberBins.of(0.2)
    assert few.n < 0.7 * many.n
    assert np.isin(few.edges[1:-1], many.edges).all()
    for bins in (few, many):  # residuals of all numbers between the bounds have a bin of their own
        assert bins.edges[0] <= -1 - 0.2
        assert bins.edges[-1] >= 1 - 0.2


def test_what_was_fitted_to_the_same_rows_is_taken_off(rng):
    # Least squares: the covariance of fitted and observed numbers is too large by s² p/n.
    scores, n = 0.2 * rng.standard_normal(MANY), MANY
    u = np.clip(scores + 0.15 * rng.standard_normal(n), -1, 1)
    numbers = NumberBins.of(u.mean())
    variances, given = np.ones(n // 5), (numbers, 1e-3, n, 1.0)
    index = numbers.index(u, scores)
    claims = [
        number_claims(table_of(scores, index, numbers.n, rng, fit=fit), variances, *given)
        for fit in ((0, 0, 9, 0), (100, 0.5, 9, 0))
    ]
    lower = 0.2 * 0.15**2 / 0.2**2
    assert claims[0].slope - claims[1].slope == pytest.approx(lower, rel=0.1)
    assert claims[1].value[0] < claims[0].value[0]


@pytest.mark.parametrize("effect", [0.3, 1.0, 2.0])
def test_the_optimism_of_numbers_is_that_of_scores_moved_towards_them(effect, rng):
    scores = 0.1 + 0.12 * rng.standard_normal(MANY)
    u = 0.1 + effect * (scores - 0.1) + 0.2 * rng.standard_normal(MANY)
    numbers, p = NumberBins.of(u.mean()), 4000
    index = numbers.index(u, scores)
    table = table_of(scores, index, numbers.n, rng, fit=(100, 0.5, 9, 0))
    model = _claims._Numbers(table, np.ones(p), numbers, 1e-4, float(MANY), 1.0)
    # A complete descent has moved each score by p/N times its distance from the number.
    before = scores + p / MANY * (scores - u)
    slopes = [np.polyfit(x, u, 1)[0] for x in (scores, before)]
    found = model.optimism(_score_table._Fit.of(model, model.mean).mode)
    assert found == pytest.approx(slopes[0] - slopes[1], abs=0.005)


@pytest.mark.parametrize(("clip", "clipped"), [(9.0, 0.0), (0.3, 0.5)])
def test_clipped_rows_move_their_own_scores_more(clip, clipped, rng):
    # Newton's steps about 0, with the curvature of the rows that are not clipped.
    n, p = 4000, 60
    z, y = rng.standard_normal((n, p)), (rng.uniform(size=n) < 0.5).astype(int)
    w = np.zeros(p)
    for _ in range(400):
        residual = expit(z @ w) - y
        w -= 0.5 * z.T @ np.clip(residual, -clip, clip) / n
    scores = z @ w
    assert np.mean(np.abs(expit(scores) - y) > clip) >= clipped
    table = table_of(scores, y, 2, rng, fit=(200, 1.0, clip, 0.0))
    claims = class_claims(table, np.ones(p), np.bincount(y), 1.0)
    assert roc_auc_score(y, scores) > 0.55
    assert claims.value[0] == pytest.approx(0.5, abs=0.015)


def test_bins_hold_all_scores():
    bins = ScoreBins.of(1.0, 0.5, 1000, 5.0)
    scores = np.array([-np.inf, bins.low - 1, np.nan, np.inf, 1.0, 1.0 - 1e-9])
    last, middle = bins.n - 1, bins.n // 2
    assert bins.index(scores).tolist() == [0, 0, middle, last, middle, middle - 1]
    np.testing.assert_allclose(np.diff(bins.edges), bins.width / PARTS)
    folded = ScoreBins.of(0.0, 0.5, 1000, 5.0, folded=True)
    assert folded.low == 0
    assert folded.n == bins.n / 2


@pytest.mark.parametrize("deviation", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("n_rows", [1.0, 1e3, 1e9])
def test_tables_are_small(n_rows, deviation):
    bins = ScoreBins.of(0.0, 1.0, n_rows, deviation)
    exits = Exits.of(np.full(2 * N + 1, n_rows / 41), deviation)
    for n in (2, 3, NumberBins.of(0.1).n, TimeCells.of(exits, deviation).n):
        assert n * bins.n <= MOST_CELLS


def test_frames_are_those_of_independent_columns(rng):
    weights, variances = np.array([1.0, -2.0]), np.array([0.5, 0.25])
    z = rng.standard_normal((MANY, 2)) * np.sqrt(variances)
    center, unit = score_frame(weights, 0.3, variances)
    assert center == 0.3
    assert unit == pytest.approx((z @ weights).std(), rel=0.01)
    several = rng.standard_normal((3, 2))
    scores = z @ several.T
    apart = [scores[:, i] - scores[:, j] for i in range(3) for j in range(3) if i != j]
    expected = np.sqrt(np.mean(np.square(apart)) * 2 / 3)
    assert pair_frame(several, variances)[1] == pytest.approx(expected, rel=0.01)


def test_a_table_says_what_it_must_be(rng):
    scores, y, _ = binormal(rng, 300, 1.0)
    table = table_of(scores, y, 2, rng, deviation=2.0)
    ScoreTable.validate(table, "scored", None, {})
    restored = ScoreTable.unpack(table.pack())
    np.testing.assert_array_equal(restored.counts, table.counts)
    assert restored.score_bins == table.score_bins
    wrong = ScoreTable(table.counts[:, 1:], table.deviation, table.bins, table.fit)
    with pytest.raises(ValueError, match="must fit the counts"):
        ScoreTable.validate(wrong, "scored", None, {})


def test_hostile_tables_end_in_finite_claims(rng):
    bins = np.array([-5.0, 1.0, 10.0, 1.0])
    for counts in (np.zeros((2, 10)), np.full((2, 10), -50.0), 1e6 * rng.standard_normal((2, 10))):
        table = ScoreTable(counts, np.array([1.0]), bins, np.array([5.0, 1.0, 1.0, 0.1]))
        claims = class_claims(table, OF_OTHERS, np.array([100.0, -20.0]), 30.0)
        assert np.isfinite([claims.slope, claims.intercept, *claims.value]).all()


def separated(rng, n=400, d_prime=4.0):
    """The claims of a descent at ε = 4 about classes far apart, and the best slope."""
    y = (rng.uniform(size=n) < 0.4).astype(int)
    # In units in which log-odds have a slope between a half and 2.
    best = np.exp(rng.uniform(-np.log(2), np.log(2)))
    scores = d_prime / best * (d_prime * y - d_prime / 2 + rng.standard_normal(n))
    # Of the frame as a descent knows it; noise and functions as of four numeric columns.
    frame = float(rng.normal(0, 0.1) * scores.std()), float(scores.std() * rng.uniform(0.6, 1.4))
    table = table_of(scores, y, 2, rng, deviation=2.8, fit=(30, 1.0, 0.4, 0.0), frame=frame)
    counts = np.bincount(y, minlength=2) + 5 * rng.standard_normal(2)
    return class_claims(table, np.full(12, 0.3), counts, 5.0), best


def test_separated_classes_are_claimed_to_be(rng):
    claims, best = zip(*(separated(rng) for _ in range(20)), strict=True)
    assert np.mean([claim.value[0] > 0.97 for claim in claims]) >= 0.95
    ratios = np.array([claim.slope for claim in claims]) / best
    assert 0.8 < np.median(ratios) < 1.7
    assert np.mean((ratios > 0.5) & (ratios < 2)) >= 0.75
