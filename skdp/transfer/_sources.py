"""The releases that are given as a source, and how their columns meet those of a target."""

import os
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.release import Release, merge_problem, merged_guarantee
from skdp.tabular import Schema, TabularEncoder, fitted_encoder, schema_from
from skdp.transfer._embedding import far_columns, unseen_columns
from skdp.utils._warnings import warn

# Of rows that are numbers.
_DTYPES = [np.float64, np.float32]


def as_releases(source, strategy):
    """Return the releases that were given as a source: none, one or a list of them.

    Parameters
    ----------
    source : Release, fitted source, str, path, list of these or None

    strategy : Strategy

    Raises
    ------
    ValueError
        One of them is no release, see :func:`as_release`; the list is empty; or there are
        several for a strategy that takes one, or ones that cannot be weighted.
    """
    if not isinstance(source, list | tuple):
        source = [] if source is None else [source]
    elif not len(source):
        raise ValueError(
            "The 'source' parameter of DPTransferClassifier is an empty list. Name a release at "
            "least, or None to learn from the target alone."
        )
    releases = [as_release(each, strategy) for each in source]
    if len(releases) > 1 and strategy.reconstructs_rows:
        raise ValueError(
            f"The 'strategy' parameter of DPTransferClassifier is {strategy.name!r}, which takes "
            f"one source, got {len(releases)}. Use strategy='noise_aware'."
        )
    without = [k for k, release in enumerate(releases) if release.moments is None]
    if len(releases) > 1 and without:
        raise ValueError(
            f"Several sources are weighted by their moments, which source {without[0]} does not "
            "have. Ask its owner for a release that has."
        )
    return _of_one_schema(releases)


def _of_one_schema(releases):
    """Return releases with the columns of their tables in the order of the first that has one."""
    encoded = [k for k, release in enumerate(releases) if release.encoder is not None]
    for k in encoded[1:]:
        # Classes are compared with those of the target; here columns are what matters.
        here, there = (Schema(releases[j].encoder.columns) for j in (encoded[0], k))
        lines = here.difference(there)
        if lines:
            more = f"; and {len(lines) - 5} more" if len(lines) > 5 else ""
            raise ValueError(
                "The 'source' parameter of DPTransferClassifier holds releases of tables that are "
                "encoded by other schemas, so that the same row has several codes. Source "
                f"{encoded[0]} here, source {k} there: {'; '.join(lines[:5])}{more}. Leave these "
                "columns out of both by Release.restrict, or ask for releases by one schema, as "
                "Schema.common makes it."
            )
    return [
        release
        if release.encoder is None
        else release.restrict(releases[encoded[0]].encoder.names)
        for release in releases
    ]


def as_release(source, strategy):
    """Return the release that was given as a source.

    Raises
    ------
    ValueError
        It is neither a release, the file of one, nor a fitted source; or a release without the
        parts that the strategy needs.

    FileNotFoundError
        There is no such file.

    sklearn.exceptions.NotFittedError
        It is a source that is not fitted.
    """
    if isinstance(source, str | os.PathLike):
        if not os.path.exists(source):
            raise FileNotFoundError(
                "The 'source' parameter of DPTransferClassifier names the file "
                f"{os.fspath(source)!r}, which does not exist. Give the path of a release, as "
                "Release.save(path) wrote it."
            )
        source = Release.load(source)
    if hasattr(source, "fit") and not isinstance(source, type):
        check_is_fitted(
            source,
            msg="This %(name)s is not fitted, so that there is no release to learn from. Fit it, "
            "and pass its release_: a search clones a source, and its clones are not fitted.",
        )
    release = getattr(source, "release_", source)
    if not isinstance(release, Release):
        raise ValueError(
            "The 'source' parameter of DPTransferClassifier must be a Release, the path of its "
            f"file, a fitted source, a list of these or None, got {type(source).__name__}."
        )
    if strategy.reconstructs_rows and None in (release.row_classifier, release.alignment):
        raise ValueError(
            f"The 'strategy' parameter of DPTransferClassifier is {strategy.name!r}, which "
            "compares reconstructions of whole rows, but this release has no classifier of whole "
            "rows: its own reads denoised codes. Use strategy='noise_aware', or ask for a release "
            "of DPSource(parts='papers') or DPSource(parts='all')."
        )
    return release


