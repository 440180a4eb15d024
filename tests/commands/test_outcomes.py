"""The whole courses of commands where the outcome is a number, or a time to an event."""

import json
import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from skdp import DPTransferRegressor
from skdp.commands import _evaluate, main
from skdp.datasets import load_heart_failure
from skdp.release import Release
from skdp.transfer import DPTransferSurvival
from skdp.utils._survival import concordance_index

BOUNDS = {
    "age": (18, 80),
    "bmi": (15, 45),
    "bp": (60, 140),
    "s1": (90, 310),
    "s2": (40, 250),
    "s3": (20, 100),
    "s4": (1, 10),
    "s5": (3, 6.5),
    "s6": (50, 130),
}
NUMBERS = {
    "version": 1,
    "columns": {
        name: {"type": "numeric", "low": low, "high": high} for name, (low, high) in BOUNDS.items()
    }
    | {"sex": {"type": "category", "categories": [1, 2]}},
    "outcome": {"type": "number", "low": 0, "high": 350, "step": 1},
}
HEART = load_heart_failure()
OUTCOME = HEART.schema["outcome"]
# As other programs write events.
WORDS = np.array(["no", "Yes"])


def made(folder, frame, n_first, schema, first, second, other=()):
    """Return a folder with a table in two halves, a schema, and a release of each half."""
    frame = frame.sample(frac=1, random_state=0)
    halves = {"rows": frame[:n_first], "test": frame[n_first:].rename(columns=dict(other))}
    (folder / "schema.json").write_text(json.dumps(schema))
    for (source, half), name, options in zip(
        halves.items(), ("first", "second"), (first, second), strict=True
    ):
        table, path = folder / f"{source}.csv", folder / f"{name}.skdp"
        half.to_csv(table, index=False)
        command = ["release", str(table), "--schema", str(folder / "schema.json"), *options]
        # Whichever test comes first, what is printed here is none of its commands'.
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            assert main([*command, "-o", str(path)]) == 0
    return folder


@pytest.fixture(scope="module")
def made_times(tmp_path_factory):
    frame = HEART.data.assign(died=WORDS[HEART.target["died"] * 1], days=HEART.target["days"])
    first = ("--epsilon", "20")
    second = (*first, "--event", "dead", "--time", "followed")
    other = {"died": "dead", "days": "followed"}
    folder = tmp_path_factory.mktemp("times")
    return made(folder, frame, 150, HEART.schema, first, second, other)


@pytest.fixture(scope="module")
def made_numbers(tmp_path_factory):
    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame = frame.rename(columns={"target": "progression"})
    options = ("--label", "progression", "--epsilon", "8")
    return made(tmp_path_factory.mktemp("numbers"), frame, 300, NUMBERS, options, options)


@pytest.fixture
def times(made_times, monkeypatch):
    monkeypatch.chdir(made_times)
    return made_times


@pytest.fixture
def numbers(made_numbers, monkeypatch):
    monkeypatch.chdir(made_numbers)
    return made_numbers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "said", "concise", "outcome", "column"),
    [
        ("numbers", "a number from 0 to 350", "expected R²", NUMBERS["outcome"], "s5"),
        ("times", "time to an event, up to 285", "expected concordance", OUTCOME,
         "serum_creatinine"),
    ],
)  # fmt: skip
def test_releases_are_described_reported_and_merged(
    request, run, done, world, said, concise, outcome, column
):
    folder = request.getfixturevalue(world)
    out, _ = done("describe", "first.skdp")
    assert said in " ".join(out.split())
    assert concise in out
    assert "0.0, 350.0" not in out
    facts = json.loads(run("describe", "first.skdp", "--json", "--columns")[1])
    assert facts["classes"] is facts["class_counts"] is None
    assert facts["outcome"] == outcome
    assert facts["column_table"]
    out, _ = done("describe", "first.skdp", "--columns")
    assert column in out
    done("report", "first.skdp", "-o", "report.html", "--force")
    page = (folder / "report.html").read_text()
    assert said in page
    assert "0.0, 350.0" not in page
    merge = ("merge", "first.skdp", "second.skdp", "--disjoint", "-o", "both.skdp", "--force")
    out, _ = done(*merge)
    assert ("mean of the outcome" if world == "numbers" else concise) in out
    assert Release.load("both.skdp").statistics.n_sources == 2


