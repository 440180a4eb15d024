"""What columns contribute to one prediction, and to many."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skdp.displays._base import GREY, OKABE_ITO, Display, as_label, require_kind, write_beside
from skdp.utils._frames import as_frame
from skdp.utils._sklearn import safe_indexing


@dataclass(eq=False, repr=False)
class ExplanationDisplay(Display):
    """What the columns contribute to a prediction, or to those of many rows.

    Of one row: a bar for each column, to the right where its value makes the predicted class
    likelier, or the number larger; beside it the range in which the prediction stays, where
    another value of this column alone would change it, or the numbers that those would give. Of
    many rows: a dot for each row and column, the columns of the largest mean contribution first,
    colored by the place of the number among those of the other rows.

    Contributions are computed from the explained rows without noise. Do not publish the plot where
    these are private.

    Parameters
    ----------
    effects : DataFrame
        A line for each ``row`` and ``column``, with the ``value``, its ``effect`` on log-odds or
        the number, and the ``note`` that is written beside it, which may be empty.

    about : str
        What is added to: for the axis.

    title : str or None, default=None

    Attributes
    ----------
    importances : Series
        Mean absolute effect by column, in descending order.

    ax_ : matplotlib.axes.Axes
        The axes, set by :meth:`plot`.

    figure_ : matplotlib.figure.Figure
        Of the axes.

    bars_ : matplotlib.container.BarContainer or None
        Of one row: one for each column.

    dots_ : list of matplotlib.collections.PathCollection
        Of many rows: one for each column.

    See Also
    --------
    skdp.DPTransferClassifier.explain : Explains one row.
    skdp.DPTransferRegressor.explain : The same for a number.
    skdp.tabular.explain_prediction : Explains any scores.
    skdp.tabular.explain_number : Explains any regressor.

    Examples
    --------
    >>> from skdp.displays import ExplanationDisplay
    >>> from skdp.tabular import ColumnEffect, Explanation
    >>> age = ColumnEffect("age", 55.0, 1.2, ("dead",), low=18.0, high=62.5, bounds=(18.0, 99.0))
    >>> explanation = Explanation("alive", 0.8, "dead", 4.0, (age,), ("age",), 1.0)
    >>> display = ExplanationDisplay.from_explanation(explanation).plot()
    >>> display.title
    'alive, with probability 0.80'
    """

    effects: pd.DataFrame
    about: str
    title: str | None = None

    _instead = "the table of explain(x).to_frame()"

    @classmethod
    def from_explanation(cls, explanation: Any, *, positive: Any = None) -> Self:
        """Return the display of one explanation, or of several.

        Parameters
        ----------
        explanation : Explanation, NumberExplanation, or a sequence of one of these
            As ``explain`` of an estimator, :func:`~skdp.tabular.explain_prediction` and
            :func:`~skdp.tabular.explain_number` return them.

        positive : label or None, default=None
            Of several rows and two classes: the class whose log-odds effects are added to; None:
            the last of the two. Of three classes or more effects remain those on the predicted
            class against the runner-up of each row.

        Returns
        -------
        display : ExplanationDisplay

        Raises
        ------
        ValueError
            When they are something else, or this is not one of the classes.
        """
        owner = "ExplanationDisplay.from_explanation"
        several = isinstance(explanation, list | tuple)
        explanations = list(explanation) if several else [explanation]
        for one in explanations:
            wanted = "an Explanation, a NumberExplanation, or a list of these"
            require_kind(owner, "explanation", one, ("columns", "result"), wanted)
        if not explanations:
            raise ValueError(f"The 'explanation' parameter of {owner} has no rows.")
        if len({hasattr(one, "label") for one in explanations}) > 1:
            raise ValueError(f"The 'explanation' parameter of {owner} mixes classes and numbers.")
        if hasattr(explanations[0], "label"):
            signs, about = _towards(owner, explanations, positive, several)
        else:
            signs, about = [1] * len(explanations), "adds to the predicted number"
        lines = [
            (row, c.name, c.value, sign * c.effect, c.note)
            for row, (one, sign) in enumerate(zip(explanations, signs, strict=True))
            for c in one.columns
        ]
        names = ["row", "column", "value", "effect", "note"]
        title = None if several else explanation.result
        return cls(pd.DataFrame(lines, columns=names), about, title)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike | pd.DataFrame, *, positive: Any = None
    ) -> Self:
        """Return the display of the predictions of rows.

        Parameters
        ----------
        estimator : DPTransferClassifier, DPTransferRegressor, Release or DeepFuzzyClassifier
            Fitted, with ``explain``.

        X : DataFrame or array-like of shape (n_samples, n_features)
            The rows, each of which is explained: some dozens show what many would.

        positive : label or None, default=None
            See :meth:`from_explanation`.

        Returns
        -------
        display : ExplanationDisplay
            Of one row as of one explanation.

        Raises
        ------
        ValueError
            When it cannot explain, or this is not one of the classes.
        """
        owner = "ExplanationDisplay.from_estimator"
        wanted = "a fitted estimator with explain, such as DPTransferClassifier"
        require_kind(owner, "estimator", estimator, ("explain",), wanted)
        X = as_frame(X)
        rows = X if isinstance(X, pd.DataFrame) else np.asarray(X)
        explained = [estimator.explain(safe_indexing(rows, [k])) for k in range(len(rows))]
        explanation = explained[0] if len(explained) == 1 else explained
        return cls.from_explanation(explanation, positive=positive)

    @property
    def importances(self) -> pd.Series:
        """Mean absolute effect by column, in descending order."""
        means = self.effects["effect"].abs().groupby(self.effects["column"], sort=False).mean()
        return means.sort_values(ascending=False, kind="stable")

    def plot(self, ax: Any = None, *, max_columns: int = 12) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw. By default a new figure.

        max_columns : int, default=12
            Columns that are drawn, those of the largest contribution first.

        Returns
        -------
        display : ExplanationDisplay
            Itself.

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).
        """
        names = self.importances.index[:max_columns].tolist()
        [ax] = self._take_axes(ax, figsize=(7.5, 1.2 + 0.34 * len(names)))
        ax.axvline(0, color=GREY, lw=0.8)
        self.bars_: Any = None
        self.dots_: list[Any] = []
        if self.effects["row"].nunique() == 1:
            self._draw_bars(ax, self.effects.set_index("column").loc[names])
        else:
            self._draw_dots(ax, names)
        ax.set(ylim=(len(names) - 0.4, -0.6), xlabel=as_label(self.about))
        ax.spines[["top", "right"]].set_visible(False)
        if self.title is not None:
            ax.set_title(as_label(self.title), loc="left")
        return self

    def _draw_bars(self, ax, table):
        colors = [OKABE_ITO[0] if effect >= 0 else OKABE_ITO[1] for effect in table["effect"]]
        places = np.arange(len(table))
        self.bars_ = ax.barh(places, table["effect"], color=colors)
        names = [f"{name} = {_value(v)}" for name, v in table["value"].items()]
        ax.set_yticks(places, map(as_label, names))
        for place, text in zip(places, table["note"], strict=True):
            write_beside(ax, place, as_label(f"{text:.72}"), va="center")

    def _draw_dots(self, ax, names):
        for place, name in enumerate(names):
            part = self.effects[self.effects["column"] == name]
            order = np.argsort(np.argsort(part["effect"], kind="stable"))
            # Dots of similar effects are next to each other in this order, and spread so.
            heights = place + 0.32 * (2 * (order * 0.618 % 1) - 1)
            ranks = _ranks(part["value"])
            color = {"c": ranks, "cmap": "cividis", "vmin": 0, "vmax": 1}
            if ranks is None:
                color = {"color": GREY}
            self.dots_.append(ax.scatter(part["effect"], heights, s=12, alpha=0.8, lw=0, **color))
        ax.set_yticks(range(len(names)), map(as_label, names))
        numbers = [dots for dots in self.dots_ if dots.get_array() is not None]
        if numbers:
            bar = self.figure_.colorbar(numbers[0], ax=ax, ticks=[0, 1], pad=0.02, aspect=30)
            bar.set_ticklabels(["lowest", "highest"], fontsize="small")
            bar.set_label("number (categories: gray)", fontsize="small", labelpad=-20)
            bar.solids.set_alpha(1)


