"""Result files: rows with keys, written one at a time, under a lock, with their commit.

Two processes may fill one file: each row is read, added and written under one lock, so that
neither loses what the other measured. A file is replaced as a whole and never seen half written.
"""

import contextlib
import fcntl
import functools
import importlib
import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"

# What tells one measurement of a table from all others.
KEY = ("case", "level", "model", "variant", "draw", "labels")
# What differs when benchmarks ran, which makes no other code run.
OUTPUTS = (
    ":(exclude)benchmarks/results",
    ":(exclude)benchmarks/README.md",
    ":(exclude)doc/benchmarks/*.md",
)
PACKAGES = ("skdp", "numpy", "scipy", "sklearn", "joblib")


def key_of(row):
    return tuple(row.get(name) for name in KEY)


def epsilon_of(level):
    """Return the ε of a level, which may name what it protects; of no privacy infinity."""
    return float(level.rpartition(" ")[2].replace("clear", "inf"))


def cell_of(*key):
    """Return a row without results."""
    return dict(zip(KEY, key, strict=True))


@functools.cache
def commit():
    """Return the short commit of this code, with "-dirty" where tracked files differ from it."""
    git = ["git", "-C", str(HERE.parent)]
    status = [*git, "status", "--porcelain", "--untracked-files=no", "--", ".", *OUTPUTS]
    try:
        head = _output([*git, "rev-parse", "--short", "HEAD"])
        return head + ("-dirty" if _output(status) else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _output(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def circumstances():
    """Return what a result depends on and its settings do not say."""
    import joblib

    versions = {name: importlib.import_module(name).__version__ for name in PACKAGES}
    return {
        "command": shlex.join(["python", *sys.argv]),
        "commit": commit(),
        "versions": {"python": platform.python_version(), **versions},
        "cores": joblib.cpu_count(),
    }


@contextlib.contextmanager
def locked(folder):
    """Wait until no other process writes a result file, and keep others waiting.

    The lock lies on the folder itself: it leaves no file behind, and ends with its process.
    """
    folder.mkdir(exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write(path, record):
    """Replace a file by a record, one row a line; the caller holds the lock."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    columns = list(dict.fromkeys(name for row in record["rows"] for name in row))
    rows = [[row.get(name) for name in columns] for row in record["rows"]]
    head = {**record, "columns": columns}
    del head["rows"]
    lines = [f"{json.dumps(key)}: {_text(value)}" for key, value in head.items()]
    lines.append('"rows": [\n' + ",\n".join(map(_text, rows)) + "\n]")
    try:
        temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path):
    """Return the record of a file; each row has all columns, None where it has no value."""
    record = json.loads(path.read_text())
    columns = record.pop("columns")
    return {**record, "rows": [dict(zip(columns, row, strict=True)) for row in record["rows"]]}


def _text(value):
    return json.dumps(_rounded(value), default=float, ensure_ascii=False, separators=(",", ":"))


def _rounded(value):
    """Keep six digits of numbers, which is more than any page shows."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


class Results:
    """Rows of one table, kept in one file.

    ``runs`` says how rows were made: each row has the position of its run and its commit.
    """

    def __init__(self, name, command, folder=RESULTS):
        self.path = folder / f"{name}.json"
        self.command = command  # that completes the table
        self.run = None
        self.reload()

    def reload(self):
        self.record = {"command": self.command, "runs": [], "rows": []}
        if self.path.exists():
            self.record |= read(self.path) | {"command": self.command}
        self.keys = {key_of(row): i for i, row in enumerate(self.record["rows"])}

    def __contains__(self, row):
        return key_of(row) in self.keys

    def add(self, row, redo=False):
        """Write a row, unless one with its key is there by now; say whether it was written."""
        return bool(self.add_all([row], redo))

    def add_all(self, rows, redo=False):
        """Write rows that belong together, all or none if interrupted; return how many."""
        run = self.run or circumstances()
        with locked(self.path.parent):
            self.reload()
            new = [row for row in rows if redo or row not in self]
            if not new:
                return 0
            if run not in self.record["runs"]:
                self.record["runs"].append(run)
            for row in new:
                self._put({**row, "commit": run["commit"], "run": self.record["runs"].index(run)})
            write(self.path, self.record)
        self.run = run
        self.reload()
        return len(new)

    def _put(self, row):
        here = self.keys.setdefault(key_of(row), len(self.record["rows"]))
        self.record["rows"][here : here + 1] = [row]
