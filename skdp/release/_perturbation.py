"""The one step that sees private rows: perturb them, once."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skdp.noise import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise, perturb_training_rows
from skdp.privacy import PrivacyGuarantee

NOISES = {
    "optimal": OptimalDPNoise,
    "staircase": StaircaseDPNoise,
    "gaussian": GaussianDPNoise,
}
# Parameters of a source that its noise has too; None leaves them to the noise.
BUDGET = ("epsilon", "delta", "sensitivity")


@dataclass(frozen=True)
class NoisyRows:
    """A noisy copy of private rows, and what is known of its noise.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_features)

    variance : ndarray of shape (n_features,) or None
        Of the noise of each feature; None where it need not be known.

    guarantee : PrivacyGuarantee
        What is guaranteed about the rows.
    """

    rows: np.ndarray
    variance: np.ndarray | None
    guarantee: PrivacyGuarantee


@dataclass(frozen=True)
class NoisyLabels:
    """Labels as they may be learned from.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)

    indices : ndarray of shape (n_samples,)
        Class index of each row.

    weights : ndarray of shape (n_samples, n_classes)
        Weight of each row in each class: 0 or 1 where labels are as they were; otherwise on
        average 1 for the true class and 0 for every other one.

    guarantee : PrivacyGuarantee or None
        What is guaranteed about the labels; None where they are as they were.
    """

    classes: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    guarantee: PrivacyGuarantee | None


def make_noise(estimator):
    """Return the noise transformer of a source, checked against the source's own budget.

    Parameters
    ----------
    estimator : DPSource
        Has ``noise``, and the budget as ``epsilon``, ``delta`` and ``sensitivity``, each None
        where the noise, or its default, is to say it.

    Raises
    ------
    ValueError
        When the noise has another budget than the source asks for.
    """
    if isinstance(estimator.noise, type):
        raise ValueError(
            f"The 'noise' parameter of DPSource is the class {estimator.noise.__name__}. Make a "
            f"transformer of it: noise={estimator.noise.__name__}()."
        )
    own = {name: getattr(estimator, name) for name in BUDGET}
    own = {name: value for name, value in own.items() if value is not None}
    if isinstance(estimator.noise, str):
        return NOISES[estimator.noise](**own)
    theirs = estimator.noise.get_params(deep=False)
    for name, value in own.items():
        if theirs.get(name, value) != value:
            raise ValueError(
                f"The {name!r} parameter of DPSource is {value!r}, but that of its noise is "
                f"{theirs[name]!r}. Leave that of DPSource out, or give both the same value."
            )
    return estimator.noise


def perturb_rows(noise, X, *, needs_variance):
    """Return the noisy copy of private rows.

    Parameters
    ----------
    noise : transformer
        See :func:`make_noise`.

    X : ndarray of shape (n_samples, n_features)
        Private rows.

    needs_variance : bool
        Whether something is to be learned that allows for the noise.

    Returns
    -------
    noisy : NoisyRows

    Raises
    ------
    ValueError
        When the noise changes the shape of the rows, leaves most of them as they are, or
        states no guarantee or no variance.
    """
    noisy, fitted = perturb_training_rows(noise, X)
    guarantee: Any = getattr(fitted, "guarantee_", None)
    variance: Any = getattr(fitted, "variance_", None)
    problem = None
    if guarantee is None:
        problem = "states no guarantee_"
    elif noisy.shape != X.shape:
        problem = "changes the shape of the rows"
    elif np.isfinite(guarantee.epsilon) and np.mean(noisy == X) > (1 + guarantee.delta) / 2:
        problem = f"left most elements as they are (in {X.dtype}; is the noise too small for it?)"
    elif needs_variance and not _is_variance(variance, X.shape[1]):
        problem = (
            f"states no variance_ (got {variance!r}), which all parts but parts='papers' need: "
            "a finite number, not negative, or one for each feature"
        )
    if problem:
        raise ValueError(
            "The 'noise' parameter of DPSource must be a noise transformer that keeps the "
            f"shape of the rows and states a guarantee_, got {noise!r}, which {problem}. "
            "Use noise='optimal', or skdp.OptimalDPNoise with parameters of your own; "
            "scale the data, by public bounds, before they get here."
        )
    if needs_variance:
        variance = np.array(np.broadcast_to(variance, X.shape[1]), dtype=np.float64)
    return NoisyRows(noisy, variance if needs_variance else None, about_release(guarantee))


def about_release(guarantee):
    """Return the guarantee of a noisy copy as that of what is learned from it."""
    return replace(
        guarantee,
        covers="the features of the rows that the source was fitted to",
        excludes="labels, the number of rows and of rows per class; queries to the release",
    )


def _is_variance(value, n_features):
    array = np.asarray(np.nan if value is None else value)
    if array.dtype.kind not in "iuf" or array.shape not in {(), (n_features,)}:
        return False
    return bool(np.isfinite(array).all() and array.min() >= 0)


def perturb_labels(label_noise, y):
    """Return labels as they may be learned from.

    Parameters
    ----------
    label_noise : RandomizedResponse or None
        How labels are randomised.

    y : ndarray of shape (n_samples,)
        Labels.

    Returns
    -------
    labels : NoisyLabels

    Raises
    ------
    ValueError
        When fewer than two classes remain.
    """
    if label_noise is None:
        classes, indices = np.unique(y, return_inverse=True)
        weights, guarantee = np.eye(len(classes))[indices], None
    else:
        response = clone(label_noise)
        noisy = response.fit_transform(y)
        classes, indices = np.unique(noisy, return_inverse=True)
        present = np.searchsorted(response.classes_, classes)
        weights = response.unbiased_memberships(noisy)[:, present]
        guarantee = response.guarantee_
    if len(classes) < 2:
        kept = "" if label_noise is None else " after 'label_noise'"
        raise ValueError(
            f"The 'y' parameter of DPSource.fit must hold at least two classes{kept}, got "
            f"one class: {classes.tolist()}. Add rows of another class."
        )
    return NoisyLabels(classes, indices, weights, guarantee)
