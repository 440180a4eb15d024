"""What neighbors can be told apart by, over all queries that were chosen from earlier answers.

The answers that were given for D are given again for a neighbor D′. What was asked is then the
same, so that the exact difference of each pair of answers over the standard deviation of its
noise, squared and summed, is the square of the real μ: at most that of ε and δ.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import DPStatisticsSource
from skdp.noise import GaussianQueries, _queries
from skdp.privacy import gaussian_sigma
from skdp.source import MODELS, RowGrid, _gradient_model, _statistics_source
from skdp.tabular import NumericColumn

EPSILON, DELTA = 4.0, 1e-5
CLAIMED = 1 / gaussian_sigma(EPSILON, DELTA)
N_FEATURES, CLASSES = 4, [0, 1, 2]
FEW = slice(2, 5)


class Tape:
    """Queries that note what they are asked and the noise they would add, and can repeat answers.

    Attributes
    ----------
    asked : list of pair of ndarrays
        Exact answers and standard deviations of their noise, query by query.

    given : list of ndarray
        Noisy answers.
    """

    def __init__(self, monkeypatch):
        self.rng = np.random.RandomState(0)
        self.deviations = []
        tape = self

        class Queries(GaussianQueries):
            def add(self, *query):
                return tape.answer(super().add, *query)

        monkeypatch.setattr(_queries, "_sampler", self.sampler)
        monkeypatch.setattr(_statistics_source, "GaussianQueries", Queries)

    def sampler(self, deviation):
        """Return a sampler that returns, in place of noise, the place of its deviation."""
        place = len(self.deviations)
        self.deviations.append(deviation)
        return SimpleNamespace(sample=lambda n, bits: np.full(n, place))

    def answer(self, add, name, values, *rest):
        places = add(name, values, *rest) - values
        deviations = np.array(self.deviations)[places]
        self.asked.append((values, deviations))
        if len(self.given) < len(self.asked):
            noise = deviations * self.rng.standard_normal(values.shape)
            self.given.append(values + np.rint(noise).astype(np.int64))
        return self.given[len(self.asked) - 1]

    def mu(self, source, data, neighbor):
        """Return the real μ of all queries to one data set, when another one is asked them."""
        self.given, both = [], []
        for each in (data, neighbor):
            self.asked, self.deviations = [], []
            source.fit(*each)
            both.append(self.asked)
        assert len(both[0]) == len(both[1])
        squared = 0.0
        for (values, deviations), (others, theirs) in zip(*both, strict=True):
            assert_array_equal(deviations, theirs)  # they follow from what is public alone
            squared += (((values - others) / deviations) ** 2).sum()
        return np.sqrt(squared)


@pytest.fixture
def tape(monkeypatch, no_doubts, no_rehearsals):
    return Tape(monkeypatch)


def people():
    """Return rows, labels of which the last class is rare, and persons with up to five rows."""
    rng = np.random.RandomState(1)
    y = rng.choice(CLASSES, size=160, p=[0.6, 0.37, 0.03])
    X = np.clip(rng.normal(0.4 + 0.1 * y[:, None], 0.1, (160, N_FEATURES)), 0, 1)
    return X, y, rng.randint(40, size=160)


def newcomers(k):
    """Yield k rows each of a person who may come: usual, extreme, of a rare class or several."""
    rng = np.random.RandomState(2)
    corners = np.array([np.zeros(N_FEATURES), np.ones(N_FEATURES), np.arange(N_FEATURES) % 2])
    for corner in corners:
        for label in (0, 2):
            yield np.repeat(corner[np.newaxis], k, axis=0), np.full(k, label)
    yield np.full((k, N_FEATURES), 0.4), np.full(k, 2)
    yield 1e300 * np.ones((k, N_FEATURES)), np.full(k, 2)
    yield rng.rand(k, N_FEATURES), rng.choice(CLASSES, size=k)
    yield rng.randint(2, size=(k, N_FEATURES)), rng.choice(CLASSES, size=k)


def worst_mu(tape, model, unit="record", n_rows=1, only=slice(None)):
    """Return the largest real μ where a person of so many rows comes, or goes."""
    X, y, groups = people()
    source = DPStatisticsSource(EPSILON, DELTA, model=model, classes=CLASSES, privacy_unit=unit)
    worst = 0.0
    for rows, labels in list(newcomers(n_rows))[only]:
        few, many = (X, y), (np.vstack([X, rows]), np.append(y, labels))
        if unit == "group":
            few, many = (*few, groups), (*many, np.append(groups, np.full(n_rows, 99)))
        worst = max(worst, tape.mu(source, few, many), tape.mu(source, many, few))
    return worst


@pytest.fixture
def fewer_steps(monkeypatch):
    """Few steps, with all of the budget; a record is asked in all."""
    monkeypatch.setattr(_gradient_model, "MOST_STEPS", 10)


@pytest.mark.parametrize("model", list(MODELS))
def test_no_record_moves_all_answers_by_more_than_is_claimed(tape, model, fewer_steps):
    mu = worst_mu(tape, model)
    assert 0.5 * CLAIMED < mu <= CLAIMED


def test_no_record_moves_the_answers_of_all_steps_by_more_than_is_claimed(tape):
    assert 0.5 * CLAIMED < worst_mu(tape, "gradients", only=FEW) <= CLAIMED


@pytest.mark.parametrize("model", list(MODELS))
def test_no_person_moves_all_answers_by_more_than_is_claimed(tape, model, fewer_steps):
    assert worst_mu(tape, model, "group", n_rows=7) <= CLAIMED


NUMBER = {"type": "number", "low": 0, "high": 10}


def worst_mu_of_numbers(tape, model="linear", unit="record", k=1):
    """Return the largest real μ where a person comes, or goes, with the most extreme numbers."""
    X, _, groups = people()
    y = np.clip(8 * X[:, 0] + np.random.RandomState(3).normal(0, 1, len(X)), 0, 10)
    source = DPStatisticsSource(EPSILON, DELTA, model=model, outcome=NUMBER, privacy_unit=unit)
    worst = 0.0
    for place, number in ((0.0, 10.0), (1.0, 0.0), (1.0, 1e300), (0.4, -7.0), (1.0, 5.0)):
        rows, numbers = np.full((k, N_FEATURES), place), np.full(k, number)
        few, many = (X, y), (np.vstack([X, rows]), np.append(y, numbers))
        if unit == "group":
            few, many = (*few, groups), (*many, np.append(groups, np.full(k, 99)))
        worst = max(worst, tape.mu(source, few, many), tape.mu(source, many, few))
    return worst


@pytest.mark.parametrize("model", ["linear", "gradients"])
def test_no_record_with_a_number_moves_answers_by_more_than_is_claimed(tape, model, fewer_steps):
    assert 0.5 * CLAIMED < worst_mu_of_numbers(tape, model) <= CLAIMED
    assert worst_mu_of_numbers(tape, model, "group", 7) <= CLAIMED


def worst_mu_of_times(tape, unit="record", k=1):
    """Return the largest real μ where a person comes, or goes, with the most extreme times."""
    X, _, groups = people()
    y = np.zeros(len(X), dtype=[("event", bool), ("time", float)])
    y["time"] = np.random.RandomState(3).exponential(100, len(X))
    y["event"] = np.arange(len(X)) % 3 > 0
    outcome = {"type": "event", "horizon": 365}
    source = DPStatisticsSource(EPSILON, DELTA, outcome=outcome, privacy_unit=unit)
    worst = 0.0
    for place, event, time in ((1, True, 0), (0, False, 365), (1, False, 1e300), (0.4, True, 40)):
        rows, new = np.full((k, N_FEATURES), place), np.full(k, np.array((event, time), y.dtype))
        few, many = (X, y), (np.vstack([X, rows]), np.append(y, new))
        if unit == "group":
            few, many = (*few, groups), (*many, np.append(groups, np.full(k, 99)))
        worst = max(worst, tape.mu(source, few, many), tape.mu(source, many, few))
    return worst


def test_no_record_with_a_time_moves_answers_by_more_than_is_claimed(tape):
    assert 0.5 * CLAIMED < worst_mu_of_times(tape) <= CLAIMED
    assert worst_mu_of_times(tape, "group", 7) <= CLAIMED


@pytest.mark.parametrize(
    ("worst", "query"),
    [
        *((worst_mu_of_times, query) for query in ("counts", "contrast")),
        (worst_mu_of_numbers, "squares"),
    ],
)
def test_queries_with_too_little_noise_are_found_out(tape, monkeypatch, worst, query):
    answer = tape.answer

    def less(add, name, values, sensitivity, *scales):
        return answer(add, name, values, sensitivity * (1e-3 if name == query else 1.0), *scales)

    monkeypatch.setattr(tape, "answer", less)
    assert worst(tape) > CLAIMED


def test_numbers_that_are_not_clipped_are_found_out(tape, monkeypatch):
    def unclipped(column, values):
        return (np.asarray(values, dtype=float) - column.low) / (column.high - column.low)

    monkeypatch.setattr(NumericColumn, "positions", unclipped)
    far = [(1.0, 40.0)]
    X, _, _ = people()
    source = DPStatisticsSource(EPSILON, DELTA, model="linear", outcome=NUMBER)
    [(place, number)] = far
    few = X, 8 * X[:, 0]
    many = np.vstack([X, np.full((1, N_FEATURES), place)]), np.append(few[1], number)
    assert tape.mu(source, few, many) > CLAIMED


@pytest.mark.parametrize("model", list(MODELS))
def test_half_the_noise_is_found_out(tape, model, monkeypatch, fewer_steps):
    answer = tape.answer

    def halved(add, name, values, sensitivity, *scales):
        return answer(add, name, values, sensitivity / 2, *scales)

    monkeypatch.setattr(tape, "answer", halved)
    assert worst_mu(tape, model, only=FEW) > CLAIMED


def test_a_share_that_is_spent_twice_is_found_out(tape, monkeypatch):
    learn = MODELS["linear"].learn

    def twice(rows, grid, queries):
        learn(rows, grid, queries)
        queries._uses_left["contrast"] = queries._uses_left["total"] = 1
        queries._uses_left["counts"] = queries._uses_left["second"] = 1
        return learn(rows, grid, queries)

    monkeypatch.setattr(MODELS["linear"], "learn", twice)
    assert worst_mu(tape, "linear", only=FEW) > CLAIMED


@pytest.mark.parametrize("model", ["mixtures", "logistic"])
def test_a_share_of_many_queries_that_each_spends_is_found_out(tape, model, monkeypatch):
    shares = MODELS[model].shares

    def whole(*sizes):
        made = shares(*sizes).items()
        return {name: replace(s, fraction=s.fraction * s.uses) for name, s in made}

    monkeypatch.setattr(MODELS[model], "shares", whole)
    monkeypatch.setattr(_queries, "_SUM_ROUNDING", np.inf)
    assert worst_mu(tape, model, only=FEW) > CLAIMED


def test_rows_that_are_not_clipped_are_found_out(tape, monkeypatch):
    quantise = RowGrid.quantise

    def longer(self, X):
        return quantise(self.at(self.center, 2 * self.radius), X) * 2

    monkeypatch.setattr(RowGrid, "quantise", longer)
    assert worst_mu(tape, "linear") > CLAIMED


def test_a_person_whose_rows_all_count_is_found_out(tape, monkeypatch):
    monkeypatch.setattr("skdp.source._private_rows.group_sizes", _each_by_itself)
    assert worst_mu(tape, "linear", "group", n_rows=7, only=FEW) > CLAIMED


def _each_by_itself(groups):
    return np.ones(len(groups), dtype=np.int64), np.unique(groups)
