"""``skdp describe``: state the guarantee of a release for those responsible for it."""

import json
from itertools import pairwise
from math import floor, inf, isfinite, isinf, log10

from skdp.commands._arguments import add_release
from skdp.privacy import pack_guarantee
from skdp.release import RARE, Release, statements
from skdp.utils._frames import text_width

NAME = "describe"
HELP = """Describe in plain words what a release guarantees.

example:
  skdp describe hospital.skdp
  skdp describe hospital.skdp --columns
  skdp describe hospital.skdp --json"""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_release(parser)
    parser.add_argument(
        "--columns",
        action="store_true",
        help="means, deviations and shares of each column by class, with 95%% intervals",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def run(arguments, note):
    """Read a release and return its description."""
    release = Release.load(arguments.release)
    if arguments.json:
        document = {"file": arguments.release, **_facts(release)}
        if arguments.columns:
            document["column_table"] = _records(release.describe_columns())
        return json.dumps(document, indent=1, allow_nan=False)
    note(f"read {arguments.release!r}")
    if not arguments.columns:
        return release.summary()
    note("each share has its own noise: the shares of a column need not add up to 1")
    return column_lines(release)


def column_lines(release):
    """Return the columns of a release by class as text, one line per statistic."""
    table = release.describe_columns()
    table["class"] = ["all" if label is None else str(label) for label in table["class"]]
    table["cell"] = [_cell(*line) for line in table[["value", "low", "high"]].itertuples(False)]
    table["column"] = table["column"].fillna("")
    cells: dict = {}
    for line in table.itertuples(index=False):
        cells.setdefault((line.column, line.statistic), []).append(line.cell)
    lines = [["", "", *table["class"].unique()]]
    lines += [[*key, *values] for key, values in cells.items()]
    for above, line in reversed(list(pairwise(lines))):  # each column is named once
        line[0] = "" if line[0] == above[0] else line[0]
    widths = [max(len(line[k]) for line in lines) + 2 for k in range(len(lines[0]))]
    blocks: list = [[0, 1]]
    for k in range(2, len(widths)):  # below each other where the terminal is too narrow
        if len(blocks[-1]) > 2 and sum(widths[j] for j in [*blocks[-1], k]) - 2 > text_width(inf):
            blocks.append([0, 1])
        blocks[-1].append(k)
    return "\n\n".join(
        "\n".join("".join(line[k].ljust(widths[k]) for k in block).rstrip() for line in lines)
        for block in blocks
    )


def _cell(value, low, high):
    """Return a value with its interval, rounded to the digits that the interval justifies."""
    if not isfinite(value):
        return "unknown"
    half = (high - low) / 2
    if not (isfinite(half) and half > 0):
        return f"{value:.6g}"
    digits = max(0, 1 - floor(log10(half)))
    shown = [f"{number:.{digits}f}" for number in (value, low, high)]
    return "{} [{}, {}]".format(*shown)


def _records(table):
    """Return a table in JSON types, with None for values that are not finite."""
    finite = table.astype(object).where(table.notna(), None)
    return [
        {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in line.items()}
        for line in finite.to_dict("records")
    ]


def _facts(release):
    """Return all statements and their numbers in JSON types."""
    guarantee, encoder = release.guarantee, release.encoder
    names = release.feature_names
    moments = release.moments
    counts = (
        None
        if moments is None or not release.outcome.groups
        else [round(float(n)) for n in moments.class_counts]
    )
    return {
        "classes": None,
        "outcome": None,
        **release.outcome.description(),
        "n_features": release.n_features,
        "columns": None if encoder is None else encoder.to_mapping()["columns"],
        "feature_names": None if names is None else names.tolist(),
        "class_counts": counts,
        "guarantee": _guarantee(guarantee),
        "replace_one": _guarantee(guarantee.to_replace_one()),
        "label_guarantee": _guarantee(release.label_guarantee),
        "record_guarantee": _guarantee(release.record_guarantee),
        "statements": statements(release),
    }


def _guarantee(guarantee):
    """Return a guarantee as a mapping; infinity becomes text, which JSON can hold."""
    if guarantee is None:
        return None
    fields = {k: v for k, v in pack_guarantee(guarantee).items() if k != "mechanisms"}
    fields |= {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
    fields |= {
        "neighbors": guarantee.neighbors,
        "guessed_right_at_most": guarantee.best_guess(),
        "named_rightly_at_most_of_1_in_100": guarantee.precision_at(RARE),
    }
    infinite = {k: "infinite" for k, v in fields.items() if isinstance(v, float) and isinf(v)}
    return fields | infinite
