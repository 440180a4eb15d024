"""All that is public about rows that are summed, and that two sums of them must share."""

from dataclasses import dataclass

import numpy as np

from skdp.source._columns import PublicColumns
from skdp.source._grid import RowGrid
from skdp.source._preparation import check_kind, check_labels, label_rows, read_rows
from skdp.source._private_fit import default_settings, sealed


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
