"""Bounds and categories of private columns from noisy histograms, if none are public."""

import os
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from math import inf, sqrt
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri

from skdp.noise import GaussianQueries, Share, private_bits
from skdp.privacy import Mechanism, PrivacyGuarantee, PrivacyLedger
from skdp.source._door import check_budget, read_persons, row_weights
from skdp.source._integers import ROW
from skdp.source._publication import publish, sealed, whole_guarantee
from skdp.tabular import (
    CategoryColumn,
    ClassOutcome,
    NumericColumn,
    Schema,
    as_schema,
    canonical,
    numbers,
    refuse_other_types,
    rounded_bounds,
)
from skdp.utils._frames import as_frame, composed
from skdp.utils._warnings import warn

# Magnitudes are distinguished by powers of two between 2^-30 and 2^60; smaller ones are zero.
_SMALLEST, _LARGEST = -30, 60
# Bins: a missing value, powers of two with either sign, and zero between them.
_POWERS = _LARGEST - _SMALLEST + 1
_N_COARSE = 2 * _POWERS + 2
# Bins of equal width between the powers of two that are occupied.
_N_FINE = 64
# Largest number of different values in a column of categories.
_MOST_CATEGORIES = 1000


@dataclass(frozen=True)
class PrivateBounds:
    """A schema whose bounds and categories were computed from private rows with noise.

    Parameters
    ----------
    schema : Schema or None
        Columns computed from private rows are marked ``noisy``. None if noise hides all columns.

    guarantee : PrivacyGuarantee
        The privacy cost of finding them.

    deviation : float
        Standard deviation of the noise of a count, in rows.

    left_out : tuple of str
        Columns that are missing in the schema because noise hides their values.

    See Also
    --------
    quantile_bounds : Makes it.

    Examples
    --------
    >>> from skdp.privacy import Mechanism, PrivacyGuarantee
    >>> from skdp.source import PrivateBounds
    >>> from skdp.tabular import Schema
    >>> schema = Schema.from_mapping({"age": {"type": "numeric", "low": 20, "high": 90,
    ...                                       "noisy": True}})
    >>> guarantee = PrivacyGuarantee("m", [Mechanism("any", 0.5)], 1.0, 1, "c", "e")
    >>> print(PrivateBounds(schema, guarantee, 12.0, ()).summary())
    Schema(1 numeric column, 0 of categories; 1 encoded; classes not listed)
      'age': numeric, 20 to 90; noisy
    Counts had noise of standard deviation 12 rows; epsilon 0.5 per element.
    """

    schema: Schema | None
    guarantee: PrivacyGuarantee
    deviation: float
    left_out: tuple[str, ...]

    def summary(self) -> str:
        """Return the columns, and the privacy cost of finding them, as text.

        Returns
        -------
        text : str
        """
        lines = ["No schema." if self.schema is None else self.schema.summary()]
        if self.left_out:
            names = ", ".join(f"{name!r:.100}" for name in self.left_out)
            lines.append(f"Left out, because noise hides their values: {names}.")
        noise = (
            f"{self.deviation:.3g} {self.guarantee.counted}"
            if self.deviation
            else "nothing at all"
        )
        lines.append(f"Counts had noise of standard deviation {noise}; {self.guarantee.amount}.")
        return "\n".join(lines)


