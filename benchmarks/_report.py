"""What the benchmark scripts share: timing, peak memory, command line, result files."""

import argparse
import time
from pathlib import Path

from _store import RESULTS, circumstances, locked, write

_START = time.perf_counter()


def save(name, settings, rows, folder=RESULTS):
    """Write one small JSON file that says how it was made, and how long that took so far."""
    path = folder / f"{name}.json"
    seconds = time.perf_counter() - _START
    record = {**circumstances(), "settings": settings, "seconds": seconds, "rows": rows}
    with locked(folder):
        write(path, record)
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
