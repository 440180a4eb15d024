import subprocess
import sys

import pytest

import skdp
from skdp.utils._lazy import lazy_names


def test_names_are_found_where_they_come_from():
    getattr_, dir_ = lazy_names("mine", {"fractions": ["Fraction"], "math": ["pi", "tau"]})
    assert getattr_("Fraction").__module__ == "fractions"
    assert getattr_("pi") == getattr_("tau") / 2
    assert dir_() == ["Fraction", "pi", "tau"]


def test_a_name_that_there_is_not_is_an_attribute_error():
    getattr_, _ = lazy_names("mine", {"math": ["pi"]})
    with pytest.raises(AttributeError, match="module 'mine' has no attribute 'e'"):
        getattr_("e")
    assert not hasattr(skdp, "nonsense")
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        from skdp import nonsense  # noqa: F401


@pytest.mark.parametrize("package", [skdp, skdp.release])
def test_what_is_public_is_what_is_listed(package):
    assert dir(package) == sorted(package.__all__)


def test_whoever_learns_from_a_release_does_not_import_what_makes_one():
    code = "import sys; from skdp import DPTransferClassifier, Release; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    modules = run.stdout.split()
    assert "skdp.release._release" in modules
    assert not {"skdp.release._source", "skdp.release._perturbation"} & set(modules)
