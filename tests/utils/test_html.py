"""HTML of untrusted text: nothing of it is markup."""

import pytest

from skdp.utils._html import as_html, definitions, grid


def test_lines_stay_lines():
    assert as_html("a < b\nc") == "a &lt; b<br>c"


@pytest.mark.parametrize("html", [definitions([("covers", "<b>")]), grid(["<b>"], [["x"]])])
def test_no_cell_is_markup(html):
    assert "&lt;b&gt;</t" in html
    assert "<b>" not in html


def test_numbers_are_short_and_missing_ones_empty():
    html = grid(["name", "epsilon"], [["a", 0.123456789], [None, 2]])
    assert "0.123457</td>" in html
    assert '"></td>' in html
    assert html.count("text-align: right") == 3  # the heading of the numbers, and both
