"""One classifier from the models of several participants."""

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skdp.fuzzy._rules import FuzzyRule


def merge_models(models):
    """Return a DeepFuzzyClassifier with the rules of all models; see its ``merge``."""
    check_mergeable(models)
    merged = clone(models[0])
    merged.classes_ = np.unique(np.concatenate([model.classes_ for model in models]))
    merged.n_features_in_ = models[0].n_features_in_
    if hasattr(models[0], "feature_names_in_"):
        merged.feature_names_in_ = models[0].feature_names_in_
    merged.dtype_ = np.result_type(*(model.dtype_ for model in models))
    rules, autoencoders = [], []
    guarantees: dict = {}
    for position, model in enumerate(models):
        for name, guarantee in model.guarantees_.items():
            guarantees[position if name is None else name] = guarantee
        for rule in model.rules_:
            name = position if rule.participant is None else rule.participant
            rules.append(FuzzyRule(name, rule.label))
        autoencoders += model.autoencoders_
    return merged._assemble(rules, autoencoders, guarantees)


def check_mergeable(models):
    """Raise ValueError unless the models of several participants fit together."""
    if not models:
        raise ValueError("The 'models' parameter of merge must hold at least one model, got none.")
    first = models[0]
    seen: set = set()
    for position, model in enumerate(models):
        if type(model).__name__ != "DeepFuzzyClassifier":
            raise ValueError(
                f"models[{position}] must be a DeepFuzzyClassifier, got "
                f"{type(model).__name__}. Take the classifier out of its pipeline first."
            )
        check_is_fitted(model)
        check_shared_scales(model, f"models[{position}]")
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


def check_shared_scales(model, which):
    """Raise ValueError if a model has scales of errors that were learned for its own rules."""
    if model.error_scale != "shared":
        raise ValueError(
            f"The 'error_scale' parameter of {which} must be 'shared', got "
            f"{model.error_scale!r}: its scales hold for its own rows and rules alone. Call "
            "set_params(error_scale='shared') first."
        )