def merged_groups(releases):
    """Return releases with those merged that can be, each with the numbers of its sources.

    One whose noise would make the others tell less than they do without it stays apart.

    Parameters
    ----------
    releases : list of Release

    Returns
    -------
    groups : list of (Release, list of int)
        In the order of their first sources.
    """
    summed = [k for k, release in enumerate(releases) if release.statistics is not None]
    rest = [(releases[k], [k]) for k in range(len(releases)) if k not in summed]
    groups: list = []
    for k in sorted(summed, key=lambda k: -releases[k].statistics.effective_rows):
        for n, (merged, numbers) in enumerate(groups):
            own, other = merged.statistics, releases[k].statistics
            if merge_problem(merged, releases[k]) is None and own.gains_by(other):
                # What all guarantee together is said elsewhere.
                more = Release.merge([merged, releases[k]], disjoint=True)
                groups[n] = (more, sorted([*numbers, k]))
                break
        else:
            groups.append((releases[k], [k]))
    return sorted(groups + rest, key=lambda group: group[1][0])


def summed_guarantee(guarantees, disjoint):
    """Return what releases guarantee together about any person.

    Parameters
    ----------
    guarantees : list of PrivacyGuarantee

    disjoint : bool
        Whether nobody has rows in two of the sources.

    Returns
    -------
    guarantee : PrivacyGuarantee, tuple of PrivacyGuarantee, or None
        Their sum, or the weakest of them if nobody has rows in two sources. Those about different
        neighbours have neither: they are returned as they are, and each holds for the rows of its
        own source alone.
    """
    if not guarantees:
        return None
    try:
        return merged_guarantee(guarantees, disjoint)
    except ValueError:
        return tuple(guarantees)


@dataclass(frozen=True)
class Matching:
    """Sources and target in the same columns, as far as these have names.

    Attributes
    ----------
    releases : list of Release
        Of the columns that both sides have.

    names : list of str or None
        The target's columns to be read, those of the sources first; None for all, by position.

    n_shared : int or None
        How many of the columns that are read, encoded, are the sources'; None for all, or where
        the target is in a space of its own.

    extra_encoder : TabularEncoder or None
        Encodes the columns of a table that only the target has.

    is_raw : bool
        Whether the target is a table that the sources encode.
    """

    releases: list
    names: list | None = None
    n_shared: int | None = None
    extra_encoder: TabularEncoder | None = None
    is_raw: bool = False

    def rows(self, estimator, X, *, reset=False):
        """Return rows of the target as numbers, in the columns of the sources, then its own.

        Parameters
        ----------
        estimator : estimator
            Gets ``n_features_in_`` and ``feature_names_in_``, those of the table itself; or has
            them, and X is compared to them.

        X : array-like of shape (n_samples, n_features)
            A table may have its columns in any order, and others besides.

        reset : bool, default=False

        Returns
        -------
        rows : ndarray of shape (n_samples, n_encoded)

        Raises
        ------
        ValueError
            When X is an array where a table was fitted: values that are encoded, and values that
            are not, would look alike.
        """
        named = hasattr(X, "columns")
        if self.is_raw and not named:
            raise ValueError(
                f"X is an array, but {type(estimator).__name__} was fitted to a table. Pass a "
                f"DataFrame with the columns {self.names!r:.300}."
            )
        names = self.names if named else None
        if names is not None and set(names) <= set(X.columns):
            X = X[names]
        if names is None or not self.is_raw:
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
        if self.extra_encoder is None:
            return rows
        others = self.extra_encoder.transform(X[names[len(of_sources) :]])
        return np.hstack([rows, np.asarray(others, dtype=rows.dtype)])

    def _fits_table(self, estimator, X):
        """Return whether X is the table of rows that were encoded when they were fitted."""
        release = next(iter(self.releases), None)
        if release is None or release.encoder is None:
            return False
        encoded = release.n_features == estimator.n_features_in_
        return encoded and set(release.encoder.names) <= set(X.columns)


