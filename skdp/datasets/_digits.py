"""MNIST and USPS, from a local folder or downloaded."""

import os
import zipfile
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

_SUBSETS = ("train", "test", "all")
# Number of training digits, which both public copies list first.
_N_TRAIN = {"mnist": 60_000, "usps": 7_291}
_ARRAYS = ("X_train", "y_train", "X_test", "y_test")


def fetch_mnist(*, subset="train", data_home=None, return_X_y=False):
    """Load MNIST, 70,000 handwritten digits of 28 × 28 pixels.

    The file ``mnist.npz`` in the folder that the environment variable ``SKDP_DATA`` names
    is read first. Without it, the data are downloaded through
    :func:`sklearn.datasets.fetch_openml` and cached.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 60,000 training digits, the 10,000 test digits, or both in that order.

    data_home : str or path-like, default=None
        Where the download is cached; scikit-learn's folder by default.

    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    mnist : :class:`~sklearn.utils.Bunch`
        With ``data`` of shape (n_samples, 784), float32 pixels in [0, 1], ``target`` of
        shape (n_samples,), digits 0…9, and ``DESCR``.

    Raises
    ------
    ValueError
        When ``subset`` is unknown.

    OSError
        When there is neither a local file nor a network.

    Examples
    --------
    >>> from skdp.datasets import fetch_mnist
    >>> X, y = fetch_mnist(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (60000, 784)
    """
    return _load("mnist", "mnist_784", subset, data_home, return_X_y)


def fetch_usps(*, subset="train", data_home=None, return_X_y=False):
    """Load USPS, 9,298 handwritten digits of 16 × 16 pixels.

    The file ``usps.npz`` in the folder that the environment variable ``SKDP_DATA`` names is
    read first. Without it, the data are downloaded through
    :func:`sklearn.datasets.fetch_openml` and cached.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 7,291 training digits, the 2,007 test digits, or both in that order.

    data_home : str or path-like, default=None
        Where the download is cached; scikit-learn's folder by default.

    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    usps : :class:`~sklearn.utils.Bunch`
        With ``data`` of shape (n_samples, 256), float32 pixels in [0, 1], ``target`` of
        shape (n_samples,), digits 0…9, and ``DESCR``.

    Raises
    ------
    ValueError
        When ``subset`` is unknown.

    OSError
        When there is neither a local file nor a network.

    Examples
    --------
    >>> from skdp.datasets import fetch_usps
    >>> X, y = fetch_usps(subset="test", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (2007, 256)
    """
    return _load("usps", "USPS", subset, data_home, return_X_y)


def _load(name, public_name, subset, data_home, return_X_y):
    if subset not in _SUBSETS:
        raise ValueError(
            f"The 'subset' parameter of fetch_{name} must be one of {_SUBSETS}, got {subset!r}."
        )
    local = local_file(f"{name}.npz")
    if local is None:
        X, y = _download(name, public_name, data_home)
        n_train = _N_TRAIN[name]
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
    """Return rows of flattened pixels in [0, 1]; copies differ in the range they use."""
    low, high = (-1.0, 1.0) if X.min() < 0 else (0.0, 255.0 if X.max() > 1 else 1.0)
    X = X[rows].reshape(len(X[rows]), int(np.prod(X.shape[1:])))
    return (X.astype(np.float32) - np.float32(low)) / np.float32(high - low)


def local_file(file_name):
    """Return the path of a file in the folder that SKDP_DATA names.

    Parameters
    ----------
    file_name : str
        Such as ``"mnist.npz"``.

    Returns
    -------
    path : pathlib.Path or None
        None where no folder is named, or the file is not in it.

    Examples
    --------
    >>> local_file("no such file") is None
    True
    """
    folder = os.environ.get("SKDP_DATA")
    if not folder:
        return None
    path = Path(folder) / file_name
    return path if path.is_file() else None


def _download(name, public_name, data_home):
    try:
        X, y = fetch_openml(
            public_name, version="active", as_frame=False, return_X_y=True, data_home=data_home
        )
    except OSError as error:
        raise OSError(
            f"Could not download {public_name!r} from OpenML ({error}), and SKDP_DATA="
            f"{os.environ.get('SKDP_DATA')!r} names no folder with {name}.npz. Connect to "
            f"the network, or set the environment variable SKDP_DATA to a folder that holds "
            f"{name}.npz with arrays {', '.join(_ARRAYS)}; "
            "skdp.datasets.load_digits_domains() needs neither."
        ) from error
    y = y.astype(np.int64)
    return X, y - y.min()  # the public USPS calls its digits 1…10
