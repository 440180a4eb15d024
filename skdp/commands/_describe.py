"""``skdp describe``: what a release guarantees, for whoever has to answer for it."""

import json
from math import isinf

from skdp.privacy import pack_guarantee
from skdp.release import RARE, Release, statements

NAME = "describe"
HELP = """Say in plain words what a release guarantees, what it covers and what it excludes.

example:
  skdp describe hospital.skdp
  skdp describe hospital.skdp --json"""


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
    return release.summary()


def _facts(release):
    """Return all that is said, and the numbers it is said of, as JSON has them."""
    guarantee, encoder = release.guarantee, release.encoder
    names = release.feature_names
    moments = release.moments
    counts = None if moments is None else [round(float(n)) for n in moments.class_counts]
    return {
        "classes": release.classes.tolist(),
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
    """Return a guarantee as a mapping; an infinite number as text, which JSON lacks."""
    if guarantee is None:
        return None
    fields = {k: v for k, v in pack_guarantee(guarantee).items() if k != "mechanisms"}
    fields |= {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
    fields |= {
        "neighbours": guarantee.neighbours,
        "guessed_right_at_most": guarantee.best_guess(),
        "named_rightly_at_most_of_1_in_100": guarantee.precision_at(RARE),
    }
    infinite = {k: "infinite" for k, v in fields.items() if isinstance(v, float) and isinf(v)}
    return fields | infinite
