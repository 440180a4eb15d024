"""``skdp describe``: what a release guarantees, for whoever has to answer for it."""

import json
from dataclasses import asdict
from math import isinf
from textwrap import wrap

from skdp.commands._words import class_counts, noisy_counts, separation, statements, success
from skdp.release import Release

NAME = "describe"
HELP = """Say in plain words what a release guarantees, what it covers and what it excludes.

example:
  skdp describe hospital.skdp
  skdp describe hospital.skdp --json"""
# Of lines, in characters (rule of thumb).
_WIDTH = 88


def add_arguments(parser):
    """Add what the command takes."""
    parser.add_argument("release", metavar="RELEASE", help="file of a release (.skdp)")
    parser.add_argument("--json", action="store_true", help="the same as JSON, for programs")


def run(arguments, note):
    """Read a release, and return what it is."""
    release = Release.load(arguments.release)
    if arguments.json:
        document = {"file": arguments.release, **_facts(release)}
        return json.dumps(document, indent=1, allow_nan=False)
    note(f"read {arguments.release!r}")
    paragraphs = [repr(release)]
    for question, answer in statements(release).items():
        if answer:
            lines = wrap(answer, _WIDTH, break_on_hyphens=False)
            paragraphs.append("\n  ".join([question, *lines]))
    paragraphs.append("\n".join(["Columns", *_columns(release)]))
    lines = [*noisy_counts(release), *separation(release)] or ["nothing that can be summed up"]
    paragraphs.append("\n  ".join(["What came out", *lines]))
    lines = str(release.guarantee).split("\n")
    paragraphs.append("\n  ".join(["For experts", *lines]))
    return "\n\n".join(paragraphs)


def _columns(release):
    """Return a line for each column."""
    if release.encoder is not None:
        return release.encoder.summary().split("\n")[1:]
    if release.feature_names is not None:
        return [f"  {name!r}: numeric" for name in release.feature_names.tolist()]
    return [f"  {release.n_features} numeric columns without names"]


def _facts(release):
    """Return all that is said, and the numbers it is said of, as JSON has them."""
    guarantee, encoder = release.guarantee, release.encoder
    names = release.feature_names
    counts = class_counts(release)
    return {
        "classes": release.classes.tolist(),
        "n_features": release.n_features,
        "columns": None if encoder is None else encoder.to_mapping()["columns"],
        "feature_names": None if names is None else names.tolist(),
        "class_counts": None if counts is None else list(counts.values()),
        "guarantee": _guarantee(guarantee),
        "replace_one": _guarantee(guarantee.to_replace_one()),
        "label_guarantee": _guarantee(release.label_guarantee),
        "record_guarantee": _guarantee(release.record_guarantee),
        "statements": {question: text for question, text in statements(release).items() if text},
    }


def _guarantee(guarantee):
    """Return a guarantee as a mapping; an infinite number as text, which JSON lacks."""
    if guarantee is None:
        return None
    fields = {k: v for k, v in asdict(guarantee).items() if k != "mechanisms"}
    fields |= {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
    fields |= {"neighbours": guarantee.neighbours, "guessed_right_at_most": success(guarantee)}
    infinite = {k: "infinite" for k, v in fields.items() if isinstance(v, float) and isinf(v)}
    return fields | infinite
