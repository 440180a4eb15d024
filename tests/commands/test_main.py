import importlib.metadata
import io
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import skdp
from skdp import DPStatisticsSource, Release
from skdp.commands import _describe, _predict, _schema, main
from skdp.commands._main import _COMMANDS
from skdp.privacy import PrivacyLedger


@pytest.fixture(scope="module", autouse=True)
def one_parser():
    """Tests here replace what commands run, which a parser remembers: each makes its own."""


COMMANDS = ("schema", "check", "release", "describe", "predict")


def test_help_lists_the_commands_and_exit_codes(run):
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert all(f"\n    {command} " in out for command in COMMANDS)
    assert "exit codes: 0 done; 1 refused or failed" in out
    assert "example:" in out


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(done, command):
    out, _ = done(command, "--help")
    assert f"example:\n  skdp {command} " in out


@pytest.mark.parametrize("command", ["", *(command.NAME for command in _COMMANDS)])
def test_help_fits_a_screen(done, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out, _ = done(*filter(None, [command]), "--help")
    assert len(out.splitlines()) <= 40


def test_version(run):
    assert run("--version") == (0, f"skdp {skdp.__version__}\n", "")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("what and the remedy"), "error: what and the remedy\n"),
        (OSError(28, "No space left", "x.skdp"), "error: 'x.skdp': No space left\n"),
        (TimeoutError("held by another process"), "error: held by another process\n"),
        (KeyboardInterrupt(), "error: interrupted\n"),
        (KeyError("Zaphod"), "unexpected failure (KeyError). Details could quote rows"),
        (MemoryError("Zaphod"), "unexpected failure (MemoryError). Details could quote rows"),
    ],
)
def test_faults_are_one_line_and_exit_code_1(run, monkeypatch, error, message):
    def fails(arguments, note):
        raise error

    monkeypatch.setattr(_describe, "run", fails)
    code, out, err = run("describe", "x.skdp")
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert "Zaphod" not in err


def test_warnings_are_one_line_and_those_for_programmers_none(run, monkeypatch):
    def warns(arguments, note):
        warnings.warn("mind this", UserWarning, stacklevel=1)
        warnings.warn("of NumPy", RuntimeWarning, stacklevel=1)
        return "done"

    monkeypatch.setattr(_describe, "run", warns)
    assert run("describe", "x.skdp") == (0, "done\n", "skdp: warning: mind this\n")


def test_control_characters_have_no_effect(run, done, monkeypatch):
    def says(arguments, note):
        note("a\x07b")
        return "first\nsecond\x1b[2J\r"

    monkeypatch.setattr(_describe, "run", says)
    out, err = done("describe", "x.skdp")
    assert out == "first\nsecond\\x1b[2J\\r\n"
    assert err == "skdp: a\\x07b\n"


def test_a_screen_without_the_letters_gets_escapes(monkeypatch):
    monkeypatch.setattr(_describe, "run", lambda arguments, note: "köln")
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    assert main(["describe", "x.skdp"]) == 0
    assert screen.buffer.getvalue() == b"k\\xf6ln\n"


def _broken(kind):
    """Return a stream that nothing can be written to."""
    if kind == "never opened":
        return None
    if kind == "full":
        if not Path("/dev/full").exists():
            pytest.skip("there is no /dev/full")
        return open("/dev/full", "w")
    if kind == "closed":
        stream = io.StringIO()
        stream.close()
        return stream
    read, write = os.pipe()
    os.close(read)
    return os.fdopen(write, "w")


@pytest.mark.parametrize("kind", ["never opened", "full", "closed", "a pipe nobody reads"])
@pytest.mark.parametrize("both", [False, True])
def test_once_a_file_is_written_nothing_returns_1(
    folder, run, release_command, monkeypatch, capsys, kind, both
):
    """And a command that writes no file, but to stdout alone, has failed then."""
    limits = ("--ledger", "budget.json", "--budget-epsilon", 9, "--budget-delta", 1e-4)
    commands = {
        "drawn.json": ("schema", "draft.csv", "--public", "-o", "drawn.json"),
        "hospital.skdp": (*release_command, *limits),
        "p.csv": ("predict", "hospital.skdp", "target.csv", "-o", "p.csv"),
        None: ("describe", "hospital.skdp"),
    }
    for output, command in commands.items():
        with monkeypatch.context() as patch:
            streams = [_broken(kind) for _ in range(1 + both)]
            for name, stream in zip(("stdout", "stderr"), streams, strict=False):
                patch.setattr(sys, name, stream)
            code = main([str(argument) for argument in command])
            for stream in filter(None, streams):
                stream.close()
        assert code == (output is None)
        assert output is None or Path(output).stat().st_size > 0
    if not both:  # and a reader that leaves, as head does, is told nothing
        said = "could not be written to stdout, which is closed or full" in capsys.readouterr().err
        assert said == (kind != "a pipe nobody reads")


