"""Coefficients that a source learned by gradient descent, and their calibration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from skdp.release._basis import BasisFunctions
from skdp.release._linear_regression import MOST_EXPLAINED, LinearRegression
from skdp.release._linear_scores import LinearScores
from skdp.release._measured_scores import measured_scores
from skdp.release._number_distribution import NumberDistribution
from skdp.release._numbers import HALF_WIDTH
from skdp.release._parts import LARGEST_MEAN, Part, array, check_shape, part, require
from skdp.release._score_table import ScoreTable
from skdp.utils._linalg import TINY

# Largest magnitude of a coefficient in a release.
_LARGEST_COEFFICIENT = 1e30
# Weight of linear scores by the sums of all sources in merged scores of classes: each source's
# gradients start anew. AUC of four tables with 4 to 20 owners (ε = 1 and 4) is .002 higher than
# with 0, .003 of four others (.852 to .868 at best, .004 lower at worst), and equal on four
# hospitals, all of which were seen; with .33 .002 and .003, .007 lower at worst. Log loss of 5 to
# 14 classes is .02 lower.
_OF_SUMS = 0.2
# Largest AUC, so that its d' is finite.
_LARGEST_AREA = 1 - 1e-6


@dataclass(frozen=True)
class Descent(Part):
    """Scores that are linear in functions of the columns, learned by noisy gradient descent.

    Attributes
    ----------
    coefficients : ndarray of shape (n_scores, n_basis)
        Coefficients of the score of each class, the log-odds of the second of two classes, a
        number rescaled to 0–1, or the log-hazard of a time.

    intercepts : ndarray of shape (n_scores,)

    basis : BasisFunctions
        A linear function of each column, and cosines; possibly more cosines than in noisy sums.

    table : ScoreTable or None, default=None
        Noisy rows by score and outcome, which calibrate the scores. None for the mean of several
        sources, whose scores are already calibrated.

    value, weight : ndarray of shape (3,) and (1,), or None, default=None
        Only for the mean of several sources: the claimed performance, and the effective number of
        rows.

    distribution, square : NumberDistribution and ndarray of shape (1,), or None, default=None
        Only for the mean of several sources about a number: its distribution, and the mean square
        of the sources' predictions about their means.
    """

    coefficients: np.ndarray = array("c f", "f", below=_LARGEST_COEFFICIENT)
    intercepts: np.ndarray = array("c", "f", below=_LARGEST_COEFFICIENT)
    basis: BasisFunctions = part(BasisFunctions)
    table: Any = part(ScoreTable, optional=True)
    value: Any = array("3", "f", below=_LARGEST_COEFFICIENT, optional=True)
    weight: Any = array("1", "f", least=0, below=LARGEST_MEAN, optional=True)
    distribution: Any = part(NumberDistribution, optional=True)
    square: Any = array("1", "f", least=0, optional=True)

    @classmethod
    def validate(cls, value: Any, name: str, release: Any, lengths: dict[str, int]) -> None:
        """Raise ValueError unless this fits the release; sums may use other functions."""
        super().validate(value, name, release, {key: lengths[key] for key in ("K", "p")})

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless the scores have the shape that the outcome needs."""
        one = release.statistics.kind != "class" or len(release.classes) == 2
        shape = 1 if one else len(release.classes), len(self.basis.column)
        check_shape(self.coefficients, shape, f"{name}.coefficients")
        merged = [part is not None for part in (self.value, self.weight)]
        of_number = [part is not None for part in (self.distribution, self.square)]
        if release.statistics.kind == "number" or any(of_number):
            merged += of_number
        complete = all(merged) if self.table is None else not any(merged)
        require(complete, name, "must have a table, or a value, weight, distribution and square")
        if self.table is not None:
            measured = measured_scores(self, release.statistics)
            n = measured.n_outcomes + release.outcome.zero
            require(n == len(self.table.counts), f"{name}.table", "must fit outcomes")
            # Others would multiply the coefficients by any slope.
            same = self.table.score_bins.are_about(*measured.frame())
            require(same, f"{name}.table.bins", "must be those of the coefficients")

    def calibrated(self, statistics: Any) -> Self:
        """Return the scores with their measured slope and intercept applied, without a table.

        To the mean of several sources, the noisy ``statistics`` of all of them are added.
        """
        if self.table is not None:
            return self.measured(statistics)
        if statistics.kind == "class":
            return self._with_sums(statistics)
        return self if self.square is None else self._spread(statistics)

    def measured(self, statistics: Any) -> Self:
        """Return the same, but the mean of several sources as it is."""
        if self.table is None:
            return self
        measured = measured_scores(self, statistics)
        claims = measured.claims()
        return replace(
            self,
            coefficients=claims.slope * self.coefficients,
            intercepts=claims.slope * self.intercepts + measured.intercept(claims),
            table=None,
            value=claims.value,
            distribution=claims.distribution,
            weight=np.array([statistics.effective_rows]),
        )

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of rows, (n_samples, n_scores)."""
        return self.basis.encode(X) @ self.coefficients.T + self.intercepts

    def linear(self, statistics: Any) -> LinearScores:
        """Return calibrated scores as linear scores of classes."""
        w, b = self.coefficients, self.intercepts
        intercept_sd = None
        if len(w) > 1 or statistics.n_sources > 1:
            of_sums = statistics.linear
            intercept_sd = of_sums.intercept_sd
            apart = {"d_primes": of_sums.d_primes, "d_prime_sds": of_sums.d_prime_sds}
        if len(w) == 1:
            w, b = np.concatenate([-w, w]) / 2, np.concatenate([-b, b]) / 2
            mean, low, high = np.clip(self.value, 0.5, _LARGEST_AREA)
            sd = np.sqrt(2) * (ndtri(high) - ndtri(low)) / (2 * HALF_WIDTH)
            pair = 1 - np.eye(2)
            apart = {"d_primes": pair * ndtri(mean) * np.hypot(np.sqrt(2), sd)}
            apart["d_prime_sds"] = pair * sd
        return LinearScores(
            w - w.mean(axis=0),
            b - b.mean(),
            basis=self.basis,
            intercept_sd=intercept_sd,
            **apart,
        )

    def regression(self, of_sums: LinearRegression) -> LinearRegression:
        """Return calibrated scores as the linear regression of a number."""
        r2 = np.clip(self.value, 0.0, MOST_EXPLAINED)
        low, high = np.sqrt(r2[1:])
        spread = (high - low) / (2 * HALF_WIDTH) / max(float(np.sqrt(r2[0])), TINY)
        return replace(
            of_sums,
            coefficients=self.coefficients[0],
            intercept=self.intercepts,
            variance=np.array([self.distribution.deviation**2]),
            distribution=self.distribution,
            coefficient_sd=np.array([min(spread, 1.0)]),
            r2=np.array([r2[0], min(r2[1], r2[0]), max(r2[2], r2[0])]),
            basis=self.basis,
        )

    def reordered(self, columns: np.ndarray) -> Self:
        """Return the same scores with all columns in another order."""
        basis, places = self.basis.select(columns)
        return replace(self, coefficients=self.coefficients[:, places], basis=basis)

    @classmethod
    def mean(cls, parts: Sequence[Self]) -> Self:
        """Return the weighted mean of several measured scores of the same columns.

        A source with few rows may have fewer cosines: the missing coefficients are zero.
        """
        total = np.sum([part_.weight for part_ in parts], axis=0)
        weights = np.array([float(part_.weight[0]) for part_ in parts]) / max(total[0], TINY)
        most = max(parts, key=lambda part: len(part.basis.column)).basis
        coefficients = np.zeros((len(parts[0].coefficients), len(most.column)))
        for part_, weight in zip(parts, weights, strict=True):
            coefficients[:, part_.basis.places_in(most)] += weight * part_.coefficients
        intercepts, value = (
            weights @ np.array([getattr(part_, name) for part_ in parts])
            for name in ("intercepts", "value")
        )
        mean = cls(coefficients, intercepts, most, None, value, total)
        if parts[0].distribution is None:
            return mean
        distribution = NumberDistribution.mean([part_.distribution for part_ in parts], weights)
        squares = [part_._of_sources for part_ in parts]
        return replace(mean, distribution=distribution, square=np.array([weights @ squares]))

    @property
    def _of_sources(self):
        """Mean square of the sources' predictions about their means."""
        if self.square is not None:
            return float(self.square[0])
        return float(self.coefficients[0] ** 2 @ self.basis.variances)

    def _with_sums(self, statistics):
        """Return the weighted mean with the linear scores by the noisy sums of all sources."""
        w, b = statistics.linear.coefficients, statistics.linear.intercepts
        if len(self.coefficients) == 1:
            w, b = np.diff(w, axis=0), np.diff(b)
        share, coefficients = _OF_SUMS, (1 - _OF_SUMS) * self.coefficients
        coefficients[:, statistics.basis.places_in(self.basis)] += share * w
        intercepts = (1 - share) * self.intercepts + share * b
        return replace(self, coefficients=coefficients, intercepts=intercepts)

    def _spread(self, statistics):
        """Return predictions that vary more about their mean, like those of the sources."""
        # Errors of the sources' coefficients cancel out, so that a mean of calibrated predictions
        # varies too little: by the ratio of squares if the sources differ by errors alone, by
        # nothing if they differ in truth. Here it is halfway. R² of four tables of numbers with 3
        # to 12 owners (ε = 1 and 4) is .019 higher than with nothing, .040 of three that did not
        # choose, and in no cell lower; with the whole ratio in some.
        of_mean = self.coefficients[0] ** 2 @ self.basis.variances
        wider = max(float(np.sqrt(self._of_sources / max(of_mean, TINY))), 1.0)
        sums, places = statistics.sums, statistics.basis.places_in(self.basis)
        middle = sums.total.sum(axis=0) / sums.row_counts.sum()
        center = self.intercepts + self.coefficients[:, places] @ middle
        predictions = center + wider * (self.distribution.predictions - center)
        return replace(
            self,
            coefficients=wider * self.coefficients,
            intercepts=center + wider * (self.intercepts - center),
            value=wider * self.value,
            distribution=replace(self.distribution, predictions=predictions),
        )

    def adds_to(self, other: Self) -> bool:
        """Return whether both use the same columns and one has all functions of the other."""
        few, many = sorted((self, other), key=lambda part: len(part.basis.column))
        places = few.basis.places_in(many.basis)
        return len(places) == len(few.basis.column) and all(
            np.array_equal(array, getattr(many.basis, key)[places])
            for key, array in vars(few.basis).items()
        )

    @property
    def largest_effect(self) -> float:
        """Largest magnitude of the contribution of one function to a score."""
        basis = self.basis
        ends = np.maximum(np.abs(basis.low - basis.center), np.abs(basis.high - basis.center))
        values = np.abs(basis.scale) * np.where(basis.order == 1, ends, 1 + np.abs(basis.center))
        return float((np.abs(self.coefficients) * values).max())
