"""Schemas whose outcome is a time to an event: cells, drafts, differences, and a common one."""

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Schema, schema_from
from skdp.tabular import ClassOutcome, EventOutcome, NumberOutcome, NumericColumn

AGE = NumericColumn("age", 18, 100)
YEARS = EventOutcome(1825, "died", "days")


def of(outcome):
    return Schema((AGE,), outcome)


@pytest.mark.parametrize(
    "events",
    [
        ["Yes", " no", "TRUE", "false", "1", "0", "1.0"],
        ["YES", "No", "True", "FALSE", 1, 0, True],
        [True, False, True, False, True, False, True],
        [b"yes", b"no", b"true", "nO", 1.0, 0.0, np.True_],
    ],
)
def test_each_cell_says_by_itself_whether_there_was_an_event(events):
    outcome, times = EventOutcome(10), np.full(7, 5.0)
    expected = outcome.cells(np.array([1, 0, 1, 0, 1, 0, 1]), times)
    np.testing.assert_array_equal(outcome.cells(events, times), expected)
    table = pd.DataFrame({"event": pd.Series(events, dtype=object), "time": times})
    np.testing.assert_array_equal(outcome.cells(*outcome.read(table)), expected)
    # One strange cell changes no other one.
    events[0] = "vermilion"
    assert outcome.cells(events, times).tolist() == [-1, *expected[1:]]


@pytest.mark.parametrize("cell", ["y", "n", "dead", "yes!", "2", 0.5, -1, None, np.nan, "", "on"])
def test_nothing_else_is_an_event(cell):
    outcome = EventOutcome(10)
    assert outcome.cells([cell, "yes"], [5, 5]).tolist() == [-1, *outcome.cells([1], [5])]


def test_categories_and_truth_values_with_gaps_are_read():
    outcome = EventOutcome(10)
    categories = pd.Series(["no", None, "yes"], dtype="category")
    truths = pd.Series([False, None, True], dtype="boolean")
    for events in (categories, truths):
        assert outcome.cells(events, [5, 5, 5]).tolist() == [
            *outcome.cells([0], [5]), -1, *outcome.cells([1], [5]),
        ]  # fmt: skip


def test_a_release_is_scored_by_events_in_words():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 100, 400)})
    days = rng.exponential(30_000 / X["age"])
    y = pd.DataFrame({"died": days < 1000, "days": np.minimum(days, 1000).round()})
    words = y.assign(died=np.where(y["died"], "Yes", "no"), days=y["days"].astype(str))
    release = DPStatisticsSource(20.0, encoder=of(YEARS)).fit(X, words).release_
    assert release.score(X, words) == release.score(X, y) > 0.55


def test_a_draft_of_times():
    frame = pd.DataFrame(
        {"age": [20, 31, 77, 50], "died": ["yes", "no", None, "NO"], "days": [3, 970, 44, None]}
    )
    schema = schema_from(frame, public=True, event="died", time="days")
    assert schema.names == ("age",)
    assert schema.outcome == EventOutcome(1000, "died", "days")
    assert Schema.from_json(schema.to_json()) == schema
    draft = schema_from(frame, public=True, event="died", time="days", horizon=365)
    assert draft.outcome.horizon == 365


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"event": "died"}, "'event' and 'time' parameters .* must both"),
        ({"time": "days"}, "'event' and 'time' parameters .* must both"),
        ({"event": "dead", "time": "days"}, "'event' parameter, 'dead', is not a column"),
        ({"event": "died", "time": "hours"}, "'time' parameter, 'hours', is not a column"),
        ({"event": "died", "time": "days", "label": "age"}, "'label' parameter .* 'event' 'died'"),
        ({"label": "age", "horizon": 365}, "'horizon' parameter .* is 365, for events"),
        ({"event": "died", "time": "died"}, "must be different names of columns"),
        ({"event": "died", "time": "days", "horizon": -1}, "'horizon' of an outcome"),
        ({"event": "age", "time": "days"}, "'age' has values that are not events, such as 20"),
        ({"event": "died", "time": "none"}, "'none' has no time above 0"),
    ],
)
def test_what_cannot_be_drafted(settings, message):
    frame = pd.DataFrame(
        {"age": [20, 31, 77], "died": [0, 1, 1], "days": [3, 9, 4], "none": [0, 0, None]}
    )
    with pytest.raises(ValueError, match=message):
        schema_from(frame, public=True, **settings)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (EventOutcome(365, "died", "days"), "up to 365, in the columns 'died', 'days' there"),
        (EventOutcome(1825), "up to 1825, in the columns 'event', 'time' there"),
        (ClassOutcome(), "'days' here; none there"),
        (NumberOutcome(0, 80), "'days' here; numeric, 0 to 80 there"),
    ],
)
def test_other_outcomes_are_differences(other, text):
    [line] = of(YEARS).difference(of(other))
    assert line.startswith("outcome: time to an event, up to 1825, in the columns 'died', ")
    assert line.endswith(text)
    assert of(YEARS).difference(of(YEARS).to_json()) == ()
    [back] = of(other).difference(of(YEARS))
    assert back.endswith("time to an event, up to 1825, in the columns 'died', 'days' there")


def test_a_common_schema_has_the_horizon_of_all():
    common = Schema.common(
        {"north": of(YEARS), "south": of(EventOutcome(1825)), "west": of(ClassOutcome())}
    )
    assert common.outcome == YEARS
    assert Schema.common([of(ClassOutcome())] * 2).outcome == ClassOutcome()
    for other, text in (
        (
            EventOutcome(365),
            "time to an event, up to 365, in the columns 'event', 'time' in south",
        ),
        (NumberOutcome(0, 80), "numeric, 0 to 80 in south"),
        (ClassOutcome(("alive", "dead")), "classes 'alive', 'dead' in south"),
    ):
        with pytest.raises(
            ValueError, match=f"up to 1825, .* in north and {text}, but .* horizon"
        ):
            Schema.common({"north": of(YEARS), "south": of(other)})
        with pytest.raises(ValueError, match="1825"):
            Schema.common([of(other), of(YEARS)])


def test_it_is_shown_in_text_and_html():
    assert "outcome time to an event, up to 1825" in of(YEARS).summary()
    assert "outcome time to an event, up to 1825" in of(YEARS)._repr_html_()
