"""Principal directions of rows of which only noisy moments are known."""

import numpy as np

from skdp.release.estimation import Subspace

# Least variance of a direction, in units of the largest eigenvalue that noise alone has. With
# 0.1 mixtures of MNIST's pixels are as good at ε = 1 (rule of thumb).
_FLOOR = 0.3
# Least variance beside the largest: what rows of 2^-16 leave uncertain (rule of thumb).
_PRECISION = 1e-8


def principal_subspace(count, total, second, standard_deviation, n_directions, centre):
    """Return the leading principal directions behind noisy sums.

    Noise of standard deviation s on the diagonal of a symmetric matrix of order p, and s/√2
    off it, has eigenvalues of up to s√(2p) (Wigner, 1958): no smaller variance can be told
    from noise, and rows divided by it would be noise.

    Parameters
    ----------
    count : float
        Noisy number of rows, at least 1.

    total : ndarray of shape (n_features,)
        Noisy sum of z, with z = x − centre.

    second : ndarray of shape (n_features, n_features)
        Noisy sum of zzᵀ, symmetric.

    standard_deviation : float
        Of the noise on the diagonal of ``second``.

    n_directions : int

    centre : ndarray of shape (n_features,)

    Returns
    -------
    subspace : Subspace

    Examples
    --------
    >>> import numpy as np
    >>> second = np.diag([40.0, 900.0, 1.0])
    >>> subspace = principal_subspace(100, np.zeros(3), second, 5.0, 2, np.ones(3))
    >>> np.abs(subspace.components).round(6).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    >>> subspace.variances.tolist()
    [9.0, 0.4]
    """
    mean = total / count
    values, vectors = np.linalg.eigh(second / count - np.outer(mean, mean))
    leading = np.argsort(-values)[:n_directions]
    noise = standard_deviation / count * np.sqrt(2 * len(mean))
    floor = max(_FLOOR * noise, _PRECISION * values.max(), np.finfo(np.float32).tiny)
    variances = np.maximum(values[leading], floor)
    return Subspace(centre + mean, np.ascontiguousarray(vectors[:, leading].T), variances)
