"""What texts quote of the package is there: warnings, commands and their options."""

import argparse
import re
from pathlib import Path

import pytest

import skdp
import skdp.displays
from skdp.commands._main import _parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "doc").rglob("*.rst"))]
FAQ = (ROOT / "doc" / "faq.rst").read_text()


def test_the_faq_explains_warnings_and_errors_that_exist():
    named = re.findall(r"^What does ``(\w+)`` mean\?$", FAQ, flags=re.MULTILINE)
    assert len(named) == 2
    for name in named:
        assert issubclass(getattr(skdp, name, None) or getattr(skdp.privacy, name), Exception)


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


def test_a_guide_names_every_display():
    guide = (ROOT / "doc" / "howto" / "evaluation.rst").read_text()
    assert not [name for name in skdp.displays.__all__ if f"displays.{name}`" not in guide]


def test_pages_stay_short():
    words = {page: len(page.read_text().split()) for page in PAGES}
    guides = {page: n for page, n in words.items() if page.parent.name == "howto"}
    assert max(guides.values()) <= 1200, guides
    assert sum(guides.values()) <= 14_000
    assert words[ROOT / "README.md"] <= 600
    assert FAQ.count("\n---") == 15
