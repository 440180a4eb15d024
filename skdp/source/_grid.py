"""Rows on a public grid of whole numbers, each of a norm that is known beforehand.

Sums of floating-point numbers depend on their order, and may change by more than a row's own norm
when it is added (Casacuberta et al., 2022). Sums of whole numbers do neither. Here rows become
whole numbers, towards zero, so that rounding makes no norm larger; and every step of the way is
an elementary operation on one element, or a sum of whole numbers, so that what a row becomes
depends on no other row.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from skdp.release import BasisFunctions
from skdp.source._integers import GRID

# Bits of finer steps on which the norm of a row is computed before it is clipped; fewer where many
# squares are summed, so that their sum stays below 2^53, hence exact in any order.
_MOST_FINE_BITS = 22
_FLOAT_BITS = 53
# Keeps a clipped norm on the safe side of a rounding.
_SAFETY = 1 - 2.0**-40


@dataclass(frozen=True)
class RowGrid:
    """A public map from rows to whole numbers of which no row has a norm above 2^16.

    Parameters
    ----------
    basis : BasisFunctions
        Public functions of single columns, which give z.

    centre : ndarray of shape (n_basis,)
        Public, or noisy: what z are counted from.

    radius : float
        R: rows farther from the centre are brought to this distance.
    """

    basis: BasisFunctions
    centre: np.ndarray
    radius: float

    @property
    def step(self):
        """Return the step of the grid, in units of z."""
        return self.radius / GRID

    @cached_property
    def n_basis(self):
        """Return the number of elements of a row."""
        return len(self.basis.column)

    def quantise(self, X):
        """Return q = trunc(2^16 z/R) of each row, with Σq² ≤ 4^16.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Private rows.

        Returns
        -------
        Q : ndarray of shape (n_samples, n_basis), dtype float64
            Whole numbers.
        """
        Q = np.empty((len(X), self.n_basis))
        for rows, fine, norms in self._fine(X):
            factors = GRID / np.maximum(norms, self._steps)
            factors[norms > self._steps] *= _SAFETY
            fine *= factors[:, np.newaxis]
            np.trunc(fine, out=Q[rows])
        return Q

    def is_same(self, other):
        """Return whether another grid has the same terms, centre and radius."""
        names = [field.name for field in fields(BasisFunctions)]
        same = all(
            np.array_equal(getattr(self.basis, name), getattr(other.basis, name)) for name in names
        )
        return same and np.array_equal(self.centre, other.centre) and self.radius == other.radius

    def to_features(self, Z):
        """Return rows z around the centre as features, where each term is linear in its own."""
        return self.basis.centre + (Z + self.centre) / self.basis.scale

    def at(self, centre, radius):
        """Return the grid around another centre."""
        return replace(self, centre=centre, radius=float(radius))

    def _fine(self, X):
        """Yield rows on a finer grid, each element clipped to the radius, and their norms."""
        for rows, Z in self.basis.encode_blocks(X):
            Z -= self.centre
            Z *= self._steps / self.radius
            np.maximum(Z, -self._steps, out=Z)
            np.minimum(Z, self._steps, out=Z)
            np.trunc(Z, out=Z)
            yield rows, Z, np.sqrt(np.einsum("ij,ij->i", Z, Z))

    @cached_property
    def _steps(self):
        """Return the finer steps in the radius."""
        return 2.0 ** min(_MOST_FINE_BITS, (_FLOAT_BITS - self.n_basis.bit_length()) // 2)
