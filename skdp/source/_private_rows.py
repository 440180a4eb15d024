"""Private rows: what is public about them, and how they are read, labeled and summed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral, Real
from operator import add
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from skdp.privacy import PrivacyLeakWarning
from skdp.release import BasisFunctions
from skdp.source._additive_model import AdditiveModel, ChosenModel
from skdp.source._dask_rows import announced_columns, is_dask, sum_dask
from skdp.source._integers import ExactSums, RowGrid, chunk_rows
from skdp.source._linear_model import LinearModel, StatisticsModel, is_narrow
from skdp.source._mixtures_model import MixturesModel
from skdp.source._private_fit import default_settings, sealed
from skdp.source._regression_model import RegressionModel
from skdp.tabular import (
    Schema,
    TabularEncoder,
    Vocabulary,
    ambiguity,
    canonical,
    encode_table,
    fitted_encoder,
    person_ids,
)
from skdp.utils._labels import natural_labels
from skdp.utils._linalg import as_slice
from skdp.utils._private_data import as_elements, validate_private_data
from skdp.utils._warnings import warn

MODELS: dict[str, StatisticsModel] = {
    "linear": LinearModel(),
    "additive": AdditiveModel(),
    "mixtures": MixturesModel(),
    "regression": RegressionModel(),
}
# The model that "auto" means for tables in memory.
_CHOSEN = ChosenModel()
# Smallest width and largest magnitude of a column, whose squares float32 can represent (rule of
# thumb).
_SMALLEST, _LARGEST = 1e-12, 1e12
# Of the widest numbers that a release can hold.
_BYTES = 8
# Names of the kinds of labels that are no text.
_KINDS = {
    "b": "booleans",
    "i": "numbers",
    "u": "numbers",
    "f": "numbers",
    "M": "dates",
    "m": "durations",
}
# Missing values in a column of objects, besides NaN.
_MISSING = {type(None), type(pd.NA), type(pd.NaT)}


@dataclass(frozen=True)
class PublicColumns:
    """Public description of the columns that are summed.

    Attributes
    ----------
    sizes : ndarray of shape (n_features,)
        0 for a numeric column, 1 for one of two values, k ≥ 2 for one of k indicators.

    bounds : ndarray of shape (2, n_features)

    names : ndarray of shape (n_features,) or None

    dtype : dtype
        float32 or float64.

    schema : Schema or None
        By which a table was encoded.
    """

    sizes: np.ndarray
    bounds: np.ndarray
    names: np.ndarray | None
    dtype: np.dtype
    schema: Schema | None = None

    @classmethod
    def of_array(
        cls,
        n_features: int,
        bounds: Any,
        names: np.ndarray | None = None,
        dtype: DTypeLike = np.float64,
        owner: str = "DPStatisticsSource",
    ) -> Self:
        """Return numeric columns between public bounds; errors name the owner of the parameter.

        Raises
        ------
        ValueError
            When bounds are no finite pairs low < high.
        """
        try:
            low, high = bounds
            ends = [
                np.broadcast_to(np.asarray(end, np.float64), n_features) for end in (low, high)
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The 'bounds' parameter of {owner} must be a pair (low, high) of "
                f"numbers, or of one number for each of {n_features} features. Say what is "
                "publicly known of the columns, such as bounds=(0, 255)."
            ) from error
        bounds = np.stack(ends)
        widths = bounds[1] - bounds[0]
        usual = widths.min() > _SMALLEST and np.abs(bounds).max() < _LARGEST
        if not (np.isfinite(bounds).all() and usual):
            raise ValueError(
                f"The 'bounds' parameter of {owner} must be finite, low < high, of "
                f"magnitudes below {_LARGEST:g} and widths above {_SMALLEST:g}, got widths from "
                f"{widths.min():g} to {widths.max():g}. Leave out constant columns, and use units "
                "in which the others are about 1."
            )
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64):
            raise ValueError(
                f"The 'dtype' parameter of DPStatisticsSource.accumulator must be float32 or "
                f"float64, got {dtype}. Rows of other types become float64."
            )
        return cls(np.zeros(n_features, dtype=np.int64), bounds, names, dtype)

    @classmethod
    def of_encoder(cls, encoder: TabularEncoder) -> Self:
        """Return the columns that a fitted :class:`TabularEncoder` makes."""
        names = encoder.get_feature_names_out()
        bounds = np.repeat([[0.0], [1.0]], len(names), axis=1)
        return cls(encoder.column_kinds_, bounds, names, np.dtype(np.float64), encoder.schema_)

    @classmethod
    def of_schema(cls, schema: Schema) -> Self:
        """Return the columns that an encoder of this schema will make."""
        return cls.of_encoder(fitted_encoder(schema))

    @property
    def n_inputs(self) -> int:
        """Return the number of columns before they are encoded."""
        return self.n_features if self.schema is None else len(self.schema.columns)

    @property
    def input_names(self) -> np.ndarray | None:
        """Return the names of these, or None."""
        return self.names if self.schema is None else np.array(self.schema.names, dtype=object)

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.sizes)

    def basis(self, orders: Sequence[int]) -> BasisFunctions:
        """Return public basis functions of the columns, with cosines of these orders."""
        low, high = self.bounds
        return BasisFunctions.of_columns(self.sizes, low, high, orders=orders)


def encoded_columns(encoder, X=None):
    """Return the columns that an encoder makes of a table.

    Parameters
    ----------
    encoder : TabularEncoder, Schema, mapping, str or path-like
        The ``encoder`` parameter of a source.

    X : DataFrame or array-like of shape (n_samples, n_features) or None, default=None
        Gives the number of columns where the encoder has no schema.

    Returns
    -------
    columns : PublicColumns
    """
    if not isinstance(encoder, TabularEncoder):
        encoder = TabularEncoder(encoder)
    if encoder.schema is None and X is not None:
        return PublicColumns.of_encoder(clone(encoder).fit(X))
    return PublicColumns.of_schema(encoder.schema)


def class_list(given, schema, y):
    """Return the list of classes.

    Parameters
    ----------
    given : array-like of shape (n_classes,) or None
        By the owner.

    schema : Schema or None
        Which may list them.

    y : ndarray of shape (n_samples,) or None
        Labels; None where there are none yet.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Sorted, as those of all of scikit-learn's classifiers: its metrics rely on it.

    Raises
    ------
    ValueError
        When fewer than two different classes are known.
    """
    if given is None and schema is not None:
        given = schema.classes
    if given is not None:
        return _listed(given)
    if y is None:
        raise ValueError(
            "The 'classes' parameter of DPStatisticsSource is needed where rows arrive in parts: "
            "list the classes that may occur, such as classes=['ill', 'well']."
        )
    labels = y.tolist()
    different: list = sorted(set(labels), reverse=True) if _alike(labels) else [None]
    # Of several spellings of a class, as "1" and "1.0", the first.
    known = {canonical(label): label for label in different}
    if None in known:
        raise ValueError(
            "Input y contains NaN, or None, or labels that are not all numbers or all text. List "
            "the classes in the 'classes' parameter: rows of no class of the list are left out."
        )
    check_classification_targets(natural_labels(y))
    classes = np.array(sorted(known.values()))
    if len(classes) < 2:
        raise ValueError(
            "The 'y' parameter of DPStatisticsSource.fit must hold at least two classes, got "
            "one class. List all that may occur in the 'classes' parameter."
        )
    warn(
        "DPStatisticsSource(classes=None) takes the names of the classes from y, and releases "
        "them: that each of them occurs is not protected. List those that may occur, known "
        "without looking at the rows, in the 'classes' parameter.",
        PrivacyLeakWarning,
    )
    return classes


def _listed(given):
    labels = list(given)
    if not _alike(labels) or len(set(labels)) != len(labels):
        raise ValueError(
            f"The 'classes' parameter of DPStatisticsSource must list different labels, all "
            f"numbers or all text, got {labels!r:.200}. None and NaN are no labels."
        )
    if len(labels) < 2:
        raise ValueError(
            f"The 'classes' parameter of DPStatisticsSource must list at least two labels, got "
            f"{labels!r:.200}."
        )
    fault = ambiguity(labels)
    if fault is not None:
        raise ValueError(
            f"The 'classes' parameter of DPStatisticsSource {fault}. Spell them differently in "
            "the list and in y."
        )
    return np.sort(np.array(labels))


def _alike(labels):
    """Return whether labels are all text, or all real numbers that a release can hold.

    An array of both would convert all to text, which equals no number in y.
    """
    if all(isinstance(label, str) for label in labels):
        return True
    if not all(isinstance(label, Real | np.bool_) for label in labels):
        return False
    numbers = np.array(labels)  # of objects, where one is too large
    stored = numbers.dtype.kind in "biuf" and numbers.itemsize <= _BYTES
    return stored and bool(np.isfinite(numbers).all())


@dataclass(frozen=True, eq=False)
class SummationPlan:
    """A public plan for computing exact sums from rows.

    Attributes
    ----------
    columns : PublicColumns

    classes : ndarray of shape (n_classes,)

    grid : RowGrid

    by_group : bool
        Whether people are protected, not rows.

    model : StatisticsModel
        What is learned from the sums.
    """

    columns: PublicColumns
    classes: np.ndarray
    grid: RowGrid
    by_group: bool
    model: StatisticsModel

    def sums(self, X: Any, y: Any, groups: ArrayLike | None = None) -> ExactSums:
        """Return exact sums over rows, **without noise**.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows; there may be none.

        y : array-like of shape (n_samples,)

        groups : array-like of shape (n_samples,) or None, default=None

        Returns
        -------
        sums : ExactSums

        Raises
        ------
        ValueError
            When they do not fit together, or have other columns.
        """
        with default_settings():
            X = read_rows(self.columns, X)
            labels = check_labels(y, X)
            check_kind(y, self.classes)
            rows = self.label(X, labels, groups)
            with sealed("The exact sum over rows"):
                return rows.sums(self.grid)

    def label(self, X: np.ndarray, y: np.ndarray, groups: ArrayLike | None) -> Any:
        """Return :class:`PrivateRows` of numbers and labels that were checked already."""
        persons = check_groups(groups, len(y), self.by_group)
        return PrivateRows.of_labels(X, y, self.classes, persons)

    def is_same(self, other: Self) -> bool:
        """Return whether sums by another plan may be added to sums by this one."""
        same = all(map(np.array_equal, self._facts(), other._facts()))
        return same and self.grid.is_same(other.grid)

    def _facts(self):
        columns = self.columns
        schema = None if columns.schema is None else columns.schema.to_json()
        names = None if columns.names is None else columns.names.tolist()
        return columns.sizes, columns.bounds, names, schema, self.classes, self.by_group


@dataclass(frozen=True, eq=False, repr=False)
class PrivateRows:
    """Rows whose class is one of a public list, on the owner's side of the wall.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        May be a memory map: no more than a chunk of it is copied.

    class_indices : ndarray of shape (n_samples,)
        −1 for a row that belongs to no class of the list, which is left out.

    n_classes : int

    sizes : ndarray of shape (n_samples,) or None, default=None
        Number of rows of the person of each row; None where each row is a separate record.

    persons : frozenset, default=frozenset()
        The people whose rows these are.
    """

    X: np.ndarray
    class_indices: np.ndarray
    n_classes: int
    sizes: np.ndarray | None = None
    persons: frozenset = frozenset()

    @classmethod
    def of_labels(cls, X, y, classes, groups=None):
        """Return rows with their classes.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        y : ndarray of shape (n_samples,)
            Labels, of which those that are not among the classes are left out.

        classes : ndarray of shape (n_classes,)
            The public list.

        groups : array-like of shape (n_samples,) or None, default=None
            Whose row each one is.

        Raises
        ------
        ValueError
            When a row has no group.
        """
        class_indices = Vocabulary(classes.tolist()).codes(y)
        if groups is None:
            return cls(X, class_indices, len(classes))
        sizes, persons = group_sizes(groups)
        return cls(X, class_indices, len(classes), sizes, frozenset(persons.tolist()))

    def chunks(self, grid):
        """Yield rows on a grid, their class indices, and their people's numbers of rows."""
        for X, class_indices, sizes in self.blocks(chunk_rows(grid.n_basis)):
            yield grid.quantise(X), class_indices, sizes

    def blocks(self, n):
        """Yield some of n rows each, their class indices, and their people's numbers of rows."""
        for start in range(0, len(self.X), n):
            here = start + np.flatnonzero(self.class_indices[start : start + n] >= 0)
            here = as_slice(here)
            sizes = None if self.sizes is None else self.sizes[here]
            yield self.X[here], self.class_indices[here], sizes

    def sums(self, grid):
        """Return exact sums of the rows on a grid."""
        zero = ExactSums.zero(self.n_classes, grid.n_basis)
        parts = (ExactSums.of_rows(Q, y, self.n_classes, k) for Q, y, k in self.chunks(grid))
        return replace(reduce(add, parts, zero), persons=self.persons)


