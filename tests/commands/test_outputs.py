"""What is charged is written, saved elsewhere or shown; it is opened before the charge."""

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest

import skdp
from skdp import Release
from skdp.privacy import PrivacyLedger
from skdp.release import PrivateEvaluation
from skdp.tabular import Schema

LEDGER = ("--ledger", "budget.json", "--budget-epsilon", 9, "--budget-delta", 1e-3)
# Each command that charges, without its output, the ending of that, and what reads it.
COMMANDS = {
    "release": (
        *("release", "rows.csv", "--label", "outcome", "--schema", "schema.json"),
        *("--epsilon", 4, "--accept", "people", "--model", "linear"),
    ),
    "evaluate": ("evaluate", "hospital.skdp", "truth.csv", "--label", "outcome", "--epsilon", 1),
    "bounds": ("bounds", "rows.csv", "--category", "ward", "--epsilon", 1),
}
ENDINGS = {"release": ".skdp", "evaluate": ".json", "bounds": ".json"}
READERS = {"release": Release.load, "evaluate": PrivateEvaluation.load, "bounds": Schema.read}
commands = pytest.mark.parametrize("command", COMMANDS)


def n_charges():
    return len(PrivacyLedger.open("budget.json").entries) if Path("budget.json").exists() else 0


@commands
def test_a_name_as_long_as_systems_take_is_written(hospital, run, command):
    for length, code in ((255, 0), (256, 1)):
        name = "n" * (length - 5) + ENDINGS[command]
        assert run(*COMMANDS[command], *LEDGER, "-o", name)[0] == code
    assert n_charges() == 1
    assert READERS[command]("n" * 250 + ENDINGS[command])


@commands
def test_what_is_no_file_is_refused_before_the_charge(hospital, run, command):
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no named pipes")
    os.mkfifo("pipe" + ENDINGS[command])
    output = ("-o", "pipe" + ENDINGS[command], "--force")
    code, out, err = run(*COMMANDS[command], *LEDGER, *output)
    assert (code, out) == (1, "")
    assert "not a regular file" in err
    assert n_charges() == 0


@pytest.mark.parametrize("command", ["evaluate", "bounds"])  # release: test_main.py
def test_what_another_process_wrote_meanwhile_stays(hospital, run, command, monkeypatch):
    link, there = os.link, [Path("out").with_suffix(ENDINGS[command])]

    def late(draft, target):
        if there:
            there.pop().write_text("another's")
        link(draft, target)

    monkeypatch.setattr(os, "link", late)
    output = there[0]
    code, out, err = run(*COMMANDS[command], *LEDGER, "-o", output)
    assert (code, out, output.read_text()) == (1, "", "another's")
    [other] = hospital.glob(f"out-*{ENDINGS[command]}")
    assert f"which is charged, was saved as {other.name!r}" in err
    assert READERS[command](other)
    assert n_charges() == 1


_LIMITED = """
import resource, sys
from skdp.commands import main

resource.setrlimit(resource.RLIMIT_FSIZE, (16, resource.RLIM_INFINITY))
sys.exit(main(sys.argv[1:]))
"""


def limited(*argv):
    """Run a command in a process that can write no files but tiny ones."""
    environment = {**os.environ, "PYTHONPATH": str(Path(skdp.__file__).parents[1])}
    command = [sys.executable, "-c", _LIMITED, *argv]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@commands
def test_what_can_be_saved_nowhere_is_shown(hospital, command, shows_nothing_private):
    pytest.importorskip("resource", reason="sizes of files cannot be limited here")
    name = f"out{ENDINGS[command]}"
    argv = [*map(str, COMMANDS[command]), "-o", name]
    ended = limited(*argv)
    assert ended.returncode == 1
    assert f"--output {name!r} could not be written (File too large)" in ended.stderr
    assert not Path(name).exists()
    assert shows_nothing_private(ended.stdout, ended.stderr)
    content = ended.stdout.encode()
    Path(name).write_bytes(base64.b64decode(content) if command == "release" else content)
    assert READERS[command](name)
    # Where the account cannot be written, nothing is charged and nothing is shown.
    argv = [*argv[:-1], f"new-{name}", *map(str, LEDGER)]
    ended = limited(*argv)
    assert (ended.returncode, ended.stdout, n_charges()) == (1, "", 0)


def test_the_text_comes_after_the_file(hospital, run, monkeypatch):
    def fails(*_):
        raise RuntimeError

    monkeypatch.setattr("skdp.commands._release._result", fails)
    run(*COMMANDS["release"], *LEDGER, "-o", "out.skdp")
    assert Release.load("out.skdp").guarantee.epsilon == 4
