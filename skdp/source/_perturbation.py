"""Noise on the rows and labels of :class:`DPSource`; for noise on sums, see ``skdp.noise``."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skdp.noise import (
    DEFAULT_SENSITIVITY,
    GaussianDPNoise,
    OptimalDPNoise,
    StaircaseDPNoise,
    perturb_training_rows,
    warn_of_unstated_range,
)
from skdp.privacy import PrivacyGuarantee
from skdp.release import elements_per_value
from skdp.utils._labels import checked_labels, is_missing
from skdp.utils._linalg import row_blocks
from skdp.utils._validation import LARGEST, SMALLEST

NOISES = {
    "optimal": OptimalDPNoise,
    "staircase": StaircaseDPNoise,
    "gaussian": GaussianDPNoise,
}
# Parameters of a source that its noise has too; None leaves them to the noise.
BUDGET = ("epsilon", "delta", "sensitivity", "bounds")
# No noise is larger than this many times the sensitivity over epsilon: that of Laplace is with a
# probability of e^-50.
_FARTHEST = 50


@dataclass(frozen=True)
class NoisyRows:
    """A noisy copy of private rows, and the variance of its noise.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_features)

    variance : ndarray of shape (n_features,) or None
        Of the noise of each feature; None where it is not needed.

    guarantee : PrivacyGuarantee
        Guarantee for the rows.
    """

    rows: np.ndarray
    variance: np.ndarray | None
    guarantee: PrivacyGuarantee


@dataclass(frozen=True)
class NoisyLabels:
    """Labels after their perturbation, if any.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)

    indices : ndarray of shape (n_samples,)
        Class index of each row.

    weights : ndarray of shape (n_samples, n_classes)
        Weight of each row in each class: 0 or 1 where labels are unperturbed; otherwise on
        average 1 for the true class and 0 for every other one.

    guarantee : PrivacyGuarantee or None
        Guarantee for the labels; None where they are unperturbed.
    """

    classes: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    guarantee: PrivacyGuarantee | None


def make_noise(source):
    """Return the noise transformer of a source, with the budget and bounds that both state."""
    given = {name: getattr(source, name) for name in BUDGET}
    if source.encoder is not None:
        if source.bounds is not None:
            raise ValueError(
                f"The 'bounds' parameter of DPSource is {source.bounds!r:.100} beside an "
                "'encoder', whose schema has the bounds of each column. Leave out 'bounds'."
            )
        given["bounds"] = (0, 1)
    given = {name: value for name, value in given.items() if value is not None}
    if "bounds" in given and "sensitivity" in given:
        raise ValueError(
            f"The 'sensitivity' parameter of DPSource is {source.sensitivity!r} beside 'bounds' "
            "or an 'encoder', which say how far a value can move. Leave out 'sensitivity'."
        )
    if isinstance(source.noise, type):
        raise ValueError(
            f"The 'noise' parameter of DPSource is the class {source.noise.__name__}. Make a "
            f"transformer of it: noise={source.noise.__name__}()."
        )
    named = isinstance(source.noise, str)
    theirs = {} if named else source.noise.get_params(deep=False)
    stated = [known.get(name) for known in (given, theirs) for name in ("bounds", "sensitivity")]
    if stated.count(None) == len(stated) and (named or "sensitivity" in theirs):
        given["sensitivity"] = DEFAULT_SENSITIVITY
        remedy = "a table's schema as 'encoder'; "
        warn_of_unstated_range(type(source).__name__, remedy=remedy)
    if named:
        return NOISES[source.noise](**given)
    for name, value in given.items():
        its = theirs.get(name, "not a parameter" if name == "bounds" else value)
        if its is not None and not np.array_equal(its, value):
            raise ValueError(
                f"The {name!r} parameter of DPSource is {value!r:.100}, but that of its noise is "
                f"{its!r:.100}. Leave that of DPSource out, or give both the same value."
            )
    missing = {name: value for name, value in given.items() if theirs.get(name, value) is None}
    if not missing:
        return source.noise
    noise = clone(source.noise).set_params(**missing)
    if "random_state" in theirs:  # a generator must go on, not be copied
        noise.set_params(random_state=theirs["random_state"])
    return noise


def perturb_rows(noise, X, *, needs_variance, schema=None):
    """Return the noisy copy of private rows."""
    # Kumar and Moser, Algorithm 5.
    noisy, fitted = perturb_training_rows(noise, X)
    guarantee: Any = getattr(fitted, "guarantee_", None)
    variance: Any = getattr(fitted, "variance_", None)
    problem = None
    if guarantee is None:
        problem = "states no guarantee_"
    elif noisy.shape != X.shape:
        problem = "changes the shape of the rows"
    elif np.isfinite(guarantee.epsilon) and _same(noisy, X) > (1 + guarantee.delta) / 2:
        problem = f"left most elements as they are (in {X.dtype}; is the noise too small for it?)"
    elif needs_variance and not _is_variance(variance, X.shape[1]):
        problem = (
            f"states no variance_ (got {variance!r}), which all parts but parts='papers' need: "
            "a finite number, not negative, or one for each feature"
        )
    if problem:
        raise ValueError(
            "The 'noise' parameter of DPSource must be a noise transformer that keeps the shape "
            f"of the rows and states a guarantee_, got {noise!r}, which {problem}. Use "
            "noise='optimal', or skdp.OptimalDPNoise with your own parameters; scale the data by "
            "public bounds first."
        )
    if needs_variance:
        variance = np.array(np.broadcast_to(variance, X.shape[1]), dtype=np.float64)
    guarantee = about_release(guarantee, schema)
    return NoisyRows(noisy, variance if needs_variance else None, guarantee)


def _same(noisy, X):
    """Return the share of the elements that the noise did not change."""
    blocks = row_blocks(len(X))
    return sum(np.count_nonzero(noisy[rows] == X[rows]) for rows in blocks) / X.size


def about_release(guarantee, schema=None):
    """Return the guarantee of a noisy copy, reworded for results learned from it."""
    covers = "the features of the rows that the source was fitted to"
    if schema is not None:
        covers += ", as encoded"
        if guarantee.unit == "element":
            k = elements_per_value(schema)
            covers += f": one value of the table moves {k} element{'s' * (k > 1)} at most"
    return replace(
        guarantee,
        covers=covers,
        excludes="labels, the number of rows and of rows per class; queries to the release",
    )


def _is_variance(value, n_features):
    array = np.asarray(np.nan if value is None else value)
    if array.dtype.kind not in "iuf" or array.shape not in {(), (n_features,)}:
        return False
    return bool(np.isfinite(array).all() and array.min() >= 0)


def make_response(label_noise, schema):
    """Return the randomized response for labels, by default among the classes of a schema."""
    listed = None if schema is None else schema.classes
    if label_noise is None or listed is None or label_noise.classes is not None:
        return label_noise
    return clone(label_noise).set_params(classes=listed)


def class_labels(labels):
    """Return labels that a classifier can learn; whether a release can hold them is rehearsed."""
    if not len(labels):
        raise ValueError("The 'X' and 'y' parameters of DPSource.fit hold no rows.")
    if any(is_missing(label) for label in labels.tolist()):
        raise ValueError(
            "Input y contains NaN, or rows without a label (None or NA). Leave them out, or list "
            "the classes in the schema of an encoder: rows of no class are left out, where labels "
            "are not private."
        )
    return checked_labels(labels, "DPSource.fit")


def check_scale(noise, X):
    """Raise ValueError where noisy rows would be too large or too small, without quoting values.

    Before the noise is drawn, hence before the budget is spent.
    """
    theirs = noise.get_params(deep=False)
    bounds, scale = theirs.get("bounds"), float(theirs.get("sensitivity") or 0.0)
    largest = max(X.max(), -X.min())  # np.abs would copy all rows
    if bounds is not None and not isinstance(bounds, str):
        low, high = (np.asarray(end, dtype=np.float64) for end in bounds)
        largest, scale = np.maximum(abs(low), abs(high)).max(), (high - low).max()
    scale /= float(theirs.get("epsilon", np.inf))
    if largest + _FARTHEST * scale >= LARGEST or 0 < max(largest, scale) <= SMALLEST:
        raise ValueError(
            f"Input X, with the noise of 'sensitivity' and 'epsilon', must have its largest "
            f"magnitude between {SMALLEST:g} and {LARGEST:g}. Scale it to about unit range, by a "
            "rule that does not depend on the data."
        )
    # Half of the values of noise of scale s, such as Laplace's, are below 0.7 s and lost to
    # rounding here.
    coarse = (
        np.count_nonzero(np.spacing(np.abs(X[rows])) > 1.4 * scale) for rows in row_blocks(len(X))
    )
    if scale > 0 and sum(coarse) > 0.5 * X.size:
        raise ValueError(
            f"Input X would keep most elements as they are in {X.dtype}: is the noise too small "
            "for it? Scale X to about unit range, by a rule that does not depend on the data."
        )


def perturb_labels(label_noise, y):
    """Return labels after their perturbation, if any."""
    if label_noise is None:
        classes, indices = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "The 'y' parameter of DPSource.fit must hold at least two classes, got one class: "
                f"{classes.tolist()}. Add rows of another class."
            )
        return NoisyLabels(classes, indices, np.eye(len(classes))[indices], None)
    response = clone(label_noise)
    noisy = response.fit_transform(y)
    if (noisy == noisy[0]).all():
        # Few rows may get one label, of which nothing can be learned. One of them gets another:
        # what is done to noisy labels costs nothing.
        noisy[0] = response.classes_[int(response.classes_[0] == noisy[0])]
    classes, indices = np.unique(noisy, return_inverse=True)
    present = np.searchsorted(response.classes_, classes)
    weights = response.unbiased_memberships(noisy)[:, present]
    return NoisyLabels(classes, indices, weights, response.guarantee_)


def public_stand_ins(noise, response, X, y, columns):
    """Return arguments for a rehearsal that depend on public values alone."""
    # Two rows of each class, at either end of the bounds, and the noise and the randomized
    # response with randomness of their own.
    classes = np.unique(y)
    if response is not None:
        classes = np.unique(classes if response.classes is None else np.asarray(response.classes))
        response = clone(response).set_params(classes=classes, random_state=None)
    sensitivity = noise.get_params(deep=False).get("sensitivity")
    low, high = 0.0, DEFAULT_SENSITIVITY if sensitivity is None else float(sensitivity)
    if columns.bounds is not None:
        low, high = columns.bounds
    rows = np.empty((2 * len(classes), X.shape[1]), dtype=X.dtype)
    rows[::2], rows[1::2] = low, high
    noise = clone(noise)
    if "random_state" in noise.get_params(deep=False):
        noise.set_params(random_state=None)
    return noise, response, rows, np.repeat(classes, 2)