@dataclass(frozen=True, eq=False, repr=False)
class SummedRows:
    """The exact sums of rows that were discarded, for models that need one pass.

    Attributes
    ----------
    exact : ExactSums
        On the grid of a plan.
    """

    exact: ExactSums

    def sums(self, grid):
        """Return the sums; the grid is that of the plan by which the rows were summed."""
        return self.exact


def read_private_rows(source, X, y, groups):
    """Return the public plan for private rows, and the rows as numbers with their classes.

    Parameters
    ----------
    source : DPStatisticsSource
        Its parameters say what is public. Gets ``n_features_in_`` and ``feature_names_in_``.

    X, y, groups
        What it is fitted to.

    Returns
    -------
    plan : SummationPlan

    rows : PrivateRows, or SummedRows where X is a Dask collection

    Raises
    ------
    ValueError
        When they do not fit together, or cannot be summed.
    """
    if is_dask(X):
        plan = one_pass_plan(source, *announced_columns(X))
        return plan, SummedRows(sum_dask(plan, X, y, groups))
    if source.encoder is not None:
        columns = _encoded_columns(source, X)
        X = encode_table(columns.schema, X)
    else:
        X = read_numbers(source, X)
        names = getattr(source, "feature_names_in_", None)
        columns = PublicColumns.of_array(X.shape[1], source.bounds, names, X.dtype)
    labels = check_labels(y, X)
    plan = _plan(source, columns, labels)
    check_kind(y, plan.classes)
    return plan, plan.label(X, labels, groups)


