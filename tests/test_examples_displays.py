"""The examples that draw with displays run on embedded data, and show what their text says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
EXAMPLES = Path(__file__).parents[1] / "examples"


def lines_of(folder, name, *pictures, draws=1):
    """Run an example, which writes pictures, and return what it prints."""
    run = subprocess.run(
        [sys.executable, EXAMPLES / name, "--draws", str(draws)],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg", "SKDP_DATA": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    for picture in pictures:
        assert (folder / f"{picture}.png").stat().st_size > 10_000
    return run.stdout.splitlines()


def test_a_plan_is_near_what_is_reached(tmp_path):
    lines = lines_of(tmp_path, "privacy/plot_choosing_epsilon.py", "choosing_epsilon")
    rows = [[float(cell) for cell in line.split()[2:5]] for line in lines[-8:]]
    assert [row[0] for row in rows] == [0.1, 0.3, 1.0, 3.0] * 2
    for epsilon, planned, reached in rows:
        if epsilon >= 1:
            assert abs(planned - reached) < 0.08  # one draw of each
            assert reached > 0.75


def test_a_ledger_refuses_and_few_releases_are_worth_more(tmp_path):
    pictures = "budget_over_a_year", "one_release_or_twelve"
    lines = lines_of(tmp_path, "privacy/plot_budget_over_a_year.py", *pictures, draws=3)
    assert lines[0].startswith("2026-09-10, another study: This release would bring epsilon to")
    single, together = (float(word.rstrip(",")) for word in lines[1].split()[5::2])
    assert (single, together < 1.5) == (2.5, True)
    epsilons = [float(line.split(" = ")[1].split()[0]) for line in lines[2:]]
    areas = [float(line.split("AUC ")[1].split()[0]) for line in lines[2:]]
    assert epsilons[0] == 2.0
    assert epsilons[1] > 2.0 / 4  # better than dividing by the number of releases
    assert areas[0] > areas[3] + 0.01


def test_explanations(tmp_path):
    pictures = "explanation_of_one", "explanation_of_many", "explanation_and_noise"
    lines = lines_of(tmp_path, "tables/plot_explanations.py", *pictures, draws=2)
    assert "probability 0." in lines[0]
    importances = {line.split()[0]: float(line.split()[1]) for line in lines[-8:]}
    assert importances["cp"] > importances["trestbps"]


def test_shapes_of_an_additive_model(tmp_path):
    pictures = "additive_shapes", "additive_shape_of_age", "additive_or_linear"
    lines = lines_of(tmp_path, "tables/plot_additive_shapes.py", *pictures, draws=2)
    spread, width = (float(line.strip(";")) for line in lines[0].split() if line[0].isdigit())
    assert width > 1 > 2 * spread
    areas = [float(line.split()[-2]) for line in lines[2:8]]
    assert min(areas) > 0.85
    assert areas[2] > areas[5] - 0.005  # additive and linear at ε = 4


def test_frequencies_and_costs(tmp_path):
    pictures = "frequencies", "costs"
    lines = lines_of(tmp_path, "tables/plot_frequencies_and_costs.py", *pictures, draws=2)
    as_it_is, known, labels = (float(line.split(" ± ")[1].split()[-1]) for line in lines[1:4])
    assert known < as_it_is - 0.08
    assert labels < as_it_is - 0.03
    cost = {line[:36].strip(): float(line[36:].split()[0]) for line in lines[4:11]}
    for name in ("release as it is", "frequency known", "40 labels"):
        assert cost[f"{name}, by costs"] < cost[f"{name}, likeliest class"]
    assert cost["frequency known, by costs"] < cost["'more' of everybody"] - 5
