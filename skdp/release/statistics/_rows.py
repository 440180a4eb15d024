"""Rows on a public grid of whole numbers, each of a norm that is known beforehand.

Sums of floating-point numbers depend on their order, and may change by more than a row's own norm
when it is added (Casacuberta et al., 2022). Sums of whole numbers do neither. Here rows become
whole numbers, towards zero, so that rounding makes no norm larger; and every step of the way is
an elementary operation on one element, or a sum of whole numbers, so that what a row becomes
depends on no other row.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skdp.release.estimation import Terms

# Steps of the grid in the largest norm, R. Rounding costs 2^-16 of it, far less than noise.
GRID = 2**16
# Finer steps on which the norm of a row is computed before it is clipped.
_FINE = 2**22
# Keeps a clipped norm on the safe side of a rounding.
_SAFETY = 1 - 2.0**-40


@dataclass(frozen=True)
class RowGrid:
    """A public map from rows to whole numbers of which no row has a norm above 2^16.

    Parameters
    ----------
    terms : Terms
        Public functions of single columns, which give z.

    centre : ndarray of shape (n_terms,)
        Public, or noisy: what z are counted from.

    radius : float
        R: rows farther from the centre are brought to this distance.
    """

    terms: Terms
    centre: np.ndarray
    radius: float

    @property
    def step(self):
        """Return the step of the grid, in units of z."""
        return self.radius / GRID

    @cached_property
    def n_terms(self):
        """Return the number of elements of a row."""
        return len(self.terms.column)

    def quantise(self, X):
        """Return q = trunc(2^16 z/R) of each row, with Σq² ≤ 4^16.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Private rows.

        Returns
        -------
        Q : ndarray of shape (n_samples, n_terms), dtype float64
            Whole numbers.
        """
        fine, norms = self._fine(X)
        within = norms <= _FINE
        norms[within] = _FINE
        fine *= np.where(within, GRID / _FINE, GRID / norms * _SAFETY)[:, np.newaxis]
        return np.trunc(fine, out=fine)

    def norms(self, X):
        """Return the distance of each row from the centre, in units of the radius.

        Distances of elements beyond the radius count as the radius.
        """
        return self._fine(X)[1] / _FINE

    def is_same(self, other):
        """Return whether another grid has the same terms, centre and radius."""
        own, others = ({**vars(g.terms), "centre": g.centre} for g in (self, other))
        same = all(np.array_equal(own[name], others[name]) for name in own)
        return same and self.radius == other.radius

    def at(self, centre, radius):
        """Return the grid around another centre."""
        return replace(self, centre=centre, radius=float(radius))

    def _fine(self, X):
        """Return rows on a finer grid, each element clipped to the radius, and their norms."""
        Z = self.terms.encode(X)
        Z -= self.centre
        Z *= _FINE / self.radius
        np.clip(Z, -_FINE, _FINE, out=Z)
        np.trunc(Z, out=Z)
        # Squares are whole numbers up to 2^44, summed exactly whatever the order.
        return Z, np.sqrt(_exact_square_sums(Z))


def _exact_square_sums(Z):
    """Return Σz² of each row of whole numbers up to 2^22, rounded once."""
    high = np.trunc(Z * 2.0**-11)
    low = Z - high * 2.0**11
    # Each sum is below 2^53 for up to 2^30 columns, hence exact in any order.
    squares = [np.einsum("ij,ij->i", a, b) for a, b in ((high, high), (high, low), (low, low))]
    return squares[0] * 2.0**22 + squares[1] * 2.0**12 + squares[2]
