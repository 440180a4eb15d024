"""What the benchmark scripts share: data, timing, peak memory, result files."""

import argparse
import json
import platform
import shlex
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import scipy
import sklearn

import skdp

RESULTS = Path(__file__).parent / "results"


def save(name, settings, rows):
    """Write one small JSON file that says how it was made."""
    RESULTS.mkdir(exist_ok=True)
    record = {
        "command": shlex.join(["python", *sys.argv]),
        "settings": settings,
        "versions": {
            "python": platform.python_version(),
            **{m.__name__: m.__version__ for m in (skdp, np, scipy, sklearn, joblib)},
        },
        "cores": joblib.cpu_count(),
        "rows": rows,
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1, default=float) + "\n")
    print(f"wrote {path}")


class Timer:
    """``with Timer() as t: ...`` leaves the seconds in ``t.seconds``."""

    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *exc):
        self.seconds = time.perf_counter() - self.start


def _status_mib(field):
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


class PeakMemory:
    """``with PeakMemory() as m: ...`` leaves in ``m.mib`` by how much memory rose (Linux)."""

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
        self.start = _status_mib("VmRSS")
        return self

    def __exit__(self, *exc):
        self.mib = _status_mib("VmHWM") - self.start


def parse(description, **defaults):
    """Command line with one ``--name value`` option for each default."""
    parser = argparse.ArgumentParser(description=description)
    for name, value in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return parser.parse_args()
