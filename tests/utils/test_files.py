"""Files are written whole or not at all, keep their permissions, and have one checksum."""

import hashlib
import json
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from skdp.utils import _files
from skdp.utils._files import PRIVATE, checksum, locked, write_whole

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


def put(path, content=b"new", **settings):
    with write_whole(path, **settings) as file:
        file.write(content)


def permissions(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def only_file(folder):
    (path,) = folder.iterdir()
    return path


@pytest.fixture
def there(tmp_path):
    path = tmp_path / "there"
    path.write_bytes(b"old")
    return path


def test_a_file_takes_its_place_once_it_is_complete(there):
    with open(there, "rb") as reader:
        with write_whole(there) as file:
            file.write(b"new")
            file.flush()
            assert there.read_bytes() == b"old"
        assert reader.read() == b"old"  # whoever had it open keeps it
    assert there.read_bytes() == b"new"
    assert only_file(there.parent) == there


@pytest.mark.parametrize("function", ["fsync", "replace", "chmod"])
def test_a_failure_leaves_what_was_there(there, monkeypatch, function):
    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(os, function, fail)
        with pytest.raises(OSError, match="disk full"):
            put(there)
    with pytest.raises(UnicodeEncodeError), write_whole(there) as file:
        file.write("half of what \ud800".encode())
    assert there.read_bytes() == b"old"
    assert only_file(there.parent) == there


@posix
@pytest.mark.parametrize("old", [0o600, 0o640, 0o644, 0o664])
def test_a_replaced_file_hands_down_its_permissions(there, old):
    there.chmod(old)
    with write_whole(there, mode=0o666) as file:
        assert permissions(file.name) == 0o600
        file.write(b"new")
    assert permissions(there) == old


@posix
@pytest.mark.parametrize(("umask", "usual"), [(0o022, 0o644), (0o077, 0o600), (0, 0o666)])
def test_permissions_of_a_new_file(tmp_path, umask, usual):
    before = os.umask(umask)
    try:
        put(tmp_path / "usual")
        put(tmp_path / "private", mode=PRIVATE)
        put(tmp_path / "claimed", mode=PRIVATE, overwrite=False)
    finally:
        os.umask(before)
    assert permissions(tmp_path / "usual") == usual
    assert permissions(tmp_path / "private") == 0o600
    assert permissions(tmp_path / "claimed") == 0o600


@posix
def test_permissions_of_a_group_that_cannot_be_kept_go_to_no_other(there, monkeypatch):
    there.chmod(0o660)
    old = there.stat()
    foreign = os.stat_result([*old[:5], old.st_gid + 1, *old[6:]])

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    assert _files._inherited(there, foreign) == 0o600
    assert _files._inherited(there, old) == 0o660


@pytest.mark.parametrize("links", [True, False])
def test_what_appears_meanwhile_is_not_replaced(tmp_path, monkeypatch, links):
    path = tmp_path / "file"
    if not links:

        def refuse(*_):
            raise OSError("Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
    draft = write_whole(path, overwrite=False)
    draft.__enter__().write(b"mine")
    path.write_bytes(b"another's")
    with pytest.raises(FileExistsError, match="There is such a file already"):
        draft.__exit__(None, None, None)
    assert path.read_bytes() == b"another's"
    assert only_file(tmp_path) == path
    path.unlink()
    put(path, b"mine", overwrite=False)
    assert path.read_bytes() == b"mine"
    assert only_file(tmp_path) == path


@pytest.mark.parametrize("name", [255 * "n", 127 * "ü", 63 * "𝒏"])
def test_a_draft_is_made_of_the_longest_names(tmp_path, name):
    put(tmp_path / name)
    assert only_file(tmp_path).read_bytes() == b"new"
    entered = []
    with pytest.raises(OSError, match="too long"), write_whole(tmp_path / (name + "nnnn")):
        entered.append(True)
    assert entered == []  # nothing is computed for a file that cannot be


def test_what_is_there_is_refused_before_anything_is_written(there):
    with pytest.raises(FileExistsError, match=r"There is such a file already.*there"):
        put(there, overwrite=False)
    with pytest.raises(OSError, match="not a regular file"):
        put(there.parent)
    with pytest.raises(FileNotFoundError, match=r"The folder .*nowhere.* does not exist"):
        put(there.parent / "nowhere" / "file")
    assert only_file(there.parent).read_bytes() == b"old"


def test_a_symbolic_link_stays_one(tmp_path):
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    # Somebody may have put it there: a key is not written where it leads.
    with pytest.raises(FileExistsError):
        put(link, overwrite=False)
    assert not target.exists()
    for content in (b"new", b"newer"):
        put(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content


def test_all_is_on_disk_when_it_returns(there, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        function = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, name=name, function=function: (done.append(name), function(*a))
        )
    put(there)
    assert done == ["fsync", "replace", "fsync"]


def test_checksum_is_that_of_json_and_of_the_bytes_of_arrays():
    content = {"b": [1, None, "é"], "a": np.int64(3)}
    text = json.dumps({"a": 3, "b": [1, None, "é"]}).encode()
    assert checksum(content) == hashlib.sha256(text).hexdigest()
    arrays = {"y": np.arange(6.0).reshape(2, 3), "x": np.array(["no"])}
    for y in (arrays["y"], np.asfortranarray(arrays["y"])):
        whole = text + b"x<U2(1,)" + arrays["x"].tobytes() + b"y<f8(2, 3)" + arrays["y"].tobytes()
        assert checksum(content, {**arrays, "y": y}) == hashlib.sha256(whole).hexdigest()


def test_large_arrays_in_another_order_are_hashed_in_blocks(monkeypatch):
    array = np.random.RandomState(0).rand(70, 9)
    expected = checksum({}, {"a": array})
    monkeypatch.setattr(_files, "_HASHED_AT_ONCE", 300)
    assert len(list(_files._blocks(np.asfortranarray(array)))) > 10
    assert checksum({}, {"a": np.asfortranarray(array)}) == expected


def test_one_at_a_time_holds_a_lock(tmp_path):
    lock, inside = tmp_path / "lock", []

    def hold(number):
        with locked(lock, 30.0):
            inside.append(number)
            time.sleep(0.002)
            assert inside == [number]
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(hold, range(40))) == [None] * 40
    assert only_file(tmp_path) == lock  # which stays, and locks nothing by being there


def test_a_lock_ends_with_an_error_and_names_who_waits_too_long(tmp_path):
    lock, held, done = tmp_path / "lock", Event(), Event()

    def hold():
        with locked(lock, 0.0):
            held.set()
            done.wait(30)
            raise ZeroDivisionError

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(hold)
        assert held.wait(30)
        named = r"Another process holds .*lock' for 0.02 s"
        with pytest.raises(TimeoutError, match=named), locked(lock, 0.02):
            pass
        done.set()
        assert isinstance(other.exception(), ZeroDivisionError)
    with locked(lock, 0.0):
        assert lock.read_bytes() == b""


@posix
def test_a_lock_is_made_nowhere_else(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "lock", 0.0):
        pass
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(FileNotFoundError), locked(tmp_path / "nowhere" / "lock", 0.0):
        pass
    assert not (tmp_path / "nowhere").exists()
