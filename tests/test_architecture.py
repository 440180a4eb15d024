"""Rules of the layout that no reader should have to check by hand."""

import ast
import re
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import skdp

ROOT = Path(skdp.__file__).parent
# A subpackage may import from those after it, never from those before.
ORDER = [
    *(
        "commands",
        "information",
        "federated",
        "transfer",
        "source",
        "release",
        "fuzzy",
        "membership",
        "tabular",
    ),
    *("features", "neural", "secure", "noise", "privacy", "datasets", "displays", "utils"),
]
# Which packages may see private rows, and which only what has crossed the wall.
OWNERS, BEYOND = {"source"}, {"transfer", "release"}
MAX_FILE_LINES, MAX_FUNCTION_LINES = 500, 60
# Private names that scikit-learn asks of estimators of third parties.
SKLEARN_PROTOCOL = {"_parameter_constraints", "_validate_params", "_repr_html_"}

PATHS = sorted(ROOT.rglob("*.py"))


@cache
def tree_of(path):
    return ast.parse(path.read_text())


def each_module(check):
    """Make a test of all modules of a check of one; it says of each that fails what it breaks.

    One test, as two thousand would be collected anew by each process that shares the work.
    """

    def test():
        broken = {}
        for path in PATHS:
            try:
                check(path)
            except AssertionError as error:
                broken[str(path.relative_to(ROOT))] = str(error)
        assert not broken, broken

    test.__name__, test.__doc__ = check.__name__, check.__doc__
    return test


def package_of(path):
    return path.relative_to(ROOT).parts[0]


def imports(tree):
    """Yield the module and the name of every import that runs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield "." * node.level + (node.module or ""), alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


@each_module
def test_imports_point_one_way(path):
    here = package_of(path)
    for module, name in imports(tree_of(path)):
        parts = module.split(".")
        assert parts[0], f"{module} {name} is relative"
        if parts[0] == "skdp" and here in ORDER:
            assert len(parts) > 1, f"{name} comes from the whole of skdp"
            assert ORDER.index(parts[1]) >= ORDER.index(here), f"{here} imports {module}.{name}"


@each_module
def test_the_core_does_not_need_the_satellites(path):
    satellites = {"fuzzy", "neural", "secure", "federated", "information", "features"}
    in_audit = path.relative_to(ROOT).parts[:2] == ("privacy", "audit")
    if package_of(path) not in {*satellites, "__init__.py"}:
        for module, name in imports(tree_of(path)):
            parts = [*module.split("."), name]
            if parts[0] == "skdp":
                assert parts[1] not in satellites, f"{module}.{name}"
                assert in_audit or parts[1:3] != ["privacy", "audit"], f"{module}.{name}"


@each_module
def test_private_modules_stay_in_their_package(path):
    here = package_of(path)
    for module, name in imports(tree_of(path)):
        parts = [*module.split("."), name]
        own = parts[0] == "skdp" and parts[1] in {here, "utils"}
        if own or here == "__init__.py" or path.name == "_sklearn.py":
            continue
        assert not any(map(is_private, parts)), f"{module}.{name} is private to {parts[:2]}"


@cache
def private_names_defined(package):
    """Return all private names that a subpackage gives to its own modules, classes and objects."""
    names = set(SKLEARN_PROTOCOL)
    for path in PATHS:
        if package_of(path) != package:
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


@each_module
def test_private_attributes_are_read_where_they_are_made(path):
    own = private_names_defined(package_of(path))
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            assert node.attr in own, f"line {node.lineno}: {ast.unparse(node)}"


def private_reads(tree):
    """Yield private names that are read of anything but the object itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            itself = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
            above = isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()"
            if not itself and not above:
                yield ast.unparse(node)
        named = isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr"
        if named and isinstance(node.args[1], ast.Constant) and is_private(node.args[1].value):
            yield ast.unparse(node)


@each_module
def test_the_target_s_side_reads_no_private_name_but_its_own(path):
    if package_of(path) == "transfer":
        assert not list(private_reads(tree_of(path)))


@each_module
def test_tables_are_read_in_utils_alone(path):
    """scikit-learn reads some tables differently, and others not at all."""
    readers = {"validate_data", "check_array", "check_X_y", "column_or_1d", "_check_feature_names"}
    of_sklearn = {name for module, name in imports(tree_of(path)) if module.startswith("sklearn")}
    assert package_of(path) == "utils" or not of_sklearn & readers


def test_private_reads_are_found():
    code = "self._a; release._b; getattr(x, '_c'); super()._d; cls._e; x.f; x.__doc__"
    assert list(private_reads(ast.parse(code))) == ["release._b", "getattr(x, '_c')"]


