"""What cannot be collected without an optional package, and where examples write."""

import contextlib
import doctest
import io
import os
from importlib.util import find_spec

import pytest

# Threads of BLAS and OpenMP compete with the test runner's own processes. They are started where
# NumPy is imported first, which is after this.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Doctests of modules that import PyTorch. ``nox -s neural`` runs them.
collect_ignore_glob = [] if find_spec("torch") else ["skdp/neural/*.py", "doc/howto/neural.rst"]
# The adapters to frameworks of federations. ``nox -s flower`` and ``nox -s nvflare`` run these.
collect_ignore_glob += [
    f"skdp/federated/{module}.py"
    for module, package in (("flower", "flwr"), ("nvflare", "nvflare"))
    if not find_spec(package)
]


@pytest.fixture(autouse=True)
def examples_write_to_a_folder_of_their_own(request, monkeypatch):
    """Examples of docstrings may save files without leaving them behind."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.path.suffix == ".py":
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))


@pytest.fixture(autouse=True)
def examples_of_methods_go_on_from_that_of_their_class(
    request, examples_write_to_a_folder_of_their_own
):
    """Run the example of a class first where it says that those of its methods go on from it."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.path.suffix == ".py":
        module, *names = request.node.name.removeprefix("skdp.").rpartition("._")[2].split(".")
        names_here = request.node.dtest.globs  # of this example alone
        owner = getattr(names_here.get(names[0]), "__doc__", None) if names else ""
        if len(names) == 2 and "go on from here" in " ".join((owner or "").split()):
            for example in doctest.DocTestParser().get_examples(owner):
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(example.source, module, "single"), names_here)
