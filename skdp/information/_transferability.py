"""The expected usefulness of a release for a target."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import softmax, xlogy
from scipy.stats import norm
from sklearn.base import is_regressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from skdp.information._decoders import (
    Residuals,
    StandardNormal,
    cross_fitted,
    normal_scores,
)
from skdp.information._estimate import InformationEstimate, mean_of_gains
from skdp.release import Release
from skdp.tabular import numbers
from skdp.transfer import DPTransferClassifier, SoftmaxLikelihood
from skdp.utils._frames import as_column, as_frame
from skdp.utils._validation import listed


def transferability(
    release: Any,
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike | None = None,
    *,
    cv: int = 10,
    random_state: int | np.random.RandomState | None = None,
) -> InformationEstimate:
    r"""Estimate how much information a release contains about a target's outcomes, in nats.

    The estimate is of the mutual information of outcome and score on the target's rows. Use it to
    compare several releases before learning from them.

    With labels of all rows it is a lower bound (Barber and Agakov),

    .. math:: I(y; s) \ge E[\log q(y \mid s) - \log p(y)],

    where q are the log-posteriors s of the release, corrected by labels of other folds: by a slope
    and an intercept for each class, with a prior centered at no change, so that ten labels
    suffice.

    Without labels it is the information that the posteriors p of the release claim,

    .. math:: H(\bar p) - \overline{H(p)},

    which is correct if they are calibrated on the target's rows; this cannot be checked without
    labels. For a release, p are the posteriors of a :class:`~skdp.DPTransferClassifier` fitted to
    these rows without labels, which adapts to clusters of the rows that agree with the release.

    For a number, q is a regression of its normal scores on the prediction, learned in other folds,
    with Student-t residuals. Without outcomes, predictions f with standard deviations s claim

    .. math:: \overline{\log(T / s^2)} / 2, \qquad T = \overline{s^2} + \mathrm{var}(f),

    the information of normally distributed numbers.

    Parameters
    ----------
    release : Release, fitted classifier or fitted regressor
        With ``predict_proba`` and ``classes_``; or about a number, with ``return_std`` in
        ``predict`` if no outcomes are given.

    X : array-like or DataFrame of shape (n_rows, n_features)
        Rows of the target, as for ``release.predict_proba``.

    y : array-like of shape (n_rows,), default=None
        Labels or numbers of all these rows; omit rows without one.

    cv : int, default=10
        Number of folds of the labels.

    random_state : int, RandomState instance or None, default=None
        For folds.

    Returns
    -------
    estimate : InformationEstimate
        In nats, with its standard error over rows and a remark if it is unreliable. With labels
        **it is computed from the target's exact rows** and must not be published.

    Raises
    ------
    ValueError
        If the release has no probabilities, labels do not match the rows or are not among its
        classes, or rows are fewer than four or folds fewer than two.

    See Also
    --------
    skdp.DPTransferClassifier : Learns from the release, weighted by labels.
    information_leakage : The same bound for a sensitive column.

    Notes
    -----
    :doc:`/benchmarks/privacy` has rank correlations with the information on other rows, and with
    the gain of transfer over a few labels only. With ten labels the estimate is too small, like
    the entropy of these labels.

    References
    ----------
    Kumar, M. and Moser, B. discuss transferability as mutual information of source and target.
    Barber, D. and Agakov, F., "The IM algorithm: a variational approach to information
    maximization", 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> from skdp.datasets import load_heart_disease
    >>> from skdp.information import transferability
    >>> heart = load_heart_disease()
    >>> rows = heart.hospital == "Budapest"
    >>> def owner(hospital, epsilon):
    ...     rows = heart.hospital == hospital
    ...     source = DPStatisticsSource(epsilon, encoder=heart.schema, model="linear")
    ...     return source.fit(heart.data[rows], heart.target[rows]).release_
    >>> X, y = heart.data[rows], heart.target[rows]
    >>> good = transferability(owner("Cleveland", 100.0), X, y, random_state=0)
    >>> bool(0.1 < good.low < good.nats < 0.4)
    True
    """
    rng = check_random_state(random_state)
    if hasattr(release, "__sklearn_tags__") and is_regressor(release):
        return _of_number(release, as_frame(X), y, cv, rng)
    if not hasattr(release, "predict_proba") or not hasattr(release, "classes_"):
        raise ValueError(
            "The 'release' parameter must have predict_proba and classes_, like a Release or a "
            "fitted classifier, or be a fitted regressor, got "
            f"{type(release).__name__}."
        )
    X = as_frame(X)
    scores = np.log(np.maximum(release.predict_proba(X), 1e-9))
    _check_size(scores, cv)
    if y is not None:
        return _by_labels(scores, _codes(y, release.classes_, len(scores)), cv, rng)
    if isinstance(release, Release) and release.moments is not None:
        model = DPTransferClassifier(release, random_state=rng).fit(X)
        return _by_posteriors(model.label_distributions_)
    return _by_posteriors(softmax(scores, axis=1))


def _codes(y, classes, n_rows):
    """Return the index of each label among the classes of the release."""
    y, classes = np.asarray(as_column(y)), np.asarray(classes)
    if y.shape != (n_rows,):
        raise ValueError(
            f"The 'y' parameter must have one label for each of {n_rows} rows, got the "
            f"shape {y.shape}. Omit rows without a label, or pass y=None."
        )
    index = {label: k for k, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in y.tolist() if label not in index})
    if unknown:
        raise ValueError(
            f"The 'y' parameter has labels that are not classes of the release: "
            f"{listed(unknown)}. Its classes are {listed(classes.tolist())}."
        )
    return np.array([index[label] for label in y.tolist()])


def _by_labels(scores, labels, cv, rng):
    n, K = scores.shape
    # Prior of slope and log-odds: class frequencies differ by a factor of e between hospitals.
    prior = np.array([1.0, 0.0]), np.array([0.5, np.sqrt(2)])
    corrected = np.empty_like(scores)
    for train, test in KFold(min(cv, n), shuffle=True, random_state=rng).split(scores):
        parts = [(np.ones((len(rows), 1)), scores[rows]) for rows in (train, test)]
        likelihood = SoftmaxLikelihood(parts[0][0], labels[train], parts[0][1], np.zeros(K))
        corrected[test] = likelihood.log_probabilities(likelihood.posterior(*prior), *parts[1])
    frequencies = np.bincount(labels, minlength=K) / n
    gains = corrected[np.arange(n), labels] - np.log(frequencies[labels])
    return mean_of_gains(gains, "the class", remark=_if_few(n))


def _by_posteriors(p):
    gains = xlogy(p, p).sum(axis=1) - xlogy(p, p.mean(axis=0)).sum(axis=1)
    remark = "as probabilities claim, which no label has confirmed"
    return mean_of_gains(gains, "the class", is_bound=False, remark=remark)


def _of_number(release, X, y, cv, rng):
    """Return the estimate for a number, from outcomes or from the claims of predictions."""
    if y is None:
        predicted, deviations = release.predict(X, return_std=True)
        _check_size(predicted, cv)
        variances = deviations**2
        total = variances.mean() + predicted.var()
        # For each row the divergence of its normal distribution from the one of all rows.
        squares = variances + (predicted - predicted.mean()) ** 2
        gains = (squares / total - 1 - np.log(variances / total)) / 2
        remark = "as standard deviations claim, which no outcome has confirmed"
        return mean_of_gains(gains, "the number", is_bound=False, remark=remark)
    predicted, outcomes = release.predict(X), numbers(as_column(y))
    _check_size(predicted, cv)
    if outcomes.shape != predicted.shape or not np.isfinite(outcomes).all():
        raise ValueError(
            f"The 'y' parameter must have a number for each of {len(predicted)} rows. Omit rows "
            "without one, or pass y=None."
        )
    n = len(predicted)
    folds = list(KFold(min(cv, n), shuffle=True, random_state=rng).split(predicted))
    z = normal_scores(outcomes, rng.random_sample(n))
    decoders = [StandardNormal(), Residuals(RidgeCV([1e-3, 1e-1, 10.0]))]
    scaled = (predicted - predicted.mean()) / (predicted.std() or 1.0)
    gains = cross_fitted(decoders, scaled[:, np.newaxis], z, folds) - norm.logpdf(z)
    return mean_of_gains(gains, "the number", remark=_if_few(n))


def _check_size(predicted, cv):
    if len(predicted) < 4:
        raise ValueError(f"The 'X' parameter must have four rows or more, got {len(predicted)}.")
    if cv < 2:
        raise ValueError(f"The 'cv' parameter must be 2 or more, got {cv!r}.")


def _if_few(n):
    return f"with {n} labels alone it says little" if n < 30 else ""
