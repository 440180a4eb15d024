"""Contributions of each column to a release's scores: as a table, and for one row."""

import numpy as np
import pandas as pd

from skdp.release._columns import (
    column_names,
    encoded_rows,
    public_columns,
    public_scales,
)
from skdp.tabular import (
    NumericColumn,
    Schema,
    bounded_columns,
    explain_prediction,
)
from skdp.utils._frames import one_row

# Number of places between its bounds at which a numeric column is evaluated.
_N_PLACES = 33


def column_effects(release, positive=None):
    """Return the contribution of each value to the log-odds, see ``Release.effects``."""
    prediction = release.model.prediction
    sign = prediction.contrast(release, positive)
    lines: list = []
    for name, start, labels, blocks in _columns(release):
        rows = np.zeros((len(blocks), release.n_features))
        rows[:, start : start + blocks.shape[1]] = blocks
        effect = prediction.terms(release, rows) @ sign
        lines += zip([name] * len(labels), labels, effect - effect.mean(), strict=True)
    return pd.DataFrame(lines, columns=["column", "value", "effect"])


def explained_row(release, x):
    """Return the explanation of the prediction of one row, see ``Release.explain``."""
    row = encoded_rows(release, one_row(x))[0].astype(np.float64)
    schema, (low, width) = release.encoder, public_scales(release)
    if schema is None:
        bounds = np.array([[0.0], [1.0]]) if release.bounds is None else release.bounds
        columns = bounded_columns(column_names(release), bounds, row)
        schema = Schema(columns)
        low = np.array([column.low for column in columns])
        width = np.array([column.high for column in columns]) - low
    row = (row - low) / width

    def unscaled(rows):
        return low + rows * width

    predict, facts = release.model.prediction.explanation(release, unscaled(row))
    return explain_prediction(lambda rows: predict(unscaled(rows)), row, schema=schema, **facts)


def _columns(release):
    """Yield name, first encoded column, values and their encoded blocks, of each column."""
    low, width = public_scales(release)
    for column, block in public_columns(release):
        if isinstance(column, NumericColumn):
            blocks = np.zeros((_N_PLACES, block.stop - block.start))
            blocks[:, 0] = np.linspace(0, 1, _N_PLACES)
            # In steps there are fewer values than places.
            values = np.unique(column.decode(blocks)).tolist()
            blocks = np.asarray(column.encode(pd.Series(values, dtype=object)))
        else:
            values = list(column.categories)
            blocks = column.encode(pd.Series(values, dtype=object))
        if column.missing:
            values.append(None)
            blocks = np.vstack([blocks, column.encode(pd.Series([None], dtype=object))])
        blocks = low[block] + np.asarray(blocks, dtype=np.float64) * width[block]
        yield column.name, block.start, values, blocks
