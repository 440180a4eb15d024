"""Predictions compared with the outcomes of the user's own rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

from skdp.utils._survival import concordance_index

FREE = (
    "No privacy budget was spent: these are exact figures of your own rows. Show them only\n"
    "to those who may see the rows"
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def figures(text):
    """Return the first number of each line that is indented, by its name."""
    lines = [line.strip().split("  ", 1) for line in text.splitlines() if line.startswith("  ")]
    numbers = {line[0]: line[1].split()[0].replace(",", "") for line in lines if len(line) == 2}
    return {name: float(text) for name, text in numbers.items() if text[0].isdigit()}


def of_classes(n=150, classes=("died", "home")):
    rng = np.random.RandomState(0)
    p = rng.dirichlet(np.ones(len(classes)), n)
    y = np.array([rng.choice(classes, p=row) for row in p])
    names = [f"probability_{name}" for name in classes]
    predictions = pd.DataFrame(p, columns=names).assign(patient=[f"-{i}a" for i in range(n)])
    return predictions, pd.DataFrame({"patient": predictions["patient"], "outcome": y})


def test_classes(here, done):
    predictions, truth = of_classes()
    truth.loc[140:, "outcome"] = None
    predictions.to_csv("p.csv", index=False)
    truth.to_csv("t.csv", index=False)
    out, _ = done("score", "p.csv", "t.csv", "--label", "outcome")
    assert out.splitlines()[0] == "140 rows with an outcome, of 150"
    assert FREE in out
    p, y = predictions["probability_home"][:140], truth["outcome"][:140] == "home"
    found = figures(out)
    assert found["AUC"] == pytest.approx(roc_auc_score(y, p), abs=6e-4)
    assert found["log loss"] == pytest.approx(log_loss(y, p), abs=6e-4)
    assert found["Brier score"] == pytest.approx(np.mean((y - p) ** 2), abs=6e-4)
    assert found["accuracy"] == pytest.approx(np.mean((p > 0.5) == y), abs=6e-4)
    base = log_loss(y, np.full(140, y.mean()))
    assert f"the frequencies alone: {base:.3f}" in out
    table = out.split("rows of similar probability of 'home'")[1].splitlines()
    assert table[1].split() == ["probability", "frequency", "low", "high", "rows"]
    assert sum(int(line.split()[-1]) for line in table[2:9]) == 140
    # As many rows in each group, with the intervals of Clopper and Pearson.
    order = np.argsort(p.to_numpy(), kind="stable")
    for rows, line in zip(np.split(order, 7), table[2:9], strict=True):
        hits = int(y.to_numpy()[rows].sum())
        ends = binomtest(hits, 20).proportion_ci(0.95, method="exact")
        expected = (p.to_numpy()[rows].mean(), hits / 20, *ends, 20)
        np.testing.assert_allclose(list(map(float, line.split())), expected, atol=6e-4)


def test_rows_are_found_by_their_ids(here, run, done, failed):
    predictions, truth = of_classes()
    predictions["patient"] = "'" + predictions["patient"]  # as in a CSV file of skdp predict
    predictions.to_csv("p.csv", index=False)
    truth.to_csv("order.csv", index=False)
    shuffled = truth[:120].sample(frac=1, random_state=0)
    shuffled.to_csv("t.csv", index=False)
    command = ("score", "p.csv", "t.csv", "--label", "outcome")
    _, err = failed(*command)
    assert "has 150 rows, and 't.csv' 120. Name the column that identifies rows with --id" in err
    out, _ = done(*command, "--id", "patient")
    y = truth["outcome"][:120] == "home"
    wanted = roc_auc_score(y, predictions["probability_home"][:120])
    assert figures(out)["AUC"] == pytest.approx(wanted, abs=6e-4)
    truth.assign(patient=1).to_csv("t.csv", index=False)
    assert "repeats a value in 't.csv'" in run(*command, "--id", "patient")[2]
    truth.assign(patient=range(150)).to_csv("t.csv", index=False)
    assert "the tables share no value" in run(*command, "--id", "patient")[2]


def test_several_classes_and_classes_that_are_numbers(here, done):
    predictions, truth = of_classes(classes=("0", "1", "2"))
    predictions.to_csv("p.csv", index=False)
    truth.astype({"outcome": float}).to_csv("t.csv", index=False)
    out, _ = done("score", "p.csv", "t.csv", "--label", "outcome")
    p = predictions.filter(like="probability").to_numpy()
    wanted = roc_auc_score(truth["outcome"].astype(int), p, multi_class="ovr")
    assert figures(out)["AUC"] == pytest.approx(wanted, abs=6e-4)
    assert out.count("rows of similar probability of") == 3


def test_numbers(here, done, failed):
    rng = np.random.RandomState(0)
    predicted = rng.uniform(10_000, 90_000, 200)
    y = predicted + rng.normal(0, 8_000, 200)
    ends = {"low": predicted - 10_000, "high": predicted + 8_000}
    pd.DataFrame({"prediction": predicted} | ends).to_csv("p.csv", index=False)
    pd.DataFrame({"value": [f"{v:,.2f}" for v in y]}).to_csv("t.csv", index=False)
    command = ("score", "p.csv", "t.csv", "--label", "value")
    _, err = failed(*command)
    assert "200 cells that are not numbers" in err
    assert "add --thousands ','" in err
    out, _ = done(*command, "--thousands", ",")
    found = figures(out)
    assert found["R²"] == pytest.approx(r2_score(y, predicted), abs=6e-4)
    assert found["mean error"] == pytest.approx(mean_absolute_error(y, predicted), rel=1e-3)
    covered = np.mean((y - predicted >= -10_000) & (y - predicted <= 8_000))
    assert found["mean"] == pytest.approx(predicted.mean(), rel=1e-3)
    assert found["in intervals"] == pytest.approx(covered, abs=6e-4)
    table = out.split("rows of similar predictions, with 95% intervals")[1].splitlines()
    assert table[1].split() == ["prediction", "outcome", "low", "high", "rows"]
    order = np.argsort(predicted, kind="stable")
    first = y[order[: int(table[2].split()[-1])]]
    half = 1.96 * first.std() / np.sqrt(len(first))
    found = [float(cell.replace(",", "")) for cell in table[2].split()[1:4]]
    np.testing.assert_allclose(
        found, [first.mean(), first.mean() - half, first.mean() + half], rtol=1e-3
    )


def test_times(here, run, done):
    rng = np.random.RandomState(0)
    risk = rng.normal(size=200)
    times = rng.exponential(300 * np.exp(-risk))
    events, times = times < 400, np.minimum(times, 400).round(3)
    curves = {f"survival_{t:g}": np.exp(-t / 300 * np.exp(risk)) for t in (91.25, 182.5, 365)}
    pd.DataFrame({"risk": risk, **curves, "median_survival": np.nan}).to_csv("p.csv", index=False)
    truth = pd.DataFrame({"dead": np.where(events, "yes", "no"), "days": times})
    truth.to_csv("t.csv", index=False)
    command = ("score", "p.csv", "t.csv", "--event", "dead", "--time", "days")
    out, _ = done(*command)
    seen, left = events & (times <= 365), np.minimum(times, 365)
    assert figures(out)["concordance"] == pytest.approx(
        concordance_index(seen, left, risk), abs=6e-4
    )
    # All rows are seen up to the last time: the Brier score needs no estimate of who left.
    brier = np.mean(((events & (times <= 182.5)) - (1 - curves["survival_182.5"])) ** 2)
    line = " ".join(out.split()).split("by 182.5 ")[1]
    assert float(line.split("Brier score ")[1].split()[0]) == pytest.approx(brier, abs=0.01)
    assert "mean Brier score" in out
    assert run("score", "p.csv", "t.csv", "--label", "dead")[0] == 1


@pytest.mark.parametrize("kind", ["classes", "numbers", "times"])
def test_plots(here, run, done, kind):
    pytest.importorskip("matplotlib")
    rng = np.random.RandomState(0)
    p = rng.uniform(0.1, 0.9, 100)
    happened = (rng.uniform(size=100) < p).astype(int)
    tables = {
        "classes": ({"probability_0": 1 - p, "probability_1": p}, ("--label", "event")),
        "numbers": ({"prediction": p}, ("--label", "event")),
        "times": ({"risk": p, "survival_5": 1 - p}, ()),
    }
    predictions, outcome = tables[kind]
    pd.DataFrame(predictions).to_csv("p.csv", index=False)
    pd.DataFrame({"event": happened, "time": np.where(happened, 3, 5)}).to_csv(
        "t.csv", index=False
    )
    out, _ = done("score", "p.csv", "t.csv", *outcome, "--plot", "c.png")
    assert "Wrote 'c.png'." in out
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")
    assert "exists. Choose" in run("score", "p.csv", "t.csv", *outcome, "--plot", "c.png")[2]


def test_mistakes_are_refused(here, run):
    predictions, truth = of_classes()
    predictions.to_csv("p.csv", index=False)
    truth.to_csv("t.csv", index=False)
    assert (
        "lacks the columns of skdp predict"
        in run("score", "t.csv", "t.csv", "--label", "outcome")[2]
    )
    assert "--label is missing" in run("score", "p.csv", "t.csv")[2]
    assert "lacks the column 'x' of --label" in run("score", "p.csv", "t.csv", "--label", "x")[2]
    wrong = run("score", "p.csv", "t.csv", "--label", "patient")[2]
    assert "has 150 cells that are not classes" in wrong
    truth.assign(outcome="").to_csv("t.csv", index=False)
    assert "TRUTH has no outcomes" in run("score", "p.csv", "t.csv", "--label", "outcome")[2]
    predictions.to_csv("s.csv", index=False, sep=";")
    wrong = run("score", "s.csv", "t.csv", "--label", "outcome", "--sep", ";")[2]
    assert wrong.rstrip().endswith("Name PREDICTIONS as skdp predict wrote it.")
    predictions.assign(probability_home="x").to_csv("p.csv", index=False)
    assert (
        "predictions that are not numbers"
        in run("score", "p.csv", "t.csv", "--label", "outcome")[2]
    )


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_the_course_from_predictions_to_a_score(hospital, run, done, monkeypatch, ending):
    pytest.importorskip({"xlsx": "openpyxl", "parquet": "pyarrow"}.get(ending, "csv"))
    monkeypatch.chdir(hospital)
    target = pd.read_csv("rows.csv")[100:250]
    target.drop(columns="outcome").to_csv("new.csv", index=False)
    target.to_csv("truth.csv", index=False)
    path = f"p.{ending}"
    assert run("predict", "hospital.skdp", "new.csv", "--id", "name", "-o", path)[0] == 0
    out, _ = done("score", path, "truth.csv", "--id", "name", "--label", "outcome")
    assert figures(out)["AUC"] > 0.6


def scored(run, predictions, truth, *options):
    pd.DataFrame(predictions).to_csv("made.csv", index=False)
    pd.DataFrame(truth).to_csv("known.csv", index=False)
    return run("score", "made.csv", "known.csv", *options)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"probability_a": [-1, 0.5], "probability_b": [2, 0.5]}, "not from 0 to 1"),
        ({"probability_a": [0, 0.5], "probability_b": [0, 0.5]}, "do not add up to 1"),
        ({"probability_a": [1, 1]}, "of one class only"),
        ({"risk": [1, 2], "survival_60": [1.5, 0.5]}, "not from 0 to 1"),
        ({"risk": [1, 2], "survival_x": [0.5, 0.5]}, "ascending times"),
        ({"risk": [1, 2], "survival_6": [0.5, 0.5], "survival_3": [1, 1]}, "ascending times"),
    ],
)
def test_predictions_that_are_none_are_refused(here, run, columns, said):
    truth = {"y": ["a", "b"], "event": [0, 1], "time": [1, 2]}
    label = [] if "risk" in columns else ["--label", "y"]
    code, _, err = scored(run, columns, truth, *label)
    assert code == 1
    assert said in err
    assert "as skdp predict wrote it" in err


def test_long_ids_are_compared_exactly_and_none_is_missing(here, run):
    p = {"probability_a": [0.1, 0.9], "probability_b": [0.9, 0.1]}
    options = ["--label", "y", "--id", "id"]
    ids = {"id": ["9007199254740993", "9007199254740995"]} | p
    truth = {"id": ["9007199254740992", "9007199254740996"], "y": ["a", "b"]}
    code, _, err = scored(run, ids, truth, *options)
    assert code == 1
    assert "the tables share no value" in err
    code, _, err = scored(
        run, {"id": ["1", None]} | p, {"id": ["1", None], "y": ["a", "b"]}, *options
    )
    assert code == 1
    assert "empty cells" in err


@pytest.mark.parametrize(
    ("outcomes", "code", "said"),
    [
        ({"event": [0, 0, 0], "time": [150, 250, 90]}, 0, "n/a: too few rows are left, about 2"),
        ({"event": ["ja", "nein", None], "time": [150, 20, 30]}, 1, "such as 'ja' and '150'"),
        ({"event": [1, 0, None], "time": [150, -20, None]}, 1, "1 unreadable events"),
    ],
)
def test_times_that_say_nothing_are_no_figures(here, run, outcomes, code, said):
    curves = {"risk": [0.1, 0.3, -0.2], "survival_100": [0.9, 0.8, 0.95]}
    pd.DataFrame(curves | {"survival_200": [0.8, 0.7, 0.9]}).to_csv("p.csv", index=False)
    pd.DataFrame(outcomes).to_csv("t.csv", index=False)
    found, out, err = run("score", "p.csv", "t.csv", "--event", "event", "--time", "time")
    assert found == code, err
    assert said in out + err


THREE = {"probability_a": [0.7, 0.2], "probability_b": [0.2, 0.7], "probability_c": [0.1, 0.1]}


@pytest.mark.parametrize(
    ("predictions", "outcomes", "said"),
    [
        ({"probability_a": [0.3], "probability_b": [0.7]}, ["b"], "log loss      0.357; the freq"),
        (
            {"probability_a": [0.3], "probability_b": [0.7]},
            ["b"],
            "AUC           unknown: all rows",
        ),
        (THREE, ["a", "b"], "AUC           1.000"),  # of the classes that some row has
    ],
)
def test_few_rows_have_the_figures_that_they_allow(here, run, predictions, outcomes, said):
    code, out, _ = scored(run, predictions, {"y": outcomes}, "--label", "y")
    assert (code, said in out) == (0, True), out


def test_few_rows_of_a_class_and_few_events_have_no_interval(here, run):
    predictions, truth = of_classes()
    truth.loc[3:, "outcome"] = "home"
    truth.loc[:2, "outcome"] = "died"
    code, out, _ = scored(run, predictions, truth, "--label", "outcome")
    assert code == 0
    assert "(3 rows of a class: too few for an interval); chance: 0.500" in out
    risk = np.arange(40.0)
    outcome = {"event": (risk == 30).astype(int), "time": 1.0 + (risk < 35)}
    code, out, _ = scored(run, {"risk": risk, "survival_2": np.full(40, 0.5)}, outcome)
    assert code == 0
    assert "(1 events: too few for an interval); chance: 0.500" in out
