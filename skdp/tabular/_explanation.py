"""Explanations of predictions: each column is varied over its public values."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skdp.tabular._movable_columns import movable_columns
from skdp.tabular._schema import Schema
from skdp.utils._frames import as_frame
from skdp.utils._html import as_html, grid
from skdp.utils._validation import inline

# Number of columns that the text of an explanation names, by size of their effects.
_SHOWN = 5
_RELATIVE = "relative to the average value of each column"


@dataclass(frozen=True)
class ColumnEffect:
    """The effect of one column of a row on its prediction, with the other columns fixed.

    All three figures are on one scale, relative to the mean over the public values of the column:
    in the unit of a number, as log-odds of the class that :class:`Explanation` names, or as
    log-hazard of a time.

    Parameters
    ----------
    name : str
        Name of the column.

    value : float, str or None
        The row's value, in the unit of the schema; None if it is missing or unknown.

    effect : float
        What the row's value adds.

    least, most : float
        The least and the most that a value of the column would add.

    Examples
    --------
    >>> from skdp.tabular import ColumnEffect
    >>> print(ColumnEffect("age", 55.0, 1.25, -3.0, 8.5))
    age is 55: +1.25 (its values: -3 to +8.5)
    """

    name: str
    value: Any
    effect: float
    least: float
    most: float

    def __str__(self) -> str:
        value = "missing" if self.value is None else self.value
        value = f"{value:.4g}" if isinstance(value, float) else inline(str(value))
        what = f"{inline(self.name)} is {value}: "
        if self.least == self.most:
            return f"{what}no effect"
        return f"{what}{self.effect:+.3g} (its values: {self.least:+.3g} to {self.most:+.3g})"


@dataclass(frozen=True)
class Explanation:
    """The contributions of the columns of a row to its prediction.

    Parameters
    ----------
    prediction : object
        The predicted class or number, or the log-hazard of a time.

    probability : float or None
        Probability of the class; None for numbers.

    runner_up : object
        The second most probable class; None for numbers and for a single class.

    deviation : float
        Standard deviation of the number about its prediction; NaN if unknown.

    columns : tuple of ColumnEffect
        All columns, sorted by the size of their effects.

    unit : str, default=""
        What the number is, such as "log-hazard".

    towards : object, default=None
        The class whose log-odds rise with the effects: the second of two classes in any
        explanation, the predicted one of several; None for numbers.

    See Also
    --------
    skdp.tabular.explain_prediction : Returns it.

    Examples
    --------
    >>> from skdp.tabular import ColumnEffect, Explanation
    >>> age = ColumnEffect("age", 55.0, 1.25, -3.0, 8.5)
    >>> print(Explanation("alive", 0.8, "dead", float("nan"), (age,), towards="dead"))
    'alive', with probability 0.80. Added to the log-odds of 'dead' (against 'alive'),
    relative to the average value of each column:
    age is 55: +1.25 (its values: -3 to +8.5)
    """

    prediction: Any
    probability: float | None
    runner_up: Any
    deviation: float
    columns: tuple[ColumnEffect, ...]
    unit: str = field(default="", kw_only=True)
    towards: Any = field(default=None, kw_only=True)

    @property
    def against(self) -> Any:
        """object: the class whose log-odds fall with the effects; None for numbers."""
        if self.probability is None:
            return None
        return self.runner_up if self.towards == self.prediction else self.prediction

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per column.

        Returns
        -------
        frame : DataFrame of shape (n_columns, 4)
            By name: ``value``, ``effect``, ``least``, ``most``; see :class:`ColumnEffect`.

        Examples
        --------
        >>> from skdp.tabular import explain_prediction
        >>> explain_prediction(lambda X: 10 * X[:, 0], [0.75], names=["dose"]).to_frame()
              value  effect  least  most
        dose   0.75     2.5   -5.0   5.0
        """
        parts = ("value", "effect", "least", "most")
        table = [{part: getattr(column, part) for part in parts} for column in self.columns]
        return pd.DataFrame(table, index=[column.name for column in self.columns])

    def _result(self):
        """Return the prediction as text."""
        if self.probability is not None:
            what = f"{self.prediction!r:.60}, with probability {self.probability:.2f}"
            scale = f"the log-odds of {self.towards!r:.60} (against {self.against!r:.60})"
            return f"{what}. Added to {scale},\n{_RELATIVE}:"
        what = f"{self.unit} {self.prediction:.4g}".lstrip()
        if not np.isnan(self.deviation):
            what += f", with a standard deviation of {self.deviation:.3g}"
        return f"{what}. Added to it, {_RELATIVE}:"

    def __str__(self) -> str:
        if self.probability is not None and self.runner_up is None:
            return f"{self.prediction!r}, the only class"
        lines = [self._result(), *map(str, self.columns[:_SHOWN])]
        more = len(self.columns) - _SHOWN
        return "\n".join(
            [*lines, f"and {more} more column{'s' * (more > 1)}"] if more > 0 else lines
        )

    def _repr_html_(self):
        names = ["column", "value", "effect", "least", "most"]
        rows = (
            (c.name, c.value, *(f"{number:.4g}" for number in (c.effect, c.least, c.most)))
            for c in self.columns
        )
        return f"<p>{as_html(self._result())}</p>{grid(names, rows)}"


