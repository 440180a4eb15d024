"""Linear scores of classes with what they can tell apart."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from skdp.release._basis import BasisFunctions


@dataclass(frozen=True)
class LinearScores:
    """Log-posteriors that are linear in terms of the columns.

    Attributes
    ----------
    coefficients : ndarray of shape (n_classes, n_basis)
        Of sum zero over the classes: of two, they are −w/2 and w/2.

    intercepts : ndarray of shape (n_classes,)

    d_primes : ndarray of shape (n_classes, n_classes) or None, default=None
        Posterior estimate of d' of each pair of classes: the difference of their mean scores in
        units of the standard deviation within a class. 0 where noise leaves nothing; None where
        it is not known.

    basis : BasisFunctions or None, default=None
        Functions of the columns; None for the columns themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import LinearScores
    >>> d = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> linear = LinearScores(np.array([[-1.0], [1.0]]), np.zeros(2), d)
    >>> linear.scores(np.array([[0.0], [3.0]]))
    array([[ 0.,  0.],
           [-3.,  3.]])
    >>> linear.expected_auc.round(3)
    array([[0.5  , 0.921],
           [0.921, 0.5  ]])
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    d_primes: np.ndarray | None = None
    basis: BasisFunctions | None = None

    def scores(self, X):
        """Return log-posteriors up to a constant for each row, (n_samples, n_classes)."""
        Z = X if self.basis is None else self.basis.encode(X)
        return Z @ self.coefficients.T + self.intercepts

    @property
    def expected_auc(self):
        """Return Φ(d'/√2) of each pair of classes, (n_classes, n_classes): 0.5 is chance.

        It is the area under the ROC curve of normal scores of equal variance, with rows of the
        source's own distribution. None where they are not known.
        """
        if self.d_primes is None:
            return None
        return ndtr(self.d_primes / np.sqrt(2))
