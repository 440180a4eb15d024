"""Plans of releases: limits, agreement with releases that are made, and refusals."""

from inspect import signature
from math import inf

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, plan_release
from skdp.source import ReleasePlan
from skdp.source._simulated_tables import TimeTables
from skdp.tabular import as_schema

COLUMNS = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "crp": {"type": "numeric", "low": 1, "high": 1000, "log": True, "missing": True},
    "sex": {"type": "category", "categories": ["F", "M"]},
    "ward": {"type": "category", "categories": ["A", "B", "C"], "missing": True},
}
EVEN = (0.5, 0.5)
SCHEMA = {"version": 1, "classes": ["alive", "dead"], "columns": COLUMNS}


@pytest.fixture(scope="module")
def plan():
    return plan_release(
        SCHEMA,
        [200, 2000],
        (0.7, 0.3),
        (0.2, 1.0, 20.0),
        effects=("weak", 0.9),
        random_state=0,
        n_draws=2,
    )


def test_more_rows_and_less_privacy_are_worth_more(plan):
    table = plan.table.set_index(["effects", "n_rows", "epsilon"])
    strong = table.loc["AUC 0.9"]
    assert strong.loc[(2000, 20.0), "auc"] == pytest.approx(0.9, abs=0.03)
    assert strong.loc[(2000, 0.2), "auc"] < strong.loc[(2000, 20.0), "auc"]
    assert strong.loc[(200, 1.0), "auc"] < strong.loc[(2000, 1.0), "auc"]
    assert (table["auc"] <= table["auc_without_noise"] + 0.03).all()
    # Intervals shrink with the noise: 1/(n ε) where it prevails, 1/√n without.
    errors = strong["mean_error"]
    assert errors[2000, 0.2] / errors[2000, 1.0] == pytest.approx(5, rel=0.5)
    assert errors[200, 20.0] / errors[2000, 20.0] == pytest.approx(np.sqrt(10), rel=0.5)


def test_what_is_needed_for_an_area():
    table = pd.DataFrame(
        {
            "effects": "weak",
            "n_rows": [100, 100, 100, 400, 400, 400],
            "epsilon": [0.1, 1.0, 10.0] * 2,
            "auc": [0.5, 0.6, 0.7, 0.65, 0.7, 0.75],
        }
    )
    plan = ReleasePlan(table, table)
    epsilon = plan.epsilon_needed(0.65)
    assert epsilon["weak", 100] == pytest.approx(np.sqrt(10))
    assert epsilon["weak", 400] == pytest.approx(0.1)
    assert plan.epsilon_needed(0.8)["weak", 400] == inf
    assert plan.rows_needed(0.65)["weak", 1.0] == pytest.approx(200)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"n_rows": 5}, "'n_rows' parameter of plan_release is 5"),
        ({"n_rows": 50.5}, "'n_rows' parameter"),
        ({"epsilon": [1, 0]}, "'epsilon' parameter"),
        ({"epsilon": []}, "'epsilon' parameter"),
        ({"effects": "huge"}, "'effects' parameter of plan_release is 'huge'"),
        ({"effects": 0.4}, "'effects' parameter"),
        ({"effects": {"age": 1.0}}, "a number between 0.5 and 1"),
        ({"effects": []}, r"'effects' parameter of plan_release is \[\]"),
        ({"class_prior": (0.5, 0.6)}, "2 positive shares that add up to 1"),
        ({"class_prior": (0.5, 0.3, 0.2)}, "2 positive shares"),
        ({"class_prior": {"alive": 0.5, "ill": 0.5}}, "2 positive shares"),
        (
            {"class_prior": None},
            "'class_prior' parameter of plan_release is missing. Pass a public guess: 2 positive",
        ),
        ({"event_share": 0.5}, "'event_share' .* is for another outcome .* 'class_prior'"),
        ({"n_owners": 0}, "'n_owners' parameter"),
        ({"model": "cubic"}, "'model' parameter"),
        ({"schema": {"age": COLUMNS["age"]}}, "lists no classes"),
        ({"n_draws": 0}, "'n_draws' parameter"),
    ],
)
def test_refusals(given, named):
    with pytest.raises(ValueError, match=named):
        plan_release(**{"schema": SCHEMA, "n_rows": 100, "class_prior": EVEN, **given})


def test_an_outcome_that_is_mostly_zero_is_planned_in_two_parts():
    with pytest.raises(ValueError, match=r"is \(0, 0\).* plan a schema of the amounts above 0"):
        plan_release(NUMBERS, 100, outcome_interval=(0, 0))
    higher = NUMBERS | {"outcome": {"type": "number", "low": 5, "high": 80}}
    with pytest.raises(
        ValueError, match=r"Pass a public guess: two numbers from .* two thirds of outcomes lie"
    ):
        plan_release(higher, 100, outcome_interval=(9, 9))


