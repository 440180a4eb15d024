"""What each command refuses: in one line, with nothing private, and without a file written."""

import csv
import json
import shlex
from io import StringIO
from pathlib import Path

import pytest

from skdp.privacy import PrivacyLedger


def _without_classes(text):
    schema = json.loads(text)
    del schema["classes"]
    return json.dumps(schema)


def _another_column(name, **column):
    def change(text):
        schema = json.loads(text)
        return json.dumps(schema | {"columns": schema["columns"] | {name: column}})

    return change


def _with_age_twice(text):
    lines = StringIO()
    rows = csv.reader(StringIO(text))
    csv.writer(lines).writerows([*row[:5], row[1], *row[5:]] for row in rows)
    return lines.getvalue()


def _without_columns(text):
    rows = csv.DictReader(StringIO(text))
    return "outcome,name\n" + "".join(f"{row['outcome']},{row['name']}\n" for row in rows)


AGE = {"type": "numeric", "low": 20, "high": 90}
OTHER = {"type": "category", "categories": ["died", "home"]}
CLASSES = {"version": 1, "classes": ["died", "home"]}
FILES = {
    "one.json": json.dumps({**CLASSES, "columns": {"age": AGE}}),
    "a.json": json.dumps({**CLASSES, "columns": {"age": AGE}}),
    "log.json": json.dumps({**CLASSES, "columns": {"age": AGE | {"log": True}}}),
    "labels.json": json.dumps({**CLASSES, "classes": ["Died", "home"], "columns": {"age": AGE}}),
    "none.json": json.dumps({"age": AGE}),
    "twice.csv": "a,a\n1,2\n3,4\n",
    "constant.csv": "a,b\nx,1\nx,2\n",
    "draft.txt": "a,b\n1,2\n",
    "mine.skdp": "mine",
    "mine.csv": "mine",
    "mine.html": "mine",
    "PK.skdp": "PK",
    "empty.skdp": "",
}
RELEASE = "release rows.csv --label outcome --schema schema.json --epsilon 4 --accept people "
PREDICT = "predict hospital.skdp target.csv --label outcome -o p.csv "
PRIOR = "predict hospital.skdp target.csv -o p.csv --class-prior "
DRAFT = "schema --public -o new.json "
COMMON = "schema -o common.json --common "
PLAN = "plan one.json --rows 100 "
SHARES = "--class-prior died=0.2 --class-prior home=0.8 "
BOUNDS = (
    "bounds rows.csv --epsilon 1 --ledger l.json --budget-epsilon 3 --budget-delta 1e-4 -o b.json "
)
EVALUATE = "evaluate hospital.skdp rows.csv --label outcome --epsilon 2 -o e.json "
REPORT = "report hospital.skdp -o page.html "
SAMPLE = "sample hospital.skdp -o s.csv "
# Of each: the command, and what it says.
REFUSED = [
    (RELEASE + "-o mine.skdp", "--output 'mine.skdp' exists"),
    (RELEASE + "-o h.skdp --label otcome", "lacks the column 'otcome' of --label"),
    (RELEASE + "-o h.skdp --schema no.json", "'no.json': No such file"),
    (RELEASE + "-o none/h.skdp", "does not exist. Create it"),
    (RELEASE + "-o h.csv", "--output 'h.csv' must end in .skdp"),
    (RELEASE + "-o h.skdp --group nobody", "lacks the column 'nobody' of --group"),
    (RELEASE + "-o h.skdp --ledger l.json", "with --budget-epsilon and --budget-delta, the"),
    (RELEASE + "-o h.skdp --ledger l --budget-epsilon 2", "start one with --budget-delta, "),
    (RELEASE + "-o h.skdp --budget-epsilon 3", "--budget-epsilon and --budget-delta need --led"),
    (RELEASE + "-o h.skdp --ledger schema.json", "--ledger 'schema.json'"),
    ("release rows.csv --schema schema.json --epsilon 4 -o h.skdp", "--label is missing. Name"),
    ("predict PK.skdp target.csv -o p.csv", "'PK.skdp' is not an intact skdp file"),
    ("predict hospital.skdp target.csv -o mine.csv", "--output 'mine.csv' exists"),
    (PREDICT + "--label name", "--label 'name' has 150 cells that are not classes"),
    (PREDICT + "--label otcome", "lacks the column 'otcome' of --label"),
    (PREDICT + "-o p.txt", "--output 'p.txt' must end in .csv or .parquet or .xlsx"),
    (PREDICT + "-o target.csv --force", "is also an input"),
    (PRIOR + "died", "--class-prior 'died' is not a class and its share"),
    (PRIOR + "died=few", "Write CLASS=SHARE, as died=0.1"),
    (PRIOR + "dead=0.1", "given for ['dead'], 1 in all, but the classes"),
    (PRIOR + "died=1.1", "Use positive shares that add up to 1"),
    (PRIOR + "dead=0.1 --class-prior home=0.9", "given for ['dead', 'home'], 2 in"),
    (PRIOR + "died=0.1 --class-prior home=0.8", "shares that add up to 0.9"),
    (PRIOR + "died=0 --class-prior home=1", "Use positive shares that add up to 1"),
    (PRIOR + "died=nan --class-prior home=1", "Use positive shares that add up to 1"),
    (
        PRIOR + "died=0.2 --class-prior died=0.1 --class-prior home=0.9",
        "given for ['died', 'home'], 3 in all",
    ),
    (DRAFT + "draft.csv --label otcome", "lacks the column 'otcome' of --label"),
    (DRAFT + "no.csv", "'no.csv': No such file"),
    (DRAFT + "draft.txt", "'draft.txt' has no ending of a table"),
    (DRAFT + "draft.csv -o schema.json", "--output 'schema.json' exists"),
    (DRAFT + "draft.csv -o new.txt", "--output 'new.txt' must end in .json"),
    (DRAFT + "twice.csv", "'twice.csv' repeats the name of a column"),
    (DRAFT + "constant.csv", "Column 'a' has fewer than two values"),
    (DRAFT + "draft.csv --drop ids", "lacks the column 'ids' of --drop"),
    (DRAFT + "draft.csv --all-columns", "--all-columns needs --common"),
    ("schema -o new.json", "Name a table of public rows, or schemas by --common"),
    (
        "schema rows.csv --label outcome -o new.json",
        "--public is missing. The schema discloses bou",
    ),
    ("schema rows.csv --label outcome -o new.json", "draft from a few invented rows"),
    ("schema draft.csv -o c.json --common a.json one.json", "TABLE is for drafts from rows"),
    (COMMON + "a.json one.json --public", "--public is for drafts from rows"),
    (COMMON + "a.json one.json --label x", "--label is for drafts from rows"),
    (COMMON + "a.json", "--common needs two or more schemas"),
    (COMMON + "a.json a.json", "Name each file once"),
    (COMMON + "a.json no.json", "'no.json': No such file"),
    (COMMON + "a.json draft.csv", "'draft.csv': The schema is not JSON"),
    (COMMON + "a.json one.json -o one.json", "'one.json' is also an input"),
    (COMMON + "a.json one.json -o schema.json", "exists. Choose"),
    (
        COMMON + "a.json log.json",
        "Column 'age' has no common description: numeric, 20 to 90 in 'a.json'; numeric, 20 to "
        "90; logarithmic in 'log.json'; make it logarithmic in all or in none",
    ),
    (
        COMMON + "a.json labels.json",
        "The classes are 'died', 'home' in 'a.json' and 'Died', 'home' in 'labels.json'",
    ),
    (PLAN + SHARES + "--rows few", "--rows is ['few']"),
    (PLAN + SHARES + "--effects huge", "--effects is 'huge'"),
    (PLAN + SHARES + "--owners 0", "--owners is 0"),
    (PLAN, "share of each class: --class-prior died=0.1."),
    (PLAN + "--event-share 0.2", "--event-share is for another outcome"),
    (PLAN + "--class-prior dead=0.2", "--class-prior is given for ['dead']"),
    (PLAN + "--plot plan.txt", "--plot 'plan.txt' must end in .png"),
    ("plan none.json --rows 100", "'none.json' lists no classes"),
    (BOUNDS, "names no column"),
    (BOUNDS + "--numeric weight", "--numeric"),
    (BOUNDS + "--category color", "--category"),
    (BOUNDS + "--numeric age --schema one.json", "are in the public 'schema'"),
    (BOUNDS + "--numeric lactate --schema rows.csv", "--schema 'rows.csv'"),
    (BOUNDS + "--numeric lactate --group nobody", "--group"),
    ("evaluate", "RELEASE is missing"),
    ("evaluate hospital.skdp rows.csv --label outcome", "--epsilon is missing"),
    (EVALUATE + "--group ward2", "lacks the column 'ward2' of --group"),
    (EVALUATE + "-o evaluation.csv", "--output 'evaluation.csv' must end in .json"),
    ("evaluate --show schema.json", "holds no evaluation"),
    (SAMPLE + "-n 0", "--rows must be a positive whole number, got 0"),
    (SAMPLE + "-n 5 --seed -1", "--seed must be a whole number from 0 to 4294967295, got -1"),
    (SAMPLE + "-n 5 --seed 4294967296", "--seed must be"),
    (SAMPLE + "-n 5 --label age", "--label 'age' is already a column of 'hospital.skdp'"),
    ("merge hospital.skdp --disjoint -o both.skdp", "two or more files"),
    ("merge hospital.skdp hospital.skdp --disjoint -o both.skdp", "Name each once"),
    (REPORT + "-o page.txt", "must end in .html"),
    (REPORT + "--ledger no.json", "no.json"),
    (REPORT + "--audit hospital.skdp", "is not text"),
    (REPORT + "-o mine.html", "exists. Choose"),
    ("describe empty.skdp", "'empty.skdp' is not an intact skdp file"),
    ("describe PK.skdp", "truncated, altered, or was written by another program. Ask its owner"),
    ("describe none.skdp", "'none.skdp': No such file"),
]
NUMBER = "argument --epsilon: must be a number above 0, got '{}'"
SMALL = "argument --delta: must be a number above 0 and below 1, got '{}'"
MISUSED = [
    *((f"{RELEASE} -o h.skdp --epsilon={x}", NUMBER.format(x)) for x in ("0", "one", "inf")),
    (f"{RELEASE} -o h.skdp --epsilon=nan", NUMBER.format("nan")),
    *((f"{RELEASE} -o h.skdp --delta={x}", SMALL.format(x)) for x in ("0", "1", "-1e-5")),
    ("release rows.csv --schema schema.json -o h.skdp", "arguments are required: --epsilon"),
    ("release rows.csv --epsilon 4 -o h.skdp", "arguments are required: --schema"),
    (RELEASE, "the following arguments are required: -o/--output"),
    ("", "the following arguments are required: COMMAND"),
    ("publish", "invalid choice: 'publish'"),
    ("describe", "the following arguments are required: RELEASE"),
    ("describe x.skdp --jsn", "unrecognized arguments: --jsn"),
    ("describe x.skdp --js", "unrecognized arguments: --js"),
    ("merge a b -o c", "one of the arguments --disjoint --overlapping is required"),
]
# Of each: a file, what its text is replaced with, the command, and what it says.
SPOILED = [
    (
        "schema.json",
        lambda text: '{"columns": {',
        RELEASE,
        "'schema.json': The schema is not JSON",
    ),
    ("schema.json", _without_classes, RELEASE, "'schema.json' lists no classes. Draft it"),
    ("schema.json", _another_column("outcome", **OTHER), RELEASE, "'outcome' is also a column of"),
    (
        "schema.json",
        _another_column("height", **AGE),
        RELEASE,
        "lacks the column 'height' of --sc",
    ),
    ("rows.csv", lambda text: None, RELEASE, "'rows.csv': No such file"),
    ("rows.csv", lambda text: text.splitlines()[0], RELEASE, "'rows.csv' has no rows below"),
    ("rows.csv", lambda text: "", RELEASE, "'rows.csv' is empty"),
    ("rows.csv", lambda text: "\n".join(text.splitlines()[4:]), RELEASE, "column 'outcome' of"),
    ("rows.csv", lambda text: text.replace(",", ";"), RELEASE, "by ';'? Add --sep ';'"),
    (
        "rows.csv",
        lambda text: text.replace("Zap", "Zap,"),
        RELEASE,
        "whose number of cells differs",
    ),
    ("rows.csv", lambda text: text.replace("Zap", '"Zap'), RELEASE, "is not an intact CSV file"),
    ("rows.csv", lambda t: t.replace("a", "ä").encode("latin-1"), RELEASE, "is not in UTF-8"),
    ("rows.csv", _with_age_twice, RELEASE, "'rows.csv' has the column 'age' more than once"),
    ("rows.csv", lambda t: t.replace("B-612", ""), RELEASE + "--group person", "has empty cells"),
    ("target.csv", _without_columns, PREDICT, "'hospital.skdp'. Spell names as in the first line"),
    (
        "target.csv",
        lambda text: text.replace(",died", ",DIED").replace(",home", ",HOME"),
        PREDICT,
        "--label 'outcome' has 20 cells that are not classes of the release",
    ),
]


