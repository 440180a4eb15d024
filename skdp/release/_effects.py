"""What each column adds to the scores of a release, as a table and a plot."""

import numpy as np
import pandas as pd

from skdp.tabular import NumericColumn
from skdp.utils._validation import new_axes

# Number of places between its bounds at which a numeric column is evaluated.
_N_PLACES = 33
# Columns that are drawn, those of the widest effects first, and how many stand side by side.
_MOST, _PER_LINE = 12, 4


def column_effects(release, positive=None):
    """Return the contribution of each value to the log-odds, see ``Release.effects``."""
    if release.linear is None or (release.encoder is None and release.bounds is None):
        raise ValueError(
            "This release has no scores that are sums over columns. Those of DPStatisticsSource "
            "with model='linear' or 'additive' have such scores; 'auto' uses these for tables."
        )
    sign = _contrast(release, positive)
    deviations = _deviations(release)
    lines: list = []
    for number, (name, start, labels, blocks) in enumerate(_columns(release)):
        rows = np.zeros((len(blocks), release.n_features))
        rows[:, start : start + blocks.shape[1]] = blocks
        effect = release.score_encoded(rows) @ sign
        noise = deviations(number, rows) * np.linalg.norm(sign)
        lines += zip([name] * len(labels), labels, effect - effect.mean(), noise, strict=True)
    return pd.DataFrame(lines, columns=["column", "value", "effect", "noise"])


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
    here = np.array([label == positive for label in classes])
    return np.where(here, 1.0, -1 / (len(classes) - 1))


def _deviations(release):
    """Return a function of a column and rows: noise of its shape function, 0 where it has none."""
    shapes = release.shapes

    def noise(number, rows):
        if shapes is None or not len(shapes.deviations):
            return np.zeros(len(rows))
        return shapes.effects(number)[1][shapes.codes(rows)[:, number]]

    return noise


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
            values = column.decode(blocks).tolist()
        else:
            values = list(column.categories)
            blocks = column.encode(pd.Series(values, dtype=object))
        if column.missing:
            values.append(None)
            blocks = np.vstack([blocks, column.encode(pd.Series([None], dtype=object))])
        yield column.name, block.start, values, np.asarray(blocks, dtype=np.float64)


def plot_effects(release, columns=None, positive=None):
    """Draw the effects of columns, see ``Release.plot_effects``."""
    table = column_effects(release, positive)
    widths = table.groupby("column", sort=False)["effect"].agg(np.ptp)
    if columns is None:
        columns = widths.sort_values(ascending=False, kind="stable").index[:_MOST].tolist()
    unknown = [name for name in columns if name not in widths.index]
    if unknown or not len(columns):
        raise ValueError(
            f"The 'columns' parameter of Release.plot_effects names {unknown!r:.200}, which the "
            f"release does not have. It has {widths.index.tolist()!r:.500}."
        )
    width = min(len(columns), _PER_LINE)
    height = -(-len(columns) // width)
    axes = new_axes(
        "Release.plot_effects",
        "Release.effects",
        *(height, width),
        figsize=(3 * width, 2.4 * height),
        squeeze=False,
        sharey=True,
    )
    for ax, name in zip(axes.flat, columns, strict=False):
        _draw(ax, table[table["column"] == name], str(name))
    for ax in axes.flat[len(columns) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("adds to log-odds")
    return axes


def _draw(ax, part, name):
    """Draw one column: a line with a band of two deviations, or a bar for each category."""
    known = part[part["value"].notna()]
    numbers = all(isinstance(value, float) for value in known["value"])
    if numbers:
        x = known["value"].astype(float)
        ax.step(x, known["effect"], where="mid", color="C0")
        ends = (known["effect"] + side * 2 * known["noise"] for side in (-1, 1))
        ax.fill_between(x, *ends, step="mid", color="C0", alpha=0.2, lw=0)
        missing = part[part["value"].isna()]
        if len(missing):
            ax.axhline(missing["effect"].iloc[0], color="C1", ls=":", label="missing")
            ax.legend(frameon=False, fontsize="small")
    else:
        labels = ["missing" if value is None else f"{value:.12}" for value in part["value"]]
        ax.bar(labels, part["effect"], yerr=2 * part["noise"], color="C0", alpha=0.6)
        ax.tick_params(axis="x", labelsize="small", rotation=90 if len(labels) > 3 else 0)
    ax.axhline(0, color="0.7", lw=0.8)
    ax.set_title(name, fontsize="medium")
