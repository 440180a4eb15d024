"""Transfers from noisy rows: all models and privacy levels; computes the rows that a table lacks.

``_plan.py`` says which rows each table has. Every draw of labels has a source with new noise of
its own, made only where a row needs it. "DP-SGD" needs torch and opacus, and is left out without
them.
"""

import functools
import importlib.util

import _bench
from _data import transfer_task
from _peers import DELTA
from _plan import (
    ALONE,
    DPSGD,
    EPOCHS,
    NONE,
    PLAN,
    choice_of,
    file_of,
    fit_settings,
    groups,
    source_settings,
)

from skdp import DPSource, DPTransferClassifier, GaussianDPNoise, SelfTrainingSchedule

SENSITIVITY = 1.0


def make_release(level, rows, **settings):
    """Return a release at a privacy level; None for none."""
    if level == NONE:
        return None
    unit, _, epsilon = level.rpartition(" ")
    source = DPSource(float(epsilon), DELTA, SENSITIVITY, **settings, random_state=0)
    if unit:
        noise = GaussianDPNoise(float(epsilon), DELTA, SENSITIVITY, privacy_unit=unit)
        source.set_params(noise=noise)
    return source.fit(*rows).release_


def transfer(release, X, y, marked, X_test, y_test, **settings):
    """Return accuracy in per cent, the weights of the source in each round, and seconds."""
    names = SelfTrainingSchedule().get_params()
    schedule = {k: v for k, v in settings.items() if k in names}
    if settings.get("strategy") in _bench.SIZES:
        schedule.setdefault("n_components", _bench.SIZES[settings["strategy"]])
    schedule = SelfTrainingSchedule(**schedule)
    settings = {k: v for k, v in settings.items() if k not in names}
    model = DPTransferClassifier(release, self_training=schedule, **settings)
    with _bench.Timer() as fit:
        model.fit(X, marked)
    weights = [round(float(weight), 4) for weight in model.history_.get("source_weight", ())]
    accuracy = 100 * model.score(X_test, y_test)
    return {"accuracy": accuracy, "source_weight": weights or None, "fit_seconds": fit.seconds}


def of_release(cells, rows, target):
    """Return the rows of one release, and that of the source alone where it has these features."""
    settings = source_settings(cells)
    release = make_release(cells[0]["level"], rows, **settings)
    found = []
    if release is not None and settings["parts"] != "papers":
        *_, X_test, y_test = target(cells[0]["draw"], cells[0]["labels"])
        if release.n_features == X_test.shape[1]:
            alone = {"model": ALONE, "variant": settings["parts"], "labels": None}
            found = [{**cells[0], **alone, "accuracy": 100 * release.score(X_test, y_test)}]
    for cell in cells:
        data = target(cell["draw"], cell["labels"], choice_of(cell))
        found.append({**cell, **transfer(release, *data, **fit_settings(cell))})
    return found


def of_network(cells, network, target):
    """Return the rows of a network that was trained by DP-SGD."""
    found = []
    for cell in cells:
        data = target(cell["draw"], cell["labels"])
        alone = {"model": ALONE, "variant": DPSGD, "labels": None}
        if not cell["draw"]:  # its seed is fixed: the same for every draw of labels
            found.append({**cell, **alone, "accuracy": network.score(*data[-2:])})
        found.append({**cell, **network.transfer(data)})
    return found


def fill(table, options):
    task = functools.lru_cache(maxsize=1)(functools.partial(transfer_task, table))
    networks = {}

    def network(case, level, rows):
        from _dpsgd import Network

        if (case, level) not in networks:
            networks[case, level] = Network(level, rows, EPOCHS.get(table, 30), "-" in table)
        return networks[case, level]

    def measure(cells):
        cell = cells[0]
        source, target = task(cell["case"])
        if cell["model"] != DPSGD:
            return of_release(cells, source(cell["draw"]), target)
        return of_network(cells, network(cell["case"], cell["level"], source(0)), target)

    installed = all(map(importlib.util.find_spec, ("torch", "opacus")))
    wanted = (g for g in groups(table, options.draws) if installed or g[0]["model"] != DPSGD)
    _bench.fill(file_of(table), wanted, measure, again=options.again)


if __name__ == "__main__":
    _bench.main(__doc__, **{table: functools.partial(fill, table) for table in PLAN})
