"""Private rows with their classes, asked for chunk by chunk."""

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import pandas as pd

from skdp.source._sums import ExactSums, chunk_rows
from skdp.tabular import Vocabulary
from skdp.utils._linalg import as_slice


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
        Rows of the person whose row this is; None where each row is a record of its own.

    persons : frozenset, default=frozenset()
        Whose rows these are.
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
        """Yield rows on a grid, their class indices, and their persons' numbers of rows."""
        n = chunk_rows(grid.n_basis)
        for start in range(0, len(self.X), n):
            here = start + np.flatnonzero(self.class_indices[start : start + n] >= 0)
            here = as_slice(here)
            sizes = None if self.sizes is None else self.sizes[here]
            yield grid.quantise(self.X[here]), self.class_indices[here], sizes

    def sums(self, grid):
        """Return exact sums of the rows on a grid."""
        zero = ExactSums.zero(self.n_classes, grid.n_basis)
        parts = (ExactSums.of_rows(Q, y, self.n_classes, k) for Q, y, k in self.chunks(grid))
        return replace(reduce(add, parts, zero), persons=self.persons)


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
            "The 'groups' parameter lacks the group of some rows. Say of each row whose it is, "
            "or leave such rows out."
        )
    return np.bincount(codes)[codes], persons
