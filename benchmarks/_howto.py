"""How to run the benchmarks: data, packages, hours, commands."""

from _plan import PLAN, file_of
from _table import exists, load, table

# What each command needs beyond skdp itself; MNIST and USPS are downloaded where need be.
NEEDS = {
    "bench_transfer.py office": "Office+Caltech; torch and opacus for DP-SGD",
    "bench_transfer.py mnist-mnist": "MNIST; torch and opacus for DP-SGD",
    "bench_transfer.py activity": "human activity; torch and opacus for DP-SGD",
    "bench_transfer.py": "MNIST, USPS; torch and opacus for DP-SGD",
    "bench_transfer_gap.py": "MNIST",
    "bench_office.py": "Office+Caltech; pot, skada",
    "bench_mnist.py": "MNIST",
    "bench_mnist_split.py": "MNIST",
    "bench_private_digits.py": "MNIST",
    "bench_fuzzy_digits.py": "MNIST",
    "bench_test_noise.py": "MNIST; torch",
    "bench_fuzzy_privacy.py": "MNIST; matplotlib",
    "bench_human_activity.py": "human activity",
    "bench_tables_peers.py": "the six tables; interpret-core, diffprivlib, torch and opacus",
    "bench_statistics.py tables": "the six tables",
    "bench_records.py": "the six tables",
    "bench_shift.py": "the six tables",
    "bench_merging.py": "the six tables",
    "bench_calibration.py": "the six tables, human activity, MNIST, Fashion-MNIST as fashion.npz",
    "bench_columns.py": "the six tables",
    "bench_planning.py": "the six tables",
    "bench_additive.py": "the six tables",
    "bench_bounds.py": "the six tables",
    "bench_synthetic.py": "the six tables",
    "bench_gradients.py": "–",
    "bench_hospitals.py": "–",
    "bench_evaluation.py": "flchain and adult of the six tables",
    "bench_statistics.py activity": "human activity",
    "bench_statistics.py mnist": "MNIST",
    "bench_noise.py": "diffprivlib, OpenDP (left out where missing)",
    "bench_noise_information.py": "–",
    "bench_leakage.py": "–",
    "bench_transferability.py": "the six tables, human activity, Office+Caltech, MNIST, USPS",
    "bench_accounting.py": "dp-accounting",
    "bench_attacks.py": "Office+Caltech",
    "bench_audit_power.py": "–",
    "bench_release_audit.py": "–",
    "bench_predict_memory.py": "–",
    "bench_startup.py": "–",
    "bench_limits.py": "MNIST",
    "bench_memory.py": "MNIST",
    "bench_growth.py": "MNIST",
    "bench_digits_models.py": "MNIST; torch and opacus for DP-SGD",
    "bench_statistics_scale.py": "MNIST; dask, polars, pyarrow",
    "bench_neural.py": "MNIST; torch and opacus",
    "bench_federation_noise.py": "the six tables",
    "bench_federation.py": "flwr, or nvflare, each in an environment of its own",
    "bench_secure.py": "concrete-python, in an environment of its own",
}
# Results that the scripts without keys write.
OTHERS = (
    "transfer_gap", "transfer_blocks", "office", "mnist", "mnist_split", "private_digits",
    "fuzzy_digits", "test_noise", "fuzzy_privacy", "human_activity", "tables_peers",
    "statistics_tables", "statistics_activity", "statistics_mnist", "noise",
    "noise_information", "leakage", "transferability", "accounting", "attacks",
    "audit_power", "release_audit", "predict_memory", "statistics_scale", "records",
    "records_columns", "shift", "merging", "hospitals",
    "calibration", "secure", "neural", "federation", "federation_noise",
    "columns", "planning", "evaluation", "synthetic", "bounds", "additive", "gradients",
    "limits", "growth", "digits_models", "memory", "startup",
)  # fmt: skip

TEXT = """\
**Data.** MNIST and USPS are downloaded from OpenML on first use. Human activity, Office+Caltech
and the six tables have no download: set the environment variable `SKDP_DATA` to a folder that
holds `uci_har_features_derived.npz`, `office_caltech_surf.npz`,
`office_caltech_splits_hoffman20.npz` and the folder `tabular`; `mnist.npz` and `usps.npz` there
save the downloads.

**Packages.** `pip install -e ".[benchmark,privacy]"` gives matplotlib, torch, pot, skada and
dp-accounting, and opacus for DP-SGD; without torch and opacus its rows are left out. The other
packages of `bench_tables_peers.py` exclude one another: each has an environment of its own.

**Commands.** One command for each table, from the root of the repository. `bench_transfer.py`
computes only the rows that its table lacks, and writes each as it comes: after an interruption
repeat the command. `--list` says what is missing, `--redo` computes rows again, and `--models`,
`--variants`, `--levels`, `--labels` and `--draws` choose some of them. `_plan.py` says what a
table is to hold. Two processes may fill one table. `bench_office.py` keeps the pairs of domains
that it has, `bench_tables_peers.py`, `bench_statistics.py`, `bench_records.py` and
`bench_merging.py` their rows; the other scripts run as a whole. `python benchmarks/tables.py` then
writes this page and the pages of tables in `doc/benchmarks/`.

**Results.** One file for one table, in `results/`. Each row of a transfer table has its key
(case, level, model, variant, draw, labels of a class), settings, seconds, and the commit of the
code that made it, "-dirty" where tracked files differed from it; `runs` has the command,
versions and cores of that time. Rows that others with their key replaced stay as `superseded`.
Rows made before files had commits name the last commit that changed their file; their run says
so.

Hours are the seconds of all recorded fits and predictions, on the cores of that time.
"""


def page():
    body = []
    for name in PLAN:
        record = load(file_of(name))
        rows, hours = len(record["rows"]), _hours(seconds(record))
        body.append([f"`{record['command']}`", _needs(record), rows, hours])
    commands = {}
    for name in filter(exists, OTHERS):
        record = load(name)
        commands.setdefault(record["command"], []).append(record)
    for command, records in commands.items():
        time = [record["seconds"] for record in records if "seconds" in record]
        rows = sum(len(record["rows"]) for record in records)
        known = max(time) if time else sum(map(seconds, records))
        body.append([f"`{command}`", _needs(records[0]), rows, _hours(known)])
    return TEXT + "\n" + table(["command", "needs", "rows", "hours"], body) + "\n"


def _needs(record):
    return next(what for script, what in NEEDS.items() if script in record["command"])


def seconds(record):
    """Sum of the recorded seconds; those of a source that served several rows count once."""
    total, sources = 0.0, set()
    for row in record["rows"]:
        spent = sum(value or 0.0 for name, value in row.items() if name.endswith("seconds"))
        source = (row.get("case"), row.get("level"), row.get("variant"), spent)
        if row.get("model") != "source alone" or source not in sources:
            total += spent
        sources.add(source)
    return total


def _hours(spent):
    if not spent:
        return "not recorded"
    return f"{spent / 3600:.1f}" if spent >= 360 else "less than 0.1"


def made_at(record):
    """Commits and cores behind a result file."""
    runs = record.get("runs") or [record]
    commits = sorted({run["commit"] for run in runs})
    cores = sorted({run["cores"] for run in runs})
    some = f"commit {commits[0]}" if len(commits) == 1 else f"{len(commits)} commits"
    return f"{some}, {' or '.join(map(str, cores))} cores"