RELEASE = (
    "release rows.csv --schema schema.json --epsilon 1 --ledger none.json --budget-epsilon 2 "
    "--budget-delta 1e-5 -o none.skdp "
)
PREDICT = "predict first.skdp test.csv -o none.csv "


@pytest.mark.parametrize(
    ("world", "command", "message"),
    [
        ("times", RELEASE + "--label died", "--label 'died' is for classes and numbers"),
        ("times", RELEASE + "--event died", "--event 'died' needs --time"),
        ("times", RELEASE + "--time days", "--time 'days' needs --event"),
        ("times", RELEASE + "--event days --time days", "--event and --time are both 'days'"),
        ("times", RELEASE + "--event dead --time days", "lacks the column 'dead' of --event"),
        ("times", RELEASE + "--event died --time hours", "lacks the column 'hours' of --time"),
        ("times", RELEASE + "--event smoking --time days", "'smoking' is also a column of"),
        ("times", RELEASE + "--accept dyed:missing", "'dyed:missing' is not a stop"),
        ("times", PREDICT + "--class-prior a=1", "--class-prior is for classes"),
        ("times", PREDICT + "--label dead", "--label 'dead' is for classes"),
        ("times", PREDICT + "--event dead", "--event 'dead' needs --time"),
        ("times", PREDICT + "--event dead --time days", "lacks the column 'days' of --time"),
        ("times", PREDICT + "--id risk", "lacks the column 'risk'"),
        ("numbers", PREDICT + "--class-prior a=1", "--class-prior is for classes"),
        ("numbers", PREDICT + "--label outcome", "omit it if no outcome is known"),
        ("numbers", PREDICT + "--id prediction", "lacks the column 'prediction'"),
        ("numbers", RELEASE + "--event bp --time s1", "is for times to an"),
    ],
)
def test_wrong_columns_are_refused_before_anything_is_spent(request, run, world, command, message):
    folder = request.getfixturevalue(world)
    code, out, err = run(*shlex.split(command))
    assert (code, out) == (1, "")
    assert message in err
    assert not list(folder.glob("none.*"))


def test_a_draft_has_the_largest_time_as_its_horizon(times, done):
    draft = ("schema", "rows.csv", "--public", "--event", "died", "--time", "days", "--force")
    out, err = done(*draft, "-o", "draft.json")
    assert "outcome time to an event, up to 300" in out
    assert "the horizon is 300, the largest time, rounded" in err
    assert "lists no classes" not in err
    drafted = json.loads((times / "draft.json").read_text())
    assert drafted["outcome"] == OUTCOME | {"horizon": 300.0}
    assert set(drafted["columns"]) == set(HEART.data)
    _, err = done(*draft, "-o", "draft.json", "--horizon", 180)
    assert "rounded" not in err
    drafted = json.loads((times / "draft.json").read_text())
    assert drafted["outcome"] == OUTCOME | {"horizon": 180.0}


def test_common_schemas_need_one_horizon(times, done, failed):
    (times / "longer.json").write_text(
        json.dumps(HEART.schema | {"outcome": OUTCOME | {"horizon": 365}})
    )
    own = {"type": "event", "horizon": 285, "event": "dead"}
    (times / "south.json").write_text(json.dumps(HEART.schema | {"outcome": own}))
    common = ("schema", "--common", "schema.json")
    out, _ = done(*common, "south.json", "-o", "common.json", "--force")
    assert json.loads((times / "common.json").read_text())["outcome"] == OUTCOME
    assert "outcome: time to an event, up to 285, in the columns 'dead', 'time' here; " in out
    _, err = failed(*common, "longer.json", "-o", "none.json")
    assert "up to 285, in the columns 'died', 'days' in 'schema.json'" in err
    assert "up to 365, in the columns 'died', 'days' in 'longer.json'" in err
    for option in ("event", "time", "horizon"):
        value = 7 if option == "horizon" else "a"
        _, err = failed(*common, "south.json", f"--{option}", value, "-o", "none.json")
        assert f"--{option} is for drafts from rows" in err


