"""Reliability of probabilities, on rows at hand or by a private evaluation."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import beta

from skdp.displays._base import GREY, OKABE_ITO, Display, as_label, reach, require_kind
from skdp.utils._frames import as_frame
from skdp.utils._labels import scorable_labels

_DIAGONAL = "perfectly calibrated"


@dataclass(eq=False, repr=False)
class CalibrationDisplay(Display):
    """Reliability curve: how frequent a class is among rows of similar probability.

    Rows are grouped by their probability, as many in each group as in the others or by equal
    steps. Bars are intervals of the frequency: of sampling (Clopper and Pearson, 1934), and of
    noise as well where the curve is that of a private evaluation.

    Curves of :meth:`from_estimator` and :meth:`from_predictions` are computed from the rows
    without noise. Do not publish them where these are private. Those of :meth:`from_evaluation`
    have the guarantee of the evaluation.

    Parameters
    ----------
    curve : DataFrame
        A line for each group, with the mean ``probability``, the ``frequency`` of the class with
        the ends ``low`` and ``high`` of its interval, and ``rows``, the share of all rows.

    name : str or None, default=None
        In the legend.

    positive : object, default=None
        The class, for the axis.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, set by :meth:`plot`.

    figure_ : matplotlib.figure.Figure
        Of the axes.

    errorbar_ : matplotlib.container.ErrorbarContainer
        The curve.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : Without intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.displays import CalibrationDisplay
    >>> rng = np.random.default_rng(0)
    >>> probability = rng.uniform(size=2000)
    >>> y = rng.uniform(size=2000) < probability
    >>> display = CalibrationDisplay.from_predictions(y, probability, n_bins=4)
    >>> display.curve[["probability", "frequency"]].round(2)
       probability  frequency
    0         0.12       0.12
    1         0.37       0.39
    2         0.63       0.60
    3         0.88       0.90
    >>> display.plot().ax_.get_ylabel()
    'frequency of the class'
    """

    curve: pd.DataFrame
    name: str | None = None
    positive: Any = None

    _instead = "its attribute 'curve'"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | pd.DataFrame,
        y: ArrayLike,
        *,
        positive: Any = None,
        name: str | None = None,
        **settings: Any,
    ) -> Self:
        """Return the curve of a classifier, or a release, on rows with known classes.

        Parameters
        ----------
        estimator : Release or fitted classifier
            With ``predict_proba``.

        X : array-like of shape (n_samples, n_features)
            Rows that it was not trained on.

        y : array-like of shape (n_samples,)
            Their classes. All rows must be labeled.

        positive : label or None, default=None
            The class; None: the second of two.

        name : str or None, default=None
            In the legend. By default that of the estimator's class.

        **settings
            ``n_bins``, ``strategy`` and ``confidence``, see :meth:`from_predictions`.

        Returns
        -------
        display : CalibrationDisplay

        Raises
        ------
        ValueError
            When it has no probabilities, or not this class, or a row is marked as unlabeled.
        """
        owner = "CalibrationDisplay.from_estimator"
        wanted = "a Release or a fitted classifier with predict_proba"
        require_kind(owner, "estimator", estimator, ("predict_proba",), wanted)
        classes = getattr(estimator, "classes_", getattr(estimator, "classes", None))
        classes = np.asarray(classes).tolist()
        y = scorable_labels(y, owner, getattr(estimator, "unlabeled", "auto"), classes)
        if positive is None and len(classes) == 2:
            positive = classes[1]
        if positive not in classes:
            raise ValueError(
                f"The 'positive' parameter of {owner} must be one of the classes "
                f"{classes!r:.200}, got {positive!r:.100}."
            )
        probabilities = np.asarray(estimator.predict_proba(as_frame(X)))
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(
            y == positive,
            probabilities[:, classes.index(positive)],
            name=name,
            positive=positive,
            **settings,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        n_bins: int = 10,
        strategy: str = "quantile",
        confidence: float = 0.95,
        name: str | None = None,
        positive: Any = None,
    ) -> Self:
        """Return the curve of probabilities.

        Parameters
        ----------
        y_true : array-like of bool, shape (n_samples,)
            Whether each row is of the class.

        y_prob : array-like of shape (n_samples,)
            Its probability.

        n_bins : int, default=10
            Groups of rows; those that are empty are left out.

        strategy : {"quantile", "uniform"}, default="quantile"
            As many rows in each group, ties in one; or steps of equal width.

        confidence : float, default=0.95
            Of each interval by itself.

        name : str or None, default=None
            In the legend.

        positive : object, default=None
            The class, for the axis.

        Returns
        -------
        display : CalibrationDisplay

        Raises
        ------
        ValueError
            When these are no probabilities, lengths differ, or a parameter is out of range.
        """
        owner = "CalibrationDisplay.from_predictions"
        hits, p = np.asarray(y_true), np.asarray(y_prob, dtype=np.float64)
        _require_settings(owner, hits, p, n_bins, strategy, confidence)
        if strategy == "quantile":
            edges = np.quantile(p, np.linspace(0, 1, n_bins + 1)[1:-1])
        else:
            edges = np.linspace(0, 1, n_bins + 1)[1:-1]
        groups = np.searchsorted(edges, p, side="left")
        lines = []
        for group in np.unique(groups):
            grouped = groups == group
            n, k = int(grouped.sum()), int(hits[grouped].sum())
            low, high = _interval(k, n, confidence)
            lines.append((p[grouped].mean(), k / n, low, high, n / len(p)))
        names = ["probability", "frequency", "low", "high", "rows"]
        return cls(pd.DataFrame(lines, columns=names), name, positive)

    @classmethod
    def from_evaluation(
        cls, evaluation: Any, *, n_groups: int = 10, class_index: int = -1, name: str | None = None
    ) -> Self:
        """Return the curve of a private evaluation, which has its guarantee.

        Parameters
        ----------
        evaluation : PrivateEvaluation

        n_groups : int, default=10
            Groups of about as many rows each.

        class_index : int, default=-1
            Of the class, where there are three or more, or of the time.

        name : str or None, default=None
            In the legend.

        Returns
        -------
        display : CalibrationDisplay

        Raises
        ------
        ValueError
            When it is something else.
        """
        owner = "CalibrationDisplay.from_evaluation"
        needed = ("calibration_curve", "positives")
        require_kind(owner, "evaluation", evaluation, needed, "a PrivateEvaluation")
        curve = evaluation.calibration_curve(n_groups, class_index)
        return cls(curve, name, evaluation.positives[class_index])

    def plot(self, ax: Any = None, *, color: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw, such as those of another curve. By default a new figure.

        color : color of matplotlib or None, default=None
            By default the next of the colors of skdp.

        Returns
        -------
        display : CalibrationDisplay
            Itself.

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).
        """
        [ax] = self._take_axes(ax, figsize=(4.8, 4.6))
        curve = self.curve
        drawn = sum(hasattr(container, "has_yerr") for container in ax.containers)
        color = OKABE_ITO[drawn % len(OKABE_ITO)] if color is None else color
        self.errorbar_ = ax.errorbar(
            curve["probability"],
            curve["frequency"].to_numpy(),
            reach(curve, "frequency"),
            fmt="o-",
            color=color,
            capsize=2,
            markersize=4,
            label=self.name,
        )
        if _DIAGONAL not in ax.get_legend_handles_labels()[1]:
            ax.plot([0, 1], [0, 1], color=GREY, ls=":", lw=1, label=_DIAGONAL)
        of = "the class" if self.positive is None else as_label(f"{self.positive!s:.30}")
        ax.set(xlabel=f"probability of {of}", ylabel=f"frequency of {of}", aspect=1)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.legend(frameon=False, loc="upper left", fontsize="small")
        return self