def quantile_bounds(
    X: pd.DataFrame,
    numeric: Iterable[str] = (),
    categories: Iterable[str] = (),
    *,
    epsilon: float = 0.1,
    delta: float = 1e-5,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    classes: Iterable[Any] | None = None,
    quantiles: tuple[float, float] = (0.01, 0.99),
    groups: ArrayLike | None = None,
    ledger: PrivacyLedger | str | os.PathLike[str] | None = None,
    name: str = "bounds",
    random_state: int | np.random.RandomState | None = None,
) -> PrivateBounds:
    r"""Find bounds of numeric columns, and lists of categories, with differential privacy.

    A schema must not reveal private rows. If units, instruments or code books do not bound a
    column, spend part of the budget on its bounds. Rows are counted by powers of two with Gaussian
    noise, and then in 64 bins over the occupied range. The bounds are quantiles of the noisy
    counts, rounded outwards to 1, 2 or 5 times a power of ten. A value is listed as a category if
    its noisy count exceeds a threshold; a value of a single person exceeds the threshold with a
    probability below half of δ over the number of such columns (Korolova et al., 2009).

    **What is guaranteed**: whole records (add/remove), or with ``groups`` whole people, each of
    whose k rows counts 1/k; of a person's categories, only the one in the first row counts. One
    row changes one bin of each of p columns: each count gets noise of standard deviation
    :math:`\sqrt{p}/μ` for categories and :math:`\sqrt{2p}/μ` for the two histograms of
    numbers, where μ is the Gaussian distance that (ε, δ) allows for all queries together.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_columns)
        **Private** rows.

    numeric : iterable of str, default=()
        Columns of numbers; cells that are not numbers count as missing.

    categories : iterable of str, default=()
        Columns of categories, at most 1,000 in each.

    epsilon, delta : float, default=0.1 and 1e-5
        Privacy loss of all columns together; it adds to the privacy loss of the release.

    schema : Schema, mapping, str, path-like or None, default=None
        Public schema of other columns, which come first. A column that it contains is refused,
        because public bounds cost nothing.

    classes : iterable of labels or None, default=None
        Public classes for the schema; by default the classes of ``schema``.

    quantiles : (float, float), default=(0.01, 0.99)
        Quantiles to use as bounds; values between them will not be clipped.

    groups : array-like of shape (n_samples,) or None, default=None
        The person whom each row belongs to.

    ledger : PrivacyLedger, str, path-like or None, default=None
        Charged before noise is drawn.

    name : str, default="bounds"
        Name of the ledger's entry.

    random_state : int, RandomState instance or None, default=None
        For tests only: anyone who knows the seed can remove the noise.

    Returns
    -------
    bounds : PrivateBounds
        With the schema for :class:`~skdp.DPStatisticsSource` and others.

    Raises
    ------
    ValueError
        When a parameter is wrong; when a column is unknown, named twice or in the public schema;
        or when it holds dates, durations or complex numbers, no number at all, or more than 1,000
        categories (the error reveals such contents of the rows). Nothing is charged.

    BudgetExceededError
        When the ledger has too little left. Nothing was charged.

    Warns
    -----
    UserWarning
        When noise hides a column, which is then left out; without other columns the schema is
        None.

    PrivacyLeakWarning
        When ``random_state`` is a seed, or ``epsilon`` is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skdp import quantile_bounds
    >>> rng = np.random.RandomState(0)
    >>> age, sex = rng.uniform(20, 80, 2000), rng.choice(["F", "M"], 2000)
    >>> rows = pd.DataFrame({"age": age, "sex": sex})
    >>> bounds = quantile_bounds(rows, ["age"], ["sex"], epsilon=1.0)
    >>> [column.name for column in bounds.schema.columns]
    ['age', 'sex']
    >>> bounds.schema.columns[0].noisy
    True
    """
    X = as_frame(X)
    if not isinstance(X, pd.DataFrame):
        raise _wrong("X", f"must be a DataFrame, got one of type {type(X).__name__}.")
    public = None if schema is None else as_schema(schema)
    numeric = _columns_of(X, "numeric", numeric, public)
    categories = _columns_of(X, "categories", categories, public)
    check_budget("quantile_bounds", epsilon, delta)
    before = () if public is None else public.columns
    outcome = ClassOutcome() if public is None else public.outcome
    if classes is not None:
        outcome = ClassOutcome(tuple(classes))
    _check((*numeric, *categories), quantiles, outcome)
    persons = read_persons(groups, len(X), "quantile_bounds")
    weights = row_weights(persons, len(X))
    with sealed("quantile_bounds"):
        values = {column: np.asarray(numbers(X[column]), dtype=np.float64) for column in numeric}
        counted = {column: _category_counts(X[column], persons) for column in categories}
    _check_values(values, counted)
    noise = _Noise(epsilon, delta, len(values), len(counted), random_state)
    guarantee = noise.guarantee(by_group=groups is not None)

    def make(values, weights, counted, noise):
        columns = noise.numeric_columns(values, weights, quantiles)
        columns |= noise.category_columns(counted)
        extended, left_out = _schema(before, columns, outcome)
        return PrivateBounds(extended, guarantee, noise.deviation, left_out)

    no_counts: tuple[list[Any], list[int]] = ([], [0])
    nothing = dict.fromkeys(values, np.zeros(0)), weights[:0], dict.fromkeys(counted, no_counts)
    return publish(
        "quantile_bounds",
        guarantee,
        make,
        private=(values, weights, counted, noise),
        rehearsals=[(*nothing, noise.rehearsal())],
        ledger=ledger,
        name=name,
        doubt=_warn_of_hidden,
    )


