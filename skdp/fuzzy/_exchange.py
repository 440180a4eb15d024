"""What passes between participants: files without code."""

from dataclasses import asdict
from itertools import chain

import numpy as np

from skdp.fuzzy._autoencoder import make_fuzzy_autoencoder
from skdp.fuzzy._model import FuzzyLayer
from skdp.fuzzy._rules import FuzzyRule
from skdp.privacy import PrivacyGuarantee
from skdp.utils._storage import load_arrays, require, save_arrays, well_formed

_KIND = "DeepFuzzyClassifier"
# Parameters that decide how a model was fitted, saved with it.
_SAVED = (
    *("n_components", "n_inducing", "max_layers", "tol", "max_iter"),
    *("n_voters", "subset_size"),
)


def write_model(model, path):
    """Write a fitted DeepFuzzyClassifier to a file."""
    header = {
        "parameters": {name: getattr(model, name) for name in _SAVED},
        "rules": [[rule.participant, rule.label] for rule in model.rules_],
        "guarantees": [
            [name, guarantee and asdict(guarantee)]
            for name, guarantee in model.guarantees_.items()
        ],
        "n_parts": [len(parts) for parts in model.autoencoders_],
        "feature_names": getattr(model, "feature_names_in_", np.array([])).tolist(),
        "dtype": model.dtype_.str,
    }
    arrays = {}
    for r, parts in enumerate(model.autoencoders_):
        for i, part in enumerate(parts):
            key = f"{r}/{i}"
            arrays[f"{key}/components"] = part.components_
            arrays[f"{key}/centres"] = part._layers[0].centres
            arrays[f"{key}/weights"] = part._layers[0].weights
            arrays[f"{key}/precisions"] = part.precisions_
            arrays[f"{key}/error_sums"] = part.training_error_sums_
            arrays[f"{key}/n_iter"] = np.array(part.n_iter_)
            for depth, layer in enumerate(part._layers):
                arrays[f"{key}/coef{depth}"] = layer.coef
    save_arrays(path, _KIND, header, arrays)


def read_model(cls, path):
    """Read a DeepFuzzyClassifier, ``cls``, from a file."""
    header, arrays = load_arrays(path, _KIND)
    with well_formed(path, _KIND):
        return _build(cls, header, arrays)


def _build(cls, header, arrays):
    model = cls(**header["parameters"])
    dtype = np.dtype(header["dtype"])

    def part(key):
        autoencoder = make_fuzzy_autoencoder(model, None)
        shared = (arrays[f"{key}/centres"], arrays[f"{key}/weights"], "gaussian")
        layers = [
            FuzzyLayer(*shared, arrays[f"{key}/coef{depth}"], float(precision))
            for depth, precision in enumerate(arrays[f"{key}/precisions"])
        ]
        autoencoder.n_iter_ = int(arrays[f"{key}/n_iter"])
        autoencoder.training_error_sums_ = arrays[f"{key}/error_sums"]
        return autoencoder._assemble(arrays[f"{key}/components"], layers, dtype)

    parts = [[part(f"{r}/{i}") for i in range(n)] for r, n in enumerate(header["n_parts"])]
    n_features = {p.n_features_in_ for p in chain.from_iterable(parts)}
    require(len(parts) == len(header["rules"]) and len(n_features) == 1, "rules and their parts")
    require(all(np.isfinite(array).all() for array in arrays.values()), "finite numbers")
    rules = [FuzzyRule(name, label) for name, label in header["rules"]]
    guarantees = {
        name: guarantee and PrivacyGuarantee(**guarantee)
        for name, guarantee in header["guarantees"]
    }
    model.classes_ = np.unique([rule.label for rule in rules])
    (model.n_features_in_,) = n_features
    if header["feature_names"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model.dtype_ = dtype
    return model._assemble(rules, parts, guarantees)
