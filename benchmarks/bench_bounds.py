"""What are bounds and categories worth that `quantile_bounds` finds behind noise?

All columns of a table at once, whose rows are taken for private.
"""

from itertools import product

import _bench
import numpy as np
from _tables_data import TABLES_AND_HOSPITALS, whole

from skdp import quantile_bounds
from skdp.tabular import NumericColumn

LEVELS = (0.1, 0.5, 1.0, 4.0)


def measure(options, name, epsilon):
    frame, _, schema = whole(name)
    names = {True: [], False: []}
    for column in schema.columns:
        names[isinstance(column, NumericColumn)].append(column.name)
    hidden, widths, clipped, unlisted = [], [], [], []
    for _ in range(options.draws):
        found = quantile_bounds(frame, names[True], names[False], epsilon=epsilon)
        hidden.append(len(found.left_out) / len(schema.columns))
        for column in found.schema.columns if found.schema else ():
            cells = frame[column.name].dropna()
            if isinstance(column, NumericColumn):
                values = cells.astype(float)
                low, high = np.quantile(values, [0.01, 0.99])
                widths.append((column.high - column.low) / (high - low))
                clipped.append(np.mean((values < column.low) | (values > column.high)))
            else:
                codes = column.codes(cells)
                unlisted.append(np.mean((codes < 0) | (codes >= len(column.categories))))
    yield {
        "case": name,
        "level": epsilon,
        "rows": len(frame),
        "columns": len(schema.columns),
        "hidden": np.mean(hidden),
        "width": np.median(widths) if widths else None,
        "widest": np.max(widths) if widths else None,
        "clipped": np.mean(clipped) if clipped else None,
        "unlisted": np.mean(unlisted) if unlisted else None,
    }


if __name__ == "__main__":
    cells = product(TABLES_AND_HOSPITALS, LEVELS)
    _bench.run("bounds", measure, __doc__, over=cells, draws=10)
