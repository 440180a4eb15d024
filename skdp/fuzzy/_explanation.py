"""Fuzzy rules as sentences, and explanations of predictions by rules and columns."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from skdp.tabular import Explanation


@dataclass(frozen=True)
class FuzzyRule:
    """One rule of the classifier, SERUMS D3.1 (2019), equation (2.165).

    Parameters
    ----------
    participant : object
        Name of the participant from whose rows the fuzzy set was learned; None without names.

    label : object
        The class.

    Examples
    --------
    >>> from skdp.fuzzy import FuzzyRule
    >>> print(FuzzyRule("ward 3", "sitting"))
    if a row is like class 'sitting' of participant 'ward 3', then it is of class 'sitting'
    """

    participant: Any
    label: Any

    def __str__(self) -> str:
        whose = "" if self.participant is None else f" of participant {self.participant!r}"
        return f"if a row is like class {self.label!r}{whose}, then it is of class {self.label!r}"


@dataclass(frozen=True)
class FiredRule:
    """A rule with the degree to which it fires for a row.

    Parameters
    ----------
    membership : float
        Between 0 and 1: exp(−error/2p), with the squared error of the row's reconstruction. Close
        to 1 for all rules if rows have a small norm.

    rule : FuzzyRule
        The rule.

    share : float
        The degree relative to all rules: exp(−error/T), as in probabilities, divided by its sum
        over all rules.

    Examples
    --------
    >>> from skdp.fuzzy import FiredRule, FuzzyRule
    >>> print(FiredRule(0.999, FuzzyRule(None, 3), 0.75))
    0.7500: if a row is like class 3, then it is of class 3
    """

    membership: float
    rule: FuzzyRule
    share: float

    def __str__(self) -> str:
        return f"{self.share:.4f}: {self.rule}"


@dataclass(frozen=True)
class FuzzyExplanation(Explanation):
    """Explanation of a prediction of :class:`~skdp.DeepFuzzyClassifier`.

    An :class:`~skdp.tabular.Explanation` with additional information about fuzzy rules.

    Parameters
    ----------
    label, probability, runner_up, odds, columns, named, precision
        See :class:`~skdp.tabular.Explanation`.

    rules : tuple of FiredRule
        The rules, strongest first.

    error_differences : tuple of float
        For each of ``columns``, its squared error in the reconstruction by the runner-up minus
        that by the predicted class. They add up to the difference of the classes' errors, which
        decides the prediction with ``error_scale="shared"``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import DeepFuzzyClassifier
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = DeepFuzzyClassifier(5, 20, random_state=0).fit(X / 16, y)
    >>> explanation = model.explain(X[0] / 16)
    >>> explanation.label, explanation.rules[0].rule.label
    (0, 0)
    """

    rules: tuple[FiredRule, ...]
    error_differences: tuple[float, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each column.

        Returns
        -------
        frame : DataFrame of shape (n_columns, 8)
            As of :class:`~skdp.tabular.Explanation`, and ``error_difference``.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import DeepFuzzyClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> model = DeepFuzzyClassifier(5, 20, random_state=0).fit(X / 16, y)
        >>> model.explain(X[0] / 16).to_frame().shape
        (64, 8)
        """
        return super().to_frame().assign(error_difference=self.error_differences)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), "shares of the rules:", *map(str, self.rules)])
