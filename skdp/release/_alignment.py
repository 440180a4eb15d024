"""Principal directions of a source, and where its classes lie in them."""

from dataclasses import dataclass

import numpy as np

from skdp.utils._linalg import principal_directions


def class_medians(codes, labels, n_classes):
    """Return the median code of each class, of shape (n_classes, n_directions)."""
    return np.stack([np.median(codes[labels == c], axis=0) for c in range(n_classes)])


@dataclass(frozen=True)
class Alignment:
    """What carries rows of another space into that of the source.

    Kumar and Moser, equation (118).

    Attributes
    ----------
    components : ndarray of shape (n_directions, n_features)
        Principal directions V_sr of the noisy rows, at most ⌈p/2⌉.

    class_medians : ndarray of shape (n_classes, n_directions)
        Medians m_sr,c = median{V_sr·y : y of class c} of the noisy rows.

    mean : ndarray of shape (n_features,)
        Of the noisy rows.
    """

    components: np.ndarray
    class_medians: np.ndarray
    mean: np.ndarray

    @classmethod
    def measure(cls, rows, labels, n_classes):
        """Return directions, medians and mean of labelled rows, in the dtype of the rows."""
        n_directions = -(-rows.shape[1] // 2)
        components = principal_directions(rows.astype(np.float64, copy=False), n_directions)
        medians = class_medians(rows @ components.T, labels, n_classes)
        return cls(
            components.astype(rows.dtype, copy=False),
            medians.astype(rows.dtype, copy=False),
            rows.mean(axis=0, dtype=np.float64),
        )
