"""The releases given as a source, and the matching of their columns with a target's."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.release import Release, merge_problem, merged_guarantee
from skdp.tabular import (
    Schema,
    TabularEncoder,
    fitted_encoder,
    is_record_number,
    schema_from,
)
from skdp.transfer._embedding import far_columns, unseen_columns
from skdp.utils._frames import as_frame, named_like
from skdp.utils._validation import validate_data
from skdp.utils._warnings import warn

# Accepted dtypes of numeric rows.
_DTYPES = [np.float64, np.float32]


# By kind of outcome: its description, and the target's estimator.
_KINDS = {
    "class": ("classes", "DPTransferClassifier"),
    "number": ("a number", "DPTransferRegressor"),
    "event": ("a time to an event", "DPTransferSurvival"),
}


def as_releases(source, strategy, *, kind="class"):
    """Return the releases, about one kind of outcome, given as a source, as a list."""
    _, owner = _KINDS[kind]
    items = source if isinstance(source, list | tuple) else [source]
    if not len(items):
        raise ValueError(
            f"The 'source' parameter of {owner} is an empty list. Pass a release, or None."
        )
    releases = [as_release(item, strategy, kind=kind) for item in items if item is not None]
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
    return _of_one_schema(releases, owner)


def _of_one_schema(releases, owner):
    """Return releases with the columns of all tables in the order of the first one."""
    encoded = [k for k, release in enumerate(releases) if release.encoder]
    for k in encoded[1:]:
        # Only columns are compared here; classes are compared with those of the target.
        first, other = (Schema(releases[j].encoder.columns) for j in (encoded[0], k))
        lines = first.difference(other)
        if lines:
            raise ValueError(
                f"The 'source' parameter of {owner} holds tables encoded by different schemas. "
                f"Source {encoded[0]} here, source {k} there: {'; '.join(lines)!s:.400}. Remove "
                "these columns by Release.restrict, or use a Schema.common."
            )
    return [
        release if not release.encoder else release.restrict(releases[encoded[0]].encoder.names)
        for release in releases
    ]


def as_release(source, strategy, *, kind="class"):
    """Return the release, about one kind of outcome, given as a source."""
    _, owner = _KINDS[kind]
    if isinstance(source, str | os.PathLike):
        if not os.path.exists(source):
            raise FileNotFoundError(
                f"The 'source' parameter of {owner} names the file {os.fspath(source)!r}, which "
                "does not exist. Give that of Release.save."
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
            f"The 'source' parameter of {owner} must be a Release, the path of its file, a fitted "
            f"source, a list of these or None, got {type(source).__name__}."
        )
    if release.outcome.kind != kind:
        about, other = _KINDS[release.outcome.kind]
        raise ValueError(
            f"The 'source' parameter of {owner} is a release about {about}. Use {other}."
        )
    if strategy.reconstructs_rows and None in (release.row_classifier, release.alignment):
        raise ValueError(
            f"The 'strategy' parameter {strategy.name!r} needs a release that reconstructs rows: "
            "use 'noise_aware', or ask for DPSource(parts='papers') or DPSource(parts='all')."
        )
    return release


def merged_groups(releases):
    """Return releases, merged if possible, each with the list indices of its sources.

    A release so noisy that merging would lower the precision of the others stays separate.
    """
    summed = [k for k, release in enumerate(releases) if release.statistics]
    rest = [(releases[k], [k]) for k in range(len(releases)) if k not in summed]
    groups: list = []
    for k in sorted(summed, key=lambda k: -releases[k].statistics.effective_rows):
        for n, (merged, numbers) in enumerate(groups):
            joint, other = merged.statistics, releases[k].statistics
            if merge_problem(merged, releases[k]) is None and joint.gains_by(other):
                # Sums merge only as disjoint; summed_guarantee computes the guarantee instead.
                more = Release.merge([merged, releases[k]], disjoint=True)
                groups[n] = (more, sorted([*numbers, k]))
                break
        else:
            groups.append((releases[k], [k]))
    return sorted(groups + rest, key=lambda group: group[1][0])


def named_sources(releases, *, with_singles):
    """Return releases, merged if possible, and on request the single releases that were merged.

    Each is a tuple of name, release and probability. Single releases, if any, together have half
    of the probability.
    """
    groups, n = merged_groups(releases), len(releases)
    merged = [k for _, members in groups if len(members) > 1 for k in members]
    merged = merged if with_singles else []
    part = 0.5 if merged else 1.0
    names = [
        f"source{'s' * (len(members) > 1)} {', '.join(map(str, members))}" if n > 1 else "source"
        for _, members in groups
    ]
    together = [
        (name, release, part / len(groups))
        for name, (release, _) in zip(names, groups, strict=True)
    ]
    return together, [(f"source {k}", releases[k], 0.5 / len(merged)) for k in merged]


def summed_guarantee(guarantees, disjoint):
    """Return the joint guarantee of several releases for any person."""
    if not guarantees:
        return None
    try:
        return merged_guarantee(guarantees, disjoint)
    except ValueError:
        return tuple(guarantees)


@dataclass(frozen=True)
class Matching:
    """Sources and target with matched columns.

    Attributes
    ----------
    releases : list of Release
        Releases restricted to the columns that both sides have.

    names : list of str or None
        The target's used columns, with the sources' columns first; None for all, by position.

    n_shared : int or None
        Number of leading encoded columns that the sources have, or that are embedded into their
        space; None for all, before rows are encoded.

    extra_encoder : TabularEncoder or None
        Encodes the columns of a table that only the target has.

    is_raw : bool
        Whether the target is a table that the sources' encoder takes.

    is_embedded : bool
        Whether the target is another feature space by its names, whatever the number of columns.
    """

    releases: list
    names: list | None = None
    n_shared: int | None = None
    extra_encoder: TabularEncoder | None = None
    is_raw: bool = False
    is_embedded: bool = False

    def embeds(self, release, n_columns):
        """Return whether a target with so many columns is another feature space."""
        return self.is_embedded or n_columns != release.n_features

    def rows(self, estimator, X, *, reset=False):
        """Return rows of the target as numbers: the columns of the sources, then its own."""
        X = named_like(as_frame(X), self.names)
        named = hasattr(X, "columns")
        if self.is_raw and not named:
            raise ValueError(
                f"X is an array, but {type(estimator).__name__} was fitted to a table. Pass a "
                f"DataFrame with the columns {self.names!r:.300}."
            )
        names: Any = self.names
        if named and names is not None and set(names) <= set(X.columns):
            X = X[names]
        if not self.is_raw:
            if named and not reset and self._fits_table(estimator, X):
                X = self.releases[0].encode(X)
            try:
                return validate_data(estimator, X, dtype=_DTYPES, reset=reset)
            except ValueError as error:
                _refuse_text(X, self.releases, error)
                raise
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        of_sources = list(self.releases[0].encoder.names)
        rows = self.releases[0].encode(X[of_sources])
        if not self.extra_encoder:
            return rows
        others = self.extra_encoder.transform(X[names[len(of_sources) :]])
        return np.hstack([rows, np.asarray(others, dtype=rows.dtype)])

    def _fits_table(self, estimator, X):
        """Return whether X is the table of rows that were encoded when they were fitted."""
        return any(
            release.encoder
            and release.n_features == estimator.n_features_in_
            and set(release.encoder.names) <= set(X.columns)
            for release in self.releases[:1]
        )


def match_columns(releases, X, strategy):
    """Return how the columns of a target match those of its sources."""
    # If both have names, columns are matched by name, in any order: the releases are restricted to
    # the shared columns, and the target's own models use all of the target's. Strategies that
    # reconstruct rows use exactly the columns of the source. No common name means another feature
    # space. Otherwise columns are matched by position, and a different number of them means that.
    if releases:
        names = getattr(releases[0].encoder, "names", releases[0].feature_names)
        X = named_like(X, names)
    columns = list(getattr(X, "columns", ()))
    if not columns:
        return Matching(releases)
    if not releases:
        features = _features(X, columns)
        return Matching([], None if features == columns else features)
    repeated = [name for k, name in enumerate(columns) if name in columns[:k]]
    if repeated:
        raise ValueError(
            f"X has more than one column named {repeated[0]!r}. Give each its own name."
        )
    encoders = [release.encoder for release in releases]
    if any(encoders) and not all(encoders):
        raise ValueError(
            f"Source {encoders.index(None)} has no encoder for the table X, while others have. "
            "Combine releases of the same encoder, or pass an array of encoded rows."
        )
    if all(encoders) and not encoders[0].is_encoded(columns):
        return _match_table(releases, X, columns, strategy)
    return _match_numbers(releases, X, columns, strategy)


def _match_table(releases, X, columns, strategy):
    """Return the matching of a table that the releases encode."""
    names = releases[0].encoder.names
    shared, extra = _split_columns(names, columns, strategy)
    if not shared and set(names) & set(columns):
        missing = [name for name in names if name not in columns]
        raise ValueError(
            f"X lacks the columns {missing!r:.300} of the source, which {strategy.name!r} needs. "
            "Use strategy='noise_aware'."
        )
    if not shared:
        raise ValueError(
            f"X has the columns {columns!r:.300} and none of those of the source, "
            f"{list(names)!r:.300}. Rename its columns to those of the source."
        )
    encoder, extra = _extra_encoder(X, extra)
    releases = _restrict(releases, names, shared, extra)
    n_shared = releases[0].n_features if extra else None
    return Matching(releases, shared + extra, n_shared, encoder, is_raw=True)


def _match_numbers(releases, X, columns, strategy):
    """Return the matching of named columns of numbers."""
    arrays = [release.feature_names for release in releases]
    if any(array is None or set(array) != set(arrays[0]) for array in arrays):
        return Matching(releases)
    names = arrays[0].tolist()
    if any(array.tolist() != names for array in arrays):  # in another order, of one encoder
        releases = [release.restrict(names) for release in releases]
    shared, extra = _split_columns(names, columns, strategy)
    complete = len(shared) == len(names)
    # A marginal needs moments; for tables it is taken over columns before encoding.
    marginal = all(release.moments and not release.encoder for release in releases)
    if not shared or not (complete or marginal):
        all_named = all(isinstance(name, str) for name in columns)
        return Matching(releases, is_embedded=all_named and set(names).isdisjoint(columns))
    extra = _features(X, extra)
    releases = _restrict(releases, names, shared, extra)
    return Matching(releases, shared + extra, len(shared) if extra else None)


def _split_columns(names, columns, strategy):
    """Return the columns shared by sources and target, and the target's other columns."""
    shared = [name for name in names if name in columns]
    extra = [name for name in columns if name not in names]
    if not strategy.reconstructs_rows:
        return shared, extra
    if len(shared) < len(names):
        return [], []
    if extra:
        warn(
            f"The columns {extra!r:.300} of X are not among the source's and are ignored by "
            f"strategy={strategy.name!r}.",
        )
    return shared, []


