"""Why a row got its class: columns and ranges, rules, and where reconstructions differ."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.utils.validation import validate_data

from skdp.fuzzy._autoencoder import error_membership
from skdp.fuzzy._rules import FiredRule
from skdp.tabular import Explanation, as_schema, explain_prediction


@dataclass(frozen=True)
class FuzzyExplanation(Explanation):
    """What decided a prediction of :class:`~skdp.DeepFuzzyClassifier`.

    An :class:`~skdp.tabular.Explanation`, with what fuzzy rules have besides.

    Parameters
    ----------
    label, probability, runner_up, odds, columns, named, precision
        See :class:`~skdp.tabular.Explanation`.

    rules : tuple of FiredRule
        The strongest first.

    error_differences : tuple of float
        For each of ``columns``, how much more squared error it has when the runner-up
        reconstructs the row than when the predicted class does. They add up to the difference of
        the classes' errors, which decides with ``error_scale="shared"``.
    """

    rules: tuple
    error_differences: tuple

    def to_frame(self):
        """Return one row for each column.

        Returns
        -------
        frame : DataFrame of shape (n_columns, 8)
            As of :class:`~skdp.tabular.Explanation`, and ``error_difference``.
        """
        return super().to_frame().assign(error_difference=self.error_differences)

    def __str__(self):
        return "\n".join([super().__str__(), "shares of the rules:", *map(str, self.rules)])


def explain_row(model, x, schema, n_columns, n_rules):
    """Return the :class:`FuzzyExplanation` of one row, see ``DeepFuzzyClassifier.explain``."""
    x = x if hasattr(x, "columns") else np.reshape(x, (1, -1))
    X = validate_data(model, x, dtype="numeric", reset=False)
    if len(X) > 1:
        raise ValueError(f"The 'x' parameter of explain must be one row, got {len(X)} rows.")
    names = getattr(model, "feature_names_in_", None)
    schema = None if schema is None else as_schema(schema)

    def scores(rows):
        rows = rows if names is None else pd.DataFrame(rows, columns=names)
        return model.log_odds(rows)

    explanation = explain_prediction(
        scores, X[0], model.classes_, schema=schema, names=names, n_columns=n_columns
    )
    if schema is None:
        origins = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
    else:
        origins = [column.name for column in schema.columns for _ in column.kinds]
    by_rule = rule_residuals(model, X)
    residuals = dict(zip(model.classes_.tolist(), class_residuals(model, by_rule), strict=True))
    winner = residuals[explanation.label]
    differences = residuals.get(explanation.runner_up, winner) - winner
    by_column = pd.Series(differences).groupby(np.array(origins, dtype=object)).sum()
    return FuzzyExplanation(
        **vars(explanation),
        rules=fired_rules(model, by_rule.sum(axis=1), n_rules),
        error_differences=tuple(float(by_column[c.name]) for c in explanation.columns),
    )


def fired_rules(model, errors, n_rules):
    """Return the rules that a row fires, the strongest first, by their squared errors."""
    shares = softmax(-errors / model.temperature_)
    memberships = error_membership(errors, model.n_features_in_)
    order = np.argsort(errors, kind="stable")[:n_rules]
    return tuple(
        FiredRule(float(memberships[k]), model.rules_[k], float(shares[k])) for k in order
    )


def rule_residuals(model, X):
    """Return of one row what each feature adds to the error of each rule, (n_rules, p)."""
    by_rule = []
    for autoencoders in model.autoencoders_:
        squares = [np.square(X - a.reconstruct(X), dtype=np.float64)[0] for a in autoencoders]
        by_rule.append(min(squares, key=np.sum))
    return np.array(by_rule)


def class_residuals(model, by_rule):
    """Return the mean over the strongest rules of each class, (n_classes, p)."""
    labels = [rule.label for rule in model.rules_]
    strongest_first = np.argsort(by_rule.sum(axis=1), kind="stable")
    by_class = []
    for label in model.classes_.tolist():
        own = [rule for rule in strongest_first if labels[rule] == label]
        by_class.append(by_rule[own[: model.n_voters]].mean(axis=0))
    return by_class
