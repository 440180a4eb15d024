"""Distributed rows: the same release, bit for bit, and chunks that do not match are refused."""

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, TabularEncoder
from skdp.source._chunked_rows import announced_columns
from skdp.source._door import is_dask
from skdp.source._private_rows import announced_plan

dask = pytest.importorskip("dask", reason="needs the extra dask")
da = pytest.importorskip("dask.array", reason="needs the extra dask")
dd = pytest.importorskip("dask.dataframe", reason="needs the extra dask")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
]
CLASSES = ["a", "b", "c"]
SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "smokes": {"type": "category", "categories": ["never", "formerly", "now"]},
}


def seeded(**settings):
    settings = {"classes": CLASSES, "model": "linear", **settings}
    return DPStatisticsSource(1.0, **settings, random_state=0)


def file_of(source, tmp_path):
    source.release_.save(tmp_path / "release.skdp")
    return (tmp_path / "release.skdp").read_bytes()


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def rows(rng):
    return rng.rand(500, 4), rng.choice([*CLASSES, "d"], 500), np.arange(500) // 7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunks", [500, 64, (1, 300, 0, 199)])
def test_arrays_give_the_release_of_all_rows(chunks, dtype, rows, tmp_path):
    X, y, _ = rows
    X = X.astype(dtype)
    expected = seeded().fit(X, y)
    # Columns in chunks of their own are put together again.
    columns = da.from_array(X, chunks=(chunks, 3))
    fitted = seeded().fit(columns, da.from_array(y, chunks=(chunks,)))
    assert file_of(fitted, tmp_path) == file_of(expected, tmp_path)
    assert fitted.release_.dtype == dtype


@pytest.mark.parametrize("encoded", [False, True])
def test_frames_give_the_release_of_all_rows(encoded, rng, tmp_path):
    frame = pd.DataFrame({"age": rng.uniform(0, 1, 300), "bmi": rng.rand(300)})
    if encoded:
        frame["age"] *= 100
        frame["smokes"] = rng.choice(["never", "formerly", "now", "else"], 300)
    frame["y"] = rng.choice(CLASSES, 300)
    encoder = {"encoder": TabularEncoder(SCHEMA)} if encoded else {}
    X = frame.drop(columns="y")
    expected = seeded(**encoder).fit(X, frame["y"])
    many = dd.from_pandas(frame, npartitions=7)
    many = dd.concat([many, many[many["age"] > 1e9]])  # partitions without rows
    fitted = seeded(**encoder).fit(many[list(X.columns)], many["y"])
    assert file_of(fitted, tmp_path) == file_of(expected, tmp_path)
    assert fitted.feature_names_in_.tolist() == expected.feature_names_in_.tolist()


