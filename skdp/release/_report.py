"""The report on a release for a data-protection officer: one HTML page."""

import importlib
import os
from collections.abc import Sequence
from datetime import date as calendar
from hashlib import sha256
from html import escape
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any

from skdp.privacy import PrivacyLedger
from skdp.release._columns import UnboundedColumn, public_columns
from skdp.release._frame import elements_per_record, value_guarantee
from skdp.release._release import Release
from skdp.release._summary import RARE, statements
from skdp.tabular import column_texts
from skdp.utils._files import write_whole
from skdp.utils._html import as_html, definitions, grid
from skdp.utils._validation import inline

# More columns without a schema, such as pixels, are counted instead of listed.
_MOST_COLUMNS = 200
# Largest number of categories of a column that are listed.
_MOST_CATEGORIES = 50
# Statements that have their own section on the page.
_ELSEWHERE = ("How well", "Columns", "For experts")
# Colors follow the reader's browser, light or dark; printed pages are light.
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, "Liberation Sans", Arial, sans-serif; max-width: 54rem;
  margin: 2rem auto; padding: 0 1.2rem; background: Canvas; color: CanvasText; }
h1 { font-size: 1.6em; line-height: 1.25; margin: 0 0 0.4em; overflow-wrap: anywhere; }
h2 { font-size: 1.15em; margin: 1.8em 0 0.3em; break-after: avoid; }
p { margin: 0.4em 0; }
td { overflow-wrap: break-word; }
.skdp-definitions th { width: 11em; }
.skdp-definitions td { overflow-wrap: anywhere; }
.lead { border-left: 4px solid; padding-left: 1em; margin: 1.2em 0; }
.note { font-size: 0.9em; opacity: 0.8; }
pre { white-space: pre-wrap; font-size: 0.85em; overflow-wrap: anywhere; }
tr, pre { break-inside: avoid; }
@media (max-width: 40rem) {
  .skdp-definitions th, .skdp-definitions td { display: block; width: auto; }
  .skdp-definitions th { border: 0 !important; padding-bottom: 0 !important; }
}
@page { size: A4; margin: 16mm 18mm; }
@media print {
  :root { color-scheme: light; }
  body { font-size: 9pt; line-height: 1.35; max-width: none; margin: 0; padding: 0; }
  h2 { margin-top: 1.1em; }
  .skdp-definitions th { width: 9em; }
  .lead { margin: 0.8em 0; }
  .note { opacity: 1; }
}
"""
# No text in a file can run code or load anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_TRUST = (
    "The owner, who held the rows, computed the numbers and added the noise before anything left, "
    "on a machine that nobody else could read; and the software that did it: skdp, with the "
    "libraries and the random numbers of the system that it runs on. The guarantee does not rest "
    "on trust in whoever receives the file, nor on what they know or compute, now or later. It "
    "cannot be seen from the file that the owner used the software unaltered, without a seed for "
    "the noise, and by a schema that was known without a look at the rows."
)
# For a release from a secure sum, alone or merged.
_TRUST_SEVERAL = (
    "Several owners, who held the rows. Each owner added a part of the noise, and a mask, before "
    "anything left, on a machine that nobody else could read: the part of one is less than the "
    "guarantee needs, and the owners protect each other. The guarantee rests on what it assumes: "
    "{assumes}. It also rests on the software of the owners: skdp, with the libraries and the "
    "random numbers of the systems that it runs on; not on trust in whoever receives the file. It "
    "cannot be seen from the file that the owners used the software unaltered, without a seed for "
    "the noise, and by a schema that was known without a look at the rows."
)


class ReportPage:
    """A self-contained HTML page about a release, without scripts.

    Parameters
    ----------
    html : str
        The HTML document.

    See Also
    --------
    report_page : Makes it.

    Examples
    --------
    >>> from skdp.release import ReportPage
    >>> ReportPage("<!doctype html><title>a release</title>")
    ReportPage(39 characters; save(path) writes it)
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path-like
            The file to write.

        overwrite : bool, default=True
            Whether an existing file may be replaced; the new file keeps its permissions.

        Raises
        ------
        FileExistsError
            When the file exists and ``overwrite`` is False.

        Examples
        --------
        >>> from skdp.release import ReportPage
        >>> ReportPage("<!doctype html><title>a release</title>").save("report.html")
        """
        with write_whole(path, overwrite=overwrite) as file:
            file.write(self.html.encode())

    def __repr__(self) -> str:
        return f"ReportPage({len(self.html)} characters; save(path) writes it)"

    def _repr_html_(self):
        # In its own frame, so that page and notebook do not change each other's style.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox title="report on a release" '
            'style="width: 100%; height: 36em; border: 1px solid rgba(128, 128, 128, 0.4)">'
            "</iframe>"
        )


def report_page(
    release: Release | str | os.PathLike[str],
    *,
    owner: str | None = None,
    ledger: PrivacyLedger | str | os.PathLike[str] | None = None,
    audits: Sequence[Any] = (),
    date: Any = None,
) -> ReportPage:
    """Return a page that documents a release for the people responsible for it.

    The page states what the release contains, who owns the rows, the columns and bounds, and the
    guarantee: in the words of :meth:`~skdp.Release.summary`, and exactly. It also states what is
    not protected and who was trusted, and shows the ledger and audits if they are given. Nothing
    on the page is computed from rows beyond the contents of the release. With a ``ledger`` the
    page is for the owner only, because the ledger also lists other releases.

    Parameters
    ----------
    release : Release, str or path-like
        The release, or its file; the page then states the file's name, size and SHA-256 digest.

    owner : str, default=None
        The name of the rows' owner on the page.

    ledger : PrivacyLedger, str or path-like, default=None
        The privacy ledger of the same rows, or its file.

    audits : sequence of audit reports or str, default=()
        Results of :func:`~skdp.privacy.audit.audit_release` and others, or their printed text.

    date : datetime.date, default=None
        The date on the page; by default today.

    Returns
    -------
    page : ReportPage
        With ``save(path)``; a notebook shows it.

    Raises
    ------
    OSError
        When a file does not exist or cannot be read.

    ValueError
        When one of the files is damaged, or a parameter is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> from skdp.release import report_page
    >>> X, y = np.random.default_rng(0).uniform(size=(500, 2)), np.repeat([0, 1], 250)
    >>> source = DPStatisticsSource(epsilon=2.0, bounds=(0, 2), classes=[0, 1])
    >>> page = report_page(source.fit(X + y[:, None], y).release_, owner="North hospital")
    >>> "North hospital" in page.html, "in at most 59.91%" in page.html
    (True, True)
    """
    file = None
    if not isinstance(release, Release):
        file = _path("release", release)
        release = Release.load(file)
    if owner is not None and not isinstance(owner, str):
        raise ValueError(
            f"The 'owner' parameter must be text or None, got {owner!r}. Name the owner."
        )
    if ledger is not None and not isinstance(ledger, PrivacyLedger):
        ledger = PrivacyLedger.open(_path("ledger", ledger))
    date = calendar.today() if date is None else date
    said = statements(release)
    plain = [(title, text) for title, text in said.items() if title not in _ELSEWHERE]
    title = "Report on a release" if file is None else f"Report on the release {file.name}"
    parts = [
        f"<h1>{as_html(title)}</h1>",
        definitions(_frame(release, file, owner, date)),
        f'<p class="lead">{as_html(said["How well"])}</p>',
        "<h2>In plain words</h2>",
        definitions(plain),
        "<h2>The guarantee in numbers</h2>",
        _numbers(release),
        "<h2>Who was trusted</h2>",
        f"<p>{_trusted(release.guarantee)}</p>",
        "<h2>Columns and their public bounds</h2>",
        _columns(release),
        "<h2>Budget</h2>",
        _budget(release, ledger),
        "<h2>Audits</h2>",
        _audits(audits),
        "<h2>For experts</h2>",
        f"<pre>{escape(said['For experts'])}</pre>",
    ]
    return ReportPage(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(inline(title))}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _path(name, given):
    if not isinstance(given, str | os.PathLike):
        kind = "Release" if name == "release" else "PrivacyLedger"
        raise ValueError(
            f"The {name!r} parameter must be a {kind} or its file, got a {type(given).__name__}. "
            "Pass one of them."
        )
    return Path(given)


def _frame(release, file, owner, date):
    """Yield the rows of the table that identifies the release."""
    yield "Whose rows", "not stated" if owner is None else owner
    yield "What", repr(release)
    if file is not None:
        content = file.read_bytes()
        yield "File", f"{file.name}, {len(content):,} bytes"
        yield "SHA-256", sha256(content).hexdigest()
    version = importlib.import_module("skdp").__version__
    when = "" if file is None else " When the release was made is not in its file."
    yield "When", f"This page was made on {date}, by skdp {version}.{when}"


def _trusted(guarantee):
    """Return the people whom the guarantee of a release trusts."""
    assumes = as_html(guarantee.assumes)
    if "masks" in assumes:  # of a secure sum
        return _TRUST_SEVERAL.format(assumes=assumes)
    return f"{_TRUST} The guarantee also assumes {assumes}." if assumes else _TRUST


def _numbers(release):
    """Return a table with a line for each guarantee."""
    guarantee = release.guarantee
    lines = {("one unit", guarantee): None}
    if guarantee.relation == "add/remove":
        lines[("the same, replaced", guarantee.to_replace_one())] = None
    value = value_guarantee(guarantee, release.encoder)
    if value is not guarantee:
        lines[("a value of the table", value)] = None
    if guarantee.unit == "element":
        moved = elements_per_record(release.encoder, guarantee.n_features)
        lines[("a whole row", guarantee.to_record(moved))] = None
    if release.label_guarantee is not None:
        lines[("labels", release.label_guarantee)] = None
    both = release.record_guarantee
    if both is not None and both is not guarantee:
        lines[("a row with its label", both)] = None
    names = ["what", "ε", "δ", "guess right", "pick right", "unit", "neighbors"]
    rows = [
        (
            *(what, stated.epsilon, stated.delta),
            *(_at_most(stated.best_guess()), _at_most(stated.precision_at(RARE))),
            *(stated.unit, stated.relation),
        )
        for what, stated in lines
    ]
    return (
        f"{grid(names, rows)}<p class='note'>For an attacker who knows everything else, at most: "
        "“guess right”, how often a guess between two equally likely answers is right (50% "
        "without the file); “pick right”, how many of the picks are right if the attacker "
        "picks 1 case in 100 and 1 in 100 is true (1% without the file). They follow from the "
        "noise, or from ε and δ alone if the noise is unknown.</p>"
    )


def _at_most(share):
    """Return a share as a percentage, rounded upwards."""
    return f"{ceil(share * 1e6 - 1e-6) / 1e4:.4f}%"


def _columns(release):
    """Return a table of the public properties of the columns."""
    p = release.n_features if release.encoder is None else 0
    rows = []
    for column, _ in islice(public_columns(release), _MOST_COLUMNS if p else None):
        kind, values, notes = "", "no public bounds stated", ""
        if not isinstance(column, UnboundedColumn):
            kind, values, notes = column_texts(column, _MOST_CATEGORIES)
        rows.append((column.name, kind, values + notes))
    more = f"<p>and {p - _MOST_COLUMNS:,} more</p>" if p > _MOST_COLUMNS else ""
    return grid(["column", "type", "values"], rows) + more


def _budget(release, ledger):
    """Return the ledger of the rows, with the entry of this release."""
    if ledger is None:
        return (
            "<p>No ledger was given. Ask the owner what else was released of the same rows: the "
            "losses add up.</p>"
        )
    same = [
        k for k, (_, guarantee) in enumerate(ledger.entries, 1) if guarantee == release.guarantee
    ]
    if same:
        which = ", ".join(map(str, same))
        entries = f"entries {which} were each" if len(same) > 1 else f"entry {which} was"
        charge = f"What this release guarantees is what {entries} charged."
    else:
        charge = (
            "No entry has the guarantee of this release: it was charged to another ledger, to "
            "none, or in several parts."
        )
    limits = [
        f"{name} {'without a limit' if limit is None else f'up to {limit:g}'}"
        for name, limit in (("ε", ledger.epsilon), ("δ", ledger.delta))
    ]
    table = ledger.to_frame()
    rows = [(k, *row) for k, row in enumerate(table.to_numpy().tolist(), 1)]
    names = ["entry", *(name.replace("_", " ") for name in table.columns)]
    return (
        f"<p>The rows may spend {', and '.join(limits)}. {charge}</p>{grid(names, rows)}"
        "<p class='note'>This account is the owner's, and names other releases of the same rows: "
        "a copy of this page for others can be made without it.</p>"
    )


def _audits(audits):
    """Return the printed reports of audits."""
    audits = [audits] if isinstance(audits, str) else list(audits)
    for audit in audits:
        if not isinstance(audit, str) and not hasattr(audit, "verdict"):
            raise ValueError(
                "The 'audits' parameter must hold reports of skdp.privacy.audit, or their texts, "
                f"got a {type(audit).__name__}. Pass the result of audit_release."
            )
    if not audits:
        return "<p>No audit was given.</p>"
    texts = "".join(
        f"<pre>{escape(chr(10).join(map(inline, str(audit).strip().split(chr(10)))))}</pre>"
        for audit in audits
    )
    return (
        f"{texts}<p class='note'>An audit looks for a leak larger than what is claimed. It can "
        "refute a claim, and proves none.</p>"
    )
