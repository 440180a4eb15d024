"""What a release must be; whatever is refused here is refused on loading too."""

import warnings
from dataclasses import fields

import numpy as np

from skdp.membership import WideCDMMAClassifier
from skdp.privacy import PrivacyGuarantee
from skdp.release.estimation import Alignment, Mixtures, Moments, Subspace

# Numbers whose squares are numbers too.
LARGEST = 1e100
# Of a mean: rows have magnitudes below 1e12, and weights of randomised labels enlarge them.
_LARGEST_MEAN = 1e18
# Of a variance or covariance.
_LARGEST_VARIANCE = 1e36
# Ratio of the least to the largest variance of a subspace: its floor is float32's precision.
_SMALLEST_RATIO = 1e-9
# Of the largest variance of a subspace: rows have magnitudes above 1e-12.
_SMALLEST_SPREAD = 1e-40
# What each part must be.
_PARTS = {"alignment": Alignment, "moments": Moments, "subspace": Subspace, "mixtures": Mixtures}
# Types of labels that a file can hold.
_LABELS = (bool, int, float, str)
# Of a covariance matrix, in units of the average variance of a direction, and of its own largest
# one: below it a Cholesky factor may not exist in floating point.
_SMALLEST_VARIANCE = 1e-12
# Distance of a mean of a mixture component, in units of the average deviation of a direction.
_FARTHEST_MEAN = 1e9
# Directions are unit vectors to this precision, float32 included.
_UNIT_TOLERANCE = 1e-3


def check_release(release):
    """Raise ValueError unless the parts of a release fit together and can be used.

    Raises
    ------
    ValueError
        Names the part.
    """
    K, p = _check_frame(release)
    for name, kind in _PARTS.items():
        known = isinstance(getattr(release, name), kind | None)
        _require(known, name, f"must be {kind.__name__} or None")
    _check_guarantee(release.guarantee, "guarantee", {"element", "record"}, p)
    if release.label_guarantee is not None:
        _check_guarantee(release.label_guarantee, "label_guarantee", {"label"}, 1)
    if release.alignment is not None:
        _check_alignment(release.alignment, K, p)
    if release.moments is not None:
        _check_moments(release.moments, K, p)
    if release.subspace is not None:
        _check_subspace(release.subspace, p)
        _require(release.moments is not None, "subspace", "needs moments, which there are none")
    if release.mixtures is not None:
        _require(release.subspace is not None, "mixtures", "need a subspace, which there is none")
        _check_mixtures(release.mixtures, K, len(release.subspace.variances))
    if release.subspace is None:
        _require(
            release.row_classifier is release.classifier,
            "row_classifier",
            "must be the classifier where there is no subspace",
        )
    for name in ("classifier", "row_classifier"):
        n_inputs = p
        if name == "classifier" and release.subspace is not None:
            n_inputs = len(release.subspace.variances)
        _check_classifier(getattr(release, name), name, release.classes, n_inputs)
    _require(
        not all(part is None for part in (release.moments, release.classifier)),
        "release",
        "has neither moments nor a classifier",
    )


def check_dtype(dtype):
    """Return float32 or float64; raise ValueError for anything else."""
    for allowed in (np.dtype(np.float32), np.dtype(np.float64)):
        if any(
            dtype is same or dtype == same for same in (allowed.type, allowed.str, allowed.name)
        ):
            return allowed
    raise ValueError(
        f"The 'dtype' of a release must be float32 or float64, got {dtype!r}. Ask its owner for "
        "a sound one."
    )


def check_names(given, wanted):
    """Return the wanted names; warn of others, raise where one is missing or there twice."""
    missing = [name for name in wanted if name not in given]
    if missing:
        raise ValueError(
            f"X lacks the columns {missing} of this release. Add them, or pass an array whose "
            "columns are in the order of feature_names."
        )
    twice = sorted({name for name in wanted if given.count(name) > 1})
    if twice:
        raise ValueError(f"X has several columns called {twice}. Give each its own name.")
    surplus = [name for name in given if name not in wanted]
    if surplus:
        warnings.warn(
            f"The columns {surplus} are none of this release, and are left out.", stacklevel=5
        )
    return wanted


