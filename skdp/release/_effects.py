"""What each column adds to the scores of a release, as a table, and to those of one row."""

import numpy as np
import pandas as pd

from skdp.release._columns import column_names, encoded_rows
from skdp.release._numbers import predicted_numbers
from skdp.tabular import (
    EventOutcome,
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
    if release.outcome is None and (
        release.linear is None or (release.encoder is None and release.bounds is None)
    ):
        raise ValueError(
            "This release has no scores that are sums over columns. Those of DPStatisticsSource "
            "with model='linear' or 'gradients' have such scores; 'auto' uses these for tables."
        )
    sign = np.ones(1) if release.outcome is not None else _contrast(release, positive)
    lines: list = []
    for name, start, labels, blocks in _columns(release):
        rows = np.zeros((len(blocks), release.n_features))
        rows[:, start : start + blocks.shape[1]] = blocks
        effect = _scores(release, rows) @ sign
        lines += zip([name] * len(labels), labels, effect - effect.mean(), strict=True)
    return pd.DataFrame(lines, columns=["column", "value", "effect"])


def explained_row(release, x):
    """Return the explanation of the prediction of one row, see ``Release.explain``."""
    row = encoded_rows(release, one_row(x))[0].astype(np.float64)
    schema, low, width = release.encoder, np.zeros(1), np.ones(1)
    if schema is None:
        bounds = np.array([[0.0], [1.0]]) if release.bounds is None else release.bounds
        columns = bounded_columns(column_names(release), bounds, row)
        schema = Schema(columns)
        low = np.array([column.low for column in columns])
        width = np.array([column.high for column in columns]) - low
    row = (row - low) / width

    def unscaled(rows):
        return low + rows * width

    if release.outcome is None:
        return explain_prediction(
            # The floor is far below what rounds to 0 beside 1.
            lambda rows: np.log(np.maximum(release.model.probabilities(unscaled(rows)), 1e-300)),
            row,
            release.classes,
            schema=schema,
        )
    if isinstance(release.outcome, EventOutcome):
        return explain_prediction(
            lambda rows: release.model.risks(unscaled(rows)), row, schema=schema
        )
    [deviation] = predicted_numbers(release, unscaled(row[np.newaxis]), True)[1]
    return explain_prediction(
        lambda rows: predicted_numbers(release, unscaled(rows), False),
        row,
        schema=schema,
        deviation=deviation,
    )


def _scores(release, rows):
    """Return the scores of encoded rows; of a number its unit, or logarithm, of times risks."""
    if release.outcome is None:
        return release.model.score(rows)
    if isinstance(release.outcome, EventOutcome):
        return release.model.risks(rows)[:, np.newaxis]
    low, high = release.outcome.low, release.outcome.high
    if not release.outcome.log:
        width = high - low
    elif low > 0:
        width = np.log(high / low)
    else:
        width = 1.0  # of the whole scale, which is no logarithm near zero
    return width * release.model.places(rows)[:, np.newaxis]


def _contrast(release, positive):
    """Return the weights of scores in the log-odds of a class against the others."""
    classes = release.classes.tolist()
    if positive is None and len(classes) == 2:
        positive = classes[1]
    if positive not in classes:
        raise ValueError(
            f"The 'positive' parameter of Release.effects must be one of the classes {classes}, "
            f"got {positive!r:.100}."
        )
    is_positive = np.array([label == positive for label in classes])
    return np.where(is_positive, 1.0, -1 / (len(classes) - 1))


def _columns(release):
    """Yield name, first encoded column, values and their encoded blocks, of each column."""
    places = np.linspace(0, 1, _N_PLACES)
    if release.encoder is None:
        names = range(release.n_features)
        if release.feature_names is not None:
            names = release.feature_names.tolist()
        low, high = np.broadcast_arrays(*release.bounds)
        for j, name in enumerate(names):
            values = low[j] + places * (high[j] - low[j])
            yield name, j, values.tolist(), values[:, np.newaxis]
        return
    schema = release.encoder
    for column, block in zip(schema.columns, schema.encoded_slices, strict=True):
        if isinstance(column, NumericColumn):
            blocks = np.zeros((_N_PLACES, block.stop - block.start))
            blocks[:, 0] = places
            # In steps there are fewer values than places.
            values = np.unique(column.decode(blocks)).tolist()
            blocks = np.asarray(column.encode(pd.Series(values, dtype=object)))
        else:
            values = list(column.categories)
            blocks = column.encode(pd.Series(values, dtype=object))
        if column.missing:
            values.append(None)
            blocks = np.vstack([blocks, column.encode(pd.Series([None], dtype=object))])
        yield column.name, block.start, values, np.asarray(blocks, dtype=np.float64)