def _features(X, names):
    """Return the names of the target's other numeric columns, without record numbers."""
    unique = [name for name in names if list(X.columns).count(name) == 1]
    records = [name for name in unique if is_record_number(name, X[name])]
    if records:
        warn(
            f"The columns {records!r:.300} of X have another whole number in each row, like "
            "record numbers, and are not used. Write measurements in another unit."
        )
    return [name for name in names if name not in records]


def _extra_encoder(X, extra):
    """Return an encoder of the columns of the target alone, and the names that it encodes."""
    columns: dict = {}
    for name in extra:
        try:
            columns[name] = schema_from(X[[name]], public=True).columns[0]
        except ValueError as error:
            warn(f"{error} The column is not used.")
    if not columns:
        return None, []
    return fitted_encoder(Schema(tuple(columns.values()))), list(columns)


def _restrict(releases, names, shared, extra):
    """Return releases of the shared columns, and warn of columns that only one side has."""
    missing = [name for name in names if name not in shared]
    if missing:
        warn(
            f"X lacks the columns {missing!r:.300} of the source. Its release predicts from the "
            "others, which is less accurate. If they have other names in X, rename them.",
        )
    if extra:
        warn(
            f"The columns {extra!r:.300} of X are not among the source's: the target alone uses "
            "them. Remove columns that are not features, such as the outcome.",
        )
    return [release.restrict(shared) for release in releases] if missing else releases


