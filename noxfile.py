"""The project's checks; plain ``nox`` runs them all, each in an environment of its own."""

import os
import sys
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

import nox

nox.options.sessions = ["lint", "oldest", "tests", "package", "doc"]
nox.options.reuse_existing_virtualenvs = True
# Modules are compiled where they are first imported, and most that are installed never are.
os.environ |= {"PIP_COMPILE": "0", "PYTHONDONTWRITEBYTECODE": ""}

# The lower bounds of pyproject.toml.
OLDEST = [
    "cryptography==41.0.0",
    "filelock==3.30.0",
    "joblib==1.3.0",
    "numpy==1.26.0",
    "pandas==2.1.1",
    "scikit-learn==1.6.0",
    "scipy==1.11.1",
    "threadpoolctl==3.1.0",
]


@nox.session
def lint(session):
    """Style, formatting, types."""
    session.install("ruff==0.17.5", "mypy==2.4.1", "numpy==2.4.6")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    # Of skdp's own types alone, as whoever installs it sees them.
    script = "tests/typing/user_script.py"
    session.run("mypy", "--strict", "--follow-imports=silent", script)


@nox.session
def oldest(session):
    """The common checks against the oldest supported versions, and what needs NumPy 1."""
    session.install("pytest>=9", "pytest-xdist>=3.5", "dp-accounting>=0.4.4", *OLDEST)
    session.install("--no-deps", ".")
    files = ("tests/test_common.py", "tests/privacy/test_accounting.py")
    session.run("pytest", "-q", "-n", "2", *files, env={"OMP_NUM_THREADS": "1"})


@nox.session
def tests(session):
    """Everything against the newest versions; ``nox -s tests -- --all`` before a release.

    Of slow tests, the first parameters alone are tried without ``--all``.
    """
    session.install("-e", ".[test]")
    session.run(
        *("pytest", "-q", "-n", "2", "--dist", "worksteal", *session.posargs),
        env={"OMP_NUM_THREADS": "1"},
    )


@nox.session
def package(session):
    """Build wheel and source distribution, check both, and test each in a new environment.

    Of the source distribution, by default, whether every test can be collected, and what reads
    files beside the package; ``nox -s package -- all`` runs everything, with all parameters.
    """
    session.install("build", "twine>=6.1")
    with TemporaryDirectory() as folder:  # outside the checkout, and nothing of it on the path
        folder = Path(folder)
        session.run("python", "-m", "build", "--outdir", str(folder))
        [archive], [wheel] = folder.glob("*.tar.gz"), folder.glob("*.whl")
        session.run("twine", "check", "--strict", str(archive), str(wheel))
        session.run("tar", "-xzf", str(archive), "-C", str(folder), external=True)
        [root] = folder.glob("skdp-*/")
        programs = folder / "new" / "bin"
        session.run(sys.executable, "-m", "virtualenv", "-q", str(programs.parent), external=True)
        with session.chdir(folder):
            test_wheel(session, programs, wheel, root)
        with session.chdir(root):
            test_sdist(session, programs)


def install(session, programs, *packages):
    command = [str(programs / "python"), "-m", "pip", "install", "-q", *packages]
    session.run(*command, external=True)


def test_wheel(session, programs, wheel, root):
    """Try what a user who has nothing but the wheel tries first, then a few tests."""
    one = {"OMP_NUM_THREADS": "1"}
    install(session, programs, str(wheel))
    session.run(str(programs / "python"), "-m", "pip", "check", external=True)
    quickstart = (root / "README.md").read_text().split("```python\n")[1].split("```")[0]
    session.run(str(programs / "python"), "-c", quickstart, external=True, env=one)
    session.run(str(programs / "skdp"), "--version", external=True, env=one)
    install(session, programs, "pytest>=9")
    copytree(root / "tests", "tests")  # without the package and pyproject.toml beside them
    names = ["release/test_golden", "datasets/test_tables", "commands/test_describe"]
    files = [f"tests/{name}.py" for name in names]
    run = ["-m", "pytest", "-q", "--import-mode=importlib", *files]
    session.run(str(programs / "python"), *run, external=True, env=one)


def test_sdist(session, programs):
    """Collect all tests, and run what reads files beside the package, or everything.

    The wheel was built of the source distribution and is replaced by it, in one environment.
    """
    one = {"OMP_NUM_THREADS": "1"}
    install(session, programs, "-e", ".[test]")
    names = ["test_readme", "test_packaging", "test_architecture", "test_bibliography"]
    names += ["test_benchmarks"]
    which = ["-n", "2", "--all"] if "all" in session.posargs else ["-k", " or ".join(names)]
    session.run(str(programs / "pytest"), "-q", *which, external=True, env=one)


@nox.session
def doc(session):
    """Build the documentation into doc/_build; ``nox -s doc -- run`` runs its examples too.

    The tests run them already.
    """
    session.install("-e", ".[doc]")
    gallery = [] if "run" in session.posargs else ["-D", "plot_gallery=0"]
    build = ["sphinx-build", "-q", "-W", "-j", "2", "--keep-going", *gallery]
    session.run(*build, "doc", "doc/_build")
    session.run("python", "doc/_ext/check_links.py", "doc/_build")


@nox.session(python="3.11")
def secure(session):
    """The combination under encryption; not by default: it takes minutes and has old pins."""
    try:
        session.install("-e", ".[secure]", "pytest>=9")
    except nox.command.CommandFailed:
        session.skip("concrete-python 2.11 cannot be installed here")
    session.run("pytest", "-q", "tests/secure", env={"OMP_NUM_THREADS": "1"})


@nox.session
def neural(session):
    """The private networks; not by default: PyTorch is large."""
    try:
        session.install("-e", ".[neural,test]")
    except nox.command.CommandFailed:
        session.skip("PyTorch 2.13.0 or Opacus cannot be installed here")
    one = {"OMP_NUM_THREADS": "1"}
    session.run("pytest", "-q", "tests/neural", "skdp/neural", "doc/howto/neural.rst", env=one)
    names = "AdaptiveLaplace or PrivateCDBN or networks"
    session.run("pytest", "-q", "tests/test_common.py", "-k", names, env=one)


def federation(session, framework, package):
    """Install one framework, and run the example over it, also in processes."""
    try:
        session.install("-e", ".", "pytest>=9", package)
    except nox.command.CommandFailed:
        session.skip(f"{package} cannot be installed here")
    test = f"tests/federated/test_over_{framework}.py"
    session.run("pytest", "-q", test, env={"OMP_NUM_THREADS": "1"})


@nox.session(python="3.11")
def flower(session):
    """The example over Flower; not by default: it takes minutes."""
    federation(session, "flower", "flwr==1.41.*")


@nox.session(python="3.11")
def nvflare(session):
    """The example over NVIDIA FLARE; not by default: it takes minutes."""
    federation(session, "nvflare", "nvflare==2.9.*")
