"""What needs dp-accounting says so; all other tests run as if it were not installed."""

import sys
from importlib.util import find_spec

import pytest

needs_accounting = pytest.mark.skipif(
    find_spec("dp_accounting") is None, reason="needs dp-accounting (extra privacy)"
)


@pytest.fixture(autouse=True)
def no_accounting(request, monkeypatch):
    """Hide dp-accounting, so that a test without the mark fails with it as it would without."""
    if needs_accounting.mark not in request.node.iter_markers("skipif"):
        for name in ("dp_accounting", "dp_accounting.pld"):
            monkeypatch.setitem(sys.modules, name, None)
