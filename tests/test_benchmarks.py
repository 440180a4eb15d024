"""The runner of the transfer benchmarks, with a stub for data and models; no benchmark runs."""

import gzip
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
RUN = {"command": "test", "commit": "abc1234", "versions": {}, "cores": 1}
TABLE = "usps-mnist"

pytest.importorskip("fcntl", reason="result files are locked by flock, which is not here")


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
def open_results(load, tmp_path):
    def make():
        results = load("_store").Results("table", "python complete.py", tmp_path)
        results.run = RUN
        return results

    return make


class Stub:
    """Data and sources that only count how often they were asked for."""

    def __init__(self, stop_after=np.inf):
        self.sources, self.fits, self.tasks = [], [], 0
        self.stop_after = stop_after

    def task(self, table, case):
        self.tasks += 1
        return lambda draw: ("rows", draw), lambda draw, labels, choice=None: (draw, labels, 0, 0)

    def make(self, table, level, rows, settings):
        self.sources.append((level, rows[1], settings))
        return self

    settings, seconds = {"delta": 1e-5}, 1.0

    def score(self, X, y):
        return 50.0

    def transfer(self, data, **fit):
        if len(self.fits) == self.stop_after:
            raise KeyboardInterrupt
        self.fits.append((data[0], data[1], fit))
        return {"accuracy": 90.0 + len(self.fits), "fit_seconds": 2.0}


@pytest.fixture
def run(load, open_results):
    def run(stub, redo=False, **only):
        cells = load("_plan").wanted(TABLE, **only)
        module = load("bench_transfer")
        made = module.run(TABLE, cells, open_results(), stub.task, stub.make, redo)
        return made, len(cells)

    return run


def test_plan_has_each_row_once_and_refuses_what_it_has_not(load):
    plan, store = load("_plan"), load("_store")
    for table in plan.PLAN:
        rows = plan.wanted(table)
        keys = set(map(store.key_of, rows))
        assert len(keys) == len(rows)
        found = load("_table").load(plan.file_of(table))["rows"]
        assert keys == {store.key_of(row) for row in found if row["model"] != plan.ALONE}
    some = plan.wanted(TABLE, models=["alignment"], levels=["8"], draws=2)
    assert {(r["model"], r["level"]) for r in some} == {("alignment", "8")}
    assert sorted(r["draw"] for r in some) == [0, 1]
    with pytest.raises(ValueError, match="levels of usps-mnist"):
        plan.wanted(TABLE, levels=["3"])
    with pytest.raises(ValueError, match="draws of these rows"):
        plan.wanted(TABLE, levels=["8"], draws=7)


def test_rows_that_are_there_are_not_computed_again(run, tmp_path):
    first, again = Stub(), Stub()
    made, wanted = run(first, levels=["-", "8"], draws=2)
    assert made == wanted == len(first.fits)
    text = (tmp_path / "table.json").read_text()
    assert run(again, levels=["-", "8"], draws=2) == (0, wanted)
    assert again.tasks == len(again.sources) == len(again.fits) == 0
    assert (tmp_path / "table.json").read_text() == text


def test_one_source_serves_the_missing_strategies_of_a_draw(run):
    stub = Stub()
    run(stub, levels=["8"], draws=1, models=["alignment"])
    assert stub.sources == [("8", 0, {"parts": "papers", "n_layers": 1})]
    stub = Stub()
    run(stub, levels=["8"], draws=2)
    assert stub.sources == [("8", draw, {"parts": "all", "n_layers": 1}) for draw in (0, 1)]
    assert [fit["strategy"] for draw, _, fit in stub.fits if draw == 0] == [
        "noise_aware",
        "multitask",
    ]
    stub = Stub()
    run(stub, levels=["record 8"], draws=1, models=["DP-SGD"])
    assert stub.sources == [("record 8", 0, {"epochs": 15})]


def test_one_source_serves_all_numbers_of_labels_and_five_layers_another(run):
    stub = Stub()
    run(stub, levels=["0.1"], draws=1, models=["noise_aware"], variants=["default"])
    assert len(stub.sources) == 1
    assert sorted(labels for _, labels, _ in stub.fits) == [10, 20, 30, 40, 50]
    stub = Stub()
    run(stub, levels=["1"], draws=1, labels=["10"])
    assert [settings["n_layers"] for *_, settings in stub.sources] == [1, 5]
    assert [fit.get("n_folds") for *_, fit in stub.fits] == [None, None, None, 4]


