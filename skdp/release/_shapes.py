"""Shape functions: contributions of columns to the scores, by public bins of their values."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skdp.release._basis import BasisFunctions
from skdp.release._parts import Part, array, check_shape, require
from skdp.tabular import Schema

# Bins of a numeric column: the middles of the outer two are its bounds. On adult at ε = 1 and 4
# 16, 32 and 64 of them are alike, as neighbors are tied (rule of thumb).
_N_BINS = 33
# Bins over which the shape of a column of numbers is smoothed (adult at ε = 1, with 2, 4 and 8:
# AUC .910, .910 and .908).
_SMOOTH = 3.0
# Of a score in a release: exp of it is a number.
_LARGEST_VALUE = 700.0
# Largest number of bins in a file.
_MOST_BINS = 200_000
# Ridge penalty, in rows, when the other columns replace those that are left out (rule of thumb).
_RIDGE = 20.0
# Synthetic rows by which columns that are left out are replaced (rule of thumb).
_N_ROWS = 4000
# Relative size of singular values that count in regressions on basis functions in bins.
_PRECISION = 1e-8
# What is public, and equal in releases that are merged.
_PUBLIC = ("start", "width", "one_hot", "n_bins", "low", "high")


@dataclass(frozen=True)
class ShapeFunctions(Part):
    """Scores that are sums of functions of single columns, constant within public bins.

    Each column of the table has one bin for each row: a category that of its indicator, with one
    more bin for rows of no category; a number the nearest of equally spaced places
    between its bounds, with one more bin for missing values where there is an indicator for them.
    The functions are added to the linear scores of a release.

    Attributes
    ----------
    start : ndarray of shape (n_shapes,)
        First encoded column of each column.

    width : ndarray of shape (n_shapes,)
        Number of its encoded columns.

    one_hot : ndarray of shape (n_shapes,)
        1 where these are indicators of categories, 0 where they are a value, which may be
        followed by an indicator of missing values.

    n_bins : ndarray of shape (n_shapes,)

    low, high : ndarray of shape (n_shapes,)
        Public bounds of the value.

    values : ndarray of shape (n_classes, n_bins of all)
        Scores, of sum zero over the classes.

    deviations : ndarray of shape (n_bins of all,)
        Standard deviation of the noise in each score, at most.

    intercepts : ndarray of shape (n_classes,)
        Expectations of the columns that were left out.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import ShapeFunctions
    >>> shapes = ShapeFunctions.of_columns(2, [0, 0], low=[0, 0], high=[1, 10])
    >>> shapes.codes(np.array([[0.0, 10.0], [0.5, -3.0]])).tolist()
    [[0, 32], [16, 0]]
    """

    start: np.ndarray = array("s", "i")
    width: np.ndarray = array("s", "i")
    one_hot: np.ndarray = array("s", "i")
    n_bins: np.ndarray = array("s", "i")
    low: np.ndarray = array("s", "f")
    high: np.ndarray = array("s", "f")
    values: np.ndarray = array("K b", "f", below=_LARGEST_VALUE)
    deviations: np.ndarray = array("b", "f", least=0, below=_LARGEST_VALUE)
    intercepts: np.ndarray = array("K", "f", below=_LARGEST_VALUE)

    @classmethod
    def of_columns(
        cls, n_classes: int, group_sizes: ArrayLike, low: ArrayLike, high: ArrayLike
    ) -> Self:
        """Return functions that are zero, of the columns of an array.

        Parameters
        ----------
        n_classes : int

        group_sizes : array-like of shape (n_columns,)
            0 for a numeric column, 1 for one of two values.

        low, high : array-like of shape (n_columns,)
            Public bounds.
        """
        n_bins = np.where(np.asarray(group_sizes) == 0, _N_BINS, 3)
        ends = (np.asarray(bounds, dtype=np.float64) for bounds in (low, high))
        start, width, one_hot = _places(None, len(n_bins))
        return cls._zero(n_classes, start, width, one_hot, n_bins, *ends)

    @classmethod
    def of_schema(cls, n_classes: int, schema: Schema) -> Self:
        """Return functions that are zero, of the columns that a schema encodes.

        Of an ordered category with m ranks there are 2m − 1 bins: a missing value without an
        indicator is encoded as the middle, which may lie between two ranks.
        """
        start, width, one_hot = _places(schema, 0)
        on_scale = [
            2 * len(column.categories) - 1 if hasattr(column, "categories") else _N_BINS
            for column in schema.columns
        ]
        n_bins = np.where(one_hot == 1, width + 1, np.array(on_scale) + (width - 1))
        ends = np.zeros(len(start)), np.ones(len(start))
        return cls._zero(n_classes, start, width, one_hot, n_bins, *ends)

    @classmethod
    def _zero(cls, n_classes, start, width, one_hot, n_bins, low, high):
        n = n_bins.sum()
        zeros = np.zeros((n_classes, n)), np.zeros(n), np.zeros(n_classes)
        return cls(start, width, one_hot, n_bins, low, high, *zeros)

    @property
    def offsets(self) -> np.ndarray:
        """Number of the first bin of each column, followed by the number of all bins."""
        return np.concatenate([[0], np.cumsum(self.n_bins)])

    def codes(self, X: np.ndarray) -> np.ndarray:
        """Return the bin of each column for each row, counted from zero.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_shapes), dtype uint16
        """
        codes = np.empty((len(X), len(self.start)), dtype=np.uint16)
        for j, (start, width, one_hot) in enumerate(
            zip(self.start, self.width, self.one_hot, strict=True)
        ):
            block = X[:, start : start + width]
            if one_hot:
                chosen = block.argmax(axis=1)
                codes[:, j] = np.where(block.max(axis=1) > 0.5, chosen, width)
                continue
            last = self.n_bins[j] - width  # a missing value has a bin beyond it
            place = (block[:, 0].astype(np.float64) - self.low[j]) / (self.high[j] - self.low[j])
            codes[:, j] = np.rint(np.clip(place, 0.0, 1.0) * last)
            if width > 1:
                codes[block[:, 1] > 0.5, j] = last + 1
        return codes

    def added(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the sum over the columns of values by bin, (n_samples, n_classes).

        Column by column, so that the rounding of a row's sum depends on that row alone.
        """
        total = np.zeros((len(codes), len(values)))
        for j, first in enumerate(self.offsets[:-1]):
            total += values.T[first + codes[:, j].astype(np.int64)]
        return total

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the contributions of the columns to the scores, (n_samples, n_classes)."""
        return self.intercepts + self.added(self.codes(X), self.values)

    def smoothed(self, values: np.ndarray) -> np.ndarray:
        """Return sums by bin as shapes: of a scale, with those of neighboring bins.

        Parameters
        ----------
        values : ndarray of shape (..., n_bins of all)
        """
        smooth = values.astype(np.float64)
        for j, first in enumerate(self.offsets[:-1]):
            n = self._n_on_scale(j)
            smooth[..., first : first + n] = values[..., first : first + n] @ _kernel(n)
        return smooth

    def _n_on_scale(self, j):
        """Return how many of a column's bins lie on a scale."""
        if self.one_hot[j]:
            return 0
        return int(self.n_bins[j] - (self.width[j] - 1))

    def smoothed_deviations(self) -> np.ndarray:
        """Return the root of the sum of squared weights of the bins in :meth:`smoothed`."""
        norms = np.ones(self.offsets[-1])
        for j, first in enumerate(self.offsets[:-1]):
            n = self._n_on_scale(j)
            norms[first : first + n] = np.sqrt((_kernel(n) ** 2).sum(axis=0))
        return norms

    def effects(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of one column and their deviations, by bin.

        Parameters
        ----------
        j : int
            Number of the column.
        """
        bins = slice(self.offsets[j], self.offsets[j + 1])
        return self.values[:, bins], self.deviations[bins]

    def has_bins_of(self, other: Self) -> bool:
        """Return whether the other has the same columns and bins, so that values add."""
        return all(np.array_equal(getattr(self, k), getattr(other, k)) for k in _PUBLIC)

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless these are functions of the columns of a release."""
        # Each column once, in order: a second function of a column would count it twice.
        places = _places(release.encoder, release.n_features)
        for key, expected in zip(("start", "width", "one_hot"), places, strict=True):
            same = np.array_equal(getattr(self, key), expected)
            require(same, f"{name}.{key}", "must have one function of each column, in their order")
        least = self.width + 1
        most = np.where(self.one_hot == 1, self.width + 1, 2**15)
        fits = (self.n_bins >= least).all() and (self.n_bins <= most).all()
        fits = fits and self.n_bins.sum() <= _MOST_BINS
        require(fits, f"{name}.n_bins", "must be those of the columns")
        check_shape(self.deviations, (int(self.n_bins.sum()),), f"{name}.deviations")
        wide = np.isfinite(self.high - self.low).all() and (self.low < self.high).all()
        require(wide, f"{name}.low", f"must be below {name}.high")

    def restrict(self, columns: np.ndarray, release: Any) -> Self | None:
        """Return the functions of some of the columns.

        The contributions of the others are replaced by their regression on these, in synthetic
        rows of the release, which its guarantee covers.
        """
        new = np.full(release.n_features, -1)
        new[columns] = np.arange(len(columns))
        stays = [j for j, s in enumerate(self.start) if new[s] >= 0]
        order = np.array(sorted(stays, key=lambda j: new[self.start[j]]), dtype=int)
        if not len(order):
            return None
        bins = np.concatenate([np.arange(*self.offsets[j : j + 2]) for j in order])
        per_column = ("width", "one_hot", "n_bins", "low", "high")
        kept = replace(
            self,
            start=new[self.start[order]],
            values=self.values[:, bins],
            deviations=self.deviations[bins],
            **{key: getattr(self, key)[order] for key in per_column},
        )
        if len(order) == len(self.start):
            return kept
        rows = np.asarray(release.sample(_N_ROWS, random_state=0)[0], dtype=np.float64)
        lost = self.added(self.codes(rows), self.values)
        codes = self.codes(rows)[:, order]
        lost -= kept.added(codes, kept.values)
        return kept._with(codes, lost)

    def _with(self, codes, scores):
        """Return functions that also approximate other scores of rows by sums over columns."""
        indicators = np.zeros((len(codes), self.offsets[-1]))
        for j, first in enumerate(self.offsets[:-1]):
            indicators[np.arange(len(codes)), first + codes[:, j].astype(np.int64)] = 1.0
        mean = scores.mean(axis=0)
        gram = indicators.T @ indicators + _RIDGE * np.eye(indicators.shape[1])
        more = np.linalg.solve(gram, indicators.T @ (scores - mean)).T
        return replace(self, values=self.values + more, intercepts=self.intercepts + mean)

    def less_linear(self, basis: BasisFunctions, share: float) -> Self:
        """Return functions without a share of what linear scores of basis functions could add.

        Parameters
        ----------
        basis : BasisFunctions

        share : float
            From 0 to 1.
        """
        encoded = basis.encode(self.representatives(len(basis.linear)))
        encoded = encoded[:-1] - encoded[-1]
        values = self.values.copy()
        for j, (start, width) in enumerate(zip(self.start, self.width, strict=True)):
            bins = slice(self.offsets[j], self.offsets[j + 1])
            of_column = (basis.column >= start) & (basis.column < start + width)
            design = np.column_stack([np.ones(self.n_bins[j]), encoded[bins, of_column]])
            fitted = np.linalg.lstsq(design, values[:, bins].T, rcond=_PRECISION)[0]
            values[:, bins] -= share * (design @ fitted).T
        return replace(self, values=values, intercepts=(1 - share) * self.intercepts)

    def representatives(self, n_features: int) -> np.ndarray:
        """Return a row of each bin of each column, whose other columns are zero; and such a one.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        rows : ndarray of shape (n_bins of all + 1, n_features)
        """
        rows = np.zeros((self.offsets[-1] + 1, n_features))
        for j, first in enumerate(self.offsets[:-1]):
            start, n = self.start[j], int(self.n_bins[j])
            block = rows[first : first + n]
            if self.one_hot[j]:
                block[np.arange(n - 1), start + np.arange(n - 1)] = 1.0
                continue
            places = self._n_on_scale(j)
            block[:places, start] = np.linspace(self.low[j], self.high[j], places)
            if places < n:  # missing
                block[-1, start : start + 2] = (self.low[j] + self.high[j]) / 2, 1.0
        return rows

    def contents(self) -> str:
        """Return what these are, in a few words."""
        return f"shape functions of {len(self.start)} columns in {self.offsets[-1]} bins"


def _places(schema, n_features):
    """Return first encoded column, width and kind of each column of a table, or of an array."""
    if schema is None:
        ones, zeros = np.ones(n_features, dtype=int), np.zeros(n_features, dtype=int)
        return np.arange(n_features), ones, zeros
    blocks = schema.encoded_slices
    start = np.array([block.start for block in blocks])
    width = np.array([block.stop - block.start for block in blocks])
    return start, width, np.array([int(column.is_one_hot) for column in schema.columns])


def merged_shapes(models, statistics):
    """Return shape functions with which merged linear scores become the mean of all scores."""
    # Scores of models, linear ones with shape functions or without, are sums over columns; so is
    # their mean, weighted by noisy numbers of rows. In bins it is exact. None where none has any.
    like = next((model.shapes for model in models if model.shapes is not None), None)
    if like is None:
        return None
    rows = like.representatives(len(statistics.basis.linear))
    weights = np.array([model.statistics.sums.row_counts.sum() for model in models])
    weights = weights / weights.sum()
    scores = sum(
        w * _linear_by_bin(model.statistics, rows)
        for w, model in zip(weights, models, strict=True)
    )
    scores = scores - _linear_by_bin(statistics, rows)
    values, intercepts = scores[:, :-1], scores[:, -1]
    variances = np.zeros(len(like.deviations))
    for weight, model in zip(weights, models, strict=True):
        if model.shapes is not None:
            values = values + weight * model.shapes.values
            intercepts = intercepts + weight * model.shapes.intercepts
            variances += (weight * model.shapes.deviations) ** 2
    return replace(like, values=values, intercepts=intercepts, deviations=np.sqrt(variances))


def _linear_by_bin(statistics, rows):
    """Return the contribution of each bin to linear scores, then those of the row of zeros."""
    if statistics.kind == "number":
        scores = np.outer([-0.5, 0.5], statistics.regression.predict(rows))
    else:
        scores = statistics.linear.scores(rows).T
    scores[:, :-1] -= scores[:, -1:]
    return scores


def _kernel(n):
    """Return smoothing weights between n neighboring bins, of shape (n, n)."""
    places = np.arange(n)
    return np.exp(-np.abs(places[:, np.newaxis] - places) / _SMOOTH)
