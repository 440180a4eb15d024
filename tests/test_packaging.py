"""What is said twice about the package, in files of several tools, agrees."""

import ast
import fnmatch
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import skdp

yaml = pytest.importorskip("yaml", reason="PyYAML, which Dask brings, is not installed")

ROOT = Path(__file__).parents[1]
VERSION = skdp.__version__.removesuffix(".dev0")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
NOXFILE = (ROOT / "noxfile.py").read_text()


def load(name):
    return yaml.safe_load((ROOT / name).read_text())


def requirements(lines):
    """Return the version that each package is required to have, without extras of its own."""
    found = [re.fullmatch(r"([\w.-]+)(?:\[.*\])? ?(.*)", line.split(";")[0]) for line in lines]
    return {each[1]: each[2] for each in found}


def test_version_is_the_same_everywhere():
    assert "version" in PROJECT["dynamic"]  # which setuptools reads of skdp/__init__.py
    assert load("CITATION.cff")["version"] == VERSION
    newest = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    assert newest[1] == VERSION


def test_changelog_keeps_to_its_sections():
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = set(re.findall(r"^### (.*)", text, flags=re.M))
    allowed = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert {"Added"} <= sections <= allowed


def test_oldest_versions_are_the_lower_bounds():
    [oldest] = [
        ast.literal_eval(node.value)
        for node in ast.parse(NOXFILE).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "OLDEST"
    ]

    def numbers(version):
        return tuple(map(int, [*version.split("."), 0, 0][:3]))

    tested = {name: numbers(spec[2:]) for name, spec in requirements(oldest).items()}
    bounds = requirements(PROJECT["dependencies"])
    assert tested == {name: numbers(spec[2:]) for name, spec in bounds.items()}


def test_hooks_run_the_linter_of_the_checks():
    [hooks] = load(".pre-commit-config.yaml")["repos"]
    assert hooks["rev"] == "v" + re.search(r'"ruff==([\d.]+)"', NOXFILE)[1]


def test_documentation_is_built_with_an_extra_that_exists():
    [install] = load(".readthedocs.yaml")["python"]["install"]
    assert set(install["extra_requirements"]) <= EXTRAS.keys()


def test_forms_and_licenses_are_there():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        if path.name != "config.yml":
            form = load(path)
            ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
            assert form["name"]
            assert len(set(ids)) == len(ids)
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])
    assert not any("License" in each for each in PROJECT["classifiers"])  # PEP 639


def texts():
    """Yield what tells users or developers to install an extra."""
    yield from (ROOT / "skdp").rglob("*.py")
    yield from (path for path in (ROOT / "doc").rglob("*.rst") if "_build" not in path.parts)
    yield from (ROOT / "examples").rglob("*.py")
    yield from ROOT.glob("*.md")
    yield from (ROOT / "benchmarks").glob("*.md")
    yield ROOT / "noxfile.py"


def test_extras_that_are_named_exist_and_those_that_exist_are_named():
    named = set()
    for path in texts():
        text = path.read_text()
        for extras in re.findall(r"(?:\bskdp|[\"'}]\.)\[([a-z, ]+)\]", text):
            names = {name.strip() for name in extras.split(",")}
            assert names <= EXTRAS.keys(), path
            named |= names
        for extra in re.findall(r"\bextra `{1,2}(\w+)`", text):
            assert extra in EXTRAS, path
            named.add(extra)
    assert EXTRAS.keys() <= named | {"benchmark"}


def manifest():
    """Return the patterns of files that MANIFEST.in includes, and of those that it leaves out."""
    included, excluded = ["LICENSE", "README.md", "pyproject.toml", "MANIFEST.in"], []
    included.append("skdp/*.py")
    for package, patterns in PYPROJECT["tool"]["setuptools"]["package-data"].items():
        included += [f"{package.replace('.', '/')}/{pattern}" for pattern in patterns]
    for line in (ROOT / "MANIFEST.in").read_text().splitlines():
        command, *patterns = line.split()
        if command in ("graft", "prune"):
            patterns = [f"{pattern}/*" for pattern in patterns]
        if command == "global-exclude":
            patterns = [f"*{pattern}" for pattern in patterns]
        (included if command in ("include", "graft") else excluded).extend(patterns)
    return included, excluded


def test_source_distribution_has_every_file_of_the_repository():
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout, so that nothing says which files there should be")
    try:
        run = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git does not list the files here: {error}")
    included, excluded = manifest()

    def matches(name, patterns):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    files = run.stdout.splitlines()
    assert len(files) > 400
    missing = [name for name in files if matches(name, excluded) or not matches(name, included)]
    assert not missing
    assert not matches("new_folder/new.py", included)
