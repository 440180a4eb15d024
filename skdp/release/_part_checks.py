"""What the numbers in each part of a release must be."""

from dataclasses import fields

import numpy as np

from skdp.release._basis import BasisFunctions

# Numbers whose squares are numbers too.
LARGEST = 1e100
# Of a mean: rows have magnitudes below 1e12, and weights of randomised labels enlarge them.
_LARGEST_MEAN = 1e18
# Of a variance or covariance.
_LARGEST_VARIANCE = 1e36
# Rows of a class at least, so that variances divided by them stay finite.
_LEAST_COUNT = 1e-9
# Of a coefficient of linear scores.
_LARGEST_COEFFICIENT = 1e30
# Of a cosine.
_LARGEST_ORDER = 1000
# Ratio of the least to the largest variance of a subspace: its floor is float32's precision.
_SMALLEST_RATIO = 1e-9
# Of the largest variance of a subspace: rows have magnitudes above 1e-12.
_SMALLEST_SPREAD = 1e-40
# Of a covariance matrix, in units of the average variance of a direction, and of its own largest
# one: below it a Cholesky factor may not exist in floating point.
_SMALLEST_VARIANCE = 1e-12
# Distance of a mean of a mixture component, in units of the average deviation of a direction.
_FARTHEST_MEAN = 1e9
# Directions are unit vectors to this precision, float32 included.
_UNIT_TOLERANCE = 1e-3


def require(condition, name, problem):
    """Raise ValueError, naming the part, unless the condition holds."""
    if not condition:
        raise ValueError(f"The {name!r} of a release {problem}. Ask its owner for a sound one.")


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
        require(real, f"{name}.{key}", "must be an array of real numbers")
        require(largest_magnitude(array) < LARGEST, f"{name}.{key}", "must be finite")


def _check_shape(array, shape, name):
    require(array.shape == shape, name, f"must have shape {shape}, got {array.shape}")


def _check_below(array, limit, name):
    below = largest_magnitude(array) < limit
    require(below, name, f"must have magnitudes below {limit:g}")


def _check_units(directions, name):
    lengths = np.linalg.norm(directions, axis=1)
    require(np.allclose(lengths, 1, atol=_UNIT_TOLERANCE), name, "must be unit vectors")


def check_bounds(bounds, p):
    """Raise ValueError unless these are bounds of p features."""
    real = isinstance(bounds, np.ndarray) and bounds.dtype.kind == "f"
    require(real, "bounds", "must be an array of real numbers")
    _check_shape(bounds, (2, p), "bounds")
    require(largest_magnitude(bounds) < LARGEST, "bounds", "must be finite")
    require((bounds[0] < bounds[1]).all(), "bounds", "must be low and high, low < high")


def check_alignment(alignment, K, p):
    """Raise ValueError unless the alignment of K classes in p features is sound."""
    _check_arrays(alignment, "alignment")
    directions = alignment.components
    require(directions.ndim == 2 and len(directions), "alignment.components", "must be a matrix")
    _check_shape(directions, (len(directions), p), "alignment.components")
    _check_shape(alignment.class_medians, (K, len(directions)), "alignment.class_medians")
    _check_shape(alignment.mean, (p,), "alignment.mean")
    _check_units(directions, "alignment.components")
    _check_below(alignment.class_medians, _LARGEST_MEAN, "alignment.class_medians")
    _check_below(alignment.mean, _LARGEST_MEAN, "alignment.mean")


