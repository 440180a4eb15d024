"""Numeric and categorical columns: description, encoding, decoding, and values outside them."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from skdp.tabular._values import Vocabulary, ambiguity, as_number, missing_values, numbers
from skdp.utils._frames import as_elements, composed

# A value of 1% of the upper bound is about half way up a logarithmic scale that starts at zero.
# Of 30 to 10,000, 30 and 100 gave the best logistic regressions of the logarithmic columns of four
# medical and economic tables (adult, flchain, actg320, actg175).
_LOG_RESOLUTION = 100.0
# Distance of a value beyond its public bounds, in widths of these, and share of such rows: if both
# are exceeded, the column is probably in other units.
_FAR, MOST = 0.1, 0.5
# Smallest number of cells of a finding, so that a single record hardly ever decides.
LEAST = 5
# Longest name of a column or category, far beyond any real one.
_MAX_TEXT = 1000


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers with public bounds.

    A value x becomes u = (t(x) − t(low)) / (t(high) − t(low)), clipped to [0, 1], where t is the
    identity or, on a logarithmic scale, log x if low > 0 and log(1 + 100 x/high) if low = 0.
    Neither depends on the unit of measurement.

    Parameters
    ----------
    name : str
        Name in the frame.

    low, high : float
        Public bounds, finite, low < high, in the unit of the column.

    log : bool, default=False
        Whether the scale is logarithmic; this needs low >= 0.

    missing : bool, default=False
        Whether values may be missing; if so, an indicator is added. Otherwise a missing
        value is encoded as 0.5, like the middle of the scale.

    step : float or None, default=None
        Distance of the possible values low, low + step, and so on, such as 1 for whole numbers.
        Synthetic rows have such values; encoding does not depend on it. None: any number.

    noisy : bool, default=False
        Whether the bounds were computed from private rows with noise, as by
        :func:`~skdp.quantile_bounds`. Releases state this.

    Raises
    ------
    ValueError
        The message names the column and the remedy.

    Examples
    --------
    >>> from skdp.tabular import NumericColumn
    >>> NumericColumn("creatinine", 0.1, 10, log=True).positions([0.1, 1, 20])
    array([0. , 0.5, 1. ])
    """

    name: str
    low: float
    high: float
    log: bool = False
    missing: bool = False
    step: float | None = None
    noisy: bool = False

    def __post_init__(self) -> None:
        _check_name_and_flags(self, "log", "missing", "noisy")
        for bound in ("low", "high"):
            object.__setattr__(self, bound, _finite(self.name, bound, getattr(self, bound)))
        _require(
            self.low < self.high, self.name, "has empty bounds", "make 'low' less than 'high'"
        )
        wide = np.isfinite(self.high - self.low) and self.low + (self.high - self.low) > self.low
        _require(wide, self.name, "has a range beyond floating point", "choose other bounds")
        if self.log:
            remedy = "choose bounds from zero upwards, or leave out 'log'"
            _require(self.low >= 0, self.name, "has a logarithmic scale below zero", remedy)
            ordinary = self.low == 0 or np.isfinite(self.high / self.low)
            _require(ordinary, self.name, "has a range beyond floating point", remedy)
        if self.step is not None:
            object.__setattr__(self, "step", _finite(self.name, "step", self.step))
            fits = 0 < self.step <= self.high - self.low
            remedy = "make 'step' positive and no more than high - low, or leave it out"
            _require(fits, self.name, f"has the step {self.step:g}", remedy)
            fine = (self.high - self.low) / self.step < 1e12
            _require(fine, self.name, "has a step too fine for its range", "leave out 'step'")

    is_one_hot = False

    @property
    def kinds(self) -> tuple[int, ...]:
        """Tuple of int: 0 for the value, and 1 for the indicator of a missing value."""
        return (0, 1) if self.missing else (0,)

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Tuple of str: names of the encoded columns."""
        return (self.name, f"{self.name}_missing") if self.missing else (self.name,)

    @property
    def squared_norm_bound(self) -> float:
        """float: largest sum of squares of its encoded elements; a missing value is 0.5 and 1."""
        return 1.25 if self.missing else 1.0

    def positions(self, values: ArrayLike) -> np.ndarray:
        """Return values as positions on the scale.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Values that are neither numbers nor text of numbers count as missing.

        Returns
        -------
        positions : ndarray of shape (n_samples,)
            In [0, 1], or NaN where missing.
        """
        clipped = np.clip(numbers(values), self.low, self.high)
        if not self.log:
            return np.clip((clipped - self.low) / (self.high - self.low), 0.0, 1.0)
        if self.low > 0:
            return np.clip(np.log(clipped / self.low) / np.log(self.high / self.low), 0.0, 1.0)
        share = np.clip(clipped / self.high, 0.0, 1.0)
        return np.log1p(_LOG_RESOLUTION * share) / np.log1p(_LOG_RESOLUTION)

    def encode(self, values: ArrayLike) -> np.ndarray:
        """Return encoded columns: positions on the scale, and which values are missing.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Of any type.

        Returns
        -------
        block : ndarray of shape (n_samples, n_encoded)
            In [0, 1]; 0.5 is the position of a missing value.

        Examples
        --------
        >>> from skdp.tabular import NumericColumn
        >>> NumericColumn("age", 0, 100, missing=True).encode([25, None])
        array([[0.25, 0.  ],
               [0.5 , 1.  ]])
        """
        return _on_scale(self.positions(values), self.missing)

    def decode(self, block: np.ndarray) -> np.ndarray:
        """Return valid values for encoded rows.

        Parameters
        ----------
        block : ndarray of shape (n_samples, n_encoded)
            Finite, of any real values.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Within the bounds and in steps, NaN where the indicator exceeds 0.5.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp.tabular import NumericColumn
        >>> NumericColumn("age", 0, 100, step=1).decode(np.array([[0.254]]))
        array([25.])
        """
        u = np.clip(block[:, 0], 0.0, 1.0)
        if not self.log:
            values = self.low + u * (self.high - self.low)
        elif self.low > 0:
            values = self.low * np.exp(u * np.log(self.high / self.low))
        else:
            share = np.expm1(u * np.log1p(_LOG_RESOLUTION)) / _LOG_RESOLUTION
            values = self.high * share
        values = np.clip(values, self.low, self.high)
        if self.step is not None:
            steps = np.rint((values - self.low) / self.step)
            most = np.floor((self.high - self.low) / self.step * (1 + 1e-9))  # up to rounding
            decimals = max(_decimals(self.step), _decimals(self.low))
            values = np.round(self.low + np.minimum(steps, most) * self.step, decimals)
        return np.where(block[:, 1] > 0.5, np.nan, values) if self.missing else values


@dataclass(frozen=True)
class CategoryColumn:
    """A column of public categories.

    Values are compared one by one, whatever the type of their column: 7, 7.0, "7" and
    "007" are the same category, and so are 1, True and "TRUE"; see the guide,
    :doc:`/howto/tables`. Text that is not a number is compared unchanged.
    Three or more categories become one indicator each, two become one binary column, and ordered
    ones become one column, rank/(number of categories − 1).

    Parameters
    ----------
    name : str
        Name in the frame.

    categories : tuple of str
        At least two different categories, in their order. Numbers and booleans become text.
        Two spellings of one number and marks of missing values such as "NA" are refused.

    ordered : bool, default=False
        Whether the order has a meaning.

    missing : bool, default=False
        Whether values may be missing or unlisted; if so, they get a separate category, or an
        indicator if categories are ordered. Otherwise such a value is encoded as 0.5 in a
        binary or ordered column, and as zeros among indicators.

    noisy : bool, default=False
        Whether the categories were found in private rows with noise, as by
        :func:`~skdp.quantile_bounds`. Releases state this.

    Raises
    ------
    ValueError
        The message names the column and the remedy.

    Examples
    --------
    >>> from skdp.tabular import CategoryColumn
    >>> ward = CategoryColumn("ward", ("A", "B", "C"), missing=True)
    >>> ward.encoded_names
    ('ward_A', 'ward_B', 'ward_C', 'ward_missing')
    >>> ward.codes(["B", "D", None])
    array([1, 3, 3])
    """

    name: str
    categories: tuple[str, ...]
    ordered: bool = False
    missing: bool = False
    noisy: bool = False

    def __post_init__(self) -> None:
        _check_name_and_flags(self, "ordered", "missing", "noisy")
        listed = isinstance(self.categories, list | tuple | np.ndarray)
        _require(listed, self.name, "has no list of categories", "list them as 'categories'")
        categories = tuple(_category(self.name, value) for value in self.categories)
        object.__setattr__(self, "categories", categories)
        twice = len(set(categories)) < len(categories)
        _require(not twice, self.name, "has duplicate categories", "list every category once")
        few = len(categories) < 2
        remedy = "list two or more, or leave the column out"
        _require(not few, self.name, f"has {len(categories)} categories", remedy)
        remedy = "spell them differently in schema and table, as 'code 007' or 'none'"
        fault = ambiguity(categories)
        _require(fault is None, self.name, fault, remedy)

    @property
    def is_one_hot(self) -> bool:
        """bool: whether it becomes indicators rather than positions on a scale."""
        return not self.ordered and len(self.categories) + self.missing > 2

    @property
    def kinds(self) -> tuple[int, ...]:
        """Tuple of int: the number of indicators for each, 1 if binary, 0 for ranks."""
        if self.is_one_hot:
            n = len(self.categories) + self.missing
            return (n,) * n
        rank = 1 if len(self.categories) == 2 else 0
        return (rank, 1) if self.missing else (rank,)

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Tuple of str: names of the encoded columns, as in scikit-learn's OneHotEncoder."""
        if self.is_one_hot:
            names = [f"{self.name}_{category}" for category in self.categories]
        else:
            names = [self.name if self.ordered else f"{self.name}_{self.categories[1]}"]
        return (*names, f"{self.name}_missing") if self.missing else tuple(names)

    @property
    def squared_norm_bound(self) -> float:
        """float: largest sum of squares of its encoded elements."""
        return 1.25 if self.missing and not self.is_one_hot else 1.0

    def codes(self, values: ArrayLike) -> np.ndarray:
        """Return values as indices of categories.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Of any type.

        Returns
        -------
        codes : ndarray of shape (n_samples,)
            From 0. A missing or unlisted value has the index after the last one if values may
            be missing, and −1 otherwise.
        """
        other = len(self.categories) if self.missing else -1
        return Vocabulary(self.categories).codes(values, other)

    def positions(self, values: ArrayLike) -> np.ndarray:
        """Return values as positions on the scale of ranks.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Of any type.

        Returns
        -------
        positions : ndarray of shape (n_samples,)
            In [0, 1], or NaN if missing or unlisted.
        """
        codes, last = self.codes(values), len(self.categories) - 1
        return np.where((codes < 0) | (codes > last), np.nan, codes / last)

    def encode(self, values: ArrayLike) -> np.ndarray:
        """Return encoded columns: an indicator for each category, or a scale of ranks.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Of any type.

        Returns
        -------
        block : ndarray of shape (n_samples, n_encoded)
            In [0, 1]; a missing value is 0.5 on the scale of ranks.

        Examples
        --------
        >>> from skdp.tabular import CategoryColumn
        >>> CategoryColumn("ward", ("A", "B", "C")).encode(["B", "D"])
        array([[0., 1., 0.],
               [0., 0., 0.]])
        """
        if not self.is_one_hot:
            return _on_scale(self.positions(values), self.missing)
        codes = self.codes(values)
        rows = np.flatnonzero(codes >= 0)
        block = np.zeros((len(codes), len(self.kinds)))
        block[rows, codes[rows]] = 1.0
        return block

    def decode(self, block: np.ndarray) -> np.ndarray:
        """Return valid values for encoded rows.

        Parameters
        ----------
        block : ndarray of shape (n_samples, n_encoded)
            Finite, of any real values.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The category of the largest indicator or the nearest rank; None if the indicator of
            missing values is largest or above 0.5.
        """
        last = len(self.categories) - 1
        if self.is_one_hot:
            codes = block.argmax(axis=1)
        else:
            codes = np.rint(np.clip(block[:, 0], 0.0, 1.0) * last).astype(int)
            if self.missing:
                codes = np.where(block[:, 1] > 0.5, last + 1, codes)
        return np.array([*self.categories, None], dtype=object)[codes]