def match_columns(releases, X, strategy):
    """Return how the columns of a target meet those of its sources.

    Where both have names, columns meet by name, in any order: the marginal of the releases over
    those that both have is used, and the target's own models read all of the target's. Strategies
    that reconstruct rows take all columns of the source and no others. Otherwise columns meet by
    position, and another number of them is another space.

    Parameters
    ----------
    releases : list of Release

    X : array-like of shape (n_samples, n_features)
        The target.

    strategy : Strategy

    Returns
    -------
    matching : Matching

    Raises
    ------
    ValueError
        When only some of the releases have an encoder for the table, they share no column, or two
        columns have one name.
    """
    columns = list(getattr(X, "columns", ()))
    if not releases or not columns:
        return Matching(releases)
    _check_unique(columns)
    encoders = [release.encoder for release in releases]
    if any(encoders) and not all(encoders):
        raise ValueError(
            f"Source {encoders.index(None)} has no encoder for the table X, while others have. "
            "Combine releases of the same encoder, or pass an array of rows that are encoded."
        )
    if all(encoders) and not encoders[0].is_encoded(columns):
        return _match_table(releases, X, columns, strategy)
    return _match_numbers(releases, columns, strategy)


def _check_unique(columns):
    repeated = [name for k, name in enumerate(columns) if name in columns[:k]]
    if repeated:
        raise ValueError(
            f"X has more than one column of the name {repeated[0]!r}. Name each column once: "
            "columns are matched by name."
        )


def _match_table(releases, X, columns, strategy):
    """Return the matching of a table that the releases encode."""
    names = releases[0].encoder.names
    shared, extra = _split_columns(names, columns, strategy)
    if not shared and set(names) & set(columns):
        missing = [name for name in names if name not in columns]
        raise ValueError(
            f"X lacks the columns {missing!r:.300} of the source, all of which "
            f"strategy={strategy.name!r} needs. Use strategy='noise_aware', which does with fewer."
        )
    if not shared:
        raise ValueError(
            f"X has the columns {columns!r:.300} and none of those of the source, "
            f"{list(names)!r:.300}. Rename its columns as the source's are called."
        )
    encoder, extra = _extra_encoder(X, extra)
    releases = _restrict(releases, names, shared, extra)
    n_shared = releases[0].n_features if extra else None
    return Matching(releases, shared + extra, n_shared, encoder, is_raw=True)


def _match_numbers(releases, columns, strategy):
    """Return the matching of named columns of numbers."""
    lists = [release.feature_names for release in releases]
    known = None if any(each is None for each in lists) else [each.tolist() for each in lists]
    if known is None or any(set(each) != set(known[0]) for each in known):
        return Matching(releases)
    names = known[0]
    if any(each != names for each in known):  # in another order: their encoders are the same
        releases = [release.restrict(names) for release in releases]
    shared, extra = _split_columns(names, columns, strategy)
    complete = len(shared) == len(names)
    # A marginal needs moments, and one of a table is over columns before they are encoded.
    marginal = all(each.moments is not None and each.encoder is None for each in releases)
    if not shared or not (complete or marginal):
        return Matching(releases)
    releases = _restrict(releases, names, shared, extra)
    return Matching(releases, shared + extra, len(shared) if extra else None)


def _split_columns(names, columns, strategy):
    """Return the columns of the sources that a target has, and those that it has besides."""
    shared = [name for name in names if name in columns]
    extra = [name for name in columns if name not in names]
    if not strategy.reconstructs_rows:
        return shared, extra
    if len(shared) < len(names):
        return [], []
    if extra:
        warn(
            f"The columns {extra!r:.300} of X are not the source's: strategy={strategy.name!r} "
            "leaves them out.",
        )
    return shared, []


def _extra_encoder(X, extra):
    """Return an encoder of columns that only a target has, and those that it can encode."""
    columns = []
    for name in extra:
        try:
            columns.append(schema_from(X[[name]], public=True).columns[0])
        except ValueError as error:
            warn(f"{error} The column is not used.")
    if not columns:
        return None, []
    return fitted_encoder(Schema(tuple(columns))), [column.name for column in columns]


def _restrict(releases, names, shared, extra):
    """Return releases of the shared columns, and warn of columns that one side alone has."""
    missing = [name for name in names if name not in shared]
    if missing:
        warn(
            f"X lacks the columns {missing!r:.300} of the source, whose release is restricted to "
            "the others.",
        )
    if extra:
        warn(
            f"The columns {extra!r:.300} of X are not the source's: the target's own models learn "
            "from them. Leave out of X what is no feature, such as the outcome.",
        )
    return [release.restrict(shared) for release in releases] if missing else releases


