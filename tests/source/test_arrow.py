"""Tables of polars and Arrow, and Parquet files: the sums of the same rows in pandas."""

import datetime
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp import DPStatisticsSource, TabularEncoder
from skdp.source._chunked_rows import parquet_batches

pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
pl = pytest.importorskip("polars", reason="compares with polars")

SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100, "missing": True},
    "visits": {"type": "numeric", "low": 0, "high": 9},
    "ward": {"type": "category", "categories": ["A", "007", "C"], "missing": True},
    "smokes": {"type": "category", "categories": ["no", "TRUE"], "missing": True},
    "kind": {"type": "category", "categories": [1, 2, 3], "missing": True},
    "time": {"type": "category", "categories": ["12:30", "13:00"], "missing": True},
}
CLASSES = ["home", "died"]
COLUMNS = [*SCHEMA]


def table_of(rng, n=200):
    """Return an Arrow table with missing values, and columns of all kinds."""
    absent = rng.rand(n) < 0.1

    def some(values):
        return [None if gone else value for value, gone in zip(values, absent, strict=True)]

    times = [datetime.time(12, 30), datetime.time(13), datetime.time(14)]
    return pa.table(
        {
            "age": pa.array(some((rng.rand(n) * 120).tolist()), pa.float32()),
            "visits": pa.array(rng.randint(12, size=n), pa.int16()),
            "ward": pa.array(some(rng.choice(["A", "7", "007", "C", "x"], n))),
            "smokes": pa.array(some(rng.rand(n) < 0.5), pa.bool_()),
            "kind": pa.array(some(rng.randint(5, size=n)), pa.int64()),
            "time": pa.array(some([times[i] for i in rng.randint(3, size=n)]), pa.time64("us")),
            "other": pa.array(some(rng.choice([*CLASSES, "else"], n))),
            "person": pa.array(np.arange(n) // 3 + 2**60),
        }
    )


def plain(table):
    """Return the table in pandas, cell by cell, without any conversion of a column."""
    rows = {name: table[name].to_pylist() for name in table.column_names}
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in rows.items()})


def chunked(table):
    return pa.concat_tables([table[:70], table[70:]])


def dictionaries(table):
    fields = ["ward", "kind", "other", "person"]
    for name in fields:
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].dictionary_encode())
    return table


def repeated_dictionary(table):
    """Return the wards by a dictionary that lists a value twice, and a missing one."""
    values = pa.array(["A", "7", "007", "C", "x", None, "A"])
    places = {value: i for i, value in enumerate(values.to_pylist())}  # "A" is the last
    codes = pa.array([places[ward] for ward in table["ward"].to_pylist()])
    column = pa.DictionaryArray.from_arrays(codes, values)
    return table.set_column(table.column_names.index("ward"), "ward", column)


FORMS = {
    "table": lambda table: table,
    "record batch": lambda table: table.combine_chunks().to_batches()[0],
    "chunks": chunked,
    "dictionaries": dictionaries,
    "dictionary that repeats": repeated_dictionary,
    "large text": lambda table: table.cast(
        pa.schema(
            [f.with_type(pa.large_string()) if f.name == "ward" else f for f in table.schema]
        )
    ),
    "polars": pl.from_arrow,
    "polars, categories": lambda table: pl.from_arrow(table).cast(
        {"ward": pl.Categorical, "other": pl.Enum([*CLASSES, "else"])}
    ),
    "pandas": lambda table: table.to_pandas(),
    "pandas, Arrow's types": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
}


def of_schema(**settings):
    settings = {"encoder": TabularEncoder(SCHEMA), "classes": CLASSES, **settings}
    return DPStatisticsSource(1.0, **settings).accumulator()


def numeric(**settings):
    """Return an accumulator of columns a and b, and labels 0 and 1."""
    settings = {"bounds": (0, 9), "classes": [0, 1], "model": "linear", **settings}
    return DPStatisticsSource(1.0, **settings).accumulator(feature_names=["a", "b"])


