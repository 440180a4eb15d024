"""Whether releases may be merged, and their joint guarantee; ``_statistics.py`` adds the sums."""

from dataclasses import replace
from functools import reduce

import numpy as np

from skdp.privacy import Mechanism, below_sum
from skdp.release._columns import UnboundedColumn, public_columns
from skdp.tabular import Schema
from skdp.utils._warnings import warn

_ONE_SCHEMA = "Agree on one schema before anybody makes a release."
# Largest number of columns that an error lists.
_MOST = 5
# Standard deviations of noise by which a sum may exceed its limit: one in a billion sums exceeds
# more.
_DEVIATIONS = 6
# Largest contribution of a column to a score, in largest log-odds of so many rows. Where columns
# separate the classes, releases have up to twice these log-odds (100 rows, ε = 100).
_EFFECTS = 3.0


def check_mergeable(releases, kind, disjoint):
    """Raise ValueError, naming release and remedy, unless the releases may be merged."""
    if not isinstance(disjoint, bool):
        raise ValueError(
            "The 'disjoint' parameter of Release.merge must be True, if nobody has rows in two of "
            f"the sources, or False, got {disjoint!r:.100}."
        )
    if not releases:
        raise ValueError("The 'releases' parameter of Release.merge is empty. Pass one at least.")
    for k, release in enumerate(releases):
        if not isinstance(release, kind):
            raise ValueError(
                "The 'releases' parameter of Release.merge must hold releases, got "
                f"{type(release).__name__} as number {k}. Pass release_ of a fitted source, or "
                "Release.load(path)."
            )
    for k, release in enumerate(releases):
        # Of one alone, whether it has sums; of sums, whether they are those of another source.
        for j in range(max(k, 1)):
            problem = merge_problem(releases[j], release, same=k == 0)
            if problem:
                raise ValueError(f"Releases {j} and {k} cannot be merged: {problem}")


def merged_release(kind, releases, disjoint):
    """Return the release of the rows of several sources, see ``Release.merge``."""
    check_mergeable(releases, kind, disjoint)
    first, *others = releases
    if first.feature_names is not None:
        others = [release.restrict(names_to_restrict_by(first)) for release in others]
    models = [release.model for release in (first, *others)]
    warn_of_noisiest([model.statistics for model in models])
    return replace(
        first,
        dtype=np.result_type(*(release.dtype for release in releases)),
        guarantee=merged_guarantee([release.guarantee for release in releases], disjoint),
        model=type(first.model).merge(models),
    )


def merge_problem(first, release, *, same=False):
    """Return the reason why two releases cannot be merged, with the remedy, or ""."""
    if None in (first.statistics, release.statistics):
        return (
            "one has no noisy sums to be added, which releases of DPStatisticsSource with "
            "model='linear' have. Pass them as a list, DPTransferClassifier([...]), which weighs "
            "them."
        )
    if same:
        return ""
    difference = _difference(first, release)
    if not difference and first.statistics.shares_noise(release.statistics):
        return (
            "they have the sums of the same source, with the same noise. Rows that are counted "
            "twice tell nothing more: leave one of them out."
        )
    return difference


def rows_problem(release, max_rows):
    """Return why a release cannot have at most so many rows, or ""."""
    # No more rows than that may be stated, all sums must be those that so many rows can have, up
    # to their noise, and none may have more noise than that. So no owner counts for more in a
    # merged release.
    sums = release.statistics.sums
    counts, noise = sums.pooled_counts
    if counts.sum() > max_rows + _DEVIATIONS * noise * np.sqrt(len(counts)):
        return f"it states more than max_rows={max_rows} rows"
    for name, array, noise, most in sums.limits(max_rows):
        size = np.abs(array)
        # The limits of several sources are added.
        largest = size.sum(axis=0).max() if noise.ndim else size.max()
        if noise.max() > most or largest > most + _DEVIATIONS * noise.sum():
            return f"its {name!r} are more, or have more noise, than max_rows={max_rows} rows give"
    descent = release.descent
    if descent is None:
        return ""
    if descent.table is not None:
        table, noise = descent.table, float(descent.table.deviation[0])
        if noise > max_rows or np.abs(table.counts).max() > max_rows + _DEVIATIONS * noise:
            return f"its table of scores has more rows, or more noise, than max_rows={max_rows}"
    most = _EFFECTS * np.log(max_rows + 1)
    if descent.largest_effect > most:
        return f"its 'descent' has larger coefficients than max_rows={max_rows} rows give"
    return ""


