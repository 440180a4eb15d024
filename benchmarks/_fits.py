"""One release and one transfer from it, as the transfer tables measure them; owners together."""

from numbers import Integral, Real

import _bench
import numpy as np
from _plan import NONE

from skdp import DPSource, DPTransferClassifier, GaussianDPNoise, SelfTrainingSchedule
from skdp.privacy import gaussian_epsilon
from skdp.release import Release

DELTA, SENSITIVITY = 1e-5, 1.0
# Components in each round of the papers' strategies.
SIZES = {"alignment": (4, 6, 8, 10), "multitask": (5, 10, 15, 20)}
# The settings of a round, which are no result of it.
_SCHEDULE = {"round", "n_components", "n_inducing", "n_layers", "agreement"}


class Source:
    """A release at a privacy level, or nothing at level "-"; new noise each time."""

    def __init__(self, level, rows, n_jobs=1, **settings):
        self.release, self.settings, self.n_jobs = None, {}, n_jobs
        if level == NONE:
            return
        unit, _, epsilon = level.rpartition(" ")
        self.settings = {"delta": DELTA, "sensitivity": SENSITIVITY, **settings}
        source = DPSource(float(epsilon), **self.settings, n_jobs=n_jobs, random_state=0)
        if unit:
            noise = GaussianDPNoise(float(epsilon), DELTA, SENSITIVITY, privacy_unit=unit)
            source.set_params(noise=noise)
        with _bench.Timer() as timer:
            self.release = source.fit(*rows).release_
        self.seconds = timer.seconds

    def score(self, X, y):
        """Accuracy of the source alone in per cent; None on features that are not its own."""
        if self.release.n_features != X.shape[1]:
            return None
        return 100 * self.release.score(X, y)

    def transfer(self, data, **settings):
        return transfer(self.release, *data, n_jobs=self.n_jobs, **settings)


def transfer(release, X, y, marked, X_test, y_test, **settings):
    """Fit once, and return accuracies in per cent, what each round did, and seconds."""
    names = SelfTrainingSchedule().get_params()
    schedule = {k: v for k, v in settings.items() if k in names}
    if settings.get("strategy") in SIZES:
        schedule.setdefault("n_components", SIZES[settings["strategy"]])
    schedule = SelfTrainingSchedule(**schedule)
    settings = {k: v for k, v in settings.items() if k not in names}
    model = DPTransferClassifier(release, self_training=schedule, **settings)
    with _bench.Timer() as fit:
        model.fit(X, marked)
    with _bench.Timer() as predict:
        accuracy = model.score(X_test, y_test)
    unlabeled = marked < 0
    right = model.transduction_[unlabeled] == y[unlabeled]
    rounds = {
        name: list(map(_short, values))
        for name, values in model.history_.items()
        if name not in _SCHEDULE and all(isinstance(value, Real) for value in values)
    }
    return {
        "accuracy": 100 * accuracy,
        "transduction": 100 * float(np.mean(right)),
        **rounds,
        "fit_seconds": fit.seconds,
        "predict_seconds": predict.seconds,
    }


def _short(value):
    return int(value) if isinstance(value, Integral) else round(float(value), 4)


def merged_and_whole(make, epsilon, parts):
    """Return the merged release of parts, one of all rows, and one with the noise of all parts.

    ``make(part, epsilon)`` makes a release of a part, and of all rows for None.
    """
    releases = [make(part, epsilon) for part in parts]
    same = epsilon_of_all(releases, DELTA)
    return Release.merge(releases, disjoint=True), make(None, epsilon), make(None, same)


def epsilon_of_all(releases, delta):
    """Return the ε of one release with as much noise as the sums of several have together."""
    distances = np.array([release.guarantee.gaussian_distance for release in releases])
    return gaussian_epsilon(np.sqrt(np.sum(distances**-2.0)), delta)
