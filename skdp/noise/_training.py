"""Noise on the training rows of a model."""

import numpy as np
from sklearn.base import clone


def perturb_training_rows(noise, X):
    """Return a noisy copy of training rows, and the transformer that made it.

    Parameters
    ----------
    noise : transformer
        Is cloned, and told where it can be told (``perturb="fit"``) that queries pass, so
        that its guarantee says so.

    X : ndarray of shape (n_samples, n_features)
        Private rows.

    Returns
    -------
    noisy : ndarray of shape (n_samples, n_features)
        In the dtype of X.

    noise : transformer
        The fitted clone: its ``guarantee_``, if it has one, holds for that copy.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.noise import OptimalDPNoise, perturb_training_rows
    >>> X = np.linspace(0, 1, 12).reshape(4, 3)
    >>> noisy, noise = perturb_training_rows(OptimalDPNoise(epsilon=2.0), X)
    >>> noisy.shape, bool((noisy == X).any())
    ((4, 3), False)
    >>> noise.guarantee_.covers
    'the features of the training rows as fit_transform returns them, not as transform does'
    >>> bool((noise.transform(X[:2]) == X[:2]).all())  # queries pass
    True
    """
    given = noise.get_params(deep=False)
    noise = clone(noise)
    if "perturb" in given:
        noise.set_params(perturb="fit")
    if "random_state" in given:
        # A clone copies a generator with its state: two data sets would get the same noise,
        # and the difference of their noisy copies would be that of the data.
        noise.set_params(random_state=given["random_state"])
    noisy = np.asarray(noise.fit_transform(X), dtype=X.dtype)
    return noisy, noise
