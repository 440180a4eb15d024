"""Encoding of rows of mixed columns as numbers in [0, 1] by a public schema."""

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skdp.tabular._columns import NumericColumn
from skdp.tabular._schema import Schema, as_schema
from skdp.utils._frames import as_frame, named_like
from skdp.utils._sklearn import check_feature_names_in, fit_context
from skdp.utils._validation import check_array, check_table, listed, validate_data
from skdp.utils._warnings import warn


class TabularEncoder(TransformerMixin, BaseEstimator):
    """Encode rows of mixed columns as numbers in [0, 1], by a public schema.

    ``fit`` learns nothing from the rows; it reads the schema and checks that the frame has its
    columns. Each encoded row depends on one row and on the schema only, so a guarantee for
    encoded rows holds for the rows. Values are never refused, because a refusal would reveal
    them: numbers are clipped to their public bounds; text that is not a number, and values that
    are not listed, count as missing.

    A numeric column becomes a position between its bounds, on a linear or logarithmic scale. Two
    categories become one binary column, more become one indicator each, and ordered categories
    become one column of ranks. A missing value has the position 0.5, and an indicator if the
    schema allows missing values. See
    :class:`~skdp.tabular.NumericColumn` and :class:`~skdp.tabular.CategoryColumn`.

    Parameters
    ----------
    schema : Schema, mapping, str, path-like or None, default=None
        The public schema: a :class:`~skdp.tabular.Schema`, a mapping (see
        :meth:`Schema.from_mapping() <skdp.tabular.Schema.from_mapping>`), a JSON string or the
        path of a JSON file. None means numeric columns in [0, 1], however many are given.

    Attributes
    ----------
    schema_ : Schema
        The validated schema; ``schema_.classes`` are the classes of the label.

    column_kinds_ : ndarray of shape (n_encoded,)
        For each encoded column 0 if it is numeric, 1 if it is binary or the indicator of a
        missing value, and k >= 2 if it is one of k indicators of one category.

    column_origins_ : ndarray of shape (n_encoded,)
        For each encoded column the name of the column that it encodes.

    row_norm_bound_ : float
        Largest Euclidean norm that an encoded row can have.

    elements_per_change_ : int
        Largest number of elements of an encoded row that change with one value: 2 with
        indicators, otherwise 1. An element-wise guarantee for the encoded rows covers one value
        of the frame only as a guarantee for so many elements.

    n_features_in_ : int
        Number of columns of the schema.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names; without a schema only if the columns have names.

    See Also
    --------
    skdp.tabular.schema_from : Drafts a schema from public rows.
    DPStatisticsSource : Takes an encoder, and protects whole records of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from skdp import TabularEncoder
    >>> schema = {
    ...     "age": {"type": "numeric", "low": 20, "high": 100},
    ...     "ward": {"type": "category", "categories": ["A", "B", "C"], "missing": True},
    ... }
    >>> encoder = TabularEncoder(schema).set_output(transform="pandas")
    >>> encoder.fit_transform(pd.DataFrame({"ward": ["B", None], "age": [60, 120]}))
       age  ward_A  ward_B  ward_C  ward_missing
    0  0.5     0.0     1.0     0.0           0.0
    1  1.0     0.0     0.0     0.0           1.0
    >>> encoder.column_kinds_, encoder.elements_per_change_
    (array([0, 4, 4, 4, 4]), 2)
    """

    _parameter_constraints: dict = {"schema": [Schema, Mapping, str, os.PathLike, None]}

    schema_: Schema
    column_kinds_: np.ndarray
    column_origins_: np.ndarray
    row_norm_bound_: float
    elements_per_change_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(self, schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None):
        self.schema = schema

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike | pd.DataFrame, y: Any = None) -> Self:
        """Read the schema and check the columns.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_features)
            Its values are not used. Columns are matched by name, in any order; others
            are left out, with a warning. An array is accepted if every column of the schema
            is numeric.

        y : None
            Ignored.

        Returns
        -------
        self : TabularEncoder

        Raises
        ------
        ValueError
            If the schema is invalid, or the frame lacks columns.

        Warns
        -----
        UserWarning
            If the frame has columns that the schema does not describe.
        """
        if self.schema is None:
            n_features = _validated(self, X).shape[1]
            names = getattr(self, "feature_names_in_", range(n_features))
            columns = [n if isinstance(n, str) else f"x{n}" for n in names]
            schema = Schema(tuple(NumericColumn(name, 0.0, 1.0) for name in columns))
        else:
            schema = as_schema(self.schema)
            _columns(X, schema)
            self.n_features_in_ = len(schema.columns)
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.schema_ = schema
        self.column_kinds_ = np.array([kind for c in schema.columns for kind in c.kinds])
        origins = [c.name for c in schema.columns for _ in c.kinds]
        self.column_origins_ = np.array(origins, dtype=object)
        self.row_norm_bound_ = float(np.sqrt(sum(c.squared_norm_bound for c in schema.columns)))
        self.elements_per_change_ = 1 + any(c.missing or c.is_one_hot for c in schema.columns)
        return self

    def transform(self, X: ArrayLike | pd.DataFrame) -> np.ndarray:
        """Encode rows.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_features)
            As in :meth:`fit`.

        Returns
        -------
        encoded : ndarray of shape (n_samples, n_encoded)
            In [0, 1]; float32 if all columns are float32, otherwise float64.

        Raises
        ------
        ValueError
            If the frame lacks columns.

        Warns
        -----
        UserWarning
            If the frame has columns that the schema does not describe.

        Examples
        --------
        >>> import pandas as pd
        >>> from skdp import TabularEncoder
        >>> frame = pd.DataFrame({"age": [20, 60, 130]})
        >>> encoder = TabularEncoder({"age": {"type": "numeric", "low": 20, "high": 100}})
        >>> encoder.fit(frame).transform(frame)
        array([[0. ],
               [0.5],
               [1. ]])
        """
        check_is_fitted(self)
        if self.schema is None:
            X = _validated(self, X, reset=False)
        columns = _columns(X, self.schema_)
        single = all(getattr(values, "dtype", None) == np.float32 for values in columns)
        return _encoded(columns, self.schema_).astype(np.float32 if single else np.float64)

    def inverse_transform(self, X: ArrayLike | pd.DataFrame) -> pd.DataFrame:
        """Decode encoded or synthetic rows to values that the schema allows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_encoded)
            Any finite numbers: they are clipped to [0, 1], the largest indicator decides the
            category, and an indicator above 0.5 makes a value missing. Without an indicator, a
            missing value is decoded to a valid one.

        Returns
        -------
        frame : DataFrame of shape (n_samples, n_features)
            Numbers within their bounds, and categories as text.

        Raises
        ------
        ValueError
            If X has another number of columns, or contains anything but finite numbers.

        Examples
        --------
        >>> import pandas as pd
        >>> from skdp import TabularEncoder
        >>> schema = {"ward": {"type": "category", "categories": ["A", "B", "C"]}}
        >>> encoder = TabularEncoder(schema).fit(pd.DataFrame({"ward": ["A"]}))
        >>> encoder.inverse_transform([[0.1, 0.8, 0.3]])["ward"].tolist()
        ['B']
        """
        check_is_fitted(self)
        index = X.index if isinstance(X, pd.DataFrame) else None
        X = check_array(X)
        n_encoded = len(self.column_kinds_)
        if X.shape[1] != n_encoded:
            raise ValueError(
                f"X has {X.shape[1]} columns, but {n_encoded} encoded ones are expected; pass "
                "the columns of get_feature_names_out()."
            )
        places = zip(self.schema_.columns, self.schema_.encoded_slices, strict=True)
        values = {column.name: column.decode(X[:, place]) for column, place in places}
        return pd.DataFrame(values, index=index)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns if they have none; otherwise checked.

        Returns
        -------
        names : ndarray of shape (n_encoded,)

        Raises
        ------
        ValueError
            If the names differ from :meth:`fit`.

        Examples
        --------
        >>> import pandas as pd
        >>> from skdp import TabularEncoder
        >>> schema = {"ward": {"type": "category", "categories": ["A", "B", "C"]}}
        >>> encoder = TabularEncoder(schema).fit(pd.DataFrame({"ward": ["A"]}))
        >>> encoder.get_feature_names_out().tolist()
        ['ward_A', 'ward_B', 'ward_C']
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        if self.schema is None:
            return names
        return np.array(self.schema_.encoded_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = self.schema is not None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def fitted_encoder(schema):
    """Return an encoder fitted to a schema of any form, without rows."""
    schema = as_schema(schema)
    return TabularEncoder(schema).fit(pd.DataFrame(columns=list(schema.names)))


def encode_table(schema, X):
    """Return rows encoded by a schema; each depends on its row and the schema only."""
    # As :meth:`TabularEncoder.transform`, but independent of the types of the columns and of
    # scikit-learn's configured output.
    return _encoded(_columns(X, schema), schema)


def _encoded(columns, schema):
    """Return encoded columns, given in the order of the schema."""
    # Filled column by column.
    encoded = np.empty((len(columns[0]), len(schema.encoded_names)), order="F")
    for column, place, values in zip(schema.columns, schema.encoded_slices, columns, strict=True):
        encoded[:, place] = column.encode(values)
    return encoded


def _columns(X, schema):
    """Return the columns of the schema, in its order, with their own types."""
    X = as_frame(X)
    columns = _by_name(X, schema) if hasattr(X, "columns") else _by_position(X, schema)
    refuse_other_types(dict(zip(schema.names, columns, strict=True)))
    return columns


def refuse_other_types(columns):
    """Raise ValueError if columns hold dates, durations or complex numbers."""
    others = [name for name, values in columns.items() if _is_other(values)]
    if others:
        raise ValueError(
            f"X has dates, durations or complex numbers in the columns {listed(others)}. Convert "
            "them to real numbers, such as days since a public date."
        )


def _is_other(column):
    """Return whether a column holds dates, durations or complex numbers, by its type alone."""
    kinds = {getattr(column.dtype, "kind", "O"), np.asarray(column[:0]).dtype.kind}
    return bool(kinds & set("cmM"))


def _by_name(X, schema):
    """Return the columns of a frame that the schema names."""
    X = named_like(X, schema.names)
    given = list(X.columns)
    lacking = [name for name in schema.names if name not in given]
    if lacking:
        raise ValueError(
            f"X lacks the columns {listed(lacking)} of the schema. Add or rename them, or remove "
            "them from the schema."
        )
    twice = [name for name in schema.names if given.count(name) > 1]
    if twice:
        raise ValueError(f"X has the columns {listed(twice)} more than once. Keep one of each.")
    extra = [name for name in given if name not in set(schema.names)]
    if extra:
        warn(f"X has columns that the schema does not describe, {listed(extra)}; left out.")
    # Only methods that all libraries have, so that a frame of polars works without pyarrow too.
    return [X[name] for name in schema.names]


def _by_position(X, schema):
    """Return the columns of an array in the order of the schema."""
    if not all(isinstance(column, NumericColumn) for column in schema.columns):
        raise ValueError(
            "X must be a DataFrame with named columns, because the schema has categories. Pass "
            "pandas.DataFrame(X, columns=names)."
        )
    if sparse.issparse(X):
        raise TypeError("Sparse data was passed, but dense data is required. Pass X.toarray().")
    # No element of a list may determine the type of the others.
    nested = isinstance(X, list | tuple)
    X = np.asarray(X, dtype=object) if nested else np.asarray(X)
    check_table(X, min_samples=0)
    if X.shape[1] != len(schema.columns):
        raise ValueError(
            f"X has {X.shape[1]} features, but TabularEncoder is expecting "
            f"{len(schema.columns)} features as input. Pass the columns of the schema."
        )
    return list(X.T)


def _validated(encoder, X, reset=True):
    """Return an array of numbers, as scikit-learn does, without a value in any error."""
    X = as_frame(X)
    check_table(X)
    try:
        return validate_data(encoder, X, reset=reset, ensure_all_finite=False)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
    raise ValueError(
        "Input X contains text that is not a number, and TabularEncoder has no schema. Describe "
        "the columns in the 'schema' parameter."
    )
