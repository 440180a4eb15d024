"""What happens where no framework is installed."""

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("module", "package"), [("flower", "flwr"), ("nvflare", "nvflare")])
def test_a_missing_framework_is_named_with_the_remedy(monkeypatch, module, package):
    monkeypatch.delitem(sys.modules, f"skdp.federated.{module}", raising=False)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"pip install 'skdp\[{module}\]'"):
        importlib.import_module(f"skdp.federated.{module}")


def test_no_framework_is_imported_unless_it_is_asked_for():

    code = "import sys, skdp.federated; print({'flwr', 'nvflare'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.strip() == "set()"