def _towards(owner, explanations, positive, several):
    """Return the sign of the effects of each explanation, and what they are added to."""
    labels = {label for one in explanations for label in (one.label, one.runner_up)} - {None}
    if positive is not None and positive not in labels:
        raise ValueError(
            f"The 'positive' parameter of {owner} must be one of the classes "
            f"{sorted(labels, key=str)!r:.200}, got {positive!r:.100}."
        )
    if not several and positive is None:
        [one] = explanations
        return [1], f"adds to the log-odds of {one.label!s:.20} against {one.runner_up!s:.20}"
    if len(labels) > 2:
        return [1] * len(explanations), "adds to the log-odds of the predicted class"
    positive = sorted(labels)[-1] if positive is None else positive
    signs = [1 if explanation.label == positive else -1 for explanation in explanations]
    return signs, f"adds to the log-odds of {positive!s:.30}"


def _value(value):
    if pd.isna(value):
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else f"{value!s:.20}"


def _ranks(values):
    """Return the place of each number among the others, from 0 to 1; None of categories."""
    numbers = [value for value in values if not pd.isna(value)]
    if not numbers or not all(isinstance(value, int | float) for value in numbers):
        return None
    ranks = pd.Series(values, dtype=float).rank()
    places = (ranks - ranks.min()) / (ranks.max() - ranks.min())
    return places.fillna(0.5).to_numpy()  # of missing ones, and where all are equal
