"""What is collected without optional packages, where examples write, and noise that repeats."""

import contextlib
import doctest
import hashlib
import io
import itertools
import os
from importlib.metadata import version
from importlib.util import find_spec

import pytest

# Threads of BLAS and OpenMP compete with the test runner's own processes. They are started where
# NumPy is imported first, which is after this.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Doctests of modules that import PyTorch. ``nox -s neural`` runs them.
collect_ignore_glob = [] if find_spec("torch") else ["skdp/neural/*.py", "doc/howto/neural.rst"]


@pytest.fixture(autouse=True)
def examples_write_to_a_folder_of_their_own(request, monkeypatch):
    """Examples of docstrings may save files without leaving them behind."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.path.suffix == ".py":
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))


@pytest.fixture(autouse=True)
def examples_of_methods_use_what_that_of_their_class_made(
    request, examples_write_to_a_folder_of_their_own
):
    """Run the example of a class first where it says that the examples of its methods use it."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.path.suffix == ".py":
        module, *names = request.node.name.removeprefix("skdp.").rpartition("._")[2].split(".")
        names_here = request.node.dtest.globs  # of this example alone
        owner = getattr(names_here.get(names[0]), "__doc__", None) if names else ""
        if len(names) == 2 and "examples of the methods use" in " ".join((owner or "").split()):
            for example in doctest.DocTestParser().get_examples(owner):
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(example.source, module, "single"), names_here)


def pytest_addoption(parser):
    """Add options for all parameters, and for other noise in each run."""
    parser.addoption(
        "--all", action="store_true", help="try all parameters of slow tests, not the first alone"
    )
    parser.addoption(
        "--new-noise",
        action="store_true",
        help="draw noise that is not seeded anew in each run, instead of by the test's name",
    )


def pytest_collection_modifyitems(config, items):
    """Keep the first parameters alone of tests that are marked slow, unless asked for all."""
    if config.getoption("--all"):
        return
    kept, left_out, seen = [], [], set()
    for item in items:
        name = (item.path, getattr(item, "originalname", None))
        is_repeated = item.get_closest_marker("slow") is not None and name in seen
        (left_out if is_repeated else kept).append(item)
        seen.add(name)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_report_header():
    """Say which versions these tests are about."""
    names = ("numpy", "scipy", "scikit-learn", "pandas", "joblib", "cryptography")
    return ", ".join(f"{name} {version(name)}" for name in names)


# The names that keys are made of, with counters: of what runs now, the innermost last.
_running: list = []
_process = os.getpid()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Draw keys by names from here on; what tests replace it by stays until they end."""
    from skdp.noise import _randomness

    _randomness.fresh_key = _fresh_key


def _fresh_key():
    # A process that is started from a test draws keys that nobody knows, as a copy of these would
    # repeat the noise of its parent.
    if not _running or os.getpid() != _process:
        return os.urandom(32)
    name, number = _running[-1]
    return hashlib.sha256(f"{name}#{next(number)}".encode()).digest()


@contextlib.contextmanager
def _noise_of(config, name):
    """Draw what has no seed by a name, so that what failed once fails again."""
    if config.getoption("--new-noise"):
        yield
        return
    import numpy as np

    np.random.seed(int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]))  # noqa: NPY002
    _running.append((name, itertools.count()))
    try:
        yield
    finally:
        _running.pop()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Draw by the fixture's name: which test asks first for what is shared depends on the run."""
    name = f"{request.node.nodeid}@{fixturedef.argname}{getattr(request, 'param_index', '')}"
    with _noise_of(request.config, name):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Draw by the test's name."""
    with _noise_of(item.config, item.nodeid):
        return (yield)
