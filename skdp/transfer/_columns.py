"""The matching of a target's columns with those of its sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from skdp.release import positive_mean
from skdp.tabular import (
    Schema,
    TabularEncoder,
    fitted_encoder,
    is_record_number,
    schema_from,
)
from skdp.utils._frames import as_frame, named_like
from skdp.utils._linalg import TINY
from skdp.utils._validation import validate_data
from skdp.utils._warnings import warn

# Root mean square of a column about the source's mean, in standard deviations of the source, from
# which it is probably in other units. For the halves of a uniform column it is 3.6; for
# standardized columns, if the source's are scaled to [0, 1], 5 or more.
_FAR = 4.0
# The same from which the source has no information on the target: men for a source of women; rule
# of thumb.
_UNSEEN = 10.0
# Floor of the standard deviation of a source's column, relative to the median one: an almost
# constant column of the source may have a few other values in the target; rule of thumb.
_MIN_DEVIATION = 0.1
# Probability that a target's rows are of the source's population, before a look at them, and
# standard deviation of the shift of a column's mean if they are not, in its own. At ε = 1 and 4 it
# becomes .54 and .81 for ten tables divided at random (700 rows), .20 and .01 for hospitals, and
# .02 and 0 for tables split by a column. From .5, log loss at hospitals is .003 higher at ε = 1.
_ALIKE, _SHIFT = 0.2, 0.3
# What validation says of cells that an encoder would read: in words, and how to find them.
_FAULTS = {
    "could not convert": ("text", lambda cell: isinstance(cell, str)),
    "contains NaN": ("missing values", pd.isna),
}


@dataclass(frozen=True)
class Matching:
    """Sources and target with matched columns.

    Attributes
    ----------
    releases : list of Release
        Releases restricted to the columns that both sides have.

    names : list of str, default=()
        The target's used columns, with the sources' columns first; empty for all, by position.

    extra_encoder : TabularEncoder or None
        Encodes the columns of a table that only the target has.

    is_raw : bool
        Whether the target is a table that the sources' encoder takes.

    is_embedded : bool
        Whether the target is another feature space by its names, whatever the number of columns.
    """

    releases: list
    names: Sequence[Any] = ()
    extra_encoder: TabularEncoder | None = None
    is_raw: bool = False
    is_embedded: bool = False

    def n_shared(self, rows):
        """Return the number of leading columns that sources have, or that are embedded."""
        by_name = self.releases and len(self.names)
        return self.releases[0].n_features if by_name else rows.shape[1]

    def embeds(self, release, n_columns):
        """Return whether a target with so many columns is another feature space."""
        return self.is_embedded or n_columns != release.n_features

    def rows(self, estimator, X, *, reset=False):
        """Return rows of the target as numbers: the columns of the sources, then its own."""
        X = named_like(as_frame(X), self.names)
        columns = list(getattr(X, "columns", ()))
        if self.names and set(self.names) <= set(columns):
            X = X[list(self.names)]
        if not self.is_raw:
            rows = X if reset else self._encoded(estimator, X)
            return _numbers(estimator, rows, reset, any(one.encoder for one in self.releases))
        if not columns:
            raise ValueError(
                f"X is an array, but {type(estimator).__name__} was fitted to a table. Pass a "
                f"DataFrame with the columns {self.names!r:.300}."
            )
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        of_sources = list(self.releases[0].encoder.names)
        rows = self.releases[0].encode(X[of_sources])
        if not self.extra_encoder:
            return rows
        others = self.extra_encoder.transform(X[self.names[len(of_sources) :]])
        return np.hstack([rows, np.asarray(others, dtype=rows.dtype)])

    def _encoded(self, estimator, X):
        """Return rows, encoded if they are a table of which encoded rows were fitted."""
        columns = set(getattr(X, "columns", ()))
        for release in self.releases[:1]:
            fits = release.encoder and release.n_features == estimator.n_features_in_
            if fits and set(release.encoder.names) <= columns:
                return release.encode(X)
        return X


def _numbers(estimator, X, reset, has_schema):
    """Return rows as scikit-learn validates them; errors say what encodes a table."""
    try:
        return validate_data(estimator, X, dtype=[np.float64, np.float32], reset=reset)
    except ValueError as error:
        fault = next((known for known in _FAULTS if known in str(error)), None)
        columns = {name: X[name].to_numpy() for name in getattr(X, "columns", ())}
        if fault is None or not (columns or has_schema):
            raise
        if not columns:
            raise ValueError(
                f"{str(error).splitlines()[0]} Pass a DataFrame with the columns of the source's "
                "schema, which encodes it, or rows of Release.encode."
            ) from error
        what, is_at_fault = _FAULTS[fault]
        names = [name for name, cells in columns.items() if any(map(is_at_fault, cells.ravel()))]
        raise ValueError(
            f"The columns {names!r:.200} of X have {what}, and without a source with a schema "
            "nothing encodes them. Put TabularEncoder(release.encoder), or one of your schema, "
            f"before {type(estimator).__name__} in a pipeline."
        ) from error


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
        return Matching([], [] if features == columns else features)
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
    if not shared:
        need = "all" if strategy.reconstructs_rows else "some"
        raise ValueError(
            f"X has the columns {columns!r:.300}, and strategy={strategy.name!r} needs {need} of "
            f"those of the source, {list(names)!r:.300}. Rename its columns to those of the "
            "source."
        )
    encoder, extra = _extra_encoder(X, extra)
    releases = _restrict(releases, names, shared, extra)
    return Matching(releases, shared + extra, encoder, is_raw=True)


def _match_numbers(releases, X, columns, strategy):
    """Return the matching of named columns of numbers."""
    names, *others = map(names_of, releases)
    if not names or any(set(other) != set(names) for other in others):
        return Matching(releases)
    if any(other != names for other in others):  # in another order
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
    return Matching(releases, shared + extra)


def names_of(release):
    """Return the names of a release's columns, none if they have no names."""
    return [] if release.feature_names is None else release.feature_names.tolist()


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