# Processes that end as one does that was started, but have imported the package already.
_FORKS = """
import os, sys
from skdp.commands import main

streams = (("a.json", 1, "/dev/full"), ("b.json", 2, "/dev/full"), ("c.json", 1, ""))
for name, number, path in streams:
    child = os.fork()
    if not child:
        read, write = os.pipe()  # that nobody reads
        os.close(read)
        os.dup2(os.open(path, os.O_WRONLY) if path else write, number)
        sys.exit(main(["schema", "draft.csv", "--public", "-o", name]))
    print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def _environment():
    """Where the package is not installed, a process elsewhere has to be told where it is."""
    path = {"PYTHONPATH": str(Path(skdp.__file__).parents[1])}
    return {**os.environ, **path, "PYTHONUNBUFFERED": ""}  # without a buffer nothing is left in it


def test_processes_that_cannot_write_end_with_their_own_code(folder):
    """Not with 120, which Python returns where a buffer is left that cannot be written."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    command = [sys.executable, "-c", _FORKS]
    run = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=True)
    ended = [line for line in run.stdout.splitlines() if line.startswith("ended")]
    assert ended == 3 * ["ended with 0"]
    assert all(Path(f"{name}.json").exists() for name in "abc")


def test_python_m_skdp_is_the_command(tmp_path):
    command = [sys.executable, "-m", "skdp", "describe", "none.skdp"]
    result = subprocess.run(
        command, cwd=tmp_path, env=_environment(), capture_output=True, text=True
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == "skdp: error: 'none.skdp': No such file or directory\n"


def test_the_installed_command_is_main():
    scripts = importlib.metadata.entry_points(group="console_scripts", name="skdp")
    if not scripts:
        pytest.skip("skdp is not installed with its command")
    [script] = scripts
    assert script.load() is main


@pytest.mark.parametrize("output", ["drawn.json", "hospital.skdp", "p.csv"])
def test_a_file_that_appears_meanwhile_is_left_as_it_is(
    folder, run, done, release_command, monkeypatch, output
):
    """Unless --force allows to replace it; and a release that is charged is not lost."""
    run(*release_command)
    Path("hospital.skdp").rename("source.skdp")
    limits = ("--ledger", "budget.json", "--budget-epsilon", 9, "--budget-delta", 1e-4)
    module, name, command = {
        "drawn.json": (_schema, "drafted", ("schema", "draft.csv", "--public", "-o", output)),
        "hospital.skdp": (DPStatisticsSource, "fit", (*release_command, *limits)),
        "p.csv": (_predict, "write_table", ("predict", "source.skdp", "target.csv", "-o", output)),
    }[output]
    original = getattr(module, name)

    def meanwhile(*args, **settings):
        Path(output).write_text("of somebody else")
        return original(*args, **settings)

    monkeypatch.setattr(module, name, meanwhile)
    code, out, err = run(*command)
    assert (code, out) == (1, "")
    assert Path(output).read_text() == "of somebody else"
    saved = list(folder.glob("hospital-*.skdp"))
    assert len(saved) == (output == "hospital.skdp")
    if saved:
        assert f"saved as '{saved[0].name}'" in err
        [(_, guarantee)] = PrivacyLedger.open("budget.json").entries
        assert Release.load(saved[0]).guarantee == guarantee
    else:
        assert f"{output}': There is such a file already" in err
    done(*command, "--force")
    assert Path(output).read_bytes() != b"of somebody else"
    assert not list(folder.glob(".*"))


def test_permissions_of_what_is_written(folder, run, release_command):
    previous = os.umask(0o022)
    try:
        commands = {
            "drawn.json": ("schema", "draft.csv", "--public", "-o", "drawn.json"),
            "hospital.skdp": release_command,
            "p.csv": ("predict", "hospital.skdp", "target.csv", "-o", "p.csv"),
        }
        for output, command in commands.items():
            assert run(*command)[0] == 0
            mode = stat.S_IMODE(Path(output).stat().st_mode)
            assert mode == (0o600 if output == "p.csv" else 0o644)
            Path(output).chmod(0o640)
            assert run(*command, "--force")[0] == 0
            assert stat.S_IMODE(Path(output).stat().st_mode) == 0o640
    finally:
        os.umask(previous)


def test_what_is_typed_reaches_no_terminal_as_an_escape(run):
    for arguments in (["describe", "a", "--\x1b[31m"], ["\x1b[31m"], ["describe", "\x1b]0;x"]):
        code, out, err = run(*arguments)
        assert code > 0
        assert "\x1b" not in out + err
