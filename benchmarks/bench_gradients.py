"""How fast are oriented gradients, compared with the bare filters that they replace?

Random images of several shapes, one thread; seconds for 10,000 images, the fastest of the repeats.
"""

import tracemalloc

import _bench
import numpy as np
from scipy import fft
from scipy.ndimage import gaussian_filter

from skdp import OrientedGradients

SHAPES = ((28, 28), (32, 32, 3), (64, 64), (128, 128))
SCALES, N_DIRECTIONS, AT_ONCE = (1.75, 3.5), 8, 200
# The seconds are for so many images.
UNIT = 10_000


def filtered(X, shape):
    """Smooth as many maps as there are directions and scales; the values do not matter."""
    for rows in chunks(X, shape):
        for width in SCALES * N_DIRECTIONS:
            gaussian_filter(rows, (0, width, width))


def by_fft(X, shape):
    for rows in chunks(X, shape):
        padded = [fft.next_fast_len(n + int(4 * max(SCALES)), real=True) for n in shape[:2]]
        for _ in range(N_DIRECTIONS):
            spectrum = fft.rfft2(rows, padded)
            for width in SCALES:
                fft.irfft2(spectrum * np.float32(width), padded)


def chunks(X, shape):
    """Yield the first channel of some images."""
    for i in range(0, len(X), AT_ONCE):
        rows = X[i : i + AT_ONCE].reshape(-1, *shape[:2], (*shape, 1)[2])
        yield np.ascontiguousarray(rows[..., 0])


SETTINGS = {"scales": SCALES, "n_directions": N_DIRECTIONS}
METHODS = {
    "transformer": lambda X, shape: OrientedGradients(shape, **SETTINGS).transform(X),
    "filters": filtered,
    "fft": by_fft,
}


def measure(options, shape):
    # As many pixels of each shape, but the colors.
    n_images = max(1, options.images * 28**2 // (shape[0] * shape[1]))
    X = np.random.RandomState(0).rand(n_images, int(np.prod(shape))).astype(np.float32)
    row = {"case": " × ".join(map(str, shape)), "images": n_images}
    for name, method in METHODS.items():
        seconds = []
        for _ in range(options.repeats):
            with _bench.Timer() as timer:
                found = method(X, shape)
            seconds.append(timer.seconds)
        row[f"{name}_time"] = min(seconds) * UNIT / n_images
        if name == "transformer":
            row["features"] = found.shape[1]
            tracemalloc.start()
            method(X, shape)
            row["mib"] = (tracemalloc.get_traced_memory()[1] - found.nbytes) / 2**20
            tracemalloc.stop()
    yield row


if __name__ == "__main__":
    _bench.run("gradients", measure, __doc__, over=zip(SHAPES), images=UNIT, repeats=3)
