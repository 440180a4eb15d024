"""What each part of a model counts for, and what labels that it has not seen say of it."""

from dataclasses import dataclass

import numpy as np

# Probabilities of labels count as this one at least, as in scikit-learn's log loss.
_LEAST = np.finfo(np.float64).eps


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


def of_candidates(weighed, weights):
    """Return the contributions of candidates.

    Parameters
    ----------
    weighed : list of Weighed
        The first is what others are compared to.

    weights : ndarray of shape (n_candidates,)
    """
    first = weighed[0]
    return [
        Contribution(
            each.name,
            side_of(each.candidate.source_weight),
            float(weight),
            float(each.log_odds - first.log_odds),
            *_compared(each.held_out, first.held_out),
        )
        for each, weight in zip(weighed, weights, strict=True)
    ]


def _compared(held_out, reference):
    """Return the mean log loss of labels, its difference to another, and the error of that."""
    if held_out is None:
        return (np.nan,) * 3
    losses, others = (-np.log(np.maximum(each, _LEAST)) for each in (held_out, reference))
    more = losses - others
    error = more.std(ddof=1) / np.sqrt(len(more)) if len(more) > 1 else np.nan
    return float(losses.mean()), float(more.mean()), float(error)


def of_scorers(scorers, weights):
    """Return the contributions of scorers of a source, and that of the target, which is last.

    Parameters
    ----------
    scorers : list of Scorer
        Of the source.

    weights : ndarray of shape (n_scorers + 1,)
    """
    shares = (weights / weights.sum()).tolist()
    parts = [
        Contribution(getattr(scorer, "name", "source"), "source", share)
        for scorer, share in zip(scorers, shares[:-1], strict=True)
    ]
    return [*parts, Contribution("target's fuzzy sets and mixtures", "target", shares[-1])]


def of_errors(source_share, *, alone):
    """Return the contributions of two sides, the lesser error of which decides.

    Parameters
    ----------
    source_share : float
        Share of rows that the source decided.

    alone : bool
        Whether there is no source.
    """
    source = (
        [] if alone else [Contribution("reconstruction by the source", "source", source_share)]
    )
    target = Contribution("reconstruction by the target", "target", 1 - source_share)
    return [*source, target]
