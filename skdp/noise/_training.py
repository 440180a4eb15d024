"""Noise in front of a model that learns."""

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