def _refuse_text(X, releases, error):
    """Raise a ValueError with a remedy if rows could not be read because they contain text.

    ``error`` is the original exception.
    """
    names = [list(release.encoder.names) for release in releases if release.encoder]
    columns = getattr(X, "columns", ())
    text = [name for name in columns if any(isinstance(value, str) for value in X[name])]
    if names and not len(columns) and "could not convert" in str(error):
        raise ValueError(
            "X is an array with text, and the release has a schema. Pass a DataFrame with the "
            f"columns {names[0]!r:.300}."
        ) from error
    if text and not names:
        raise ValueError(
            f"The columns {text} of X hold text, and no release has an encoder for them. Put a "
            "TabularEncoder(schema) before it in a pipeline."
        ) from error


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


def check_columns(estimator, matching, X, labels):
    """Raise ValueError unless the columns of a target can be mapped to its releases."""
    # Equally many columns of which some have other names are refused, and so are a release without
    # the alignment and a target without labels if the mapping depends on these. Rows in other
    # units warn, see Release.encode and far_columns.
    labeled = len(np.unique(labels[labels >= 0])) > 1
    target_names = list(getattr(estimator, "feature_names_in_", ()))
    shared = X[:, : matching.n_shared]
    for k, release in enumerate(matching.releases):
        names = [] if release.feature_names is None else release.feature_names.tolist()
        if matching.embeds(release, shared.shape[1]):
            _check_alignment(release, shared.shape[1], labeled)
            if names and target_names:
                _warn_of_embedding(names, target_names)
            continue
        if matching.names is None and names and target_names and target_names != names:
            raise ValueError(
                f"Source and target both have {release.n_features} columns, but their names are "
                f"{names!r:.300} and {target_names!r:.300}. Equally many columns must be the same "
                "columns: rename those of X, or pass an array in the same order."
            )
        if not release.alignment and not release.moments:
            _check_alignment(release, shared.shape[1], labeled)
        if not matching.is_raw:  # otherwise encoding has warned already
            release.encode(shared)
        if release.moments:
            which = "the source" if len(matching.releases) == 1 else f"source {k}"
            _warn_of_far_columns(release, shared, which)