def one_pass_plan(source, n_features, names, dtype):
    """Return the public plan for rows that are summed in one pass."""
    columns = _announced_columns(source, n_features, names, dtype)
    plan = _plan(source, columns, None, in_parts=True)
    if not plan.model.one_pass:
        raise ValueError(
            "The 'model' parameter of DPStatisticsSource needs several passes over the rows, "
            "which an accumulator does not keep. Use model='linear', or fit to rows in memory or "
            "in a numpy.memmap."
        )
    return plan


def _plan(source, columns, y, *, in_parts=False):
    """Return the public plan for rows of these columns, which may arrive in parts."""
    classes = class_list(source.classes, columns.schema, y)
    if source.model != "auto":
        model = MODELS[source.model]
    elif columns.schema is not None and not in_parts:
        model = _CHOSEN
    else:
        model = MODELS["linear" if is_narrow(columns) else "mixtures"]
    grid = model.grid(columns, source.radius)
    return SummationPlan(columns, classes, grid, source.privacy_unit == "group", model)


def _encoded_columns(source, X):
    """Return the columns that the encoder makes of X; without a schema X says how many."""
    numbers = all(np.ndim(end) == 0 for end in source.bounds)
    if not numbers or list(source.bounds) != [0, 1]:
        raise ValueError(
            f"The 'bounds' parameter of DPStatisticsSource is {source.bounds!r:.100} beside an "
            "'encoder', whose schema has the bounds of each column. Leave out 'bounds'."
        )
    return encoded_columns(source.encoder, X)


