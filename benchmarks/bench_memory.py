"""Peak memory of fits above the data, step by step.

MNIST in single precision, as an array and as a memory map, whose pages count as the system's
cache. source: a release from perturbed rows, with the highest mark within each step of its fit,
and what was held before. classifier: a fit of wide autoencoders, of which the model is a part.
"""

import tempfile
import threading
import time
from contextlib import contextmanager

import _bench
import numpy as np

from skdp import DPSource, WideCDMMAClassifier
from skdp.datasets import fetch_mnist
from skdp.source import _rows_source

# The steps of a source's fit, by the names that its module calls them.
STEPS = {
    "_read": "checks",
    "check_scale": "check of the scale",
    "perturb_rows": "noise",
    "Moments.measure": "moments",
    "denoised_codes": "subspace and mixtures",
    "_fit_classifier": "classifier",
    "Alignment.measure": "alignment",
    "Release": "the release's own checks",
}


class Watch:
    """Samples memory that is no file's, and keeps its highest marks."""

    def __init__(self):
        self.start, self.marks = self.now(), []
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()

    def now(self):
        return _bench.memory_mib("RssAnon")

    def sample(self):
        while not self.done.is_set():
            now = self.now()
            for mark in list(self.marks):
                mark.append(max(mark[-1], now))
            time.sleep(0.002)

    @contextmanager
    def step(self, name, rows):
        """Write down what was held before a step, its highest mark and its seconds."""
        mark = [self.now()]
        self.marks.append(mark)
        with _bench.Timer() as timer:
            yield
        self.marks.remove(mark)
        row = {"step": name, "before_mib": mark[0] - self.start}
        peak = max(mark[-1], self.now()) - self.start
        rows.append({**row, "peak_mib": peak, "seconds": timer.seconds})

    def stop(self):
        self.done.set()
        self.thread.join()


def watch_steps(watch, rows):
    """Make the module of the source note the highest marks of its steps."""
    for path, name in STEPS.items():
        owner, _, attribute = path.rpartition(".")
        owner = getattr(_rows_source, owner) if owner else _rows_source
        if not hasattr(owner, attribute):
            owner = DPSource

        function = getattr(owner, attribute)

        def call(*args, step=name, function=function, **settings):
            with watch.step(step, rows):
                return function(*args, **settings)

        setattr(owner, attribute, call)


def digits(n_rows, mapped):
    X, y = fetch_mnist(subset="train", return_X_y=True)
    X, y = X[:n_rows], y[:n_rows]
    if not mapped:
        return np.ascontiguousarray(X), y
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, X)
        del X
        file.flush()
        return np.load(file.name, mmap_mode="r"), y


def measure(case, options):
    kind, mapped, setting = case.split(":")
    X, y = digits(options.rows, mapped == "memmap")
    rows, watch = [], Watch()
    if kind == "source":
        model = DPSource(8.0, bounds=(0, 1), n_layers=1, parts=setting, random_state=0)
        watch_steps(watch, rows)
    else:
        model = WideCDMMAClassifier(
            **_bench.PAPERS, n_layers=int(setting), n_jobs=1, random_state=0
        )
    with watch.step("fit", rows):
        model.fit(X, y)
    watch.stop()
    what = {"kind": kind, "data": mapped, "setting": setting, "data_mib": X.nbytes / 2**20}
    return [{**what, **row} for row in rows]


CASES = (
    "source:array:noise_aware",
    "source:memmap:noise_aware",
    "source:array:papers",
    "classifier:array:1",
    "classifier:memmap:1",
    "classifier:array:5",
)


if __name__ == "__main__":
    cases = [(case, {}) for case in CASES]
    _bench.run_apart("memory", lambda options: cases, measure, __doc__, rows=60_000)