@pytest.mark.parametrize("model", ["linear", "gradients"])
def test_small_parquet_files_give_the_release_of_all_rows(model, rng, tmp_path):
    """Dask joins small files, more of one column than of many."""
    frame = pd.DataFrame(rng.rand(300, 8), columns=list("abcdefgh"))
    frame["y"] = rng.choice(CLASSES, 300)
    for k in range(6):
        frame[50 * k : 50 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    stored = dd.read_parquet(tmp_path)
    X = frame.drop(columns="y")
    fitted = seeded(model=model).fit(stored[list(X.columns)], stored["y"])
    expected = seeded(model=model).fit(X, frame["y"])
    assert file_of(fitted, tmp_path) == file_of(expected, tmp_path)


def test_persons_within_chunks_give_the_release_of_all_rows(rows, tmp_path):
    X, y, groups = rows
    expected = seeded(privacy_unit="group").fit(X, y, groups=groups)
    collections = [da.from_array(a, chunks=(70, *a.shape[1:])) for a in (X, y, groups)]
    fitted = seeded(privacy_unit="group").fit(*collections)
    assert file_of(fitted, tmp_path) == file_of(expected, tmp_path)
    divided = [a.rechunk({0: 50}) for a in collections]
    with pytest.raises(ValueError, match="several chunks"):
        seeded(privacy_unit="group").fit(*divided)


@pytest.mark.parametrize("by_group", [False, True])
def test_models_of_several_passes_read_rows_of_a_temporary_file(by_group, rows, tmp_path):
    """The release is that of rows in memory, even of a person in several chunks."""
    X, y, groups = rows if by_group else (*rows[:2], None)
    unit = {"privacy_unit": "group" if by_group else "record", "model": "gradients"}
    expected = seeded(**unit).fit(X, y, groups)
    collections = rows[: 3 if by_group else 2]
    given = [da.from_array(a, chunks=(64, *a.shape[1:])) for a in collections]
    assert file_of(seeded(**unit).fit(*given), tmp_path) == file_of(expected, tmp_path)
    wide = da.from_array(np.tile(X, 20), chunks=(64, 80))
    assert seeded(model="mixtures").fit(wide, given[1]).release_.mixtures is not None


def test_people_of_signed_and_unsigned_chunks_stay_apart():
    """IDs above 2^53 would collide as floats: then a person would change the rows of another."""
    ids = [np.full(30, 2**60 + 1, dtype=np.int64), np.full(1, 2**60, dtype=np.uint64)]
    groups = [da.from_delayed(dask.delayed(part), part.shape, dtype=np.int64) for part in ids]
    X, y = da.from_array(np.ones((31, 2)), chunks=((30, 1), 2)), np.arange(31) % 2
    source = seeded(privacy_unit="group", model="gradients", classes=[0, 1])
    plan = announced_plan(source, *announced_columns(X))
    rows = plan.gather(X, da.from_array(y, chunks=((30, 1),)), da.concatenate(groups))
    assert set(rows.persons) == {2**60, 2**60 + 1}
    assert rows.sizes.tolist() == [30] * 30 + [1]


def test_rows_that_cannot_be_read_are_refused_before_a_charge(rows, tmp_path):
    X, y, _ = rows
    X[450, 2] = np.inf
    source = seeded(model="gradients", ledger=tmp_path / "ledger.json")
    with pytest.raises(ValueError, match="infinity"):
        source.fit(da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50))
    assert not (tmp_path / "ledger.json").exists()


def test_chunks_of_other_rows_are_refused(rows):
    X, y, _ = rows
    Xd, yd = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    for labels in (yd.rechunk(50), yd.rechunk((90, 110, 100, 100, 100)), yd[:400]):
        with pytest.raises(ValueError, match="chunks") as error:
            seeded().fit(Xd, labels)
        assert "inconsistent numbers" not in str(error.value)
    persons = da.from_array(np.arange(500), chunks=(99, 101, 100, 100, 100))
    with pytest.raises(ValueError, match="different rows in corresponding chunks"):
        seeded(privacy_unit="group").fit(Xd, yd, persons)
    # As many rows in each partition, but other ones.
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=5)
    labels = dd.from_pandas(pd.Series(y, index=np.arange(500) + 1), npartitions=5)
    with pytest.raises(ValueError, match="different rows in corresponding chunks"):
        seeded().fit(frame, labels)
    # Arrays have no index; nor have lengths that nobody knows before they are computed.
    unknown = frame.to_dask_array()
    assert seeded().fit(unknown, yd).n_features_in_ == 4


def test_what_is_no_collection_is_refused(rows):
    X, y, groups = rows
    Xd, yd = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    with pytest.raises(ValueError, match="'y' parameter must be a Dask"):
        seeded().fit(Xd, y)
    with pytest.raises(ValueError, match="'groups' parameter must be a Dask"):
        seeded(privacy_unit="group").fit(Xd, yd, groups)
    with pytest.raises(ValueError, match=r"'X' parameter must be a Dask.*skdp\[dask\]"):
        seeded().accumulator(4).add_dask(X, y)
    with pytest.raises(ValueError, match="two dimensions"):
        seeded().fit(yd, yd)
    assert is_dask(Xd)
    # Columns may have any names.
    assert not is_dask(pd.DataFrame({"dask": [1], "to_delayed": [2]}))


def test_errors_in_chunks_print_no_value_and_add_nothing(rows):
    X, y, _ = rows
    X[77, 2] = np.inf
    source = seeded()
    accumulator = source.accumulator(4)
    with pytest.raises(ValueError, match="infinity") as error:
        accumulator.add_dask(da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50))
    assert str(X[77, 0])[:6] not in str(error.value)
    assert not accumulator._exact().counts.any()