def _require(condition, name, problem):
    if not condition:
        raise ValueError(f"The {name!r} of a release {problem}. Ask its owner for a sound one.")


def _check_frame(release):
    """Check classes, names and dtype; return the numbers of classes and features."""
    classes, p = release.classes, release.n_features
    labels = isinstance(classes, np.ndarray) and classes.ndim == 1
    labels = labels and all(type(c) in _LABELS for c in classes.tolist())
    labels = labels and len({type(c) for c in classes.tolist()}) == 1
    _require(labels, "classes", "must be an array of numbers or one of text")
    _require(classes.dtype.kind != "f" or np.isfinite(classes).all(), "classes", "must be finite")
    distinct = len(set(classes.tolist()))
    _require(len(classes) == distinct >= 2, "classes", "must be two or more different ones")
    _require(_is_count(p), "n_features", "must be a whole number >= 1")
    names = release.feature_names
    if names is not None:
        listed = isinstance(names, np.ndarray) and names.shape == (p,)
        _require(listed, "feature_names", f"must be an array of {p} names")
        texts = all(isinstance(name, str) for name in names.tolist())
        _require(texts, "feature_names", "must be text")
        _require(len(set(names.tolist())) == p, "feature_names", "must differ from each other")
    return len(classes), p


def _check_guarantee(guarantee, name, units, n_features):
    _require(isinstance(guarantee, PrivacyGuarantee), name, "must be a PrivacyGuarantee")
    _require(guarantee.epsilon > 0, name, "must have an epsilon > 0")
    _require(guarantee.delta < 1, name, "must have a delta below 1")
    _require(guarantee.unit in units, name, f"must be per {' or '.join(sorted(units))}")
    _require(guarantee.n_features == n_features, name, f"must be about {n_features} features")
    try:
        guarantee.check_losses()
    except ValueError as error:
        raise ValueError(f"The {name!r} of a release is no sound one. {error}") from error


