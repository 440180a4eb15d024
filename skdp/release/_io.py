"""The release as a file: arrays and a JSON header, with keys that no renaming can change."""

from dataclasses import asdict, replace

import numpy as np

from skdp.membership import pack_classifier, unpack_classifier
from skdp.privacy import PrivacyGuarantee
from skdp.release._alignment import Alignment
from skdp.release._basis import BasisFunctions
from skdp.release._linear import LinearScores
from skdp.release._mixtures import Mixtures
from skdp.release._moments import Moments
from skdp.release._part_checks import LARGEST, largest_magnitude
from skdp.release._subspace import Subspace
from skdp.tabular import Schema
from skdp.utils._storage import load_arrays, require, save_arrays, stored_labels, well_formed

_KIND = "Release"

# Key in the file and attribute of each array, part by part. Files of these keys exist: a key
# may be added, never changed.
_PARTS: dict = {
    "alignment": (
        Alignment,
        {"components": "components", "class_medians": "class_medians", "mean": "mean"},
    ),
    "moments": (
        Moments,
        {
            "class_counts": "class_counts",
            "effective_sizes": "effective_sizes",
            "means": "means",
            "covariances": "covariances",
            "noise_variances": "noise",
            "mean_noise_variances": "mean_noise",
            "covariance_noise_variances": "covariance_noise",
        },
    ),
    "subspace": (
        Subspace,
        {"mean": "mean", "components": "components", "variances": "variances"},
    ),
    "mixtures": (
        Mixtures,
        {
            "class_indices": "class_indices",
            "weights": "weights",
            "means": "means",
            "covariances": "covariances",
        },
    ),
    "linear": (
        LinearScores,
        {
            "coefficients": "coefficients",
            "intercepts": "intercepts",
            "separations": "d_primes",
        },
    ),
}
# Those of the terms that linear scores may read.
_TERMS = ("column", "order", "centre", "scale", "low", "high", "variances")

# Keys of the header, those of all files included.
_HEADER = {
    *("format", "version", "kind", "classes", "n_features", "dtype", "feature_names"),
    *("guarantee", "label_guarantee", "classifier", "row_classifier", "encoder"),
}


def write_release(release, path, overwrite):
    """Write a :class:`Release` to a file."""
    header = {
        "classes": release.classes.tolist(),
        "n_features": int(release.n_features),
        "dtype": release.dtype.str,
        "guarantee": asdict(release.guarantee),
        "label_guarantee": release.label_guarantee and asdict(release.label_guarantee),
        "feature_names": None if release.feature_names is None else release.feature_names.tolist(),
        # As a text: keys of the header are sorted, and the order of columns must not be.
        "encoder": release.encoder and release.encoder.to_json(),
    }
    arrays: dict = {}
    for name, (_, keys) in _PARTS.items():
        part = getattr(release, name)
        if part is not None:
            found = {f"{name}/{key}": getattr(part, own) for key, own in keys.items()}
            arrays |= {key: array for key, array in found.items() if array is not None}
    if release.linear is not None and release.linear.basis is not None:
        arrays |= {f"terms/{key}": getattr(release.linear.basis, key) for key in _TERMS}
    if release.bounds is not None:
        arrays["bounds"] = release.bounds
    for name in _classifiers(release):
        header[name], own = pack_classifier(getattr(release, name), f"{name}/")
        arrays |= own
    save_arrays(path, _KIND, header, arrays, overwrite=overwrite)


def _classifiers(release):
    """Yield the names of the classifiers to be written, each classifier once."""
    if release.classifier is not None:
        yield "classifier"
    if release.row_classifier not in (None, release.classifier):
        yield "row_classifier"


def read_release(cls, path, mmap_mode=None):
    """Read a release, ``cls``, from a file."""
    if mmap_mode not in (None, "r"):
        raise ValueError(
            f"The 'mmap_mode' parameter of Release.load must be 'r' or None, got {mmap_mode!r}. "
            "A release cannot be written to."
        )
    header, arrays = load_arrays(path, _KIND, mmap_mode)
    with well_formed(path, _KIND):
        require(all(_is_sane(array) for array in arrays.values()), "numbers")
        return _build(cls, header, arrays)


def _is_sane(array):
    """Return whether an array holds real numbers whose squares are numbers too."""
    return array.dtype.kind in "iuf" and largest_magnitude(array) < LARGEST


def _build(cls, header, arrays):
    require(set(header) <= _HEADER, "keys of the header")
    names, labels = header["feature_names"], header["label_guarantee"]
    schema = header.get("encoder")
    parts = {name: _read_part(name, arrays) for name in _PARTS}
    if any(key.startswith("terms/") for key in arrays):
        basis = BasisFunctions(**{key: arrays[f"terms/{key}"] for key in _TERMS})
        parts["linear"] = replace(parts["linear"], basis=basis)
    parts |= {
        name: unpack_classifier(header[name], arrays, f"{name}/")
        for name in ("classifier", "row_classifier")
        if header.get(name) is not None
    }
    return cls(
        classes=stored_labels(header["classes"]),
        n_features=header["n_features"],
        dtype=header["dtype"],
        guarantee=PrivacyGuarantee(**header["guarantee"]),
        label_guarantee=None if labels is None else PrivacyGuarantee(**labels),
        feature_names=None if names is None else np.array(names, dtype=object),
        bounds=arrays.get("bounds"),
        encoder=None if schema is None else Schema.from_json(schema),
        **parts,
    )


def _read_part(name, arrays):
    """Return a part of the release, or None where the file has nothing of it."""
    cls, keys = _PARTS[name]
    found = {f"{name}/{key}": own for key, own in keys.items() if f"{name}/{key}" in arrays}
    return cls(**{own: arrays[key] for key, own in found.items()}) if found else None
