import json

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Schema, representative_rows
from skdp.tabular import encode_table

COLUMNS = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "ward": {"type": "category", "categories": ["A", "B"]},
}
SCHEMA = {"version": 1, "classes": ["died", "home"], "columns": COLUMNS}


@pytest.fixture
def rows(folder):
    """Write a table of two groups of patients, a schema, and a release."""
    rng = np.random.default_rng(0)
    young = rng.random(60) < 0.7
    frame = pd.DataFrame(
        {
            "patient": [f"P{i}" for i in range(60)],
            "age": np.where(young, rng.integers(20, 30, 60), rng.integers(80, 90, 60)),
            "ward": np.where(young, "A", "B"),
        }
    )
    frame.to_csv("target.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    labels = np.where(young, "home", "died")
    DPStatisticsSource(8.0, encoder=SCHEMA).fit(frame, labels).release_.save("h.skdp")
    return frame


@pytest.mark.parametrize("known", [("--release", "h.skdp"), ("--schema", "schema.json")])
def test_rows_in_the_middle_of_what_a_schema_encodes(rows, run, known):
    code, out, err = run("select", "target.csv", "-n", 4, *known, "-o", "chosen.csv")
    assert code == 0, err
    assert "4 of 60 rows" in out
    chosen = pd.read_csv("chosen.csv")
    X = encode_table(Schema.from_mapping(SCHEMA), rows[["age", "ward"]])
    places = representative_rows(X, 4, random_state=0)
    assert chosen["row"].tolist() == (places + 1).tolist()
    pd.testing.assert_frame_equal(
        chosen.drop(columns="row"), rows.iloc[places].reset_index(drop=True)
    )


def test_without_a_schema_one_is_drafted_of_the_targets_own_rows(rows, run, folder):
    code, _, err = run("select", "target.csv", "-n", 2, "-o", "chosen.csv")
    assert code == 1
    assert "patient" in err  # which would count as a column otherwise
    code, _, err = run("select", "target.csv", "-n", 2, "--drop", "patient", "-o", "chosen.csv")
    assert code == 0, err
    assert pd.read_csv("chosen.csv")["ward"].tolist() == ["A", "B"]  # the larger group first


def test_columns_that_the_table_lacks_are_left_out(rows, run):
    rows[["patient", "age"]].to_csv("few.csv", index=False)
    code, _, err = run("select", "few.csv", "-n", 3, "--release", "h.skdp", "-o", "chosen.csv")
    assert code == 0, err
    assert len(pd.read_csv("chosen.csv")) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-n", 0), "--rows is 0, and 'target.csv' has 60 rows. Choose from 1 to 60"),
        (("-n", 61), "--rows is 61"),
        (("-n", 3, "--drop", "age", "--drop", "ward"), "lacks"),
    ],
)
def test_refusals(rows, run, folder, arguments, said):
    asked = ("select", "target.csv", *arguments, "--schema", "schema.json", "-o", "chosen.csv")
    code, _, err = run(*asked)
    assert code == 1
    assert said in err
    assert not (folder / "chosen.csv").exists()


def test_a_column_with_the_name_of_the_numbers(rows, run):
    rows.assign(row=1).to_csv("numbered.csv", index=False)
    asked = ("select", "numbered.csv", "-n", 2, "--schema", "schema.json", "-o", "chosen.csv")
    code, _, err = run(*asked)
    assert code == 1
    assert "has a column named 'row' already" in err


def test_a_release_without_a_schema(rows, run):
    X = encode_table(Schema.from_mapping(SCHEMA), rows[["age", "ward"]])
    y = np.where(rows["ward"] == "A", 0, 1)
    source = DPStatisticsSource(8.0, bounds=(0, 1), classes=[0, 1])
    source.fit(X, y).release_.save("bare.skdp")
    asked = ("select", "target.csv", "-n", 2, "--release", "bare.skdp", "-o", "chosen.csv")
    code, _, err = run(*asked)
    assert code == 1
    assert "'bare.skdp' has no schema" in err


def test_columns_of_one_name_are_refused(rows, run):
    with open("twice.csv", "w") as file:
        file.write("x,x\n" + "".join(f"{i},{i % 3}\n" for i in range(30)))
    code, _, err = run("select", "twice.csv", "-n", "3", "-o", "chosen.csv")
    assert code == 1
    assert "'x' more than once" in err
