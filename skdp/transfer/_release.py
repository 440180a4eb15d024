"""The release as a file."""

from dataclasses import asdict

import numpy as np

from skdp.membership import pack_classifier, unpack_classifier
from skdp.privacy import PrivacyGuarantee
from skdp.transfer._mixtures import Mixtures
from skdp.transfer._moments import Moments
from skdp.transfer._subspace import Subspace
from skdp.utils._storage import load_arrays, require, save_arrays, well_formed

_KIND, _LARGEST, _SMALLEST = "DPSource", 1e100, 1e-12
_FARTHEST = 1e9  # in units of the average deviation of a direction


def write_source(source, path):
    """Write a fitted DPSource to a file."""
    classifier, arrays = pack_classifier(source.classifier_)
    header = {
        "classifier": classifier,
        "guarantee": asdict(source.guarantee_),
        "label_guarantee": source.label_guarantee_ and asdict(source.label_guarantee_),
        "feature_names": getattr(source, "feature_names_in_", np.array([])).tolist(),
    }
    own = {"components": source.components_, "class_medians": source.class_medians_}
    own["mean"] = source.mean_
    for part in (source.moments_, source._subspace, source._mixtures):
        if part is not None:
            name = type(part).__name__.lower()
            own |= {f"{name}/{key}": array for key, array in vars(part).items()}
    save_arrays(path, _KIND, header, {**arrays, **own})


def read_source(cls, path):
    """Read a DPSource, ``cls``, from a file."""
    header, arrays = load_arrays(path, _KIND)
    with well_formed(path, _KIND):
        return _build(cls, header, arrays)


def _build(cls, header, arrays):
    guarantee = PrivacyGuarantee(**header["guarantee"])
    label_guarantee = header["label_guarantee"]
    label_guarantee = label_guarantee and PrivacyGuarantee(**label_guarantee)
    # Where bounds stood in for a sensitivity, it was left at its default.
    sensitivity = 1.0 if guarantee.sensitivity is None else guarantee.sensitivity
    budget = (guarantee.epsilon, guarantee.delta, sensitivity)
    source = cls(*budget, **header["classifier"]["parameters"])
    source._validate_params()
    source.noise = None
    source.denoise = "moments/means" in arrays
    classifier = unpack_classifier(header["classifier"], arrays)
    components, medians = arrays["components"], arrays["class_medians"]
    n_classes, p = len(classifier.classes_), components.shape[-1]
    names = np.array(header["feature_names"], dtype=object)
    require(components.ndim == 2, "components")
    require(medians.shape == (n_classes, len(components)), "class_medians")
    require(names.shape in {(0,), (p,)}, "feature_names")
    require(all(_sane(array) for array in arrays.values()), "numbers")
    require(arrays["mean"].shape == (p,), "mean")
    moments, subspace, mixtures = (_read(part, arrays) for part in (Moments, Subspace, Mixtures))
    if moments is not None:
        packed = p * (p + 1) // 2
        for counts in (moments.totals, moments.counts):
            require(counts.shape == (n_classes,) and counts.min() > 0, "counts")
        require(moments.means.shape == (n_classes, p), "means")
        require(moments.covariances.shape == (n_classes, packed), "covariances")
        require(moments.noise.shape == (p,) and moments.noise.min() >= 0, "noise")
    denoised = moments is not None and moments.noise.any()
    require(denoised == (subspace is not None) == (mixtures is not None), "subspace")
    n_inputs = p
    if subspace is not None:
        n_inputs = len(subspace.variances)
        require(subspace.mean.shape == (p,) and subspace.variances.min() > 0, "subspace")
        require(subspace.variances.ndim == 1, "subspace")
        require(subspace.components.shape == (n_inputs, p), "subspace")
        lengths = np.linalg.norm(subspace.components, axis=1)
        require(np.allclose(lengths, 1, atol=1e-3), "subspace")
        _check_mixtures(mixtures, n_classes, n_inputs)
    require(classifier.n_features_in_ == n_inputs, "features")
    if len(names):
        source.feature_names_in_ = names
    learned = classifier, components, medians, arrays["mean"], moments, subspace, mixtures
    return source._assemble(*learned, guarantee, label_guarantee)


def _check_mixtures(mixtures, n_classes, d):
    classes, weights, S = mixtures.classes, mixtures.weights, mixtures.covariances
    n_parts = len(classes)
    require(classes.shape == (n_parts,) and classes.dtype.kind == "i", "classes of mixtures")
    require(np.array_equal(np.unique(classes), np.arange(n_classes)), "classes of mixtures")
    require(weights.shape == (n_parts,) and weights.min() > 0, "weights of mixtures")
    require(np.allclose(np.bincount(classes, weights), 1), "weights of mixtures")
    require(mixtures.means.shape == (n_parts, d), "means of mixtures")
    require(np.abs(mixtures.means).max() < _FARTHEST, "means of mixtures")
    require(S.shape == (n_parts, d, d), "covariances of mixtures")
    require(np.allclose(S, S.swapaxes(1, 2)), "covariances of mixtures")
    require(np.linalg.eigvalsh(S).min() > _SMALLEST, "covariances of mixtures")


def _sane(array):
    """Return whether an array holds real numbers whose squares are numbers too."""
    return array.dtype.kind in "iuf" and float(np.abs(array).max(initial=0)) < _LARGEST


def _read(cls, arrays):
    """Return an object of a dataclass from the arrays that have its name, if there are any."""
    prefix = f"{cls.__name__.lower()}/"
    found = {key[len(prefix) :]: arrays[key] for key in arrays if key.startswith(prefix)}
    return cls(**found) if found else None
