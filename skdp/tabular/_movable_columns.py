"""The columns of one row and their other public values."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skdp.tabular._columns import CategoryColumn, NumericColumn
from skdp.tabular._schema import as_schema

# Number of positions on a scale at which a number is tried; changes between two
# neighboring positions are not seen.
_N_POSITIONS = 101


@dataclass(frozen=True)
class MovableColumn:
    """The possible values of a column: positions on a scale, and other values with labels."""

    name: str
    place: slice
    positions: np.ndarray
    others: np.ndarray
    labels: tuple
    decode: Callable

    def encoded(self, positions):
        """Return positions as blocks of encoded columns, (n_positions, width)."""
        blocks = np.zeros((len(positions), self.place.stop - self.place.start))
        blocks[:, 0] = positions
        return blocks

    def index_of(self, block):
        """Return the index of the label that a block encodes, or None."""
        [same] = np.nonzero(np.isclose(self.others, block).all(axis=1))
        return int(same[0]) if len(same) else None

    def value_of(self, block):
        """Return the value that a block encodes, None if it is missing or unknown."""
        index = self.index_of(block)
        if index is not None:
            return self.labels[index]
        return self.decode(block[:1]).tolist()[0] if len(self.positions) else None

    def rows(self, x, blocks):
        """Return the row with each block in its place, (n_blocks, n_encoded)."""
        rows = np.repeat(x[np.newaxis], len(blocks), axis=0)
        rows[:, self.place] = blocks
        return rows


def movable_columns(x, schema, names):
    """Return the columns of a row with their possible values."""
    if schema is None:
        names = [f"x{j}" for j in range(len(x))] if names is None else list(names)
        return [_number_column(name, j, x[j]) for j, name in enumerate(names)]
    schema = as_schema(schema)
    expected = schema.encoded_names
    if len(expected) != len(x) or (names is not None and tuple(names) != expected):
        other = "" if len(expected) != len(x) else " of other names"
        raise ValueError(
            f"The 'schema' parameter has {len(expected)} encoded columns, the row has {len(x)}"
            f"{other}. Pass the schema that encoded the model's rows."
        )
    return list(map(_schema_column, schema.columns, schema.encoded_slices))


def _number_column(name, j, value):
    """Return a column without a schema: numbers in [0, 1], or up to the value beyond."""
    positions = np.linspace(min(0.0, value), max(1.0, value), _N_POSITIONS)
    return MovableColumn(name, slice(j, j + 1), positions, np.empty((0, 1)), (), lambda u: u)


def _schema_column(column, place):
    """Return a column of the schema, encoded as :class:`~skdp.TabularEncoder` does."""
    number = not isinstance(column, CategoryColumn)
    labels = () if number else column.categories
    labels += (None,) if column.missing else ()
    others = column.encode(list(labels))
    positions = np.linspace(0.0, 1.0, _N_POSITIONS) if number else np.empty(0)

    def decode(u):
        return column.decode(np.column_stack([u, np.zeros(len(u))]))

    return MovableColumn(column.name, place, positions, others, labels, decode)


def bounded_columns(names, bounds, row):
    """Return numeric columns within bounds, extended to contain a row."""
    low, high = np.minimum(bounds[0], row), np.maximum(bounds[1], row)
    high = np.where(high > low, high, low + 1)
    limits = zip(names, low.tolist(), high.tolist(), strict=True)
    return tuple(NumericColumn(str(name), *ends) for name, *ends in limits)
