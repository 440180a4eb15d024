"""A secure sum of owners in processes of their own: over Flower, NVIDIA FLARE, or by files.

Each framework in an environment with it (the extras flower and nvflare) and Python 3.11. Rows of
the heart disease table are dealt to the owners in turn. It checks that the release is, byte for
byte, that of all parties in this process, with the noise of equal seeds. "bytes" counts what an
owner sends and receives by the numbers of owners and of encoded columns, in this process alone.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import _bench
from _federation import environment, run_flower, run_nvflare
from _federation_owner import part, seed
from _store import RESULTS, Results
from bench_secure_sum import in_this_process

from skdp import TabularEncoder
from skdp.datasets import load_heart_disease
from skdp.federated import SecureSum
from skdp.privacy import PrivacyLedger
from skdp.secure import Identity

COMMAND = "python benchmarks/bench_secure_sum_network.py nvflare; … flower; … files; … bytes"
CLI = "import sys; from _federation_owner import command; sys.exit(command(*sys.argv[1:]))"


def names_of(n_owners):
    return [f"owner-{number:03d}" for number in range(n_owners)]


def agree(folder, owners, schema):
    """Write a plan, and what is each owner's own; return the plan and the identities."""
    identities = [Identity.generate(owner) for owner in owners]
    plan = SecureSum.create(schema, [identity.public for identity in identities], epsilon=4.0)
    plan.save(folder / "plan.json")
    for identity in identities:
        identity.save(folder / f"{identity.name}.id")
        PrivacyLedger(4.0, 1e-5, path=folder / f"{identity.name}.json")
    return plan, identities


def run_files(folder, owners):
    """Run every step of the command line in a process of its own."""
    heart = load_heart_disease()
    (folder / "schema.json").write_text(json.dumps(heart.schema))
    for number, owner in enumerate(owners):
        rows = heart.data.assign(label=heart.target).iloc[number :: len(owners)]
        rows.to_csv(folder / f"{owner}.csv", index=False)

    def step(owner, *words):
        command = [sys.executable, "-c", CLI, owner, "sum", *words]
        subprocess.run(command, check=True, cwd=folder, env=environment(folder, {}))

    def combine(*words):
        step("", "combine", "plan.json", *words)

    for owner in owners:
        step(owner, "identity", owner, "-o", f"{owner}.id")
    files = [f"{owner}.pub" for owner in owners]
    step("", "plan", "schema.json", *files, "--epsilon", "4", "-o", "plan.json")
    own = {owner: ("--identity", f"{owner}.id", "--folder", owner) for owner in owners}
    for owner in owners:
        step(owner, "join", "plan.json", *own[owner], "-o", f"{owner}.0.msg")
    combine(*(f"{owner}.0.msg" for owner in owners), "-o", "request1.msg")
    for number, output in enumerate(("request2.msg", "merged.skdp"), 1):
        for owner in owners:
            words = ("answer", "plan.json", f"request{number}.msg", f"{owner}.csv", *own[owner])
            words += ("--label", "label", "--ledger", f"{owner}.json", "--budget-epsilon", "4")
            words += ("--budget-delta", "1e-5", "-o", f"{owner}.{number}.msg")
            step(owner, *words)
        answers = [f"{owner}.{number}.msg" for owner in owners]
        combine(f"request{number}.msg", *answers, "-o", output)


def traffic(folder, owners, prefix=""):
    """Return the bytes that an owner sends, and that it receives, in all requests."""
    sent = [
        [(folder / f"{prefix}{owner}" / f"{kind}.msg").stat().st_size for owner in owners]
        for kind in ("key", "first-answer", "second-answer")
    ]
    keys, first, _ = (sum(sizes) for sizes in sent)
    return {"sent": max(map(sum, zip(*sent, strict=True))), "received": 2 * keys + first}


def measure(framework, n_owners, folder):
    owners = names_of(n_owners)
    if framework != "files":
        plan, identities = agree(folder, owners, load_heart_disease().schema)
    with _bench.Timer() as timer:
        if framework == "files":
            run_files(folder, owners)
        else:
            run = {"flower": run_flower, "nvflare": run_nvflare}[framework]
            run(folder, owners, {}, 600)
    if framework == "files":
        plan = SecureSum.load(folder / "plan.json")
        identities = [Identity.load(folder / f"{owner}.id") for owner in owners]
    with _bench.Timer() as here:
        release, _ = in_this_process(plan, identities, folder, part, seed)
    release.save(folder / "here.skdp")
    equal = (folder / "merged.skdp").read_bytes() == (folder / "here.skdp").read_bytes()
    times = {"run_seconds": timer.seconds, "here_seconds": here.seconds}
    key = {"case": framework, "level": n_owners}
    return {**key, **times, **traffic(folder, owners), "equal": equal}


def count(n_owners, n_columns, folder):
    """Count bytes for a table of numeric columns."""
    column = {"type": "numeric", "low": 0, "high": 1}
    columns = {f"x{number}": column for number in range(n_columns)}
    schema = {"version": 1, "columns": columns, "classes": ["no", "yes"]}
    plan, identities = agree(folder, names_of(n_owners), schema)
    rows = plan.accumulator()
    rows.add([[0.5] * n_columns] * 2, ["no", "yes"])
    with _bench.Timer() as here:
        in_this_process(plan, identities, folder, lambda owner, plan: rows, seed)
    encoded = len(TabularEncoder(schema).fit([[0.5] * n_columns]).get_feature_names_out())
    found = traffic(folder, names_of(n_owners), "here-")
    key = {"case": "bytes", "level": n_owners, "variant": n_columns}
    return {**key, "encoded": encoded, "here_seconds": here.seconds, **found}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A secure sum of owners in processes.")
    parser.add_argument("framework", choices=("flower", "nvflare", "files", "bytes"))
    parser.add_argument("--owners", nargs="+", type=int, default=[4, 20])
    parser.add_argument("--columns", nargs="+", type=int, default=[10, 30, 100])
    parser.add_argument("--check", action="store_true", help="fail unless the releases are equal")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="of results")
    options = parser.parse_args()
    results = Results("secure_sum_network", COMMAND, options.folder)
    by_columns = options.columns if options.framework == "bytes" else [None]
    for n_owners, n_columns in product(options.owners, by_columns):
        with tempfile.TemporaryDirectory() as name:
            if n_columns is None:
                row = measure(options.framework, n_owners, Path(name))
            else:
                row = count(n_owners, n_columns, Path(name))
        print(json.dumps(row), flush=True)
        results.add(row, redo=True)
        if options.check and not row.get("equal", True):
            raise SystemExit("The release differs from that of one process.")
