"""Do the intervals of ``Release.describe_columns`` hold what they promise?

Rows are drawn with replacement from a table, whose own means, deviations and shares are so the
true ones.
"""

from itertools import product

import _bench
import numpy as np
from _tables_data import whole

from skdp import DPStatisticsSource
from skdp.tabular import NumericColumn

LEVELS = (0.5, 1.0, 4.0)
SIZES = {
    "heart disease": 900,
    "whas500": 500,
    "actg320": 1000,
    "actg175": 2000,
    "flchain": 5000,
    "randhie": 5000,
    "adult": 5000,
}


def true_values(schema, frame, labels):
    """Return the value of each statistic of all rows, and the range of its column."""
    found = {}
    for label in (*schema.classes, None):
        part = frame[(labels == label) | (label is None)]
        for column in schema.columns:
            values = _of_column(column, part[column.name])
            found |= {(column.name, name, label): value for name, value in values.items()}
    return found


def _of_column(column, cells):
    positions = column.positions(cells)
    there = ~np.isnan(positions)
    found = {"missing": (1 - there.mean(), 1.0)} if column.missing else {}
    if not column.missing:  # then a missing value is the middle
        positions, there = np.where(there, positions, 0.5), np.ones(len(cells), bool)
    if isinstance(column, NumericColumn):
        return found | _of_numbers(column, positions[there])
    codes, k = column.codes(cells), len(column.categories)
    known = (codes >= 0) & (codes < k)
    if column.ordered and k > 2:
        ranks = 1 + codes[known]
        return found | {
            "mean rank": (ranks.mean(), k - 1),
            "deviation of ranks": (ranks.std(), k - 1),
        }
    if not column.missing and not known.all():
        return found
    shares = np.bincount(codes[known], minlength=k) / known.sum()
    names = (f"share of {category}" for category in column.categories)
    return found | {name: (share, 1.0) for name, share in zip(names, shares, strict=True)}


def _of_numbers(column, positions):
    plain = NumericColumn(column.name, column.low, column.high, log=column.log)
    mean = plain.decode(positions.mean(keepdims=True)[:, np.newaxis])[0]
    width = column.high - column.low
    if not column.log:
        return {"mean": (mean, width), "deviation": (positions.std() * width, width)}
    kind = "geometric" if column.low > 0 else "shifted geometric"
    factor = (column.high / column.low if column.low > 0 else 101.0) ** positions.std()
    return {f"{kind} mean": (mean, width), f"{kind} deviation": (factor, None)}


def kind_of(statistic):
    return next(k for k in ("share", "missing", "deviation", "mean") if k in statistic)


def measure(options, name, epsilon):
    """Yield a row for each kind of statistic."""
    frame, labels, schema = whole(name)
    true = true_values(schema, frame, labels)
    rng, found = np.random.default_rng(0), {}
    for _ in range(options.draws):
        chosen = rng.integers(len(labels), size=SIZES[name])
        source = DPStatisticsSource(epsilon, encoder=schema)
        table = source.fit(frame.iloc[chosen], labels[chosen]).release_.describe_columns()
        for column, statistic, label, _, low, high in table.itertuples(index=False):
            label = None if label != label else label
            if (column, statistic, label) in true:
                value, width = true[column, statistic, label]
                held, widths = found.setdefault(kind_of(statistic), ([], []))
                held.append(low <= value <= high)
                if width is not None:
                    widths.append(min((high - low) / width, 1.0))
    for kind, (held, widths) in found.items():
        yield {
            "case": name,
            "level": epsilon,
            "kind": kind,
            "rows": SIZES[name],
            "intervals": len(held),
            "held": np.mean(held),
            "width": np.median(widths) if widths else None,
        }


if __name__ == "__main__":
    _bench.run("columns", measure, __doc__, over=product(SIZES, LEVELS), draws=40)
