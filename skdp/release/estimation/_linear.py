"""stub"""

from dataclasses import dataclass

import numpy as np

from skdp.release.estimation._terms import Terms


@dataclass(frozen=True)
class LinearScores:
    """stub"""

    coefficients: np.ndarray
    intercepts: np.ndarray
    terms: Terms | None = None

    def scores(self, X):
        """Stub"""
        Z = X if self.terms is None else self.terms.encode(X)
        return Z @ self.coefficients.T + self.intercepts
