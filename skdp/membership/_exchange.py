"""Fitted classifiers as a JSON header and arrays, and back."""

import numpy as np

from skdp.membership._classifier import WideCDMMAClassifier
from skdp.membership._layer import Layer
from skdp.membership._wide import cdmma_part

# Parameters that decide how a classifier was fitted.
_SAVED = ("n_components", "n_inducing", "n_layers", "inference", "subset_size")


def pack_classifier(classifier):
    """Return what a fitted WideCDMMAClassifier consists of.

    Returns
    -------
    header : dict
        JSON-serialisable.

    arrays : dict of str to ndarray
        Those of autoencoder i of class c are named ``"c/i/..."``.
    """
    header = {
        "parameters": {name: getattr(classifier, name) for name in _SAVED},
        "classes": classifier.classes_.tolist(),
        "dtype": np.dtype(classifier._dtype).str,
        "n_parts": [len(parts) for parts in classifier._class_parts()],
    }
    arrays = {}
    for c, parts in enumerate(classifier._class_parts()):
        for i, part in enumerate(parts):
            key = f"{c}/{i}"
            arrays[f"{key}/components"] = part.components_
            arrays[f"{key}/error_sums"] = part.training_error_sums_
            arrays[f"{key}/layers"] = np.array(
                [[layer.scale, layer.precision, layer.n_iter] for layer in part._layers]
            )
            for depth, layer in enumerate(part._layers):
                arrays[f"{key}/inducing_points{depth}"] = layer.inducing_points
                arrays[f"{key}/weights{depth}"] = layer.weights
                arrays[f"{key}/coef{depth}"] = layer.coef
    return header, arrays


def unpack_classifier(header, arrays):
    """Return the WideCDMMAClassifier that :func:`pack_classifier` took apart.

    Raises
    ------
    AttributeError, IndexError, KeyError, TypeError, ValueError
        When the parts do not fit together.
    """
    classifier = WideCDMMAClassifier(**header["parameters"])
    dtype, classes = np.dtype(header["dtype"]), np.array(header["classes"])
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype {dtype} is not a floating one")
    if classes.shape != (len(header["n_parts"]),) or len(np.unique(classes)) < len(classes):
        raise ValueError("classes do not fit")

    def part(key):
        layers = [
            Layer(
                arrays[f"{key}/inducing_points{depth}"],
                arrays[f"{key}/weights{depth}"],
                arrays[f"{key}/coef{depth}"],
                float(scale),
                float(precision),
                int(n_iter),
            )
            for depth, (scale, precision, n_iter) in enumerate(arrays[f"{key}/layers"])
        ]
        p = arrays[f"{key}/components"].shape[1]
        if any(layer.coef.shape != (len(layer.inducing_points), p) for layer in layers):
            raise ValueError(f"layers of {key} do not fit")
        autoencoder = cdmma_part(classifier, None)
        autoencoder.training_error_sums_ = arrays[f"{key}/error_sums"]
        return autoencoder._assemble(arrays[f"{key}/components"], layers, dtype)

    return classifier._assemble(
        classes,
        [
            classifier._make_wide([part(f"{c}/{i}") for i in range(n)])
            for c, n in enumerate(header["n_parts"])
        ],
    )
