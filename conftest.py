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
def examples_of_a_release_go_on_from_that_of_its_class(request, doctest_namespace):
    """The methods of Release use what the example of the class has made."""
    node = request.node
    if isinstance(node, pytest.DoctestItem) and ".Release." in node.name:
        from skdp import DPStatisticsSource, Release
        from skdp.datasets import load_heart_disease

        heart = load_heart_disease()
        source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        release = source.fit(heart.data, heart.target).release_
        doctest_namespace |= {
            "heart": heart, "source": source, "release": release, "Release": Release
        }


@pytest.fixture(autouse=True)
def examples_write_to_a_folder_of_their_own(request, monkeypatch):
    """Examples of docstrings may save files without leaving them behind."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.path.suffix == ".py":
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))