def test_interrupted_run_keeps_its_rows_and_continues(run, load, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(Stub(stop_after=3), levels=["8"], draws=2)
    rows = load("_store").read(tmp_path / "table.json")["rows"]
    assert [row["accuracy"] for row in rows if row["model"] != "source alone"] == [91, 92, 93]
    made, wanted = run(Stub(), levels=["8"], draws=2)
    assert made == wanted - 3


@pytest.mark.parametrize("redo", [False, True])
def test_rows_say_how_they_were_made(run, load, tmp_path, redo):
    for _ in range(2):
        run(Stub(), levels=["8"], draws=1, models=["alignment"], redo=redo)
    record = load("_store").read(tmp_path / "table.json")
    alone, row = record["rows"]
    assert record["command"] == "python complete.py"
    assert record["runs"] == [RUN]
    assert alone["model"] == "source alone"
    assert alone["accuracy"] == 50.0
    assert row["commit"] == alone["commit"] == RUN["commit"]
    assert row["run"] == 0
    assert row["source"] == Stub.settings
    assert row["settings"] == {"strategy": "alignment", "random_state": 0}


def test_failed_write_leaves_the_old_file(open_results, tmp_path):
    results = open_results()
    results.add({"case": "", "draw": 0, "accuracy": 1.0})
    text = (tmp_path / "table.json").read_text()
    with pytest.raises(TypeError):
        results.add({"case": "", "draw": 1, "accuracy": object()})
    assert (tmp_path / "table.json").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["table.json"]


def test_writer_waits_for_the_lock(load, open_results, tmp_path):
    results = open_results()
    row = {"case": "", "draw": 0, "accuracy": 1.0}
    writer = threading.Thread(target=results.add, args=[row])
    with load("_store").locked(tmp_path):
        writer.start()
        writer.join(0.1)
        assert writer.is_alive()
        assert not (tmp_path / "table.json").exists()
    writer.join(10)
    assert (tmp_path / "table.json").exists()


def test_processes_that_fill_one_file_lose_no_row(load, tmp_path):
    code = f"""if True:
        import sys, pathlib, _store
        results = _store.Results("table", "", pathlib.Path({str(tmp_path)!r}))
        results.run = {RUN!r}
        for draw in range(20):
            results.add({{"case": sys.argv[1], "draw": draw}})
            results.add({{"case": "both", "draw": draw}})
    """
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS), "PYTHONDONTWRITEBYTECODE": "1"}
    writers = [
        subprocess.Popen([sys.executable, "-c", code, name], env=environment) for name in "ab"
    ]
    assert [writer.wait(30) for writer in writers] == [0, 0]
    rows = load("_store").read(tmp_path / "table.json")["rows"]
    assert sorted((row["case"], row["draw"]) for row in rows) == [
        (case, draw) for case in ("a", "b", "both") for draw in range(20)
    ]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_commit_says_where_code_differs_from_it(load, tmp_path, monkeypatch):
    store = load("_store")
    monkeypatch.setattr(store, "HERE", tmp_path / "benchmarks")
    commit = store.commit.__wrapped__
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
    data, peers = load("_tables_data"), load("_tables_peers")
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
    dead = data.scenario("flchain", 0).target[data.scenario("flchain", 0).test] == "dead"
    np.testing.assert_array_equal(frame.y_test, dead)
    assert peers.blocks(encoded.columns) == [
        (1, slice(0, 1)), (3, slice(1, 4)), (0, slice(4, 5)), (1, slice(5, 6)), (0, slice(6, 7)),
    ]  # fmt: skip
    unit = peers.unit_rows(np.vstack([encoded.X, encoded.X_test]), encoded.columns)
    assert np.linalg.norm(unit, axis=1).max() <= 1
    assert np.linalg.norm(unit, axis=1).max() > 0.9
    other = data.view("frame", "flchain", 1)
    assert not np.array_equal(other.X_test.index, frame.X_test.index)


