"""Files of fitted classifiers, which participants exchange: arrays and text, no code."""

from dataclasses import asdict
from itertools import chain

import numpy as np

from skdp.fuzzy._autoencoder import make_fuzzy_autoencoder
from skdp.fuzzy._model import FuzzyLayer
from skdp.fuzzy._rules import FuzzyRule
from skdp.privacy import PrivacyGuarantee
from skdp.utils._storage import (
    load_arrays,
    require,
    save_arrays,
    stored_array,
    stored_estimator,
    stored_labels,
    well_formed,
)

# What the file says that it holds.
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
        "n_parts": [len(group) for group in model.autoencoders_],
        "feature_names": getattr(model, "feature_names_in_", np.array([])).tolist(),
        "dtype": model.dtype_.str,
    }
    arrays = {}
    for r, group in enumerate(model.autoencoders_):
        for i, autoencoder in enumerate(group):
            key = f"{r}/{i}"
            arrays[f"{key}/components"] = autoencoder.components_
            arrays[f"{key}/centres"] = autoencoder._layers[0].centres
            arrays[f"{key}/weights"] = autoencoder._layers[0].weights
            arrays[f"{key}/precisions"] = autoencoder.precisions_
            arrays[f"{key}/error_sums"] = autoencoder.training_error_sums_
            arrays[f"{key}/n_iter"] = np.array(autoencoder.n_iter_)
            for depth, layer in enumerate(autoencoder._layers):
                arrays[f"{key}/coef{depth}"] = layer.coef
    save_arrays(path, _KIND, header, arrays)


def read_model(cls, path):
    """Read a DeepFuzzyClassifier, ``cls``, from a file."""
    header, arrays = load_arrays(path, _KIND)
    with well_formed(path, _KIND):
        return _build(cls, header, arrays)


def _build(cls, header, arrays):
    model, dtype, counts = stored_estimator(cls, header, _SAVED)
    autoencoders = [
        [_build_autoencoder(model, arrays, f"{r}/{i}", dtype) for i in range(count)]
        for r, count in enumerate(counts)
    ]
    n_features = {a.n_features_in_ for a in chain.from_iterable(autoencoders)}
    require(len(n_features) == 1, "numbers of features")
    (model.n_features_in_,) = n_features
    rules = [FuzzyRule(name, label) for name, label in header["rules"]]
    require(len(rules) == len(set(rules)) == len(counts), "rules and n_parts")
    guarantees = {
        name: guarantee and PrivacyGuarantee(**guarantee)
        for name, guarantee in header["guarantees"]
    }
    for guarantee in guarantees.values():
        if guarantee is not None:
            guarantee.check_losses()
            require(guarantee.epsilon > 0, "guarantees")
            require(guarantee.unit in {"element", "record"}, "guarantees")
            require(guarantee.n_features == model.n_features_in_, "guarantees")
    require({rule.participant for rule in rules} == set(guarantees), "rules and guarantees")
    labels = [rule.label for rule in rules]
    require(len({type(label) for label in labels}) == 1, "labels")
    model.classes_ = np.unique(stored_labels(labels))
    require(model.classes_.ndim == 1 and model.classes_.dtype.kind in "biufU", "labels")
    names = np.array(header["feature_names"], dtype=object)
    require(names.shape in {(0,), (model.n_features_in_,)}, "feature_names")
    if len(names):
        model.feature_names_in_ = names
    model.dtype_ = dtype
    model._assemble(rules, autoencoders, guarantees)
    require(np.isfinite(model.temperature_) and model.temperature_ > 0, "error_sums")
    return model


def _build_autoencoder(model, arrays, key, dtype):
    components = stored_array(arrays, f"{key}/components", dtype, (None, None))
    n, p = components.shape
    centres = stored_array(arrays, f"{key}/centres", dtype, (None, n))
    weights = stored_array(arrays, f"{key}/weights", dtype, (n,))
    require(weights.min() >= 0, f"{key}/weights")
    precisions = stored_array(arrays, f"{key}/precisions", np.float64, (None,))
    require(precisions.min() > 0, f"{key}/precisions")
    sums = stored_array(arrays, f"{key}/error_sums", np.float64, (3,))
    require(sums.min() >= 0 and sums[0] > 0, f"{key}/error_sums")
    n_iter = arrays[f"{key}/n_iter"]
    require(n_iter.shape == () and n_iter.dtype.kind == "i", f"{key}/n_iter")
    layers = []
    for depth, precision in enumerate(precisions):
        coef = stored_array(arrays, f"{key}/coef{depth}", dtype, (len(centres), p))
        layers.append(FuzzyLayer(centres, weights, "gaussian", coef, float(precision)))
    autoencoder = make_fuzzy_autoencoder(model, None)
    autoencoder.n_iter_ = int(n_iter)
    autoencoder.training_error_sums_ = sums
    return autoencoder._assemble(components, layers, dtype)
