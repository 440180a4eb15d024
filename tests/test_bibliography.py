"""The bibliography says where each equation is computed: there, and that place names it."""

import inspect
import io
import re
import tokenize
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "doc" / "bibliography.rst").read_text()
KINDS = "algorithm|chapter|definition|lemma|remark|result|section|theorem"
NAME = r"(?:``|`~|<)(skdp(?:\.\w+)+)(?:``|`|>)"


def rows():
    """Yield the section of each row of a table, its equations or work, and where they are."""
    for section in re.split(r"\n(?=[^\n]+\n---)", PAGE):
        for row in section.split("   * - ")[1:]:
            cells = re.split(r"\n     - ", row.split("\n\n")[0])
            yield section.partition("\n")[0], *(" ".join(cell.split()) for cell in cells)


ROWS = list(rows())


def modules_of(name):
    """Return the module that a dotted name starts with, and the names of the rest."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            return import_module(".".join(parts[:n])), parts[n:]
        except ModuleNotFoundError:
            continue
    raise AssertionError(name)


def resolve(name):
    """Return the module of a dotted name, and the objects on the way to what it stands for."""
    module, parts = modules_of(name)
    found = [module]
    for part in parts:
        found.append(getattr(found[-1], part))
    return found


def skip_without_torch(names):
    if any(name.startswith("skdp.neural") for name in names) and not find_spec("torch"):
        pytest.skip("PyTorch (extra neural) is not installed")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_each_row_names_what_exists(row):
    names = re.findall(NAME, row[2])
    skip_without_torch(names)
    assert names, "no public role, and no dotted path of what is private"
    for name in names:
        resolve(name)


def between(first, last):
    """Return numbers such as 1.62 from the first to the last."""
    chapter, dot, number = first.rpartition(".")
    end = int(last.rpartition(".")[2])
    return [f"{chapter}{dot}{n}" for n in range(int(number), end + 1)]


def references(text):
    """Return what a text refers to, as pairs such as ("algorithm", "2") and ("", "1.62")."""
    text = " ".join(re.sub(r"\n\s*#?|\((18|19|20)\d\d\)", " ", text).split())
    numbers = [("", *pair) for pair in re.findall(r"\(([\d.]*\d)\)(?:[–-]\(([\d.]*\d)\))?", text)]
    for kind, several in re.findall(rf"(?i)\b({KINDS})s? ((?:[\d.]*\d(?:, | and |–)?)+)", text):
        pairs = re.findall(r"([\d.]*\d)(?:–([\d.]*\d))?", several)
        numbers += [(kind.lower(), *pair) for pair in pairs]
    return {(kind, n) for kind, first, last in numbers for n in between(first, last or first)}


def words(name):
    """Return the docstrings behind a public name, and all comments of the module of a private."""
    found = resolve(name)
    if not any(part.startswith("_") for part in name.split(".")):
        return "\n".join(inspect.getdoc(each) or "" for each in found[1:])
    tokens = tokenize.generate_tokens(io.StringIO(inspect.getsource(found[0])).readline)
    return "\n".join(t.string for t in tokens if t.type in (tokenize.COMMENT, tokenize.STRING))


NUMBERED = [row for row in ROWS if references(row[1]) or row[0] == "Other works"]


@pytest.mark.parametrize("row", NUMBERED, ids=lambda row: f"{row[0]}, {row[1]}")
def test_the_place_of_an_equation_names_it(row):
    section, equations, where = row
    names = re.findall(NAME, where)
    skip_without_torch(names)
    text = "\n".join(map(words, names))
    author = re.match(r"SERUMS D3\.\d|[\w-]+", equations if section == "Other works" else section)
    assert author[0] in " ".join(text.split())
    assert not references(equations) - references(text), f"not named by {names}"


def test_rows_and_references_are_found():
    assert len(ROWS) > 100
    assert len(NUMBERED) > 70
    with pytest.raises(AttributeError):
        resolve("skdp.membership.nothing")
    text = "Lemmas 1 and 2, Definitions 1–3,\n    # (36), (1.9)–(1.11) and section 1.4"
    assert references(text) == {
        *(("lemma", "1"), ("lemma", "2"), ("", "36"), ("", "1.9"), ("", "1.10"), ("", "1.11")),
        *(("definition", "1"), ("definition", "2"), ("definition", "3"), ("section", "1.4")),
    }
