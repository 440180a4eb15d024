"""A source and a target domain made from the digits that scikit-learn ships."""

import numpy as np
from scipy.ndimage import gaussian_filter, rotate, zoom
from sklearn.datasets import load_digits
from sklearn.utils import Bunch


def load_digits_domains():
    """Load two related domains of handwritten digits; needs no network and no files.

    The source is one half of scikit-learn's digits as they are (8 × 8 pixels). The target
    is the *other* half rotated by 15°, slightly blurred, and reduced to 7 × 7 pixels, so that
    the two differ in distribution and in number of features, and share no digit.

    Returns
    -------
    domains : :class:`~sklearn.utils.Bunch`
        Dictionary-like, with

        source : ndarray of shape (899, 64)
            Pixels in [0, 1], float64.
        source_target : ndarray of shape (899,)
            Digits 0…9.
        target : ndarray of shape (898, 49)
            Pixels in [0, 1], float64.
        target_target : ndarray of shape (898,)
            Digits 0…9.
        DESCR : str
            What this is.

    See Also
    --------
    fetch_mnist, fetch_usps : Two domains of real size.

    Examples
    --------
    >>> from skdp.datasets import load_digits_domains
    >>> domains = load_digits_domains()
    >>> domains.source.shape, domains.target.shape
    ((899, 64), (898, 49))
    """
    digits = load_digits()
    images = digits.images / 16.0
    # Every other digit: the writers of the original file are spread over both halves.
    source, target = images[0::2], images[1::2]
    moved = rotate(target, 15, axes=(2, 1), reshape=False, order=1)
    blurred = gaussian_filter(moved, sigma=(0, 0.4, 0.4))
    small = np.clip(zoom(blurred, (1, 7 / 8, 7 / 8), order=1), 0.0, 1.0)
    return Bunch(
        source=source.reshape(len(source), -1),
        source_target=digits.target[0::2],
        target=small.reshape(len(small), -1),
        target_target=digits.target[1::2],
        DESCR=load_digits_domains.__doc__,
    )
