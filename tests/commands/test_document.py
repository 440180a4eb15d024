"""The session of the documentation, run as it is printed there."""

import contextlib
import doctest
import io
import json
import re
import shlex
import textwrap
from pathlib import Path

import pandas as pd

from skdp.commands import main

DOCUMENT = Path(__file__).parents[2] / "doc" / "howto" / "command_line.rst"
README = Path(__file__).parents[2] / "README.md"


def sessions():
    """Yield each command of the document with the lines that are printed below it."""
    for block in DOCUMENT.read_text().split(".. code-block:: console\n")[1:]:
        block = re.split(r"\n(?=\S)", block, maxsplit=1)[0]
        lines = [line.removeprefix("   ") for line in block.strip("\n").split("\n")]
        for part in "\n".join(lines).split("$ ")[1:]:
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


def without_noise(text):
    """Return text without the numbers that noise is in."""
    text = re.sub(r"(died|home) \d+", r"\1 #", text)
    text = re.sub(r"(these \(0.5: a guess\):|bring epsilon to) [\d.]+", r"\1 #", text)
    return re.sub(r"80 %: [\d.]+ to [\d.]+", "80 %: # to #", text)


def matches(expected, printed):
    """Whether a command printed what the document says, which may leave out text as ``...``."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(expected, printed, flags)


def without_people(path):
    """Leave out columns and cells of the rows that the document does not mention."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = rows.replace(["vermilion", "4711.25"], "")
    rows.drop(columns=["name", "person"]).to_csv(path, index=False)


def foreign_export(path, other):
    """Write rows as a program of another country does, with wards in upper case."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)[:300]
    rows = rows.replace(r"^(\d+)\.(\d+)$", r"\1,\2", regex=True)
    rows.assign(ward=rows["ward"].str.upper()).to_csv(other, sep=";", index=False)


def test_the_documented_session(folder):
    (folder / "schema.json").unlink()
    (folder / "visits.csv").write_text((folder / "rows.csv").read_text())
    without_people(folder / "rows.csv")
    foreign_export(folder / "rows.csv", folder / "export.csv")
    found = list(sessions())
    assert [command.split()[1] for command, _ in found] == [
        *("schema", "check", "release", "release", "describe", "predict", "score"),
        *("check", "check", "release", "report", "release"),
    ]
    for command, expected in found:
        _, printed = run(command)
        assert matches(without_noise(expected), without_noise(printed)), printed
        if command.startswith("skdp schema"):
            schema = json.loads(Path("schema.json").read_text())
            schema["columns"]["lactate"] |= {"low": 0.3, "high": 20, "log": True}
            Path("schema.json").write_text(json.dumps(schema))


def test_the_documented_common_schema(folder):
    block = DOCUMENT.read_text().split(".. code-block:: text\n")[1]
    block = textwrap.dedent(re.split(r"\n(?=\S)", block, maxsplit=1)[0]).strip()
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


def test_the_readme_s_commands_run(folder):
    text = README.read_text().split("**On the command line**")[1].split("\n**")[0]
    commands = [line for line in text.splitlines() if line.startswith("skdp ")]
    assert [c.split()[1] for c in commands] == ["schema", "release", "describe", "predict"]
    (folder / "schema.json").unlink()
    without_people(folder / "rows.csv")
    for command in commands:
        code, printed = run(command)
        assert code == 0, printed
    assert len(pd.read_csv("predictions.csv")) == 150
