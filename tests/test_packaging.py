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
# Where conda has another name.
CONDA = {"matplotlib-base": "matplotlib"}


def load(name):
    return yaml.safe_load((ROOT / name).read_text())


def requirements(lines):
    """Return the version that each package is required to have, without extras of its own."""
    found = [re.fullmatch(r"([\w.-]+)(?:\[.*\])? ?(.*)", line.split(";")[0]) for line in lines]
    return {CONDA.get(each[1], each[1]): each[2] for each in found}


def test_version_is_the_same_everywhere():
    assert "version" in PROJECT["dynamic"]  # which setuptools reads of skdp/__init__.py
    assert load("CITATION.cff")["version"] == VERSION
    assert load("recipe/recipe.yaml")["context"]["version"] == VERSION
    newest = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    assert newest[1] == VERSION


def test_changelog_keeps_to_its_sections():
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = set(re.findall(r"^### (.*)", text, flags=re.M))
    allowed = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert {"Added", "Changed", "Fixed"} <= sections <= allowed


def test_recipe_requires_what_the_project_requires():
    recipe = load("recipe/recipe.yaml")
    needed = requirements(recipe["requirements"]["run"])
    assert needed.pop("python") == ">=${{ python_min }}"
    assert needed == requirements(PROJECT["dependencies"])
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    optional = requirements(recipe["requirements"]["run_constraints"])
    named = requirements(
        line for name in ("dask", "excel", "parquet", "plot") for line in EXTRAS[name]
    )
    assert optional == named
    [command] = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(command)]
    about = recipe["about"]
    assert (about["license"], about["license_file"], about["summary"]) == (
        PROJECT["license"],
        PROJECT["license-files"],
        PROJECT["description"],
    )


def test_recipe_builds_by_what_pyproject_says():
    host = requirements(load("recipe/recipe.yaml")["requirements"]["host"])
    assert requirements(PYPROJECT["build-system"]["requires"]).items() <= host.items()


def test_addresses_are_those_of_the_project():
    urls = PROJECT["urls"]
    about, citation = load("recipe/recipe.yaml")["about"], load("CITATION.cff")
    assert about["homepage"] == citation["url"] == urls["Homepage"]
    assert about["documentation"] == urls["Documentation"]
    assert about["repository"] == citation["repository-code"] == urls["Source"]
    assert urls["Issues"].startswith(urls["Source"])
    assert urls["Changelog"].startswith(urls["Source"])
    for path in (*ROOT.glob("*.md"), *(ROOT / "doc").rglob("*.rst")):
        for address in re.findall(
            r"https://[^\s/]*skdp[^\s/]*|https://github.com/skdp", path.read_text()
        ):
            assert urls["Homepage"].startswith(address) or urls["Source"].startswith(address), path


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
