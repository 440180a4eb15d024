import json
from pathlib import Path

import pandas as pd
import pytest

from skdp import Schema


def test_a_draft_describes_the_public_rows(folder, done):
    out, _ = done("schema", "draft.csv", "--public", "--label", "outcome", "-o", "new.json")
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


def test_amounts_of_few_rows_may_be_no_classes(folder, done):
    pd.DataFrame({"age": [18, 40, 99], "cost": [0, 1500, 30000]}).to_csv("few.csv", index=False)
    _, err = done("schema", "few.csv", "--public", "--label", "cost", "-o", "new.json")
    assert json.loads(Path("new.json").read_text())["classes"] == [0, 1500, 30000]
    number = '"outcome": {"type": "number", "low": 0, "high": 30000}'
    assert f'replace "classes" with {number}' in err
    document = json.loads(Path("new.json").read_text())
    del document["classes"]
    document |= json.loads(f"{{{number}}}")
    Path("new.json").write_text(json.dumps(document))
    assert Schema.read("new.json").outcome.high == 30000


def test_columns_of_ids_are_warned_of(folder, done, failed):
    frame = pd.read_csv("draft.csv")
    frame["name"] = [f"patient {i}" for i in range(len(frame))]
    frame.to_csv("once.csv", index=False)
    _, err = failed("schema", "once.csv", "--public", "-o", "new.json")
    assert "Column 'name' has 60 different values in 60 rows, like names or IDs; leave" in err
    frame.drop(columns="name").to_csv("numbered.csv")  # with pandas' index, as by mistake
    _, err = failed("schema", "numbered.csv", "--public", "-o", "new.json", "--drop", "age")
    assert "has a different whole number in each row, like record numbers or IDs; leave" in err
    pd.concat([frame, frame]).to_csv("draft.csv", index=False)
    _, err = done("schema", "draft.csv", "--public", "-o", "new.json")
    assert "warning: 'name' has 60 categories. If they are names or IDs, delete" in err
    assert "the draft lists no classes" in err


def write(name, columns, classes=("died", "home")):
    document = {"version": 1, "columns": columns, "classes": list(classes)}
    Path(name).write_text(json.dumps(document))


AGE = {"type": "numeric", "low": 20, "high": 90}
WARD = {"type": "category", "categories": ["A", "B"]}


@pytest.fixture
def owners(folder):
    """Schemas of three owners."""
    write("a.json", {"age": AGE, "ward": WARD})
    write("b.json", {"ward": WARD | {"categories": ["B", "C"]}, "age": AGE | {"low": 18}})
    write("c.json", {"age": AGE | {"high": 110}, "ward": WARD, "stay": AGE})
    return ["a.json", "b.json", "c.json"]


def test_a_common_schema_is_written_and_says_what_was_widened(owners, run, done):
    out, _ = done("schema", "--common", *owners, "-o", "common.json")
    common = Schema.read("common.json")
    schemas = [Schema.read(path) for path in owners]
    assert common == Schema.common(schemas)
    assert common.names == ("age", "ward")
    assert common.summary() in out
    lines = out.splitlines()
    for path, schema in zip(owners, schemas, strict=True):
        start = lines.index(f"'{path}' (here) and the common schema (there):")
        told = schema.difference(common)
        assert told
        assert lines[start + 1 : start + 1 + len(told)] == [f"  {line}" for line in told]
    assert "  'age': numeric, 20 to 90 here; numeric, 18 to 110 there" in lines
    assert "  'stay': numeric, 20 to 90 here; no such column there" in lines
    assert "Wrote 'common.json'. Read what was widened" in out
    _, out, _ = run("schema", "--common", "common.json", "a.json", "-o", "again.json")
    assert "'common.json' (here) and the common schema (there) agree" in out
    assert Schema.read("again.json") == common


def test_columns_of_some_owners_can_be_kept(owners, done):
    done("schema", "--common", *owners, "--all-columns", "-o", "common.json")
    columns = {column.name: column.missing for column in Schema.read("common.json").columns}
    assert columns == {"age": False, "ward": False, "stay": True}