def test_predictions_are_risks_and_curves(times, done, failed):
    predict = ("predict", "first.skdp", "test.csv", "-o", "predictions.csv", "--force")
    out, err = done(*predict, "--id", "followed")
    release = Release.load("first.skdp")
    last = release.unique_times_[-1]
    assert 213.75 < last < 285  # few patients are followed longer
    assert f"curves end at time {last:g}: too few rows are followed longer" in err
    times = ["71.25", "142.5", "213.75", f"{last:g}"]
    survival = [f"survival_{time}" for time in times]
    assert f"followed, risk, {', '.join(survival)}, median_survival; one line per" in out
    assert "median_survival is empty where a curve stays above one half." in out
    found, rows = pd.read_csv("predictions.csv"), pd.read_csv("test.csv")
    X = rows[list(HEART.data)]
    np.testing.assert_allclose(found["risk"], release.predict(X), atol=1e-6)
    curves = release.predict_survival_function(X)
    for name, time in zip(survival, times, strict=True):
        expected = 1 - release.predict_proba_at(X, float(time))
        np.testing.assert_allclose(found[name], np.clip(expected, 1e-6, 1 - 1e-6), atol=1e-5)
    assert (np.diff(found[survival]) <= 0).all()
    reached = found["median_survival"].notna()
    assert 0 < reached.sum() < len(found)
    assert (reached == (found[survival[-1]] <= 0.5)).all()
    for curve, median in zip(curves[reached], found["median_survival"][reached], strict=True):
        assert curve(min(median + 0.01, last)) <= 0.5 < curve(max(median - 5, 0))
    died = (rows["dead"] == "Yes").to_numpy()
    assert concordance_index(died, rows["followed"], found["risk"]) > 0.55
    done(*predict, "--at", 200, 30)
    found = pd.read_csv("predictions.csv")
    assert list(found) == ["risk", "survival_30", "survival_200", "median_survival"]
    at = 1 - release.predict_proba_at(X, [30, 200])
    np.testing.assert_allclose(found.iloc[:, 1:3], at, atol=1e-6)
    assert f"--at needs times above 0 and up to {last:g}" in failed(*predict, "--at", 280)[1]
    rows.drop(columns=["serum_sodium", "dead"]).to_csv("fewer.csv", index=False)
    _, err = done("predict", "first.skdp", "fewer.csv", "-o", "fewer-out.csv", "--force")
    assert "'serum_sodium'" in err
    known = release.restrict([name for name in HEART.data if name != "serum_sodium"])
    np.testing.assert_allclose(
        pd.read_csv("fewer-out.csv")["risk"], known.predict(X[list(known.encoder.names)]),
        atol=1e-6,
    )  # fmt: skip


def test_known_times_are_learned_from(times, run, done):
    rows = pd.read_csv("test.csv")
    rows.loc[rows.index[60:], "followed"] = np.nan
    rows.to_csv("known.csv", index=False)
    predict = ("predict", "first.skdp", "second.skdp", "known.csv", "-o", "learned.csv")
    _, err = done(*predict, "--event", "dead", "--time", "followed")
    assert "learning from 2 releases and 149 rows, 60 with an outcome" in err
    y = rows[["dead", "followed"]].set_axis(["died", "days"], axis=1)
    sources = [Release.load(f"{name}.skdp") for name in ("first", "second")]
    model = DPTransferSurvival(sources).fit(rows[list(HEART.data)], y)
    assert model.report()["n_labels"].iloc[0] == 60
    found = pd.read_csv("learned.csv")["risk"]
    np.testing.assert_allclose(found, model.predict(rows[list(HEART.data)]), atol=1e-6)
    # Under other names they are not known to be outcomes; under those of the release they are.
    code, _, err = run(*predict, "--force")
    assert (code, "149 rows, 0 with an outcome" in err) == (0, True), err
    rows.rename(columns={"dead": "died", "followed": "days"}).to_csv("known.csv", index=False)
    code, _, err = run(*predict, "--force")
    assert (code, "149 rows, 60 with an outcome" in err) == (0, True), err
    assert pd.read_csv("learned.csv")["risk"].equals(found)


