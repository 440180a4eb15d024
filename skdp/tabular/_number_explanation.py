"""Explanations of a predicted number: each column is varied alone over its public values."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skdp.tabular._movable_columns import movable_columns
from skdp.tabular._schema import Schema
from skdp.utils._frames import as_frame
from skdp.utils._html import as_html, grid
from skdp.utils._validation import inline

# Columns that the text of an explanation names, those of the largest effects.
_SHOWN = 5


@dataclass(frozen=True)
class NumberEffect:
    """The effect of one column of a row on a predicted number, with the other columns fixed.

    Parameters
    ----------
    name : str
        Of the column.

    value : float, str or None
        The row's value, in the unit of the schema; None if it is missing or unknown.

    effect : float
        The prediction, minus its mean over all public values of the column.

    least, most : float
        Smallest and largest prediction over the public values of the column.

    Examples
    --------
    >>> from skdp.tabular import NumberEffect
    >>> print(NumberEffect("age", 55.0, 1.25, 3.0, 8.5))
    age is 55: adds 1.25 (3 to 8.5 by other values)
    """

    name: str
    value: Any
    effect: float
    least: float
    most: float

    @property
    def note(self) -> str:
        """The predictions for all values of the column; empty if they are the same."""
        if self.least == self.most:
            return ""
        return f"{self.least:.4g} to {self.most:.4g} by other values"

    def __str__(self) -> str:
        value = "missing" if self.value is None else self.value
        value = f"{value:.4g}" if isinstance(value, float) else inline(str(value))
        what = f"{inline(self.name)} is {value}: adds {self.effect:.3g}"
        return f"{what} ({self.note})" if self.note else what


@dataclass(frozen=True)
class NumberExplanation:
    """What the columns of a row contribute to the number that is predicted for it.

    Parameters
    ----------
    prediction : float
        The predicted number.

    deviation : float
        Standard deviation of the number about its prediction; NaN where it is not known.

    columns : tuple of NumberEffect
        All columns, sorted by the size of their effects.

    See Also
    --------
    skdp.tabular.explain_number : Finds it.
    Explanation : The same for classes.

    Examples
    --------
    >>> from skdp.tabular import NumberEffect, NumberExplanation
    >>> age = NumberEffect("age", 55.0, 1.25, 3.0, 8.5)
    >>> print(NumberExplanation(6.5, 2.0, (age,)))
    6.5, with a standard deviation of 2
    age is 55: adds 1.25 (3 to 8.5 by other values)
    """

    prediction: float
    deviation: float
    columns: tuple[NumberEffect, ...]

    @property
    def result(self) -> str:
        """The prediction and its standard deviation as text."""
        if np.isnan(self.deviation):
            return f"{self.prediction:.4g}"
        return f"{self.prediction:.4g}, with a standard deviation of {self.deviation:.3g}"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each column.

        Returns
        -------
        frame : DataFrame of shape (n_columns, 4)
            By name: ``value``, ``effect``, ``least``, ``most``, see :class:`NumberEffect`.

        Examples
        --------
        >>> from skdp.tabular import explain_number
        >>> explain_number(lambda X: 10 * X[:, 0], [0.75], names=["dose"]).to_frame()
              value  effect  least  most
        dose   0.75     2.5    0.0  10.0
        """
        parts = ("value", "effect", "least", "most")
        table = [{part: getattr(column, part) for part in parts} for column in self.columns]
        return pd.DataFrame(table, index=[column.name for column in self.columns])

    def __str__(self) -> str:
        lines = [self.result, *map(str, self.columns[:_SHOWN])]
        more = len(self.columns) - _SHOWN
        return "\n".join([*lines, f"and {more} more columns"] if more > 0 else lines)

    def _repr_html_(self):
        names = ["column", "value", "effect", "smallest prediction", "largest prediction"]
        rows = (
            (c.name, c.value, *(f"{number:.4g}" for number in (c.effect, c.least, c.most)))
            for c in self.columns
        )
        return f"<p>{as_html(self.result)}</p>{grid(names, rows)}"


def explain_number(
    predict: Callable[[np.ndarray], np.ndarray],
    x: ArrayLike,
    *,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    names: ArrayLike | None = None,
    deviation: float = np.nan,
) -> NumberExplanation:
    r"""Find what the columns of a row contribute to its predicted number.

    Every column is varied alone over its public values, with the others fixed. The effect of a
    column is the difference between the prediction and its mean over these values
    (Robnik-Šikonja and Kononenko 2008),

    .. math:: f(x) - \mathrm{mean}_v f(x_{j=v}),

    v evenly spread over the scale of a number, or the categories. Where the prediction is a sum of
    functions of single columns, so are the effects.

    Parameters
    ----------
    predict : callable
        ``predict(X)`` returns numbers, of shape (n_samples,), for encoded rows X.

    x : array-like of shape (n_encoded,)
        The encoded row.

    schema : Schema, mapping, str, path-like or None, default=None
        The schema that encoded the row, in any form that :class:`~skdp.TabularEncoder` takes. None
        means numbers in [0, 1], or up to the row's own value where it lies beyond.

    names : array-like of shape (n_encoded,) or None, default=None
        Names of the encoded columns: used without a schema, otherwise checked.

    deviation : float, default=nan
        Standard deviation of the number about its prediction, which is only passed on.

    Returns
    -------
    explanation : NumberExplanation

    Raises
    ------
    ValueError
        When the schema has other encoded columns than the row.

    See Also
    --------
    explain_prediction : The same for classes.

    Examples
    --------
    >>> from skdp.tabular import explain_number
    >>> schema = {
    ...     "age": {"type": "numeric", "low": 20, "high": 100},
    ...     "ward": {"type": "category", "categories": ["A", "B", "C"]},
    ... }
    >>> explanation = explain_number(lambda X: 3 + 8 * X[:, 0], [0.75, 0, 1, 0], schema=schema)
    >>> print(explanation)
    9
    age is 80: adds 2 (3 to 11 by other values)
    ward is B: adds 0
    """
    x = np.asarray(as_frame(x, "x"), dtype=np.float64).ravel()
    columns = movable_columns(x, schema, names)
    prediction = float(predict(x[np.newaxis])[0])
    effects = [_effect(column, predict, x, prediction) for column in columns]
    effects.sort(key=lambda column: -abs(column.effect))
    return NumberExplanation(prediction, float(deviation), tuple(effects))


def _effect(column, predict, x, prediction):
    """Return the effect of one column."""
    places = column.encoded(column.positions)
    block, n = x[column.place], len(places)
    # In the same batch, the row itself differs by no rounding.
    blocks = np.vstack([places, column.others, block])
    *of_values, own = predict(column.rows(x, blocks))
    values = np.array(of_values[:n] if n else of_values)
    every = np.array([*of_values, own])
    return NumberEffect(
        column.name,
        column.value_of(block),
        float(own - values.mean()) if len(values) else 0.0,
        float(every.min()),
        float(every.max()),
    )
