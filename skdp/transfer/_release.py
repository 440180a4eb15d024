"""The release as a file."""

from dataclasses import asdict

import numpy as np

from skdp.membership._exchange import pack_classifier, unpack_classifier
from skdp.privacy import PrivacyGuarantee
from skdp.utils._storage import load_arrays, save_arrays

_KIND = "DPSource"


def write_source(source, path):
    """Write a fitted DPSource to a file."""
    classifier, arrays = pack_classifier(source.classifier_)
    header = {
        "classifier": classifier,
        "guarantee": asdict(source.guarantee_),
        "feature_names": getattr(source, "feature_names_in_", np.array([])).tolist(),
    }
    own = {"components": source.components_, "class_medians": source.class_medians_}
    save_arrays(path, _KIND, header, {**arrays, **own})


def read_source(cls, path):
    """Read a DPSource, ``cls``, from a file."""
    header, arrays = load_arrays(path, _KIND)
    try:
        return _build(cls, header, arrays)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # The checksum is no signature: a file may be well formed and still be no release.
        raise ValueError(
            f"{str(path)!r} is an skdp file, but not an intact release ({error!r}). Ask its owner "
            "for a new copy."
        ) from error


def _build(cls, header, arrays):
    guarantee = PrivacyGuarantee(**header["guarantee"])
    budget = (guarantee.epsilon, guarantee.delta, guarantee.sensitivity)
    source = cls(*budget, **header["classifier"]["parameters"])
    source._validate_params()
    source.noise = None
    classifier = unpack_classifier(header["classifier"], arrays)
    components, medians = arrays["components"], arrays["class_medians"]
    n_classes, p = len(classifier.classes_), classifier.n_features_in_
    names = np.array(header["feature_names"], dtype=object)
    _require(components.ndim == 2 and components.shape[1] == p, "components")
    _require(medians.shape == (n_classes, len(components)), "class_medians")
    _require(names.shape in {(0,), (p,)}, "feature_names")
    _require(all(np.isfinite(array).all() for array in arrays.values()), "finite numbers")
    if len(names):
        source.feature_names_in_ = names
    return source._assemble(classifier, components, medians, guarantee)


def _require(condition, what):
    if not condition:
        raise ValueError(f"{what} do not fit")