def assert_same(accumulator, other):
    ours, theirs = (each._exact() for each in (accumulator, other))
    for name in ("counts", "sums", "second"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.persons == theirs.persons
    assert ours.counts.all()


@pytest.mark.parametrize("by_person", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_tables_give_the_sums_of_their_cells(form, by_person, rng):
    unit = {"privacy_unit": "group"} if by_person else {}
    table = table_of(rng)
    cells = plain(table)
    expected, accumulator = of_schema(**unit), of_schema(**unit)
    expected.add(cells[COLUMNS], cells["other"], cells["person"] if by_person else None)
    given = FORMS[form](table)
    part = given[COLUMNS] if hasattr(given, "iloc") else given.select(COLUMNS)
    accumulator.add(part, given["other"], given["person"] if by_person else None)
    assert_same(accumulator, expected)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None], pa.date32()),
        pa.array([1, None], pa.timestamp("us", "UTC")),
        pa.array([1, None], pa.duration("s")),
        pa.array([1, 1], pa.timestamp("s")).dictionary_encode(),
    ],
    ids=["date", "timestamp", "duration", "dictionary"],
)
def test_dates_are_refused_by_type(values, rng):
    table = table_of(rng, 2)
    for column in (values, values[:0]):
        given = table[: len(column)].set_column(0, "age", column).select(COLUMNS)
        for X in (given, pl.from_arrow(given), given.to_pandas(date_as_object=False)):
            accumulator = of_schema()
            with pytest.raises(ValueError, match=r"dates, durations or complex .*'age'"):
                accumulator.add(X, ["home"] * len(column))
            assert not accumulator._exact().counts.any()


def parquet(folder, parts, **settings):
    folder.mkdir(exist_ok=True)
    for i, part in enumerate(parts):
        pq.write_table(part, folder / f"part-{i}.parquet", **settings)
    return folder


@pytest.mark.parametrize("batch_size", [7, 64, 10_000])
@pytest.mark.parametrize("by_person", [False, True])
def test_files_give_the_sums_of_their_rows(by_person, batch_size, rng, tmp_path):
    unit = {"privacy_unit": "group"} if by_person else {}
    table = table_of(rng)
    # Persons have three rows each: some of them in two files, and in two groups of rows.
    parts = [table[:100], table[100:140], table[140:140], table[140:]]
    folder = parquet(tmp_path / "visits", parts, row_group_size=50)
    expected, accumulator = of_schema(**unit), of_schema(**unit)
    cells = plain(table)
    expected.add(cells[COLUMNS], cells["other"], cells["person"] if by_person else None)
    group = "person" if by_person else None
    accumulator.add_parquet(folder, "other", group, batch_size=batch_size)
    assert_same(accumulator, expected)
    files = sorted(map(str, folder.iterdir()))
    again = of_schema(**unit)
    again.add_parquet(files, label="other", group=group)
    assert_same(again, expected)


def test_batches_hold_whole_persons_and_no_more_rows_than_asked_for(rng, tmp_path):
    ids = np.repeat([1, 2, 3, 4, 5], [2, 30, 1, 4, 3])
    table = pa.table({"a": rng.rand(40), "b": rng.rand(40), "y": [0, 1] * 20, "who": ids})
    folder = parquet(tmp_path / "x", [table])
    columns = numeric().plan.columns
    batches = [len(X) for X, *_ in parquet_batches(columns, folder, ["y"], None, 16)]
    assert batches == [16, 16, 8]
    found = [
        groups.to_pylist() for *_, groups in parquet_batches(columns, folder, ["y"], "who", 16)
    ]
    assert np.concatenate(found).tolist() == ids.tolist()
    assert [sorted(set(each)) for each in found] == [[1], [2, 3, 4], [5]]
    assert all(
        X.column_names == ["a", "b"] for X, *_ in parquet_batches(columns, folder, ["y"], None, 9)
    )


