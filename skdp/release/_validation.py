"""What a release must be; whatever is refused here is refused on loading too."""

import numpy as np

from skdp.membership import WideCDMMAClassifier
from skdp.privacy import PrivacyGuarantee
from skdp.release._alignment import Alignment
from skdp.release._linear import LinearScores
from skdp.release._mixtures import Mixtures
from skdp.release._moments import Moments
from skdp.release._part_checks import (
    check_alignment,
    check_bounds,
    check_linear,
    check_mixtures,
    check_moments,
    check_subspace,
    require,
)
from skdp.release._subspace import Subspace
from skdp.tabular import Schema
from skdp.utils._warnings import warn

# What each part must be.
_PARTS = {
    "alignment": Alignment,
    "moments": Moments,
    "subspace": Subspace,
    "mixtures": Mixtures,
    "linear": LinearScores,
}
# Units of a guarantee about features, and of one about records with their labels.
_FEATURE_UNITS = {"element", "record"}
WHOLE_UNITS = {"labelled record", "group"}
# Types of labels that a file can hold.
_LABELS = (bool, int, float, str)


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
        require(known, name, f"must be {kind.__name__} or None")
    units = _FEATURE_UNITS | WHOLE_UNITS
    # Of columns that were left out, what remains may tell nevertheless.
    _check_guarantee(release.guarantee, "guarantee", units, p, at_least=True)
    if release.label_guarantee is not None:
        own = release.guarantee.unit in _FEATURE_UNITS
        require(own, "label_guarantee", "must be None where the guarantee is about labels too")
        _check_guarantee(release.label_guarantee, "label_guarantee", {"label"}, 1)
    if release.bounds is not None:
        check_bounds(release.bounds, p)
    if release.encoder is not None:
        _check_encoder(release.encoder, release.feature_names)
    if release.alignment is not None:
        check_alignment(release.alignment, K, p)
    if release.moments is not None:
        check_moments(release.moments, K, p)
    if release.subspace is not None:
        check_subspace(release.subspace, p)
        require(release.moments is not None, "subspace", "needs moments, which there are none")
    if release.mixtures is not None:
        require(release.subspace is not None, "mixtures", "need a subspace, which there is none")
        check_mixtures(release.mixtures, K, len(release.subspace.variances))
    if release.linear is not None:
        check_linear(release.linear, K, p)
    if release.subspace is None:
        require(
            release.row_classifier is release.classifier,
            "row_classifier",
            "must be the classifier where there is no subspace",
        )
    for name in ("classifier", "row_classifier"):
        n_inputs = p
        if name == "classifier" and release.subspace is not None:
            n_inputs = len(release.subspace.variances)
        _check_classifier(getattr(release, name), name, release.classes, n_inputs)
    require(
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
        warn(f"The columns {surplus} are none of this release, and are left out.")
    return wanted


def _check_frame(release):
    """Check classes, names and dtype; return the numbers of classes and features."""
    classes, p = release.classes, release.n_features
    labels = isinstance(classes, np.ndarray) and classes.ndim == 1
    labels = labels and all(type(c) in _LABELS for c in classes.tolist())
    labels = labels and len({type(c) for c in classes.tolist()}) == 1
    require(labels, "classes", "must be an array of numbers or one of text")
    require(classes.dtype.kind != "f" or np.isfinite(classes).all(), "classes", "must be finite")
    distinct = len(set(classes.tolist()))
    require(len(classes) == distinct >= 2, "classes", "must be two or more different ones")
    require(_is_count(p), "n_features", "must be a whole number >= 1")
    names = release.feature_names
    if names is not None:
        listed = isinstance(names, np.ndarray) and names.shape == (p,)
        require(listed, "feature_names", f"must be an array of {p} names")
        texts = all(isinstance(name, str) for name in names.tolist())
        require(texts, "feature_names", "must be text")
        require(len(set(names.tolist())) == p, "feature_names", "must differ from each other")
    return len(classes), p


def _check_encoder(encoder, names):
    require(isinstance(encoder, Schema), "encoder", "must be a Schema")
    given = () if names is None else tuple(names.tolist())
    require(encoder.encoded_names == given, "encoder", "must encode rows into feature_names")


def _check_guarantee(guarantee, name, units, n_features, *, at_least=False):
    require(isinstance(guarantee, PrivacyGuarantee), name, "must be a PrivacyGuarantee")
    require(guarantee.epsilon > 0, name, "must have an epsilon > 0")
    require(guarantee.delta < 1, name, "must have a delta below 1")
    require(guarantee.unit in units, name, f"must be per {' or '.join(sorted(units))}")
    about = guarantee.n_features == n_features or (at_least and guarantee.n_features > n_features)
    more = " or more" * at_least
    require(about, name, f"must be about {n_features} features{more}")


def _is_count(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1


def _check_classifier(classifier, name, classes, n_inputs):
    if classifier is None:
        return
    fitted = isinstance(classifier, WideCDMMAClassifier) and hasattr(classifier, "classes_")
    require(fitted, name, "must be a fitted WideCDMMAClassifier")
    require(np.array_equal(classifier.classes_, classes), name, "must have the same classes")
    reads = classifier.n_features_in_ == n_inputs
    require(reads, name, f"must read {n_inputs} features")
