"""The sessions of the documentation, run as they are printed there."""

import contextlib
import doctest
import io
import json
import re
import shlex
import textwrap
from pathlib import Path

from skdp.commands import main

DOCUMENT = Path(__file__).parents[2] / "doc" / "howto" / "command_line.rst"


def blocks(document, language):
    """Return the blocks of code in a language."""
    parts = document.read_text(encoding="utf-8").split(f".. code-block:: {language}\n")[1:]
    return [textwrap.dedent(re.split(r"\n(?=\S)", part, maxsplit=1)[0]).strip() for part in parts]


def sessions(document):
    """Yield each command of a document with the lines that are printed below it."""
    for block in blocks(document, "console"):
        for part in block.split("$ ")[1:]:
            command, _, output = part.partition("\n")
            yield command, output.strip()


def run(command):
    """Return the exit code of a command, and what it prints, stdout and stderr together."""
    program, *arguments = shlex.split(command, comments=True)
    assert program == "skdp"
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        code = main(arguments)
    return code, screen.getvalue().strip()


def matches(expected, printed):
    """Whether a command printed what the document says, which may leave out text as ``...``."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(expected, printed, flags)


def test_the_table_of_commands_has_all_of_them():
    _, said = run("skdp --help")
    commands = re.findall(r"^    (\w+) +[A-Z]", said, re.M)
    assert len(commands) == 12
    assert re.findall(r"\* - ``skdp (\w+)``", DOCUMENT.read_text(encoding="utf-8")) == commands


def test_the_documented_session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    exec(*blocks(DOCUMENT, "python"), {})
    beginning, draft, _ = blocks(DOCUMENT, "text")
    assert Path("north.csv").read_text(encoding="latin-1").startswith(beginning)
    Path("draft.csv").write_text(draft, encoding="utf-8")
    found = list(sessions(DOCUMENT))
    assert [command.split()[1] for command, _ in found] == [
        *("schema", "check", "check", "check", "plan"),
        *("release", "release", "report", "predict", "score"),
    ]
    for command, expected in found:
        _, printed = run(command)
        if command.split()[1] in ("plan", "release", "score"):  # of noise, or of rounding
            expected, printed = (re.sub(r"\d[\d.]*", "#", text) for text in (expected, printed))
        assert matches(expected, printed), printed
        if command.startswith("skdp schema"):
            schema = json.loads(Path("schema.json").read_text(encoding="utf-8"))
            [column] = blocks(DOCUMENT, "json")
            schema["columns"] |= json.loads(f"{{{column}}}")
            Path("schema.json").write_text(json.dumps(schema), encoding="utf-8")
    said = run(command)[1]
    scored = re.search(r"AUC +([\d.]+).*?log loss +([\d.]+).*?alone: ([\d.]+)", said, re.S)
    auc, loss, reference = map(float, scored.groups())
    assert auc > 0.75
    assert loss < reference


def test_the_documented_common_schema(folder):
    *_, block = blocks(DOCUMENT, "text")
    command, _, expected = block.removeprefix("$ ").partition("\n")
    age, stay = ({"type": "numeric", "low": 20, "high": 90}, {"low": 0, "high": 365})
    ward = {"type": "category", "categories": ["A", "B"]}
    for name, columns in {
        "north": {"age": age, "ward": ward},
        "south": {
            "ward": ward | {"categories": ["B", "C"]},
            "age": age | {"low": 18, "high": 110},
            "stay": age | stay,
        },
    }.items():
        document = {"version": 1, "columns": columns, "classes": ["died", "home"]}
        Path(f"{name}.json").write_text(json.dumps(document))
    code, printed = run(command)
    assert code == 0
    assert matches(expected, printed), printed
