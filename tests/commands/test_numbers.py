"""The whole course of commands where the outcome is a number."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from skdp import DPTransferRegressor
from skdp.release import PrivateEvaluation, Release

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
SCHEMA = {
    "version": 1,
    "columns": {
        name: {"type": "numeric", "low": low, "high": high} for name, (low, high) in BOUNDS.items()
    }
    | {"sex": {"type": "category", "categories": [1, 2]}},
    "outcome": {"type": "number", "low": 0, "high": 350, "step": 1},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table in two halves, a schema, and a release of the first half."""
    from skdp.commands import main

    folder = tmp_path_factory.mktemp("numbers")
    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame = frame.rename(columns={"target": "progression"}).sample(frac=1, random_state=0)
    frame[:300].to_csv(folder / "rows.csv", index=False)
    frame[300:].to_csv(folder / "test.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    for name, source in (("first", "rows"), ("second", "test")):
        paths = [str(folder / file) for file in (f"{source}.csv", "schema.json", f"{name}.skdp")]
        arguments = ["--label", "progression", "--epsilon", "8", "--schema", paths[1]]
        assert main(["release", paths[0], *arguments, "-o", paths[2]]) == 0
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def test_a_draft_takes_many_numbers_for_an_outcome(folder, run):
    draft = ("schema", "rows.csv", "--public", "--label", "progression", "-o", "draft.json")
    code, out, err = run(*draft, "--force")
    assert code == 0, err
    assert "outcome 0 to 350" in out
    assert "labels are taken for a number from 0 to 350" in err
    assert "lists no classes" not in err
    outcome = json.loads((folder / "draft.json").read_text())["outcome"]
    assert outcome == {"type": "number", "low": 0.0, "high": 350.0, "step": 1.0}


def test_the_check_counts_the_outcome(folder, run):
    check = ("--schema", "schema.json", "--label", "progression")
    code, out, err = run("check", "rows.csv", *check)
    assert code == 0, err
    assert "300 rows; outcome 'progression', 0 to 350" in out
    wrong = pd.read_csv("rows.csv")
    wrong["progression"] *= 1000
    wrong.to_csv("wrong.csv", index=False)
    code, out, _ = run("check", "wrong.csv", *check)
    assert code == 1
    assert "progression:clipped" in out
    release = ("release", "wrong.csv", *check, "--epsilon", 1, "-o", "wrong.skdp")
    code, out, err = run(*release)
    assert code == 1
    assert "--accept progression:clipped" in err


def test_releases_are_described_reported_and_merged(folder, run):
    code, out, err = run("describe", "first.skdp")
    assert code == 0, err
    assert "the bounds of the outcome, a number from 0 to 350." in " ".join(out.split())
    assert "expected R²" in out
    assert "0.0, 350.0" not in out
    facts = json.loads(run("describe", "first.skdp", "--json")[1])
    assert facts["classes"] is facts["class_counts"] is None
    assert facts["outcome"] == SCHEMA["outcome"]
    assert run("describe", "first.skdp", "--columns")[0] == 0
    code, _, err = run("report", "first.skdp", "-o", "report.html", "--force")
    assert code == 0, err
    page = (folder / "report.html").read_text()
    assert "a number from 0 to 350" in page
    assert "0.0, 350.0" not in page
    merge = ("merge", "first.skdp", "second.skdp", "--disjoint", "-o", "both.skdp", "--force")
    code, out, err = run(*merge)
    assert code == 0, err
    assert "mean of the outcome" in out
    assert Release.load("both.skdp").statistics.n_sources == 2


def test_predictions_have_deviations(folder, run):
    predict = ("predict", "first.skdp", "test.csv", "-o", "predictions.csv", "--force")
    code, out, err = run(*predict, "--id", "bmi")
    assert code == 0, err
    assert "bmi, prediction, deviation; one line for each row" in out
    found = pd.read_csv("predictions.csv")
    rows = pd.read_csv("test.csv")
    expected, deviations = Release.load("first.skdp").predict(rows, return_std=True)
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-5)
    np.testing.assert_allclose(found["deviation"], deviations, rtol=1e-5)
    rows.drop(columns=["s5", "progression"]).to_csv("fewer.csv", index=False)
    code, _, err = run("predict", "first.skdp", "fewer.csv", "-o", "fewer-out.csv", "--force")
    assert code == 0, err
    assert "s5" in err


