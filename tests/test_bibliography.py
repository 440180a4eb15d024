"""The bibliography says where each equation is computed, and what it names exists."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "doc" / "bibliography.rst").read_text()
NAMES = sorted(set(re.findall(r"(?:``|`~)(skdp(?:\.\w+)+)(?:``|`)", PAGE)))


def resolve(name):
    """Import the longest module that a dotted name starts with, and read the rest of it."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_exists(name):
    if name.startswith("skdp.neural") and not find_spec("torch"):
        pytest.skip("PyTorch (extra neural) is not installed")
    assert resolve(name) is not None


def test_all_that_is_named_is_found():
    assert len(NAMES) > 60
    with pytest.raises(AttributeError):
        resolve("skdp.membership.nothing")
