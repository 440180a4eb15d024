"""What cannot be collected where an optional package is not installed."""

from importlib.util import find_spec

# Doctests of modules that import PyTorch. ``nox -s neural`` runs them.
collect_ignore_glob = [] if find_spec("torch") else ["skdp/neural/*.py", "doc/howto/neural.rst"]
# The adapters to frameworks of federations. ``nox -s flower`` and ``nox -s nvflare`` run these.
collect_ignore_glob += [
    f"skdp/federated/{module}.py"
    for module, package in (("flower", "flwr"), ("nvflare", "nvflare"))
    if not find_spec(package)
]
