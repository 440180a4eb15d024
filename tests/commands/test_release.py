import csv
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Release
from skdp.noise import GaussianQueries
from skdp.privacy import PrivacyLedger


def edit_lines(path, function):
    """Rewrite a CSV file, line by line of cells."""
    with open(path, newline="", encoding="utf-8") as file:
        lines = [function(i, row) for i, row in enumerate(csv.reader(file))]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)


COLUMNS = ["age", "lactate", "ward", "smoker"]


def changed(command, **replaced):
    """Return a command with other values of some arguments, or without them where None."""
    command = list(command)
    for name, value in replaced.items():
        i = command.index("-o" if name == "output" else f"--{name}")
        command[i : i + 2] = [] if value is None else [command[i], value]
    return command


def test_a_release_is_that_of_the_python_interface(
    folder, run, release_command, shows_nothing_private
):
    # At this ε the noise in a count is a fifth of a row.
    code, out, err = run(*changed(release_command, epsilon=300))
    assert code == 0, err
    release = Release.load("hospital.skdp")
    frame = pd.read_csv("rows.csv", dtype=object, keep_default_na=False)
    frame["age"] = pd.to_numeric(frame["age"], errors="coerce")
    source = DPStatisticsSource(300, encoder="schema.json").fit(
        frame[COLUMNS], frame["outcome"].to_numpy()
    )
    other = source.release_
    np.testing.assert_allclose(
        release.moments.class_counts, frame["outcome"].value_counts()[["died", "home"]], atol=1.5
    )
    np.testing.assert_allclose(release.moments.means, other.moments.means, atol=1e-2)
    assert release.encoder == other.encoder
    assert release.guarantee == other.guarantee
    assert release.guarantee.unit == "labeled record"
    assert shows_nothing_private(out, err)


def test_success_says_what_may_leave(folder, run, release_command, shows_nothing_private):
    code, out, err = run(*release_command)
    assert code == 0
    assert "Wrote 'hospital.skdp': Release(2 classes, 9 features, (4, 1e-05)-DP" in out
    assert "Only 'hospital.skdp' may be published." in out
    assert "noisy; these may be shown" in out
    assert "without --ledger" in err
    assert shows_nothing_private(out, err)


def test_what_is_left_out_is_not_told(folder, run, release_command):
    """The same is said whatever the cells are, apart from what is noisy, once it is accepted."""
    _, _, err = run(*release_command)
    edit_lines("rows.csv", lambda i, row: row if i == 0 else ["x"] * len(row))
    code, _, refusal = run(*release_command, "--force")
    assert code == 1
    accepted = refusal.split("--accept")[1:]
    assert [name.strip() for name in accepted] == [
        *("age:unread", "lactate:unread", "ward:unlisted", "smoker:unlisted"),
        *("outcome:unlisted", "outcome:classes"),
    ]
    code, _, other = run(
        *release_command, "--force", *(a for name in accepted for a in ("--accept", name.strip()))
    )
    assert code == 0
    # But for what noisy numbers alone say.
    assert [line for line in other.splitlines() if "few rows" not in line] == err.splitlines()


def test_groups_protect_persons(folder, run, release_command, shows_nothing_private):
    code, out, err = run(*changed(release_command, epsilon=300), "--group", "person")
    assert code == 0, err
    release = Release.load("hospital.skdp")
    assert release.guarantee.unit == "group"
    assert "people of each class" in out
    # Half as many persons as rows, but for those with a row of no class.
    assert abs(release.moments.class_counts.sum() - 300) < 3
    assert shows_nothing_private(out, err)


def test_the_ledger_is_charged_and_stops_overspending(
    folder, run, release_command, shows_nothing_private
):
    budget = ("--ledger", "budget.json")
    limits = ("--budget-epsilon", 5, "--budget-delta", 1e-5)
    code, _, err = run(*release_command, *budget, *limits)
    assert code == 0
    assert "spent so far: epsilon 4 of 5, delta 1e-05 of 1e-05" in err
    [(name, guarantee)] = PrivacyLedger(path="budget.json").entries
    assert name == "hospital.skdp"
    assert guarantee == Release.load("hospital.skdp").guarantee
    again = changed(release_command, output="again.skdp")
    code, out, err = run(*again, *budget)
    assert code == 1
    assert "This release would bring epsilon to" in err
    assert not Path("again.skdp").exists()
    assert len(PrivacyLedger(path="budget.json").entries) == 1
    assert shows_nothing_private(out, err)


def test_what_fails_after_the_charge_stays_spent(
    folder, run, release_command, monkeypatch, shows_nothing_private
):
    def fails(self, *query):
        raise RuntimeError("cannot do with Zaphod")

    monkeypatch.setattr(GaussianQueries, "add", fails)
    limits = ("--budget-epsilon", 5, "--budget-delta", 1e-5)
    code, out, err = run(*release_command, "--ledger", "budget.json", *limits)
    assert code == 1
    assert "spent so far: epsilon 4 of 5" in err
    assert "unexpected reason (RuntimeError)" in err
    assert shows_nothing_private(out, err)
    assert not Path("hospital.skdp").exists()
    assert len(PrivacyLedger(path="budget.json").entries) == 1