def test_rows_survive_the_way_to_a_peer(load, tmp_path):
    peers = load("_tables_peers")
    arrays = [np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]), np.ones((1, 2)), np.array([1])]
    for columns in (None, np.array([0, 1])):
        rows = peers.Rows(*arrays, columns)
        rows.save(tmp_path / "rows.npz")
        again = peers.Rows.load(tmp_path / "rows.npz")
        assert vars(again).keys() == vars(rows).keys()
        for name, value in vars(rows).items():
            np.testing.assert_array_equal(getattr(again, name), value)


def test_qualities_of_probabilities(load):
    found = load("_tables_data").probability_qualities(
        np.array([False, True, True, True]), np.array([1 / 4, 3 / 4, 3 / 4, 1 / 4])
    )
    assert found["auc"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert found["balanced_accuracy"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["log_loss"] == pytest.approx(-(3 * np.log(3 / 4) + np.log(1 / 4)) / 4)
    assert found["brier"] == pytest.approx((3 / 16 + 9 / 16) / 4)
    assert found["calibration"] == pytest.approx((abs(1 / 2 - 1) + abs(3 / 2 - 2)) / 4)
    constant = load("_tables_data").calibration_error(np.arange(100) % 4 == 0, np.full(100, 0.3))
    assert constant == pytest.approx(0.05)  # one bin


def test_patients_are_those_of_flamby(load):
    data = load("_merging_data")
    sizes = {
        name: (len(rows.y), len(rows.y_test))
        for name in data.HOSPITALS
        for rows in [data.federation(f"heart, {name}", "others", 0)]
    }
    assert [*sizes.values()] == [(199, 104), (172, 89), (30, 16), (85, 45)]
    rows = data.federation("heart, Cleveland", "all", 0)
    assert [len(y) for _, y in rows.owners.values()] == [199, 172, 30, 85]
    assert len(data.federation("heart, Cleveland", "others", 0).owners) == 3


@pytest.mark.filterwarnings("ignore:This release may tell")
def test_one_release_has_the_noise_of_all_owners(load, monkeypatch):
    bench, data = load("bench_merging"), load("_merging_data")
    rows = data.federation("heart, Budapest", "others", 0)
    releases = [bench.make_release(rows, *owner, 1.0) for owner in rows.owners.values()]
    found = bench.of_all_rows(rows, 1.0, releases)
    own = releases[0].guarantee.gaussian_distance
    assert found["one noise"].guarantee.gaussian_distance == pytest.approx(own)
    assert found["equal noise"].guarantee.gaussian_distance == pytest.approx(
        own / np.sqrt(3), 1e-3
    )


def test_regressions_of_numbers_find_a_line_in_many_rows(load):
    peers, rows = load("_numbers_peers"), load("_tables_peers").Rows
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 3))
    y = np.clip(0.3 + 0.3 * X[:, 0] + 0.1 * X[:, 1] + rng.normal(scale=0.02, size=len(X)), 0, 1)
    some = rows(X[5000:], y[5000:], X[:5000], y[:5000], np.zeros(3))
    for name in ("AdaSSP", "BoostedAdaSSP", "TukeyEM", "ridge regression"):
        found = peers.METHODS[name].scores(some, 4.0, 0)
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

    found = load("_times_peers").partial_gradients(Z, y, beta).sum(axis=0)
    steps = 1e-5 * np.eye(3)
    numeric = [(likelihood(beta + s) - likelihood(beta - s)) / 2e-5 for s in steps]
    assert found == pytest.approx(np.array(numeric), rel=1e-6)


def test_sections_without_results_are_left_out(load):
    pattern = "# A page\n\n## Of nothing\nresults: no_such_file\n\n@no.function\n"
    assert load("tables").page(pattern) == "# A page\n"


@pytest.mark.parametrize(
    "path", sorted((BENCHMARKS / "results").glob("*.json")), ids=lambda path: path.stem
)
def test_result_files_name_commits_and_have_each_row_once(load, path):
    record = load("_store").read(path)
    if "runs" not in record:
        assert record["commit"]
        return
    assert all(row["commit"] == record["runs"][row["run"]]["commit"] for row in record["rows"])
    keys = set(map(load("_store").key_of, record["rows"]))
    assert len(keys) == len(record["rows"])


