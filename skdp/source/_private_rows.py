"""Private rows: what is public about them, and how they are read, labeled and summed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral
from operator import add
from tempfile import TemporaryFile
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator, clone

from skdp.privacy import PrivacyGuarantee
from skdp.release import BasisFunctions, Release
from skdp.source._chunked_rows import announced_columns, chunks_in_turn, sum_dask
from skdp.source._door import (
    check_labels,
    classes_of,
    group_sizes,
    is_dask,
    listed_classes,
    read_numbers,
    read_outcome,
    read_persons,
)
from skdp.source._gradient_model import EncodedRows, GradientModel
from skdp.source._integers import (
    MAX_ROWS,
    WEIGHT_GRID,
    ExactSums,
    RowGrid,
    chunk_rows,
    integer_weights,
)
from skdp.source._linear_model import LinearModel, StatisticsModel, is_narrow
from skdp.source._logistic_model import LogisticModel
from skdp.source._mixtures_model import MixturesModel
from skdp.source._publication import default_settings, sealed
from skdp.tabular import (
    ClassOutcome,
    Outcome,
    Schema,
    TabularEncoder,
    encode_table,
    fitted_encoder,
    outcome_from,
)
from skdp.utils._frames import as_frame
from skdp.utils._linalg import as_slice
from skdp.utils._validation import LARGEST, SMALLEST, listed
from skdp.utils._warnings import warn

MODELS: dict[str, StatisticsModel] = {
    "linear": LinearModel(),
    "gradients": GradientModel(),
    "mixtures": MixturesModel(),
    "logistic": LogisticModel(),
}
# Those of outcomes other than classes.
_NARROW_MODELS = {name: MODELS[name] for name in ("linear", "gradients")}


@dataclass(frozen=True)
class PublicColumns:
    """Public description of the columns that are summed.

    Attributes
    ----------
    sizes : ndarray of shape (n_features,)
        0 for a numeric column, 1 for one of two values, k ≥ 2 for one of k indicators.

    bounds : ndarray of shape (2, n_features) or None

    names : ndarray of shape (n_features,) or None

    dtype : dtype
        float32 or float64.

    schema : Schema or None
        The schema that encoded the table.
    """

    sizes: np.ndarray
    bounds: Any
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
        """Return numeric columns, between bounds if given; errors name the parameter's owner."""
        sizes = np.zeros(n_features, dtype=np.int64)
        if bounds is None:  # of noisy rows, which need none
            return cls(sizes, None, names, np.dtype(dtype))
        try:
            low, high = (np.broadcast_to(np.asarray(b, np.float64), n_features) for b in bounds)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The 'bounds' parameter of {owner} must be a pair (low, high) of "
                f"numbers, or of one number for each of {n_features} features. Say what is "
                "publicly known of the columns, such as bounds=(0, 255)."
            ) from error
        bounds, widths = np.stack([low, high]), high - low
        usual = widths.min() > SMALLEST and np.abs(bounds).max() < LARGEST
        if not (np.isfinite(bounds).all() and usual):
            raise ValueError(
                f"The 'bounds' parameter of {owner} must be finite, low < high, of "
                f"magnitudes below {LARGEST:g} and widths above {SMALLEST:g}, got widths from "
                f"{widths.min():g} to {widths.max():g}. Leave out constant columns, and use units "
                "in which the others are about 1."
            )
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64):
            raise ValueError(
                f"The 'dtype' parameter of DPStatisticsSource.accumulator must be float32 or "
                f"float64, got {dtype}. Rows of other types become float64."
            )
        return cls(sizes, bounds, names, dtype)

    @classmethod
    def of_encoder(cls, encoder: Any, X: Any = None) -> Self:
        """Return the columns that an encoder makes of a table; without a schema X says how many.

        The encoder may be a schema in any form.
        """
        if not isinstance(encoder, TabularEncoder):
            encoder = TabularEncoder(encoder)
        without = encoder.schema is None and X is not None
        fitted = clone(encoder).fit(X) if without else fitted_encoder(encoder.schema)
        names = fitted.get_feature_names_out()
        bounds = np.repeat([[0.0], [1.0]], len(names), axis=1)
        return cls(fitted.column_kinds_, bounds, names, np.dtype(np.float64), fitted.schema_)

    @property
    def n_inputs(self) -> int:
        """Return the number of columns before they are encoded."""
        return self.n_features if self.schema is None else len(self.schema.columns)

    @property
    def input_names(self) -> Any:
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


