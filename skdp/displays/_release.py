"""The content of a release: its report, and the effects of its columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from skdp.displays._base import (
    GREY,
    OKABE_ITO,
    Display,
    as_label,
    claimed_rates,
    reach,
    require_kind,
)

# Most columns whose effects are drawn, by width, and how many are side by side.
_MOST, _PER_LINE = 12, 4


@dataclass(eq=False, repr=False)
class ReleaseDisplay(Display):
    """The claims and results of a release, from the release only.

    Up to four panels: rows of each class; expected AUC of pairs of classes; what the guarantee
    allows an adversary who knows everything else; and means and shares by class, within the
    public bounds of the columns.

    The plot has the guarantee of the release and can be published wherever the release can.

    Parameters
    ----------
    counts : DataFrame or None
        One line per class, with ``value``, ``low`` and ``high``: rows, with a 95% interval for
        the noise if it is known.

    areas : DataFrame or None
        One line per pair of classes, with ``value``, ``low`` and ``high``: the expected AUC and
        the 80% interval that the release states.

    trade_off : DataFrame
        ``false_positives`` of a guess which of two neighbors was used, and the largest rate of
        ``true_positives`` that the guarantee allows.

    places : DataFrame or None
        One line per ``column`` and class. ``value`` is the position of the mean between the public
        bounds, from 0 to 1, or the share of a category; ``low`` and ``high`` are the ends of its
        95% interval.

    guarantee : PrivacyGuarantee

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The first of the axes, set by :meth:`plot`.

    axes_ : ndarray of matplotlib.axes.Axes
        All axes.

    figure_ : matplotlib.figure.Figure
        Figure of the axes.

    See Also
    --------
    skdp.Release.summary : More content, in words.
    skdp.release.report_page : A page for a data-protection officer.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> from skdp.displays import ReleaseDisplay
    >>> X, y = np.random.default_rng(0).uniform(size=(500, 2)), np.repeat([0, 1], 250)
    >>> source = DPStatisticsSource(epsilon=2.0, bounds=(0, 2), classes=[0, 1])
    >>> release = source.fit(X + y[:, None], y).release_
    >>> display = ReleaseDisplay.from_release(release)
    >>> display.counts["value"].between(200, 300).tolist()
    [True, True]
    >>> display.plot().axes_.shape
    (2, 2)
    """

    counts: pd.DataFrame | None
    areas: pd.DataFrame | None
    trade_off: pd.DataFrame
    places: pd.DataFrame | None
    guarantee: Any

    _instead = "Release.summary()"

    @classmethod
    def from_release(cls, release: Any, *, max_columns: int = 14) -> Self:
        """Return the display of a release.

        Parameters
        ----------
        release : Release

        max_columns : int, default=14
            Largest number of lines; the columns whose classes differ most are drawn.

        Returns
        -------
        display : ReleaseDisplay

        Raises
        ------
        ValueError
            If it is something else, such as the source that made it.
        """
        owner = "ReleaseDisplay.from_release"
        needed = ("describe_columns", "guarantee", "outcome")
        require_kind(owner, "release", release, needed, "a Release, such as source.release_")
        rates = np.linspace(0, 1, 201)
        most = claimed_rates(release.guarantee, rates)
        trade_off = pd.DataFrame({"false_positives": rates, "true_positives": most})
        counts = places = None
        if release.moments is not None and release.outcome.groups:
            table = release.describe_columns()
            counts = table[(table["statistic"] == "rows") & table["class"].notna()]
            counts = counts[["class", "value", "low", "high"]].reset_index(drop=True)
            places = _placed(release, table, max_columns)
        return cls(counts, _areas(release), trade_off, places, release.guarantee)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : array-like of matplotlib.axes.Axes or None, default=None
            One for each panel; default: a new figure.

        Returns
        -------
        display : ReleaseDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        tables = {
            self._draw_counts: self.counts,
            self._draw_trade_off: self.trade_off,
            _draw_areas: self.areas,
            _draw_places: self.places,
        }
        panels = [(draw, table) for draw, table in tables.items() if table is not None]
        n = len(panels)
        shape = (1, n) if n < 3 else (2, 2)
        size = (4.8 * shape[1], 4.0 * shape[0])
        axes = self._take_axes(ax, n, shape, figsize=size)
        for (draw, table), panel in zip(panels, axes, strict=True):
            draw(panel, table)
            panel.spines[["top", "right"]].set_visible(False)
        return self

    def _draw_counts(self, ax, counts):
        _draw_intervals(ax, counts["class"].map(_text).tolist(), counts, OKABE_ITO[0])
        ax.set_xlim(left=0)
        counted = self.guarantee.counted
        noise = " (95% interval of the noise)" if counts["low"].notna().any() else ""
        ax.set(title=f"{counted.capitalize()} of each class", xlabel=counted + noise)

    def _draw_trade_off(self, ax, trade_off):
        rates, most = trade_off["false_positives"], trade_off["true_positives"]
        ax.plot(rates, most, color=OKABE_ITO[1], label="most that is allowed")
        ax.fill_between(rates, rates, most, color=OKABE_ITO[1], alpha=0.15, lw=0)
        ax.plot([0, 1], [0, 1], color=GREY, ls=":", lw=1, label="guessing")
        g = self.guarantee
        what = "is in the data" if g.relation == "add/remove" else "was replaced"
        ax.set(
            title=f"ε = {g.epsilon:.3g}, δ = {g.delta:.3g} per {g.unit}",
            xlabel=f"chance to say wrongly that the {g.noun} {what}",
            ylabel="chance to say so rightly",
            aspect=1,
            xlim=(0, 1),
            ylim=(0, 1.01),
        )
        ax.legend(frameon=False, loc="lower right", fontsize="small")


class EffectsDisplay(Display):
    """Draw what each value of each column adds to the log-odds of a class, or to a number.

    Numbers have a line, with a dotted one for missing values; categories and few numbers have
    bars. The plot can be published wherever the release can.

    Parameters
    ----------
    effects : DataFrame
        Result of :meth:`Release.effects <skdp.Release.effects>`.

    columns : list of str or None, default=None
        Columns to draw, in this order; None: the twelve with the widest effects.

    adds_to : str, default="log-odds"
        Label of the axis.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The first of the axes, set by :meth:`plot`.

    axes_ : ndarray of matplotlib.axes.Axes
        All axes.

    figure_ : matplotlib.figure.Figure
        Figure of the axes.

    See Also
    --------
    skdp.Release.effects : The table that is drawn.

    Examples
    --------
    >>> from skdp import DPStatisticsSource
    >>> from skdp.datasets import load_heart_disease
    >>> from skdp.displays import EffectsDisplay
    >>> heart = load_heart_disease()
    >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema)
    >>> release = source.fit(heart.data, heart.target).release_
    >>> display = EffectsDisplay.from_release(release, columns=["age", "cp"]).plot()
    >>> [ax.get_title() for ax in display.axes_.flat]
    ['age', 'cp']
    """

    _instead = "Release.effects()"

    def __init__(
        self,
        effects: pd.DataFrame,
        columns: Sequence[str] | None = None,
        adds_to: str = "log-odds",
    ):
        self.effects = effects
        self.adds_to = adds_to
        self.columns = _widest(effects) if columns is None else list(columns)

    @classmethod
    def from_release(
        cls, release: Any, *, columns: Sequence[str] | None = None, positive: Any = None
    ) -> Self:
        """Return the display of a release.

        Parameters
        ----------
        release : Release
            Its scores must be sums over columns.

        columns : list of str or None, default=None
            None: the twelve with the widest effects.

        positive : label or None, default=None
            The class; None: the second of two.

        Returns
        -------
        display : EffectsDisplay

        Raises
        ------
        ValueError
            If it is something else, or has no such scores, columns or class.
        """
        owner = "EffectsDisplay.from_release"
        require_kind(owner, "release", release, ("effects",), "a Release, such as source.release_")
        effects = release.effects(positive)
        names = effects["column"].unique().tolist()
        unknown = [name for name in columns or [] if name not in names]
        if unknown or (columns is not None and not len(columns)):
            raise ValueError(
                f"The 'columns' parameter of {owner} names {unknown!r:.200}, which the release "
                f"does not have. It has {names!r:.500}."
            )
        adds_to, classes = release.outcome.effect_unit, release.outcome.groups
        if classes:
            adds_to += f" of {classes[1] if positive is None else positive!s:.30}"
        return cls(effects, columns, adds_to)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : array-like of matplotlib.axes.Axes or None, default=None
            One per column; default: a new figure.

        Returns
        -------
        display : EffectsDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        names = self.columns
        width = min(len(names), _PER_LINE)
        height = -(-len(names) // width)
        size = (3 * width, 2.6 * height)
        axes = self._take_axes(ax, len(names), (height, width), figsize=size, sharey=True)
        for panel, name in zip(axes, names, strict=True):
            _draw_effect(panel, self.effects[self.effects["column"] == name], str(name))
        for panel in self.axes_[:, 0] if self.axes_.ndim == 2 else axes[:1]:
            panel.set_ylabel(f"adds to {as_label(self.adds_to)}")
        return self


def _draw_areas(ax, areas):
    shown = areas.nsmallest(12, "value")  # those that are told apart worst
    _draw_intervals(ax, shown["classes"].tolist(), shown, OKABE_ITO[2])
    ax.axvline(0.5, color=GREY, ls=":", lw=1)
    ax.set_xlim(0.48, 1.01)
    title = "How well it tells classes apart"
    if len(shown) < len(areas):
        title += f" ({len(shown)} lowest of {len(areas)} pairs)"
    ax.set(title=title, xlabel="expected AUC (80% interval; 0.5: a guess)")


def _draw_places(ax, places):
    names = places["column"].drop_duplicates().tolist()
    classes = places["class"].drop_duplicates().tolist()
    step = 0.6 / max(len(classes) - 1, 1)
    for k, label in enumerate(classes):
        part = places[places["class"] == label]
        y = part["column"].map(names.index) + (k - (len(classes) - 1) / 2) * step
        ax.errorbar(
            *(part["value"], y),
            xerr=reach(part, "value"),
            fmt="o" if k < len(OKABE_ITO) else "s",
            ms=4,
            lw=1.2,
            color=OKABE_ITO[k % len(OKABE_ITO)],
            label=as_label(_text(label)),
        )
    ax.set_yticks(range(len(names)), map(as_label, names), fontsize="small")
    ax.set(ylim=(len(names) - 0.5, -0.5), xlim=(-0.03, 1.03))
    ax.set(
        title="Means and shares by class",
        xlabel="position between the public bounds, or share (95%)",
    )
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))


def _widest(effects):
    """Return the names of the columns with the widest effects."""
    widths = effects.groupby("column", sort=False)["effect"].agg(np.ptp)
    return widths.nlargest(_MOST).index.tolist()


def _draw_effect(ax, part, name):
    """Draw one column: a line, or a bar for each category."""
    given = part[part["value"].notna()]
    numbers = all(isinstance(value, float) for value in given["value"])
    if numbers and len(given) > 6:  # fewer numbers are drawn like categories
        ax.plot(given["value"].astype(float), given["effect"], color=OKABE_ITO[0])
        missing = part[part["value"].isna()]
        if len(missing):
            effect = missing["effect"].iloc[0]
            ax.axhline(effect, color=OKABE_ITO[1], ls=":", label="missing")
            ax.legend(frameon=False, fontsize="small")
    else:
        labels = ["missing" if value is None else _text(value, 12) for value in part["value"]]
        bars = [as_label(text) for text in labels]
        ax.bar(bars, part["effect"], color=OKABE_ITO[5])
        # 36 letters stand side by side, with as many for each bar.
        upright = len(labels) * max(map(len, labels)) > 36
        ax.tick_params(axis="x", labelsize="small", rotation=90 if upright else 0)
    ax.axhline(0, color=GREY, lw=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(as_label(name), fontsize="medium")


def _areas(release):
    """Return the expected AUC of each pair of classes with its interval, or None."""
    linear = release.linear
    if linear is None or linear.expected_auc is None:
        return None
    first, second = np.triu_indices(len(release.classes), 1)
    labels = [_text(label) for label in release.classes.tolist()]
    low, high = linear.auc_interval
    return pd.DataFrame(
        {
            "classes": [
                f"{labels[a]} and {labels[b]}" for a, b in zip(first, second, strict=True)
            ],
            "value": linear.expected_auc[first, second],
            "low": low[first, second],
            "high": high[first, second],
        }
    )


def _placed(release, table, max_columns):
    """Return where means of columns lie between public bounds, and shares of categories."""
    scale = _scales(release)
    table = table[table["class"].notna()]
    lines = []
    for row in table.itertuples():
        label, ends = row[3], np.array([row.value, row.low, row.high])
        if row.statistic in ("mean", "geometric mean") and row.column in scale:
            bounds, place = scale[row.column]
            lines.append((f"{row.column} ({bounds})", label, *place(ends)))
        elif str(row.statistic).startswith("share of "):
            category = row.statistic.removeprefix("share of ")
            lines.append((f"{row.column} = {category:.20}", label, *np.clip(ends, 0, 1)))
    if not lines:
        return None
    places = pd.DataFrame(lines, columns=["column", "class", "value", "low", "high"])
    values = places.groupby("column", sort=False)["value"]
    shown = set((values.max() - values.min()).nlargest(max_columns).index)
    return places[places["column"].isin(shown)].reset_index(drop=True)


def _scales(release):
    """Return, by name of a column of numbers, its bounds as text and its public scale."""
    if release.encoder is not None:
        return {
            column.name: (f"{column.low:g} to {column.high:g}", column.positions)
            for column in release.encoder.columns
            if hasattr(column, "low")
        }
    if release.bounds is None:
        return {}
    names = release.feature_names
    names = [f"x{j}" for j in range(release.n_features)] if names is None else names.tolist()
    low, high = np.broadcast_arrays(*release.bounds)
    return {
        name: (f"{a:g} to {b:g}", _between(a, b))
        for name, a, b in zip(map(str, names), low.tolist(), high.tolist(), strict=True)
    }


def _between(low, high):
    return lambda values: np.clip((values - low) / (high - low), 0, 1)


def _draw_intervals(ax, labels, table, color):
    """Draw a dot with an interval for each line of a table."""
    places = np.arange(len(table))
    xerr = reach(table, "value")
    ax.errorbar(table["value"], places, xerr=xerr, fmt="o", color=color, capsize=3)
    ax.set_yticks(places, map(as_label, labels))
    ax.set_ylim(len(table) - 0.5, -0.5)


def _text(label, most=20):
    text = f"{label:g}" if isinstance(label, float) else str(label)
    return text[:most]
