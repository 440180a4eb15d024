"""Explanations of a prediction: each column is varied alone over its public values."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import qmc

from skdp.tabular._movable_columns import MovableColumn, movable_columns
from skdp.tabular._schema import Schema
from skdp.utils._frames import as_frame
from skdp.utils._html import as_html, grid
from skdp.utils._validation import inline, listed

# The step that contains a border is divided into so many parts, so many times: borders are then
# exact up to 1e-8 of the scale.
_N_PARTS, _N_ROUNDS = 32, 4


@dataclass(frozen=True)
class ColumnEffect:
    """The effect of one column of a row on its prediction, with the other columns fixed.

    Parameters
    ----------
    name : str
        Of the column.

    value : float, str or None
        The row's value, in the unit of the schema; None if it is missing or unknown.

    effect : float
        Log-odds of the predicted class against the runner-up, minus their mean over all public
        values of the column. Above zero where the value makes the prediction more likely.

    otherwise : tuple
        Classes that are predicted for other public values of the column. Empty if none changes the
        prediction.

    low, high : float or None, default=None
        Range of a number, in its unit, around the value, with the same prediction; it
        changes just beyond, unless the public bounds end there. None for categories, and where the
        number is missing.

    bounds : tuple of two floats, default=()
        Public bounds of a number; empty for categories.

    values : tuple, default=()
        Categories with the same prediction, with None for missing ones; empty for numbers.

    changing : tuple, default=()
        The other categories; empty for numbers.

    Examples
    --------
    >>> from skdp.tabular import ColumnEffect
    >>> age = ColumnEffect("age", 55.0, 1.2, ("dead",), low=18.0, high=62.5, bounds=(18.0, 99.0))
    >>> print(age)
    age is below 62.5
    """

    name: str
    value: Any
    effect: float
    otherwise: tuple[Any, ...]
    low: float | None = None
    high: float | None = None
    bounds: tuple[float, ...] = ()
    values: tuple[Any, ...] = ()
    changing: tuple[Any, ...] = ()

    @property
    def note(self) -> str:
        """The condition under which the prediction stays; empty if nothing changes it."""
        return f"stays while {self}" if self.otherwise else ""

    def __str__(self) -> str:
        """Return the condition under which the prediction stays."""
        name = inline(self.name)
        if self.value is None:
            return f"{name} is missing"
        if not self.bounds:
            if len(self.values) <= len(self.changing):
                return f"{name} is {_any_of(self.values)}"
            return f"{name} is not {_any_of(self.changing)}"
        assert self.low is not None  # as of every number that is there
        assert self.high is not None
        above, below = self.low > self.bounds[0], self.high < self.bounds[1]
        if above and below:
            return f"{name} is between {_number(self.low)} and {_number(self.high)}"
        if above:
            return f"{name} is above {_number(self.low)}"
        if below:
            return f"{name} is below {_number(self.high)}"
        return f"{name} is not missing"


@dataclass(frozen=True)
class Explanation:
    """The columns that decided the prediction of a row, and the ranges in which it holds.

    Prints as a rule. Numbers are rounded to four digits there, and exact in the attributes.

    Parameters
    ----------
    label : object
        The predicted class.

    probability : float
        Its probability.

    runner_up : object
        The second most probable class; None if there is only one class.

    odds : float
        Probability of the class, as a multiple of that of the runner-up.

    columns : tuple of ColumnEffect
        All columns: first those that can change the prediction, then the others, each sorted by
        the size of their effects.

    named : tuple of str
        Names of the columns in the rule. Each can change the prediction alone, and
        within all their ranges it mostly stays the same. Other columns may be able to change it
        too.

    precision : float or None
        Share of rows with the same prediction when all named columns vary together within
        their ranges and the others are fixed: the precision of Ribeiro, Singh and Guestrin (2018),
        with values spread evenly over the ranges; at least .95 if several columns are named. None
        if none is.

    See Also
    --------
    skdp.tabular.explain_prediction : Finds it.

    Examples
    --------
    >>> from skdp.tabular import ColumnEffect, Explanation
    >>> age = ColumnEffect("age", 55.0, 1.2, ("dead",), low=18.0, high=62.5, bounds=(18.0, 99.0))
    >>> print(Explanation("alive", 0.8, "dead", 4.0, (age,), ("age",), 1.0))
    if age is below 62.5, then 'alive' (probability 0.80, 4 times that of 'dead')
    with the other columns as they are, this holds for 100% of the rows that meet it
    """

    label: Any
    probability: float
    runner_up: Any
    odds: float
    columns: tuple[ColumnEffect, ...]
    named: tuple[str, ...]
    precision: float | None

    @property
    def result(self) -> str:
        """The prediction and its probability as text."""
        return f"{self.label!s:.40}, with probability {self.probability:.2f}"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each column.

        Returns
        -------
        frame : DataFrame of shape (n_columns, 7)
            By name: ``value``, ``effect``, ``low``, ``high``, ``values``, ``otherwise``, see
            :class:`ColumnEffect`, and ``condition``, empty where nothing changes the prediction.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp.tabular import explain_prediction
        >>> def scores(X):
        ...     return np.column_stack([np.zeros(len(X)), 8 * X[:, 0] - 4])
        >>> explanation = explain_prediction(scores, [0.75], ["no", "yes"], names=["dose"])
        >>> explanation.to_frame()["condition"].tolist()
        ['dose is above 0.5']
        """
        parts = ("value", "effect", "low", "high", "values", "otherwise")
        table = [
            {part: getattr(column, part) for part in parts}
            | {"condition": str(column) if column.otherwise else ""}
            for column in self.columns
        ]
        return pd.DataFrame(table, index=[column.name for column in self.columns])

    def __str__(self) -> str:
        if self.runner_up is None:
            return f"{self.label!r}, the only class"
        result = (
            f"{self.label!r} (probability {self.probability:.2f}, {self.odds:.3g} times that of "
            f"{self.runner_up!r})"
        )
        if not self.named:
            most = ", ".join(f"{inline(c.name)} ({c.effect:+.2g})" for c in self.columns[:3])
            return (
                f"{result}, whatever any single column changes to\n"
                f"greatest effects, in log-odds: {most}"
            )
        conditions = " and ".join(str(c) for c in self.columns if c.name in self.named)
        others = [column for column in self.columns if column.name not in self.named]
        able = [column.name for column in others if column.otherwise]
        idle = [column.name for column in others if not column.otherwise]
        lines = [
            f"if {conditions}, then {result}",
            "with the other columns as they are, this holds for "
            f"{self.precision:.0%} of the rows that meet it",
        ]
        if able:
            lines.append(
                f"one of these alone could change it as well: {listed(able, show=inline)}"
            )
        if idle:
            lines.append(f"none of these alone could change it: {listed(idle, show=inline)}")
        return "\n".join(lines)

    def _repr_html_(self):
        names = ["column", "value", "effect", "the prediction stays while"]
        rows = (
            (c.name, c.value, round(c.effect, 3), str(c) if c.otherwise else "")
            for c in self.columns
        )
        return f"<p>{as_html(self)}</p>{grid(names, rows)}"