def values_outside(values, low, high):
    """Return values outside the bounds, including infinite ones, without missing ones."""
    return values[(values < low) | (values > high)]


def mostly_far_outside(values, low, high):
    """Return whether most values lie so far outside bounds that other units are likely."""
    margin = _FAR * (high - low)
    return bool(
        len(values)
        and len(values_outside(values, low - margin, high + margin)) > MOST * len(values)
    )


def cells_without_value(column, values):
    """Return which cells of a column are missing, and which others are unreadable."""
    unread = np.isnan(column.positions(values))
    missing = np.zeros_like(unread)
    missing[unread] = missing_values(as_elements(values)[unread])
    return missing, unread & ~missing


def column_from(name, description):
    """Return the column that a mapping of a schema describes.

    ``missing`` may also be a share, such as "17%". Errors name the column and the remedy.
    """
    _require(
        isinstance(description, Mapping), name, "is not described by a mapping", "give it a 'type'"
    )
    given = dict(description)
    kind = given.pop("type", None)
    _require(
        isinstance(kind, str) and kind in _KINDS,
        name,
        f"has the type {kind!r:.100}",
        "use 'numeric' or 'category'",
    )
    make, required, optional = _KINDS[kind]
    for key in given:
        keys = ", ".join(map(repr, ("type", *required, *optional)))
        allowed = key in (*required, *optional)
        _require(allowed, name, f"has the unknown key {key!r:.100}", f"use {keys}")
    for key in required:
        _require(key in given, name, f"has no key {key!r}", f"add {key!r}")
    if isinstance(given.get("missing"), str):
        share = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", given["missing"])
        remedy = "write true, false or a share like '17%'"
        _require(share is not None, name, "has an invalid 'missing'", remedy)
        given["missing"] = share is not None and float(share[1]) > 0
    return make(name, **given)


