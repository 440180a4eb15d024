"""MNIST and USPS: from a local folder first, from their public home otherwise."""

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

_SUBSETS = ("train", "test", "all")
# Both public copies list the training digits first.
_N_TRAIN = {"mnist": 60_000, "usps": 7_291}


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

    def scale(X):
        return X.astype(np.float32) / 255

    def download():
        return _download("mnist_784", data_home)

    return _load("mnist", download, scale, subset, return_X_y)


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

    def scale(X):
        # The public copy holds pixels in [−1, 1], the local file in [0, 1].
        X = X.astype(np.float32)
        return (X + 1) / 2 if X.min() < 0 else X

    def download():
        # The public copy calls the digits 1…10.
        X, y = _download("USPS", data_home)
        return X, y - y.min()

    return _load("usps", download, scale, subset, return_X_y)


def _load(name, download, scale, subset, return_X_y):
    if subset not in _SUBSETS:
        raise ValueError(
            f"The 'subset' parameter of fetch_{name} must be one of {_SUBSETS}, got {subset!r}."
        )
    local = local_file(f"{name}.npz")
    if local is None:
        X, y = download()
    else:
        with np.load(local, allow_pickle=False) as arrays:
            X = np.concatenate([arrays["X_train"], arrays["X_test"]])
            y = np.concatenate([arrays["y_train"], arrays["y_test"]])
    n = _N_TRAIN[name]
    rows = {"train": slice(n), "test": slice(n, None), "all": slice(None)}[subset]
    data = scale(X[rows].reshape(len(y[rows]), -1))
    target = y[rows].astype(np.int64)
    if return_X_y:
        return data, target
    origin = "OpenML" if local is None else local
    return Bunch(data=data, target=target, DESCR=f"{name.upper()} ({subset}), from {origin}")


def local_file(file_name):
    """Return the path of a file in the folder that SKDP_DATA names, None if not there."""
    folder = os.environ.get("SKDP_DATA")
    if not folder:
        return None
    path = Path(folder) / file_name
    return path if path.is_file() else None


def _download(name, data_home):
    try:
        X, y = fetch_openml(
            name, version="active", as_frame=False, return_X_y=True, data_home=data_home
        )
    except OSError as error:
        file_name = {"mnist_784": "mnist.npz", "USPS": "usps.npz"}[name]
        raise OSError(
            f"Could not download {name!r} from OpenML ({error}), and SKDP_DATA="
            f"{os.environ.get('SKDP_DATA')!r} names no folder with {file_name}. Connect to "
            f"the network, or set the environment variable SKDP_DATA to a folder that holds "
            f"{file_name} with arrays X_train, y_train, X_test and y_test; "
            "skdp.datasets.load_digits_domains() needs neither."
        ) from error
    return X, y.astype(np.int64)
