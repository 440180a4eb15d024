"""The accuracy of predictions in a private evaluation."""

from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from skdp.displays._base import GREY, OKABE_ITO, Display, as_label, reach, require_kind


@dataclass(eq=False, repr=False)
class EvaluationDisplay(Display):
    """Two curves of a private evaluation, with 95% intervals.

    For classes and times to an event: the ROC curve, and the frequency of the class among rows of
    similar probability. For numbers: the distribution of errors, and the mean outcome among rows
    of similar predictions. Everything is computed from noisy histograms and has the guarantee of
    the evaluation.

    Parameters
    ----------
    errors : DataFrame
        Result of :meth:`PrivateEvaluation.roc_curve <skdp.release.PrivateEvaluation.roc_curve>` or
        :meth:`PrivateEvaluation.residuals <skdp.release.PrivateEvaluation.residuals>`.

    calibration : DataFrame
        Result of :meth:`PrivateEvaluation.calibration_curve
        <skdp.release.PrivateEvaluation.calibration_curve>` or
        :meth:`PrivateEvaluation.prediction_curve
        <skdp.release.PrivateEvaluation.prediction_curve>`.

    positive : object, default=None
        The class, for labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The first of both axes, set by :meth:`plot`.

    axes_ : ndarray of matplotlib.axes.Axes
        Both axes.

    figure_ : matplotlib.figure.Figure
        Figure of the axes.

    See Also
    --------
    skdp.evaluate_privately : Returns an evaluation.

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

    errors: pd.DataFrame
    calibration: pd.DataFrame
    positive: Any = None

    _instead = "its attributes 'errors' and 'calibration'"

    @classmethod
    def from_evaluation(cls, evaluation: Any, *, class_index: int = -1) -> Self:
        """Return the display of a private evaluation.

        Parameters
        ----------
        evaluation : PrivateEvaluation

        class_index : int, default=-1
            Index of the class, of three or more, or of the time.

        Returns
        -------
        display : EvaluationDisplay

        Raises
        ------
        ValueError
            If it is something else.
        """
        owner = "EvaluationDisplay.from_evaluation"
        needed = ("roc_curve", "prediction_curve")
        require_kind(owner, "evaluation", evaluation, needed, "a PrivateEvaluation")
        if evaluation.has_scores:
            calibration = evaluation.calibration_curve(class_index=class_index)
            positive = evaluation.positives[class_index]
            return cls(evaluation.roc_curve(class_index), calibration, positive)
        return cls(evaluation.residuals(), evaluation.prediction_curve())

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : pair of matplotlib.axes.Axes or None, default=None
            Axes to draw on; default: a new figure.

        Returns
        -------
        display : EvaluationDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        left, right = self._take_axes(ax, 2, (1, 2), figsize=(9, 4.4))
        errors, curve, number = self.errors, self.calibration, "residual" in self.errors
        x, band = (
            errors["residual" if number else "false_positives"],
            (errors["low"], errors["high"]),
        )
        step = "mid" if number else None
        left.plot(
            *(x, errors["share" if number else "true_positives"]),
            drawstyle="steps-mid" if number else "default",
            color=OKABE_ITO[0],
        )
        left.fill_between(x, *band, step=step, color=OKABE_ITO[0], alpha=0.2, lw=0)
        predicted, observed = ("prediction", "outcome") if number else ("probability", "frequency")
        right.errorbar(
            *(curve[predicted], curve[observed].to_numpy(), reach(curve, observed)),
            **{"fmt": "o-", "color": OKABE_ITO[0], "capsize": 2, "markersize": 4},
        )
        ends = curve[predicted].iloc[[0, -1]] if number else [0, 1]
        right.plot(ends, ends, color=GREY, ls=":", lw=1, label="perfectly calibrated")
        right.legend(frameon=False, loc="upper left", fontsize="small")
        if number:
            left.axvline(0, color=GREY, ls=":", lw=1)
            left.set(xlabel="outcome minus prediction", ylabel="share of the rows", ylim=(0, None))
            right.set(xlabel="prediction", ylabel="mean outcome")
        else:
            left.plot([0, 1], [0, 1], color=GREY, ls=":", lw=1)
            if errors["true_positives"].isna().all():
                left.text(0.5, 0.25, "too few rows", ha="center")
            left.set(xlabel="false-positive rate", ylabel="true-positive rate", aspect=1)
            of = "the class" if self.positive is None else as_label(f"{self.positive!s:.30}")
            right.set(xlabel=f"probability of {of}", ylabel=f"frequency of {of}", aspect=1)
            right.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        return self
