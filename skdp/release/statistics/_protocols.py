"""What learners in many passes ask of the rows and of the noise."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np


class RowSource(Protocol):
    """Private rows x as integers q with ‖q‖ ≤ 2¹⁶, where x ≈ centre + radius · q / 2¹⁶.

    Attributes
    ----------
    centre : ndarray of shape (n_features,)
        Public, or noisy.

    radius : float
        Public, or noisy.
    """

    @property
    def centre(self) -> np.ndarray:
        """Return the origin of the rows."""

    @property
    def radius(self) -> float:
        """Return the largest distance of a row from the origin."""

    def chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Yield some rows, their class indices, and their weights or None.

        Rows are integers, of shape (n, n_features). Weights are 1/k for each of the k rows of
        a person, as float64; None where every row is a record.
        """


class Noise(Protocol):
    """Integer Gaussian noise of a privacy budget; shares of it are public."""

    def add(
        self,
        name: str,
        exact: np.ndarray,
        sensitivity: int,
        share: float,
        scales: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return exact integer sums with noise, as float64.

        Parameters
        ----------
        name : str
            Of the query.

        exact : ndarray, dtype int64
            Sums of what each record contributes.

        sensitivity : int
            Largest norm of what one record contributes, its elements divided by ``scales``.

        share : float
            Of 1/σ² of the budget.

        scales : ndarray or None, default=None
            Factors of the noise's standard deviation, that broadcast with ``exact``.
        """

    def standard_deviation(self, sensitivity: float, share: float) -> float:
        """Return the standard deviation of the noise where the scale is 1; 0 without noise."""
