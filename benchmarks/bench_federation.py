"""Four hospitals make releases of their own, and a server merges them in one round.

Each in an environment with the framework of that name (the extras flower and nvflare) and Python
3.11. Every hospital is a process of its own. It checks that the merged release is, byte for byte,
that of the owners' own files merged here, and that nothing of an error's message left its owner.
"""

import argparse
import json
import tempfile
from pathlib import Path

import _bench
from _federation import run_flower, run_nvflare
from _federation_owner import SECRET, hospitals
from _store import RESULTS, Results

from skdp import Release

RUN = {"flower": run_flower, "nvflare": run_nvflare}
# What goes wrong, and seconds to wait for answers.
CASES = {
    "all answer": ({}, 300),
    "one raises": ({"Long-Beach": "raises"}, 300),
    "one differs, one hangs": ({"Zurich-Basel": "schema", "Long-Beach": "hangs"}, 45),
}


def measure(framework, case, folder):
    owners = list(hospitals())
    faults, timeout = CASES[case]
    with _bench.Timer() as timer:
        RUN[framework](folder, owners, faults, timeout)
    report = json.loads((folder / "report.json").read_text())
    own = [Release.load(folder / f"{owner}.skdp") for owner in sorted(report["n_bytes"])]
    Release.merge(own, disjoint=True).save(folder / "here.skdp")
    everything = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return {
        "case": framework,
        "variant": case,
        "run_seconds": timer.seconds,
        "timeout": timeout,
        "bytes": report["n_bytes"],
        "refused": report["refused"],
        "merged_bytes": (folder / "merged.skdp").stat().st_size,
        "equal": (folder / "merged.skdp").read_bytes() == (folder / "here.skdp").read_bytes(),
        "leaked": any(SECRET.encode() in content for content in everything),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A federation of four hospitals.")
    parser.add_argument("framework", choices=RUN)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--check", action="store_true", help="fail unless all is as it should be")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="of results")
    options = parser.parse_args()
    command = "python benchmarks/bench_federation.py flower; … nvflare"
    results = Results("federation", command, options.folder)
    for case in options.cases:
        with tempfile.TemporaryDirectory() as folder:
            row = measure(options.framework, case, Path(folder))
        print(json.dumps(row, indent=1), flush=True)
        results.add(row, redo=True)
        as_it_should_be = row["equal"] and not row["leaked"]
        if options.check and not (as_it_should_be and set(row["refused"]) == set(CASES[case][0])):
            raise SystemExit("The merged release, the refusals or the secrecy are not right.")
