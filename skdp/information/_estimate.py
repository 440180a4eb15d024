"""Information estimated from rows, with its standard error and a permutation test."""

from dataclasses import dataclass
from math import log

import numpy as np


@dataclass(frozen=True)
class InformationEstimate:
    """Estimate of the mutual information of two variables from rows.

    It is computed from exact rows and does not protect them.

    Parameters
    ----------
    estimate : float
        Mean over the rows, in nats. The expectation of a lower bound is at most the mutual
        information; if this is small, the estimate may be negative.

    standard_error : float
        Standard error of the mean, in nats.

    n_rows : int
        Number of rows.

    about : str
        What the information is about.

    null : tuple of float, default=()
        Estimates after permuting the rows of one of the two variables: the null distribution.

    is_bound : bool, default=True
        Whether it is a lower bound, or an expectation according to predicted probabilities.

    remark : str, default=""
        A caveat.

    Examples
    --------
    >>> from skdp.information import InformationEstimate
    >>> estimate = InformationEstimate(0.2, 0.03, 500, "age", null=(-0.01, 0.01, 0.0))
    >>> round(estimate.low, 2), estimate.p_value
    (0.14, 0.25)
    >>> print(estimate)
    0.2 nats (0.289 bits) or more about age; standard error 0.03, 500 rows, above 3 permutations
    """

    estimate: float
    standard_error: float
    n_rows: int
    about: str
    null: tuple[float, ...] = ()
    is_bound: bool = True
    remark: str = ""

    @property
    def nats(self) -> float:
        """The estimate in nats, or 0 if it is negative."""
        return max(0.0, self.estimate)

    @property
    def bits(self) -> float:
        """``nats`` divided by log 2."""
        return self.nats / log(2)

    @property
    def low(self) -> float:
        """The estimate minus two standard errors, or 0 if this is negative."""
        return max(0.0, self.estimate - 2.0 * self.standard_error)

    @property
    def p_value(self) -> float | None:
        """P-value of the permutation test, or None without permutations."""
        if not self.null:
            return None
        return (1 + sum(other >= self.estimate for other in self.null)) / (1 + len(self.null))

    def __str__(self) -> str:
        n, of = sum(other >= self.estimate for other in self.null), len(self.null)
        chance = f"{n} of {of} permutations give as much" if n else f"above {of} permutations"
        said = [
            f"{self.nats:.3g} nats ({self.bits:.3g} bits){' or more' * self.is_bound} about "
            f"{self.about}; standard error {self.standard_error:.2g}, {self.n_rows:,} rows",
            chance if of else "",
            self.remark,
        ]
        return ", ".join(filter(None, said))


def mean_of_gains(gains, about, **details):
    """Return the estimate that is the mean of the rows' contributions, in nats."""
    return InformationEstimate(
        estimate=float(gains.mean()),
        standard_error=float(gains.std(ddof=1) / np.sqrt(len(gains))),
        n_rows=len(gains),
        about=about,
        **details,
    )
