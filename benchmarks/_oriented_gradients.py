"""Public features of digits: how much of a picture's gradient points where, in eight directions.

A gradient is a vector for each pixel. Its length is divided among eight directions, by the third
power of the cosine of the angle to each, and summed over a Gaussian neighbourhood of each of
8 × 8 points, and over a wider one of each of 4 × 4 points (after Dalal and Triggs, 2005). Each
scale adds up to ½, and roots are taken: a row has norm 1, so that few need to be clipped.

Of the 10,000 last training digits of MNIST, a softmax regression on 20,000 others gets 98.8 %
right; 98.7 % with the first scale alone, with 8 or 12 directions.
"""

import numpy as np
from scipy.ndimage import gaussian_filter

N_DIRECTIONS = 8
# Of each scale: the width of the neighbourhood, in pixels, and the rows and columns of its points.
SCALES = ((1.5, np.arange(3, 26, 3)), (3.0, np.arange(5, 24, 6)))
# Width of the Gaussian that smooths the picture before, in pixels.
SMOOTHING = 0.5
ROWS_AT_ONCE = 2_000


def oriented_gradients(X):
    """Return 640 features of 28 × 28 pixels, in [0, 1]; each row depends on its own pixels alone.

    Parameters
    ----------
    X : ndarray of shape (n_samples, 784)

    Returns
    -------
    features : ndarray of shape (n_samples, 640), dtype float32
    """
    parts = (_features(X[i : i + ROWS_AT_ONCE]) for i in range(0, len(X), ROWS_AT_ONCE))
    return np.concatenate([np.zeros((0, 640), dtype=np.float32), *parts])


def _features(X):
    pictures = np.asarray(X, dtype=np.float64).reshape(-1, 28, 28)
    pictures = gaussian_filter(pictures, (0, SMOOTHING, SMOOTHING))
    down, right = np.gradient(pictures, axis=(1, 2))
    length = np.hypot(right, down)
    angles = 2 * np.pi * np.arange(N_DIRECTIONS) / N_DIRECTIONS
    scales = []
    for width, points in SCALES:
        sums = []
        for angle in angles:
            along = np.maximum(0, right * np.cos(angle) + down * np.sin(angle))
            share = along**3 / np.maximum(length, 1e-12) ** 2
            sums.append(gaussian_filter(share, (0, width, width))[:, points][:, :, points])
        sums = np.stack(sums, axis=-1).reshape(len(X), -1)
        scales.append(np.sqrt(sums / np.maximum(2 * sums.sum(axis=1, keepdims=True), 1e-9)))
    return np.concatenate(scales, axis=1).astype(np.float32)