def _number(value):
    """Return a number with four digits, and all of them before the decimal point."""
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def _any_of(values):
    texts = ["missing" if value is None else f"{value!r}" for value in values]
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def explain_prediction(
    scores: Callable[[np.ndarray], np.ndarray],
    x: ArrayLike,
    classes: ArrayLike,
    *,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    names: ArrayLike | None = None,
    n_columns: int = 5,
) -> Explanation:
    r"""Find the columns that decided a prediction, and the ranges in which it holds.

    Every column is varied alone over its public values, with the others fixed. This needs neither
    training rows nor more of the model than its scores. The effect of a column is the difference
    between the log-odds and their mean over its values (Robnik-Šikonja and Kononenko 2008),

    .. math:: \log\frac{P(c | x)}{P(d | x)}
       - \mathrm{mean}_v \log\frac{P(c | x_{j=v})}{P(d | x_{j=v})}

    with c the predicted class, d the runner-up, and v evenly spread over the scale of a number or
    the categories. A column that the model does not use has no effect and is never named. The
    rule names columns that can change the prediction alone, those with the largest effects
    first, as long as their ranges hold together.

    Parameters
    ----------
    scores : callable
        ``scores(X)`` returns log-probabilities of the classes, up to a constant in each row, of
        shape (n_samples, n_classes), for encoded rows X.

    x : array-like of shape (n_encoded,)
        The encoded row.

    classes : array-like of shape (n_classes,)
        Labels.

    schema : Schema, mapping, str, path-like or None, default=None
        The schema that encoded the row, in any form that :class:`~skdp.TabularEncoder` takes. None
        means numbers in [0, 1], or up to the row's own value where it lies beyond.

    names : array-like of shape (n_encoded,) or None, default=None
        Names of the encoded columns: used without a schema, otherwise checked.

    n_columns : int, default=5
        Largest number of columns in the rule.

    Returns
    -------
    explanation : Explanation

    Raises
    ------
    ValueError
        When the schema has other encoded columns than the row.

    Examples
    --------
    Only age matters, and at 60 both classes are equally probable:

    >>> import numpy as np
    >>> from skdp.tabular import explain_prediction
    >>> schema = {
    ...     "age": {"type": "numeric", "low": 20, "high": 100},
    ...     "ward": {"type": "category", "categories": ["A", "B", "C"]},
    ... }
    >>> def scores(X):
    ...     return np.column_stack([np.zeros(len(X)), 8 * X[:, 0] - 4])
    >>> x = [0.75, 0, 1, 0]
    >>> explanation = explain_prediction(scores, x, ["alive", "dead"], schema=schema)
    >>> print(explanation)
    if age is above 60, then 'dead' (probability 0.88, 7.39 times that of 'alive')
    with the other columns as they are, this holds for 100% of the rows that meet it
    none of these alone could change it: ward
    >>> explanation.to_frame()[["value", "effect", "low", "high"]].round(3)
         value  effect   low   high
    age   80.0     2.0  60.0  100.0
    ward     B     0.0   NaN    NaN
    """
    x = np.asarray(as_frame(x, "x"), dtype=np.float64).ravel()
    labels = np.asarray(classes).tolist()
    [at_row] = scores(x[np.newaxis])
    best = np.argsort(-at_row, kind="stable")[:2]
    decision = _Decision(scores, x, labels, best[0], best[-1])
    effects = [decision.effect_of(column) for column in movable_columns(x, schema, names)]
    effects.sort(key=lambda pair: (not pair[0].otherwise, -abs(pair[0].effect)))
    named, precision = decision.rule([pair for pair in effects if pair[0].otherwise], n_columns)
    weights = np.exp(at_row - at_row[best[0]])
    return Explanation(
        label=labels[best[0]],
        probability=float(1 / weights.sum()),
        runner_up=labels[best[1]] if len(best) > 1 else None,
        odds=float(np.exp(min(decision.margin, 700.0))),  # beyond, they overflow
        columns=tuple(effect for effect, _ in effects),
        named=named,
        precision=precision,
    )