def description_of(column):
    """Return the mapping for :func:`column_from`, without default values."""
    kind = "numeric" if isinstance(column, NumericColumn) else "category"
    _, required, optional = _KINDS[kind]
    stated = [*required, *(key for key in optional if getattr(column, key))]
    values = ((key, getattr(column, key)) for key in stated)
    return {"type": kind} | {k: list(v) if isinstance(v, tuple) else v for k, v in values}


# By type: the class, the required keys, and the optional keys.
_KINDS = {
    "numeric": (NumericColumn, ("low", "high"), ("step", "log", "missing", "noisy")),
    "category": (CategoryColumn, ("categories",), ("ordered", "missing", "noisy")),
}


def plain(value):
    """Return a NumPy scalar as a Python one, and anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def is_text(value):
    """Return whether a value is text that can be written to a file and is not absurdly long."""
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_TEXT:
        return False
    # JSON can hold halves of characters, which UTF-8 cannot.
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _require(holds, name, fault, remedy):
    if not holds:
        raise ValueError(f"Column {name!r:.100} of the schema {fault}; {remedy}.")


def _check_name_and_flags(column, *flags):
    name, remedy = column.name, f"use text of 1 to {_MAX_TEXT} characters"
    _require(is_text(name), name, "has an invalid name", remedy)
    object.__setattr__(column, "name", composed(name))
    for flag in flags:
        boolean = isinstance(getattr(column, flag), bool)
        _require(boolean, name, f"has a {flag!r} that is not a boolean", "write true or false")


def _finite(name, bound, value):
    number = np.nan
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        number = as_number(value)
    fault = f"has a bound {bound!r} that is not finite"
    _require(np.isfinite(number), name, fault, "write a finite number")
    return number


def _category(name, value):
    text = None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    elif isinstance(value, np.bool_):
        value = bool(value)
    if isinstance(value, str | Real):
        with suppress(ValueError):  # Python turns no whole number of many digits into text
            text = str(value)
    fault = "has a category that is empty, too long, or neither text nor a number"
    remedy = f"list text of 1 to {_MAX_TEXT} characters, and use 'missing' for missing values"
    _require(is_text(text), name, fault, remedy)
    return composed(text)


def _decimals(number):
    """Return the number of decimals at which a number is exact, at most 12."""
    return next(
        (d for d in range(12) if np.isclose(round(number, d), number, rtol=1e-12)),
        12,
    )


def _on_scale(positions, missing):
    """Return positions, NaN where missing, as a block, with the indicator if there is one."""
    unknown = np.isnan(positions)
    positions = np.where(unknown, 0.5, positions)  # the middle, independent of the rows
    return np.column_stack([positions, unknown] if missing else [positions])