def test_by_default_what_a_source_releases_by_default_is_planned():
    models = [
        signature(made).parameters["model"].default for made in (plan_release, DPStatisticsSource)
    ]
    assert models == ["auto", "auto"]


NUMBERS = {
    "version": 1,
    "columns": COLUMNS,
    "outcome": {"type": "number", "low": 0, "high": 80, "step": 1},
}


INTERVAL = (10, 30)


@pytest.fixture(scope="module")
def number_plan():
    settings = {"effects": ("weak", 0.4), "random_state": 0, "n_draws": 2}
    settings["outcome_interval"] = INTERVAL
    return plan_release(NUMBERS, [200, 4000], epsilon=(0.3, 20.0), **settings)


class TestNumbers:
    def test_r2_of_many_rows_is_what_was_assumed(self, number_plan):
        table = number_plan.table.set_index(["effects", "n_rows", "epsilon"])
        for name, assumed in (("weak", 0.1), ("R² 0.4", 0.4)):
            reached = table.loc[(name, 4000, 20.0)]
            assert reached["r2"] == pytest.approx(assumed, abs=0.04)
            assert reached["r2_without_noise"] == pytest.approx(assumed, abs=0.04)
            assert table.loc[(name, 200, 0.3), "r2"] < assumed - 0.05
        assert (table["r2"] <= table["r2_without_noise"] + 0.03).all()


TIMES = {"version": 1, "columns": COLUMNS, "outcome": {"type": "event", "horizon": 365}}


class TestTimes:
    @pytest.fixture(scope="class")
    def plan(self):
        settings = {"effects": ("weak", 0.75), "random_state": 0, "n_draws": 1}
        settings["event_share"] = 0.3
        return plan_release(TIMES, [500, 3000], epsilon=(0.1, 20.0), **settings)

    def test_the_concordance_is_planned(self, plan):
        table = plan.table.set_index(["effects", "n_rows", "epsilon"])
        wanted = {"weak": 0.6, "concordance 0.75": 0.75}
        for effects, c in wanted.items():
            reached = table.loc[(effects, 3000)]
            assert reached["concordance_without_noise"].iloc[0] == pytest.approx(c, abs=0.04)
            assert reached.loc[20.0, "concordance"] == pytest.approx(c, abs=0.04)
        assert table.loc[("weak", 500, 0.1), "concordance"] < 0.6
        assert "concordance 0." in plan.summary()
        assert "of all rows" in plan.summary()
        assert plan.epsilon_needed(0.7).loc[("weak", 500)] == inf
        assert plan.epsilon_needed(0.7).loc[("concordance 0.75", 3000)] <= 20

    @pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
    def test_the_share_of_events_is_that_which_is_given(self, share):
        world = TimeTables(as_schema(TIMES), share, 0.7, np.random.RandomState(0))
        _, y = world.rows(20_000)
        assert y["event"].mean() == pytest.approx(share, abs=0.012)  # 3.5 standard errors
        assert y["time"].max() <= 365


def test_the_chance_to_reach_an_area_is_that_of_a_further_draw():
    rng = np.random.default_rng(0)
    places = {"effects": "weak", "n_rows": 100, "epsilon": 1.0}
    below, n_trials = [], 2000
    for _ in range(n_trials):
        *known, further = rng.normal(0.7, 0.05, size=6)
        plan = ReleasePlan(pd.DataFrame({"auc": [0.7]}), pd.DataFrame({**places, "auc": known}))
        below.append(plan.chance(further).item())
    # Uniform if it is right: within 3.5 standard errors; deviations 10 % off would not be.
    for level in (0.1, 0.25, 0.5, 0.75, 0.9):
        error = 3.5 * np.sqrt(level * (1 - level) / n_trials)
        assert np.mean(np.array(below) < level) == pytest.approx(level, abs=error)


def test_merged_owners_reach_more_than_one_of_them_and_less_than_all_rows_at_once():
    settings = {"epsilon": 0.2, "effects": 0.8, "n_draws": 5, "random_state": 0}
    one, four = (
        plan_release(SCHEMA, 300, EVEN, n_owners=n, **settings).table["auc"].item() for n in (1, 4)
    )
    together = plan_release(SCHEMA, 1200, EVEN, **settings).table["auc"].item()
    assert one + 0.02 < four < together


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gradients", "logistic", "mixtures", "auto"])
def test_other_models(model):
    settings = {"effects": 0.8, "n_draws": 1, "random_state": 0, "model": model}
    low, high = plan_release(SCHEMA, 1000, EVEN, [0.01, 30.0], **settings).table["auc"]
    assert low < high
    assert high > 0.72
