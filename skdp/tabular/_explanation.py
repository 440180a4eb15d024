"""What decided a prediction, as a value: columns, ranges and their effects."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from skdp.utils._validation import inline

# Columns of the greatest effects to print where no single one changes the class: a rule of thumb.
_MOST = 3


@dataclass(frozen=True)
class ColumnEffect:
    """What one column of a row does to its prediction, moved alone with the others as they are.

    Parameters
    ----------
    name : str
        Of the column.

    value : float, str or None
        What the row has there, in the unit of the schema; None if it is missing or unknown.

    effect : float
        Log-odds of the predicted class against the runner-up, less their mean over all public
        values of the column. Above zero where the value makes the prediction
        likelier.

    otherwise : tuple
        Classes that other public values of the column lead to. Empty if none changes the
        prediction.

    low, high : float or None, default=None
        Range of a number, in its unit, around the value, in which the prediction stays; just
        beyond it changes, unless the public bounds end there. None for categories, and where the
        number is missing.

    bounds : tuple of two floats, default=()
        Public bounds of a number; empty for categories.

    values : tuple, default=()
        Categories with which the prediction stays, with None for missing ones; empty for numbers.

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
    otherwise: tuple
    low: float | None = None
    high: float | None = None
    bounds: tuple = ()
    values: tuple = ()
    changing: tuple = ()

    def __str__(self):
        """Return the condition under which the prediction stays."""
        name = inline(self.name)
        if self.value is None:
            return f"{name} is missing"
        if not self.bounds:
            if len(self.values) <= len(self.changing):
                return f"{name} is {_any_of(self.values)}"
            return f"{name} is not {_any_of(self.changing)}"
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
    """Which columns decided the prediction of a row, and within which ranges it stays.

    Prints as a rule. Numbers are rounded to four digits there, and exact in the attributes.

    Parameters
    ----------
    label : object
        The predicted class.

    probability : float
        Its probability.

    runner_up : object
        The next probable class; None if there is one class only.

    odds : float
        Probability of the class, as a multiple of that of the runner-up.

    columns : tuple of ColumnEffect
        All columns; first those that can change the prediction, each part by the size of its
        effect.

    named : tuple of str
        Names of the columns that the rule names. Each can change the prediction by itself, and
        within their ranges together it mostly stays. Others may be able to change it as well.

    precision : float or None
        Share of rows for which the prediction stays when all named columns move at once within
        their ranges, others as they are: the precision of Ribeiro, Singh and Guestrin (2018), with
        values spread evenly over the ranges; at least .95 where several columns are named. None
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
    columns: tuple
    named: tuple
    precision: float | None

    def to_frame(self):
        """Return one row for each column.

        Returns
        -------
        frame : DataFrame of shape (n_columns, 7)
            By name: ``value``, ``effect``, ``low``, ``high``, ``values``, ``otherwise``, see
            :class:`ColumnEffect`, and ``condition``, empty where nothing changes the prediction.
        """
        parts = ("value", "effect", "low", "high", "values", "otherwise")
        table = [
            {part: getattr(column, part) for part in parts}
            | {"condition": str(column) if column.otherwise else ""}
            for column in self.columns
        ]
        return pd.DataFrame(table, index=[column.name for column in self.columns])

    def __str__(self):
        if self.runner_up is None:
            return f"{self.label!r}, the only class"
        result = (
            f"{self.label!r} (probability {self.probability:.2f}, {self.odds:.3g} times that of "
            f"{self.runner_up!r})"
        )
        if not self.named:
            most = ", ".join(f"{inline(c.name)} ({c.effect:+.2g})" for c in self.columns[:_MOST])
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
        lines += [f"one of these alone could change it as well: {_first_of(able)}"] * bool(able)
        lines += [f"none of these alone could change it: {_first_of(idle)}"] * bool(idle)
        return "\n".join(lines)


def _number(value):
    """Return a number with four digits, and all of them before the decimal point."""
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def _any_of(values):
    texts = ["missing" if value is None else f"{value!r}" for value in values]
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _first_of(names, shown=10):
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(map(inline, names[:shown])) + more
