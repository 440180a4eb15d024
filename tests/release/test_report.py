"""The officer's page, and the tables that it and notebooks have in common."""

import json
import re
from dataclasses import replace
from datetime import date
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, PrivacyGuarantee, Release, TabularEncoder
from skdp.privacy import Mechanism, PrivacyLedger
from skdp.release import report_page, statements
from skdp.tabular import ColumnEffect, Explanation

HOSTILE = "<script>alert('x')</script>"
SCHEMA = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 18, "high": 110},
        HOSTILE: {"type": "category", "categories": ["a", "</td><img src=x onerror=y>"]},
    },
    "classes": [HOSTILE, "home"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a release of hostile names, its file, and a ledger with a hostile entry."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    rows = {"age": rng.uniform(18, 110, 300), HOSTILE: rng.choice(["a", "b"], 300)}
    frame = pd.DataFrame(rows)
    ledger = PrivacyLedger(epsilon=5, delta=1e-4, path=folder / "budget.json")
    other = PrivacyGuarantee(
        *("m", [Mechanism("laplace", 0.25)], None, 2, HOSTILE, "e"),
        unit="labeled record",
        relation="add/remove",
    )
    ledger.spend(other, HOSTILE)
    encoder = TabularEncoder(SCHEMA)
    source = DPStatisticsSource(epsilon=2.0, encoder=encoder, ledger=ledger)
    labels = np.where(frame["age"] > 60, HOSTILE, "home")
    release = source.fit(frame, labels).release_
    release.save(folder / "h<b>.skdp")
    return release, folder / "h<b>.skdp", ledger


class Elements(HTMLParser):
    """Collect the tags and the text of a document."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.open = set(), [], []
        self.feed(html)
        self.text = " ".join(" ".join(self.text).split())

    def handle_starttag(self, tag, attrs):
        names = {name for name, _ in attrs}
        assert not names & {"src", "href", "onerror", "onload", "action"}
        self.tags.add(tag)
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "pre", "br", "div"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


def test_the_page_says_what_the_summary_says(made):
    release, path, ledger = made
    audit = f"verdict:  not refuted\n{HOSTILE}"
    page = report_page(path, owner=HOSTILE, ledger=ledger, audits=[audit], date=date(2026, 1, 2))
    found = Elements(page.html)
    assert found.tags <= ALLOWED
    assert not found.open
    assert release.guarantee.sentence in found.text
    for title, text in statements(release).items():
        if title not in {"Columns", "For experts"}:
            assert " ".join(text.split()) in found.text
    assert sha256(path.read_bytes()).hexdigest() in found.text
    assert "This page was made on 2026-01-02" in found.text
    assert "in at most 59.91%" in found.text
    assert re.search(r"one unit 2 1e-05 59\.90\d\d% 3\.33\d\d% labeled record", found.text)
    assert found.text.count(HOSTILE) >= 6  # owner, classes, column, ledger's entry, audit
    assert "age numeric 18 to 110" in found.text
    assert "What this release guarantees is what entry 2 was charged." in found.text
    assert "verdict: not refuted" in found.text


def test_nothing_runs_and_nothing_is_fetched(made):
    html = report_page(made[1], owner="\x1b[2J https://elsewhere").html
    assert "default-src 'none'" in html
    assert not re.search(r"<(script|img|link|iframe|object)|url\(|@import", html, re.IGNORECASE)
    assert "\x1b" not in html


def test_it_is_saved_and_shown_in_a_frame(made, tmp_path):
    page = report_page(made[0])
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    with pytest.raises(FileExistsError):
        page.save(tmp_path / "page.html", overwrite=False)
    frame = page._repr_html_()
    assert "sandbox" in frame
    assert unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1)) == page.html


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("release", 1), ("owner", 2), ("ledger", 3), ("audits", [4]), ("audits", [None])],
)
def test_wrong_parameters_are_named(made, parameter, value):
    given = {"release": made[0], parameter: value}
    with pytest.raises(ValueError, match=f"'{parameter}' parameter must"):
        report_page(**given)


def test_notebooks_have_one_style(made):
    """Release, guarantee, ledger, schema and explanation: escaped, and with no style sheet."""
    release, _, ledger = made
    effect = ColumnEffect(HOSTILE, "a", 1.2, -1.0, 1.5)
    explanation = Explanation(HOSTILE, 0.8, "home", np.nan, (effect,))
    guarantee = replace(release.guarantee, covers=HOSTILE)
    for shown in (release, guarantee, ledger, release.encoder, explanation):
        html = shown._repr_html_()
        found = Elements(html)
        assert found.tags <= ALLOWED | {"details", "summary", "b"}
        assert not found.open
        assert HOSTILE in found.text
        assert "text-align: left" in html
        assert "color: inherit" in html
        assert "#" not in re.sub("&#x27;", "", html)  # no color that a dark page would hide
    text = Elements(guarantee._repr_html_()).text
    flat = " ".join(str(guarantee).replace(":", "").split())
    assert text.removeprefix("guarantee ").replace(":", "") == flat


def test_a_file_that_is_damaged_is_refused(made, tmp_path):
    (tmp_path / "r.skdp").write_bytes(made[1].read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"damaged|truncated"):
        report_page(tmp_path / "r.skdp")
    (tmp_path / "l.json").write_text(json.dumps({}))
    with pytest.raises(ValueError, match="damaged"):
        report_page(made[0], ledger=tmp_path / "l.json")
    assert isinstance(Release.load(made[1]), Release)
