"""Conversion of models of groups of autoencoders to a JSON header and arrays, and back."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.membership._autoencoder import with_parameters_of
from skdp.membership._cdmma import CDMMA
from skdp.membership._classifier import WideCDMMAClassifier
from skdp.utils._storage import require, stored_labels

# Parameters that decide how a classifier was fitted.
_SAVED = ("n_components", "n_inducing", "n_layers", "inference", "subset_size")


def check_shared_scales(classifier, which):
    """Raise ValueError if a classifier has scales of errors, which fit its own rows only."""
    if classifier.error_scale != "shared":
        raise ValueError(
            f"The 'error_scale' parameter of {which} must be 'shared', got "
            f"{classifier.error_scale!r}: scales per class fit its own rows only and "
            "are not stored. Call set_params(error_scale='shared') first."
        )


def pack_model(model, saved, groups, prefix=""):
    """Return a fitted model of groups of autoencoders as a JSON header and arrays.

    ``saved`` are the parameters of the fit. Names of arrays: "prefix k/i/...".
    """
    header = {
        "parameters": {name: getattr(model, name) for name in saved},
        "dtype": np.dtype(model.dtype_).str,
        "n_parts": [len(group) for group in groups],
    }
    arrays = {
        f"{prefix}{k}/{i}/{name}": array
        for k, group in enumerate(groups)
        for i, autoencoder in enumerate(group)
        for name, array in autoencoder._to_arrays().items()
    }
    return header, arrays


def unpack_model(cls, kind, saved, header, arrays, prefix=""):
    """Rebuild a model, unfitted except for its dtype, and its groups of fitted autoencoders.

    The file may be untrusted: errors can be of nearly any kind, and callers explain them.
    """
    require(set(header["parameters"]) == set(saved), "parameters")
    model = cls(**header["parameters"])
    model._validate_params()
    require(isinstance(header["dtype"], str), "dtype")
    model.dtype_ = np.dtype(header["dtype"])
    require(model.dtype_ in (np.float32, np.float64), "dtype")
    counts = header["n_parts"]
    require(all(type(count) is int and count > 0 for count in counts), "n_parts")
    groups = [
        [
            with_parameters_of(model, kind)._from_arrays(arrays, f"{prefix}{k}/{i}/", model.dtype_)
            for i in range(count)
        ]
        for k, count in enumerate(counts)
    ]
    n_features = {autoencoder.n_features_in_ for group in groups for autoencoder in group}
    require(len(n_features) == 1, "numbers of features")
    (model.n_features_in_,) = n_features
    return model, groups


def pack_classifier(classifier, prefix=""):
    """Return a fitted :class:`~skdp.WideCDMMAClassifier` as a JSON header and arrays."""
    check_is_fitted(classifier)
    check_shared_scales(classifier, f"a {type(classifier).__name__} in a release or file")
    groups = classifier.autoencoders_by_class()
    header, arrays = pack_model(classifier, _SAVED, groups, prefix)
    header["classes"] = classifier.classes_.tolist()
    return header, arrays


def unpack_classifier(header, arrays, prefix=""):
    """Rebuild a :class:`~skdp.WideCDMMAClassifier` from the output of :func:`pack_classifier`.

    It may come from an untrusted file: what could fail later is refused with a ValueError.
    """
    try:
        classes = stored_labels(header["classes"])
        require(len(classes) > 1 and np.array_equal(np.unique(classes), classes), "classes")
        classifier, groups = unpack_model(
            WideCDMMAClassifier, CDMMA, _SAVED, header, arrays, prefix
        )
        require(len(classes) == len(groups), "classes and n_parts")
        classifier.classes_, classifier.error_scale = classes, "shared"
        classifier._assemble(groups)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"no working WideCDMMAClassifier ({error!r})") from error
    return classifier


def frozen_classifier(classifier, copy=True):
    """Return a fitted classifier that holds what its file would: no seeds, and read-only arrays.

    Without ``copy`` the original cannot write to its arrays either. It predicts the same.
    """
    header, arrays = pack_classifier(classifier)
    for name, array in arrays.items():
        if array.flags.writeable:
            arrays[name] = array.copy(order="K") if copy else array
            arrays[name].flags.writeable = False
    return unpack_classifier(header, arrays)
