"""The releases given as a source: what they are about, merged ones, and their guarantee."""

import os

from sklearn.utils.validation import check_is_fitted

from skdp.release import Release, merge_problem, merged_guarantee
from skdp.tabular import Schema

# By kind of outcome: the target's estimator.
_ESTIMATORS = {
    "class": "DPTransferClassifier",
    "number": "DPTransferRegressor",
    "event": "DPTransferSurvival",
}


def as_releases(source, strategy, kind):
    """Return the releases, about one kind of outcome, given as a source, as a list."""
    parameter = f"The 'source' parameter of {_ESTIMATORS[kind]}"
    items = source if isinstance(source, list | tuple) else [source]
    if not len(items):
        raise ValueError(f"{parameter} is an empty list. Pass a release, or None.")
    releases = [_as_release(item, parameter) for item in items if item is not None]
    for release in releases:
        other = release.outcome
        if other.kind != kind:
            raise ValueError(
                f"{parameter} is a release about {other.about}. Use {_ESTIMATORS[other.kind]}."
            )
        if strategy.reconstructs_rows and not (release.row_classifier and release.alignment):
            raise ValueError(
                f"The 'strategy' parameter {strategy.name!r} needs a release that reconstructs "
                "rows: use 'noise_aware', or ask for DPSource(parts='papers') or "
                "DPSource(parts='all')."
            )
    if len(releases) > 1 and strategy.reconstructs_rows:
        raise ValueError(
            f"strategy={strategy.name!r} takes one source, got {len(releases)}. Use "
            "strategy='noise_aware'."
        )
    without = [k for k, release in enumerate(releases) if not release.moments]
    if len(releases) > 1 and without:
        raise ValueError(
            f"Several sources are weighted by their moments, and source {without[0]} has none. "
            "Ask its owner for a release with moments."
        )
    return _of_one_schema(releases, parameter)


def _as_release(source, parameter):
    """Return the release given as a release, a path or a fitted source."""
    if isinstance(source, str | os.PathLike):
        if not os.path.exists(source):
            raise FileNotFoundError(
                f"{parameter} names the file {os.fspath(source)!r}, which does not exist. Give "
                "that of Release.save."
            )
        source = Release.load(source)
    if hasattr(source, "fit") and not isinstance(source, type):
        check_is_fitted(
            source,
            msg="This %(name)s is not fitted, so that there is no release to learn from. Fit it "
            "and pass its release_: searches clone a source, and clones are not fitted.",
        )
    release = getattr(source, "release_", source)
    if not isinstance(release, Release):
        raise ValueError(
            f"{parameter} must be a Release, the path of its file, a fitted source, a list of "
            f"these or None, got {type(source).__name__}."
        )
    return release


def _of_one_schema(releases, parameter):
    """Return releases with the columns of all tables in the order of the first one."""
    encoded = [k for k, release in enumerate(releases) if release.encoder]
    for k in encoded[1:]:
        # Only columns are compared here; classes are compared with those of the target.
        first, other = (Schema(releases[j].encoder.columns) for j in (encoded[0], k))
        lines = first.difference(other)
        if lines:
            raise ValueError(
                f"{parameter} holds tables encoded by different schemas. Source {encoded[0]} "
                f"here, source {k} there: {'; '.join(lines)!s:.400}. Remove these columns by "
                "Release.restrict, or use a Schema.common."
            )
    return [
        release if not release.encoder else release.restrict(releases[encoded[0]].encoder.names)
        for release in releases
    ]


def common_outcome(releases, owner):
    """Return the outcome that all releases are about, None without any."""
    if not releases:
        return None
    first = releases[0].outcome
    for k, release in enumerate(releases):
        if first.mismatch(release.outcome):
            raise ValueError(
                f"The 'source' parameter of {owner} holds releases about different outcomes: "
                f"source 0 about {first}, source {k} about {release.outcome}. Pass releases that "
                f"agree in {first.public}."
            )
    return first


def _merged_groups(releases):
    """Return releases, merged if possible, each with the list indices of its sources.

    A release so noisy that merging would lower the precision of the others stays separate.
    """

    def precision(k):
        sums = releases[k].statistics
        return sums.effective_rows if sums else 0.0

    groups: list = []
    for k in sorted(range(len(releases)), key=precision, reverse=True):
        for n, (merged, numbers) in enumerate(groups):
            problem = merge_problem(merged, releases[k])
            if not problem and merged.statistics.gains_by(releases[k].statistics):
                # At once, as means of distributions lie on a grid. Sums merge only as disjoint;
                # summed_guarantee computes the guarantee instead.
                numbers = [*numbers, k]
                more = Release.merge([releases[j] for j in numbers], disjoint=True)
                groups[n] = (more, numbers)
                break
        else:
            groups.append((releases[k], [k]))
    return sorted(((merged, sorted(numbers)) for merged, numbers in groups), key=lambda g: g[1][0])


def named_sources(releases, *, any_label):
    """Return releases, merged if possible, and the single ones of these if there are labels.

    Each is a tuple of name, release and probability. Single releases, which labels may favor,
    together have half of the probability.
    """
    groups, several = _merged_groups(releases), len(releases) > 1
    merged = [k for _, members in groups if len(members) > 1 for k in members if any_label]
    part = 0.5 if merged else 1.0
    together = []
    for release, members in groups:
        numbers = f" {', '.join(map(str, members))}" if several else ""
        name = f"source{'s' * (len(members) > 1)}{numbers}"
        together.append((name, release, part / len(groups)))
    return together, [(f"source {k}", releases[k], 0.5 / len(merged)) for k in merged]


def summed_guarantee(releases, disjoint):
    """Return the joint guarantee of several releases for any person."""
    guarantees = [release.guarantee for release in releases]
    try:
        return merged_guarantee(guarantees, disjoint) if guarantees else None
    except ValueError:
        return tuple(guarantees)