@dataclass(frozen=True, eq=False)
class SummationPlan:
    """A public plan for computing exact sums from rows.

    Attributes
    ----------
    columns : PublicColumns

    outcome : Outcome

    grid : RowGrid

    by_group : bool
        Whether people are protected, not rows.

    model : StatisticsModel
        What is learned from the sums.
    """

    columns: PublicColumns
    outcome: Outcome
    grid: RowGrid
    by_group: bool
    model: StatisticsModel

    @property
    def shares(self) -> dict[str, Any]:
        """Return the public split of the budget, by query."""
        return self.model.shares(self.outcome, self.grid)

    @property
    def no_sums(self) -> ExactSums:
        """Return the sums of no rows."""
        return ExactSums.zero(self.outcome, self.grid.n_basis)

    def sums(self, X: Any, y: Any, groups: ArrayLike | None = None) -> ExactSums:
        """Return exact sums over rows, **without noise**."""
        with default_settings():
            rows = self.rows(X, y, groups)
            with sealed("The exact sum over rows"):
                return rows.sums(self.grid)

    def rows(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Any:
        """Return :class:`PrivateRows` of a table, or a chunk of it."""
        X = read_rows(self.columns, X)
        return self.label(X, read_outcome(y, X, self.outcome), groups)

    def no_rows(self) -> Any:
        """Return :class:`PrivateRows` without rows."""
        X = np.zeros((0, self.columns.n_features), self.columns.dtype)
        return PrivateRows(X, np.zeros(0, dtype=np.int64), self.outcome)

    def label(self, X: np.ndarray, labels: Any, groups: ArrayLike | None) -> Any:
        """Return :class:`PrivateRows` of encoded rows and labels, see ``read_outcome``."""
        check_unit(groups, self.by_group)
        persons = read_persons(groups, len(labels[0]), "DPStatisticsSource")
        return PrivateRows.of(X, labels, self.outcome, persons)

    def gather(self, X: Any, y: Any, groups: Any) -> Any:
        """Return :class:`PrivateRows` of Dask collections, from a temporary file without a name.

        All rows are thus read before anything is charged, with one chunk in memory.
        """
        check_unit(groups, self.by_group)
        dtype, codes, persons = self.columns.dtype, [], []
        with TemporaryFile() as file:
            for X_chunk, y_chunk, *people in chunks_in_turn(X, y, groups):
                rows = read_rows(self.columns, X_chunk)
                labels = read_outcome(y_chunk, rows, self.outcome)

                codes.append(self.outcome.codes(*labels, steps=WEIGHT_GRID))
                persons += [read_persons(ids, len(rows), "DPStatisticsSource") for ids in people]
                rows.astype(dtype, copy=False).tofile(file)
            file.flush()
            joined = np.concatenate(codes)
            shape = len(joined), self.columns.n_features
            kept = np.memmap(file, dtype, "r", shape=shape) if len(joined) else rows
        # Not as floats, in which IDs of signed and unsigned chunks would collide.
        alike = len({ids.dtype for ids in persons}) < 2
        ids = np.concatenate(persons, dtype=None if alike else object) if persons else None
        return PrivateRows(kept, joined, self.outcome, **_people(ids))

    def release(self, model: Any, guarantee: PrivacyGuarantee) -> Release:
        """Return the release of what was learned from the rows."""
        columns, schema = self.columns, self.columns.schema
        if schema is not None and not schema.outcome.covers(self.outcome):
            schema = replace(schema, outcome=self.outcome)  # that of the source
        return Release(
            outcome=self.outcome,
            n_features=columns.n_features,
            dtype=columns.dtype,
            guarantee=guarantee,
            feature_names=columns.names,
            bounds=columns.bounds,
            encoder=schema,
            model=model,
        )

    def is_same(self, other: Self) -> bool:
        """Return whether sums by another plan may be added to sums by this one."""
        same = all(map(np.array_equal, self._facts(), other._facts()))
        return same and self.grid.is_same(other.grid)

    def _facts(self):
        columns = self.columns
        schema = None if columns.schema is None else columns.schema.to_json()
        names = None if columns.names is None else columns.names.tolist()
        facts = columns.sizes, columns.bounds, names, schema, self.by_group
        return *facts, repr(self.outcome)


@dataclass(frozen=True, eq=False, repr=False)
class PrivateRows:
    """Rows with their outcomes, on the owner's side of the wall.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        May be a memory map: no more than a chunk of it is copied.

    codes : ndarray of shape (n_samples,)
        See :meth:`~skdp.tabular.Outcome.codes`; places of numbers are in steps of 2^-20. A row of
        −1 is left out.

    outcome : Outcome

    sizes : ndarray of shape (n_samples,) or None, default=None
        Number of rows of the person of each row; None where each row is a separate record.

    persons : frozenset, default=frozenset()
        The people whose rows these are.
    """

    X: np.ndarray
    codes: np.ndarray
    outcome: Outcome
    sizes: np.ndarray | None = None
    persons: frozenset = frozenset()

    def __post_init__(self):
        if len(self.X) > MAX_ROWS:  # before anything is charged
            raise ValueError(
                f"The 'X' parameter of DPStatisticsSource holds more than {MAX_ROWS:,} rows, "
                "whose sums are not exact. Make releases of parts of the rows."
            )

    @classmethod
    def of(cls, X, labels, outcome, groups=None):
        """Return rows with their outcomes, from the columns of y."""
        return cls(X, outcome.codes(*labels, steps=WEIGHT_GRID), outcome, **_people(groups))

    def chunks(self, grid):
        """Yield rows on a grid, their class indices, and their people's numbers of rows."""
        for X, codes, sizes in self.blocks(chunk_rows(grid.n_basis + self.outcome.n_codes)):
            yield grid.quantise(X), codes, sizes

    def weighted_chunks(self, grid):
        """Yield the same with integer weights of rows in place of numbers of rows."""
        for Q, codes, sizes in self.chunks(grid):
            yield Q, codes, integer_weights(sizes, len(Q))

    def blocks(self, n):
        """Yield some of n rows each, their class indices, and their people's numbers of rows."""
        for start in range(0, len(self.X), n):
            indices = start + np.flatnonzero(self.codes[start : start + n] >= 0)
            indices = as_slice(indices)
            sizes = None if self.sizes is None else self.sizes[indices]
            yield self.X[indices], self.codes[indices], sizes

    def sums(self, grid):
        """Return exact sums of the rows on a grid."""
        zero = ExactSums.zero(self.outcome, grid.n_basis)
        parts = (
            ExactSums.of_rows(Q, codes, sizes, self.outcome)
            for Q, codes, sizes in self.chunks(grid)
        )
        return replace(reduce(add, parts, zero), persons=self.persons)

    def encoded(self, grid):
        """Return the rows as whole numbers on the grid of a descent."""
        return EncodedRows(self, grid)


def _people(groups):
    """Return for each row its person's number of rows, and the people; nothing without groups."""
    if groups is None:
        return {}
    sizes, persons = group_sizes(groups)
    return {"sizes": sizes, "persons": frozenset(persons.tolist())}


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
    """Return the public plan for private rows, and the rows as numbers with their classes."""
    if is_dask(X):
        plan = announced_plan(source, *announced_columns(X))
        if not plan.model.one_pass:
            return plan, plan.gather(X, y, groups)
        return plan, SummedRows(sum_dask(plan, X, y, groups))
    X = as_frame(X)
    if source.encoder is not None:
        columns = _encoded_columns(source, X)
        X = encode_table(columns.schema, X)
    else:
        X = read_numbers(source, X)
        names = getattr(source, "feature_names_in_", None)
        columns = PublicColumns.of_array(X.shape[1], source.bounds, names, X.dtype)
    outcome = chosen_outcome(source, columns.schema)
    labels = read_outcome(y, X, outcome)
    plan = _plan(source, columns, outcome, labels)
    return plan, plan.label(X, labels, groups)


def announced_plan(source, n_features, names, dtype):
    """Return the public plan for rows that arrive in parts, before any of them is seen."""
    if source.encoder is not None:
        columns = _encoded_columns(source, None)
    else:
        names = None if names is None else np.array(list(names), dtype=object)
        n_features = len(names) if n_features is None and names is not None else n_features
        whole = isinstance(n_features, Integral) and int(n_features) > 0
        if not whole or (names is not None and len(names) != n_features):
            raise ValueError(
                "The 'n_features' parameter of DPStatisticsSource.accumulator must be a whole "
                "number above 0, that of 'feature_names' where these are given, got "
                f"{n_features!r}: no row has been seen yet."
            )
        columns = PublicColumns.of_array(n_features, source.bounds, names, dtype)
    return _plan(source, columns, chosen_outcome(source, columns.schema), in_parts=True)


def one_pass_plan(source, n_features, names, dtype):
    """Return the public plan for rows that are summed in one pass."""
    plan = announced_plan(source, n_features, names, dtype)
    if not plan.model.one_pass:
        raise ValueError(
            "The 'model' parameter of DPStatisticsSource needs several passes over the rows, "
            "which an accumulator does not keep. Use model='linear', or fit to rows in memory or "
            "in a numpy.memmap."
        )
    return plan


def _plan(source, columns, outcome, labels=None, *, in_parts=False):
    """Return the public plan for rows of these columns, which may arrive in parts."""
    if not outcome.is_complete:
        outcome = classes_of(labels)
    model = _model(source, columns, outcome, in_parts)
    grid = replace(model.grid(columns), exits=outcome.exits, zero=outcome.zero)
    _warn_of_cost(grid.n_basis)
    return SummationPlan(columns, outcome, grid, source.privacy_unit == "group", model)


def _model(source, columns, outcome, in_parts):
    """Return what is learned of an outcome; raise ValueError for what cannot be."""
    known = MODELS if outcome.groups else _NARROW_MODELS
    if source.model == "auto":
        wide = not is_narrow(columns) and "mixtures" in known
        return known["mixtures" if wide else "linear" if in_parts else "gradients"]
    if source.model not in known:
        raise ValueError(
            f"The 'model' parameter of DPStatisticsSource is {source.model!r}, for an outcome "
            f"that is {outcome.about}. Use {listed(list(known))} or 'auto'."
        )
    return known[source.model]


def chosen_outcome(source, schema):
    """Return what a source, or its schema, says is predicted; classes may not be listed."""
    outcome = ClassOutcome() if schema is None else schema.outcome.in_order()
    if source.outcome is not None:
        stated = outcome_from(source.outcome)
        if outcome.is_complete and outcome != stated:
            raise ValueError(
                "The 'outcome' parameter of DPStatisticsSource differs from what the schema of "
                "the 'encoder' says. Leave it out."
            )
        outcome = stated
    if source.classes is None:
        return outcome
    return outcome.with_classes(listed_classes(source.classes), "DPStatisticsSource")


def _warn_of_cost(n):
    """Warn of the cost of sums of products of very many columns before they start."""
    # For each product 53 bytes, for each triple 4e-10 seconds (measured with 6,000 columns:
    # 1.9 GB, 85 s), which are minutes beyond 5,000.
    if n > 5000:
        warn(
            f"Sums of products of {n:,} functions of the columns take about "
            f"{53 * n**2 / 1e9:.1f} GB of memory, and {4e-10 * n**3:.0f} seconds on one "
            "core besides those of the rows. Leave out columns, or sum groups of them, if that is "
            "too much."
        )


def _encoded_columns(source, X):
    """Return the columns that the encoder makes of X; without a schema X says how many."""
    numbers = all(np.ndim(end) == 0 for end in source.bounds)
    if not numbers or list(source.bounds) != [0, 1]:
        raise ValueError(
            f"The 'bounds' parameter of DPStatisticsSource is {source.bounds!r:.100} beside an "
            "'encoder', whose schema has the bounds of each column. Leave out 'bounds'."
        )
    return PublicColumns.of_encoder(source.encoder, X)


def read_rows(columns, X):
    """Return a chunk of rows as numbers, in known columns."""
    if columns.schema is not None:
        return encode_table(columns.schema, X)
    reader = BaseEstimator()
    X = read_numbers(reader, X, ensure_min_samples=0)
    names = getattr(reader, "feature_names_in_", None)
    same_names = names is None or np.array_equal(names, columns.names)
    if X.shape[1] != columns.n_features or not same_names:
        raise ValueError(
            f"X has other columns than the {columns.n_features} that were announced by "
            "DPStatisticsSource.accumulator. Give every chunk the same columns, in the same "
            "order, and list their names, where they have names, in 'feature_names'."
        )
    return X


def read_table(columns, X, y, *, keep_all):
    """Return a private table as numbers, and its labels, spelled like the schema's classes.

    Rows of other labels are left out, except with ``keep_all``, for labels that get noise.
    """
    rows = encode_table(columns.schema, X)
    outcome = columns.schema.outcome
    if keep_all or not outcome.groups:
        return rows, check_labels(y, rows)
    [labels] = read_outcome(y, rows, outcome)
    classes, indices = np.array(outcome.classes), outcome.codes(labels)
    if not (indices >= 0).any():
        raise ValueError(
            f"No label in y is one of the classes of the schema, {classes.tolist()}. Spell them "
            "alike: rows of other labels are left out."
        )
    return rows[indices >= 0], classes[indices[indices >= 0]]


def check_unit(groups, by_group):
    """Raise ValueError where IDs of people are missing, or would have no effect."""
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