def _announced_columns(source, n_features, names, dtype):
    """Return the public description of columns before any row is seen."""
    if source.encoder is not None:
        return _encoded_columns(source, None)
    if names is None and n_features is None:
        raise ValueError(
            "The 'n_features' parameter of DPStatisticsSource.accumulator is needed, or "
            "'feature_names': no row has been seen yet."
        )
    names = None if names is None else np.array(list(names), dtype=object)
    n_features = len(names) if n_features is None else n_features
    whole = isinstance(n_features, Integral) and int(n_features) > 0
    if not whole or (names is not None and len(names) != n_features):
        raise ValueError(
            "The 'n_features' parameter of DPStatisticsSource.accumulator must be a whole "
            "number above 0, that of 'feature_names' where these are given, got "
            f"{n_features!r}."
        )
    return PublicColumns.of_array(n_features, source.bounds, names, dtype)


def group_sizes(groups):
    """Return for each row the number of rows of its group, and the groups.

    Raises
    ------
    ValueError
        When a group is missing.

    Examples
    --------
    >>> sizes, persons = group_sizes(["ann", "bob", "ann"])
    >>> sizes.tolist(), persons.tolist()
    ([2, 1, 2], ['ann', 'bob'])
    """
    codes, persons = pd.factorize(np.asarray(groups))
    if codes.size and codes.min() < 0:
        raise ValueError(
            "The 'groups' parameter lacks the group of some rows. Name the person of each row, "
            "or leave such rows out."
        )
    return np.bincount(codes)[codes], persons