@dataclass(frozen=True)
class _Region:
    """Where the prediction stays: between two positions, or at some blocks."""

    column: MovableColumn
    ends: tuple | None
    blocks: np.ndarray

    def blocks_at(self, shares):
        """Return encoded values for shares of the region in [0, 1), (n_shares, width)."""
        if self.ends is not None:
            low, high = self.ends
            return self.column.encoded(low + shares * (high - low))
        return self.blocks[(shares * len(self.blocks)).astype(int)]


class _Decision:
    """The prediction of a row by scores, and what changes it."""

    def __init__(self, scores, x, classes, winner, rival):
        self.scores, self.x, self.classes = scores, x, classes
        self.winner, self.rival = winner, rival
        self.margin = self._outcomes(x[np.newaxis])[1][0]

    def _outcomes(self, rows):
        """Return the predicted class of rows, and the log-odds of winner against rival."""
        scores = self.scores(rows)
        return scores.argmax(axis=1), scores[:, self.winner] - scores[:, self.rival]

    def effect_of(self, column):
        """Return the effect of a column, and the region in which the prediction stays."""
        blocks = np.vstack([column.encoded(column.positions), column.others])
        winners, margins = self._outcomes(column.rows(self.x, blocks))
        n = len(column.positions)
        mean = margins[:n].mean() if n else margins.mean()
        changed = set(winners.tolist()) - {int(self.winner)}
        block = self.x[column.place]
        stays = winners == self.winner
        part, region = (self._range if n else _categories)(column, block, stays)
        effect = ColumnEffect(
            name=column.name,
            effect=float(self.margin - mean),
            otherwise=tuple(self.classes[k] for k in sorted(changed)),
            **part,
        )
        return effect, region

    def _range(self, column, block, stays):
        """Return what is to be said of a number, and its region."""
        first, last = column.decode(column.positions[[0, -1]]).tolist()
        if column.index_of(block) is not None:
            part = {"value": None, "bounds": (first, last)}
            return part, _Region(column, None, block[np.newaxis])
        ends = self._ends(column, block[0], stays[: len(column.positions)])
        value, low, high = column.decode(np.array([block[0], *ends])).tolist()
        part = {"value": value, "low": low, "high": high, "bounds": (first, last)}
        return part, _Region(column, ends, column.others)

    def _ends(self, column, start, stays):
        """Return the positions, below and above the start, up to which the prediction stays."""
        ends = []
        for side in (-1, 1):
            beyond = side * (column.positions - start) > 0
            points, kept = column.positions[beyond][::side], stays[beyond][::side]
            inner, outer = _first_step(start, points, kept)
            for _ in range(_N_ROUNDS if outer is not None else 0):
                points = np.linspace(inner, outer, _N_PARTS + 1)[1:]
                winners, _ = self._outcomes(column.rows(self.x, column.encoded(points)))
                # The last one was tried before; rounding in a larger batch must not undo that.
                kept = np.append(winners[:-1] == self.winner, False)
                inner, outer = _first_step(inner, points, kept)
            ends.append(inner)
        return tuple(ends)

    def rule(self, effects, n_columns):
        """Return the names of columns whose ranges hold together, and their precision."""
        # Each range holds by itself. A column joins the rule if the prediction still stays when it
        # and those before it move together.
        named: list[str] = []
        regions: list[_Region] = []
        precision = None
        for effect, region in effects:
            if len(named) == n_columns:
                break
            together = self.precision([*regions, region])
            if not named or together >= 0.95:  # as Ribeiro, Singh and Guestrin (2018)
                named.append(effect.name)
                regions.append(region)
                precision = together
        return tuple(named), precision

    def precision(self, regions):
        """Return for what share of rows within all regions the prediction stays."""
        # Evenly spread; their number is a rule of thumb.
        shares = qmc.Halton(len(regions), scramble=False).random(512)
        rows = np.repeat(self.x[np.newaxis], 512, axis=0)
        for region, share in zip(regions, shares.T, strict=True):
            rows[:, region.column.place] = region.blocks_at(share)
        return float(np.mean(self._outcomes(rows)[0] == self.winner))


def _categories(column, block, stays):
    """Return what is to be said of a category, and its region."""
    index = column.index_of(block)
    if index is not None:
        stays[index] = True  # rounding in a larger batch may break a tie
    labels = list(zip(column.labels, stays, strict=True))
    part = {
        "value": None if index is None else column.labels[index],
        "values": tuple(label for label, kept in labels if kept),
        "changing": tuple(label for label, kept in labels if not kept),
    }
    # What is unknown is none of the categories, and stays.
    kept = block[np.newaxis] if index is None else column.others[stays]
    return part, _Region(column, None, kept)


def _first_step(start, points, kept):
    """Return the last point that is kept and the first that is not, None if all are."""
    if kept.all():
        return (points[-1] if len(points) else start), None
    first = int(np.argmin(kept))
    return (points[first - 1] if first else start), points[first]