@pytest.mark.slow
@pytest.mark.parametrize("group", [None, "person"])
def test_times_are_found_by_the_names_of_the_outcome(rng, tmp_path, group):
    table = table_of(rng, 3000).select(["age", "visits", "person"])
    events = pa.array(np.where(rng.rand(3000) < 0.6, "yes", "no"))
    table = table.append_column("died", events).append_column(
        "day", pa.array(rng.rand(3000) * 400)
    )
    outcome = {"type": "event", "horizon": 365, "event": "died", "time": "day"}
    columns = {name: SCHEMA[name] for name in ("age", "visits")}
    schema = {"version": 1, "columns": columns, "outcome": outcome}
    source = DPStatisticsSource(
        encoder=schema, privacy_unit="record" if group is None else "group"
    )
    expected, accumulator, of_dask = (source.accumulator() for _ in range(3))
    frame = plain(table)
    rows = (
        frame[["age", "visits"]],
        frame[["died", "day"]],
        None if group is None else frame[group],
    )
    expected.add(*rows)
    accumulator.add_parquet(parquet(tmp_path / "all", [table]), group=group, batch_size=64)
    assert_same(accumulator, expected)
    dd = pytest.importorskip("dask.dataframe", reason="sums chunks where they are")
    of_dask.add_dask(*(part if part is None else dd.from_pandas(part, 4) for part in rows))
    assert_same(of_dask, expected)
    with pytest.raises(ValueError, match=r"'label' parameter of .*add_parquet must be None"):
        accumulator.add_parquet(tmp_path / "all", "died")


def test_files_that_fail_add_nothing(rng, tmp_path):
    X = {"a": rng.rand(30), "b": rng.rand(30), "y": [0, 1] * 15, "who": np.arange(30) // 2}
    first = pa.table(X)
    good = first.set_column(3, "who", pa.array(X["who"] + 100))
    bad = {
        "inf": good.set_column(0, "a", pa.array([*X["a"][:29], np.inf])),
        "text": good.set_column(0, "a", pa.array([*map(str, X["a"][:29]), "secret"])),
        "absent": good.drop_columns(["b"]),
        "person": good.set_column(3, "who", pa.array([*range(1000, 1029), 3])),
    }
    messages = {
        "inf": "infinity",
        "text": "'encoder' parameter",
        "absent": r"part-1\.parquet' lacks the columns 'b'",
        "person": "several chunks",
        "cut": "cannot be read as Parquet",
    }
    for name, message in messages.items():
        folder = parquet(tmp_path / name, [first, bad.get(name, good)])
        if name == "cut":
            file = folder / "part-1.parquet"
            file.write_bytes(file.read_bytes()[:-5])
        accumulator = numeric(privacy_unit="group")
        with pytest.raises((TypeError, ValueError), match=message) as error:
            accumulator.add_parquet(folder, "y", "who", batch_size=10)
        assert "secret" not in str(error.value)
        sums = accumulator._exact()
        assert not sums.counts.any()
        assert not sums.persons


def test_what_cannot_be_found_is_named(rng, tmp_path):
    table = pa.table({"a": [1.0], "b": [1.0], "y": [0]})
    folder = parquet(tmp_path / "one", [table])
    with pytest.raises(ValueError, match=r"lacks the columns 'label'.*'label' and 'group'"):
        numeric().add_parquet(folder, "label")
    with pytest.raises(ValueError, match=r"'label' parameter of .*add_parquet must name"):
        numeric().add_parquet(folder)
    with pytest.raises(ValueError, match="have no names"):
        DPStatisticsSource(classes=[0, 1]).accumulator(2).add_parquet(folder, "y")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds no Parquet file"):
        numeric().add_parquet(tmp_path / "empty", "y")
    with pytest.raises(FileNotFoundError):
        numeric().add_parquet(tmp_path / "nowhere", "y")
    with pytest.raises(ValueError, match="privacy_unit='group', but no 'groups'"):
        numeric(privacy_unit="group").add_parquet(folder, "y")
    with pytest.raises(ValueError, match=r"'batch_size' parameter .* above 0, got 0"):
        numeric().add_parquet(folder, "y", batch_size=0)


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    with pytest.raises(ImportError, match=r"pip install 'skdp\[parquet\]'"):
        numeric().add_parquet(tmp_path, "y")
