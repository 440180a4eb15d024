import json
import os
import stat
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp.utils import _storage
from skdp.utils._files import checksum
from skdp.utils._storage import load_arrays, save_arrays


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


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated(file, fraction):
    path, _ = file
    data = path.read_bytes()
    path.write_bytes(data[: int(fraction * len(data))])
    with pytest.raises(ValueError, match="not an intact skdp file"):
        load_arrays(path, "Thing")


@pytest.mark.parametrize("position", np.linspace(0.01, 0.99, 15))
def test_a_flipped_byte(file, position):
    path, _ = file
    data = bytearray(path.read_bytes())
    data[int(position * len(data))] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ValueError, match="not an intact skdp file"):
        load_arrays(path, "Thing")


def test_altered_with_a_valid_archive(file):
    path, arrays = file
    rewrite(path, **{"a/0": arrays["a/0"] + 1})
    with pytest.raises(ValueError, match="not an intact skdp file"):
        load_arrays(path, "Thing")


def test_altered_header(file):
    path, _ = file
    rewrite(path, header=encode({**header_of(path), "answer": 43}))
    with pytest.raises(ValueError, match="not an intact skdp file"):
        load_arrays(path, "Thing")


def test_pickled_objects_are_never_loaded(file):
    path, _ = file

    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("code ran on load",))

    rewrite(path, extra=np.array([Bomb()], dtype=object))
    with pytest.raises(ValueError, match="not an intact skdp file"):
        load_arrays(path, "Thing")


def test_foreign_files(tmp_path):
    text, archive, other = tmp_path / "a.txt", tmp_path / "b.zip", tmp_path / "c.npz"
    text.write_text("hello")
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("header.npy", "no array")
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
    with pytest.raises(ValueError, match=r"format version 99, this skdp reads 4 and 5\. Update"):
        load_arrays(path, "Thing")
    rewrite(path, header=encode({**header_of(path), "version": 3}))
    with pytest.raises(ValueError, match=r"format version 3, .* Ask its owner to write it anew"):
        load_arrays(path, "Thing")


def as_version(path, arrays, **changes):
    """Write the header anew, with a checksum that fits."""
    header = {**header_of(path), **changes}
    header.pop("sha256")
    header["sha256"] = checksum(header, arrays)
    rewrite(path, header=encode(header))


def test_both_published_versions_are_read(file):
    path, arrays = file
    assert load_arrays(path, "Thing")[0]["version"] == 5
    as_version(path, arrays, version=4)
    header, loaded = load_arrays(path, "Thing")
    assert header["version"] == 4
    assert header["answer"] == [42, None, "é"]
    assert_array_equal(loaded["a/0"], arrays["a/0"])
    # A checksum of the other version is that of another file.
    rewrite(path, header=encode({**header_of(path), "version": 5}))
    with pytest.raises(ValueError, match="not an intact skdp file"):
        load_arrays(path, "Thing")


def test_releases_had_another_name_in_version_4(file):
    path, arrays = file
    as_version(path, arrays, version=4, kind="DPSource")
    assert load_arrays(path, "Release")[0]["answer"] == [42, None, "é"]
    with pytest.raises(ValueError, match=r"holds a Release, not a Thing\. Load it with Release"):
        load_arrays(path, "Thing")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*nowhere'"):
        save_arrays(tmp_path / "nowhere" / "file", "Thing", {}, {})
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(file, monkeypatch):
    path, arrays = file

    def fail(handle, arrays):
        handle.write(b"half of it")
        raise OSError("disk full")

    monkeypatch.setattr(_storage, "write_archive", fail)
    with pytest.raises(OSError, match="disk full"):
        save_arrays(path, "Thing", {}, arrays)
    load_arrays(path, "Thing")
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_file_that_only_its_owner_may_read_stays_so(file):
    path, arrays = file
    path.chmod(0o600)
    save_arrays(path, "Thing", {}, arrays)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
