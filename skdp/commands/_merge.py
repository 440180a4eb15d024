"""``skdp merge``: merge the releases of several owners."""

from skdp.commands._arguments import add_output, add_release, checked_output
from skdp.release import Release, result_lines

NAME = "merge"
HELP = """Merge releases of several owners into one of all rows.

example:
  skdp merge north.skdp south.skdp --disjoint -o both.skdp
  skdp merge first.skdp second.skdp --overlapping -o both.skdp

Merging adds the noisy sums and spends no budget. If nobody has rows in two of the releases, each
person keeps the guarantee of their own owner; otherwise the privacy losses add up. The files
cannot show which is true: you must know."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_release(parser, "two or more releases of statistics (.skdp)", nargs="+")
    people = parser.add_mutually_exclusive_group(required=True)
    people.add_argument(
        "--disjoint", action="store_true", help="state that nobody has rows in two of them"
    )
    people.add_argument(
        "--overlapping", action="store_true", help="state that people may have rows in several"
    )
    add_output(parser, "the merged release", ".skdp")


def run(arguments, note):
    """Merge, write and describe the result."""
    paths = arguments.release
    if len(set(paths)) < max(2, len(paths)):
        raise ValueError("RELEASE needs two or more files. Name each once.")
    target = checked_output(arguments, ".skdp")
    releases = [Release.load(path) for path in paths]
    for number, path in enumerate(paths):
        note(f"release {number} is {path!r}")
    release = Release.merge(releases, disjoint=arguments.disjoint)
    release.save(target, overwrite=arguments.force)
    return "\n".join([f"Wrote {str(target)!r}: {release!r}.", *result_lines(release)])
