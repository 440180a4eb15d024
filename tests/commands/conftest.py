import json
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib import import_module
from shutil import copy, copytree

import numpy as np
import pandas as pd
import pytest

from skdp.commands import main

SCHEMA = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 18, "high": 110},
        "lactate": {"type": "numeric", "low": 0.3, "high": 20, "log": True, "missing": True},
        "ward": {"type": "category", "categories": ["surgery", "medicine", "cardiology"]},
        "smoker": {"type": "category", "categories": [0, 1], "missing": True},
    },
    "classes": ["died", "home"],
}
# In every private table, in a cell of each kind: none of these may ever be shown.
SENTINELS = ("Zaphod", "4711.25", "B-612", "vermilion")


def patients(n, seed):
    """Return a table with numbers, categories, missing values, persons and outcomes."""
    rng = np.random.RandomState(seed)
    age = rng.normal(64, 16, n).clip(18, 105).round()
    lactate = np.where(rng.rand(n) < 0.1, np.nan, np.exp(rng.normal(0.4, 0.6, n)).round(2))
    smoker = np.where(rng.rand(n) < 0.2, None, rng.randint(2, size=n).astype(str))
    risk = 0.07 * (age - 75) + 1.5 * np.log(np.where(np.isnan(lactate), 1.5, lactate))
    return pd.DataFrame(
        {
            "name": [f"patient {i}" for i in range(n)],
            "age": age,
            "lactate": lactate,
            "ward": rng.choice(SCHEMA["columns"]["ward"]["categories"], n),
            "smoker": smoker,
            "person": [f"p{i // 2}" for i in range(n)],
            "outcome": np.where(rng.rand(n) < 1 / (1 + np.exp(-risk)), "died", "home"),
        }
    )


def with_sentinels(frame):
    """Return the table with a private value of each kind, where it does not belong too."""
    frame = frame.astype(object)
    frame.loc[3, "name"] = "Zaphod"
    frame.loc[4, "age"] = 4711.25
    frame.loc[5, "age"] = "vermilion"
    frame.loc[6, "ward"] = "vermilion"
    frame.loc[[7, 8], "person"] = "B-612"
    frame.loc[9, "outcome"] = "vermilion"
    return frame


_main = import_module("skdp.commands._main")
_one_parser = cache(_main._parser)


@pytest.fixture(scope="module", autouse=True)
def one_parser():
    """The parser of all commands is made once: it takes half of the time of a refusal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_main, "_parser", _one_parser)
        yield


@pytest.fixture
def run(capsys):
    """Run a command; return its exit code, stdout and stderr."""

    def runs(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return runs


@pytest.fixture
def done(run):
    """Run a command that succeeds; return its stdout and stderr."""

    def runs(*arguments):
        code, out, err = run(*arguments)
        assert code == 0, err
        return out, err

    return runs


@pytest.fixture
def failed(run):
    """Run a command that is refused; return its stdout and stderr."""

    def runs(*arguments):
        code, out, err = run(*arguments)
        assert code == 1, out
        return out, err

    return runs


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A folder with a public draft, private rows, a schema, and a target's rows."""
    folder = tmp_path_factory.mktemp("tables")
    draft = patients(60, seed=0).drop(columns=["name", "person"])
    draft.to_csv(folder / "draft.csv", index=False)
    with_sentinels(patients(600, seed=1)).to_csv(folder / "rows.csv", index=False)
    target = patients(150, seed=2)
    target.assign(outcome=target["outcome"].mask(target.index < 20)).to_csv(
        folder / "truth.csv", index=False
    )
    target.loc[20:, "outcome"] = None
    target.to_csv(folder / "target.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    return folder


@pytest.fixture
def folder(tables, tmp_path, monkeypatch):
    """A working folder with a copy of the tables."""
    monkeypatch.chdir(tmp_path)
    copytree(tables, tmp_path, dirs_exist_ok=True)
    return tmp_path


RELEASE = (
    *("release", "rows.csv", "--label", "outcome", "--schema", "schema.json"),
    *("--epsilon", 4, "-o", "hospital.skdp", "--accept", "people"),
)


@pytest.fixture
def shows_nothing_private():
    """Tell whether texts hold nothing of the private rows."""
    return lambda *texts: not any(private in text for text in texts for private in SENTINELS)


@pytest.fixture
def release_command():
    return RELEASE


@pytest.fixture(scope="session")
def one_release(tables, tmp_path_factory):
    """The file of one release of the tables, which many tests only read."""
    path = tmp_path_factory.mktemp("release") / "hospital.skdp"
    names = {name: str(tables / name) for name in ("rows.csv", "schema.json")}
    names["hospital.skdp"] = str(path)
    with redirect_stdout(None), redirect_stderr(None):
        assert main([names.get(word, str(word)) for word in RELEASE]) == 0
    return path


@pytest.fixture
def hospital(folder, one_release):
    """The folder, with a release."""
    copy(one_release, folder)
    return folder