def _schema(before, columns, outcome):
    """Return the schema of public and noisy columns, or None, and names of omitted columns."""
    # A column is left out if noise hides it, if it is invalid, such as one of a single category,
    # or if its encoded names clash with another column: all this depends on noisy results, so an
    # error would come after the charge.
    schema, left_out = (Schema(before, outcome) if before else None), []
    for name, column in columns.items():
        try:
            earlier = () if schema is None else schema.columns
            schema = Schema((*earlier, column()), outcome)
        except ValueError:
            left_out.append(name)
    return schema, tuple(left_out)


def _warn_of_hidden(bounds):
    """Warn of columns that noise hides completely."""
    if bounds.left_out:
        so = "there is no schema" if bounds.schema is None else "they are left out of the schema"
        warn(
            f"Noise hides the values of the columns {list(bounds.left_out)!r:.500}; {so}. Use "
            "a larger epsilon or fewer columns, or write what is publicly known."
        )


def _wrong(parameter, problem):
    """Return the error of a parameter."""
    return ValueError(f"The {parameter!r} parameter of quantile_bounds {problem}")


def _columns_of(X, argument, names, public):
    """Return names of columns of a table as a tuple; raise ValueError if they are wrong."""
    if isinstance(names, str | Mapping):
        raise _wrong(argument, f"must be a list of columns, got {names!r:.100}.")
    names = tuple(names)
    unknown = [name for name in names if list(X.columns).count(name) != 1]
    if unknown:
        raise _wrong(
            argument, f"names {unknown!r:.500}, which the table does not have exactly once."
        )
    refuse_other_types(X[list(names)])
    stated = [name for name in names if public is not None and composed(name) in public.names]
    if stated:
        raise _wrong(
            argument,
            f"names {stated!r:.500}, which are in the public 'schema' already: this costs "
            "nothing. Leave them out.",
        )
    return names


def _check(names, quantiles, outcome):
    """Raise ValueError for parameters that are wrong."""
    if not names:
        raise _wrong("numeric", "names no column, nor does 'categories'.")
    if len(set(map(composed, names))) < len(names):
        raise _wrong("numeric", "or 'categories' names a column twice.")
    if not (np.shape(quantiles) == (2,) and 0 <= quantiles[0] < quantiles[1] <= 1):
        raise _wrong(
            "quantiles",
            f"must be two shares, the smaller first, got {quantiles!r:.100}. (0.01, 0.99) clips "
            "about 2 % of the values.",
        )
    for name in names:  # which are invalid in any schema
        Schema((NumericColumn(name, 0.0, 1.0),), outcome)


def _check_values(values, counted):
    """Raise ValueError for a column without a number, or with too many categories."""
    for name, column in values.items():
        if len(column) and np.isnan(column).all():
            raise _wrong(
                "numeric",
                f"names {name!r:.100}, a column without any number. Name it in 'categories', or "
                "correct its spelling of numbers.",
            )
    for name, (categories, _) in counted.items():
        if len(categories) > _MOST_CATEGORIES:
            raise _wrong(
                "categories",
                f"names {name!r:.100}, a column of more than {_MOST_CATEGORIES:,} different "
                "values. Leave it out if these are names or IDs, or name it in 'numeric' if they "
                "are numbers.",
            )


def _category_counts(values, persons):
    """Return the values of a column, the count of each and of missing cells: **private**.

    Only the first value of a person counts, so that a person adds at most one value.
    """
    keys = pd.Series([canonical(value) for value in values], dtype=object)
    if persons is not None:
        first = pd.DataFrame({"person": np.asarray(persons), "present": keys.notna()})
        first = first.sort_values(["person", "present"], ascending=[True, False], kind="stable")
        keys = keys.loc[first.drop_duplicates("person").index]
    codes, categories = pd.factorize(keys)
    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
    return list(categories), np.append(counts, np.sum(codes < 0)).astype(np.int64) * ROW


def coarse_bin(values):
    """Return the number of the power-of-two bin of each value; 0 where it is missing."""
    most = np.ldexp(1.0, _LARGEST) * (1 - 2.0**-50)
    clipped = np.clip(np.nan_to_num(values, posinf=most, neginf=-most), -most, most)
    exponent = np.frexp(clipped)[1]
    power = np.where(np.abs(clipped) < np.ldexp(1.0, _SMALLEST - 1), 0, exponent - _SMALLEST + 1)
    return np.where(np.isnan(values), 0, 1 + _POWERS + np.sign(clipped).astype(int) * power)


