"""What texts quote of the package is there: messages, commands and their options."""

import argparse
import ast
import re
from pathlib import Path

import pytest

from skdp.commands._main import _parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "doc").rglob("*.rst"))]
FAQ = (ROOT / "doc" / "faq.rst").read_text()


def constants(tree):
    """Yield the texts of a module; what an f-string fills in is a dash."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (getattr(part, "value", "–") for part in node.values)
            yield "".join(part if isinstance(part, str) else "–" for part in parts)


def test_the_faq_quotes_messages_that_exist():
    modules = (ROOT / "skdp").rglob("*.py")
    said = " ".join(text for path in modules for text in constants(ast.parse(path.read_text())))
    said = re.sub(r"\s+", " ", said)
    errors = FAQ.split("Errors and warnings\n")[1].split("\nThe package\n")[0]
    quoted = re.findall(r"^\"(.*?)\".*\n~~~", errors, flags=re.MULTILINE)
    quoted += re.findall(r"\(\"(.*?)\"\)", errors)
    assert len(quoted) > 5
    for message in quoted:
        words = [re.escape(part.strip()) for part in re.split(r"\d+|…", message) if part.strip()]
        assert re.search(".{0,9}".join(words), said), message


def commands(text):
    """Yield the name and options of each command in a block or in a sentence."""
    text = re.sub(r"\\\n\s*", "", text)
    found = re.findall(r"^\s*\$ (skdp [^\n]*)", text, flags=re.M)
    found += re.findall(r"`{1,2}(skdp \w[^`]*)`", text)
    for line in found:
        name, *words = line.split("#")[0].split()[1:]
        yield name, {word.partition("=")[0] for word in words if word.startswith("--")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_printed_commands_and_options_exist(page):
    (some,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    for name, options in commands(page.read_text()):
        if not name.startswith("-"):
            unknown = options - some.choices[name]._option_string_actions.keys()
            assert not unknown, (name, unknown)
