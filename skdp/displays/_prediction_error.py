"""Predictions of a number against what was observed, on rows at hand or by an evaluation."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from skdp.displays._base import GREY, OKABE_ITO, Display, reach, require_kind
from skdp.utils._labels import label_array
from skdp.utils._validation import check_array

# Steps of residuals of rows at hand.
_N_STEPS = 30


@dataclass(eq=False, repr=False)
class PredictionErrorDisplay(Display):
    """Outcomes that are numbers against their predictions, and residuals.

    The mean outcome among rows of similar predictions, with intervals of 95 % of that mean, and
    how often outcomes differ from predictions by how much.

    Displays of :meth:`from_estimator` and :meth:`from_predictions` are computed from the rows
    without noise. Do not publish them where these are private. Those of :meth:`from_evaluation`
    have the guarantee of the evaluation.

    Parameters
    ----------
    curve : DataFrame
        A line for each group of rows, with the mean ``prediction``, the mean ``outcome`` with the
        ends ``low`` and ``high`` of its interval, and ``rows``, the share of all rows.

    residuals : DataFrame
        A line for each step of the ``residual``, outcome minus prediction, with the ``share`` of
        all rows and the ends ``low`` and ``high`` of its interval.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The first of the axes, set by :meth:`plot`.

    axes_ : ndarray of matplotlib.axes.Axes
        Both of them.

    figure_ : matplotlib.figure.Figure
        Of the axes.

    errorbar_ : matplotlib.container.ErrorbarContainer
        The curve.

    See Also
    --------
    skdp.evaluate_privately : Makes an evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.displays import PredictionErrorDisplay
    >>> rng = np.random.default_rng(0)
    >>> prediction = rng.uniform(0, 10, size=2000)
    >>> outcome = prediction + rng.normal(size=2000)
    >>> display = PredictionErrorDisplay.from_predictions(outcome, prediction, n_bins=4)
    >>> display.curve[["prediction", "outcome"]].round(1)
       prediction  outcome
    0         1.2      1.2
    1         3.7      3.8
    2         6.3      6.2
    3         8.8      8.7
    >>> display.plot().ax_.get_xlabel()
    'prediction'
    """

    curve: pd.DataFrame
    residuals: pd.DataFrame

    _instead = "its attributes 'curve' and 'residuals'"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike | pd.DataFrame, y: ArrayLike, *, n_bins: int = 10
    ) -> Self:
        """Return the display of a regressor, or a release, on rows with known outcomes.

        Parameters
        ----------
        estimator : Release or fitted regressor

        X : array-like of shape (n_samples, n_features)
            Rows that it was not trained on.

        y : array-like of shape (n_samples,)
            Their outcomes.

        n_bins : int, default=10
            Groups of about as many rows each.

        Returns
        -------
        display : PredictionErrorDisplay

        Raises
        ------
        ValueError
            When it does not predict numbers, or outcomes are none.
        """
        owner = "PredictionErrorDisplay.from_estimator"
        wanted = "a Release about a number, or a fitted regressor"
        require_kind(owner, "estimator", estimator, ("predict",), wanted)
        return cls.from_predictions(y, estimator.predict(X), n_bins=n_bins)

    @classmethod
    def from_predictions(cls, y_true: ArrayLike, y_pred: ArrayLike, *, n_bins: int = 10) -> Self:
        """Return the display of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Outcomes.

        y_pred : array-like of shape (n_samples,)

        n_bins : int, default=10
            Groups of about as many rows each.

        Returns
        -------
        display : PredictionErrorDisplay

        Raises
        ------
        ValueError
            When these are no finite numbers, of one length.
        """
        owner = "PredictionErrorDisplay.from_predictions"
        if not isinstance(n_bins, int) or n_bins < 1:
            raise ValueError(f"The 'n_bins' parameter of {owner} must be a whole number >= 1.")
        settings = {"ensure_2d": False, "dtype": np.float64}
        truth = check_array(label_array(y_true), input_name="y_true", **settings)
        predicted = check_array(label_array(y_pred), input_name="y_pred", **settings)
        check_consistent_length(truth, predicted)
        order = np.argsort(predicted, kind="stable")
        lines = []
        for rows in np.array_split(order, min(n_bins, len(order))):
            mean, spread = truth[rows].mean(), truth[rows].std() / np.sqrt(len(rows))
            ends = mean - 1.96 * spread, mean + 1.96 * spread
            lines.append((predicted[rows].mean(), mean, *ends, len(rows) / len(order)))
        curve = pd.DataFrame(lines, columns=["prediction", "outcome", "low", "high", "rows"])
        counts, edges = np.histogram(truth - predicted, bins=_N_STEPS)
        share = counts / len(order)
        half = 1.96 * np.sqrt(share * (1 - share) / len(order))
        residuals = {"residual": (edges[1:] + edges[:-1]) / 2, "share": share}
        residuals |= {"low": np.maximum(share - half, 0), "high": share + half}
        return cls(curve, pd.DataFrame(residuals))

    @classmethod
    def from_evaluation(cls, evaluation: Any, *, n_groups: int = 8) -> Self:
        """Return the display of a private evaluation, which has its guarantee.

        Parameters
        ----------
        evaluation : PrivateEvaluation
            About a number.

        n_groups : int, default=8
            Groups of about as many rows each.

        Returns
        -------
        display : PredictionErrorDisplay

        Raises
        ------
        ValueError
            When it is something else.
        """
        owner = "PredictionErrorDisplay.from_evaluation"
        needed = ("prediction_curve", "residuals")
        require_kind(owner, "evaluation", evaluation, needed, "a PrivateEvaluation of a number")
        return cls(evaluation.prediction_curve(n_groups), evaluation.residuals())

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : pair of matplotlib.axes.Axes or None, default=None
            Where to draw. By default a new figure.

        Returns
        -------
        display : PredictionErrorDisplay
            Itself.

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).
        """
        left, right = self._take_axes(ax, 2, (1, 2), figsize=(9, 4.2))
        color, curve = OKABE_ITO[0], self.curve
        style = {"fmt": "o", "color": color, "capsize": 2, "markersize": 4}
        points = curve["prediction"], curve["outcome"].to_numpy(), reach(curve, "outcome")
        self.errorbar_ = left.errorbar(*points, **style)
        ends = curve["prediction"].iloc[[0, -1]]
        left.plot(ends, ends, color=GREY, ls=":", lw=1, label="as predicted")
        left.set(xlabel="prediction", ylabel="mean outcome")
        left.legend(frameon=False, loc="upper left", fontsize="small")
        x = self.residuals["residual"]
        right.step(x, self.residuals["share"], where="mid", color=color)
        ends = self.residuals["low"], self.residuals["high"]
        right.fill_between(x, *ends, step="mid", color=color, alpha=0.2, lw=0)
        right.axvline(0, color=GREY, ls=":", lw=1)
        right.set(xlabel="outcome minus prediction", ylabel="share of the rows", ylim=(0, None))
        for panel in (left, right):
            panel.spines[["top", "right"]].set_visible(False)
        return self