def explain_prediction(
    predict: Callable[[np.ndarray], np.ndarray],
    x: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    names: ArrayLike | None = None,
    deviation: float = np.nan,
    unit: str = "",
) -> Explanation:
    r"""Compute the contributions of the columns of a row to its prediction.

    Every column is varied over its public values, with the others fixed. This needs no
    training rows, and only predictions of the model. The effect of a column is the
    difference between the prediction and its mean over these values (Robnik-Šikonja and Kononenko
    2008),

    .. math:: f(x) - \mathrm{mean}_v f(x_{j=v}),

    with v evenly spread over the scale of a number, or the categories. f is the predicted number,
    or the log-odds of the second of two classes, whichever is predicted; of several classes, the
    predicted one against the runner-up. If f is a sum of functions of single columns, so are the
    effects.

    Parameters
    ----------
    predict : callable
        ``predict(X)`` returns, for encoded rows X, numbers of shape (n_samples,); with
        ``classes``, log-probabilities up to a constant per row, of shape (n_samples, n_classes).

    x : array-like of shape (n_encoded,)
        The encoded row.

    classes : array-like of shape (n_classes,) or None, default=None
        Labels; None for numbers.

    schema : Schema, mapping, str, path-like or None, default=None
        The schema that encoded the row, in any form that :class:`~skdp.TabularEncoder` takes. None
        means numbers in [0, 1], or up to the row's own value if it lies beyond.

    names : array-like of shape (n_encoded,) or None, default=None
        Names of the encoded columns, needed without a schema; otherwise checked.

    deviation : float, default=nan
        Standard deviation of the number about its prediction; it is passed on.

    unit : str, default=""
        What the number is, such as "log-hazard"; it is passed on.

    Returns
    -------
    explanation : Explanation

    Raises
    ------
    ValueError
        If the schema has other encoded columns than the row.

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
    >>> print(explain_prediction(scores, [0.75, 0, 1, 0], ["alive", "dead"], schema=schema))
    'dead', with probability 0.88. Added to the log-odds of 'dead' (against 'alive'),
    relative to the average value of each column:
    age is 80: +2 (its values: -4 to +4)
    ward is B: no effect
    """
    x = np.asarray(as_frame(x, "x"), dtype=np.float64).ravel()
    columns = movable_columns(x, schema, names)
    [at_row] = np.asarray(predict(x[np.newaxis]))
    values, towards = predict, None
    if classes is None:
        prediction, probability, runner_up = float(at_row), None, None
    else:
        labels = np.asarray(classes).tolist()
        best = np.argsort(-at_row, kind="stable")[:2]
        prediction, runner_up = labels[best[0]], labels[best[1]] if len(best) > 1 else None
        probability = float(1 / np.exp(at_row - at_row[best[0]]).sum())

        first, last = (1, 0) if len(labels) == 2 else best[[0, -1]]
        towards = labels[first]

        def values(rows):
            scores = predict(rows)
            return scores[:, first] - scores[:, last]

    effects = [_effect(column, values, x) for column in columns]
    effects.sort(key=lambda column: -abs(column.effect))
    facts = prediction, probability, runner_up, float(deviation), tuple(effects)
    return Explanation(*facts, unit=unit, towards=towards)


def _effect(column, predict, x):
    """Return the effect of one column."""
    places = column.encoded(column.positions)
    block, n = x[column.place], len(places)
    # In the same batch the row itself has the same rounding.
    blocks = np.vstack([places, column.others, block])
    *of_values, own = predict(column.rows(x, blocks))
    values = np.array(of_values[:n] if n else of_values)
    every = np.array([*of_values, own]) - (values.mean() if len(values) else own)
    figures = (float(figure) for figure in (every[-1], every.min(), every.max()))
    return ColumnEffect(column.name, column.value_of(block), *figures)
