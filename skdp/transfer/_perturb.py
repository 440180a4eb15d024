"""The one step of a source that sees private rows: perturb them, once."""

from typing import Any

import numpy as np
from sklearn.base import clone

from skdp.noise import (
    GaussianDPNoise,
    OptimalDPNoise,
    StaircaseDPNoise,
    perturb_training_rows,
)

NOISES = {
    "optimal": OptimalDPNoise,
    "staircase": StaircaseDPNoise,
    "gaussian": GaussianDPNoise,
}
BUDGET = ("epsilon", "delta", "sensitivity")


def perturb_rows(source, X):
    """Return a noisy copy of private rows, the variance of its noise, and what is guaranteed.

    Parameters
    ----------
    source : DPSource
        Has the budget, the noise, and ``denoise``.

    X : ndarray of shape (n_samples, n_features)
        Private rows.

    Returns
    -------
    noisy : ndarray of shape (n_samples, n_features)

    variance : ndarray of shape (n_features,) or None
        Of any form where the source does not denoise.

    guarantee : PrivacyGuarantee

    Raises
    ------
    ValueError
        When the noise contradicts the source, changes the shape of the rows or states no
        guarantee.
    """
    noise = _make_noise(source)
    noisy, fitted = perturb_training_rows(noise, X)
    guarantee = getattr(fitted, "guarantee_", None)
    variance: Any = getattr(fitted, "variance_", None)
    problem = None
    if guarantee is None:
        problem = "states no guarantee_"
    elif noisy.shape != X.shape:
        problem = "changes the shape of the rows"
    elif np.isfinite(guarantee.epsilon) and np.mean(noisy == X) > (1 + guarantee.delta) / 2:
        problem = f"left most elements as they are (in {X.dtype}; is the noise too small for it?)"
    elif source.denoise and not _is_variance(variance, X.shape[1]):
        problem = (
            f"states no variance_ (got {variance!r}), which denoise=True needs to know: a finite "
            "number, not negative, or one for each feature"
        )
    if problem:
        raise ValueError(
            "The 'noise' parameter of DPSource must be a noise transformer that keeps the "
            f"shape of the rows and states a guarantee_, got {noise!r}, which {problem}. "
            "Use noise='optimal', or skdp.OptimalDPNoise with parameters of your own; "
            "scale the data, by public bounds, before they get here."
        )
    if source.denoise:
        variance = np.array(np.broadcast_to(variance, X.shape[1]), dtype=np.float64)
    return noisy, variance, guarantee


def _is_variance(value, n_features):
    array = np.asarray(np.nan if value is None else value)
    if array.dtype.kind not in "iuf" or array.shape not in {(), (n_features,)}:
        return False
    return bool(np.isfinite(array).all() and array.min() >= 0)


def _make_noise(source):
    if isinstance(source.noise, str):
        return NOISES[source.noise](source.epsilon, source.delta, source.sensitivity)
    for name in BUDGET:
        own = getattr(source, name)
        theirs = source.noise.get_params(deep=False).get(name, own)
        if own != theirs:
            raise ValueError(
                f"The {name!r} parameter of DPSource is {own!r}, but that of its noise is "
                f"{theirs!r}. Give both the same value, or choose the noise by name."
            )
    return source.noise


def perturb_labels(label_noise, y):
    """Return class labels, class numbers, weights of membership, and what is guaranteed.

    Parameters
    ----------
    label_noise : RandomizedResponse or None
        How labels are randomised.

    y : ndarray of shape (n_samples,)
        Labels.

    Returns
    -------
    classes : ndarray of shape (n_classes,)

    numbers : ndarray of shape (n_samples,)

    weights : ndarray of shape (n_samples, n_classes)
        0 or 1; or, where each of K labels is kept with probability q and otherwise is any of
        the others, (1 − r)/(q − r) for the reported class and −r/(q − r) for the others, with
        r = (1 − q)/(K − 1): on average 1 for the true class and 0 for every other one.

    guarantee : PrivacyGuarantee or None
    """
    if label_noise is None:
        classes, numbers = np.unique(y, return_inverse=True)
        return classes, numbers, np.eye(len(classes))[numbers], None
    response = clone(label_noise)
    classes, numbers = np.unique(response.fit_transform(y), return_inverse=True)
    keep = response.keep_probability_
    other = (1 - keep) / (len(response.classes_) - 1)
    weights = (np.eye(len(classes))[numbers] - other) / (keep - other)
    return classes, numbers, weights, response.guarantee_
