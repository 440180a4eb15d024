"""Learning a number in a target domain from few outcomes and a private source's release."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length

from skdp.release import NumberForecast
from skdp.tabular import MANY, NumberOutcome, explain_prediction, numbers
from skdp.transfer._base import TransferEstimator, warn_of_contradiction
from skdp.transfer._sources import common_outcome
from skdp.transfer._target_model import NumberModel
from skdp.utils._labels import is_missing, label_array
from skdp.utils._sklearn import StrOptions, fit_context
from skdp.utils._warnings import warn


class DPTransferRegressor(RegressorMixin, TransferEstimator):
    r"""Predict a number from a few outcomes and the release of a private source.

    The regressor combines the target's own rows with a :class:`~skdp.Release` about a number, the
    differentially private file that another organization made of its data. Without outcomes it
    predicts like the release; many outcomes outweigh the release. Without a source it is a ridge
    regression, averaged over penalties by evidence.

    Named columns are matched by name, in any order. Columns that the target lacks are marginalized
    out of the release (:meth:`Release.restrict`); coefficients of columns that only the target has
    are learned from the outcomes; a warning lists both.

    **Privacy.** The release protects the *source's* rows, and using it costs no further privacy.
    The *target's* rows and outcomes are **not** protected by the fitted model.

    Parameters
    ----------
    source : Release, path, fitted source, list of these, or None, default=None
        The release of a :class:`~skdp.DPStatisticsSource` with a numeric outcome, or the
        path of a file that :meth:`Release.save` wrote, which is read in each :meth:`fit`. In a
        search such as :class:`~sklearn.model_selection.GridSearchCV`, pass a release or a path:
        the clone of a fitted source is not fitted. A list combines several releases about the
        same outcome: releases of the same columns are merged (:meth:`Release.merge`), but the
        outcomes may still favor a single one. ``None`` learns from the target alone: to
        search over ``[release, None]`` on a table, put ``TabularEncoder(release.encoder)`` before
        the regressor in a pipeline.

    disjoint : bool, default=False
        Whether you know that no person has rows in two of several sources. If so, ``guarantee_``
        is the weakest of their guarantees instead of the sum. It does not change what is learned.

    label_sampling : {"random", "stratified"}, default="random"
        How the rows with an outcome were chosen among the target's rows. ``"random"``: without
        regard to the outcome, so that their mean estimates the target's mean. ``"stratified"``: by
        the outcome, such as some low and some high ones, so that their mean carries no
        information. The mean prediction over all rows of :meth:`fit` is then kept at the source's
        prediction; the slope may still be too steep. Ignored without a source.

    Attributes
    ----------
    outcome_ : NumberOutcome or None
        The outcome of the source, with its public bounds and scale; None without a source.

    source_weight_ : float
        Weight of the models that use the source, from 0 to 1; 0 without a source.

    label_sampling_ : {"random", "stratified"} or None
        How outcomes were assumed to be chosen; None without outcomes.

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
    DPTransferClassifier : The same for classes.

    Notes
    -----
    Let t be the number, rescaled to 0–1 between its public bounds (on a logarithmic scale if the
    outcome has one); f(x) the prediction of the release; and φ(x) its functions of the columns,
    followed by the columns that it lacks. All candidates are Bayesian linear regressions

    .. math:: t = m + b + a\,(f(x) - m) + w^T φ(x) + ε, \qquad ε \sim N(0, σ^2),

    where m is the mean of the source. They differ in their normal priors of (b, a, w):

    - *the source*: b = 0, a = 1 and w = 0, with the standard errors that the release states;
    - *own coefficients*: b has a standard deviation of σ, a of 0.3, and w such that the standard
      deviation of :math:`w^T φ(x)` is from 0.2σ to 20σ;
    - *target alone*, without a source: a = 0, and b and w likewise.

    The distribution of t about its prediction has the shape that the release states: quantiles
    of residuals by prediction. Known outcomes, each predicted from the others, add theirs (Duan,
    1983); the release counts as 100 of them. Means and intervals follow from this distribution.

    σ² has an inverse gamma prior around the variance that the release expects. The posteriors and
    the evidence, a multivariate t density of the outcomes, have closed forms. The unchanged source
    has a prior probability of a third, or up to 0.6 if the means of columns agree; the prior
    probability of a candidate with w is inversely proportional to the standard deviation of w.
    Predictions are averaged by evidence. If several sources were merged, the single sources
    together have half of the prior probability.

    An outlier moves the mean by at most one standard error: the difference between an outcome and
    the source's prediction is clipped to within :math:`σ \sqrt{n}` of the median difference, for n
    outcomes. Coefficients follow differences that are clipped to a third of that, or 3σ if this is
    more, and moved to have the same mean.

    **What to expect.** The release alone, or a ridge regression on the outcomes alone, may predict
    better: in particular with about thirty outcomes that the columns
    explain nearly completely, or if the source understates its errors; see
    ``benchmarks/bench_numbers.py``. :meth:`report` shows the likelihood of held-out outcomes.

    Examples
    --------
    A hospital makes a release about the progression of diabetes after a year; another hospital
    knows twenty outcomes.

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from skdp import DPStatisticsSource, DPTransferRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> X = X[["age", "bmi", "bp", "s5"]]
    >>> schema = {
    ...     "version": 1,
    ...     "columns": {
    ...         "age": {"type": "numeric", "low": 18, "high": 90},
    ...         "bmi": {"type": "numeric", "low": 15, "high": 45},
    ...         "bp": {"type": "numeric", "low": 50, "high": 140},
    ...         "s5": {"type": "numeric", "low": 3, "high": 6.5},
    ...     },
    ...     "outcome": {"type": "number", "low": 25, "high": 350},
    ... }
    >>> source = DPStatisticsSource(epsilon=8.0, encoder=schema, model="linear")
    >>> release = source.fit(X[:250], y[:250]).release_
    >>> outcomes = y[250:350].copy()
    >>> outcomes[20:] = np.nan  # most are unknown
    >>> model = DPTransferRegressor(release).fit(X[250:350], outcomes)
    >>> bool(model.score(X[350:], y[350:]) > 0.2)
    True
    >>> mean, deviation = model.predict(X[350:], return_std=True)
    >>> bool(np.mean(np.abs(y[350:] - mean) < 2 * deviation) > 0.85)
    True
    >>> model.guarantee_.epsilon
    8.0
    """

    _parameter_constraints: dict = {
        "source": "no_validation",  # checked by as_releases, whose errors name the remedy
        "disjoint": ["boolean"],
        "label_sampling": [StrOptions({"random", "stratified"})],
    }

    _kind = "number"

    outcome_: NumberOutcome | None

    def __init__(
        self, source: Any = None, *, disjoint: bool = False, label_sampling: str = "random"
    ):
        self.source = source
        self.disjoint = disjoint
        self.label_sampling = label_sampling

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike | None = None) -> Self:
        """Learn from rows of the target, some of which have an outcome.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the target. If the source has an encoder, a DataFrame with its columns is
            encoded, here and in :meth:`predict`.

        y : array-like of shape (n_samples,) or None, default=None
            Outcomes in the source's unit; NaN or None if unknown. With a source, all of them may
            be unknown, or y None. Outcomes are clipped to the public bounds.

        Returns
        -------
        self : object
            The fitted regressor.

        Raises
        ------
        ValueError
            If the source is not a release about a number, if several sources have different
            outcomes, if the columns of X do not fit the source, if y contains anything but
            numbers, or if no outcome is known and ``source`` is None.

        FileNotFoundError
            If the source is a path without a file.

        sklearn.exceptions.NotFittedError
            If the source is not fitted.

        Warns
        -----
        UserWarning
            If outcomes contradict the source or lie beyond its bounds, if one side lacks columns
            of the other, or if columns seem to be in other units.
        """
        releases, rows = self._read(X, y)
        self.outcome_ = common_outcome(releases, type(self).__name__)
        labeled, values = _known_outcomes(y, len(rows))
        if not (releases or len(values)):
            raise ValueError(
                "The 'y' parameter of DPTransferRegressor.fit has no known outcome, and there is "
                "no source to learn from. Pass outcomes of some rows, or a source."
            )
        self._center, self._scale = 0.0, 1.0
        if not releases:
            self._center, self._scale = values.mean(), values.std() or 1.0
        sources = self._sources(NumberModel, rows, labeled)
        keeps_mean = self.label_sampling == "stratified" and bool(releases and len(values))
        places = self._places(values)
        model = NumberModel(sources, rows, labeled, places, keeps_mean)
        if releases and len(values) > 1:
            deviations = _deviations(sources[0].predicted(rows[labeled]), places)
            finding = "the higher it expects them to be, the lower they are"
            warn_of_contradiction(deviations, finding)
        return self._learned(releases, rows, model, len(values), self.label_sampling)

    def _places(self, values):
        """Return outcomes rescaled to the model's scale."""
        if not self.outcome_:
            return (values - self._center) / self._scale
        low, high = self.outcome_.low, self.outcome_.high
        n_outside = int(((values < low) | (values > high)).sum())
        if n_outside > MANY * len(values):
            warn(
                f"{n_outside} of {len(values)} outcomes in y lie beyond the public bounds of the "
                f"source's outcome, {low:g} to {high:g}, and count as these. Convert them to its "
                "unit if they are in another one."
            )
        return self.outcome_.positions(values)

    def predict(
        self,
        X: ArrayLike | pd.DataFrame,
        return_std: bool = False,
        *,
        return_interval: float | None = None,
        statistic: str = "mean",
        quantile: float | None = None,
    ) -> Any:
        """Predict the number of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the target.

        return_std : bool, default=False
            Whether to return standard deviations too.

        return_interval : float or None, default=None
            Share of the numbers that intervals contain, such as 0.8; None returns no intervals.

        statistic : {"mean", "median"}, default="mean"
            What is predicted of the distribution of each number. The sum of means is the expected
            total.

        quantile : float or None, default=None
            Level of a quantile that is predicted instead, between 0 and 1.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted numbers in the unit of the outcome, within the public bounds of the source's
            outcome.

        deviations : ndarray of shape (n_samples,)
            Standard deviations of the numbers about their predictions, including errors of the
            model. Only with ``return_std``.

        intervals : ndarray of shape (n_samples, 2)
            Lower and upper ends, within the bounds. Only with ``return_interval``.

        Raises
        ------
        ValueError
            If X has other columns than in :meth:`fit`, or a parameter is out of range.
        """
        return self._forecast(self._rows(X)).answer(
            return_std, return_interval, statistic, quantile
        )

    def _forecast(self, rows):
        places, wider = self.model_.predict(rows)
        if self.outcome_:
            return NumberForecast.of(self.outcome_, places, wider, self.model_.distribution)

        def decode(places):
            return self._center + self._scale * places

        return NumberForecast(places, wider, self.model_.distribution, decode, decode, True)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R² of :meth:`predict` on rows with outcomes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        y : array-like of shape (n_samples,)
            Outcomes, all of them known. In cross-validation with unknown outcomes, use
            ``cv=LabeledSplit()``.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
        """
        known, values = _known_outcomes(y, len(label_array(y)))
        self._check_known(known)
        return super().score(X, values, sample_weight)

    def _explained(self, row, schema, unscaled):
        def predict(Z, **asked):
            return self._forecast(unscaled(Z)).answer(**asked)

        [deviation] = predict(row[np.newaxis], return_std=True)[1]
        return explain_prediction(predict, row, schema=schema, deviation=deviation)


def _known_outcomes(y, n_rows):
    """Return which rows have an outcome, and these outcomes as numbers."""
    y = np.full(n_rows, np.nan) if y is None else label_array(y, warn=True)
    check_consistent_length(np.empty(n_rows), y)
    known = ~np.array([is_missing(value) for value in y.tolist()], dtype=bool)
    values = numbers(y)[known]
    if not np.isfinite(values).all():
        raise ValueError(
            "The 'y' parameter of DPTransferRegressor must hold numbers, and NaN or None where "
            f"the outcome is unknown; {(~np.isfinite(values)).sum()} of {n_rows} are text, "
            "infinity or a value too large. Convert these."
        )
    return known, values


def _deviations(expected, places):
    """Return the z-score of the correlation, 0 if either variable is constant."""
    if not (expected.std() and places.std()):
        return 0.0
    return np.corrcoef(expected, places)[0, 1] * np.sqrt(len(places) - 1)
