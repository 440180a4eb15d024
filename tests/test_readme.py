from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(language):
    parts = (ROOT / "README.md").read_text().split(f"```{language}\n")[1:]
    return [part.split("```")[0] for part in parts]


def test_ci_runs_exactly_the_test_command():
    _, command = blocks("sh")
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == command.strip()


def test_first_command_names_a_file_that_exists():
    command, _ = blocks("sh")
    assert (ROOT / command.split()[-1]).is_file()


def test_transfer_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, _, _ = blocks("python")
    exec(code, {})
    accuracy, summary = capsys.readouterr().out.split("\n", maxsplit=1)
    assert float(accuracy) > 0.6
    assert summary.startswith("Release of a private source: 10 classes")
    assert "(8, 0)-differential privacy per element" in summary


def test_pipeline_example_runs(capsys):
    _, code, _ = blocks("python")
    exec(code, {})
    accuracy, guarantee = capsys.readouterr().out.split("\n", maxsplit=1)
    assert float(accuracy) > 0.8
    assert guarantee.startswith("(4, 0)-differential privacy per element")


def test_participants_example_runs(tmp_path, monkeypatch, capsys, digits):
    monkeypatch.chdir(tmp_path)
    X, y = digits
    _, _, code = blocks("python")
    names = {"X": X, "y": y, "x": X[0], "files": ["hospital-a.model"]}
    exec("from skdp import DeepFuzzyClassifier, OptimalDPNoise\n" + code, names)
    assert "of participant 'hospital A'" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"])
def test_project_files_exist(name):
    assert (ROOT / name).read_text().strip()
