"""Human activity, recorded by the phones of thirty people."""

import os

import numpy as np
from sklearn.utils import Bunch

from skdp.datasets._digits import local_file

# Made from the raw signals of the UCI archive.
_FILE = "uci_har_features_derived.npz"
# In the order of the labels 0…5.
_ACTIVITIES = ("walking", "walking upstairs", "walking downstairs", "sitting", "standing", "lying")


def load_human_activity():
    """Load human-activity data of thirty people, natural participants of distributed learning.

    Statistics of windows of 2.56 s of accelerometer and gyroscope signals, derived from
    "Human Activity Recognition Using Smartphones" (UCI), whose raw signals and subject
    numbers are public. They are read from ``uci_har_features_derived.npz`` in the folder
    that the environment variable ``SKDP_DATA`` names; there is no download, since no
    public mirror that scikit-learn can reach carries the subject numbers.

    Returns
    -------
    activity : :class:`~sklearn.utils.Bunch`
        With ``data`` of shape (10299, 296), float32 and unscaled, ``target`` of shape
        (10299,), activities 0…5, ``target_names``, ``groups`` of shape (10299,), the
        person of each row, ``feature_names`` and ``DESCR``.

    Raises
    ------
    OSError
        When the file is not there.

    Examples
    --------
    >>> from skdp.datasets import load_human_activity
    >>> activity = load_human_activity()  # doctest: +SKIP
    >>> len(set(activity.groups))  # doctest: +SKIP
    30
    """
    path = local_file(_FILE)
    if path is None:
        raise OSError(
            f"SKDP_DATA={os.environ.get('SKDP_DATA')!r} names no folder with {_FILE}. Set the "
            "environment variable SKDP_DATA to a folder that holds it; "
            "skdp.datasets.load_digits_domains() needs no files."
        )
    with np.load(path, allow_pickle=False) as arrays:
        return Bunch(
            data=np.concatenate([arrays["X_train"], arrays["X_test"]]),
            target=np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(np.int64),
            target_names=list(_ACTIVITIES),
            groups=np.concatenate([arrays["subject_train"], arrays["subject_test"]]).astype(
                np.int64
            ),
            feature_names=arrays["feature_names"].tolist(),
            DESCR=load_human_activity.__doc__,
        )
