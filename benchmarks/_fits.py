"""Releases of several owners, merged, against one of all rows; and a transfer from some."""

import numpy as np

from skdp import DPTransferClassifier, Release
from skdp.privacy import gaussian_epsilon

LEVELS = ("record 4", "record 1", "record 0.5")
TOGETHER = ("merged", "one release", "equal noise")


def merged_and_whole(make, epsilon, parts, delta=1e-5):
    """Return the merged release of parts, one of all rows, and one with the noise of all parts.

    ``make(part, epsilon)`` makes a release of a part, and of all rows for None.
    """
    releases = [make(part, epsilon) for part in parts]
    distances = np.array([release.guarantee.gaussian_distance for release in releases])
    same = gaussian_epsilon(np.sqrt(np.sum(distances**-2.0)), delta)
    return Release.merge(releases, disjoint=True), make(None, epsilon), make(None, same)


def by_transfer(releases, rows, known, **settings):
    """Return probabilities of the test rows by a transfer; ``known`` None: no label."""
    model = DPTransferClassifier(releases, random_state=0, **settings).fit(rows.X, known)
    return model.predict_proba(rows.X_test)[:, model.classes_.tolist().index(1)]