def test_codes_of_events_are_those_of_the_schema(times, run, done):
    """1 is censored and 2 dead, as R has it, from the draft to the score."""
    for name, columns in (("rows", ["died", "days"]), ("test", ["dead", "followed"])):
        rows = pd.read_csv(f"{name}.csv").rename(
            columns=dict(zip(columns, ["s", "t"], strict=True))
        )
        rows.assign(s=rows["s"].map({"no": 1, "Yes": 2})).to_csv(f"{name}2.csv", index=False)
    draft = ("schema", "rows2.csv", "--public", "--event", "s", "--time", "t", "-o", "codes.json")
    assert "'s' has values that are not events, such as 2" in run(*draft)[2]
    assert "has no 'event_value' '3'" in run(*draft, "--event-value", 3)[2]
    assert run(*draft, "--event-value", 2)[0] == 0
    assert json.loads((times / "codes.json").read_text())["outcome"]["event_value"] == 2
    plain = json.loads((times / "codes.json").read_text())
    del plain["outcome"]["event_value"]
    (times / "plain.json").write_text(json.dumps(plain))
    make = ("release", "rows2.csv", "--epsilon", 20, "-o", "codes.skdp")
    make += ("--ledger", "codes-l.json", "--budget-epsilon", 30, "--budget-delta", 1e-4)
    assert "--accept s:unread" in run(*make, "--schema", "plain.json")[2]
    assert not (times / "codes-l.json").exists()
    done(*make, "--schema", "codes.json")
    assert Release.load("codes.skdp").statistics.sums.exits.sum(axis=0)[
        :20
    ].sum() == pytest.approx((pd.read_csv("rows.csv")["died"] == "Yes").sum(), abs=10)
    assert run("check", "test2.csv", "--schema", "codes.json")[0] == 0
    pd.read_csv("test2.csv").drop(columns=["s", "t"]).to_csv("unknown.csv", index=False)
    assert run("predict", "codes.skdp", "unknown.csv", "-o", "codes.csv")[0] == 0
    score = ("score", "codes.csv", "test2.csv")
    assert "lacks the column 'event' of --event" in run(*score)[2]
    assert "name a --schema" in run(*score, "--event", "s", "--time", "t")[2]
    risk, rows = pd.read_csv("codes.csv")["risk"], pd.read_csv("test2.csv")
    last = Release.load("codes.skdp").unique_times_[-1]
    late = rows["t"] > last
    expected = concordance_index(
        ((rows["s"] == 2) & ~late).to_numpy(), rows["t"].clip(upper=last), risk
    )
    for names in ("codes.json", "codes.skdp"):
        out, _ = done(*score, "--schema", names)
        assert f"concordance   {expected:.3f}" in out
    classes = {**HEART.schema, "classes": ["no", "Yes"]}
    del classes["outcome"]
    (times / "classes.json").write_text(json.dumps(classes))
    assert "has an outcome that is not a time" in run(*score, "--schema", "classes.json")[2]


def test_an_evaluation_gets_events_and_times(times, done, failed, monkeypatch):
    given = {}

    class Evaluation:
        def save(self, path):
            given["path"] = path

        def summary(self):
            return "a summary"

    def evaluate(release, rows, y, epsilon, delta, **settings):
        given.update(rows=rows, y=y)
        return Evaluation()

    monkeypatch.setattr(_evaluate, "evaluate_privately", evaluate)
    command = ("evaluate", "first.skdp", "test.csv", "--epsilon", 8, "-o", "fake.json")
    done(*command, "--event", "dead", "--time", "followed")
    assert list(given["rows"]) == list(HEART.data)
    assert list(given["y"]) == ["died", "days"]
    expected = pd.read_csv("test.csv")
    assert given["y"]["died"].tolist() == expected["dead"].tolist()
    _, err = failed(*command[:-1], "other.json")
    assert (
        "lacks the column 'died' of --event (default: as in the release 'first.skdp'; name" in err
    )


def test_synthetic_rows_have_events_and_times(times, done, failed):
    sample = ("sample", "first.skdp", "--rows", 400, "--seed", 0, "--force")
    done(*sample, "-o", "synthetic.csv")
    synthetic = pd.read_csv("synthetic.csv")
    assert list(synthetic)[-2:] == ["died", "days"]
    assert synthetic["days"].between(0, 285).all()
    assert 0.1 < synthetic["died"].mean() < 0.6
    done(*sample, "--event", "dead", "--time", "t", "-o", "synthetic.csv")
    other = pd.read_csv("synthetic.csv")
    assert list(other)[-2:] == ["dead", "t"]
    assert other["dead"].tolist() == synthetic["died"].tolist()
    # What is written is read again.
    command = ("--schema", "schema.json", "--event", "dead", "--time", "t", "--epsilon", 8)
    done("release", "synthetic.csv", *command, "-o", "again.skdp", "--force")
    _, err = failed(*sample, "--event", "age", "--time", "t", "-o", "synthetic.csv")
    assert "--event 'age' is already a column of 'first.skdp'" in err


