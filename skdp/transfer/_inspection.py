"""Inspection of a fitted model: what its parts count for, and what decided one prediction."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.utils import check_array

from skdp.tabular import NumericColumn, Schema
from skdp.utils._warnings import warn

# Probabilities of labels count as this one at least, as in scikit-learn's log loss.
_MIN_PROBABILITY = np.finfo(np.float64).eps
# Bounds of numbers of which nothing else is known.
_UNIT = np.array([[0.0], [1.0]])


@dataclass(frozen=True)
class Contribution:
    """A part that was considered for a model.

    Attributes
    ----------
    name : str
        What it is.

    side : {"source", "target", "both"}
        Whose it is.

    weight : float
        In the end, from 0, where it is left out, to 1.

    log_odds : float, default=nan
        Of the evidence for it, against the first part.

    log_loss : float, default=nan
        Mean over the labels, by what has not seen them.

    difference, standard_error : float, default=nan
        How much more that is than that of the first part, and the standard error of this.
    """

    name: str
    side: str
    weight: float
    log_odds: float = np.nan
    log_loss: float = np.nan
    difference: float = np.nan
    standard_error: float = np.nan


def side_of(source_weight):
    """Return whose a part is, by the share of a source in it."""
    return {0.0: "target", 1.0: "source"}.get(source_weight, "both")


def candidate_contributions(candidates, weights):
    """Return the contributions of candidates.

    Parameters
    ----------
    candidates : list of Candidate
        The first is what others are compared to.

    weights : ndarray of shape (n_candidates,)
    """
    first = candidates[0]
    return [
        Contribution(
            each.name,
            side_of(each.source_weight),
            float(weight),
            float(each.log_odds - first.log_odds),
            *_compared(each.held_out, first.held_out),
        )
        for each, weight in zip(candidates, weights, strict=True)
    ]


def _compared(held_out, reference):
    """Return the mean log loss of labels, its difference to another, and the error of that."""
    if held_out is None:
        return (np.nan,) * 3
    losses, others = -np.log(np.maximum([held_out, reference], _MIN_PROBABILITY))
    more = losses - others
    error = more.std(ddof=1) / np.sqrt(len(more)) if len(more) > 1 else np.nan
    return float(losses.mean()), float(more.mean()), float(error)


def scorer_contributions(scorers, weights):
    """Return the contributions of scorers of a source, and that of the target, which is last.

    Parameters
    ----------
    scorers : list of Scorer
        Of the source.

    weights : ndarray of shape (n_scorers + 1,)
    """
    shares = (weights / weights.sum()).tolist()
    parts = [
        Contribution(scorer.name, "source", share)
        for scorer, share in zip(scorers, shares[:-1], strict=True)
    ]
    return [*parts, Contribution("target's fuzzy sets and mixtures", "target", shares[-1])]


def report_frame(contributions, n_labels, label_sampling):
    """Return one row for each part, see :meth:`DPTransferClassifier.report`.

    Parameters
    ----------
    contributions : list of Contribution

    n_labels : int

    label_sampling : str
    """
    frame = pd.DataFrame([vars(part) for part in contributions])
    frame.insert(4, "n_labels", n_labels)
    frame.insert(5, "label_sampling", label_sampling)
    return frame


def warn_of_source(model):
    """Warn where labels say that a source does not help, or is wrong.

    Parameters
    ----------
    model : object
        That was learned with a source and labels.
    """
    if model.source_weight < model.min_source_weight:
        found = "favour what the target learned alone"
    elif model.is_contradicted:
        found = "contradict the source, which was corrected by them"
    else:
        return
    warn(
        f"The labelled rows {found}: the source counts for {model.source_weight:.2f} of 1. Check "
        "that its columns, their units and its classes mean the same here, see report() for what "
        "each part counts and how well it explains the labels, or leave the source out "
        "(source=None)."
    )


def one_row(x):
    """Return one row as a DataFrame, where it has names, or as an array of shape (1, n_features).

    Raises
    ------
    ValueError
        When there are more rows, or none.
    """
    if hasattr(x, "to_frame"):  # a row of a DataFrame, which made its values objects
        x = x.to_frame().T.infer_objects()
    x = x if hasattr(x, "columns") else np.asarray(x)
    if getattr(x, "ndim", 2) < 2:
        return x.reshape(1, -1)
    if len(x) != 1:
        raise ValueError(
            f"The 'x' parameter of explain must be one row, got {len(x)}. Ask about each of them."
        )
    return x


def bounded_columns(names, bounds, row):
    """Return columns of numbers within bounds, which are widened to hold a row.

    Parameters
    ----------
    names : list of str

    bounds : ndarray of shape (2, n_features)
        The lower and the upper ones.

    row : ndarray of shape (n_features,)

    Returns
    -------
    columns : tuple of NumericColumn
    """
    low, high = np.minimum(bounds[0], row), np.maximum(bounds[1], row)
    high = np.where(high > low, high, low + 1)
    limits = zip(names, low.tolist(), high.tolist(), strict=True)
    return tuple(NumericColumn(str(name), *ends) for name, *ends in limits)


def encoded_row(x, matching, n_columns, validated):
    """Return one row as the model reads it.

    Parameters
    ----------
    x : DataFrame of one row, Series, or array-like of shape (n_features,)
        Of the table, or encoded already. A Series, as X.iloc[0], has the names in its index.

    matching : Matching

    n_columns : int
        Encoded columns that the model reads.

    validated : callable
        ``validated(X)`` returns rows like those that were fitted, as numbers.

    Returns
    -------
    row : ndarray of shape (n_columns,)
    """
    x, release = one_row(x), next(iter(matching.releases), None)
    is_table = hasattr(x, "columns")
    if is_table and matching.names is not None and set(matching.names) <= set(x.columns):
        return validated(x)[0]
    if release is not None and release.encoder is not None and release.n_features == n_columns:
        return release.encode(x)[0]
    if is_table or not matching.is_raw:
        return validated(x)[0]
    if x.shape[1] != n_columns:
        raise ValueError(
            f"The 'x' parameter of explain has {x.shape[1]} values, and {n_columns} encoded ones "
            "are expected. Pass a row of the table as a DataFrame."
        )
    return check_array(x)[0]


def readable_columns(row, matching, names):
    """Return a schema of the columns that a row is in, and where each of these starts and ends.

    Parameters
    ----------
    row : ndarray of shape (n_columns,)

    matching : Matching
        The columns of the sources come first: as their schema has them, or as numbers in their
        bounds. The others are the target's own.

    names : list of str or None
        Those of the fitted table.

    Returns
    -------
    schema : Schema

    low, width : ndarrays of shape (n_columns,)
        An encoded value u of the schema is ``low + u * width`` for the model.
    """
    n = len(row) if matching.n_shared is None else matching.n_shared
    same = [release for release in matching.releases if release.n_features == n]
    known = [matching.names, names, *(release.feature_names for release in same)]
    names = next((list(each) for each in known if each is not None), None)
    names = [f"x{j}" for j in range(len(row))] if names is None else names
    encoders = [release.encoder for release in same if release.encoder is not None]
    bounds = [release.bounds for release in same if release.bounds is not None]
    columns: tuple = ()
    low, width = np.zeros(len(row)), np.ones(len(row))
    extra = matching.extra_encoder
    parts = [
        (slice(0, n), encoders[0] if encoders else None, bounds[0] if bounds else _UNIT),
        (slice(n, len(row)), None if extra is None else extra.schema_, _UNIT),
    ]
    for part, schema, limits in parts:
        if schema is not None:
            columns += schema.columns
            continue
        numbers = bounded_columns(names[part], limits, row[part])
        low[part] = [column.low for column in numbers]
        width[part] = [column.high - column.low for column in numbers]
        columns += numbers
    return Schema(columns), low, width