def check_moments(moments, K, p):
    """Raise ValueError unless these are moments of K classes in p features."""
    _check_arrays(moments, "moments")
    for name in ("class_counts", "effective_sizes"):
        counts = getattr(moments, name)
        _check_shape(counts, (K,), f"moments.{name}")
        require(
            counts.min() >= _LEAST_COUNT,
            f"moments.{name}",
            f"must be positive, >= {_LEAST_COUNT:g}",
        )
    _check_shape(moments.means, (K, p), "moments.means")
    n_covariances = 1 if len(moments.covariances) == 1 else K
    _check_shape(moments.covariances, (n_covariances, p * (p + 1) // 2), "moments.covariances")
    variances = {"noise": (p,), "mean_noise": (K, p), "covariance_noise": (n_covariances, p)}
    for name, shape in variances.items():
        array = getattr(moments, name)
        if array is not None:
            _check_shape(array, shape, f"moments.{name}")
            require(array.min() >= 0, f"moments.{name}", "must not be negative")
            limit = LARGEST if name == "covariance_noise" else _LARGEST_VARIANCE
            _check_below(array, limit, f"moments.{name}")
    _check_below(moments.means, _LARGEST_MEAN, "moments.means")
    _check_below(moments.covariances, _LARGEST_VARIANCE, "moments.covariances")


def check_subspace(subspace, p):
    """Raise ValueError unless this is a subspace of p features."""
    _check_arrays(subspace, "subspace")
    variances = subspace.variances
    positive = variances.ndim == 1 and len(variances) and variances.min() > 0
    require(positive, "subspace.variances", "must be positive numbers")
    _check_shape(subspace.mean, (p,), "subspace.mean")
    _check_shape(subspace.components, (len(variances), p), "subspace.components")
    _check_units(subspace.components, "subspace.components")
    _check_below(subspace.mean, _LARGEST_MEAN, "subspace.mean")
    _check_below(variances, _LARGEST_VARIANCE, "subspace.variances")
    spread = variances.max() > _SMALLEST_SPREAD
    spread = spread and variances.min() > _SMALLEST_RATIO * variances.max()
    require(spread, "subspace.variances", "must not vanish beside each other")


def check_mixtures(mixtures, K, d):
    """Raise ValueError unless these are mixtures of K classes in d directions."""
    _check_arrays(mixtures, "mixtures")
    indices, weights, S = mixtures.class_indices, mixtures.weights, mixtures.covariances
    n = indices.size
    numbered = indices.shape == (n,) and indices.dtype.kind == "i"
    numbered = numbered and np.array_equal(np.unique(indices), np.arange(K))
    numbered = numbered and (np.diff(indices) >= 0).all()
    require(numbered, "mixtures.class_indices", f"must go up from 0 to {K - 1}")
    _check_shape(weights, (n,), "mixtures.weights")
    proper = weights.min() > 0 and np.allclose(np.bincount(indices, weights), 1)
    require(proper, "mixtures.weights", "must be positive and add up to 1 in each class")
    _check_shape(mixtures.means, (n, d), "mixtures.means")
    near = np.abs(mixtures.means).max() < _FARTHEST_MEAN
    require(near, "mixtures.means", "must be near the centre of the subspace")
    _check_shape(S, (n, d, d), "mixtures.covariances")
    symmetric = np.allclose(S, S.swapaxes(1, 2))
    require(symmetric, "mixtures.covariances", "must be symmetric")
    variances = np.linalg.eigvalsh(S)
    definite = variances[:, 0] > _SMALLEST_VARIANCE * np.maximum(variances[:, -1], 1)
    require(definite.all(), "mixtures.covariances", "must be positive definite")


def check_linear(linear, K, p):
    """Raise ValueError unless these are scores of K classes, of p features or terms of them."""
    basis, n_inputs = linear.basis, p
    if basis is not None:
        require(
            isinstance(basis, BasisFunctions), "linear.basis", "must be BasisFunctions or None"
        )
        _check_basis(basis, p)
        n_inputs = len(basis.column)
    for name, shape in (
        ("coefficients", (K, n_inputs)),
        ("intercepts", (K,)),
        ("d_primes", (K, K)),
    ):
        array = getattr(linear, name)
        if array is None and name == "d_primes":
            continue
        real = isinstance(array, np.ndarray) and array.dtype.kind == "f"
        require(real, f"linear.{name}", "must be an array of real numbers")
        _check_shape(array, shape, f"linear.{name}")
        _check_below(array, _LARGEST_COEFFICIENT, f"linear.{name}")


def _check_basis(basis, p):
    _check_arrays(basis, "linear.basis")
    n = basis.column.size
    for name, array in vars(basis).items():
        _check_shape(array, (n,), f"linear.basis.{name}")
    for name in ("column", "order"):
        whole = getattr(basis, name).dtype.kind == "i"
        require(whole, f"linear.basis.{name}", "must be whole numbers")
    known = n and basis.column.min() >= 0 and basis.column.max() < p
    require(known, "linear.basis.column", f"must be from 0 to {p - 1}")
    known = basis.order.min() >= 1 and basis.order.max() <= _LARGEST_ORDER
    require(known, "linear.basis.order", f"must be from 1 to {_LARGEST_ORDER}")
    require((basis.low < basis.high).all(), "linear.basis.low", "must be below linear.basis.high")
    for name in ("low", "high", "centre", "scale", "variances"):
        _check_below(getattr(basis, name), _LARGEST_MEAN, f"linear.basis.{name}")
