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
from types import SimpleNamespace

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
def pages(load):
    """Make the tables of a page, from some rows, with these options."""

    def made(page, options, rows):
        blocks = (BENCHMARKS / "pages" / f"{page}.md").read_text().split("\n\n")
        some = (block for block in blocks if f": {options};" in block)
        return "\n".join(load("tables").block(block, {"rows": rows}) for block in some)

    return made


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


def test_interrupted_run_keeps_its_rows_and_continues(run, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(Stub(stop_after=3), levels=["8"], draws=2)
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [row["accuracy"] for row in rows if row["model"] != "source alone"] == [91, 92, 93]
    made, wanted = run(Stub(), levels=["8"], draws=2)
    assert made == wanted - 3


def test_rows_say_how_they_were_made(run, tmp_path):
    run(Stub(), levels=["8"], draws=1, models=["alignment"])
    record = json.loads((tmp_path / "table.json").read_text())
    alone, row = record["rows"]
    assert record["command"] == "python complete.py"
    assert record["runs"] == [RUN]
    assert alone["model"] == "source alone"
    assert alone["accuracy"] == 50.0
    assert row["commit"] == alone["commit"] == RUN["commit"]
    assert row["run"] == 0
    assert row["source"] == Stub.settings
    assert row["settings"] == {"strategy": "alignment", "random_state": 0}


def test_redo_keeps_what_it_replaces(run, tmp_path):
    run(Stub(), levels=["8"], draws=1, models=["alignment"])
    run(Stub(), levels=["8"], draws=1, models=["alignment"], redo=True)
    record = json.loads((tmp_path / "table.json").read_text())
    assert len(record["rows"]) == len(record["superseded"]) == 2


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


def test_processes_that_fill_one_file_lose_no_row(tmp_path):
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
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
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


@pytest.mark.usefixtures("small_table")
def test_methods_are_measured_once_and_missing_peers_left_out(load, open_results, capsys):
    bench = load("bench_tables_peers")
    names = ["logistic regression, target", "DP-EBM", "DPStatisticsSource"]
    results = open_results()
    cells, false = list(bench.plan(["flchain"], names, 2)), shutil.which("false")
    assert len(cells) == 2 * (1 + 3 + 3)
    for _ in range(2):
        bench.run(cells, results, SimpleNamespace(redo=False, python_interpret=false))
    assert "DP-EBM is left out" in capsys.readouterr().out
    rows = results.record["rows"]
    levels = ["-", "record 4", "record 1", "record 0.5"]
    keys = [(row["draw"], row["level"]) for row in rows]
    assert sorted(keys) == sorted((draw, level) for draw in (0, 1) for level in levels)
    assert all(0 <= row["auc"] <= 1 for row in rows)
    assert not results.record["superseded"]


@pytest.mark.usefixtures("small_table")
@pytest.mark.filterwarnings("ignore")
def test_rows_of_one_release_are_made_and_kept_together(load, open_results, monkeypatch):
    bench, made = load("bench_records"), []
    monkeypatch.setattr(bench, "LEVELS", ("record 4", "16"))
    make = bench.make_release

    def counting(*arguments):
        made.append(make(*arguments))
        return made[-1]

    monkeypatch.setattr(bench, "make_release", counting)
    groups, results = bench.tables_groups("flchain", 0), open_results()
    assert [len(group) for group in groups] == [3, 3, 3]
    for written in (9, 0):
        assert load("_bench").fill(results, groups, bench.tables_rows) == written
    assert len(made) == 2
    assert [release.guarantee.unit for release in made] == ["labeled record", "element"]
    rows = {(row["level"], row["model"], row["labels"]): row for row in results.record["rows"]}
    assert all(0 <= row["balanced_accuracy"] <= 1 for row in rows.values())
    assert rows["record 4", "transfer", 10]["settings"]["epsilon"] == 4
    assert rows["-", "all labels", None]["log_loss"] > 0
    # A row that an earlier plan lacked: all of its release are made again.
    results.record["rows"].pop()
    load("_store").write(results.path, results.record)
    assert load("_bench").fill(results, groups, bench.tables_rows) == 3
    assert len(made) == 3
    assert len(results.record["superseded"]) == 2


@pytest.mark.usefixtures("small_table")
def test_target_s_columns_and_labels(load, monkeypatch):
    bench = load("bench_records")
    monkeypatch.setattr(bench, "LACKING", {"flchain": ("group",)})
    monkeypatch.setattr(bench, "EXTRA", {"flchain": ("dose",)})
    data = bench.scenario("flchain", 0)
    schema, frames = bench.column_frames("flchain", data, 0)
    assert set(schema["columns"]) == {"sex", "group", "count"}
    assert set(frames["all columns"]) == set(schema["columns"])
    assert set(frames["other columns"]) == {"sex", "count", "dose", "noise"}
    assert len(bench.columns_groups("flchain", 0)[0]) == 5
    assert bench.columns_groups("whas500", 0) == []
    shown = bench.labeled(data, 1)
    np.testing.assert_array_equal(np.sort(data.target[shown]), data.schema["classes"])
    np.testing.assert_array_equal(bench.labeled(data, None), data.learning)


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


def _records_rows():
    """Two draws of one table; log losses of which the transfer's are better, alike and worse."""
    for draw in (0, 1):
        head = {"case": "flchain", "draw": draw, "fit_seconds": 2.0}
        values = [("-", "target", 10, 0.6), ("-", "self-training", 10, 0.9)]
        values += [("-", "all labels", None, 0.3), ("4", "source", 0, 0.5 + draw / 10)]
        values += [("4", "transfer", 0, 0.4), ("4", "transfer", 10, 0.55)]
        values += [("record 1", "source", 0, 0.5), ("record 1", "transfer", 10, 0.7 + draw / 10)]
        for level, model, labels, value in values:
            yield {**head, "level": level, "model": model, "labels": labels} | dict.fromkeys(
                ("auc", "log_loss", "brier", "balanced_accuracy", "balanced_decision"), value
            )


def test_gains_over_the_better_part_are_counted(load, pages):
    tables, rows = load("_records_tables"), [*_records_rows()]
    none, few, private = tables.cells(rows, "log_loss")
    assert (none.better, none.outcome()) == ("source", "win")
    assert none.gain().mean == pytest.approx(0.15)
    assert none.gain().error == pytest.approx(0.05)
    assert (few.better, few.outcome()) == ("source", "tie")
    assert few.gain().error == pytest.approx(0.05)
    assert (private.better, private.outcome()) == ("source", "loss")
    assert private.gain().mean == pytest.approx(-0.25)
    assert private.gain("target").mean == pytest.approx(-0.15)
    [_, few, private] = tables.cells(rows, "auc")  # more is better
    assert (few.better, few.outcome()) == ("target", "loss")
    assert (private.better, private.outcome()) == ("target", "win")
    text = tables.outcomes({"rows": rows}) + pages("tables", "from records.values", rows)
    assert "| log loss | 10 | noisy statistics | 0 | 0 | 1 | -0.2500 | -0.2500 | -0.1500 |" in text
    assert "| flchain | ε = 4 for an element | 0 | – | – | 0.300 ± 0.000 | 0.550 ± 0.050 |" in text
    text = pages("tables", "with records.SECONDS; order place", rows)
    assert "| transfer | ε = 1 for a record | 10 | 2.00 |" in text


def test_other_columns_are_compared_with_all_of_them(pages):
    head = {"case": "adult", "level": "record 4"}
    rows = [
        {**head, "model": model, "variant": variant, "labels": 0, "draw": draw, "auc": auc + draw}
        for draw in (0, 1)
        for model, variant, auc in (
            ("source", "all columns", 0.8),
            ("transfer", "all columns", 0.82),
            ("transfer", "other columns", 0.80),
        )
    ]
    line = "| adult | ε = 4 for a record | 0 | 1.300 ± 0.500 | 1.320 ± 0.500 | 1.300 ± 0.500 |"
    assert f"{line} -0.0200 ± 0.0000 | **no** |" in pages("owners", "from records.columns", rows)


def test_qualities_of_log_odds(load):
    log_odds = np.log([1 / 3, 3, 3, 1 / 3])  # probabilities 1/4 and 3/4
    found = load("_tables_data").qualities(np.array([0, 1, 1, 1]), log_odds)
    assert found["auc"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert found["accuracy"] == 75
    assert found["log_loss"] == pytest.approx(-(3 * np.log(3 / 4) + np.log(1 / 4)) / 4)
    assert found["brier"] == pytest.approx((3 / 16 + 9 / 16) / 4)


def test_shift_draws_labels_and_halves(load):
    data = load("_shift_data")
    rows = data.scenario("Zurich-Basel", 0)
    assert sorted(rows.sources) == ["Budapest", "Cleveland", "Long Beach"]
    assert (len(rows.y), len(rows.y_test)) == (62, 61)
    assert len(rows.X) == len(rows.y)
    assert [len(y) for _, y in rows.sources.values()] == [303, 294, 200]
    assert rows.y.sum() + rows.y_test.sum() == 115  # each patient once
    drawn = rows.known(10, "random", 3)
    shown = np.array([label is not None for label in drawn])
    assert shown.sum() == 10
    np.testing.assert_array_equal(drawn[shown], rows.y[shown])
    few = (rows.y == 0).sum()  # fewer than half of 30
    half = [label for label in rows.known(30, "stratified", 3) if label is not None]
    assert (half.count(0), half.count(1)) == (few, 15)
    np.testing.assert_array_equal(rows.known(None, "-", 3), rows.y)
    assert set(sum(data.TARGETS.values(), ())) == {*data.HOSPITALS, *data.SPLITS, *data.ADULT}


def test_shift_measures_one_release_again_from_its_file(load, monkeypatch, tmp_path):
    bench = load("bench_shift")
    monkeypatch.setattr(bench, "LABELS", ((0, "-"), (10, "random")))
    monkeypatch.setattr(bench, "EPSILONS", (4.0,))
    transfer = bench.by_transfer
    by_release = lambda releases, rows, *_, **__: bench.by_release(releases, rows)  # noqa: E731
    monkeypatch.setattr(bench, "by_transfer", by_release)
    first, again = (bench.measure("Zurich-Basel", 0, tmp_path) for _ in range(2))
    assert first == again  # the noise of a new release would differ
    assert len(first) == 2 + 4 * 5
    assert {row["source"] for row in first} == {"-", "all", "Cleveland", "Budapest", "Long Beach"}
    rows = load("_shift_data").scenario("Zurich-Basel", 0)
    release = bench.kept_release(tmp_path / "file", rows, "Long Beach", 4.0)
    given = transfer([release], rows, None, class_prior={0: 0.9, 1: 0.1})
    assert len(given) == len(rows.y_test)
    assert given.mean() < transfer([release], rows, None).mean()


def test_labels_of_one_class_give_its_smoothed_frequency(load):
    bench = load("bench_shift")
    rows = load("_shift_data").scenario("Zurich-Basel", 0)
    known = np.where((rows.y == 1) & (np.cumsum(rows.y) <= 4), 1, None)
    for model in bench.ALONE:
        np.testing.assert_allclose(bench.alone(model, rows, known), 5 / 6)
    assert bench.logistic_regression(np.array([0, 1, 1])).C == bench.FIXED_STRENGTH
    assert bench.logistic_regression(np.array([0, 1, 1, 0])).cv.n_splits == 2


def test_several_releases_alone_are_the_mean_of_their_log_probabilities(load):
    class Fixed:
        def __init__(self, odds):
            self.odds = odds

        def predict_proba(self, X):
            return np.array([[1, self.odds]]) / (1 + self.odds)

    rows = type("Rows", (), {"X_test": None})
    found = load("bench_shift").by_release([Fixed(1), Fixed(4)], rows)
    np.testing.assert_allclose(found, 2 / 3)


def _shift_rows():
    """Two draws of a hospital, from one of two others and from all; all labels, or ten."""
    for draw in (0, 1):
        head = {"task": "heart", "case": "A", "draw": draw}
        values = [("-", "-", "labels", 10, 0.5), ("-", "-", "boosting", 10, 0.4)]
        values += [("-", "-", "labels", None, 0.3), ("-", "-", "boosting", None, 0.3)]
        for source, shift in (("B", -0.1), ("C", 0.1), ("all", 0.0)):
            for model, labels, value in (
                ("release", 0, 0.45),
                ("transfer", 0, 0.455 + draw / 50),  # a tie, by its standard error
                ("transfer", 10, 0.4 + draw / 100),
                ("transfer", None, 0.315),
                ("class prior", 0, 0.35),
                ("class prior", 10, 0.405 + draw / 100),
                ("class prior", None, 0.305),
            ):
                values.append(("record 4", source, model, labels, value + shift))
        for level, source, model, labels, value in values:
            key = {"level": level, "source": source, "model": model, "labels": labels}
            how = "random" if labels == 10 else "-"
            measures = dict.fromkeys(("log_loss", "auc", "calibration"), value)
            yield {**head, **key, "variant": how, **measures, "balanced_accuracy": 1 - value}


def test_shift_is_judged_against_the_better_side(load, pages):
    tables, rows = load("_shift_tables"), [*_shift_rows()]
    found = tables.cells(rows, "log_loss")
    assert [(tables.sources(cell.place), tables.shown(cell)) for cell in found] == [
        (sources, labels) for sources in ("one", "three") for labels in ("0", "10, random", "all")
    ]
    none, few, everything = found[:3]
    assert none.values["release"] == pytest.approx({0: 0.45, 1: 0.45})  # the mean of B and C
    assert (none.better, few.better, everything.better) == ("release", "release", "labels")
    assert none.gain("release").mean == pytest.approx(-0.015)
    assert none.gain("release").error == pytest.approx(0.01)
    assert none.outcome("release") == "loss"
    assert none.outcome("class prior") == "loss"
    assert few.outcome("release") == "win"
    assert few.outcome("boosting") == "tie"  # less than .01
    assert everything.outcome("labels") == "loss"
    assert everything.outcome("labels", "class prior") == "tie"
    [*_, balanced] = tables.cells(rows, "balanced_accuracy")  # more is better
    assert (balanced.better, balanced.outcome("labels")) == ("labels", "loss")
    below = tables.violations({"rows": rows})
    line = "| log loss | A | one | 4 | all | 0.450 | 0.300 | 0.300 | 0.315 | 0.305 |"
    assert f"{line} -0.015 ± 0.000 |" in below
    assert "log loss: 4 of 6 cells; AUC: 4 of 6 cells." in below
    text = tables.outcomes({"rows": rows}) + pages("targets", "from shift.means", rows)
    assert "| log loss | transfer | 0 | 0 / 0 / 2 | 0 / 0 / 2 | – | – | 0 / 0 / 2 |" in text
    assert "| log loss | four hospitals | one | 4 | 0 | 0.450 | – | – | 0.465 | 0.350 |" in text
    assert "| A | three | 4 | all | 0.450 | 0.300 | 0.300 | 0.315 | 0.305 | 0.450 |" in text


def _owners_rows():
    """Two draws of two hospitals, of which one has no curve, and of adult."""
    worth = {"best single": 0.8, "list": 0.795, "merged": 0.7, "equal noise": 0.8}
    worth |= {"single, Budapest": 0.71, "single, Long Beach": 0.74}
    for draw in (0, 1):
        for case, n_test, shift in (
            ("heart, Cleveland", 104, 0.0),
            ("heart, Zurich-Basel", 16, 0.1),
        ):
            for model, value in worth.items():
                row = {"case": case, "level": "1", "variant": "others", "labels": 0, "draw": draw}
                row |= {"model": model, "n_test": n_test, "accuracy": value + shift + draw / 50}
                yield row if shift else {**row, "auc": value, "log_loss": 1 - value}
        for model, value in worth.items():
            row = {"case": "adult, 5 owners", "level": "4", "variant": "-", "labels": 0}
            row |= {"draw": draw, "model": model, "auc": value, "log_loss": 1 - value}
            yield {**row, "accuracy": 0.5}
    row = {"case": "adult", "level": "1", "labels": 0, "n_encoded": 103, "draw": 0}
    for variant, size in (("before", 2048), ("after", 1024)):
        row |= {"variant": variant, "bytes": size, "load_ms": 1.0, "first_ms": 2.0}
        yield {**row, "model": "one release"}


def test_merged_releases_are_judged_against_single_ones_and_equal_noise(load, pages):
    tables, rows = load("_merging_tables"), [*_owners_rows()]
    (name, _, some), *_ = places = [*tables.places(rows)]
    assert name == "four hospitals, the three others, no label"
    assert [place[:2] for place in places[1:]] == [("adult, 5 owners", "4")]
    accuracies = tables.compared(some, "accuracy")
    assert accuracies.values["merged"] == pytest.approx({0: 0.75, 1: 0.77})  # of both hospitals
    found = tables.compared(some, "log_loss").gain("equal noise", "merged")
    assert (found.mean, found.error) == pytest.approx((-0.1, 0))  # less of it is better
    best = tables.best_owners(rows)
    zurich = [row for row in best if row["case"] == "heart, Zurich-Basel"]
    of_draw = load("_comparisons").by_draw(zurich, "accuracy")
    assert of_draw == pytest.approx({0: 0.84, 1: 0.86})
    below = {tuple(line[:5]) for line in tables.violations(rows + best)}
    assert (
        "four hospitals, the three others, no label",
        "1",
        "AUC",
        "merged",
        "best owner",
    ) in below
    assert ("adult, 5 owners", "4", "AUC", "merged", "best single") in below
    assert ("adult, 5 owners", "4", "log loss", "merged", "equal noise") in below
    assert not any("list" in line for line in below)  # less than .01 below
    text = pages("targets", "from merging.hospitals", rows)
    assert "| three others, no label | merged | – | – | – | 0.760 ± 0.010 |" in text.replace(
        "the three", "three"
    )
    text = pages("targets", "with merging.FILES; only shown=True; order place", rows)
    assert (
        "| one release | before | 2.0 | 1.0 | 2.0 |\n| 103 | one release | after | 1.0 |" in text
    )


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


def _statistics_rows():
    """Three draws; a transfer as good as its source at one budget, and worse at another."""
    gains = {4.0: (0.0, 0.02, -0.02), 1.0: (-0.03, -0.02, -0.01)}
    for draw in range(3):
        head = {"case": "some", "draw": draw}
        yield {**head, "level": "-", "model": "target", "labels": 5, "auc": 0.5 + draw / 10}
        yield {**head, "level": "-", "model": "target", "labels": 9, "auc": 0.99}
        for level, gain in gains.items():
            row = {**head, "level": level}
            yield {**row, "model": "source", "labels": 0, "auc": 0.8 - draw / 10}
            yield {**row, "model": "transfer", "labels": 5, "auc": 0.8 - draw / 10 + gain[draw]}
            yield {**row, "model": "forest on samples", "labels": 5, "auc": 1.0}


def test_transfer_is_compared_with_the_better_part_draw_by_draw(load):
    rows = [*_statistics_rows()]
    same, worse = load("_comparisons").comparisons(rows)
    assert (same.place["level"], same.place["labels"], same.better) == (4.0, 5, "source")
    assert same.gain().mean == pytest.approx(0)
    assert same.gain().error == pytest.approx(0.02 / np.sqrt(3))
    assert same.outcome() == "tie"
    assert worse.gain().mean == pytest.approx(-0.02)
    assert worse.gain().error == pytest.approx(0.01 / np.sqrt(3))
    assert worse.outcome() == "loss"
    for row in rows:
        row["auc"] += 0.2 * (row["model"] == "target")
    found, _ = load("_comparisons").comparisons(rows)
    assert found.better == "target"
    pairs = [
        (0.9 - draw / 10 + gain, 0.8 + draw / 10) for draw, gain in enumerate((0, 0.02, -0.02))
    ]
    differences = np.subtract(*np.transpose(pairs))
    assert found.gain().mean == pytest.approx(differences.mean())
    assert found.gain().error == pytest.approx(differences.std(ddof=1) / np.sqrt(3))


def test_tables_of_releases_have_a_row_for_each_cell(load, pages):
    rows = [*_statistics_rows()]
    text = pages("tables", "from statistics.compared", rows)
    assert text.count("| some |") == 2
    assert "| 0.700 ± 0.100 | 0.600 ± 0.100 | – | 0.700 ± 0.111 | +0.0000 ± 0.0115 | no |" in text
    for row in rows:
        row["accuracy"] = 100 * row.pop("auc")
    assert "| -2.00 ± 0.58 | **yes** |" in pages("images", "from statistics.compared", rows)
    options = ": with statistics.COLUMNS; per case, level, model, labels"
    cells = "| {epsilon} | {name} | {labels} | {accuracy:.1f ±} % ({accuracy:count}) |"
    text = load("tables").block(f"{options}\n| ε | model | labels | % |\n{cells}", {"rows": rows})
    assert "| – | target alone | 5 | 60.0 ± 10.0 % (3) |" in text
    assert "| 1 | source alone | 0 | 70.0 ± 10.0 % (3) |" in text


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


def test_regressions_of_numbers_are_judged_by_the_best_peer(load, pages):
    r2 = {"auto": 0.5, "linear": 0.3, "AdaSSP": 0.45, "TukeyEM": -3.0, "ridge regression": 0.6}
    worth = {"inside": 0.8, "expected_r2": 0.6, "expected_low": 0.4, "expected_high": 0.7}
    rows = [
        {"case": case, "level": level, "model": model, "variant": "default", "draw": draw}
        | {"r2": value - (case == "b" and model == "auto") / 10, **worth}
        for draw in (0, 1)
        for case in "ab"
        for model, value in r2.items()
        for level in (["clear"] if "ridge" in model else ["record 4", "record 1", "record 0.5"])
    ]
    lines = load("_numbers_tables").differences({"rows": rows}).splitlines()
    assert "| AdaSSP | 4 | +0.000 | +0.050 | -0.050 | **no** |" in [
        line.replace(" ± 0.000", "") for line in lines
    ]
    assert any(line.startswith("| TukeyEM | 4 | +0.450") for line in lines)
    text = pages("numbers", "from numbers.peers", rows)
    text += pages("numbers", "with numbers.COLUMNS; only variant=default, own=True", rows)
    assert "| TukeyEM | 0.5 | 0.000 ± 0.000 |" in text
    assert (
        "| **all**, skdp, auto |  | 80.0 %; 0.100 (+0.100); 100 % | 80.0 %; 0.200 (+0.200)" in text
    )


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


def test_times_are_shown_by_method_and_budget(load, pages):
    worth = {"c": 0.7, "ipcw": 0.68, "brier": 0.2, "expected": 0.75}
    worth |= {f"calibration_{quarter}": -0.03 for quarter in (0.25, 0.5, 0.75)}
    worth |= {"expected_low": 0.6, "expected_high": 0.8}
    rows = [
        {"case": case, "level": level, "model": model, "variant": "default", "draw": 0} | worth
        for case in ("gbsg2", "flchain")
        for model, level in (("Cox", "clear"), ("skdp", "record 1"), ("skdp", "clear"))
    ]
    text = pages("times", "with times.COLUMNS; only variant=default; order place", rows)
    assert text.index("| skdp | 1 |") < text.index("| skdp | ∞ |")
    assert text.index("| skdp | ∞ |") < text.index("| Cox, not private | ∞ |")
    columns = "with times.COLUMNS; only variant=default"
    curves = pages("times", f"{columns}, excess!=None; order place", rows)
    assert "0.200; 0.030 (-0.030)" in curves
    expected = pages("times", f"{columns}, model=skdp; order place", rows)
    assert "0.050 (+0.050); 100 %" in expected


def test_transfers_of_times_are_judged_by_the_better_side(load):
    row = {
        "group": 2,
        "labels": 20,
        "ibs_transfer": 0.2,
        "ibs_release": 0.21,
        "ibs_outcomes": None,
    }
    row |= {"c_transfer": 0.7, "c_release": 0.6, "c_outcomes": 0.65}
    worse = row | {"c_outcomes": 0.75, "ibs_outcomes": 0.18}
    text = load("_times_tables").wins({"rows": [row, row, worse, row | {"labels": 0}]})
    assert "| to judge by | 20 | 2 / 0 / 1; worst -0.050 | 2 / 0 / 1; worst -0.020 |" in text


def test_sections_without_results_are_left_out(load):
    pattern = "# A page\n\n## Of nothing\nresults: no_such_file\n\n@no.function\n"
    assert load("tables").page(pattern) == "# A page\n"


@pytest.mark.parametrize(
    "path", sorted((BENCHMARKS / "results").glob("*.json")), ids=lambda path: path.stem
)
def test_result_files_name_commits_and_have_each_row_once(load, path):
    record = json.loads(path.read_text())
    if "runs" not in record:
        assert record["commit"]
        return
    rows = [*record["rows"], *record["superseded"]]
    assert all(row["commit"] == record["runs"][row["run"]]["commit"] for row in rows)
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
            (tmp_path / f"{name}.json").write_text(json.dumps(record))
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


def test_the_way_to_many_rows_is_in_proportion_to_what_was_measured(pages):
    cluster = {"rows": 10**6, "chunks": 10, "sums_mib": 0.5, "peak_mib": 300.0, "start_mib": 200.0}
    rows = [
        {"case": "stream", "rows": 10**6, "seconds": 6.4},
        {"case": "file", "rows": 10**6, "seconds": 12.8, "file_mib": 1024.0},
        {"case": "dask-0", "rows": 10**6, "peak_mib": 100.0},
        {"case": "persons", "rows": 5 * 2**20, "peak_mib": 110.0},
        {"case": "dask-1", "worker_seconds": 9.0, **cluster},
        {"case": "dask-4", "worker_seconds": 9.0, "sent_mib": 20.0, **cluster},
        {"case": "many", "chunks": 1000, "wall_seconds": 5.0},
    ]
    text = pages("cost", "from sums.computing", rows)
    # 6,400 s of a core are 100 s on each of 64; files of 1000 GiB are read in 200 s.
    assert "| 6.4 s of a core for 10⁶ rows | 1.8 hours of a core: 1.7 minutes, 0.09 $" in text
    assert "3.6 hours of a core: 3.3 minutes, 0.18 $" in text
    assert "0.98 TiB of files, 5.0 GiB/s from storage" in text
    assert "2.00 MiB for each chunk of 100,000 rows, on 4 workers | 19.5 GiB in all" in text
    assert "| 200 a second | 10,000 chunks of 100,000 rows: 0.8 minutes" in text
    assert "| 300 MiB, of which 200 at the start | 300 MiB: it does not grow" in text
    assert "| 10 bytes a person | 2 GiB in one process" in text