def read_rows(columns, X):
    """Return a chunk of rows as numbers, in known columns.

    Parameters
    ----------
    columns : PublicColumns

    X : array-like of shape (n_samples, n_features)
        There may be no rows.

    Returns
    -------
    X : ndarray of shape (n_samples, n_encoded)

    Raises
    ------
    ValueError
        When these are not the columns, or hold no finite numbers.
    """
    if columns.schema is not None:
        return encode_table(columns.schema, X)
    reader = BaseEstimator()
    X = read_numbers(reader, X, ensure_min_samples=0)
    names = getattr(reader, "feature_names_in_", None)
    known = names is None or np.array_equal(names, columns.names)
    if X.shape[1] != columns.n_features or not known:
        raise ValueError(
            f"X has other columns than the {columns.n_features} that were announced by "
            "DPStatisticsSource.accumulator. Give every chunk the same columns, in the same "
            "order, and list their names, where they have names, in 'feature_names'."
        )
    return X


def read_numbers(estimator, X, **settings):
    """Return rows of numbers, see :func:`validate_private_data`; errors say what tables need."""
    try:
        return validate_private_data(estimator, X, **settings)
    except (TypeError, ValueError) as error:
        if not ("NaN" in str(error) or "of type" in str(error)):
            raise
        raise type(error)(
            f"{error}\nRows of a table that has text or missing values need the 'encoder' "
            "parameter: encoder=TabularEncoder(schema)."
        ) from None


def check_labels(y, X):
    """Return labels of any type, one for each row; raise ValueError otherwise."""
    labels = _column(y)
    if labels is None or labels.ndim != 1:
        raise ValueError("y should be a 1d array: one label for each row.")
    if labels.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be real numbers or text.")
    if len(labels) != len(X):
        raise ValueError(
            "The 'X' and 'y' parameters have inconsistent numbers of samples. Give one label for "
            "each row."
        )
    return labels