def _check_alignment(release, n_columns, labeled):
    if not release.alignment:
        names = getattr(release.encoder, "names", None)
        remedy = "Use the columns of the source, by their names, or ask for a release of DPSource."
        if names:
            remedy = (
                f"Its columns are {list(names)!r:.300}. Pass a DataFrame of these, not encoded."
            )
        raise ValueError(
            f"X has {n_columns} columns, and the release {release.n_features}, with no alignment. "
            + remedy
        )
    if not labeled:
        raise ValueError(
            f"The target has {n_columns} columns and labels of one class at most, too little to "
            f"align them with the {release.n_features} of the release. Label a row of each class, "
            "or use the columns of the source by their names."
        )


def _warn_of_embedding(source_names, names):
    """Warn of a target with other names than the source, which may merely be spelled otherwise."""
    shares_none = set(names).isdisjoint(source_names)
    have = "have no name in common with those" if shares_none else "do not have all the names"
    warn(
        f"The columns {names!r:.300} of X {have} of the source, {source_names!r:.300}, and are "
        "embedded as other features. If they mean the same, give them the same names."
    )


def _warn_of_far_columns(release, X, which):
    """Warn of columns with values at which a source has hardly any rows."""
    far, unseen = far_columns(release.moments, X), unseen_columns(release.moments, X)
    if far.any():
        left_out = f" The values of {_named(release, unseen)!r:.300} there are not used."
        warn(
            f"The columns {_named(release, far)!r:.300} of X lie where {which} has hardly any "
            "rows. Convert them to its units. Otherwise these are records of another kind."
            f"{left_out if unseen.any() else ''}",
        )


def _named(release, chosen):
    """Return the table's names of encoded columns; their numbers if there are no names."""
    names = np.arange(len(chosen)) if release.feature_names is None else release.feature_names
    columns = release.encoder.columns if release.encoder else ()
    raw = {name: column.name for column in columns for name in column.encoded_names}
    return list(dict.fromkeys(raw.get(name, name) for name in names[chosen].tolist()))