def test_pages_are_what_the_results_say(load):
    for path, text in load("tables").pages().items():
        assert path.read_text() == text, f"python benchmarks/tables.py would change {path.name}"


def test_patterns_have_cells_for_values_of_a_column_and_for_what_is_missing(load):
    record = {
        "settings": {"draws": 2},
        "rows": [
            {"case": case, "level": level, "draw": draw, "auc": 0.8 + draw / 10}
            for case, level in (("b", 4.0), ("b", 1.0), ("a", 1.0))
            for draw in (0, 1)
        ],
    }
    block = load("tables").block
    assert block("Over {draws}\ndraws.", record) == "Over 2 draws."
    assert block(": only level=4.0\nOver {draw:different} draws.", record) == "Over 2 draws."
    lines = block(
        ": order case; per case; by level\n| Of | ε = ~ | 4 |\n"
        "| {case} | {~ auc:.1p} % | {#1 auc:.2f ±} or none |",
        record,
    ).splitlines()
    assert lines == [
        "| Of | ε = 1 | ε = 4 | 4 |",
        "|---|---|---|---|",
        "| a | 85.0 % | – | none |",
        "| b | 85.0 % | 85.0 % | 0.85 ± 0.07 |",
    ]


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
            record = {"command": "python some.py", "commit": "abc", "cores": 2, "rows": rows}
            load("_store").write(tmp_path / f"{name}.json", record)
        return load("_papers_tables").written(text).split("\n\nThe results")[0]

    return made


def test_figures_of_papers_are_bold_where_they_are_missed(papers):
    rows = [{"model": "a, b", "level": level, "scores": [0.5, level]} for level in (0.1, 0.3)]
    cell = "{some: model=a, b; level=0.1 or 0.3 -> scores[1]:.1p ± >= %s}"
    assert papers(cell % 20.5, some=rows) == "**20.0 ± 14.1** (2)"
    assert papers(cell % 20, some=rows) == "20.0 ± 14.1 (2)"
    text = "{some: level=0.3 -> <scores[0]:.0p> of <scores[1]:.0p> %}, {other: a=1 -> b}"
    assert papers(text, some=rows) == "50 of 30 %, not measured yet"
    assert papers("{some: level=2 -> scores[0]}", some=rows) == "not measured yet"


def test_labels_of_papers_are_shown_by_how_they_were_chosen(papers):
    def row(model, variant, accuracy, level="1", labels=10):
        place = {"case": "", "level": level, "draw": 0, "labels": labels}
        return {"model": model, "variant": variant, "accuracy": accuracy, **place}

    rows = [
        row("alignment", "default", 90.0),
        row("alignment", "five-layers", 91.0),
        row("alignment", "folds", 99.0),  # not a setting of the papers
        row("alignment", "medoids", 92.0),
        row("noise_aware", "representative", 94.0),
        row("noise_aware", "default", 95.0, labels=20),
    ]
    found = papers("{labels: mnist-usps; alignment; 1 >= 92}", transfer_mnist_usps=rows)
    assert found == "**91.0** (1) | – | 92.0 (1) † | – | 94.0 (1) | –"
    found = papers("{labels: mnist-usps; alignment; 1; 20}", transfer_mnist_usps=rows)
    assert found == "– | – | – | 95.0 (1) | – | –"
    found = papers("{labels: mnist-usps; multitask; 3}", transfer_mnist_usps=rows)
    assert found == "not measured yet | – | – | – | – | –"


@pytest.mark.parametrize(
    ("values", "spec", "text"),
    [
        ((1.0, 2.0), ".1f", "1.5"),
        ((1.0, 3.0), ".1f ±", "2.0 ± 1.4"),
        ((1.0, 3.0), "+.1f ±e", "+2.0 ± 1.0"),
        ((1.0, 3.0), ".0f max", "3"),
        ((0.5, 0.5), ".1p", "50.0"),
        ((5000, 5000), ",", "5,000"),
        (("record 8",), "level", "ε = 8 for a record"),
        ((False,), "yes/no", "no"),
        ((2.5e6,), "bytes", "2.5 MB"),
        ((), ".1f", "–"),
    ],
)
def test_formats_of_values(load, values, spec, text):
    assert format(load("_table").Values(values), spec) == text
