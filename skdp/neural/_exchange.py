"""Fitted networks as files: arrays and a JSON header, no code."""

from dataclasses import asdict

import numpy as np
import torch

from skdp.neural._accounts import PrivacyAccount
from skdp.privacy import PrivacyGuarantee
from skdp.utils._storage import (
    load_arrays,
    require,
    save_arrays,
    stored_array,
    stored_labels,
    well_formed,
)

# What the keys of a network's arrays start with.
_PREFIX = "network/"


def write_network(classifier, path):
    """Write a fitted network to a file.

    Parameters
    ----------
    classifier : PrivateNetworkClassifier
        Fitted.

    path : str or path-like
        Where to.
    """
    header = {
        # Those of the fit, whatever was set since.
        "parameters": {name: _listed(value) for name, value in classifier._fitted_with.items()},
        "classes": classifier.classes_.tolist(),
        "n_features": int(classifier.n_features_in_),
        "feature_names": getattr(classifier, "feature_names_in_", np.array([])).tolist(),
        "guarantee": asdict(classifier.guarantee_),
        "accounts": [asdict(account) for account in classifier.accounts_],
    }
    state = classifier.network_.state_dict()
    arrays = {f"{_PREFIX}{key}": value.numpy() for key, value in state.items()}
    arrays["bounds"] = classifier.bounds_
    save_arrays(path, type(classifier).__name__, header, arrays)


def read_network(cls, path):
    """Read a classifier, ``cls``, from a file.

    Parameters
    ----------
    cls : type
        Subclass of PrivateNetworkClassifier.

    path : str or path-like
        The file.

    Returns
    -------
    classifier : PrivateNetworkClassifier
        Fitted.
    """
    header, arrays = load_arrays(path, cls.__name__)
    with well_formed(path, cls.__name__):
        return _build(cls, header, arrays)


def _build(cls, header, arrays):
    parameters = header["parameters"]
    require(set(parameters) == set(cls._saved), "parameters")
    classifier = cls(**parameters)
    classifier._validate_params()
    p, classes = header["n_features"], stored_labels(header["classes"])
    require(type(p) is int and p > 0, "n_features")
    require(len(classes) > 1 and (np.unique(classes) == classes).all(), "classes")
    architecture = classifier._architecture(p, len(classes))
    # A small file must not make a network of gigabytes: one without memory says what it takes.
    with torch.device("meta"):
        shapes = classifier._make_network(architecture).state_dict()
    state = {
        key: torch.from_numpy(
            np.array(stored_array(arrays, f"{_PREFIX}{key}", np.float64, tuple(value.shape)))
        )
        for key, value in shapes.items()
    }
    network = classifier._make_network(architecture).double()
    network.load_state_dict(state)
    bounds = stored_array(arrays, "bounds", np.float64, (2, p))
    require((bounds[0] < bounds[1]).all(), "bounds")
    names = np.array(header["feature_names"], dtype=object)
    require(names.shape in {(0,), (p,)}, "feature_names")
    if len(names):
        classifier.feature_names_in_ = names
    classifier.guarantee_ = PrivacyGuarantee(**header["guarantee"])
    classifier.accounts_ = [PrivacyAccount(**account) for account in header["accounts"]]
    classifier.network_, classifier.bounds_ = network.eval(), np.array(bounds)
    classifier.classes_, classifier.n_features_in_ = classes, p
    classifier._check_guarantee()
    classifier._fitted_with = classifier._saved_parameters()
    return classifier


def _listed(value):
    return list(value) if isinstance(value, tuple) else value