def test_nothing_is_charged_where_a_mistake_is_found(folder, run, release_command):
    limits = ("--ledger", "budget.json", "--budget-epsilon", 5, "--budget-delta", 1e-5)
    for mistake in ({"label": "otcome"}, {"output": "none/x.skdp"}, {"schema": "no.json"}):
        code, _, _ = run(*changed(release_command, **mistake), *limits)
        assert code == 1
        assert not Path("budget.json").exists()


def rewrite_schema(folder, change):
    path = folder / "schema.json"
    schema = json.loads(path.read_text())
    change(schema)
    path.write_text(json.dumps(schema))


def broken_schema(folder):
    (folder / "schema.json").write_text('{"columns": {')


def schema_without_classes(folder):
    rewrite_schema(folder, lambda schema: schema.pop("classes"))


def schema_with_the_label(folder):
    column = {"type": "category", "categories": ["died", "home"]}
    rewrite_schema(folder, lambda schema: schema["columns"].update(outcome=column))


def schema_of_another_column(folder):
    column = {"type": "numeric", "low": 0, "high": 3}
    rewrite_schema(folder, lambda schema: schema["columns"].update(height=column))


def no_table(folder):
    (folder / "rows.csv").unlink()


def a_table_without_rows(folder):
    path = folder / "rows.csv"
    path.write_text(path.read_text().splitlines()[0])


def an_empty_table(folder):
    (folder / "rows.csv").write_text("")


def no_header(folder):
    lines = (folder / "rows.csv").read_text().splitlines()
    (folder / "rows.csv").write_text("\n".join(lines[4:]))


def semicolons(folder):
    path = folder / "rows.csv"
    path.write_text(path.read_text().replace(",", ";"))


def a_comma_in_a_cell(folder):
    path = folder / "rows.csv"
    path.write_text(path.read_text().replace("Zaphod", "Zaphod,Beeblebrox"))


def an_open_quotation_mark(folder):
    path = folder / "rows.csv"
    path.write_text(path.read_text().replace("Zaphod", '"Zaphod'))


def latin_letters(folder):
    path = folder / "rows.csv"
    path.write_bytes(path.read_text().replace("Zaphod", "Zaphöd").encode("latin-1"))


def the_same_column_twice(folder):
    edit_lines(folder / "rows.csv", lambda i, row: [*row[:5], row[1], *row[5:]])


def an_empty_id(folder):
    path = folder / "rows.csv"
    path.write_text(path.read_text().replace("B-612", ""))


def a_file_that_is_there(folder):
    (folder / "hospital.skdp").write_text("mine")


MISTAKES = [
    (broken_schema, {}, "--schema 'schema.json': The schema is no JSON"),
    (schema_without_classes, {}, "--schema 'schema.json' lists no classes. Add them"),
    (schema_with_the_label, {}, "--label 'outcome' is also a column of --schema"),
    (schema_of_another_column, {}, "'rows.csv' lacks the column 'height' of --schema"),
    (no_table, {}, "'rows.csv': No such file"),
    (a_table_without_rows, {}, "'rows.csv' holds no rows below"),
    (an_empty_table, {}, "'rows.csv' is empty"),
    (no_header, {}, "'rows.csv' lacks the column 'outcome' of --label"),
    (semicolons, {}, "Are its cells separated by ';'? Add --sep ';'"),
    (a_comma_in_a_cell, {}, "'rows.csv' has lines with more or fewer cells"),
    (an_open_quotation_mark, {}, "'rows.csv' is no intact CSV file"),
    (latin_letters, {}, "'rows.csv' is not in UTF-8"),
    (the_same_column_twice, {}, "'rows.csv' has the column 'age' more than once"),
    (a_file_that_is_there, {}, "--output 'hospital.skdp' is there already"),
    (None, {"label": "otcome"}, "lacks the column 'otcome' of --label"),
    (None, {"schema": "none.json"}, "'none.json': No such file"),
    (None, {"output": "none/hospital.skdp"}, "there is no folder"),
    (None, {"output": "hospital.csv"}, "--output 'hospital.csv' must end in .skdp"),
]


@pytest.mark.parametrize(
    ("prepare", "arguments", "message"),
    MISTAKES,
    ids=[prepare.__name__ if prepare else str(given) for prepare, given, _ in MISTAKES],
)
def test_mistakes_are_refused(
    folder, run, release_command, prepare, arguments, message, shows_nothing_private
):
    if prepare is not None:
        prepare(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, err = run(*changed(release_command, **arguments))
    assert code == 1
    assert message in err
    assert out == ""
    assert "Traceback" not in err
    assert shows_nothing_private(err)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--group", "nobody"], "lacks the column 'nobody' of --group"),
        (["--ledger", "budget.json"], "by stating --budget-epsilon and --budget-delta: the most"),
        (["--ledger", "b.json", "--budget-epsilon", 2], "begin one by stating --budget-delta: "),
        (["--budget-epsilon", 3], "--budget-epsilon and --budget-delta need --ledger"),
        (["--ledger", "schema.json"], "--ledger 'schema.json'"),
    ],
)
def test_mistakes_in_what_may_be_added(
    folder, run, release_command, arguments, message, shows_nothing_private
):
    code, out, err = run(*release_command, *arguments)
    assert code == 1
    assert message in err
    assert shows_nothing_private(out, err)
    assert not Path("hospital.skdp").exists()