@dataclass(eq=False, repr=False)
class EvaluationDisplay(Display):
    """ROC curve and calibration curve of a private evaluation, with bands of 95 %.

    Everything shown is computed from noisy histograms and has the guarantee of the evaluation.

    Parameters
    ----------
    roc : DataFrame
        As :meth:`PrivateEvaluation.roc_curve <skdp.release.PrivateEvaluation.roc_curve>` has it.

    calibration : CalibrationDisplay

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The first of the axes, set by :meth:`plot`.

    axes_ : ndarray of matplotlib.axes.Axes
        Both of them.

    figure_ : matplotlib.figure.Figure
        Of the axes.

    line_ : matplotlib.lines.Line2D
        The ROC curve.

    See Also
    --------
    skdp.evaluate_privately : Makes an evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource, evaluate_privately
    >>> from skdp.displays import EvaluationDisplay
    >>> rng = np.random.RandomState(0)
    >>> X, y = rng.rand(2000, 2), rng.randint(2, size=2000)
    >>> X[:, 0] += y
    >>> source = DPStatisticsSource(bounds=(0, 2), classes=[0, 1]).fit(X[:1000], y[:1000])
    >>> evaluation = evaluate_privately(source.release_, X[1000:], y[1000:], epsilon=1.0)
    >>> EvaluationDisplay.from_evaluation(evaluation).plot().axes_.shape
    (1, 2)
    """

    roc: pd.DataFrame
    calibration: CalibrationDisplay

    _instead = "roc_curve() and calibration_curve()"

    @classmethod
    def from_evaluation(cls, evaluation: Any, *, class_index: int = -1) -> Self:
        """Return the display of a private evaluation.

        Parameters
        ----------
        evaluation : PrivateEvaluation

        class_index : int, default=-1
            Of the class, where there are three or more, or of the time.

        Returns
        -------
        display : EvaluationDisplay

        Raises
        ------
        ValueError
            When it is something else.
        """
        owner = "EvaluationDisplay.from_evaluation"
        needed = ("roc_curve", "calibration_curve")
        require_kind(owner, "evaluation", evaluation, needed, "a PrivateEvaluation")
        calibration = CalibrationDisplay.from_evaluation(evaluation, class_index=class_index)
        return cls(evaluation.roc_curve(class_index), calibration)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : pair of matplotlib.axes.Axes or None, default=None
            Where to draw. By default a new figure.

        Returns
        -------
        display : EvaluationDisplay
            Itself.

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).
        """
        left, right = self._take_axes(ax, 2, (1, 2), figsize=(9, 4.4))
        roc = self.roc
        x = roc["false_positives"]
        [self.line_] = left.plot(x, roc["true_positives"], color=OKABE_ITO[0])
        left.fill_between(x, roc["low"], roc["high"], color=OKABE_ITO[0], alpha=0.2, lw=0)
        left.plot([0, 1], [0, 1], color=GREY, ls=":", lw=1)
        if roc["true_positives"].isna().all():
            left.text(0.5, 0.25, "too few rows", ha="center")
        left.set(xlabel="false-positive rate", ylabel="true-positive rate", aspect=1)
        self.calibration.plot(right)
        return self


def _interval(hits, n, confidence):
    """Return the ends of the interval of Clopper and Pearson."""
    miss = (1 - confidence) / 2
    low = beta.ppf(miss, hits, n - hits + 1) if hits else 0.0
    high = beta.isf(miss, hits + 1, n - hits) if hits < n else 1.0
    return float(low), float(high)


def _require_settings(owner, hits, p, n_bins, strategy, confidence):
    """Raise ValueError, naming the parameter, unless a curve can be computed."""
    problems = {
        "y_true": (
            hits.ndim != 1 or not len(hits) or not np.isin(hits, (0, 1)).all(),
            "say by True or False, or 1 and 0, whether each row is of the class",
        ),
        "y_prob": (
            p.shape != hits.shape or not ((p >= 0) & (p <= 1)).all(),
            "hold one probability from 0 to 1 for each row of 'y_true'",
        ),
        "n_bins": (
            not isinstance(n_bins, int) or n_bins < 1,
            "be a whole number, 1 or more",
        ),
        "strategy": (strategy not in ("quantile", "uniform"), "be 'quantile' or 'uniform'"),
        "confidence": (not 0 < confidence < 1, "be a number between 0 and 1"),
    }
    for name, (wrong, wanted) in problems.items():
        if wrong:
            raise ValueError(f"The {name!r} parameter of {owner} must {wanted}.")