def _difference(first, release):
    """Return a difference from the first release that prevents merging, or ""."""
    if mismatch := first.outcome.mismatch(release.outcome):
        return f"{mismatch}. {_ONE_SCHEMA}"
    for name in ("unit", "relation"):
        of_first, other = getattr(first.guarantee, name), getattr(release.guarantee, name)
        if of_first != other:
            return (
                f"their guarantees are about {name}={of_first!r} and {name}={other!r}. Pass them "
                "as a list, DPTransferClassifier([...]), which weighs them."
            )
    for what in ("encoder", "feature_names"):
        if (getattr(first, what) is None) != (getattr(release, what) is None):
            return f"one has {what!r}, and the other one none. {_ONE_SCHEMA}"
    lines = _column_differences(first, release)
    if lines:
        more = f"; and {len(lines) - _MOST} more" if len(lines) > _MOST else ""
        return (
            f"{'; '.join(lines[:_MOST])}{more}. Both must describe columns alike. Leave these "
            "columns out of both by Release.restrict; before anybody makes a release, agree on "
            "one schema, as Schema.common makes it."
        )
    if first.feature_names is not None:
        release = release.restrict(names_to_restrict_by(first))
    sums, others = first.statistics.sums, release.statistics.sums
    if sums.present().keys() != others.present().keys():
        return "one was restricted to some of its columns. Merge before you restrict."
    if sums.radius != others.radius:
        return (
            f"their rows were clipped to other norms, {sums.radius:.6g} and {others.radius:.6g}. "
            "Use the same 'radius'."
        )
    if not first.statistics.is_like(release.statistics):
        return "their sums are of other functions of the columns. Use one 'model'."
    descents = first.descent, release.descent
    if None not in descents and not descents[0].adds_to(descents[1]):
        return "their coefficients are of other functions of the columns. Use one version of skdp."
    return ""


def warn_of_noisiest(parts):
    """Warn if statistics have so much noise that the result is better without them."""
    noisiest = int(np.argmax([part.sums.contrast_sd for part in parts]))
    others = parts[:noisiest] + parts[noisiest + 1 :]
    if others and not type(parts[0]).merge(others).gains_by(parts[noisiest]):
        warn(
            f"Release {noisiest} has so much noise that the merged release is better without it. "
            "Leave it out, or pass the list to DPTransferClassifier, which keeps it separate."
        )


def names_to_restrict_by(release):
    """Return the names for restricting a release: columns of tables, or features."""
    if release.encoder is not None:
        return list(release.encoder.names)
    return release.feature_names.tolist()


def _column_differences(first, release):
    """Return a line for each column that differs."""
    encoders = first.encoder, release.encoder
    if None not in encoders:
        schema, other = (Schema(encoder.columns) for encoder in encoders)
        return schema.difference(other)
    bounds, other = _bounds(first), _bounds(release)
    return tuple(
        f"{name!r:.100}: {bounds.get(name, 'not there')} here; "
        f"{other.get(name, 'not there')} there"
        for name in bounds | other
        if bounds.get(name) != other.get(name)
    )


def _bounds(release):
    """Return the public bounds of each feature, as a text, by its name."""
    return {
        column.name: "no bounds"
        if isinstance(column, UnboundedColumn)
        else f"{column.low:.12g} to {column.high:.12g}"
        for column, _ in public_columns(release)
    }


def merged_guarantee(guarantees, disjoint):
    """Return the guarantee of merged releases, see :meth:`Release.merge`."""
    if not disjoint or len(guarantees) == 1:
        total = sum(guarantees[1:], start=guarantees[0])
        why = below_sum(total, guarantees)
        return replace(total, mechanism=f"{total.mechanism} ({why})") if why else total
    for name in ("unit", "relation"):
        if len({getattr(guarantee, name) for guarantee in guarantees}) > 1:
            raise ValueError(f"Guarantees of another {name} are about different neighbors.")
    distances = [guarantee.gaussian_distance for guarantee in guarantees]
    if None in distances:  # of which none need be the weakest at every δ
        return sum(guarantees[1:], start=guarantees[0])
    # The most distant noise may be sampled better than a less distant one.
    weakest = reduce(Mechanism.weaker, (guarantee.mechanisms[0] for guarantee in guarantees))
    # An assumption, so that the sentence to cite states it too.
    claim = (
        f"that nobody has rows in two of the {len(guarantees)} sources, as whoever merged them "
        "claimed"
    )
    # Nothing is protected that one of the sources does not protect.
    excludes = "; ".join(dict.fromkeys(guarantee.excludes for guarantee in guarantees))
    covers = "; ".join(dict.fromkeys(guarantee.covers for guarantee in guarantees))
    assumed = [*(guarantee.assumes for guarantee in guarantees), claim]
    assumes = "; ".join(dict.fromkeys(filter(None, assumed)))
    return replace(
        guarantees[distances.index(max(distances))],
        mechanisms=(weakest,),
        excludes=excludes,
        covers=covers,
        assumes=assumes,
    )
