"""Archives of arrays: what is read is what was written, and nothing else is allocated."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp.utils._archive import read_archive, write_archive


def written(path, arrays):
    with open(path, "wb") as file:
        write_archive(file, arrays)
    return path


def read(path, mmap_mode=None):
    with open(path, "rb") as file:
        return read_archive(file, mmap_mode)


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
def test_round_trip(tmp_path, mmap_mode):
    found = read(written(tmp_path / "archive", ARRAYS), mmap_mode)
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
        assert found[name].flags.f_contiguous == array.flags.f_contiguous
        assert not found[name].flags.writeable
        assert isinstance(found[name], np.memmap) == (mmap_mode == "r" and array.size > 0)


def test_what_numpy_reads_is_the_same(tmp_path):
    path = written(tmp_path / "archive", ARRAYS)
    with np.load(path) as expected:
        for name, array in read(path).items():
            assert_array_equal(array, expected[name])


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
        ([("a.txt", b"hello")], "no array"),
        ([("a.npy", npy(np.zeros(3))), ("a.npy", npy(np.ones(3)))], "there twice"),
        ([("a.npy", b"hello, this is no array")], "magic"),
        ([("a.npy", npy(np.array(["x"], dtype="S1")))], "no numbers and no text"),
        ([("a.npy", npy(np.zeros(2, dtype="f4,i4")))], "no numbers and no text"),
        ([("a.npy", npy(np.zeros(2, dtype="M8[s]")))], "no numbers and no text"),
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
