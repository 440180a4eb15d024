"""The project's checks; plain ``nox`` runs them all, each in an environment of its own."""

from pathlib import Path
from tempfile import TemporaryDirectory

import nox

nox.options.sessions = ["lint", "oldest", "tests", "sdist", "doc"]
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True

# The lower bounds of pyproject.toml.
OLDEST = [
    "cryptography==41.0.0",
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
    """scikit-learn's common checks against the oldest supported versions."""
    session.install("pytest>=9", "pytest-xdist>=3.5", *OLDEST)
    session.install("--no-deps", ".")
    session.run("pytest", "-q", "-n", "2", "tests/test_common.py", env={"OMP_NUM_THREADS": "1"})


@nox.session
def tests(session):
    """Everything, against the newest versions."""
    session.install("-e", ".[test]")
    session.run("pytest", "-q", "-n", "2", *session.posargs, env={"OMP_NUM_THREADS": "1"})


@nox.session
def sdist(session):
    """Build the source distribution, unpack it, and test what is in it.

    By default whether every test can be collected, and what reads files beside the package;
    ``nox -s sdist -- all`` runs everything.
    """
    session.install("build")
    one = {"OMP_NUM_THREADS": "1"}
    with TemporaryDirectory() as folder:  # outside the checkout, and nothing of it on the path
        session.run("python", "-m", "build", "--sdist", "--outdir", folder)
        [archive] = Path(folder).glob("*.tar.gz")
        session.run("tar", "-xzf", str(archive), "-C", folder, external=True)
        [root] = Path(folder).glob("skdp-*/")
        session.install("-e", f"{root}[test]")
        with session.chdir(root):
            if "all" in session.posargs:
                session.run("pytest", "-q", "-n", "2", env=one)
                return
            session.run("pytest", "--collect-only", "-qq", env=one, silent=True)
            names = ["test_readme", "test_architecture", "test_bibliography", "test_benchmarks"]
            names += ["release/test_golden", "datasets/test_tables"]
            files = [f"tests/{name}.py" for name in names]
            session.run("pytest", "-q", *files, env=one)


@nox.session
def doc(session):
    """Build the documentation into doc/_build; ``nox -s doc -- run`` runs its examples too.

    The tests run them already.
    """
    session.install("-e", ".[doc]")
    gallery = [] if "run" in session.posargs else ["-D", "plot_gallery=0"]
    session.run("sphinx-build", "-q", "-W", "--keep-going", *gallery, "doc", "doc/_build")


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
    session.run("pytest", "-q", "tests/neural", "skdp/neural", "doc/neural.rst", env=one)
    names = "AdaptiveLaplace or PrivateCDBN or networks"
    session.run("pytest", "-q", "tests/test_common.py", "-k", names, env=one)


def federation(session, framework, package):
    """Install one framework, and run what needs it: its tests, and a federation of processes."""
    try:
        session.install("-e", f".[{framework}]", "pytest>=9")
    except nox.command.CommandFailed:
        session.skip(f"{package} cannot be installed here")
    one = {"OMP_NUM_THREADS": "1"}
    session.run("pytest", "-q", "tests/federated", env=one)
    with TemporaryDirectory() as folder:
        script = "benchmarks/bench_federation.py"
        session.run("python", script, framework, "--folder", folder, "--check", env=one)


@nox.session(python="3.11")
def flower(session):
    """A federation over Flower; not by default: it takes minutes."""
    federation(session, "flower", "flwr 1.41")


@nox.session(python="3.11")
def nvflare(session):
    """A federation over NVIDIA FLARE; not by default: it takes minutes."""
    federation(session, "nvflare", "nvflare 2.9")
