"""Bundle MathJax, link public names of subpackages, lay out tables, and keep old addresses."""

import importlib.util
import inspect
import re
from pathlib import Path
from shutil import copy, copytree

from docutils import nodes

import skdp

# Pages that moved: where links from outside still point.
MOVED = {
    "guide": "howto/index",
    "api": "api/index",
    "tables": "howto/tables",
    "statistics": "howto/statistics",
    "planning": "howto/planning",
    "evaluation": "howto/evaluation",
    "owners": "howto/owners",
    "federation": "howto/federation",
    "neural": "howto/neural",
    "secure": "howto/secure",
    "command_line": "howto/command_line",
    "pictures": "tutorials/images",
    "privacy": "concepts/privacy",
    "information": "concepts/information",
    "sharp_edges": "concepts/pitfalls",
    "scale": "benchmarks/privacy",
    "auto_examples/plot_private_statistics": "auto_examples/tables/plot_private_statistics",
    "auto_examples/plot_transferability": "auto_examples/tables/plot_transferability",
    "auto_examples/plot_leakage": "auto_examples/privacy/plot_leakage",
    "auto_examples/plot_privacy_audit": "auto_examples/privacy/plot_privacy_audit",
    "auto_examples/plot_officers_page": "auto_examples/privacy/plot_officers_page",
    "auto_examples/plot_private_digits": "auto_examples/image_data/plot_private_digits",
    "auto_examples/plot_private_transfer": "auto_examples/image_data/plot_private_transfer",
    "auto_examples/plot_participants": "auto_examples/owners/plot_participants",
    "auto_examples/plot_secure_combination": "auto_examples/owners/plot_secure_combination",
    "auto_examples/plot_behavior_cdbn": "auto_examples/owners/plot_behavior_cdbn",
}
# What no line of a table should end within: "0.9 ± 0.1", "ε = 4", "13 kB", "20 of 20", "Fig. 8".
TOGETHER = re.compile(
    r"(?<=\d) (?:±|×|of) (?=\d)|(?<=[ελδn]) = (?=[\d∞])|(?<=\d) (?=%|(?:[kMG]B|m?s|min)\b)"
    r"|(?<=Fig\.) (?=\d)|(?<=Table) (?=\d)"
)
COUNTS = re.compile(r"(?<=\d) / (?=\d)")  # "20 / 3 / 1"
PROSE = 30  # characters: such a column must not become only a word wide
_REDIRECT = '<!doctype html><meta charset="utf-8"><title>Moved</title>\
<meta http-equiv="refresh" content="0; url={0}"><a href="{0}">This page has moved.</a>\n'


def bundle_mathjax(app, exception):
    """Copy MathJax and its fonts, so that formulas are shown behind firewalls too."""
    if exception is not None or app.builder.format != "html":
        return
    package = importlib.util.find_spec("sphinx-mathjax-offline").submodule_search_locations[0]
    source, target = Path(package) / "static/mathjax", Path(app.outdir) / "_static/mathjax"
    target.mkdir(parents=True, exist_ok=True)
    copy(source / "tex-chtml.js", target)
    copytree(source / "output/chtml", target / "output/chtml", dirs_exist_ok=True)


def redirect_pages(app, exception):
    """Write a page at each old address that leads to the new one."""
    if exception is None and app.builder.format == "html":
        for old, new in MOVED.items():
            up = "../" * old.count("/")
            (Path(app.outdir) / f"{old}.html").write_text(_REDIRECT.format(f"{up}{new}.html"))


def lay_out_tables(app, doctree, docname):
    """Keep numbers and their units on one line, and give columns of prose a least width."""
    for entry in doctree.findall(nodes.entry):
        cell = entry.astext()
        if len(cell) > PROSE and entry.parent.index(entry):  # the first column names the line
            entry["classes"].append("prose")
        if re.fullmatch(r"[\d.]+e-\d+", cell):
            entry["classes"].append("power")
        for text in list(entry.findall(nodes.Text)):
            kept = TOGETHER.sub(_unbroken, text)
            if "±" not in cell:
                kept = COUNTS.sub(_unbroken, kept)
            if kept != text and not isinstance(text.parent, nodes.literal):
                text.parent.replace(text, nodes.Text(kept))


def _unbroken(match):
    return match.group().replace(" ", "\xa0")


def alias_names(app, env):
    """Let names such as ``skdp.source.DPSource`` lead to the page of ``skdp.DPSource``.

    They come into the inventory too, so that other projects can link either name.
    """
    domain = env.get_domain("py")
    for name in skdp.__all__:
        module = inspect.getmodule(getattr(skdp, name))
        if module is None or module is skdp:
            continue
        package = ".".join(module.__name__.split(".")[:2])
        for known, found in list(domain.objects.items()):
            alias = known.replace("skdp.", f"{package}.", 1)
            if f"{known}.".startswith(f"skdp.{name}.") and alias not in domain.objects:
                domain.objects[alias] = found._replace(aliased=True)


def setup(app):
    """Register the steps."""
    app.connect("env-updated", alias_names)
    app.connect("doctree-resolved", lay_out_tables)
    app.connect("build-finished", bundle_mathjax)
    app.connect("build-finished", redirect_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
