import json
import re
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import log_loss, roc_auc_score

from skdp import Schema
from skdp.datasets import load_heart_disease

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
    assert "(4, 1e-05)-differential privacy per labeled record" in summary
    probabilities, hidden = names["probabilities"], names["own"][30:]
    assert (names["known"] >= 0).sum() == 30
    assert_array_equal(names["model"].classes_, [0, 1])
    ill = names["y"][hidden] == 1
    # With 25 noises: from .901 to .909, from .388 to .400, and off by .02 at most.
    assert roc_auc_score(ill, probabilities[:, 1]) > 0.88
    assert log_loss(ill, probabilities) < 0.44
    assert abs(probabilities[:, 1].mean() - ill.mean()) < 0.05


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
    rules = re.findall(r"([\d.]+): if a row is like (.*), then", capsys.readouterr().out)[:2]
    # Of 27 runs with other noise, at least .993.
    assert sum(float(share) for share, _ in rules) > 0.8
    expected = {f"class 8 of participant 'hospital {name}'" for name in "AB"}
    assert {premise for _, premise in rules} == expected
    assert f"if a row is like {max(expected)}, then it is of class 8" in code


def test_the_schema_can_be_pasted():
    (text,) = blocks("text")
    schema = Schema.from_json(text.replace(", ...", ""))
    described = load_heart_disease().schema
    assert schema.names == ("age", "chol", "thal")
    assert set(schema.names) < set(described["columns"])
    assert list(schema.classes) == described["classes"]


@pytest.mark.parametrize("page", ["README.md", "doc/quickstart.rst"])
def test_figures_of_the_quickstart_are_those_of_the_results(page):
    record = json.loads((ROOT / "benchmarks/results/hospitals.json").read_text())
    rows = [dict(zip(record["columns"], row, strict=True)) for row in record["rows"]]
    text = (ROOT / page).read_text()
    for model in {row["model"] for row in rows}:
        for measure in ("auc", "log_loss"):
            values = [row[measure] for row in rows if row["model"] == model]
            figure = f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}".replace("0.", ".")
            assert figure in text, (model, measure, figure)


def test_links_lead_to_files():
    for link in re.findall(r"\]\(([^)]*)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link


def test_the_front_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "doc" / "index.rst").read_text()
    code = dedent(page.split(".. code-block:: python\n")[1].split("\n.. ")[0])
    heart = load_heart_disease()
    own, others = (np.flatnonzero(heart.hospital == h) for h in ("Cleveland", "Budapest"))
    Path("schema.json").write_text(json.dumps(heart.schema))
    labels = heart.target[others].astype(object)
    labels[np.arange(len(others)) % 10 > 0] = None
    names = {
        "records": heart.data.iloc[own],
        "diagnoses": heart.target[own],
        "patients": heart.data.iloc[others],
        "known_diagnoses": labels,
    }
    exec(code, names)
    assert roc_auc_score(heart.target[others], names["probabilities"][:, 1]) > 0.8
