"""The squared-exponential kernel with one weight for each coordinate."""

import numpy as np

# A coordinate whose range is this much smaller than the largest is numerically constant:
# its weight 1/range² would be so large that every kernel value collapsed to zero. A rule of
# thumb: the square root of the precision of the arithmetic.
_NEGLIGIBLE_RANGE = 1e-8
# The outputs of deep layers may shrink towards zero without end. Below this range a
# coordinate is zero for every purpose, and the square of a range below 1e-154 would
# underflow.
_VANISHING_RANGE = 1e-100


def inverse_squared_range(x):
    """Return the kernel weights w_k = (max − min of coordinate k)^−2; 0 where constant."""
    ranges = np.ptp(x, axis=0)
    varies = ranges > max(_NEGLIGIBLE_RANGE * ranges.max(), _VANISHING_RANGE)
    return np.where(varies, 1.0, 0.0) / np.where(varies, ranges, 1.0) ** 2


def log_kernel(x, centres, weights):
    """Return −½ Σ_k w_k (x_k − a_k)² for all pairs, as one matrix product.

    Parameters
    ----------
    x : ndarray of shape (n_samples, n_components)
        Inputs.

    centres : ndarray of shape (n_centres, n_components)
        Points a.

    weights : ndarray of shape (n_components,)
        Non-negative weights w.

    Returns
    -------
    logarithm : ndarray of shape (n_samples, n_centres)
        At most 0, in the dtype of x.
    """
    # Expanding the square loses digits when both points lie far from the origin, so the
    # origin moves to the centres first.
    origin = centres.mean(axis=0)
    scale = np.sqrt(weights)
    x = (x - origin) * scale
    centres = (centres - origin) * scale
    kernel = x @ centres.T
    kernel -= 0.5 * np.einsum("ij,ij->i", x, x)[:, np.newaxis]
    kernel -= 0.5 * np.einsum("ij,ij->i", centres, centres)
    return np.minimum(kernel, 0.0, out=kernel)


def squared_exponential(x, centres, weights):
    """Return exp(−½ Σ_k w_k (x_k − a_k)²) for all pairs, see :func:`log_kernel`."""
    kernel = log_kernel(x, centres, weights)
    return np.exp(kernel, out=kernel)