def check_columns(matching, rows, target_names, labels):
    """Raise ValueError unless the columns of a target can be mapped to its releases."""
    # Equally many columns of which some have other names are refused, and so are a release without
    # the alignment and a target without labels if the mapping depends on these. Rows in other
    # units warn, see Release.encode and far_columns.
    labeled = len(np.unique(labels[labels >= 0])) > 1
    shared = rows[:, : matching.n_shared(rows)]
    for k, release in enumerate(matching.releases):
        names = names_of(release) if target_names else []
        if matching.embeds(release, shared.shape[1]):
            _check_alignment(release, shared.shape[1], labeled)
            if names:
                warn(
                    f"The columns {target_names!r:.300} of X are embedded as other features than "
                    f"the source's, {names!r:.300}. If they mean the same, give them the same "
                    "names."
                )
            continue
        if names and not matching.names and target_names != names:
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
        names = list(getattr(release.encoder, "names", names_of(release)))
        raise ValueError(
            f"X has {n_columns} columns, and the release {release.n_features}, with no alignment. "
            f"Pass a DataFrame with those of the source, by their names {names!r:.300}, or ask "
            "for a release of DPSource."
        )
    if not labeled:
        raise ValueError(
            f"The target has {n_columns} columns and labels of one class at most, too little to "
            f"align them with the {release.n_features} of the release. Label a row of each class, "
            "or use the columns of the source by their names."
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
    names = names_of(release) or range(len(chosen))
    columns = release.encoder.columns if release.encoder else ()
    raw = {name: column.name for column in columns for name in column.encoded_names}
    return list(dict.fromkeys(raw.get(name, name) for name in compress(names, chosen)))


def distances(moments, X):
    """Return the distance of each column of a target to the rows of the source."""
    # The root mean square of the target's values about the source's mean, in standard deviations
    # of the source, corrected for noise if possible.
    variances = moments.total_covariance().diagonal()
    deviations = np.sqrt(positive_mean(variances, moments.variance_errors))
    least = max(_MIN_DEVIATION * np.median(deviations), TINY)
    away = np.sqrt(((X - moments.mean) ** 2).mean(axis=0, dtype=np.float64))
    return away / np.maximum(deviations, least)


def same_population(moments, X):
    """Return the probability that the rows of a target are of the source's population."""
    # Means of a column then differ by their errors alone, at another site also by normal shifts.
    # Nothing is known of columns that the target embeds.
    if not moments or len(moments.noise) != X.shape[1]:
        return 0.0
    X = X.astype(np.float64, copy=False)
    variances = np.maximum(moments.total_covariance().diagonal(), 0) + X.var(axis=0)
    variances = np.maximum(variances / 2, TINY)
    errors = (variances + moments.noise) / moments.effective_sizes.sum() + variances / len(X)
    errors += moments.frequencies**2 @ moments.mean_noise
    wider = 1 + _SHIFT**2 * variances / errors
    squares = (X.mean(axis=0) - moments.mean) ** 2 / errors
    log_odds = (np.log(wider) - squares * (1 - 1 / wider)).sum() / 2
    return float(expit(logit(_ALIKE) + log_odds))


def far_columns(moments, X):
    """Return which columns of a target are probably in other units, see :func:`distances`."""
    return distances(moments, X) > _FAR


def unseen_columns(moments, X):
    """Return which columns of a target lie where the source has no rows."""
    return distances(moments, X) > _UNSEEN
