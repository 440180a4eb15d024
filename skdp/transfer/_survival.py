"""Learning times to an event in a target domain from few outcomes and a private source."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from skdp.release import LOG_HAZARD, concordance, cumulative_hazards, curves, followed_times
from skdp.tabular import EventOutcome, explain_prediction, missing_values, numbers
from skdp.transfer._base import TransferEstimator, warn_of_contradiction
from skdp.transfer._likelihoods import CoxLikelihood
from skdp.transfer._sources import common_outcome
from skdp.transfer._target_model import TimeModel
from skdp.utils._sklearn import fit_context


class DPTransferSurvival(TransferEstimator):
    r"""Predict times to an event from a few outcomes and the release of a private source.

    The estimator combines the target's own rows with a :class:`~skdp.Release` about a time to an
    event, the differentially private file that another organization made of its data. Without
    outcomes it predicts like the release; many outcomes outweigh the release. Without a source it
    is a penalized Cox regression, averaged over penalties by evidence.

    It follows the conventions of scikit-survival and works with its metrics and scorers: `y` is a
    structured array, :meth:`predict` returns risk scores, and curves are step functions.

    Named columns are matched by name, in any order. Columns that the target lacks are marginalized
    out of the release (:meth:`Release.restrict`); coefficients of columns that only the target has
    are learned from the outcomes; a warning lists both.

    **Privacy.** The release protects the *source's* rows, and using it costs no further privacy.
    The *target's* rows and outcomes are **not** protected by the fitted model.

    Parameters
    ----------
    source : Release, path, fitted source, list of these, or None, default=None
        The release of a :class:`~skdp.DPStatisticsSource` with an outcome of type "event", or
        the path of a file that :meth:`Release.save` wrote, which is read in each :meth:`fit`. In a
        search such as :class:`~sklearn.model_selection.GridSearchCV`, pass a release or a path:
        the clone of a fitted source is not fitted. A list combines several releases about the
        same outcome: releases of the same columns are merged (:meth:`Release.merge`), but the
        outcomes may still favor a single one. ``None`` learns from the target alone: to
        search over ``[release, None]`` on a table, put ``TabularEncoder(release.encoder)`` before
        the estimator in a pipeline.

    disjoint : bool, default=False
        Whether you know that no person has rows in two of several sources. If so, ``guarantee_``
        is the weakest of their guarantees instead of the sum. It does not change what is learned.

    Attributes
    ----------
    outcome_ : EventOutcome
        The outcome of the source, with its public horizon. Without a source, the horizon is the
        largest time in y.

    unique_times_ : ndarray of shape (n_times,)
        Times at which curves step. With a source they end where fewer than twenty rows are left,
        both at the source, by its noisy counts, and among the known outcomes.

    source_weight_ : float
        Weight of the models that use the source, from 0 to 1; 0 without a source.

    model_ : object
        The fitted average of models.

    guarantee_ : PrivacyGuarantee, tuple of PrivacyGuarantee, or None
        Guarantee of the source, None without one. It does not cover the target's rows. For
        several sources see :class:`DPTransferClassifier`.

    n_features_in_ : int
        Number of features seen during :term:`fit`, before a table is encoded.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when they are all strings.

    See Also
    --------
    DPStatisticsSource : Makes the release.
    DPTransferRegressor : The same for numbers.
    DPTransferClassifier : The same for classes.

    Notes
    -----
    Let r(x) be the log-hazard that the release predicts, and φ(x) its functions of the columns,
    followed by the columns that it lacks. All candidates are Bayesian Cox regressions

    .. math:: λ(t \mid x) = λ_0(t)\, e^{η(x)}, \qquad η(x) = a\,r(x) + w^T φ(x),

    with Breslow's partial likelihood of the rows with an outcome, followed up to the horizon,

    .. math:: ℓ = \sum_{i: δ_i = 1} \Big( η(x_i) - \log \sum_{j: t_j \ge t_i} e^{η(x_j)} \Big).

    They differ in their normal priors of (a, w):

    - *the source*: a = 1 with the standard error that the release states, and w = 0;
    - *own coefficients*: a has a standard deviation of 0.3, and w such that the standard
      deviation of :math:`w^T φ(x)` is 0.5 or 2;
    - *target alone*: a = 0, and w likewise, from 0.5 to 4.

    Their evidence is Laplace's approximation at the posterior mode. The unchanged source has a
    prior probability of 0.1, or up to 0.8 if the means of columns agree, and the target alone of
    0.02; the prior probability of a candidate with w is inversely proportional to the standard
    deviation of w. Log-hazards are averaged by evidence. If several sources were merged, the
    single sources together have half of the prior probability. With fewer than two events, only
    the unchanged source remains.

    The baseline has a constant hazard in each of 20 intervals, :math:`Λ_k = L\, u_k\, Λ_k^0`.
    Here :math:`Λ_k^0` is the baseline of the release, scaled to the mean hazard that the release
    expects over the target's rows. The level L has a gamma prior with mean 1
    and the weight of two events: its logarithm has a standard deviation of 0.7, like the
    intercepts of sites. The shape u has a gamma process prior with mean 1 and the weight of twenty
    events. With :math:`d_k` observed and :math:`e_k` expected events in interval k, the estimates
    are

    .. math::

        L = \frac{2 + \sum_k d_k}{2 + \sum_k e_k}, \qquad
        u_k = \frac{20\, s_k + d_k}{20\, s_k + L\, e_k}, \qquad s_k = \frac{Λ_k^0}{\sum_j Λ_j^0}.

    With many events, these approach Breslow's estimate of the baseline. Without a source, the
    prior hazard is constant, and the outcomes determine its level.

    **What to expect.** The release alone, or a penalized Cox regression on the outcomes alone, may
    predict better: for example if a decisive column hardly matters at the
    source (:doc:`/benchmarks/times`).

    Examples
    --------
    A clinic makes a release about the time to an event after admission. Another clinic, with twice
    the hazard, knows sixty outcomes.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from skdp import DPStatisticsSource, DPTransferSurvival
    >>> rng = np.random.default_rng(0)
    >>> def clinic(n, level):
    ...     X = pd.DataFrame({"age": rng.uniform(20, 90, n), "ward": rng.choice(["A", "B"], n)})
    ...     risk = 0.04 * (X["age"] - 55) + 0.7 * (X["ward"] == "B")
    ...     time = rng.exponential(1000 / level * np.exp(-risk))
    ...     y = np.empty(n, dtype=[("event", bool), ("time", float)])
    ...     left = rng.uniform(0, 1000, n)  # patients whose time is not seen
    ...     y["event"], y["time"] = time < left, np.minimum(time, left)
    ...     return X, y
    >>> schema = {
    ...     "version": 1,
    ...     "columns": {
    ...         "age": {"type": "numeric", "low": 18, "high": 100},
    ...         "ward": {"type": "category", "categories": ["A", "B"]},
    ...     },
    ...     "outcome": {"type": "event", "horizon": 730},
    ... }
    >>> release = DPStatisticsSource(epsilon=4.0, encoder=schema).fit(*clinic(2000, 1)).release_
    >>> X, y = clinic(500, 2)
    >>> y["time"][60:] = np.nan  # the others are unknown
    >>> model = DPTransferSurvival(release).fit(X, y)
    >>> asked, outcomes = clinic(1000, 2)
    >>> bool(model.score(asked, outcomes) > 0.7)
    True
    >>> curve = model.predict_survival_function(asked)[0]
    >>> bool(curve(30) > curve(365))
    True
    """

    _kind = "event"

    outcome_: EventOutcome

    def __init__(self, source: Any = None, *, disjoint: bool = False):
        self.source = source
        self.disjoint = disjoint

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike | pd.DataFrame, y: Any = None) -> Self:
        """Learn from rows of the target, some of which have an outcome.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the target. If the source has an encoder, a DataFrame with its columns is
            encoded, here and in :meth:`predict`.

        y : structured array of shape (n_samples,), DataFrame, or None, default=None
            Two fields in this order: whether the row had the event, a boolean, and the time of
            event or censoring, which is NaN if the outcome is unknown. Or a table with the columns
            that the source's outcome names, "event" and "time" by default; without a source, of
            any two columns in this order. Missing values mark unknown outcomes. With a source, all
            outcomes may be unknown, or y None. Rows still under observation at the horizon are
            censored there.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the source is not a release about a time to an event, if several sources have
            different outcomes, if the columns of X do not fit the source, if y has neither form or
            has negative times, or if no event is known and ``source`` is None.

        FileNotFoundError
            If the source is a path without a file.

        sklearn.exceptions.NotFittedError
            If the source is not fitted.

        Warns
        -----
        UserWarning
            If outcomes contradict the source, if one side lacks columns of the other, or if
            columns seem to be in other units.
        """
        releases, rows = self._read(X, y)
        outcome = common_outcome(releases, type(self).__name__)
        stated = outcome or _unnamed_outcome(y)
        known, events, times = _known_outcomes(stated, y, len(rows))
        self.outcome_ = outcome = outcome or _own_outcome(stated, events, times)
        events, times = events & (times <= outcome.horizon), np.minimum(times, outcome.horizon)
        enough = TimeModel.tells(events)  # if not, as if no outcome were known
        sources = self._sources(TimeModel, rows, known & enough)
        if releases and events.any():
            expected = sources[0].predicted(rows[known])[:, np.newaxis]
            deviations = CoxLikelihood.of(expected, events, times).score_test()
            finding = "rows for which it expects a higher hazard have the event later"
            warn_of_contradiction(deviations, finding)
        model = TimeModel(sources, rows, known, events, times, outcome)
        return self._learned(releases, rows, model, int(known.sum()), None)

    def predict(self, X: ArrayLike | pd.DataFrame) -> np.ndarray:
        """Predict the risk score of each row: the log-hazard, relative to the baseline.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the target.

        Returns
        -------
        risks : ndarray of shape (n_samples,)
            Higher values mean that the event is expected earlier.

        Raises
        ------
        ValueError
            If X has other columns than in :meth:`fit`.
        """
        rows = self._rows(X)  # this first checks whether the estimator is fitted
        return self.model_.log_hazards(rows)

    def predict_cumulative_hazard_function(
        self, X: ArrayLike | pd.DataFrame, return_array: bool = False
    ) -> np.ndarray:
        """Predict the cumulative hazard of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the target.

        return_array : bool, default=False
            Whether to return the values at ``unique_times_``.

        Returns
        -------
        hazards : ndarray of StepFunction, of shape (n_samples,), or (n_samples, n_times)
        """
        risks = self.predict(X)
        return curves(self.outcome_, self.model_.baseline, risks, return_array, False)

    def predict_survival_function(
        self, X: ArrayLike | pd.DataFrame, return_array: bool = False
    ) -> np.ndarray:
        """Predict for each row the probability of being without the event, over time.

        Takes and returns the same shapes as :meth:`predict_cumulative_hazard_function`. The median
        survival time is where a curve falls below one half.
        """
        risks = self.predict(X)
        return curves(self.outcome_, self.model_.baseline, risks, return_array, True)

    def predict_proba_at(self, X: ArrayLike | pd.DataFrame, times: ArrayLike) -> np.ndarray:
        """Predict the probability that each row has the event by a time.

        It is calibrated by the target's own baseline, and one minus the survival function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the target.

        times : float or array-like of shape (n_times,)
            Times from 0 to the last of ``unique_times_``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples,) or (n_samples, n_times)

        Raises
        ------
        ValueError
            If X has other columns than in :meth:`fit`, or a time is later.
        """
        risks = self.predict(X)
        return -np.expm1(-cumulative_hazards(self.outcome_, self.model_.baseline, risks, times))

    @property
    def unique_times_(self) -> np.ndarray:
        """Ndarray of shape (n_times,): times at which curves step."""
        check_is_fitted(self)
        return followed_times(self.outcome_, len(self.model_.baseline))

    def score(self, X: ArrayLike | pd.DataFrame, y: Any) -> float:
        """Return Harrell's concordance of :meth:`predict`: the share of correctly ordered pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        y : structured array of shape (n_samples,) or DataFrame
            Known outcomes, see :meth:`fit`. In cross-validation with unknown outcomes, use
            ``cv=LabeledSplit()``.

        Returns
        -------
        score : float
            NaN if no two rows can be compared.
        """
        risks = self.predict(X)
        known, events, times = _known_outcomes(self.outcome_, y, len(risks))
        self._check_known(known)
        pairs = np.rec.fromarrays([events, times])
        return concordance(self.outcome_, pairs, risks[known], "DPTransferSurvival.score")

    def _explained(self, row, schema, unscaled):
        return explain_prediction(
            lambda Z: self.model_.log_hazards(unscaled(Z)),
            row,
            schema=schema,
            unit=LOG_HAZARD,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _known_outcomes(outcome, y, n_rows):
    """Return which rows have an outcome, and the events and times of these rows."""
    if y is None:
        return np.zeros(n_rows, dtype=bool), np.empty(0, dtype=bool), np.empty(0)
    given = outcome.parts(y)
    if given is None:
        raise ValueError(
            "The 'y' parameter of DPTransferSurvival must be a structured array of event, a "
            f"boolean, and time, or a table with the columns {outcome.event!r} and "
            f"{outcome.time!r}, got {type(y).__name__}. Make one by "
            "np.rec.fromarrays([event, time])."
        )
    check_consistent_length(np.empty(n_rows), given[0])
    known = ~np.any([missing_values(part) for part in given], axis=0)
    events, times = (part[known] for part in given)
    wrong = (outcome.cells(events, times) < 0) | np.isinf(numbers(times))
    if wrong.any():
        raise ValueError(
            "The 'y' parameter of DPTransferSurvival must have events that are true or false, and "
            f"finite times from 0 on, NaN if unknown; {wrong.sum()} of {n_rows} rows do not. "
            "Correct these, or mark them as unknown."
        )
    return known, outcome.events(events) == 1, numbers(times)


def _unnamed_outcome(y):
    """Return the outcome of a target without a source, whose horizon is not known yet."""
    names, usual = getattr(y, "columns", ()), EventOutcome(1.0)
    names = [name for name in getattr(y, "column_names", names) if isinstance(name, str)]
    # A table of two other columns has them in the order of a structured array.
    ordered = len(names) == 2 and not set(names) & set(usual.columns)
    return EventOutcome(1.0, *names) if ordered else usual


def _own_outcome(outcome, events, times):
    """Return the outcome of a target without a source, up to the last time."""
    if not (events.any() and 1e-9 < times.max() < 1e9):
        raise ValueError(
            "The 'y' parameter of DPTransferSurvival.fit has no known event, or no time from "
            "1e-9 to 1e9, and there is no source to learn from. Pass outcomes with events, in "
            "another unit, or a source."
        )
    return replace(outcome, horizon=float(times.max()))
