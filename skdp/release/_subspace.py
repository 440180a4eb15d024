"""Principal directions of a source: the subspace of largest variance, and an alignment."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from skdp.release._moments import Moments
from skdp.release._parts import (
    LARGEST_MEAN,
    LARGEST_VARIANCE,
    Part,
    array,
    check_units,
    require,
)
from skdp.utils._linalg import NEGLIGIBLE, TINY, principal_directions, row_blocks

# Floor of the variances, in units of the uncertainty due to noise; rule of thumb.
_FLOOR = 0.5
# Smallest largest variance of a subspace: rows have magnitudes above 1e-12.
_SMALLEST_SPREAD = 1e-40
_FLOAT32 = np.finfo(np.float32)


@dataclass(frozen=True)
class Subspace(Part):
    """Principal directions of a domain.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)

    components : ndarray of shape (n_directions, n_features)
        Orthonormal rows.

    variances : ndarray of shape (n_directions,)
        Of the rows of the domain, without noise; positive, in descending order.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import Subspace
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> np.abs(Subspace.of_rows(X, 1).components).round(3)
    array([[0.6, 0.8]])
    """

    mean: np.ndarray = array("p", below=LARGEST_MEAN)
    components: np.ndarray = array("d p")
    variances: np.ndarray = array("d", below=LARGEST_VARIANCE)

    @classmethod
    def of_rows(cls, X: np.ndarray, n_directions: int) -> Self:
        """Return the leading principal directions of rows without a noise correction."""
        X = X.astype(np.float64, copy=False)
        mean = X.mean(axis=0)
        components = principal_directions(X, n_directions)
        variances = ((X - mean) @ components.T).var(axis=0)
        return cls(mean, components, np.maximum(variances, TINY))

    @classmethod
    def of_moments(cls, moments: Moments, n_directions: int) -> Self:
        """Return the leading principal directions of the noise-corrected covariance.

        The floor of the variances is half of :attr:`Moments.eigenvalue_noise`.
        """
        values, vectors = np.linalg.eigh(moments.total_covariance())
        first = np.argsort(-values)[:n_directions]
        floor = max(
            _FLOOR * moments.eigenvalue_noise,
            values.max() * np.finfo(np.float32).eps,
            TINY,
        )
        return cls(moments.mean, vectors[:, first].T, np.maximum(values[first], floor))

    @classmethod
    def of_columns(cls, moments: Moments, columns: np.ndarray, n_directions: int) -> Self:
        """Return the leading principal directions of some columns; all of them may be constant."""
        new = cls.of_moments(moments.restrict(columns), n_directions)
        least = _FLOAT32.eps * max(moments.total_covariance().diagonal().max(), 0)
        return replace(new, variances=np.maximum(new.variances, max(least, _FLOAT32.tiny)))

    @property
    def scale(self) -> float:
        """float: the factor that makes the average variance of a direction 1.

        1 for rows that are all the same.
        """
        average = self.variances.mean()
        return 1 / np.sqrt(average) if average > TINY else 1.0

    def project(self, X: np.ndarray) -> np.ndarray:
        """Return centered coordinates, of shape (n_samples, n_directions)."""
        return (X - self.mean) @ self.components.T

    def encode(self, X: np.ndarray) -> np.ndarray:
        """Return the coordinates in units of their average variance, in the dtype of X."""
        codes = np.empty((len(X), len(self.components)), dtype=X.dtype)
        for rows in row_blocks(len(X)):
            codes[rows] = self.project(X[rows]) * self.scale
        return codes

    def noise(self, variances: np.ndarray) -> np.ndarray:
        """Return the variances in codes of independent noise with these in the features."""
        return self.components**2 @ variances * self.scale**2

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless directions are unit vectors of positive variances."""
        variances = self.variances
        require(variances.min() > 0, f"{name}.variances", "must be positive numbers")
        check_units(self.components, f"{name}.components")
        spread = variances.max() > _SMALLEST_SPREAD
        spread = spread and variances.min() > NEGLIGIBLE * variances.max()
        require(spread, f"{name}.variances", "must not vanish compared with each other")

    def restrict(self, columns: np.ndarray, moments: Moments) -> "Subspace":
        """Return the same number of principal directions of some of the columns.

        If all columns remain, only their order changes.
        """
        if len(columns) == len(self.mean):
            return replace(self, mean=self.mean[columns], components=self.components[:, columns])
        n_directions = min(len(self.components), len(columns))
        return Subspace.of_columns(moments, columns, n_directions)

    def contents(self) -> str:
        """Return what this is, in a few words."""
        return f"{len(self.variances)} principal directions"


@dataclass(frozen=True)
class Alignment(Part):
    """Directions and class medians by which rows of another feature space are aligned.

    Kumar and Moser, equation (118).

    Attributes
    ----------
    components : ndarray of shape (n_directions, n_features)
        Principal directions V_sr of the noisy rows, at most ⌈p/2⌉.

    class_medians : ndarray of shape (n_classes, n_directions)
        Medians m_sr,c = median{V_sr·y : y of class c} of the noisy rows.

    mean : ndarray of shape (n_features,)
        Of the noisy rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import Alignment
    >>> rows = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> alignment = Alignment.measure(rows, np.array([0, 0, 1]), n_classes=2)
    >>> alignment.mean
    array([3., 4.])
    >>> np.abs(alignment.class_medians).round(6)
    array([[ 2.5],
           [10. ]])
    """

    components: np.ndarray = array("a p")
    class_medians: np.ndarray = array("K a", below=LARGEST_MEAN)
    mean: np.ndarray = array("p", below=LARGEST_MEAN)

    @classmethod
    def measure(cls, rows: np.ndarray, labels: np.ndarray, n_classes: int) -> Self:
        """Return directions, medians and mean of labeled rows, in the dtype of the rows."""
        n_directions = -(-rows.shape[1] // 2)
        components = principal_directions(rows, n_directions)
        medians = np.empty((n_classes, len(components)))
        for c in range(n_classes):
            # One class at a time: the codes of all rows would need as much memory as the rows.
            members = np.flatnonzero(labels == c)
            codes = np.empty((len(members), len(components)), dtype=rows.dtype)
            for some in row_blocks(len(members)):
                codes[some] = rows[members[some]] @ components.T
            medians[c] = np.median(codes, axis=0, overwrite_input=True)
        return cls(
            components.astype(rows.dtype, copy=False),
            medians.astype(rows.dtype, copy=False),
            rows.mean(axis=0, dtype=np.float64),
        )

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless directions are unit vectors."""
        check_units(self.components, f"{name}.components")

    def restrict(self, columns: np.ndarray) -> Self | None:
        """Return this for all columns in another order; None for fewer, of unknown medians."""
        if len(columns) < len(self.mean):
            return None
        return replace(self, components=self.components[:, columns], mean=self.mean[columns])

    def contents(self) -> str:
        """Return what this is, in a few words."""
        return f"medians of the classes in {len(self.components)} principal directions"


def class_medians(codes, labels, n_classes):
    """Return the median code of each class, of shape (n_classes, n_directions)."""
    return np.stack([np.median(codes[labels == c], axis=0) for c in range(n_classes)])