def _is_count(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1


def largest_magnitude(array):
    """Return the largest magnitude, without a copy of the array; NaN where it has one."""
    return max(-float(array.min(initial=0)), float(array.max(initial=0)))


def _check_arrays(part, name):
    """Check that all fields but optional ones are arrays of numbers that can be squared."""
    optional = {field.name for field in fields(part) if field.default is None}
    for key, array in vars(part).items():
        if array is None and key in optional:
            continue
        real = isinstance(array, np.ndarray) and array.dtype.kind in "iuf"
        _require(real, f"{name}.{key}", "must be an array of real numbers")
        _require(largest_magnitude(array) < LARGEST, f"{name}.{key}", "must be finite")


def _check_shape(array, shape, name):
    _require(array.shape == shape, name, f"must have shape {shape}, got {array.shape}")


def _check_below(array, limit, name):
    below = largest_magnitude(array) < limit
    _require(below, name, f"must have magnitudes below {limit:g}")


def _check_units(directions, name):
    lengths = np.linalg.norm(directions, axis=1)
    _require(np.allclose(lengths, 1, atol=_UNIT_TOLERANCE), name, "must be unit vectors")


def _check_alignment(alignment, K, p):
    _check_arrays(alignment, "alignment")
    directions = alignment.components
    _require(directions.ndim == 2 and len(directions), "alignment.components", "must be a matrix")
    _check_shape(directions, (len(directions), p), "alignment.components")
    _check_shape(alignment.class_medians, (K, len(directions)), "alignment.class_medians")
    _check_shape(alignment.mean, (p,), "alignment.mean")
    _check_units(directions, "alignment.components")
    _check_below(alignment.class_medians, _LARGEST_MEAN, "alignment.class_medians")
    _check_below(alignment.mean, _LARGEST_MEAN, "alignment.mean")


def _check_moments(moments, K, p):
    _check_arrays(moments, "moments")
    for name in ("class_counts", "effective_sizes"):
        counts = getattr(moments, name)
        _check_shape(counts, (K,), f"moments.{name}")
        _require(counts.min() > 0, f"moments.{name}", "must be positive")
    _check_shape(moments.means, (K, p), "moments.means")
    n_covariances = 1 if len(moments.covariances) == 1 else K
    _check_shape(moments.covariances, (n_covariances, p * (p + 1) // 2), "moments.covariances")
    variances = {"noise": (p,), "mean_noise": (K, p), "covariance_noise": (n_covariances, p)}
    for name, shape in variances.items():
        array = getattr(moments, name)
        if array is not None:
            _check_shape(array, shape, f"moments.{name}")
            _require(array.min() >= 0, f"moments.{name}", "must not be negative")
            limit = LARGEST if name == "covariance_noise" else _LARGEST_VARIANCE
            _check_below(array, limit, f"moments.{name}")
    _check_below(moments.means, _LARGEST_MEAN, "moments.means")
    _check_below(moments.covariances, _LARGEST_VARIANCE, "moments.covariances")


def _check_subspace(subspace, p):
    _check_arrays(subspace, "subspace")
    variances = subspace.variances
    positive = variances.ndim == 1 and len(variances) and variances.min() > 0
    _require(positive, "subspace.variances", "must be positive numbers")
    _check_shape(subspace.mean, (p,), "subspace.mean")
    _check_shape(subspace.components, (len(variances), p), "subspace.components")
    _check_units(subspace.components, "subspace.components")
    _check_below(subspace.mean, _LARGEST_MEAN, "subspace.mean")
    _check_below(variances, _LARGEST_VARIANCE, "subspace.variances")
    spread = variances.max() > _SMALLEST_SPREAD
    spread = spread and variances.min() > _SMALLEST_RATIO * variances.max()
    _require(spread, "subspace.variances", "must not vanish beside each other")


def _check_mixtures(mixtures, K, d):
    _check_arrays(mixtures, "mixtures")
    indices, weights, S = mixtures.class_indices, mixtures.weights, mixtures.covariances
    n = indices.size
    numbered = indices.shape == (n,) and indices.dtype.kind == "i"
    numbered = numbered and np.array_equal(np.unique(indices), np.arange(K))
    numbered = numbered and (np.diff(indices) >= 0).all()
    _require(numbered, "mixtures.class_indices", f"must go up from 0 to {K - 1}")
    _check_shape(weights, (n,), "mixtures.weights")
    proper = weights.min() > 0 and np.allclose(np.bincount(indices, weights), 1)
    _require(proper, "mixtures.weights", "must be positive and add up to 1 in each class")
    _check_shape(mixtures.means, (n, d), "mixtures.means")
    near = np.abs(mixtures.means).max() < _FARTHEST_MEAN
    _require(near, "mixtures.means", "must be near the centre of the subspace")
    _check_shape(S, (n, d, d), "mixtures.covariances")
    symmetric = np.allclose(S, S.swapaxes(1, 2))
    _require(symmetric, "mixtures.covariances", "must be symmetric")
    variances = np.linalg.eigvalsh(S)
    definite = variances[:, 0] > _SMALLEST_VARIANCE * np.maximum(variances[:, -1], 1)
    _require(definite.all(), "mixtures.covariances", "must be positive definite")


def _check_classifier(classifier, name, classes, n_inputs):
    if classifier is None:
        return
    fitted = isinstance(classifier, WideCDMMAClassifier) and hasattr(classifier, "classes_")
    _require(fitted, name, "must be a fitted WideCDMMAClassifier")
    _require(np.array_equal(classifier.classes_, classes), name, "must have the same classes")
    reads = classifier.n_features_in_ == n_inputs
    _require(reads, name, f"must read {n_inputs} features")
