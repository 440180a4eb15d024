"""What passes between participants: files without code, and the check before merging."""

from dataclasses import asdict
from itertools import chain

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.fuzzy._autoencoder import fuzzy_part
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
        "dtype": model._dtype.str,
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
        autoencoder = fuzzy_part(model, None)
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
    model._dtype = dtype
    return model._assemble(rules, parts, guarantees)


def check_mergeable(models):
    """Raise ValueError unless the models of several participants fit together."""
    if not models:
        raise ValueError("The 'models' parameter of merge must hold at least one model, got none.")
    first = models[0]
    seen: set = set()
    for position, model in enumerate(models):
        if type(model).__name__ != _KIND:
            raise ValueError(
                f"models[{position}] must be a DeepFuzzyClassifier, got "
                f"{type(model).__name__}. Take the classifier out of its pipeline first."
            )
        check_is_fitted(model)
        if model.n_features_in_ != first.n_features_in_:
            raise ValueError(
                f"models[{position}] has {model.n_features_in_} features, models[0] has "
                f"{first.n_features_in_}. Fit all participants on the same features."
            )
        names = [list(getattr(m, "feature_names_in_", [])) for m in (model, first)]
        if names[0] != names[1]:
            raise ValueError(
                f"models[{position}] and models[0] have different feature names. Fit all "
                "participants on the same columns in the same order."
            )
        if (model.classes_.dtype.kind in "OUS") != (first.classes_.dtype.kind in "OUS"):
            raise ValueError(
                f"models[{position}] has labels of type {model.classes_.dtype}, models[0] of "
                f"type {first.classes_.dtype}. Fit all participants on the same kind of labels."
            )
        own = {position if name is None else name for name in model.participants_}
        if own & seen:
            raise ValueError(
                f"models[{position}] names a participant that another model names too: "
                f"{sorted(own & seen, key=str)}. Give each participant a name of its own in "
                "groups; what one participant learned twice spends its privacy twice."
            )
        seen |= own
