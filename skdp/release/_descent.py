"""Coefficients that a source found by gradient descent, and their calibration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from skdp.release._basis import BasisFunctions
from skdp.release._linear_regression import LinearRegression
from skdp.release._linear_scores import LinearScores
from skdp.release._parts import Part, array, check_shape, part

# Of a coefficient in a release.
_LARGEST_COEFFICIENT = 1e30


@dataclass(frozen=True)
class Descent(Part):
    """Scores of rows that are linear in functions of the columns, found by noisy gradients.

    Attributes
    ----------
    coefficients : ndarray of shape (n_scores, n_basis)
        Of each class; of the log-odds of the second of two; of the place of a number between its
        bounds; of the log-hazard of a time.

    intercepts : ndarray of shape (n_scores,)

    basis : BasisFunctions
        A linear function of each column, and more cosines than noisy sums have.
    """

    coefficients: np.ndarray = array("c f", "f", below=_LARGEST_COEFFICIENT)
    intercepts: np.ndarray = array("c", "f", below=_LARGEST_COEFFICIENT)
    basis: BasisFunctions = part(BasisFunctions)

    @classmethod
    def validate(cls, value: Any, name: str, release: Any, lengths: dict[str, int]) -> None:
        """Raise ValueError unless this fits the release; its functions are others than of sums."""
        super().validate(value, name, release, {key: lengths[key] for key in ("K", "p")})

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless these are scores of the outcome of a release."""
        one = release.outcome is not None or len(release.classes) == 2
        shape = 1 if one else len(release.classes), len(self.basis.column)
        check_shape(self.coefficients, shape, f"{name}.coefficients")

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of rows, (n_samples, n_scores)."""
        return self.basis.encode(X) @ self.coefficients.T + self.intercepts

    def linear(self, of_sums: LinearScores) -> LinearScores:
        """Return the linear scores of classes."""
        w, b = self.coefficients, self.intercepts
        if len(w) == 1:
            w, b = np.concatenate([-w, w]) / 2, np.concatenate([-b, b]) / 2
        return LinearScores(w - w.mean(axis=0), b - b.mean(), basis=self.basis)

    def regression(self, of_sums: LinearRegression) -> LinearRegression:
        """Return the linear regression of a number."""
        return replace(
            of_sums,
            coefficients=self.coefficients[0],
            intercept=self.intercepts,
            basis=self.basis,
        )

    def reordered(self, columns: np.ndarray) -> Self:
        """Return the same of all columns in another order."""
        basis, places = self.basis.select(columns)
        return replace(self, coefficients=self.coefficients[:, places], basis=basis)

    @classmethod
    def mean(cls, parts: Sequence[Self], weights: np.ndarray) -> Self:
        """Return the weighted mean of several of the same columns.

        One of few rows may have fewer cosines than another one: those that it lacks are zero.
        """
        most = max(parts, key=lambda part: len(part.basis.column)).basis
        coefficients = np.zeros((len(parts[0].coefficients), len(most.column)))
        for part_, weight in zip(parts, weights, strict=True):
            coefficients[:, part_._places_in(most)] += weight * part_.coefficients
        intercepts = weights @ np.array([part_.intercepts for part_ in parts])
        return cls(coefficients, intercepts, most)

    def adds_to(self, other: Self) -> bool:
        """Return whether both have functions of the same columns, one of them all of both."""
        few, many = sorted((self, other), key=lambda part: len(part.basis.column))
        places = few._places_in(many.basis)
        return len(places) == len(few.basis.column) and all(
            np.array_equal(array, getattr(many.basis, key)[places])
            for key, array in vars(few.basis).items()
        )

    def _places_in(self, basis):
        """Return where these functions are among others, those that are there."""
        numbers = zip(basis.column.tolist(), basis.order.tolist(), strict=True)
        place = {function: k for k, function in enumerate(numbers)}
        mine = zip(self.basis.column.tolist(), self.basis.order.tolist(), strict=True)
        return np.array([place[function] for function in mine if function in place], dtype=int)

    @property
    def largest_effect(self) -> float:
        """Largest magnitude of what one function adds to a score."""
        basis = self.basis
        ends = np.maximum(np.abs(basis.low - basis.center), np.abs(basis.high - basis.center))
        values = np.abs(basis.scale) * np.where(basis.order == 1, ends, 1 + np.abs(basis.center))
        return float((np.abs(self.coefficients) * values).max())
