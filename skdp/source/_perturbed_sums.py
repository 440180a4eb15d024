"""What of exact sums may leave: noisy counts, totals, contrasts of classes and second moments."""

import numpy as np

from skdp.release import NoisyStatistics, positive_counts
from skdp.source._grid import GRID
from skdp.source._sums import ROW

# Steps of class frequencies in the contrast, small enough for sums of 64 bits.
_FREQUENCY_STEPS = 2**14
# Bound of the rounding of a norm that is computed in floating point.
_ROUNDING = 1 + 1e-12


def numbers_of_sums(n_classes, n_basis):
    """Return how many noisy numbers :func:`ask` gives."""
    return n_classes + n_basis + n_classes * n_basis + n_basis * (n_basis + 1) // 2


def perturb_sums(sums, grid, queries):
    r"""Return noisy statistics; spends the shares "counts", "total", "contrast" and "second".

    Between neighbours, one of which has one more row z of norm ‖z‖ ≤ R and class y, the answers
    differ by no more than

    - 1 in the counts of the classes,
    - R in the total Σz,
    - :math:`R\,\max_c \|e_c - π\|` in the contrast :math:`\sum (e_y - π) z^T`, with π the noisy
      frequencies of the classes, known by then, so that each class may have its own sums at the
      price of one,
    - R² in the second moment Σzzᵀ, off the diagonal weighed by √2: :math:`\|zz^T\| = \|z\|^2`.

    Parameters
    ----------
    sums : ExactSums
        Private.

    grid : RowGrid
        Of the rows.

    queries : GaussianQueries
        With these shares.

    Returns
    -------
    statistics : NoisyStatistics
        In units of z.
    """
    K, t = sums.sums.shape
    counts = queries.add("counts", sums.counts, ROW) / ROW
    parts = frequency_steps(counts, queries.deviation("counts", 1.0))
    total = sums.sums.sum(axis=0)
    contrast = _FREQUENCY_STEPS * sums.sums - np.outer(parts, total)
    spread = np.linalg.norm(_FREQUENCY_STEPS * np.eye(K) - parts, axis=1).max() * _ROUNDING
    upper = np.triu_indices(t)
    scales = np.where(upper[0] == upper[1], 1.0, np.sqrt(0.5))
    packed = queries.add("second", sums.second[upper], GRID**2, scales)
    second = np.zeros((t, t))
    second[upper] = packed * grid.step**2
    step = grid.step
    return NoisyStatistics(
        counts=counts,
        total=queries.add("total", total, GRID) * step,
        contrast=queries.add("contrast", contrast, GRID * spread) * (step / _FREQUENCY_STEPS),
        frequencies=parts / _FREQUENCY_STEPS,
        second=second + np.triu(second, 1).T,
        radius=grid.radius,
        count_sd=queries.deviation("counts", 1.0),
        total_sd=queries.deviation("total", grid.radius),
        contrast_sd=queries.deviation("contrast", grid.radius * spread / _FREQUENCY_STEPS),
        second_sd=queries.deviation("second", grid.radius**2),
    )


def frequency_steps(counts, deviation):
    """Return class frequencies by noisy counts as whole numbers of steps, of fixed sum.

    Examples
    --------
    >>> import numpy as np
    >>> frequency_steps(np.array([300.0, 100.0, -5.0]), 10.0).tolist()
    [12071, 4036, 277]
    """
    counts = positive_counts(counts, deviation)
    parts = np.maximum(np.floor(counts / counts.sum() * _FREQUENCY_STEPS), 1).astype(np.int64)
    parts[np.argmax(parts)] += _FREQUENCY_STEPS - parts.sum()
    return parts
