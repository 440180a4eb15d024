"""What is public about columns: their names and bounds, and which values they can take."""

from dataclasses import dataclass

import numpy as np

from skdp.release import BasisFunctions
from skdp.tabular import Schema, fitted_encoder

# Least width of a column and largest magnitude, whose squares float32 can tell from 0 and hold
# (rule of thumb).
_SMALLEST, _LARGEST = 1e-12, 1e12


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
