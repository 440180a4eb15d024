"""The runner of the benchmarks, their data, peers and pages, and what result files say."""

import gzip
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from skdp import DPStatisticsSource

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
RUN = {"command": "test", "commit": "abc1234", "versions": {}, "cores": 1}
HAS_GIT = shutil.which("git") is not None


@pytest.fixture
def load(monkeypatch):
    """Import benchmark modules, which are no package, and forget them afterwards."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(BENCHMARKS) in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


@pytest.fixture
def bench(load, tmp_path, monkeypatch):
    """The runner, which writes elsewhere."""
    module = load("_bench")
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(module, "circumstances", lambda: RUN)
    return module


def cells(*draws):
    return [[{"case": "a", "draw": draw, "model": model} for model in "xy"] for draw in draws]


def test_rows_that_are_there_are_not_made_again(bench, tmp_path):
    made = []

    def measure(group):
        made.append(group[0]["draw"])
        return [{**cell, "accuracy": 90.0 + cell["draw"]} for cell in group]

    assert bench.fill("table", cells(0, 1), measure) == 4
    assert bench.fill("table", cells(0, 1, 2), measure, {"labels": 3}) == 2
    assert made == [0, 1, 2]
    record = bench.read(tmp_path / "table.json")
    assert record["runs"] == [RUN]
    assert record["settings"] == {"labels": 3}
    assert [row["accuracy"] for row in record["rows"]] == [90, 90, 91, 91, 92, 92]
    assert {row["run"] for row in record["rows"]} == {0}
    assert bench.fill("table", cells(0), measure, again=True) == 2
    assert len(bench.read(tmp_path / "table.json")["rows"]) == 2


def test_interrupted_run_keeps_its_rows_and_names_the_commit_of_each(bench, tmp_path, monkeypatch):
    def measure(group, last):
        if group[0]["draw"] == last:
            raise KeyboardInterrupt
        return group

    with pytest.raises(KeyboardInterrupt):
        bench.fill("table", cells(0, 1), lambda group: measure(group, 1))
    monkeypatch.setattr(bench, "circumstances", lambda: {**RUN, "commit": "def5678"})
    bench.fill("table", cells(0, 1), lambda group: measure(group, 0))
    record = bench.read(tmp_path / "table.json")
    assert [run["commit"] for run in record["runs"]] == ["abc1234", "def5678"]
    assert [(row["draw"], row["run"]) for row in record["rows"]] == [
        (0, 0),
        (0, 0),
        (1, 1),
        (1, 1),
    ]


def test_failed_write_leaves_the_old_file(bench, tmp_path):
    bench.save("table", [{"case": "", "draw": 0, "accuracy": 1.0}], {"draws": 1})
    text = (tmp_path / "table.json").read_text()
    with pytest.raises(TypeError):
        bench.save("table", [{"case": "", "draw": 1, "accuracy": object()}], {})
    assert (tmp_path / "table.json").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["table.json"]


@pytest.mark.skipif(not HAS_GIT, reason="git is not installed")
def test_commit_says_where_code_differs_from_it(load, tmp_path, monkeypatch):
    bench = load("_bench")
    monkeypatch.setattr(bench, "HERE", tmp_path / "benchmarks")
    commit = bench.commit.__wrapped__
    assert commit() == "unknown"
    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    for path in (tmp_path / "code.py", results / "table.json"):
        path.write_text("1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "First"]):
        subprocess.run([*git, *arguments], check=True)
    head = commit()
    assert len(head) >= 7
    assert "dirty" not in head
    (results / "table.json").write_text("2")
    assert commit() == head
    (tmp_path / "code.py").write_text("2")
    assert commit() == f"{head}-dirty"


@pytest.fixture
def small_table(tmp_path, monkeypatch):
    """Forty rows, source women and target men, in the folder of the tables."""
    schema = {
        "label": "death",
        "columns": {
            "sex": {"type": "category", "categories": ["F", "M"]},
            "group": {"type": "category", "categories": ["a", "b", "c"]},
            "dose": {"type": "numeric", "low": 10, "high": 30, "missing": "17 %"},
            "count": {"type": "numeric", "low": 0, "high": 100, "log": True},
        },
        "source": "sex == 'F'",
        "labels_per_class": 2,
        "target_rows": 12,
        "note": "made up",
    }
    folder = tmp_path / "tabular"
    folder.mkdir()
    (folder / "schemas.json").write_text(json.dumps({"flchain": schema}))
    rows = [
        f"{'FM'[i % 2]},{'abc'[i % 3] if i % 5 else ''},{10 + i if i % 4 else ''},{2 * i},"
        f"{'dead' if i % 7 < 3 else 'alive'}"
        for i in range(40)
    ]
    with gzip.open(folder / "flchain.csv.gz", "wt") as file:
        file.write("\n".join(["sex,group,dose,count,death", *rows]) + "\n")
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))


@pytest.mark.usefixtures("small_table")
def test_methods_see_the_same_rows_in_their_own_columns(load):
    data, peers = load("_data"), load("_peers")
    views = {name: data.view(name, "flchain", 0) for name in data.VIEWS}
    encoded, centered, frame = (views[name] for name in ("encoded", "centered", "frame"))
    assert encoded.columns.tolist() == [1, 3, 3, 3, 0, 1, 0]
    assert not encoded.X[:, 0].any()  # the source's sex
    assert encoded.X_test[:, 0].all()
    np.testing.assert_array_equal(encoded.X[:, 6].argsort(), frame.X["count"].to_numpy().argsort())
    np.testing.assert_array_equal(centered.X, encoded.X - [0.5, 0, 0, 0, 0.5, 0.5, 0.5])
    assert views["terms"].X.shape == (20, 7 + 2 * 2)
    labeled = views["labeled"]
    np.testing.assert_array_equal(labeled.y, [0, 0, 1, 1])
    for rows in views.values():
        np.testing.assert_array_equal(rows.y_test, frame.y_test)
        assert len(rows.X_test) == len(rows.y_test) == 8
    table = data.table("flchain", 0)
    dead = table.target[table.test] == "dead"
    np.testing.assert_array_equal(frame.y_test, dead)
    assert peers.blocks(encoded.columns) == [
        (1, slice(0, 1)), (3, slice(1, 4)), (0, slice(4, 5)), (1, slice(5, 6)), (0, slice(6, 7)),
    ]  # fmt: skip
    unit = peers.unit_rows(np.vstack([encoded.X, encoded.X_test]), encoded.columns)
    assert np.linalg.norm(unit, axis=1).max() <= 1
    assert np.linalg.norm(unit, axis=1).max() > 0.9
    other = data.view("frame", "flchain", 1)
    assert not np.array_equal(other.X_test.index, frame.X_test.index)


def test_one_release_has_the_noise_of_all_owners(load):
    merged_and_whole = load("_fits").merged_and_whole
    given = []

    def make(part, epsilon):
        given.append((part, epsilon))
        X = np.random.default_rng(0).random((3000, 2))
        return DPStatisticsSource(epsilon, classes=[0, 1]).fit(X, X[:, 0] > 0.5).release_

    _, single, equal = merged_and_whole(make, 1.0, [0, 1, 2])
    assert given[:4] == [(0, 1.0), (1, 1.0), (2, 1.0), (None, 1.0)]
    own = single.guarantee.gaussian_distance
    assert equal.guarantee.gaussian_distance == pytest.approx(own / np.sqrt(3), 1e-3)


def test_regressions_of_numbers_find_a_line_in_many_rows(load):
    peers, rows = load("_peers"), load("_peers").Rows
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 3))
    y = np.clip(0.3 + 0.3 * X[:, 0] + 0.1 * X[:, 1] + rng.normal(scale=0.02, size=len(X)), 0, 1)
    some = rows(X[5000:], y[5000:], X[:5000], y[:5000], np.zeros(3))
    for name in ("AdaSSP", "BoostedAdaSSP", "TukeyEM", "ridge regression"):
        found = peers.NUMBERS[name].scores(some, 4.0, 0)
        assert 1 - np.mean((found - some.y_test) ** 2) / some.y_test.var() > 0.9, name
    few = rows(X[:40], y[:40], X[40:50], y[40:50], np.zeros(3))
    assert not peers.tukey_em(few, 0.5, 0).any()  # too few models to be sure of any


def test_rows_of_a_batch_add_up_to_the_gradient_of_its_partial_likelihood(load):
    rng = np.random.default_rng(0)
    Z, beta = rng.normal(size=(60, 3)), np.array([0.5, -1.0, 0.2])
    y = np.zeros(60, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(60) < 0.6, rng.permutation(60)

    def likelihood(beta):
        scores = Z @ beta
        there = y["time"] >= y["time"][y["event"]][:, np.newaxis]
        return scores[y["event"]].sum() - np.log(there @ np.exp(scores)).sum()

    found = load("_peers").partial_gradients(Z, y, beta).sum(axis=0)
    steps = 1e-5 * np.eye(3)
    numeric = [(likelihood(beta + s) - likelihood(beta - s)) / 2e-5 for s in steps]
    assert found == pytest.approx(np.array(numeric), rel=1e-6)


@pytest.mark.parametrize(
    "path", sorted((BENCHMARKS / "results").glob("*.json")), ids=lambda path: path.stem
)
def test_result_files_say_how_each_row_was_made_and_have_it_once(load, path):
    record = load("_bench").read(path)
    runs = {row.get("run", 0) for row in record["rows"]}
    assert runs == set(range(len(record["runs"])))
    if "run" in record["rows"][0]:  # a file that is filled, whose rows have keys
        keys = set(map(load("_bench").key_of, record["rows"]))
        assert len(keys) == len(record["rows"])


# Result files of several commits, or of one that is no commit of the history, and why they stay:
# to make them again takes hours, or other packages, whose code here is the same since.
MANY = {
    "defaults": "before and after the defaults changed",
    "descent": "only the order of cells differs",
    "neural": "three runs of networks, 2.6 hours",
    "numbers": "peers of other environments",
    "synthetic": "peers of other environments",
    "tables_peers": "peers of other environments",
    "times": "peers of other environments",
    **dict.fromkeys(
        (
            f"transfer_{t}"
            for t in ("activity", "mnist_mnist", "mnist_usps", "office", "usps_mnist")
        ),
        "the papers' strategies, 16 hours",
    ),
}
UNKNOWN = {
    "numbers": {"2543cf7", "82939bf", "9ecb0ca"},
    "release_audit": {"e6d55ab-dirty"},  # half an hour of 60,000 fits
    "transfer_mnist_mnist": {"63d360f-dirty"},
    "transfer_mnist_usps": {"63d360f-dirty"},
    "transfer_usps_mnist": {"63d360f-dirty"},
}


@pytest.mark.skipif(not HAS_GIT, reason="git is not installed")
def test_result_files_were_made_by_one_commit_of_the_history(load):
    git = ["git", "-C", str(BENCHMARKS), "rev-list", "HEAD"]
    done = subprocess.run(git, check=False, capture_output=True, text=True)
    history = done.stdout.split()
    if len(history) < 100:
        pytest.skip("the history is not here")
    many, unknown = set(), {}
    for path in (BENCHMARKS / "results").glob("*.json"):
        commits = {run["commit"] for run in load("_bench").read(path)["runs"]}
        many |= {path.stem} if len(commits) > 1 else set()
        strange = {c for c in commits if not any(known.startswith(c) for known in history)}
        unknown |= {path.stem: strange} if strange else {}
    assert many == set(MANY)
    assert unknown == UNKNOWN


def test_pages_are_what_the_results_say(load):
    for path, text in load("tables").pages().items():
        assert path.read_text() == text, f"python benchmarks/tables.py would change {path.name}"


# Numbers of all tables and figures of the papers.
TABLES = {
    "Kumar and Moser": [str(n) for n in range(1, 16)],
    "SERUMS D3.3 (2022)": [f"1.{n}" for n in range(1, 17)],
    "SERUMS D3.1 (2019)": [f"4.{n}" for n in range(1, 5)],
    "Phan et al. (2017)": [],
    "Phan, Wu and Dou (2017)": [],
}
FIGURES = {
    "Kumar and Moser": [str(n) for n in range(1, 10)],
    "SERUMS D3.3 (2022)": [*(f"1.{n}" for n in range(1, 7)), "3.1", "3.2"],
    "SERUMS D3.1 (2019)": ["2.1", "2.2", *(f"4.{n}" for n in range(1, 5))],
    "Phan et al. (2017)": [str(n) for n in range(1, 6)],
    "Phan, Wu and Dou (2017)": [str(n) for n in range(1, 7)],
}


@pytest.mark.parametrize("paper", TABLES)
def test_each_table_and_figure_of_the_papers_has_a_row(paper):
    page = (BENCHMARKS.parent / "doc" / "benchmarks" / "papers.md").read_text()
    (section,) = (part for part in page.split("\n## ") if part.startswith(f"{paper}\n"))
    places = " ".join(re.findall(r"^\| (.*?) \|", section, flags=re.MULTILINE))
    for word, numbers in (("Tables?", TABLES[paper]), (r"Figs?\.", FIGURES[paper])):
        assert {*re.findall(rf"{word} ([\d.]*\d)", places)} == {*numbers}


@pytest.fixture
def papers(load, tmp_path, monkeypatch):
    """Fill in the braces of a text from the rows of some result files."""
    monkeypatch.setattr(load("_table"), "RESULTS", tmp_path)

    def made(text, **files):
        for name, rows in files.items():
            load("_bench").write(tmp_path / f"{name}.json", {"runs": [RUN], "rows": rows})
        return load("tables").written(text).split("\n\nThe results")[0]

    return made


def test_figures_of_papers_are_bold_where_they_are_missed(papers):
    rows = [{"model": "a, b", "level": level, "scores": [0.5, level]} for level in (0.1, 0.3)]
    cell = "{some: model=a, b; level=0.1 or 0.3 -> scores[1]:.1p ± >= %s}"
    assert papers(cell % 20.5, some=rows) == "**20.0 ± 14.1** (2)"
    assert papers(cell % 20, some=rows) == "20.0 ± 14.1 (2)"
    text = "{some: level=0.3 -> <scores[0]:.0p> of <scores[1]:.0p> %}, {other: a=1 -> b}"
    assert papers(text, some=rows) == "50 of 30 %, not measured yet"
    assert papers("{some: level=2 -> scores[0]}", some=rows) == "not measured yet"
