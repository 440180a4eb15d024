"""Inspection of a fitted model: weights of its parts, and explanations of predictions."""

from dataclasses import dataclass

import numpy as np

from skdp.tabular import Schema, bounded_columns
from skdp.utils._frames import one_row
from skdp.utils._text import named_like
from skdp.utils._validation import check_array
from skdp.utils._warnings import warn


@dataclass(frozen=True)
class Contribution:
    """A part that was considered for a model.

    Attributes
    ----------
    name : str
        Name of the part.

    side : {"source", "target", "both"}
        Whether it is based on the source, the target or both.

    weight : float
        Weight in the model, from 0 (excluded) to 1.

    log_odds : float, default=nan
        Log-odds of the evidence for it, compared with the first part.

    log_likelihood : float, default=nan
        Mean log-likelihood of the labels, each by the others.

    difference, standard_error : float, default=nan
        Its difference to that of the first part, and the standard error.
    """

    name: str
    side: str
    weight: float
    log_odds: float = np.nan
    log_likelihood: float = np.nan
    difference: float = np.nan
    standard_error: float = np.nan


def side_of(source_weight):
    """Return the side of a part with a given weight of the source."""
    return {0.0: "target", 1.0: "source"}.get(source_weight, "both")


def compared(log_likelihood, reference):
    """Return the mean log-likelihood, its difference to a reference, and the standard error."""
    if not len(log_likelihood):
        return (np.nan,) * 3
    more = log_likelihood - reference
    error = more.std(ddof=1) / np.sqrt(len(more)) if len(more) > 1 else np.nan
    return float(log_likelihood.mean()), float(more.mean()), float(error)


def scorer_contributions(scorers, weights):
    """Return the contributions of the scorers of a source, and last that of the target."""
    shares = (weights / weights.sum()).tolist()
    parts = [
        Contribution(scorer.name, "source", share)
        for scorer, share in zip(scorers, shares[:-1], strict=True)
    ]
    return [*parts, Contribution("target's fuzzy sets and mixtures", "target", shares[-1])]


def warn_of_source(model):
    """Warn if labels indicate that a source does not help, or is wrong."""
    if model.source_weight < model.min_source_weight:
        finding = "favor the model learned from the target alone"
    elif model.is_contradicted:
        finding = "contradict the source, which was corrected by them"
    else:
        return
    warn(
        f"The labeled rows {finding}: the source has a weight of {model.source_weight:.2f}. Check "
        "that its columns, their units and its classes mean the same here, see report() for the "
        "weight of each part and its loss on the labels, or use no source (source=None)."
    )


def readable_columns(row, matching, names, limits):
    """Return a schema of the columns of a row, with the offset and width of each.

    Where neither a schema nor a release bounds them, they are within ``limits``.
    """
    n = matching.n_shared
    same = [release for release in matching.releases if not matching.embeds(release, n)]
    name_lists = [matching.names, names, *(release.feature_names for release in same)]
    name_lists += [[f"x{j}" for j in range(len(row))]]
    names = next(list(name_list) for name_list in name_lists if name_list is not None)
    encoders = [release.encoder for release in same if release.encoder is not None]
    bounds = [release.bounds for release in same if release.bounds is not None]
    columns: tuple = ()
    low, width = np.zeros(len(row)), np.ones(len(row))
    extra = matching.extra_encoder
    parts = [
        (slice(0, n), encoders[0] if encoders else None, bounds[0] if bounds else limits[:, :n]),
        (slice(n, len(row)), None if extra is None else extra.schema_, limits[:, n:]),
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


def explainable(x, matching, limits, validated, names):
    """Return one row between bounds, their schema, and a function that undoes that scaling."""
    x, n_columns = named_like(one_row(x), matching.names), limits.shape[1]
    columns = set(getattr(x, "columns", ()))
    encoded = matching.is_raw and not columns >= set(matching.names)
    if encoded and matching.extra_encoder is None:
        row = matching.releases[0].encode(x)[0]
    elif columns or not encoded:
        row = validated(x)[0]
    elif x.shape[1] == n_columns:
        row = check_array(x)[0]
    else:
        raise ValueError(
            f"The 'x' parameter of explain has {x.shape[1]} values, and {n_columns} encoded ones "
            "are expected. Pass a row of the table as a DataFrame."
        )
    schema, low, width = readable_columns(row, matching, names, limits)
    return (row - low) / width, schema, lambda Z: low + Z * width
