"""Outcomes that are times, at the source: ways to leave, their sums, their sensitivity."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DPStatisticsSource, DPTransferSurvival, Release, Schema, evaluate_privately
from skdp.privacy import PrivacyLedger
from skdp.release import Exits
from skdp.source._integers import ROW
from skdp.source._linear_model import perturb_sums
from skdp.source._private_rows import one_pass_plan
from skdp.tabular import EventOutcome

COLUMNS = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
}
OUTCOME = EventOutcome(365)
SCHEMA = Schema.from_mapping(
    {"version": 1, "columns": COLUMNS, "outcome": {"type": "event", "horizon": 365}}
)
DTYPE = [("event", bool), ("time", float)]
pytestmark = pytest.mark.filterwarnings("ignore:This release may order")


def table(n, seed=0):
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame({"age": rng.uniform(0, 100, n), "ward": rng.choice([*"abc"], n)})
    hazard = np.exp(0.02 * (frame["age"] - 50) + 0.5 * (frame["ward"] == "b")) / 400
    times, left = rng.exponential(1 / hazard), rng.uniform(0, 700, n)
    return frame, pairs(times <= left, np.minimum(times, left))


def pairs(events, times):
    y = np.zeros(len(times), dtype=DTYPE)
    y["event"], y["time"] = events, times
    return y


def exact(X, y, groups=None, **settings):
    unit = "record" if groups is None else "group"
    settings = {"encoder": SCHEMA, "privacy_unit": unit, "model": "linear"} | settings
    with pytest.warns(UserWarning, match="adds no noise"):
        return (
            DPStatisticsSource(np.inf, **{"model": "linear"} | settings)
            .fit(X, y, groups=groups)
            .release_
        )


def test_sums_are_those_of_residuals_of_the_null_model():
    """By loops over rows, from hazards that are found by loops over intervals."""
    X, y = table(500)
    y["time"][:3] = 0.0, 365.0, 400.0
    sums = exact(X, y).statistics.sums
    counts, ends = np.zeros(41), OUTCOME.ends
    cells = []
    for event, time in y:
        k = next((k for k in range(20) if time <= ends[k]), None)
        if k is None or (time == 365 and not event):
            cells.append(40)
        else:
            cells.append(k if event else 20 + k)
        counts[cells[-1]] += 1
    assert_allclose(sums.exits[0], counts, atol=1e-6)
    hazard, there, before = np.zeros(20), 500.0, 0.0
    for k in range(20):
        d, c = max(counts[k], 1e-3), max(counts[20 + k], 1e-3)
        hazard[k] = d / (there - (d + c) / 2)
        there -= d + c
    residuals = np.zeros(500)
    for i, cell in enumerate(cells):
        k = cell % 20
        before = hazard[:k].sum() + hazard[k] / 2 if cell < 40 else hazard.sum()
        residuals[i] = (cell < 20) - min(before, 1.0)
    assert_allclose(sums.exit_places[0][cells], (1 + residuals) / 2, atol=1e-5)
    plan = one_pass_plan(DPStatisticsSource(encoder=SCHEMA), None, None, np.float64)
    encoded = exact(X, y).encode(X)
    Z = plan.grid.quantise(encoded) * plan.grid.step
    mean = sums.frequencies[0, 1]
    expected = ((1 + residuals) / 2 - mean) @ Z
    assert_allclose(sums.contrast[1], expected, atol=0.05)
    assert_allclose(sums.contrast[0], -expected, atol=0.05)
    assert_allclose(sums.squares, ((residuals / 2 - (mean - 0.5)) ** 2).sum(), rtol=1e-3)


def public_counts():
    """Yield noisy counts that may be public: usual, all at once, negative, none."""
    rng = np.random.RandomState(0)
    yield rng.randint(0, 5, 43) * ROW
    yield np.where(np.arange(43) == 0, 40, 0) * ROW
    yield np.where(np.arange(43) == 40, 40, 0) * ROW
    yield rng.randint(-30, 30, 43) * ROW
    yield np.zeros(43, dtype=np.int64)


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("event", [True, False])
@pytest.mark.parametrize("time", [0.0, 5e-324, 182.0, 365.0, 366.0, 1e300, np.inf])
def test_a_record_or_person_changes_answers_by_no_more_than_is_claimed(event, time, k, changes):
    source = DPStatisticsSource(1.0, privacy_unit="group", encoder=SCHEMA)
    plan = one_pass_plan(source, None, None, np.float64)
    X, y = table(40)
    more = pd.DataFrame({"age": [0.0, 100.0, 55.5] * 3, "ward": [*"abcabcabc"]})[:k]
    before = plan.sums(X, y, np.arange(40))
    after = before + plan.sums(more, pairs([event] * k, [time] * k), np.full(k, 99))
    for counts in public_counts():
        found = changes(before, after, plan.grid, counts)
        for name, (changed, claimed) in found.items():
            assert changed <= claimed <= plan.shares[name].sensitivity, name
    assert list(found) == ["counts", "second", "total", "contrast"]


def test_the_claims_are_nearly_reached(changes):
    """Hence a claim that is 10 % smaller is violated."""
    plan = one_pass_plan(DPStatisticsSource(encoder=SCHEMA), None, None, np.float64)
    far = pd.DataFrame({"age": [100.0], "ward": ["b"]})
    before, one = plan.sums(*table(40)), plan.sums(far, pairs([True], [0.0]))
    counts = np.where(np.arange(43) == 40, 40, 0) * ROW
    for name, (changed, claimed) in changes(before, before + one, plan.grid, counts).items():
        assert changed > 0.95 * claimed, name


def test_a_residual_without_a_cap_would_exceed_its_share(monkeypatch):
    """Nothing is released: the budget is for residuals of one row at most."""

    def uncapped(exits):
        middle = np.cumsum(exits.hazards) - exits.hazards / 2
        return (1 + np.concatenate([1 - middle, -middle, [-exits.hazards.sum()]])) / 2

    monkeypatch.setattr(Exits, "places", property(uncapped))
    X, y = table(300)
    y["event"], y["time"] = np.arange(300) < 299, np.linspace(1, 364, 300)
    source = DPStatisticsSource(100.0, encoder=SCHEMA)
    with pytest.raises(ValueError, match="Nothing was charged"):
        source.fit(X, y)
    assert not hasattr(source, "release_")


def test_cells_and_their_sums_are_combined_by_least_squares():
    """The noise in the number of rows is that of two numbers and not of forty."""
    source, (X, y) = DPStatisticsSource(4.0, encoder=SCHEMA), table(300)
    plan = one_pass_plan(source, None, None, np.float64)
    sums, known = plan.sums(X, y), exact(X, y).statistics.sums.exits[0]
    draws = [perturb_sums(sums, plan.grid, source._queries(plan)) for _ in range(200)]
    apart = np.array([(draw.exits[0] - known) / draw.exit_sd[0] for draw in draws])
    # Of variance 20/21 + 21/22, and 20/21 in each cell; four standard errors of 200 draws, which
    # a correct build exceeds in one of 10,000 runs.
    assert np.var(apart.sum(axis=1)) == pytest.approx(20 / 21 + 21 / 22, rel=4 * np.sqrt(2 / 200))
    assert np.var(apart) == pytest.approx(20 / 21, rel=4 * np.sqrt(2 / (200 * 41)))


def test_parts_and_persons_and_tables_are_the_same_rows():
    X, y = table(300)
    whole = exact(X, y)
    source = DPStatisticsSource(np.inf, encoder=SCHEMA)
    accumulator = source.accumulator()
    for start in range(0, 300, 100):
        accumulator.add(X[start : start + 100], y[start : start + 100])
    with pytest.warns(UserWarning, match="adds no noise"):
        parts = source.fit_accumulated(accumulator).release_
    frame = pd.DataFrame({"time": y["time"], "event": y["event"]})
    named = Schema.from_mapping(
        {
            "version": 1,
            "columns": COLUMNS,
            "outcome": {"type": "event", "horizon": 365, "event": "died", "time": "days"},
        }
    )
    other = frame.rename(columns={"event": "died", "time": "days"})
    persons = np.arange(300)
    again = [
        parts,
        exact(X, frame),
        exact(X, other.assign(died=other["died"].astype(int), note="x"), encoder=named),
    ]
    if find_spec("pyarrow"):
        again.append(exact(X, frame.convert_dtypes(dtype_backend="pyarrow")))
    for release in again:
        assert_array_equal(release.predict(X), whole.predict(X))
    assert_allclose(exact(X, y, groups=persons).predict(X), whole.predict(X), atol=1e-3)
    twice = exact(pd.concat([X, X]), np.concatenate([y, y]), np.concatenate([persons] * 2))
    assert_allclose(twice.statistics.sums.exits, whole.statistics.sums.exits, atol=1e-5)


class Secretive(float):
    """A number that says private things when it is read."""

    def __float__(self):
        raise RuntimeError("private")


def test_cells_that_cannot_be_read_are_left_out():
    X, y = table(60)
    frame = pd.DataFrame({"event": y["event"], "time": y["time"].astype(object)})
    frame.loc[3, "time"] = Secretive(5)
    assert exact(X, frame).statistics.sums.exits.sum() == pytest.approx(59, abs=1e-6)


def test_rows_without_event_or_time_are_left_out():
    X, y = table(200)
    frame = pd.DataFrame({"event": y["event"].astype(object), "time": y["time"]})
    frame.loc[:9, "time"] = np.nan
    frame.loc[10:19, "event"] = None
    frame.loc[20:29, "time"] = -1.0
    frame.loc[30:33, "event"] = 2  # one more would be refused
    release = exact(X, frame)
    assert release.statistics.sums.exits.sum() == pytest.approx(166, abs=1e-6)
    assert_array_equal(release.predict(X), exact(X[34:], y[34:]).predict(X))


CODES = {
    "1 and 2": (np.array([1, 2]), 2),
    "text of these": (np.array(["1", "2 "], dtype=object), 2),
    "words": (np.array(["alive", "Dead"], dtype=object), "dead"),
    "words, as categories": (pd.Series(["alive", "dead"], dtype="category"), "dead"),
    "competing": (np.array([0, 2]), 2),
}


@pytest.mark.parametrize("name", CODES)
def test_events_of_other_codes_are_refused_until_the_code_is_named(name):
    (X, y), (codes, value) = table(200), CODES[name]
    events = pd.Series(codes).iloc[y["event"].astype(int)].reset_index(drop=True)
    coded = pd.DataFrame({"event": events, "time": y["time"]})
    ledger = PrivacyLedger(epsilon=9.0, delta=1e-3)
    source, release = DPStatisticsSource(4.0, encoder=SCHEMA), exact(X, y)
    refused = "cells in 'event' that cannot be read: .* state 'event_value'"
    for call in (
        lambda: ledger.release(source, X, coded),
        lambda: source.accumulator().add(X, coded),
        lambda: evaluate_privately(release, X, coded, 2.0, ledger=ledger),
    ):
        with pytest.raises(ValueError, match=refused) as error:
            call()
        assert not any(str(code) in str(error.value) for code in ("alive", "Dead"))
    assert not ledger.entries
    outcome = {"type": "event", "horizon": 365, "event_value": value}
    named = exact(X, coded, encoder=SCHEMA.to_mapping() | {"outcome": outcome})
    assert named.outcome.event_value == named.encoder.outcome.event_value == value
    assert_array_equal(named.statistics.sums.exits, exact(X, y).statistics.sums.exits)
    # Truth values, as in structured arrays, say themselves whether there was an event.
    assert named.score(X, coded) == named.score(X, y) == exact(X, y).score(X, y)
    evaluations = [evaluate_privately(named, X, each, np.inf) for each in (coded, y)]
    assert_array_equal(evaluations[0].histograms, evaluations[1].histograms)
    model = DPTransferSurvival(named).fit(X, coded)
    assert_array_equal(model.predict(X), DPTransferSurvival(named).fit(X, y).predict(X))


@pytest.mark.parametrize(("cell", "n", "is_refused"), [("3 d", 4, False), ("3 d", 5, True)])
def test_times_in_text_are_refused_but_no_single_record_decides(cell, n, is_refused):
    X, y = table(60)
    frame = pd.DataFrame({"event": y["event"], "time": y["time"].astype(object)})
    frame.loc[: n - 1, "time"] = cell
    if is_refused:
        with pytest.raises(ValueError, match="cells in 'time' that cannot be read"):
            DPStatisticsSource(4.0, encoder=SCHEMA).fit(X, frame)
    else:
        assert exact(X, frame).statistics.sums.exits.sum() == pytest.approx(60 - n, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({"classes": [0, 1]}, None, "'classes' parameter .* cannot be combined"),
        ({"model": "mixtures"}, None, "'model' parameter .* is 'mixtures'"),
        ({"outcome": {"type": "event", "horizon": 9}}, None, "differs from what the schema"),
        ({}, np.ones(60), "structured array of event and time"),
        ({}, np.zeros(60, dtype=[("days", float), ("died", bool)]), "structured array of event"),
        ({}, pd.DataFrame({"event": np.ones(60), "days": np.ones(60)}), "columns 'event' and"),
        ({}, pairs(np.ones(59), np.ones(59)), "inconsistent numbers of samples"),
        (
            {},
            pd.DataFrame({"event": 1, "time": pd.to_timedelta(np.arange(60), "D")}),
            "holds durations instead of numeric times",
        ),
        *(
            ({}, pd.DataFrame({"event": 1, "time": dates}), "holds dates instead of numeric ti")
            for dates in (
                pd.to_datetime(["2020-01-01"] * 60),
                pd.to_datetime(["2020-01-01"] * 60, utc=True),
                pd.period_range("2020-01-01", periods=60),
            )
        ),
        ({}, np.zeros(60, dtype=[("event", bool), ("time", "V4")]), "structured array of event"),
    ],
)
def test_what_does_not_fit_is_refused(settings, y, message):
    X, times = table(60)
    source = DPStatisticsSource(encoder=SCHEMA, **settings)
    with pytest.raises(ValueError, match=message):
        source.fit(X, times if y is None else y)
    assert not hasattr(source, "release_")


class TestCompetingEvents:
    """Rows with a competing event are censored, and counted by one more noisy number."""

    OUTCOME = {"type": "event", "horizon": 365, "event_value": 1, "competing": [2, 3]}
    SCHEMA = Schema.from_mapping({"version": 1, "columns": COLUMNS, "outcome": OUTCOME})
    ALONE = SCHEMA.to_mapping() | {"outcome": OUTCOME | {"competing": []}}

    def table(self, n, seed=0):
        X, y = table(n, seed)
        codes = np.where(y["event"], 1, np.random.RandomState(seed).choice([0, 2, 3], n))
        return X, pd.DataFrame({"event": codes, "time": y["time"]})

    @pytest.mark.parametrize("model", ["linear", "gradients"])
    def test_without_noise_all_else_is_as_if_they_were_censored(self, model):
        X, y = self.table(600)
        counted = exact(X, y, encoder=self.SCHEMA, model=model)
        plain = exact(X, y, encoder=self.ALONE, model=model)
        number = (y["event"].isin([2, 3]) & (y["time"] < 365)).sum()
        assert_allclose(counted.statistics.sums.competing, [number], atol=1e-6)
        assert plain.statistics.sums.competing is None
        for name in ("exits", "exit_places", "contrast", "total", "second", "squares"):
            one, other = (getattr(made.statistics.sums, name) for made in (counted, plain))
            assert_allclose(one, other, atol=1e-6)
        assert_allclose(counted.predict(X), plain.predict(X), atol=1e-5)
        assert f"counted as censored: {number}" in counted.summary().replace("\n  ", " ")

    @pytest.mark.parametrize("codes", [[1], [2], [0], [3, 2, 1, 0], [2, 2, 3]])
    @pytest.mark.parametrize("time", [0.0, 182.0, 365.0, 366.0])
    def test_a_person_changes_answers_by_no_more_than_is_claimed(self, codes, time, changes):
        source = DPStatisticsSource(1.0, privacy_unit="group", encoder=self.SCHEMA)
        plan, (X, y), k = one_pass_plan(source, None, None, np.float64), self.table(40), len(codes)
        more = pd.DataFrame({"age": [0.0, 100.0, 55.5, 9.0], "ward": [*"abca"]})[:k]
        before = plan.sums(X, y, np.arange(40))
        theirs = pd.DataFrame({"event": codes, "time": [time] * k})
        after = before + plan.sums(more, theirs, np.full(k, 99))
        for counts in public_counts():
            counts = np.append(counts, 7 * ROW)
            found = changes(before, after, plan.grid, counts)
            for name, (changed, claimed) in found.items():
                assert changed <= claimed <= plan.shares[name].sensitivity, name
        if len(codes) == 1:  # one cell, and one of three sums
            assert found["counts"][0] == pytest.approx(np.sqrt(2) * ROW)

    def test_three_sums_and_cells_are_combined_by_least_squares(self):
        source, (X, y) = DPStatisticsSource(4.0, encoder=self.SCHEMA), self.table(300)
        plan = one_pass_plan(source, None, None, np.float64)
        known = exact(X, y, encoder=self.SCHEMA).statistics.sums.exits[0]
        sums = plan.sums(X, y)
        draws = [perturb_sums(sums, plan.grid, source._queries(plan)) for _ in range(200)]
        others = [(draw.exits[0] - known)[20:].sum() / draw.exit_sd[0] for draw in draws]
        assert np.var(others) == pytest.approx(21 * 2 / 23, rel=4 * np.sqrt(2 / 200))

    def test_they_cross_the_wall_and_add(self, tmp_path):
        X, y = self.table(500)
        made = DPStatisticsSource(4.0, encoder=self.SCHEMA).fit(X, y).release_
        made.save(tmp_path / "a.skdp")
        read = Release.load(tmp_path / "a.skdp")
        assert read.outcome == self.SCHEMA.outcome == EventOutcome(365, "event", "time", 1, (2, 3))
        other = DPStatisticsSource(4.0, encoder=self.SCHEMA).fit(*self.table(500, 1)).release_
        merged = Release.merge([read, other], disjoint=True).statistics.sums
        parts = [part.statistics.sums.competing for part in (read, other)]
        assert_array_equal(merged.competing, np.concatenate(parts))
        plain = DPStatisticsSource(4.0, encoder=self.ALONE).fit(X, y).release_
        with pytest.raises(ValueError, match="their outcomes are different"):
            Release.merge([read, plain], disjoint=True)
        model = DPTransferSurvival(read).fit(X, y.assign(time=y["time"].where(y.index < 90)))
        assert model.score(X, y) == model.score(X, y.assign(event=y["event"].replace(2, 0)))


@pytest.mark.parametrize(
    "name", ["start", "tstart", "Entry", "t_start", "entry_age", "time_start"]
)
def test_start_stop_tables_are_refused_by_their_layout(name):
    X, y = table(50)
    source = DPStatisticsSource(encoder=SCHEMA)
    with pytest.raises(ValueError, match=f"has a column '{name}', as start/stop tables do"):
        source.fit(X, pd.DataFrame(y).assign(**{name: 0.0}))
    assert not hasattr(source, "release_")
