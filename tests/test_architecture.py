"""Rules of the layout that no reader should have to check by hand."""

import ast
from pathlib import Path

import pytest

import skdp

ROOT = Path(skdp.__file__).parent
# A subpackage may import from those after it, never from those before.
ORDER = ["transfer", "fuzzy", "membership", "noise", "privacy", "datasets", "utils"]
MODULES = sorted(ROOT.rglob("*.py"))


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way_and_private_sklearn_stays_in_one_file(path):
    here = path.relative_to(ROOT).parts[0]
    for module, name in imports(path):
        parts = module.split(".")
        if parts[0] == "skdp" and here in ORDER:
            assert ORDER.index(parts[1]) >= ORDER.index(here), f"{here} imports {module}"
        if parts[0] == "sklearn" and path.name != "_sklearn.py":
            private = [p for p in [*parts, name] if p.startswith("_")]
            assert not private, f"{module}.{name} is private to scikit-learn"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_short(path):
    assert len(path.read_text().splitlines()) <= 400


def test_public_names_exist():
    for name in skdp.__all__:
        assert getattr(skdp, name).__doc__
