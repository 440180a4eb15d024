"""The papers' algorithms once more, row by row, from public estimators alone; and tasks."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from skdp import DPSource, OptimalDPNoise, SelfTrainingSchedule, WideCDMMAClassifier
from skdp.datasets import hide_labels
from skdp.transfer._noise_aware import NOISE_AWARE
from skdp.transfer._task import Task


@pytest.fixture(scope="session")
def same(digits):
    """A target with the features of the source: training rows, labels and marks, test rows."""
    X, y = digits[0][1::2], digits[1][1::2]
    return X[:500], y[:500], hide_labels(y[:500], 5, random_state=0), X[500:], y[500:]


@pytest.fixture(scope="session")
def other(domains):
    """A target with fewer features than the source."""
    X, y = domains.target, domains.target_target
    return X[:500], y[:500], hide_labels(y[:500], 5, random_state=0), X[500:], y[500:]


@pytest.fixture(scope="session")
def release_of(domains):
    """Make a release of some parts, from the same noisy copy of the rows whatever the parts."""

    @cache
    def make(parts):
        noise = OptimalDPNoise(8.0, random_state=np.random.RandomState(0))
        settings = {"n_components": 8, "n_layers": 1, "random_state": 0}
        source = DPSource(bounds=(0, 1), noise=noise, parts=parts, **settings)
        return source.fit(domains.source, domains.source_target).release_

    return make


@pytest.fixture(scope="session")
def all_parts(release_of):
    return release_of("all")


SCHEDULE = {"n_components": (2, 3, 4), "n_inducing": (0.1, 0.2, 0.25), "n_layers": (1, 1, 2)}


def slow_subspaces(release, X, marked):
    V_sr, class_medians = release.alignment.components, release.alignment.class_medians
    if X.shape[1] == release.n_features:
        return V_sr, V_sr
    n = min(-(-release.n_features // 2), X.shape[1])
    values, vectors = np.linalg.eigh(np.cov(X.T))
    V_tg = vectors[:, np.argsort(-values)[:n]].T
    for k in range(n):
        medians = [np.median(X[marked == c] @ V_tg[k]) for c in release.classes]
        if np.cov(medians, class_medians[:, k])[0, 1] < 0:
            V_tg[k] *= -1
    return V_sr[:n], V_tg


def fewer(X, marked):
    kept = (marked >= 0) | (np.arange(len(X)) < 150)
    return X[kept], marked[kept]


def schedule_models(seeds, inference, depths=(1, 1, 2)):
    for n, ratio, depth in zip((2, 3, 4), (0.1, 0.2, 0.25), depths, strict=True):
        settings = {"inference": inference, "error_scale": "shared"}
        seed = seeds.randint(2**31 - 1)
        yield WideCDMMAClassifier(n, ratio, depth, **settings, random_state=seed)


def initial_labels(rows, marked, seeds, inference):
    shown = marked >= 0
    n = min(20, np.bincount(marked[shown]).min() - 1)
    seed = seeds.randint(2**31 - 1)
    settings = {"inference": inference, "error_scale": "shared"}
    model = WideCDMMAClassifier(n, 1.0, 1, **settings, random_state=seed)
    labels = marked.copy()
    labels[~shown] = model.fit(rows[shown], marked[shown]).predict(rows[~shown])
    return labels


def _make_task(X, labels, release=None, class_indices=None, seed=0):
    if class_indices is None:
        class_indices = list(range(labels.max() + 1))
    sources = () if release is None else (("source", release, class_indices),)
    random_state = np.random.RandomState(seed)
    return Task(X, labels, len(class_indices), sources, X.shape[1], None, random_state)


def _make_training(task, **settings):
    return SelfTrainingSchedule(**settings).resolve(
        NOISE_AWARE.schedule, 60.0, n_jobs=None, verbose=0, random_state=task.random_state
    )


@pytest.fixture(scope="session")
def slow():
    return SimpleNamespace(
        schedule=SCHEDULE,
        subspaces=slow_subspaces,
        fewer=fewer,
        models=schedule_models,
        initial_labels=initial_labels,
    )


@pytest.fixture(scope="session")
def make_task():
    return _make_task


@pytest.fixture(scope="session")
def make_training():
    return _make_training
