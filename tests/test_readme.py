from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

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


def test_records_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKDP_DATA", raising=False)
    code, *_ = blocks("python")
    names: dict = {}
    exec(code, names)
    summary = capsys.readouterr().out
    assert "(1, 1e-05)-differential privacy per labelled record" in summary
    adult, probabilities = names["adult"], names["probabilities"]
    assert sum(label is not None for label in names["known"]) == 20
    earns_more = names["y"][adult.test] == names["model"].classes_[1]
    assert roc_auc_score(earns_more, probabilities[:, 1]) > 0.88
    # Calibrated, where probabilities are small, middling and large.
    for rows in np.array_split(np.argsort(probabilities[:, 1]), 3):
        assert abs(probabilities[rows, 1].mean() - earns_more[rows].mean()) < 0.08


def test_pipeline_example_runs(capsys):
    _, code, _ = blocks("python")
    exec(code, {})
    accuracy, guarantee = capsys.readouterr().out.split("\n", maxsplit=1)
    assert float(accuracy) > 0.8
    assert guarantee.startswith("(4, 0)-differential privacy per element")


def test_participants_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    *_, code = blocks("python")
    exec(code, {})
    assert "of participant 'hospital" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"])
def test_project_files_exist(name):
    assert (ROOT / name).read_text().strip()
