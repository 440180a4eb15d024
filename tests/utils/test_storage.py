"""Files of arrays: what is read is what was written, and nothing else is allocated."""

import io
import json
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from skdp.utils._storage import (
    _arrays,
    _stored_members,
    load_arrays,
    restore_feature_names,
    save_arrays,
    stored_array,
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.any_ending"
    arrays = {"a/0": np.arange(5000.0).reshape(50, 100), "text": np.array(["x", "yz"])}
    save_arrays(path, "Thing", {"answer": [42, None, "é"]}, arrays)
    return path, arrays


def rewrite(path, **changes):
    """Replace members of the archive as somebody with a zip tool would."""
    with np.load(path) as archive:
        members = {name: archive[name] for name in archive.files}
    members.update(changes)
    with open(path, "wb") as out:
        np.savez(out, **members)


def header_of(path):
    with np.load(path) as archive:
        return json.loads(archive["header"].tobytes())


def encode(header):
    return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)


def test_round_trip(file):
    path, arrays = file
    header, loaded = load_arrays(path, "Thing")
    assert header["answer"] == [42, None, "é"]
    assert set(loaded) == set(arrays)
    for name, array in arrays.items():
        assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code ran on load",))


def truncated(share):
    return lambda path, data: path.write_bytes(data[: int(share * len(data))])


def flipped(share):
    def flip(path, data):
        i = int(share * len(data))
        path.write_bytes(data[:i] + bytes([data[i] ^ 0xFF]) + data[i + 1 :])

    return flip


def with_header(**changes):
    return lambda path, _: rewrite(path, header=encode(header_of(path) | changes))


@pytest.mark.parametrize(
    "damage",
    [
        *map(truncated, (0.0, 0.1, 0.5, 0.9, 0.999)),
        *map(flipped, np.linspace(0.01, 0.99, 15)),
        lambda path, _: rewrite(path, **{"a/0": np.arange(5000.0).reshape(50, 100) + 1}),
        with_header(answer=43),
        with_header(version=True),  # as a number it is 1
        lambda path, _: rewrite(path, extra=np.array([Bomb()], dtype=object)),
    ],
)
def test_a_damaged_or_altered_file_is_refused_and_runs_nothing(file, damage):
    path, _ = file
    damage(path, path.read_bytes())
    with pytest.raises(ValueError, match="not an intact skdp file"):
        load_arrays(path, "Thing")


def test_foreign_files(tmp_path):
    text, archive, other = tmp_path / "a.txt", tmp_path / "b.zip", tmp_path / "c.npz"
    text.write_text("hello")
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("header.npy", "not an array")
    np.savez(other, header=encode({"format": "else"}))
    for path in (text, archive, other):
        with pytest.raises(ValueError, match="not an intact skdp file"):
            load_arrays(path, "Thing")
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "missing", "Thing")


def test_kind_and_version_are_checked(file):
    path, _ = file
    with pytest.raises(ValueError, match=r"holds a Thing, not a Model\. Load it with Thing\.load"):
        load_arrays(path, "Model")
    rewrite(path, header=encode({**header_of(path), "version": 99}))
    said = r"another version of skdp.* format version 99, this skdp reads 1\. Update skdp"
    with pytest.raises(ValueError, match=said):
        load_arrays(path, "Thing")
    # Whatever else is different there.
    changed = {"format": "skdp", "version": 99, "digest": "blake"}
    rewrite(path, header=encode(changed), other=np.zeros(3, dtype="datetime64[s]"))
    with pytest.raises(ValueError, match=said):
        load_arrays(path, "Thing")


def test_feature_names_are_none_or_texts_for_all_columns():
    estimator = BaseEstimator()
    estimator.n_features_in_ = 2
    restore_feature_names(estimator, [])
    assert not hasattr(estimator, "feature_names_in_")
    for names in (["a"], ["a", 1], ["a", ["b"]], ["a", "b", "c"], "ab", None, {"a": 0, "b": 1}):
        with pytest.raises(ValueError, match="feature_names do not fit"):
            restore_feature_names(estimator, names)
    restore_feature_names(estimator, ["a", "b"])
    assert estimator.feature_names_in_.tolist() == ["a", "b"]


def test_a_failed_write_leaves_the_old_file(file, monkeypatch):
    path, arrays = file

    def fail(handle, **arrays):
        handle.write(b"half of it")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        save_arrays(path, "Thing", {}, arrays)
    load_arrays(path, "Thing")
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def written(path, arrays):
    with open(path, "wb") as file:
        np.savez(file, **arrays)
    return path


