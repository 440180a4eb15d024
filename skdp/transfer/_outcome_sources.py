"""The releases of a target whose outcome is a number or a time: columns, outcome and shares."""

import numpy as np

from skdp.release import TARGET_ADVICE, warn_of_doubt
from skdp.transfer._number_candidates import TARGET, Terms
from skdp.transfer._sources import check_columns, merged_groups


def checked_columns(estimator, matching, rows):
    """Return the number of columns that are the sources', after checking them."""
    if not matching.releases:
        return 0
    n_shared = rows.shape[1] if matching.n_shared is None else matching.n_shared
    for release in matching.releases:
        if matching.embeds(release, n_shared):
            other = " of other names" if matching.is_embedded else ""
            raise ValueError(
                f"X has {n_shared} columns, and the release {release.n_features}{other}. A "
                f"release about {release.outcome.about} takes its own columns: pass these in "
                "their order, or a DataFrame whose columns have their names."
            )
    check_columns(estimator, matching, rows, np.empty(0))
    return n_shared


def common_outcome(estimator, releases):
    """Return the outcome that all releases are about, None without any."""
    if not releases:
        return None
    first = releases[0].outcome
    for k, release in enumerate(releases):
        if first.mismatch(release.outcome):
            raise ValueError(
                f"The 'source' parameter of {type(estimator).__name__} holds releases about "
                f"different outcomes: source 0 about {first}, source {k} about {release.outcome}. "
                f"Pass releases that agree in {first.public}."
            )
    return first


def sources_of(matching, n_shared, rows, with_labels):
    """Return name, prior probability and terms of each source, or of the target alone.

    Sources are merged ones, and with labels single ones too. Warns of releases that may predict
    nothing.
    """
    releases = matching.releases
    if not releases:
        return [(TARGET, 1.0, Terms.of(None, 0, rows))]
    named, groups = [], merged_groups(releases)
    for release, members in groups:
        plural = "s" * (len(members) > 1)
        name = f"source{plural} {', '.join(map(str, members))}" if len(releases) > 1 else "source"
        named.append((name, release))
        which = name if len(releases) > 1 else "the source"
        warn_of_doubt(release, TARGET_ADVICE.format(which=which))
    if with_labels:
        several = [members for _, members in groups if len(members) > 1]
        named += [(f"source {k}", releases[k]) for members in several for k in members]
    sizes = np.array([release.statistics.effective_rows for _, release in named])
    shares = (sizes / sizes.sum()).tolist()
    return [
        (name, share, Terms.of(release, n_shared, rows))
        for (name, release), share in zip(named, shares, strict=True)
    ]
