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
    guarantee = PrivacyGuarantee(**header["guarantee"])
    source = cls(
        guarantee.epsilon,
        guarantee.delta,
        guarantee.sensitivity,
        noise=None,
        **header["classifier"]["parameters"],
    )
    if header["feature_names"]:
        source.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    classifier = unpack_classifier(header["classifier"], arrays)
    return source._assemble(classifier, arrays["components"], arrays["class_medians"], guarantee)
