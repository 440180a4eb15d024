"""If-then rules as sentences."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FuzzyRule:
    """One rule of the classifier, SERUMS D3.1 (2019), equation (2.165).

    Parameters
    ----------
    participant : object
        Name of the participant whose rows the fuzzy set was learned from; None without names.

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

    def __str__(self):
        whose = "" if self.participant is None else f" of participant {self.participant!r}"
        return f"if a row is like class {self.label!r}{whose}, then it is of class {self.label!r}"


@dataclass(frozen=True)
class FiredRule:
    """A rule and the degree to which a row fires it.

    Parameters
    ----------
    membership : float
        Between 0 and 1: exp(−error/2p), with the squared error of the row's reconstruction. Near 1
        for all rules where rows are short.

    rule : FuzzyRule
        The rule.

    share : float
        The same relative to all rules: exp(−error/T), as probabilities have it, over its sum over
        all rules.

    Examples
    --------
    >>> from skdp.fuzzy import FiredRule, FuzzyRule
    >>> print(FiredRule(0.999, FuzzyRule(None, 3), 0.75))
    0.7500: if a row is like class 3, then it is of class 3
    """

    membership: float
    rule: FuzzyRule
    share: float

    def __str__(self):
        return f"{self.share:.4f}: {self.rule}"
