"""Handwritten digits: MNIST and USPS, local or downloaded, and two bundled domains."""

import os
import zipfile
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter, rotate, zoom
from sklearn.datasets import fetch_openml, load_digits
from sklearn.utils import Bunch

from skdp.datasets._base import local_file, missing_file

_ARRAYS = ("X_train", "y_train", "X_test", "y_test")


def fetch_mnist(
    *,
    subset: str = "train",
    data_home: str | os.PathLike[str] | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load MNIST, 70,000 handwritten digits of 28 × 28 pixels.

    The file ``mnist.npz`` in the folder ``SKDP_DATA`` (an environment variable) is read if it
    exists. Otherwise :func:`sklearn.datasets.fetch_openml` downloads and caches the data.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 60,000 training digits, the 10,000 test digits, or both in that order.

    data_home : str or path-like, default=None
        Cache of the download; default: scikit-learn's folder.

    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    mnist : :class:`~sklearn.utils.Bunch`
        Dictionary-like, with

        data : ndarray of shape (n_samples, 784)
            Pixels in [0, 1], float32.
        target : ndarray of shape (n_samples,)
            Digits 0…9.
        DESCR : str
            Description and origin.

    Raises
    ------
    ValueError
        If ``subset`` is unknown.

    OSError
        If neither a local file nor a network is available.

    Examples
    --------
    >>> from skdp.datasets import fetch_mnist
    >>> X, y = fetch_mnist(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (60000, 784)
    """
    return _load("mnist", "mnist_784", subset, data_home, return_X_y)


def fetch_usps(
    *,
    subset: str = "train",
    data_home: str | os.PathLike[str] | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load USPS, 9,298 handwritten digits of 16 × 16 pixels.

    The file ``usps.npz`` in the folder ``SKDP_DATA`` (an environment variable) is read if it
    exists. Otherwise :func:`sklearn.datasets.fetch_openml` downloads and caches the data.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 7,291 training digits, the 2,007 test digits, or both in that order.

    data_home : str or path-like, default=None
        Cache of the download; default: scikit-learn's folder.

    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    usps : :class:`~sklearn.utils.Bunch`
        Dictionary-like, with

        data : ndarray of shape (n_samples, 256)
            Pixels in [0, 1], float32.
        target : ndarray of shape (n_samples,)
            Digits 0…9.
        DESCR : str
            Description and origin.

    Raises
    ------
    ValueError
        If ``subset`` is unknown.

    OSError
        If neither a local file nor a network is available.

    Examples
    --------
    >>> from skdp.datasets import fetch_usps
    >>> X, y = fetch_usps(subset="test", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (2007, 256)
    """
    return _load("usps", "USPS", subset, data_home, return_X_y)


def load_digits_domains() -> Bunch:
    """Load two related domains of handwritten digits; needs no network and no files.

    The source is one half of scikit-learn's digits, unchanged (8 × 8 pixels). The target
    is the *other* half rotated by 15°, slightly blurred, and reduced to 7 × 7 pixels, so that
    the two differ in distribution and in number of features, and share no digit.

    Returns
    -------
    domains : :class:`~sklearn.utils.Bunch`
        Dictionary-like, with

        source : ndarray of shape (899, 64)
            Pixels in [0, 1], float64.
        source_target : ndarray of shape (899,)
            Digits 0…9.
        target : ndarray of shape (898, 49)
            Pixels in [0, 1], float64.
        target_target : ndarray of shape (898,)
            Digits 0…9.
        DESCR : str
            Description.

    See Also
    --------
    fetch_mnist, fetch_usps : Two domains of real size.

    Examples
    --------
    >>> from skdp.datasets import load_digits_domains
    >>> domains = load_digits_domains()
    >>> domains.source.shape, domains.target.shape
    ((899, 64), (898, 49))
    """
    digits = load_digits()
    images = digits.images / 16.0
    # Every other digit: the writers of the original file are spread over both halves.
    source, target = images[0::2], images[1::2]
    moved = rotate(target, 15, axes=(2, 1), reshape=False, order=1)
    blurred = gaussian_filter(moved, sigma=(0, 0.4, 0.4))
    small = np.clip(zoom(blurred, (1, 7 / 8, 7 / 8), order=1), 0.0, 1.0)
    return Bunch(
        source=source.reshape(len(source), -1),
        source_target=digits.target[0::2],
        target=small.reshape(len(small), -1),
        target_target=digits.target[1::2],
        DESCR=load_digits_domains.__doc__,
    )


def _load(name, public_name, subset, data_home, return_X_y):
    if subset not in ("train", "test", "all"):
        raise ValueError(
            f"The 'subset' parameter of fetch_{name} must be one of ('train', 'test', 'all'), got "
            f"{subset!r}."
        )
    local = local_file(f"{name}.npz")
    if local is None:
        X, y = _download(name, public_name, data_home)
        n_train = {"mnist": 60_000, "usps": 7_291}[name]  # which both copies list first
    else:
        X_train, y_train, X_test, y_test = _read(local)
        X, y = np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test])
        n_train = len(y_train)
    rows = {"train": slice(n_train), "test": slice(n_train, None), "all": slice(None)}[subset]
    data = _scaled(X, rows)
    target = y[rows].astype(np.int64)
    if return_X_y:
        return data, target
    origin = "OpenML" if local is None else local
    return Bunch(data=data, target=target, DESCR=f"{name.upper()} ({subset}), from {origin}")


def _read(path):
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[name] for name in _ARRAYS]
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise OSError(
            f"Could not read {str(path)!r} ({error}). It must be an intact .npz file with the "
            f"arrays {', '.join(_ARRAYS)}; take SKDP_DATA away to download the data instead."
        ) from error


def _scaled(X, rows):
    """Return rows of flattened pixels in [0, 1], whatever range a copy uses."""
    low, high = (-1.0, 1.0) if X.min() < 0 else (0.0, 255.0 if X.max() > 1 else 1.0)
    X = X[rows].reshape(len(X[rows]), int(np.prod(X.shape[1:])))
    return (X.astype(np.float32) - np.float32(low)) / np.float32(high - low)


def _download(name, public_name, data_home):
    try:
        X, y = fetch_openml(
            public_name, version="active", as_frame=False, return_X_y=True, data_home=data_home
        )
    except OSError as error:
        remedy = (
            f" with arrays {', '.join(_ARRAYS)}, or connect to the network: {public_name!r} could "
            f"not be downloaded from OpenML ({error}); "
            "skdp.datasets.load_digits_domains() needs neither"
        )
        raise missing_file(f"{name}.npz", remedy) from error
    y = y.astype(np.int64)
    return X, y - y.min()  # the public USPS calls its digits 1…10