def coarse_edges():
    """Return the lower and the upper edge of each power-of-two bin; NaN of missing values."""
    powers = np.ldexp(1.0, np.arange(_SMALLEST, _LARGEST + 1))
    low = np.concatenate([[np.nan], -powers[::-1], [0.0], powers / 2])
    high = np.concatenate([[np.nan], -powers[::-1] / 2, [0.0], powers])
    return low, high


@dataclass(frozen=True)
class _Search:
    """Settings of the search for quantiles in noisy counts."""

    # Standard deviations of the noise above which a bin counts as occupied: in 1 of 19,000
    # columns, one of 183 empty bins does.
    occupied: float = 5.0
    # The same of a sum of bins: one in 700 empty sums exceeds it.
    summed: float = 3.0
    # Quantiles are searched up to this share, near the median, and extrapolated from there by this
    # factor at most, towards this share at least (rules of thumb).
    most_level: float = 0.4
    most_beyond: float = 4.0
    least_share: float = 1e-3
    # Share of the rows in isolated occupied bins beyond which these bins hold all rows (rule of
    # thumb).
    few: float = 0.8


_SEARCH = _Search()


class _Noise:
    """The queries to the columns, in two rounds for numbers and one for categories."""

    def __init__(self, epsilon, delta, n_numeric, n_categories, random_state):
        p = n_numeric + n_categories
        self._n_numeric, self._n_categories = n_numeric, n_categories
        # Half of δ covers the case that a single person's category exceeds the threshold.
        self._listing = delta / 2 if n_categories and epsilon < inf else 0.0
        shares = {}
        if n_numeric:
            half = Share(n_numeric / (2 * p), n_numeric * _N_COARSE, ROW * sqrt(n_numeric))
            shares = {"coarse": half, "fine": half}
        if n_categories:
            size = n_categories * (_MOST_CATEGORIES + 1)
            shares["categories"] = Share(n_categories / p, size, ROW * sqrt(n_categories))
        self._shares = shares
        bits = private_bits("quantile_bounds", random_state)
        self._queries = GaussianQueries(epsilon, delta - self._listing, shares, bits)

    def rehearsal(self):
        """Return equal queries for a rehearsal without rows."""
        twin = copy(self)
        twin._queries = self._queries.rehearsal()
        return twin

    @property
    def deviation(self):
        """float: largest standard deviation of the noise of a count, in rows."""
        return max(self._deviation(query) for query in self._shares)

    def _deviation(self, query):
        share = self._shares[query]
        return self._queries.deviation(query, share.sensitivity) / ROW

    def guarantee(self, *, by_group):
        """Return the joint guarantee of all queries."""
        mechanisms = [self._queries.mechanism]
        if self._listing:
            mechanisms.append(Mechanism("any", 0.0, self._listing))
        return whole_guarantee(
            "Gaussian noise on histograms of columns",
            tuple(mechanisms),
            self._n_numeric + self._n_categories,
            by_group=by_group,
            covers="the values of these columns in their rows",
            excludes="the names of the columns; refusals of the input",
        )

    def _answer(self, query, counts):
        """Return noisy counts in rows."""
        return self._queries.add(query, counts, self._shares[query].sensitivity) / ROW

    def numeric_columns(self, values, weights, quantiles):
        """Return functions that make the numeric columns, by name; ValueError for hidden ones."""
        if not values:
            return {}
        bins = [coarse_bin(column) for column in values.values()]
        coarse = self._answer("coarse", _histograms(bins, weights, _N_COARSE))
        least = _SEARCH.occupied * self._deviation("coarse")
        ranges = [_occupied_range(counts, least) for counts in coarse]
        bins = [
            _fine_bin(x, occupied) for x, occupied in zip(values.values(), ranges, strict=True)
        ]
        fine = self._answer("fine", _histograms(bins, weights, _N_FINE + 1))[:, 1:]
        columns = {}
        for name, occupied, counts, rough in zip(values, ranges, fine, coarse, strict=True):
            bounds = occupied and _between(counts, occupied, quantiles, self._deviation("fine"))
            columns[name] = partial(_numeric_column, name, bounds, bool(rough[0] > least))
        return columns

    def category_columns(self, counted):
        """Return functions that make the columns of categories, by name."""
        if not counted:
            return {}
        exact = np.zeros((len(counted), _MOST_CATEGORIES + 1), dtype=np.int64)
        for row, (categories, counts) in zip(exact, counted.values(), strict=True):
            row[: len(categories)], row[-1] = counts[:-1], counts[-1]
        noisy = self._answer("categories", exact)
        least = self._threshold()
        columns = {}
        for (name, (categories, _)), counts in zip(counted.items(), noisy, strict=True):
            often = [value for value, n in zip(categories, counts, strict=False) if n > least]
            listed = tuple(sorted(often, key=lambda value: (isinstance(value, str), value)))
            missing = bool(counts[-1] > least)
            columns[name] = partial(CategoryColumn, name, listed, missing=missing, noisy=True)
        return columns

    def _threshold(self):
        """Return the count that one person's category exceeds with probability at most δ/2."""
        # For all columns together. One is added because noise sampled on a grid has slightly
        # larger tails than the normal distribution (Canonne, Kamath and Steinke, 2020).
        deviation = self._deviation("categories")
        if not deviation:
            return 0.5
        return 1 + 1 / ROW - deviation * float(ndtri(self._listing / self._n_categories))


