"""What cannot be collected without an optional package, and where examples write."""

from importlib.util import find_spec

import pytest

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
