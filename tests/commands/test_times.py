"""The whole course of commands where the outcome is a time to an event."""

import json

import numpy as np
import pandas as pd
import pytest

from skdp.commands import _evaluate
from skdp.datasets import load_heart_failure
from skdp.release import Release
from skdp.transfer import DPTransferSurvival
from skdp.utils._survival import concordance_index

HEART = load_heart_failure()
OUTCOME = HEART.schema["outcome"]
# As other programs write events.
WORDS = np.array(["no", "Yes"])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table in two halves, a schema, and a release of each half."""
    from skdp.commands import main

    folder = tmp_path_factory.mktemp("times")
    frame = HEART.data.assign(died=WORDS[HEART.target["died"] * 1], days=HEART.target["days"])
    frame = frame.sample(frac=1, random_state=0)
    frame[:150].to_csv(folder / "rows.csv", index=False)
    other = {"died": "dead", "days": "followed"}
    frame[150:].rename(columns=other).to_csv(folder / "test.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(HEART.schema))
    named = {"rows": (), "test": ("--event", "dead", "--time", "followed")}
    for name, source in (("first", "rows"), ("second", "test")):
        paths = [str(folder / file) for file in (f"{source}.csv", "schema.json", f"{name}.skdp")]
        arguments = ["--epsilon", "20", "--schema", paths[1], *named[source]]
        assert main(["release", paths[0], *arguments, "-o", paths[2]]) == 0
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def test_a_draft_has_the_largest_time_as_its_horizon(folder, run):
    draft = ("schema", "rows.csv", "--public", "--event", "died", "--time", "days", "--force")
    code, out, err = run(*draft, "-o", "draft.json")
    assert code == 0, err
    assert "outcome time to an event, up to 300" in out
    assert "the horizon is 300, the largest time, rounded" in err
    assert "lists no classes" not in err
    drafted = json.loads((folder / "draft.json").read_text())
    assert drafted["outcome"] == OUTCOME | {"horizon": 300.0}
    assert set(drafted["columns"]) == set(HEART.data)
    code, _, err = run(*draft, "-o", "draft.json", "--horizon", 180)
    assert code == 0, err
    assert "rounded" not in err
    drafted = json.loads((folder / "draft.json").read_text())
    assert drafted["outcome"] == OUTCOME | {"horizon": 180.0}


def test_common_schemas_need_one_horizon(folder, run):
    (folder / "longer.json").write_text(
        json.dumps(HEART.schema | {"outcome": OUTCOME | {"horizon": 365}})
    )
    own = {"type": "event", "horizon": 285, "event": "dead"}
    (folder / "south.json").write_text(json.dumps(HEART.schema | {"outcome": own}))
    common = ("schema", "--common", "schema.json")
    code, out, err = run(*common, "south.json", "-o", "common.json", "--force")
    assert code == 0, err
    assert json.loads((folder / "common.json").read_text())["outcome"] == OUTCOME
    assert "outcome: time to an event, up to 285, in the columns 'dead', 'time' here; " in out
    code, _, err = run(*common, "longer.json", "-o", "none.json")
    assert code == 1
    assert "up to 285, in the columns 'died', 'days' in 'schema.json'" in err
    assert "up to 365, in the columns 'died', 'days' in 'longer.json'" in err
    for option in ("event", "time", "horizon"):
        value = 7 if option == "horizon" else "a"
        code, _, err = run(*common, "south.json", f"--{option}", value, "-o", "none.json")
        assert code == 1
        assert f"--{option} is for a draft from rows" in err


def test_the_check_reads_both_columns(folder, run):
    check = ("check", "rows.csv", "--schema", "schema.json")
    code, out, err = run(*check)
    assert code == 0, err
    assert "150 rows" in out
    assert run(*check, "--event", "died", "--time", "days")[0] == 0
    code, _, err = run("check", "test.csv", "--schema", "schema.json")
    assert code == 1
    assert (
        "lacks the column 'died' of --event (by default as in --schema 'schema.json'; name" in err
    )
    assert run("check", "test.csv", "--schema", "schema.json", "--event", "dead", "--time",
               "followed")[0] == 0  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label", "died"), "--label 'died' is for classes and numbers"),
        (("--event", "died"), "--event 'died' needs --time"),
        (("--time", "days"), "--time 'days' needs --event"),
        (("--event", "days", "--time", "days"), "--event and --time are both 'days'"),
        (("--event", "dead", "--time", "days"), "lacks the column 'dead' of --event"),
        (("--event", "died", "--time", "hours"), "lacks the column 'hours' of --time"),
        (("--event", "smoking", "--time", "days"), "--event 'smoking' is also a column of"),
        (("--accept", "dyed:missing"), "--accept 'dyed:missing' is nothing that can be found"),
    ],
)
def test_wrong_columns_are_refused_before_anything_is_spent(folder, run, options, message):
    command = ("release", "rows.csv", "--schema", "schema.json", "--epsilon", 1)
    ledger = ("--ledger", "none.json", "--budget-epsilon", 2, "--budget-delta", 1e-5)
    code, out, err = run(*command, *ledger, *options, "-o", "none.skdp")
    assert (code, out) == (1, "")
    assert message in err
    assert not (folder / "none.skdp").exists()
    assert not (folder / "none.json").exists()


def test_events_are_refused_where_the_outcome_is_a_class(folder, run):
    classes = {name: value for name, value in HEART.schema.items() if name != "outcome"}
    (folder / "classes.json").write_text(json.dumps(classes | {"classes": ["no", "Yes"]}))
    command = ("--schema", "classes.json", "--event", "died", "--time", "days")
    code, _, err = run("check", "rows.csv", *command)
    assert code == 1
    assert "--event 'died' is for an outcome that is a time to an event" in err
    assert "--label" in err


def test_the_release_is_about_the_rows(folder):
    """Both halves have nearly the deaths that were counted, in words and under other names."""
    for name, table, event in (("first", "rows", "died"), ("second", "test", "dead")):
        exits = Release.load(f"{name}.skdp").statistics.sums.exits.sum(axis=0)
        died = (pd.read_csv(f"{table}.csv")[event] == "Yes").sum()
        assert exits[:20].sum() == pytest.approx(died, abs=10)
        assert exits.sum() == pytest.approx(150, abs=10)


def test_releases_are_described_reported_and_merged(folder, run):
    code, out, err = run("describe", "first.skdp")
    assert code == 0, err
    assert "time to an event, up to 285" in " ".join(out.split())
    assert "expected concordance" in out
    facts = json.loads(run("describe", "first.skdp", "--json", "--columns")[1])
    assert facts["classes"] is facts["class_counts"] is None
    assert facts["outcome"] == OUTCOME
    assert facts["column_table"]
    code, out, err = run("describe", "first.skdp", "--columns")
    assert code == 0, err
    assert "serum_creatinine" in out
    code, _, err = run("report", "first.skdp", "-o", "report.html", "--force")
    assert code == 0, err
    assert "time to an event, up to 285" in (folder / "report.html").read_text()
    merge = ("merge", "first.skdp", "second.skdp", "--disjoint", "-o", "both.skdp", "--force")
    code, out, err = run(*merge)
    assert code == 0, err
    assert "expected concordance" in out
    assert Release.load("both.skdp").statistics.n_sources == 2


def test_predictions_are_risks_and_curves(folder, run):
    predict = ("predict", "first.skdp", "test.csv", "-o", "predictions.csv", "--force")
    code, out, err = run(*predict, "--id", "followed")
    assert code == 0, err
    times = ["71.25", "142.5", "213.75", "285"]
    survival = [f"survival_{time}" for time in times]
    assert f"followed, risk, {', '.join(survival)}, median_survival; one line for each" in out
    found, rows = pd.read_csv("predictions.csv"), pd.read_csv("test.csv")
    release = Release.load("first.skdp")
    X = rows[list(HEART.data)]
    np.testing.assert_allclose(found["risk"], release.predict(X), atol=1e-6)
    curves = release.predict_survival_function(X)
    for name, time in zip(survival, times, strict=True):
        expected = np.clip([curve(float(time)) for curve in curves], 1e-6, 1 - 1e-6)
        np.testing.assert_allclose(found[name], expected, atol=1e-6)
    assert (np.diff(found[survival]) <= 0).all()
    reached = found["median_survival"].notna()
    assert 0 < reached.sum() < len(found)
    assert (reached == (found["survival_285"] <= 0.5)).all()
    for curve, median in zip(curves[reached], found["median_survival"][reached], strict=True):
        assert curve(min(median + 0.01, 285)) <= 0.5 < curve(max(median - 5, 0))
    died = (rows["dead"] == "Yes").to_numpy()
    assert concordance_index(died, rows["followed"], found["risk"]) > 0.55
    rows.drop(columns=["serum_sodium", "dead"]).to_csv("fewer.csv", index=False)
    code, _, err = run("predict", "first.skdp", "fewer.csv", "-o", "fewer-out.csv", "--force")
    assert code == 0, err
    assert "'serum_sodium'" in err
    known = release.restrict([name for name in HEART.data if name != "serum_sodium"])
    np.testing.assert_allclose(
        pd.read_csv("fewer-out.csv")["risk"], known.predict(X[list(known.encoder.names)]),
        atol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("first.skdp", "test.csv", "--class-prior", "a=1"), "--class-prior is for classes"),
        (("first.skdp", "test.csv", "--label", "dead"), "--label 'dead' is for classes"),
        (("first.skdp", "test.csv", "--event", "dead"), "--event 'dead' needs --time"),
        (
            ("first.skdp", "test.csv", "--event", "dead", "--time", "days"),
            "lacks the column 'days' of --time",
        ),
        (("first.skdp", "test.csv", "--id", "risk"), "lacks the column 'risk'"),
    ],
)
def test_what_cannot_be_predicted_is_refused(folder, run, arguments, message):
    code, out, err = run("predict", *arguments, "-o", "none.csv")
    assert (code, out) == (1, "")
    assert message in err
    assert not (folder / "none.csv").exists()


def test_known_times_are_learned_from(folder, run):
    rows = pd.read_csv("test.csv")
    rows.loc[rows.index[60:], "followed"] = np.nan
    rows.to_csv("known.csv", index=False)
    predict = ("predict", "first.skdp", "second.skdp", "known.csv", "-o", "learned.csv")
    code, _, err = run(*predict, "--event", "dead", "--time", "followed")
    assert code == 0, err
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


def test_codes_of_events_are_those_of_the_schema(folder, run):
    """1 is censored and 2 dead, as R has it, from the draft to the score."""
    for name, columns in (("rows", ["died", "days"]), ("test", ["dead", "followed"])):
        rows = pd.read_csv(f"{name}.csv").rename(
            columns=dict(zip(columns, ["s", "t"], strict=True))
        )
        rows.assign(s=rows["s"].map({"no": 1, "Yes": 2})).to_csv(f"{name}2.csv", index=False)
    draft = ("schema", "rows2.csv", "--public", "--event", "s", "--time", "t", "-o", "codes.json")
    assert "'s' has values that are no events, such as 2" in run(*draft)[2]
    assert "has no 'event_value' '3'" in run(*draft, "--event-value", 3)[2]
    assert run(*draft, "--event-value", 2)[0] == 0
    assert json.loads((folder / "codes.json").read_text())["outcome"]["event_value"] == 2
    plain = json.loads((folder / "codes.json").read_text())
    del plain["outcome"]["event_value"]
    (folder / "plain.json").write_text(json.dumps(plain))
    make = (
        "release",
        "rows2.csv",
        "--epsilon",
        20,
        "-o",
        "codes.skdp",
        "--ledger",
        "codes-l.json",
    )
    make += ("--budget-epsilon", 30, "--budget-delta", 1e-4)
    assert "--accept s:unread" in run(*make, "--schema", "plain.json")[2]
    assert not (folder / "codes-l.json").exists()
    code, _, err = run(*make, "--schema", "codes.json")
    assert code == 0, err
    assert Release.load("codes.skdp").statistics.sums.exits.sum(axis=0)[
        :20
    ].sum() == pytest.approx((pd.read_csv("rows.csv")["died"] == "Yes").sum(), abs=10)
    assert run("check", "test2.csv", "--schema", "codes.json")[0] == 0
    pd.read_csv("test2.csv").drop(columns=["s", "t"]).to_csv("unknown.csv", index=False)
    assert run("predict", "codes.skdp", "unknown.csv", "-o", "codes.csv")[0] == 0
    score = ("score", "codes.csv", "test2.csv")
    assert "lacks the column 'event' of --event" in run(*score)[2]
    assert "name the --schema" in run(*score, "--event", "s", "--time", "t")[2]
    risk, rows = pd.read_csv("codes.csv")["risk"], pd.read_csv("test2.csv")
    late = rows["t"] > 300
    expected = concordance_index(
        ((rows["s"] == 2) & ~late).to_numpy(), rows["t"].clip(upper=300), risk
    )
    for names in ("codes.json", "codes.skdp"):
        code, out, err = run(*score, "--schema", names)
        assert code == 0, err
        assert f"concordance   {expected:.3f}" in out
    assert "has no outcome that is a time" in run(*score, "--schema", "classes.json")[2]


def test_an_evaluation_gets_events_and_times(folder, run, monkeypatch):
    given = {}

    class Evaluation:
        def save(self, path, *, overwrite):
            given["path"] = path

        def summary(self):
            return "a summary"

    def evaluate(release, rows, y, epsilon, delta, **settings):
        given.update(rows=rows, y=y)
        return Evaluation()

    monkeypatch.setattr(_evaluate, "evaluate_privately", evaluate)
    command = ("evaluate", "first.skdp", "test.csv", "--epsilon", 8, "-o", "none.json")
    code, _, err = run(*command, "--event", "dead", "--time", "followed")
    assert code == 0, err
    assert list(given["rows"]) == list(HEART.data)
    assert list(given["y"]) == ["died", "days"]
    expected = pd.read_csv("test.csv")
    assert given["y"]["died"].tolist() == expected["dead"].tolist()
    code, _, err = run(*command)
    assert code == 1
    assert (
        "lacks the column 'died' of --event (by default as in the release 'first.skdp'; name"
        in err
    )


def test_synthetic_rows_have_events_and_times(folder, run):
    sample = ("sample", "first.skdp", "--rows", 400, "--seed", 0, "--force")
    code, _, err = run(*sample, "-o", "synthetic.csv")
    assert code == 0, err
    synthetic = pd.read_csv("synthetic.csv")
    assert list(synthetic)[-2:] == ["died", "days"]
    assert synthetic["days"].between(0, 285).all()
    assert 0.1 < synthetic["died"].mean() < 0.6
    code, _, err = run(*sample, "--event", "dead", "--time", "t", "-o", "synthetic.csv")
    assert code == 0, err
    other = pd.read_csv("synthetic.csv")
    assert list(other)[-2:] == ["dead", "t"]
    assert other["dead"].tolist() == synthetic["died"].tolist()
    # What is written is read again.
    command = ("--schema", "schema.json", "--event", "dead", "--time", "t", "--epsilon", 8)
    code, _, err = run("release", "synthetic.csv", *command, "-o", "again.skdp", "--force")
    assert code == 0, err
    code, _, err = run(*sample, "--event", "age", "--time", "t", "-o", "synthetic.csv")
    assert code == 1
    assert "--event 'age' is a column of 'first.skdp' already" in err
