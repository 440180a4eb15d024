"""Bundle MathJax, link public names of subpackages, lay out tables, and list constants."""

import importlib.util
import inspect
import re
from pathlib import Path
from shutil import copy, copytree

from constants import constants_of
from docutils import nodes
from docutils.parsers.rst import Directive

import skdp

# What no line of a table should end within: "0.9 ± 0.1", "ε = 4", "13 kB", "20 of 20", "Fig. 8".
TOGETHER = re.compile(
    r"(?<=\d) (?:±|×|of) (?=\d)|(?<=[ελδn]) = (?=[\d∞])|(?<=\d) (?=%|(?:[kMG]B|m?s|min)\b)"
    r"|(?<=Fig\.) (?=\d)|(?<=Table) (?=\d)"
)
COUNTS = re.compile(r"(?<=\d) / (?=\d)")  # "20 / 3 / 1"
SOURCES = Path(skdp.__file__).parent
ROOMS = "source", "release", "transfer"  # with estimates whose constants are listed
PROSE = 30  # characters: such a column must not become only a word wide


def bundle_mathjax(app, exception):
    """Copy MathJax and its fonts, so that formulas are shown behind firewalls too."""
    if exception is not None or app.builder.format != "html":
        return
    package = importlib.util.find_spec("sphinx-mathjax-offline").submodule_search_locations[0]
    source, target = Path(package) / "static/mathjax", Path(app.outdir) / "_static/mathjax"
    target.mkdir(parents=True, exist_ok=True)
    copy(source / "tex-chtml.js", target)
    copytree(source / "output/chtml", target / "output/chtml", dirs_exist_ok=True)


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


class Constants(Directive):
    """The directive ``constants``, with a table for each package."""

    def run(self):
        """Return the sections."""
        sections = []
        for room in ROOMS:
            section = nodes.section(ids=[f"constants-{room}"])
            section += nodes.title(text=room)
            paths = sorted((SOURCES / room).rglob("*.py"))
            found = [(path.stem, *row) for path in paths for row in constants_of(path)]
            section += self._table(found)
            sections.append(section)
        return sections

    def _table(self, rows):
        group = nodes.tgroup(cols=4)
        group += [nodes.colspec(colwidth=width) for width in (15, 20, 20, 45)]
        head, body = nodes.thead(), nodes.tbody()
        head += self._row(("file", "name", "value", "what chose it"))
        body += [self._row(row) for row in rows]
        group += [head, body]
        return nodes.table("", group)

    def _row(self, texts):
        return nodes.row("", *(nodes.entry("", nodes.paragraph(text=text)) for text in texts))


def setup(app):
    """Register the steps."""
    app.add_directive("constants", Constants)
    app.connect("env-updated", alias_names)
    app.connect("doctree-resolved", lay_out_tables)
    app.connect("build-finished", bundle_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