@each_module
def test_the_wall_is_a_folder(path):
    """No import passes it: what crosses it and the target's side know no owner."""
    here = package_of(path)
    for module, name in imports(tree_of(path)):
        parts = module.split(".")
        if parts[0] != "skdp":
            continue
        if here in BEYOND:
            assert parts[1] not in OWNERS, f"{here} imports {module}.{name}, the owner's side"
        if here in OWNERS:
            assert parts[1] != "transfer", f"{here} imports {module}.{name}, the target's side"
        if here == "transfer":
            assert parts[1] != "noise", f"{module}.{name} perturbs private rows"


@each_module
def test_imports_stand_at_the_top(path):
    """No import of skdp's own hides in a function."""
    tree = tree_of(path)
    hidden = [
        f"line {inner.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith("skdp")
    ]
    assert not hidden, hidden


@cache
def lines_of(text):
    return text.splitlines()


def code_lines(node, text):
    """Count lines that hold code: docstrings, comments and blank lines are free."""
    free = set()
    for inner in ast.walk(node):
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        if isinstance(inner, documented) and ast.get_docstring(inner) is not None:
            free.update(range(inner.body[0].lineno, inner.body[0].end_lineno + 1))
    lines = lines_of(text)
    first, last = (1, len(lines)) if isinstance(node, ast.Module) else span(node)
    return sum(
        bool(lines[i - 1].strip()) and not lines[i - 1].strip().startswith("#") and i not in free
        for i in range(first, last + 1)
    )


def span(node):
    return node.lineno, node.end_lineno


@each_module
def test_files_and_functions_stay_short(path):
    text, tree = path.read_text(), tree_of(path)
    assert code_lines(tree, text) <= MAX_FILE_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert code_lines(node, text) <= MAX_FUNCTION_LINES, node.name


def test_lines_of_code_are_counted_without_documents():
    text = '"""Doc."""\n\n# why\ndef f():\n    """Doc\n    more.\n    """\n    return 1  # x\n'
    tree = ast.parse(text)
    assert code_lines(tree, text) == 2
    assert code_lines(tree.body[1], text) == 2


@cache
def documented_names():
    """Return the public names of each package by the reference, those of skdp in both."""
    page = (ROOT.parent / "doc" / "api" / "index.rst").read_text()
    names = {}
    for full in re.findall(r"^   (skdp\.[\w.]+)$", page, flags=re.M):
        package, name = full.rsplit(".", 1)
        names.setdefault(package, set()).add(name)
    for name in names["skdp"]:
        home = getattr(skdp, name).__module__.split("._")[0]
        names.setdefault(home, set()).add(name)
    return names


def public_names(path):
    """Return the package of an ``__init__.py`` and what its ``__all__`` lists."""
    package = ".".join(["skdp", *path.relative_to(ROOT).parts[:-1]])
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return package, ast.literal_eval(node.value)
    return package, []


@each_module
def test_what_is_public_is_what_the_reference_documents(path):
    if path.name != "__init__.py":
        return
    package, names = public_names(path)
    assert len(names) == len(set(names))
    assert set(names) == documented_names().get(package, set())


def constants_of(path):
    spec = spec_from_file_location("constants", ROOT.parent / "doc" / "_ext" / "constants.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.constants_of(path))


@each_module
def test_every_constant_of_an_estimate_says_what_chose_it(path):
    """The table of constants (doc/constants.rst) consists of these comments."""
    if package_of(path) in {"source", "release", "transfer"}:
        assert not [name for name, _, comment in constants_of(path) if not comment]


def test_constants_and_their_comments_are_found(tmp_path):
    path = tmp_path / "room.py"
    path.write_text(
        "# Why.\nA = 1\nB = 2.0\n\nC = 3\n_D, E = 4, 5  # because\nlower = 6\nF = 'x'\n"
    )
    found = [
        ("A", "1", "Why."),
        ("B", "2.0", "Why."),
        ("C", "3", ""),
        ("_D, E", "(4, 5)", "because"),
    ]
    assert constants_of(path) == found


OUTCOMES = {"ClassOutcome", "NumberOutcome", "EventOutcome"}


@each_module
def test_only_its_own_file_asks_which_outcome_there_is(path):
    """Everything else asks the outcome, or looks into a table by its ``kind``."""
    if path.relative_to(ROOT).parts == ("tabular", "_outcomes.py"):
        return
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            named = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            assert not named & OUTCOMES, f"line {node.lineno}: {ast.unparse(node)}"
