import importlib.metadata
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import skdp
from skdp.commands import _describe, main

COMMANDS = ("schema", "release", "describe", "predict")


def test_help_lists_the_commands_and_exit_codes(run):
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert all(f"\n    {command} " in out for command in COMMANDS)
    assert "exit codes: 0 done; 1 refused or failed" in out
    assert "example:" in out


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"example:\n  skdp {command} " in out


def test_version(run):
    assert run("--version") == (0, f"skdp {skdp.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["publish"], "invalid choice: 'publish'"),
        (["describe"], "the following arguments are required: RELEASE"),
        (["describe", "x.skdp", "--jsn"], "unrecognized arguments: --jsn"),
        (["describe", "x.skdp", "--js"], "unrecognized arguments: --js"),
    ],
)
def test_what_is_not_understood_has_exit_code_2(run, arguments, message):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert message in err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("what and the remedy"), "error: what and the remedy\n"),
        (OSError(28, "No space left", "x.skdp"), "error: 'x.skdp': No space left\n"),
        (TimeoutError("held by another process"), "error: held by another process\n"),
        (KeyboardInterrupt(), "error: interrupted\n"),
        (KeyError("Zaphod"), "not foreseen (KeyError). Details are not shown"),
        (MemoryError("Zaphod"), "not foreseen (MemoryError). Details are not shown"),
    ],
)
def test_faults_are_one_line_and_exit_code_1(run, monkeypatch, error, message):
    def fails(arguments):
        raise error

    monkeypatch.setattr(_describe, "run", fails)
    code, out, err = run("describe", "x.skdp")
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert "Zaphod" not in err


def test_warnings_are_one_line_and_those_for_programmers_none(run, monkeypatch):
    def warns(arguments):
        warnings.warn("mind this", UserWarning, stacklevel=1)
        warnings.warn("of NumPy", RuntimeWarning, stacklevel=1)

    monkeypatch.setattr(_describe, "run", warns)
    assert run("describe", "x.skdp") == (0, "", "skdp: warning: mind this\n")


def test_python_m_skdp_is_the_command(tmp_path):
    command = [sys.executable, "-m", "skdp", "describe", "none.skdp"]
    # Where the package is not installed, a process elsewhere has to be told where it is.
    env = {**os.environ, "PYTHONPATH": str(Path(skdp.__file__).parents[1])}
    result = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == "skdp: error: 'none.skdp': No such file or directory\n"


def test_the_installed_command_is_main():
    scripts = importlib.metadata.entry_points(group="console_scripts", name="skdp")
    if not scripts:
        pytest.skip("skdp is not installed with its command")
    [script] = scripts
    assert script.load() is main