def _refuse_text(X, releases, error):
    """Raise ValueError where text is why rows could not be read.

    ``error`` is what reading them raised.
    """
    names = next((list(each.encoder.names) for each in releases if each.encoder), None)
    if names and not hasattr(X, "columns") and "could not convert" in str(error):
        raise ValueError(
            "X is an array with text, and the release has a schema, whose columns are found by "
            f"their names. Pass a DataFrame with the columns {names!r:.300}."
        ) from error
    if names:
        return
    columns = getattr(X, "columns", ())
    text = [name for name in columns if any(isinstance(value, str) for value in X[name])]
    if text:
        raise ValueError(
            f"The columns {text} of X hold text, and there is no release with an encoder for "
            "them. Encode rows beforehand: by a TabularEncoder(schema) in front, in a pipeline, "
            "which serves source=None and a release in one search."
        ) from error


def check_columns(estimator, matching, X, labels):
    """Raise ValueError unless the columns of a target can be carried to those of its releases.

    Equally many columns of other names are refused, and so is a release without the alignment,
    or a target without any label, where nothing else says how. Rows in other units warn, see
    :meth:`Release.encode` and :func:`far_columns`.

    Parameters
    ----------
    estimator : estimator
        With ``feature_names_in_``, where the target has such.

    matching : Matching

    X : ndarray of shape (n_samples, n_encoded)

    labels : ndarray of shape (n_samples,)
        Class indices, −1 where unlabelled.
    """
    labelled = len(np.unique(labels[labels >= 0])) > 1
    for k, release in enumerate(matching.releases):
        shared = X if matching.n_shared is None else X[:, : matching.n_shared]
        if shared.shape[1] != release.n_features:
            _check_alignment(release, shared.shape[1], labelled)
            continue
        if matching.names is None:
            _check_names(release, list(getattr(estimator, "feature_names_in_", ())))
        if release.alignment is None and release.moments is None:
            _check_alignment(release, shared.shape[1], labelled)
        if not matching.is_raw:  # else it was encoded, with a warning
            release.encode(shared)
        if release.moments is not None:
            which = "the source" if len(matching.releases) == 1 else f"source {k}"
            _warn_of_far_columns(release, shared, which)


def _check_alignment(release, n_columns, labelled):
    if not labelled:
        raise ValueError(
            f"The target has {n_columns} columns and labels of one class at most, the release has "
            f"{release.n_features}: nothing says how to carry one to the other. Label a row of "
            "each class, or use the columns of the source."
        )
    if release.alignment is None:
        raise ValueError(
            f"This release of {release.n_features} columns has no alignment, without which "
            f"{n_columns} columns of the target cannot be carried to them. Ask its "
            "owner for a release that has one, as all those of DPSource have."
        )


def _check_names(release, names):
    known = [] if release.feature_names is None else release.feature_names.tolist()
    if known and names and names != known:
        raise ValueError(
            f"Source and target both have {release.n_features} columns, but they are called "
            f"{known} and {names}. As many columns must be the same columns: rename those of X, "
            "or pass a plain array if they mean the same, in the same order."
        )


def _warn_of_far_columns(release, X, which):
    """Warn of columns in which the target lies where a source has hardly any rows."""
    far, unseen = far_columns(release.moments, X), unseen_columns(release.moments, X)
    if far.any():
        left_out = f" What {which} says of {_named(release, unseen)!r:.300} is left out."
        warn(
            f"The columns {_named(release, far)!r:.300} of X lie where {which} has hardly any "
            "rows. If they are in other units, or scaled in another way, bring them to those of "
            "the source. If not, these are records of another kind than the source's."
            f"{left_out if unseen.any() else ''}",
        )


def _named(release, chosen):
    """Return the names of encoded columns, as the table has them; their numbers without names."""
    names = np.arange(len(chosen)) if release.feature_names is None else release.feature_names
    columns = () if release.encoder is None else release.encoder.columns
    raw = {name: column.name for column in columns for name in column.encoded_names}
    return list(dict.fromkeys(raw.get(name, name) for name in names[chosen].tolist()))
