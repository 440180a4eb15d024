"""Survival curve of a release about a time to an event."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from skdp.displays._base import OKABE_ITO, Display, as_label, require_kind


@dataclass(eq=False, repr=False)
class SurvivalDisplay(Display):
    """Survival curve: the probability of being without the event, over time.

    :meth:`from_release` is about all rows of a source, with a band for noise and sampling. That
    plot can be published wherever the release can. :meth:`from_estimator` is the mean of the
    curves that a model predicts for some rows, without a band. Curves of a release end where too
    few rows are followed.

    Parameters
    ----------
    curve : DataFrame
        With the columns "time", "survival", "low" and "high", as from
        :meth:`Release.survival_curve <skdp.Release.survival_curve>`.

    name : str, default="all rows"
        Name in the legend.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, set by :meth:`plot`.

    figure_ : matplotlib.figure.Figure
        Figure of the axes.

    line_ : matplotlib.lines.Line2D
        The curve.

    See Also
    --------
    skdp.evaluate_privately : Compares predictions with private rows, with noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> from skdp.displays import SurvivalDisplay
    >>> rng = np.random.RandomState(0)
    >>> X, y = rng.rand(2000, 2), np.zeros(2000, dtype=[("event", bool), ("time", float)])
    >>> y["time"] = rng.exponential(10 * np.exp(-2 * X[:, 0]))
    >>> y["event"] = y["time"] < 8
    >>> outcome = {"type": "event", "horizon": 8}
    >>> source = DPStatisticsSource(4.0, bounds=(0, 1), outcome=outcome).fit(X, y)
    >>> SurvivalDisplay.from_release(source.release_).plot().ax_.get_ylabel()
    'without the event'
    """

    curve: pd.DataFrame
    name: str = "all rows"

    _instead = "Release.survival_curve()"

    @classmethod
    def from_release(
        cls, release: Any, *, confidence: float = 0.95, name: str = "all rows"
    ) -> Self:
        """Return the curve of all rows of a source, from its release.

        Parameters
        ----------
        release : Release
            About a time to an event.

        confidence : float, default=0.95
            Confidence of the band, at each time separately.

        name : str, default="all rows"
            Name in the legend.

        Returns
        -------
        display : SurvivalDisplay

        Raises
        ------
        ValueError
            If it is something else.
        """
        owner = "SurvivalDisplay.from_release"
        wanted = "a Release about a time to an event"
        require_kind(owner, "release", release, ("outcome", "merge"), wanted)
        if release.outcome.exits is None:
            raise ValueError(
                f"The 'release' parameter of {owner} must be {wanted}, got one about "
                f"{release.outcome.about}. ReleaseDisplay draws any release."
            )
        return cls(release.survival_curve(confidence), name)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, name: str = "mean of the rows") -> Self:
        """Return the mean predicted curve of rows, such as a group of patients.

        Parameters
        ----------
        estimator : Release, DPTransferSurvival, or fitted model of scikit-survival
            With ``predict_survival_function``.

        X : array-like of shape (n_samples, n_features) or DataFrame
            Rows in the form that the estimator expects.

        name : str, default="mean of the rows"
            Name in the legend.

        Returns
        -------
        display : SurvivalDisplay

        Raises
        ------
        ValueError
            If it predicts no curves, or the columns of X do not fit it.
        """
        owner, wanted = "SurvivalDisplay.from_estimator", "a model of times to an event"
        require_kind(owner, "estimator", estimator, ("predict_survival_function",), wanted)
        functions = estimator.predict_survival_function(X)
        mean = np.mean([curve.y for curve in functions], axis=0)
        lines = dict.fromkeys(("survival", "low", "high"), mean)
        return cls(pd.DataFrame({"time": functions[0].x, **lines}), name)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw, such as the axes of another curve. By default a new figure.

        Returns
        -------
        display : SurvivalDisplay
            Itself.

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).
        """
        [ax] = self._take_axes(ax, figsize=(6, 4.2))
        color = OKABE_ITO[len(ax.lines) % len(OKABE_ITO)]
        x, ends = self.curve["time"], (self.curve["low"], self.curve["high"])
        style = {"where": "post", "color": color, "label": as_label(self.name)}
        [self.line_] = ax.step(x, self.curve["survival"], **style)
        ax.fill_between(x, *ends, step="post", color=color, alpha=0.15, lw=0)
        ax.set(xlabel="time", ylabel="without the event", ylim=(0, 1.02), xlim=(0, None))
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="best", fontsize="small")
        return self