def test_known_outcomes_and_several_releases_are_learned_from(folder, run):
    rows = pd.read_csv("test.csv")
    rows.loc[30:, "progression"] = None
    rows.to_csv("few.csv", index=False)
    predict = ("predict", "first.skdp", "few.csv", "--label", "progression", "--force")
    code, _, err = run(*predict, "-o", "learned.csv")
    assert code == 0, err
    assert "learning from the release and 142 rows, 30 with an outcome" in err
    model = DPTransferRegressor(Release.load("first.skdp"))
    model.fit(rows[list(SCHEMA["columns"])], rows["progression"])
    expected = model.predict(rows[list(SCHEMA["columns"])])
    np.testing.assert_allclose(pd.read_csv("learned.csv")["prediction"], expected, rtol=1e-5)
    code, _, err = run(
        "predict", "first.skdp", "second.skdp", "few.csv", "-o", "two.csv", "--force"
    )
    assert code == 0, err
    assert "learning from 2 releases" in err
    rows["progression"] = "long"
    rows.to_csv("few.csv", index=False)
    code, _, err = run(*predict, "-o", "learned.csv")
    assert code == 1
    assert "has 142 cells that are no numbers" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("first.skdp", "test.csv", "--class-prior", "a=1"), "--class-prior is for classes"),
        (
            ("first.skdp", "test.csv", "--label", "outcome"),
            "leave it out where no outcome is known",
        ),
        (("first.skdp", "test.csv", "--id", "prediction"), "lacks the column 'prediction'"),
    ],
)
def test_what_cannot_be_predicted_is_refused(folder, run, arguments, message):
    code, out, err = run("predict", *arguments, "-o", "none.csv")
    assert (code, out) == (1, "")
    assert message in err
    assert not (folder / "none.csv").exists()


def test_an_evaluation_tells_errors(folder, run):
    evaluate = ("evaluate", "first.skdp", "test.csv", "--label", "progression", "--epsilon", 8)
    code, out, err = run(*evaluate, "-o", "errors.json", "--force")
    assert code == 0, err
    assert "R²" in out
    assert "in intervals" in out
    assert "AUC" not in out
    shown = run("evaluate", "--show", "errors.json")[1]
    assert shown.strip() == PrivateEvaluation.load("errors.json").summary()


def test_synthetic_rows_have_numbers(folder, run):
    sample = ("sample", "first.skdp", "--rows", 200, "--label", "progression", "--seed", 0)
    code, _, err = run(*sample, "-o", "synthetic.csv", "--force")
    assert code == 0, err
    numbers = pd.read_csv("synthetic.csv")["progression"]
    assert numbers.between(0, 350).all()
    assert (numbers % 1 == 0).all()
    assert numbers.nunique() > 50


def test_a_plan_tells_r2(folder, run):
    plan = ("plan", "schema.json", "--rows", 300, "--epsilon", 4)
    interval = ("--outcome-interval", 2, 12)
    code, out, err = run(*plan, *interval, "--effects", 0.4, "--r2", 0.3)
    assert code == 0, err
    assert "R² 0.4: R² without noise" in out
    assert "An R² of 0.3 with effects 'R² 0.4' and 300 rows needs epsilon" in out
    for option, other in {
        ("--auc", 0.8): "an outcome that is no number",
        ("--class-prior", "a=1"): "another outcome than that of the schema",
    }.items():
        code, _, err = run(*plan, *option)
        assert code == 1
        assert f"{option[0]} is for {other}" in err
