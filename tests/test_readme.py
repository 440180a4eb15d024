import json
import re
from pathlib import Path
from textwrap import dedent

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.metrics import log_loss, roc_auc_score

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


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKDP_DATA", raising=False)
    (code,) = blocks("python")
    names: dict = {}
    exec(code, names)
    assert "(4, 1e-05)-differential privacy per labeled record" in capsys.readouterr().out
    assert_array_equal(names["model"].classes_, [0, 1])
    hidden = names["known"] == -1
    assert 20 < (~hidden).sum() < 40
    ill, probabilities = (
        names["y"][hidden] == 1,
        names["model"].predict_proba(names["X"][hidden])[:, 1],
    )
    # With 25 noises: from .884 to .895, and from .42 to .46.
    assert roc_auc_score(ill, probabilities) > 0.85
    assert log_loss(ill, probabilities) < 0.5


def test_figures_are_those_of_the_results():
    record = json.loads((ROOT / "benchmarks/results/hospitals.json").read_text())
    rows = [dict(zip(record["columns"], row, strict=True)) for row in record["rows"]]
    text = (ROOT / "README.md").read_text()
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