def _histograms(bins, weights, n_bins):
    """Return weights by bin of each column, whole numbers."""
    counts = np.zeros((len(bins), n_bins), dtype=np.int64)
    for row, numbers_of_bins in zip(counts, bins, strict=True):
        np.add.at(row, numbers_of_bins, weights)
    return counts


def _occupied_range(counts, least):
    """Return the range of powers of two whose noisy counts show rows, or None."""
    low, high = coarse_edges()
    occupied = np.flatnonzero(counts[1:] > least) + 1
    if not len(occupied):
        return None
    first, last = low[occupied[0]], high[occupied[-1]]
    return (first, last) if first < last else (first - 0.5, first + 0.5)  # zeros alone


def _fine_bin(values, occupied):
    """Return bins of equal width from 1, extended beyond the range; 0 for missing values."""
    if occupied is None:
        return np.zeros(len(values), dtype=int)
    place = (values - occupied[0]) / (occupied[1] - occupied[0]) * _N_FINE
    place = np.clip(np.floor(np.nan_to_num(place)), 0, _N_FINE - 1).astype(int)
    return np.where(np.isnan(values), 0, place + 1)


def _between(counts, occupied, quantiles, deviation):
    """Return two quantiles from noisy counts of bins of equal width."""
    # Where noise hides the tails, they are extrapolated from the last visible quantile like those
    # of a normal distribution, but not below zero if no value is negative.
    edges = np.linspace(occupied[0], occupied[1], _N_FINE + 1)
    middle = edges[:-1][np.argmax(np.cumsum(counts) > counts.sum() / 2)]
    low = _quantile(counts, edges, quantiles[0], deviation, middle)
    high = -_quantile(counts[::-1], -edges[::-1], 1 - quantiles[1], deviation, -middle)
    if low < 0 <= occupied[0]:
        low = 0.0
    if high > 0 >= occupied[1]:
        high = 0.0
    return (low, high) if low < high else occupied


def _quantile(counts, edges, share, deviation, middle):
    """Return the quantile of a share below one half."""
    n_rows = max(counts.sum(), deviation)
    noise = _SEARCH.summed * deviation * np.sqrt(np.arange(1, len(counts) + 1))
    levels = np.maximum(share, noise / n_rows)
    reached = (np.cumsum(counts) > levels * n_rows) & (levels < _SEARCH.most_level)
    if not reached.any():
        occupied = counts > _SEARCH.occupied * deviation
        few = counts[occupied].sum() > _SEARCH.few * n_rows  # that hold nearly all rows
        return edges[np.argmax(occupied)] if few else edges[0]
    place = int(np.argmax(reached))
    quantile, level = min(edges[place], middle), levels[place]
    if level == share:
        return quantile
    beyond = min(float(ndtri(max(share, _SEARCH.least_share)) / ndtri(level)), _SEARCH.most_beyond)
    return middle - (middle - quantile) * beyond


def _numeric_column(name, bounds, missing):
    """Return a column of numbers between rounded bounds; ValueError if noise hides them."""
    if bounds is None:
        raise ValueError("Noise hides all values.")
    low, high = rounded_bounds(*bounds)
    return NumericColumn(name, low, high, missing=missing, noisy=True)