def test_ids_may_not_be_empty(folder, run, release_command, shows_nothing_private):
    an_empty_id(folder)
    code, out, err = run(*release_command, "--group", "person")
    assert code == 1
    assert "--group 'person' has empty cells" in err
    assert shows_nothing_private(out, err)


def test_another_budget_than_the_ledger_s(folder, run, release_command):
    PrivacyLedger(3, 1e-5, path="budget.json")
    code, _, err = run(*release_command, "--ledger", "budget.json", "--budget-epsilon", 9)
    assert code == 1
    assert "but the file" in err
    assert "has 3. Leave it out" in err


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("epsilon", "0", "argument --epsilon: must be a number above 0, got '0'"),
        ("epsilon", "one", "argument --epsilon: must be a number above 0, got 'one'"),
        ("epsilon", "inf", "argument --epsilon: must be a number above 0, got 'inf'"),
        ("epsilon", "nan", "argument --epsilon: must be a number above 0, got 'nan'"),
        ("epsilon", None, "the following arguments are required: --epsilon"),
        ("schema", None, "the following arguments are required: --schema"),
        ("output", None, "the following arguments are required: -o/--output"),
    ],
)
def test_arguments_that_make_no_sense(folder, run, release_command, argument, value, message):
    code, out, err = run(*changed(release_command, **{argument: value}))
    assert code == 2
    assert message in err
    assert out == ""
    assert not Path("hospital.skdp").exists()


def test_the_label_is_named(folder, run, release_command):
    code, out, err = run(*changed(release_command, label=None))
    assert (code, out) == (1, "")
    assert "--label is missing. Name the column with the labels." in err


@pytest.mark.parametrize("delta", ["0", "1", "-1e-5"])
def test_delta_must_be_a_small_number(folder, run, release_command, delta):
    code, _, err = run(*release_command, f"--delta={delta}")
    assert code == 2
    assert f"argument --delta: must be a number above 0 and below 1, got '{delta}'" in err


def test_force_replaces_a_file(folder, run, release_command):
    a_file_that_is_there(folder)
    code, _, _ = run(*release_command, "--force")
    assert code == 0
    assert len(Release.load("hospital.skdp").classes) == 2


def test_the_ledger_is_never_replaced(folder, run, release_command):
    command = changed(release_command, output="budget.skdp")
    PrivacyLedger(9, 1e-5, path="budget.skdp")
    code, _, err = run(*command, "--ledger", "budget.skdp", "--force")
    assert code == 1
    assert "is also a file that is read" in err
    assert PrivacyLedger(path="budget.skdp").epsilon == 9


def test_parquet_is_read_as_csv_is(folder, run, release_command):
    pytest.importorskip("pyarrow")
    frame = pd.concat([pd.read_csv("draft.csv").astype({"smoker": "Int64"})] * 20)
    frame.index = pd.Index([f"p{i // 2}" for i in range(len(frame))], name="person")
    frame.to_parquet("rows.parquet")
    command = list(changed(release_command, epsilon=300))
    command[1] = "rows.parquet"
    code, _, err = run(*command, "--group", "person")
    assert code == 0, err
    release = Release.load("hospital.skdp")
    source = DPStatisticsSource(300, encoder="schema.json", privacy_unit="group").fit(
        frame[COLUMNS], frame["outcome"], groups=frame.index.to_numpy(object)
    )
    np.testing.assert_allclose(release.moments.means, source.release_.moments.means, atol=1e-2)


def test_parquet_without_pyarrow_names_the_remedy(folder, run, release_command, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    command = list(release_command)
    command[1] = "rows.parquet"
    code, _, err = run(*command)
    assert code == 1
    assert "needs the package pyarrow. Install it (pip install pyarrow), or use CSV" in err


def test_a_damaged_parquet_file(folder, run, release_command, shows_nothing_private):
    pytest.importorskip("pyarrow")
    (folder / "rows.parquet").write_bytes(b"PAR1 Zaphod 4711.25 PAR1")
    command = list(release_command)
    command[1] = "rows.parquet"
    code, out, err = run(*command)
    assert code == 1
    assert "'rows.parquet' is no intact Parquet file" in err
    assert shows_nothing_private(out, err)


@pytest.mark.parametrize(
    ("classes", "warns"), [(["Died", "Home"], True), (["died", "home"], False)]
)
def test_a_release_that_tells_nothing_is_warned_of(folder, run, release_command, classes, warns):
    schema = json.loads(Path("schema.json").read_text())
    Path("schema.json").write_text(json.dumps(schema | {"classes": classes}))
    accept = ("--accept", "outcome:spelling", "--accept", "outcome:classes")
    code, _, err = run(*release_command, *accept)
    assert code == 0
    assert ("Check that labels are spelled like the classes" in err) == warns
