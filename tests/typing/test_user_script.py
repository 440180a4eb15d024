import ast
from pathlib import Path

import pytest

import skdp

SCRIPT = ast.parse((Path(__file__).parent / "user_script.py").read_text())
USED = {node.attr for node in ast.walk(SCRIPT) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("name", skdp.__all__)
def test_script_that_mypy_checks_uses_every_name(name):
    assert name in USED
