import os
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp.datasets import (
    _digits,
    fetch_mnist,
    fetch_usps,
    load_digits_domains,
)

CASES = [(fetch_mnist, "mnist", 28, 60_000), (fetch_usps, "usps", 16, 7_291)]


def test_domains_differ_in_width_and_share_no_digit():
    domains = load_digits_domains()
    assert domains.source.shape == (899, 64)
    assert domains.target.shape == (898, 49)
    assert len(domains.source) == len(domains.source_target)
    assert len(domains.target) == len(domains.target_target)
    for X in (domains.source, domains.target):
        assert X.min() >= 0
        assert X.max() <= 1
    for y in (domains.source_target, domains.target_target):
        assert_array_equal(np.unique(y), np.arange(10))
    assert_array_equal(load_digits_domains().target, domains.target)


@pytest.fixture(params=CASES, ids=["mnist", "usps"])
def small_file(request, tmp_path, monkeypatch):
    """A miniature file of the documented form, and the loader that should find it."""
    fetch, name, side, _ = request.param
    rng = np.random.RandomState(0)
    X = rng.randint(0, 256, size=(9, side, side)).astype(np.uint8)
    if name == "usps":
        X = (X / 255.0).astype(np.float32).reshape(9, -1)
    y = np.arange(9).astype(np.uint8)
    np.savez(tmp_path / f"{name}.npz", X_train=X[:6], y_train=y[:6], X_test=X[6:], y_test=y[6:])
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    return fetch


@pytest.mark.parametrize(("subset", "labels"), [("train", range(6)), ("test", range(6, 9))])
def test_local_file_comes_first(small_file, subset, labels):
    X, y = small_file(subset=subset, return_X_y=True)
    assert X.dtype == np.float32
    assert X.max() <= 1.0
    assert_array_equal(y, labels)
    assert len(small_file(subset="all").data) == 9


@pytest.mark.parametrize(("fetch", "name", "side", "n_train"), CASES)
def test_download_has_the_same_form(fetch, name, side, n_train, monkeypatch):
    monkeypatch.delenv("SKDP_DATA", raising=False)

    def public_copy(*args, **kwargs):
        low, high, first = (0.0, 255.0, 0) if name == "mnist" else (-1.0, 1.0, 1)
        X = np.where(np.arange(side**2) % 2, high, low) * np.ones((n_train + 10, 1))
        return X, (np.arange(len(X)) % 10 + first).astype(str)

    monkeypatch.setattr(_digits, "fetch_openml", public_copy)
    X, y = fetch(subset="test", return_X_y=True)
    assert X.shape == (10, side**2)
    assert (X.min(), X.max()) == (0.0, 1.0)
    assert set(y) == set(range(10))


@pytest.mark.parametrize(("fetch", "name", "side", "n_train"), CASES)
def test_offline_says_what_to_do(fetch, name, side, n_train, monkeypatch, tmp_path):
    def offline(*args, **kwargs):
        raise URLError("no network")

    monkeypatch.setattr(_digits, "fetch_openml", offline)
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    message = rf"not a folder with {name}.npz. .*SKDP_DATA to a folder that holds it.*no network"
    with pytest.raises(OSError, match=message):
        fetch()


def test_unknown_subset_is_named():
    with pytest.raises(ValueError, match=r"'subset' parameter of fetch_usps.*got 'validation'"):
        fetch_usps(subset="validation")


@pytest.mark.parametrize(("fetch", "name", "side", "n_train"), CASES)
def test_the_real_thing(fetch, name, side, n_train):
    folder = os.environ.get("SKDP_DATA")
    if not folder or not (Path(folder) / f"{name}.npz").is_file():
        pytest.skip(f"SKDP_DATA names no folder with {name}.npz")
    bunch = fetch()
    assert bunch.data.shape == (n_train, side**2)
    assert bunch.data.dtype == np.float32
    assert (bunch.data.min(), bunch.data.max()) == (0.0, 1.0)
    assert_array_equal(np.unique(bunch.target), np.arange(10))


@pytest.mark.parametrize("content", [b"not an archive", b""])
def test_unreadable_local_file(content, tmp_path, monkeypatch):
    (tmp_path / "mnist.npz").write_bytes(content)
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    with pytest.raises(OSError, match=r"Could not read .*mnist\.npz.*X_train, y_train"):
        fetch_mnist()


def test_local_file_with_other_arrays(tmp_path, monkeypatch):
    np.savez(tmp_path / "usps.npz", x_train=np.zeros(3))
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    with pytest.raises(OSError, match="X_train is not a file in the archive"):
        fetch_usps()
