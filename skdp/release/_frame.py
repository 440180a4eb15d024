"""What is public about a release: its validation."""

import numpy as np

from skdp.privacy import WHOLE
from skdp.release._guarantees import FEATURE_UNITS, check_guarantee
from skdp.release._parts import LARGEST, check_shape, largest_magnitude, require
from skdp.tabular import Schema

# Types of labels that a file can hold.
_LABELS = (bool, int, float, str)


def float_dtype(dtype):
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


def check_frame(release):
    """Raise ValueError, naming the part, unless what is public can be used."""
    classes, p = release.classes, release.n_features
    labels = isinstance(classes, np.ndarray) and classes.ndim == 1
    labels = labels and all(type(c) in _LABELS for c in classes.tolist())
    labels = labels and len({type(c) for c in classes.tolist()}) == 1
    require(labels, "classes", "must be an array of numbers or one of text")
    require(classes.dtype.kind != "f" or np.isfinite(classes).all(), "classes", "must be finite")
    distinct = len(set(classes.tolist()))
    require(len(classes) == distinct >= 2, "classes", "must be two or more different ones")
    require(_is_count(p), "n_features", "must be a whole number >= 1")
    require(classes.tolist() == sorted(classes.tolist()), "classes", "must be sorted")
    names = release.feature_names
    if names is not None:
        listed = isinstance(names, np.ndarray) and names.shape == (p,)
        require(listed, "feature_names", f"must be an array of {p} names")
        texts = all(isinstance(name, str) for name in names.tolist())
        require(texts, "feature_names", "must be text")
        require(len(set(names.tolist())) == p, "feature_names", "must differ from each other")
    if release.bounds is not None:
        _check_bounds(release.bounds, p)
    if release.encoder is not None:
        require(isinstance(release.encoder, Schema), "encoder", "must be a Schema")
        given = () if names is None else tuple(names.tolist())
        encodes = release.encoder.encoded_names == given
        require(encodes, "encoder", "must encode rows into feature_names")
    # The other columns still tell about those that were left out.
    check_guarantee(release.guarantee, "guarantee", FEATURE_UNITS | WHOLE, p, at_least=True)
    if release.label_guarantee is not None:
        apart = release.guarantee.unit in FEATURE_UNITS
        require(apart, "label_guarantee", "must be None where the guarantee is about labels too")
        check_guarantee(release.label_guarantee, "label_guarantee", {"label"}, 1)


def _check_bounds(bounds, p):
    real = isinstance(bounds, np.ndarray) and bounds.dtype.kind == "f"
    require(real, "bounds", "must be an array of real numbers")
    check_shape(bounds, (2, p), "bounds")
    require(largest_magnitude(bounds) < LARGEST, "bounds", "must be finite")
    require((bounds[0] < bounds[1]).all(), "bounds", "must be low and high, low < high")


def _is_count(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1
