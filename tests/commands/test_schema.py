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


def test_amounts_of_few_rows_may_be_no_classes(folder, run):
    pd.DataFrame({"age": [18, 40, 99], "cost": [0, 1500, 30000]}).to_csv("few.csv", index=False)
    code, _, err = run("schema", "few.csv", "--public", "--label", "cost", "-o", "new.json")
    assert code == 0
    assert json.loads(Path("new.json").read_text())["classes"] == [0, 1500, 30000]
    number = '"outcome": {"type": "number", "low": 0, "high": 30000}'
    assert f'write {number} in place of "classes"' in err
    document = json.loads(Path("new.json").read_text())
    del document["classes"]
    document |= json.loads(f"{{{number}}}")
    Path("new.json").write_text(json.dumps(document))
    assert Schema.read("new.json").outcome.high == 30000


def test_without_public_it_refuses_and_says_why(folder, run):
    code, out, err = run("schema", "rows.csv", "--label", "outcome", "-o", "new.json")
    assert code == 1
    assert "--public is missing. A schema tells the bounds and categories of the rows" in err
    assert "write a table of a few invented rows" in err
    assert out == ""
    assert not Path("new.json").exists()


def test_columns_of_ids_are_warned_of(folder, run):
    frame = pd.read_csv("draft.csv")
    frame["name"] = [f"patient {i}" for i in range(len(frame))]
    frame.to_csv("once.csv", index=False)
    code, _, err = run("schema", "once.csv", "--public", "-o", "new.json")
    assert code == 1
    assert "Column 'name' has 60 different values in 60 rows, as names or IDs have; leave" in err
    frame.drop(columns="name").to_csv("numbered.csv")  # with pandas' index, as by mistake
    code, _, err = run("schema", "numbered.csv", "--public", "-o", "new.json", "--drop", "age")
    assert code == 1
    assert "has a different whole number in each row, as record numbers and IDs have; leave" in err
    pd.concat([frame, frame]).to_csv("draft.csv", index=False)
    code, _, err = run("schema", "draft.csv", "--public", "-o", "new.json")
    assert code == 0
    assert "warning: 'name' has 60 categories. If these are names or IDs, delete" in err
    assert "the draft lists no classes" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["draft.csv", "--label", "otcome"], "lacks the column 'otcome' of --label"),
        (["none.csv"], "'none.csv': No such file"),
        (["draft.txt"], "'draft.txt' has no ending of a table"),
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


def test_a_common_schema_is_written_and_says_what_was_widened(owners, run):
    code, out, err = run("schema", "--common", *owners, "-o", "common.json")
    assert code == 0, err
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


def test_columns_of_some_owners_can_be_kept(owners, run):
    code, *_ = run("schema", "--common", *owners, "--all-columns", "-o", "common.json")
    assert code == 0
    columns = {column.name: column.missing for column in Schema.read("common.json").columns}
    assert columns == {"age": False, "ward": False, "stay": True}


def test_a_release_can_be_made_by_a_common_schema(folder, run, release_command):
    schema = json.loads(Path("schema.json").read_text())
    write("other.json", schema["columns"] | {"age": AGE | {"high": 120}})
    code, *_ = run("schema", "--common", "schema.json", "other.json", "-o", "common.json")
    assert code == 0
    command = ["common.json" if each == "schema.json" else each for each in release_command]
    assert run(*command)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["draft.csv", "--common", "a.json", "b.json"], "TABLE is for a draft from rows"),
        (["--public", "--common", "a.json", "b.json"], "--public is for a draft from rows"),
        (["--label", "x", "--common", "a.json", "b.json"], "--label is for a draft from rows"),
        (["--common", "a.json"], "--common needs two schemas or more"),
        (["--common", "a.json", "a.json"], "Name each file once"),
        (["--common", "a.json", "none.json"], "'none.json': No such file"),
        (["--common", "a.json", "draft.csv"], "'draft.csv': The schema is no JSON"),
        (["--common", "a.json", "b.json", "-o", "b.json"], "'b.json' is also a file that is read"),
        (["--common", "a.json", "b.json", "-o", "schema.json"], "is there already"),
        (
            ["--common", "a.json", "log.json"],
            "Column 'age' has no common description: numeric, 20 to 90 in 'a.json'; numeric, "
            "20 to 90; logarithmic in 'log.json'; make it logarithmic in all or in none",
        ),
        (
            ["--common", "a.json", "labels.json"],
            "The classes are 'died', 'home' in 'a.json' and 'Died', 'home' in 'labels.json'",
        ),
        (["--all-columns", "draft.csv", "--public"], "--all-columns says which columns --common"),
        ([], "Name a TABLE of public rows to draft from, or schemas by --common"),
    ],
)
def test_mistakes_with_common_schemas_are_refused(owners, run, arguments, message):
    write("log.json", {"age": AGE | {"log": True}})
    write("labels.json", {"age": AGE}, classes=("Died", "home"))
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    output = [] if "-o" in arguments else ["-o", "common.json"]
    code, out, err = run("schema", *arguments, *output)
    assert code == 1
    assert message in err
    assert out == ""
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_decimal_commas_are_refused(tmp_path, run):
    path, output = tmp_path / "draft.csv", str(tmp_path / "s.json")
    path.write_text("age;lactate\n" + "\n".join(f"{20 + i % 30};{i},5" for i in range(60)))
    command = ("schema", str(path), "--public", "--sep", ";", "-o", output)
    code, _, err = run(*command)
    assert code == 1
    assert "Numbers in 'lactate' have decimal commas or signs of thousands or money: add" in err
    assert "add --decimal ','." in err
    assert "--drop" not in err
    code, out, err = run(*command, "--decimal", ",")
    assert code == 0
    assert "'lactate': numeric, 0 to 60" in out
    assert "decimal commas" not in err
