"""Figures in texts: of closed form computed again, measured ones on generated pages alone."""

import ast
import re
from pathlib import Path

import pytest

from skdp.privacy import Mechanism, PrivacyGuarantee

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "doc").rglob("*.rst"))]
# As a measured figure is written: without a zero.
FIGURE = re.compile(r"(?<![\w.\d/])[−-]?\.\d{2,4}\b(?!\d)")
# Compared with the results by test_readme.
COMPARED = ("README.md",)


def of_statistics(epsilon, relation="add/remove"):
    what = {"unit": "labeled record", "relation": "add/remove"}
    noise = [Mechanism("gaussian", epsilon, 1e-5)]
    sums = PrivacyGuarantee("noisy sums", noise, None, 4, "sums", "nothing", **what)
    return sums if relation == "add/remove" else sums.to_replace_one()


def percents(page, start, end):
    text = (ROOT / "doc" / page).read_text().split(start, 1)[1].split(end, 1)[0]
    return re.findall(r"([\d.]+) ?%", text)


def assert_shown(texts, values):
    """Each text is a percentage, rounded to its digits or up."""
    for text, value in zip(texts, values, strict=True):
        last = 10.0 ** -len(text.partition(".")[2])
        assert -last / 2 - 1e-9 <= float(text) - 100 * value < last, (text, value)


def test_best_guesses_of_the_table_of_trade_offs():
    budgets = (0.5, 1, 2, 4, 8)
    sums = [of_statistics(epsilon) for epsilon in budgets]
    replaced = [of_statistics(epsilon, "replace-one") for epsilon in budgets]
    table = [guarantee.best_guess() for guarantee in sums]
    table += [guarantee.best_guess() for guarantee in replaced]
    table += [guarantee.precision_at(0.01) for guarantee in sums]
    table += [guarantee.precision_at(0.01) for guarantee in replaced]
    found = percents("concepts/privacy.rst", "even odds (50% without the release)", ">>>")
    found.remove("1")  # of "1% without" in the heading of a row
    assert_shown(found, table)


def test_best_guesses_in_sentences():
    found = percents("faq.rst", "right in at most", "instead of 50%")
    assert_shown(found, [of_statistics(epsilon).best_guess() for epsilon in (1, 2, 4, 8)])
    found = percents("howto/statistics.rst", "included. Here that is", "compared with")
    assert_shown(found, [of_statistics(1).best_guess()])


def prose(text):
    """Return a page without code and what code prints."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^>>> .*?(?=\n\n|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(::|code-block:: \w+)\n\n((?: {3,}.*)?\n)+", "\n", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_measured_figures_are_on_generated_pages(page):
    """A measured figure in a guide grows old; the pages in doc/benchmarks/*.md are made anew."""
    if page.name not in COMPARED:
        assert not FIGURE.findall(prose(page.read_text()))


@pytest.mark.parametrize("package", sorted(path.name for path in (ROOT / "skdp").iterdir()))
def test_no_measured_figure_is_in_a_docstring(package):
    for path in (ROOT / "skdp" / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                found = FIGURE.findall(prose(ast.get_docstring(node) or ""))
                assert not found, (path, getattr(node, "name", ""), found)
