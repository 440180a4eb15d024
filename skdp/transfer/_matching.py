"""How the columns of a target meet those of its sources: by name, or by position."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import validate_data

from skdp.tabular import Schema, TabularEncoder, fitted_encoder, schema_from
from skdp.transfer._recoding import refuse_text
from skdp.utils._warnings import warn

# Of rows that are numbers.
_DTYPES = [np.float64, np.float32]


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

    own : TabularEncoder or None
        Encodes the columns of a table that only the target has.

    is_raw : bool
        Whether the target is a table that the sources encode.
    """

    releases: list
    names: list | None = None
    n_shared: int | None = None
    own: TabularEncoder | None = None
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
                refuse_text(X, self.releases, error)
                raise
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        of_sources = list(self.releases[0].encoder.names)
        rows = self.releases[0].encode(X[of_sources])
        if self.own is None:
            return rows
        others = self.own.transform(X[names[len(of_sources) :]])
        return np.hstack([rows, np.asarray(others, dtype=rows.dtype)])

    def _fits_table(self, estimator, X):
        """Return whether X is the table of rows that were encoded when they were fitted."""
        release = next(iter(self.releases), None)
        if release is None or release.encoder is None:
            return False
        encoded = release.n_features == estimator.n_features_in_
        return encoded and set(release.encoder.names) <= set(X.columns)


def match_columns(releases, X, *, strategy):
    """Return how the columns of a target meet those of its sources.

    Where both have names, columns meet by name, in any order: "noise_aware" uses the marginal of
    the releases over those that both have, and the target's own models all of the target's.
    Otherwise they meet by position, and another number of columns is another space.

    Parameters
    ----------
    releases : list of Release

    X : array-like of shape (n_samples, n_features)
        The target.

    strategy : str

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
    shared, own = _parted(names, columns, strategy)
    if not shared and set(names) & set(columns):
        missing = [name for name in names if name not in columns]
        raise ValueError(
            f"X lacks the columns {missing!r:.300} of the source, all of which "
            f"strategy={strategy!r} needs. Use strategy='noise_aware', which does with fewer."
        )
    if not shared:
        raise ValueError(
            f"X has the columns {columns!r:.300} and none of those of the source, "
            f"{list(names)!r:.300}. Rename its columns as the source's are called."
        )
    encoder, own = _own_encoder(X, own)
    _say(names, shared, own)
    if len(shared) < len(names):
        releases = [release.restrict(shared) for release in releases]
    n_shared = releases[0].n_features if own else None
    return Matching(releases, shared + own, n_shared, encoder, is_raw=True)


def _match_numbers(releases, columns, strategy):
    """Return the matching of named columns of numbers."""
    lists = [release.feature_names for release in releases]
    known = None if any(each is None for each in lists) else [each.tolist() for each in lists]
    if known is None or any(set(each) != set(known[0]) for each in known):
        return Matching(releases)
    names = known[0]
    if any(each != names for each in known):  # in another order: their encoders are the same
        releases = [release.restrict(names) for release in releases]
    shared, own = _parted(names, columns, strategy)
    complete = len(shared) == len(names)
    # A marginal needs moments, and one of a table is over columns before they are encoded.
    marginal = all(each.moments is not None and each.encoder is None for each in releases)
    if not shared or not (complete or marginal):
        return Matching(releases)
    _say(names, shared, own)
    if len(shared) < len(names):
        releases = [release.restrict(shared) for release in releases]
    return Matching(releases, shared + own, len(shared) if own else None)


def _parted(names, columns, strategy):
    """Return the columns of the sources that a target has, and those that it has besides.

    The strategies of the papers take all of the first, and none of the others.
    """
    shared = [name for name in names if name in columns]
    own = [name for name in columns if name not in names]
    if strategy == "noise_aware":
        return shared, own
    if len(shared) < len(names):
        return [], []
    if own:
        warn(
            f"The columns {own!r:.300} of X are not the source's: strategy={strategy!r} leaves "
            "them out.",
        )
    return shared, []


def _own_encoder(X, own):
    """Return an encoder of columns that only a target has, and those that it can encode."""
    columns = []
    for name in own:
        try:
            columns.append(schema_from(X[[name]], public=True).columns[0])
        except ValueError as error:
            warn(f"{error} The column is not used.")
    if not columns:
        return None, []
    return fitted_encoder(Schema(tuple(columns))), [column.name for column in columns]


def _say(names, shared, own):
    """Warn of columns that one side alone has."""
    missing = [name for name in names if name not in shared]
    if missing:
        warn(
            f"X lacks the columns {missing!r:.300} of the source, whose release is restricted to "
            "the others.",
        )
    if own:
        warn(
            f"The columns {own!r:.300} of X are not the source's: the target's own models learn "
            "from them. Leave out of X what is no feature, such as the outcome.",
        )