def _contents(folder):
    """Return files and what they hold, but for a ledger, and the locks of ledgers."""
    files = (path for path in folder.iterdir() if path.suffix != ".lock")
    return {path.name: path.read_bytes() for path in files if path.name != "l.json"}


@pytest.fixture
def refused(hospital, run, shows_nothing_private):
    """Check that a command is refused, whose other files are as they were."""
    for name, text in FILES.items():
        Path(name).write_text(text)

    def check(command, message, code):
        before = _contents(hospital)
        found, out, err = run(*shlex.split(command))
        assert (found, out) == (code, "")
        assert message in err
        assert "Traceback" not in err
        assert "patient" not in err
        assert shows_nothing_private(err)
        assert "spent so far" not in err
        assert _contents(hospital) == before
        assert not Path("l.json").exists() or not PrivacyLedger.open("l.json").entries
        return err

    return check


@pytest.mark.parametrize(("command", "message"), REFUSED)
def test_mistakes_are_refused(refused, command, message):
    refused(command, message, 1)


@pytest.mark.parametrize(("command", "message"), MISUSED)
def test_arguments_that_make_no_sense_show_how_a_command_is_used(refused, command, message):
    assert refused(command, message, 2).startswith("usage: skdp")


@pytest.mark.parametrize(("name", "change", "command", "message"), SPOILED)
def test_files_that_are_spoiled_are_refused(refused, name, change, command, message):
    path = Path(name)
    changed = change(path.read_text())
    if changed is None:
        path.unlink()
    else:
        path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
    refused(command if "-o" in command else f"{command} -o h.skdp", message, 1)