def read(path, mmap_mode=None):
    with open(path, "rb") as file:
        return _arrays(file, _stored_members(file, os.fstat(file.fileno()).st_size), mmap_mode)


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array)
    return buffer.getvalue()


def zipped(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, blob in members:
            archive.writestr(name, blob)
    return path


ARRAYS = {
    "c/order": np.arange(12.0).reshape(3, 4),
    "f/order": np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4)),
    "cube": np.asfortranarray(np.arange(24, dtype=np.int32).reshape(2, 3, 4)),
    "number": np.array(3),
    "nothing": np.zeros((0, 5)),
    "text": np.array(["é", "ab"]),
}


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_round_trip_of_an_archive(tmp_path, mmap_mode):
    found = read(written(tmp_path / "archive", ARRAYS), mmap_mode)
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
        assert found[name].flags.f_contiguous == array.flags.f_contiguous
        assert not found[name].flags.writeable
        assert isinstance(found[name], np.memmap) == (mmap_mode == "r" and array.size > 0)


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_a_bomb_is_refused_before_it_goes_off(tmp_path, compression):
    size = 2**26
    path = zipped(tmp_path / "bomb", [("a.npy", npy(np.zeros(size // 8)))], compression)
    assert path.stat().st_size < size / 500
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 100


def test_a_header_that_promises_more_than_there_is_is_refused(tmp_path):
    blob = npy(np.zeros((1, 10**6)))
    for shape in ("(1, 9000000)", "(9, 1000000)", "(-1, 100000)", "(1, 900000)"):
        altered = blob.replace(b"(1, 1000000)", shape.ljust(12).encode())
        assert altered != blob
        with pytest.raises(ValueError, match="does not fill its member"):
            read(zipped(tmp_path / "archive", [("a.npy", altered)]))


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ([("a.txt", b"hello")], "not an array"),
        ([("a.npy", npy(np.zeros(3))), ("a.npy", npy(np.ones(3)))], "duplicate"),
        ([("a.npy", b"hello, this is not an array")], "magic"),
        ([("a.npy", npy(np.array(["x"], dtype="S1")))], "neither numbers nor text"),
        ([("a.npy", npy(np.zeros(2, dtype="f4,i4")))], "neither numbers nor text"),
        ([("a.npy", npy(np.zeros(2, dtype="M8[s]")))], "neither numbers nor text"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_is_no_array_is_refused(tmp_path, members, problem):
    with pytest.raises(ValueError, match=problem):
        read(zipped(tmp_path / "archive", members))


def test_members_must_lie_apart(tmp_path):
    """Two entries of the directory that point at one place would be read twice."""
    path = zipped(
        tmp_path / "archive", [("a.npy", npy(np.zeros(99))), ("b.npy", npy(np.ones(99)))]
    )
    blob = bytearray(path.read_bytes())
    second = blob.rindex(b"PK\x01\x02")
    struct.pack_into("<I", blob, second + 42, 0)  # its member is the first one
    path.write_bytes(blob)
    with pytest.raises(ValueError, match="overlap"):
        read(path)


def test_reading_takes_no_more_than_the_file(tmp_path):
    arrays = {f"{k}": np.random.RandomState(k).rand(1000, 500) for k in range(4)}
    path = written(tmp_path / "archive", arrays)
    tracemalloc.start()
    found = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.02 * path.stat().st_size
    assert len(found) == 4


@pytest.mark.parametrize("shape", [(3, 2), (None, 2), (None, None)])
def test_stored_arrays_of_the_right_kind_are_returned_as_they_are(shape):
    array = np.ones((3, 2), dtype=np.float32)
    assert stored_array({"a": array}, "a", np.float32, shape) is array


@pytest.mark.parametrize(
    "array",
    [
        None,
        [[1.0, 1.0]],
        np.ones((3, 3)),
        np.ones((3, 2, 1)),
        np.ones((0, 2)),
        np.ones((3, 2), dtype=np.float32),
        np.ones((3, 2), dtype=complex),
        np.ones((3, 2), dtype=object),
        np.full((3, 2), "x"),
        np.full((3, 2), np.nan),
        np.full((3, 2), -np.inf),
    ],
)
def test_other_stored_arrays_are_refused_by_name(array):
    with pytest.raises(ValueError, match=r"array 'a' is not .*float64 .*shape \(any, 2\)"):
        stored_array({"a": array}, "a", float, (None, 2))
    with pytest.raises(ValueError, match="array 'b'"):
        stored_array({"a": array}, "b", float, (None, 2))
