"""What are bounds and categories worth that `quantile_bounds` finds behind noise?

    python benchmarks/bench_bounds.py [--draws 10]

All columns of the six tables and the four hospitals at once, whose rows are taken for private.
Written are, by table and ε: how many columns noise hides, the width of the bounds in units of
that between the true quantiles of 1 and 99 % (median and largest), the share of values that
are clipped, and that of values that are none of the listed categories.
"""

import warnings

import _bench
import numpy as np

from skdp import Schema, quantile_bounds
from skdp.datasets import load_heart_disease, load_table
from skdp.tabular import NumericColumn

LEVELS = (0.1, 0.5, 1.0, 4.0)
CASES = ("whas500", "heart disease", "actg320", "actg175", "flchain", "randhie", "adult")


def measure(name, epsilon, draws):
    data = load_heart_disease() if name == "heart disease" else load_table(name, random_state=0)
    columns = Schema.from_mapping(data.schema).columns
    names = {True: [], False: []}
    for column in columns:
        names[isinstance(column, NumericColumn)].append(column.name)
    hidden, widths, clipped, unlisted = [], [], [], []
    for _ in range(draws):
        try:
            found = quantile_bounds(data.data, names[True], names[False], epsilon=epsilon)
        except ValueError:  # nothing was found
            hidden.append(1.0)
            continue
        hidden.append(len(found.left_out) / len(columns))
        for column in found.schema.columns:
            cells = data.data[column.name]
            if isinstance(column, NumericColumn):
                values = cells.dropna().astype(float)
                low, high = np.quantile(values, [0.01, 0.99])
                widths.append((column.high - column.low) / (high - low))
                clipped.append(np.mean((values < column.low) | (values > column.high)))
            else:
                codes = column.codes(cells.dropna())
                unlisted.append(np.mean((codes < 0) | (codes >= len(column.categories))))
    return {
        "case": name,
        "level": epsilon,
        "rows": len(data.data),
        "columns": len(columns),
        "hidden": np.mean(hidden),
        "width": np.median(widths) if widths else None,
        "widest": np.max(widths) if widths else None,
        "clipped": np.mean(clipped) if clipped else None,
        "unlisted": np.mean(unlisted) if unlisted else None,
    }


def main():
    settings = _bench.options_of(__doc__.splitlines()[0], draws=10)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in CASES:
            for epsilon in LEVELS:
                rows.append(measure(name, epsilon, settings.draws))
                print(rows[-1], flush=True)
    _bench.save("bounds", vars(settings), rows)


if __name__ == "__main__":
    main()
