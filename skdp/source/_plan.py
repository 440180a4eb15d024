"""What is public about rows: columns, classes, and how they are summed."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets

from skdp.privacy import PrivacyLeakWarning
from skdp.release import BasisFunctions
from skdp.source._integers import RowGrid
from skdp.source._private_fit import default_settings, sealed
from skdp.source._private_rows import check_kind, check_labels, label_rows, read_rows
from skdp.tabular import Schema, TabularEncoder, ambiguity, canonical, fitted_encoder
from skdp.utils._labels import natural_labels
from skdp.utils._warnings import warn

# Least width of a column and largest magnitude, whose squares float32 can tell from 0 and hold
# (rule of thumb).
_SMALLEST, _LARGEST = 1e-12, 1e12
# Of the widest numbers that a release can hold.
_BYTES = 8


@dataclass(frozen=True)
class PublicColumns:
    """Columns of rows as they are summed, known without a look at any row.

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
        cls, n_features, bounds, names=None, dtype=np.float64, owner="DPStatisticsSource"
    ):
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
    def of_encoder(cls, encoder):
        """Return the columns that a fitted :class:`TabularEncoder` makes."""
        names = encoder.get_feature_names_out()
        bounds = np.repeat([[0.0], [1.0]], len(names), axis=1)
        return cls(encoder.column_kinds_, bounds, names, np.dtype(np.float64), encoder.schema_)

    @classmethod
    def of_schema(cls, schema):
        """Return the columns that an encoder of this schema will make."""
        return cls.of_encoder(fitted_encoder(schema))

    @property
    def n_inputs(self):
        """Return the number of columns before they are encoded."""
        return self.n_features if self.schema is None else len(self.schema.columns)

    @property
    def input_names(self):
        """Return the names of these, or None."""
        return self.names if self.schema is None else np.array(self.schema.names, dtype=object)

    @property
    def n_features(self):
        """Return the number of columns."""
        return len(self.sizes)

    def basis(self, orders):
        """Return public terms of the columns, with cosines of these orders."""
        low, high = self.bounds
        return BasisFunctions.of_columns(self.sizes, low, high, orders=orders)


def encoded_columns(encoder, X=None):
    """Return the columns that an encoder makes of a table.

    Parameters
    ----------
    encoder : TabularEncoder, Schema, mapping, str or path-like
        The ``encoder`` parameter of a source.

    X : DataFrame or array-like of shape (n_samples, n_features) or None, default=None
        Says how many columns there are, where the encoder has no schema.

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
            f"numbers or all text, got {labels!r:.200}. None and NaN are none."
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
    return np.array(labels)


def _alike(labels):
    """Return whether labels are all text, or all real numbers that a release can hold.

    An array of both would turn all into text, which no number in y equals.
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
    """A public way from rows, as they come, to exact sums.

    Attributes
    ----------
    columns : PublicColumns

    classes : ndarray of shape (n_classes,)

    grid : RowGrid

    by_group : bool
        Whether persons are protected, not rows.
    """

    columns: PublicColumns
    classes: np.ndarray
    grid: RowGrid
    by_group: bool

    def sums(self, X, y, groups=None):
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

    def label(self, X, y, groups):
        """Return :class:`PrivateRows` of numbers and labels that were checked already."""
        return label_rows(X, y, groups, self.classes, self.by_group)

    def is_same(self, other):
        """Return whether sums by another plan may be added to sums by this one."""
        same = all(map(np.array_equal, self._facts(), other._facts()))
        return same and self.grid.is_same(other.grid)

    def _facts(self):
        columns = self.columns
        schema = None if columns.schema is None else columns.schema.to_json()
        names = None if columns.names is None else columns.names.tolist()
        return columns.sizes, columns.bounds, names, schema, self.classes, self.by_group
