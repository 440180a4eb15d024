import json
from pathlib import Path

import pandas as pd
import pytest

from skdp import Schema


def test_a_draft_describes_the_public_rows(folder, run):
    code, out, _ = run("schema", "draft.csv", "--public", "--label", "outcome", "-o", "new.json")
    assert code == 0
    schema = Schema.read("new.json")
    assert schema.classes == ("died", "home")
    columns = {column.name: column for column in schema.columns}
    assert list(columns) == ["age", "lactate", "ward", "smoker"]
    frame = pd.read_csv("draft.csv")
    assert columns["age"].low <= frame["age"].min()
    assert columns["age"].high >= frame["age"].max()
    assert not columns["age"].missing
    assert columns["lactate"].missing
    assert columns["ward"].categories == ("cardiology", "medicine", "surgery")
    # Two whole numbers are codes; that some are missing makes no other numbers of them.
    assert columns["smoker"].categories == ("0", "1")
    assert columns["smoker"].missing
    assert schema.summary() in out
    assert "Wrote 'new.json', a draft. Read it" in out


def test_labels_that_are_numbers_stay_numbers(folder, run):
    frame = pd.read_csv("draft.csv").replace({"outcome": {"died": "1.0", "home": "0.0"}})
    frame.loc[0, "outcome"] = None
    frame.to_csv("coded.csv", index=False)
    code, _, _ = run("schema", "coded.csv", "--public", "--label", "outcome", "-o", "new.json")
    assert code == 0
    assert json.loads(Path("new.json").read_text())["classes"] == [0, 1]


def test_without_public_it_refuses_and_says_why(folder, run):
    code, out, err = run("schema", "rows.csv", "--label", "outcome", "-o", "new.json")
    assert code == 1
    assert "--public is missing. A schema tells the bounds and categories of the rows" in err
    assert "If they are private, draft from others" in err
    assert out == ""
    assert not Path("new.json").exists()


def test_columns_of_ids_are_warned_of(folder, run):
    frame = pd.read_csv("draft.csv")
    frame["name"] = [f"patient {i}" for i in range(len(frame))]
    frame.to_csv("once.csv", index=False)
    code, _, err = run("schema", "once.csv", "--public", "-o", "new.json")
    assert code == 1
    assert "Column 'name' has 60 different values in 60 rows, as names or ids have; leave" in err
    pd.concat([frame, frame]).to_csv("draft.csv", index=False)
    code, _, err = run("schema", "draft.csv", "--public", "-o", "new.json")
    assert code == 0
    assert "warning: 'name' has 60 categories. If these are names or ids, delete" in err
    assert "the draft lists no classes" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["draft.csv", "--label", "otcome"], "lacks the column 'otcome' of --label"),
        (["none.csv"], "'none.csv': No such file"),
        (["draft.txt"], "'draft.txt' is no table by its name"),
        (["draft.csv", "-o", "schema.json"], "--output 'schema.json' is there already"),
        (["draft.csv", "-o", "new.txt"], "--output 'new.txt' must end in .json"),
        (["twice.csv"], "'twice.csv' has columns of the same name"),
        (["constant.csv"], "Column 'a' has fewer than two values"),
    ],
)
def test_mistakes_are_refused(folder, run, arguments, message):
    (folder / "twice.csv").write_text("a,a\n1,2\n3,4\n")
    (folder / "constant.csv").write_text("a,b\nx,1\nx,2\n")
    (folder / "draft.txt").write_text("a,b\n1,2\n")
    before = (folder / "schema.json").read_text()
    command = ["schema", "--public", "-o", "new.json", *arguments]
    code, out, err = run(*command)
    assert code == 1
    assert message in err
    assert out == ""
    assert not Path("new.json").exists()
    assert (folder / "schema.json").read_text() == before