def _column(y):
    """Return labels, or a single column of them, as an array; None where they are no column."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Pass y.ravel(), or the "
            "column itself.",
            DataConversionWarning,
        )
        y = y.iloc[:, 0] if hasattr(y, "iloc") else np.asarray(y)[:, 0]
    try:
        return as_elements(y.tolist() if isinstance(y, np.ma.MaskedArray) else y)
    except Exception:  # an error of y may quote private values
        return None


def check_kind(y, classes):
    """Raise ValueError where the type of labels differs from that of all classes.

    Text always passes: labels that are numbers may be stored as text.
    """
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if kind not in _KINDS or not len(y):
        return
    forms = set(map(canonical, classes.tolist()))
    possible = {"b": {0.0, 1.0}, "m": set(), "M": set()}.get(kind, forms)
    if not any(isinstance(form, float) for form in forms & possible):
        raise ValueError(
            f"The 'y' parameter holds {_KINDS[kind]}, and no class of the 'classes' parameter or "
            "schema is one of these, so that no label is one of the classes. Write them in one "
            "way, as in classes=[0, 1] for y = [0, 1, 0]."
        )


def check_groups(groups, n_samples, by_group):
    """Return IDs of people; raise ValueError where they are missing, or would have no effect."""
    if by_group != (groups is not None):
        unit, but, remedy = (
            ("group", "no 'groups' were given", "Say there whose each row is")
            if by_group
            else ("record", "'groups' were given", "Leave them out, or use privacy_unit='group'")
        )
        raise ValueError(
            f"DPStatisticsSource has privacy_unit={unit!r}, but {but}. {remedy}, so that all rows "
            "of a person are protected together."
        )
    if groups is None:
        return None
    persons = _column(groups)
    if persons is None or persons.shape != (n_samples,):
        raise ValueError("The 'groups' parameter must have one entry for each row, and no more.")
    _check_persons(persons)
    return person_ids(persons)


def _check_persons(persons):
    """Raise ValueError for IDs of types that can represent one person in several ways.

    Such as dates in other units, or floats of other widths: a person who returns in a later chunk
    would count as another one.
    """
    if persons.dtype.kind == "O":
        # NaN is a float, and missing; missing IDs are refused elsewhere.
        types = {type(p) for p in persons.tolist() if not (isinstance(p, float) and p != p)}
        types -= _MISSING
        text = all(issubclass(t, str) for t in types)
        whole = all(issubclass(t, int | np.integer) and t is not bool for t in types)
    else:
        text, whole = persons.dtype.kind == "U", persons.dtype.kind in "iu"
    if not (text or whole):
        raise ValueError(
            "The 'groups' parameter must hold whole numbers only, or text only. Convert IDs to "
            "text or whole numbers, the same way in all chunks. IDs that are missing in some rows "
            "make pandas read whole numbers as floats: leave such rows out, or read the column as "
            "text."
        )


def read_table(columns, X, y, *, keep_all):
    """Return a private table as numbers, and its labels.

    Parameters
    ----------
    columns : PublicColumns
        With a schema.

    X : DataFrame, or array-like of shape (n_samples, n_columns)
        The table.

    y : array-like of shape (n_samples,)
        Labels.

    keep_all : bool
        Whether rows whose label is no class of the schema are kept. They must be where labels are
        private, because the number of rows is public.

    Returns
    -------
    rows : ndarray of shape (n_samples, n_encoded)
        In [0, 1].

    labels : ndarray of shape (n_samples,)
        Classes of the schema, where it lists them and not all rows are kept.

    Raises
    ------
    ValueError
        When no label is a class of the schema, and rows of others are left out.
    """
    rows = encode_table(columns.schema, X)
    labels = check_labels(y, rows)
    if columns.schema.classes is None or keep_all:
        return rows, labels
    classes = np.array(columns.schema.classes)
    check_kind(y, classes)
    indices = PrivateRows.of_labels(rows, labels, classes).class_indices
    if not (indices >= 0).any():
        raise ValueError(
            f"No label in y is one of the classes of the schema, {classes.tolist()}. Spell them "
            "alike: rows of other labels are left out."
        )
    return rows[indices >= 0], classes[indices[indices >= 0]]