def test_a_draft_takes_many_numbers_for_an_outcome(numbers, done):
    draft = ("schema", "rows.csv", "--public", "--label", "progression", "-o", "draft.json")
    out, err = done(*draft, "--force")
    assert "outcome 0 to 350" in out
    assert "labels are read as a number from 0 to 350" in err
    assert 'for costs, often zero, add "log": true, "zero": true' in err
    assert "lists no classes" not in err
    outcome = json.loads((numbers / "draft.json").read_text())["outcome"]
    assert outcome == {"type": "number", "low": 0.0, "high": 350.0, "step": 1.0}


def test_the_check_counts_the_outcome(numbers, done, failed):
    check = ("--schema", "schema.json", "--label", "progression")
    out, _ = done("check", "rows.csv", *check)
    assert "300 rows; outcome 'progression', 0 to 350" in out
    wrong = pd.read_csv("rows.csv")
    wrong["progression"] *= 1000
    wrong.to_csv("wrong.csv", index=False)
    out, _ = failed("check", "wrong.csv", *check)
    assert "progression:clipped" in out
    release = ("release", "wrong.csv", *check, "--epsilon", 1, "-o", "wrong.skdp")
    _, err = failed(*release)
    assert "--accept progression:clipped" in err


def test_predictions_have_intervals(numbers, done, failed):
    predict = ("predict", "first.skdp", "test.csv", "-o", "predictions.csv", "--force")
    assert "--interval must be between 0 and 1" in failed(*predict, "--interval", 80)[1]
    out, _ = done(*predict, "--id", "bmi", "--interval", 0.9)
    assert "bmi, prediction, low, high; one line per row" in out
    found = pd.read_csv("predictions.csv")
    rows = pd.read_csv("test.csv")
    expected, ends = Release.load("first.skdp").predict(rows, return_interval=0.9)
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-5)
    np.testing.assert_allclose(found[["low", "high"]], ends, rtol=1e-5)
    rows.drop(columns=["s5", "progression"]).to_csv("fewer.csv", index=False)
    _, err = done("predict", "first.skdp", "fewer.csv", "-o", "fewer-out.csv", "--force")
    assert "s5" in err


def test_known_outcomes_and_several_releases_are_learned_from(numbers, done, failed):
    rows = pd.read_csv("test.csv")
    rows.loc[30:, "progression"] = None
    rows.to_csv("few.csv", index=False)
    predict = ("predict", "first.skdp", "few.csv", "--label", "progression", "--force")
    _, err = done(*predict, "-o", "learned.csv")
    assert "learning from the release and 142 rows, 30 with an outcome" in err
    model = DPTransferRegressor(Release.load("first.skdp"))
    model.fit(rows[list(NUMBERS["columns"])], rows["progression"])
    expected = model.predict(rows[list(NUMBERS["columns"])])
    np.testing.assert_allclose(pd.read_csv("learned.csv")["prediction"], expected, rtol=1e-5)
    _, err = done("predict", "first.skdp", "second.skdp", "few.csv", "-o", "two.csv", "--force")
    assert "learning from 2 releases" in err
    rows["progression"] = "long"
    rows.to_csv("few.csv", index=False)
    _, err = failed(*predict, "-o", "learned.csv")
    assert "has 142 cells that are not numbers" in err


def test_a_plan_tells_r2(numbers, done, failed):
    plan = ("plan", "schema.json", "--rows", 300, "--epsilon", 4)
    interval = ("--outcome-interval", 2, 12)
    out, _ = done(*plan, *interval, "--effects", 0.4, "--goal", 0.3)
    assert "assuming R² 0.4: with 300 rows and no noise, R² 0." in out
    assert "For an R² of 0.3 with effects 'R² 0.4', 300 rows need more epsilon than planned" in out
    _, err = failed(*plan, "--class-prior", "a=1")
    assert "--class-prior is for another outcome than that of the schema" in err


@pytest.mark.parametrize(("kind", "added_to"), [("numbers", "prediction"), ("times", "risk")])
def test_effects_are_added_to_the_number_or_the_risk(kind, added_to, request, done):
    request.getfixturevalue(kind)
    pd.read_csv("test.csv").head(5).to_csv("five.csv", index=False)
    predict = ("predict", "first.skdp", "five.csv", "--explain", "--force", "-o", "explained.csv")
    out, _ = done(*predict)
    assert f"Then effect_COLUMN: what the column adds to the {added_to},\nrelative to" in out
    written, release = pd.read_csv("explained.csv"), Release.load("first.skdp")
    assert [name for name in written if name.startswith("effect_")] == [
        f"effect_{name}" for name in release.encoder.names
    ]
    assert np.isfinite(written.filter(like="effect_")).all(axis=None)
