"""Curves of survival: of a release, of rows, and of groups of rows by their risk."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skdp.displays._base import OKABE_ITO, Display, as_label, require_kind
from skdp.utils._frames import as_elements, as_frame
from skdp.utils._survival import kaplan_meier

# Rows of which each has a curve, at most: more cannot be told apart.
_MOST = 20
_COLUMNS = ["name", "time", "survival", "low", "high"]


@dataclass(eq=False, repr=False)
class SurvivalDisplay(Display):
    """Curves of survival: the probability of being without the event, over time.

    Those of :meth:`from_release` are of all rows of the source, with bands for noise and sampling,
    and have the guarantee of the release. Those of :meth:`from_estimator` are predicted, for each
    row or for groups of rows by their risk; with ``y`` they are compared with what was observed in
    these groups (Kaplan and Meier, 1958), dashed. **What was observed is computed without noise**:
    do not publish it where these rows are private, nor curves of such rows.

    Parameters
    ----------
    curves : DataFrame
        A line for each ``time`` of each curve, which its ``name`` tells apart, with ``survival``
        from then on, and the ends ``low`` and ``high`` of its band; NaN where it has none.

    observed : DataFrame or None, default=None
        The same of what was observed in groups of the same names.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, set by :meth:`plot`.

    figure_ : matplotlib.figure.Figure
        Of the axes.

    lines_ : list of matplotlib.lines.Line2D
        The curves.

    See Also
    --------
    skdp.Release.survival_curve : That of all rows, as a table.
    skdp.evaluate_privately : Compares predictions with private rows, behind noise.

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
    >>> display = SurvivalDisplay.from_estimator(source.release_, X, y, n_groups=3)
    >>> display.curves["name"].unique().tolist()
    ['lowest risk', 'group 2', 'highest risk']
    """

    curves: pd.DataFrame
    observed: pd.DataFrame | None = None

    _instead = "its attribute 'curves'"

    @classmethod
    def from_release(
        cls, release: Any, *, confidence: float = 0.95, name: str = "all rows"
    ) -> Self:
        """Return the curve of all rows of a source, by its release alone.

        Parameters
        ----------
        release : Release
            About a time to an event.

        confidence : float, default=0.95
            Of the band, at each time by itself.

        name : str, default="all rows"
            In the legend.

        Returns
        -------
        display : SurvivalDisplay

        Raises
        ------
        ValueError
            When it is something else.
        """
        owner = "SurvivalDisplay.from_release"
        wanted = "a Release about a time to an event"
        require_kind(owner, "release", release, ("survival_curve",), wanted)
        return cls(release.survival_curve(confidence).assign(name=name)[_COLUMNS])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | pd.DataFrame,
        y: Any = None,
        *,
        n_groups: int | None = None,
    ) -> Self:
        """Return predicted curves of rows, or of groups of rows by their risk.

        Parameters
        ----------
        estimator : Release, or fitted model with ``predict_survival_function``
            Of skdp or scikit-survival.

        X : array-like of shape (n_samples, n_features)
            Rows.

        y : structured array or DataFrame, or None, default=None
            Events and times of these rows, with which the groups are compared.

        n_groups : int or None, default=None
            Groups of as many rows each, by their predicted survival at the last time; their curve
            is the mean. None: a curve for each of up to 20 rows; with ``y`` one group.

        Returns
        -------
        display : SurvivalDisplay

        Raises
        ------
        ValueError
            When it has no curves, rows are too few or too many, or times are missing.
        """
        owner = "SurvivalDisplay.from_estimator"
        wanted = "a Release about times, or a fitted model with predict_survival_function"
        require_kind(owner, "estimator", estimator, ("predict_survival_function",), wanted)
        functions = estimator.predict_survival_function(as_frame(X))
        if n_groups is None and y is not None:
            n_groups = 1
        n = len(functions)
        if n_groups is None and n > _MOST:
            raise ValueError(
                f"The 'X' parameter of {owner} has {n:,} rows, and each has a curve up to "
                f"{_MOST}. Pass fewer, or 'n_groups'."
            )
        if n_groups is not None and not (isinstance(n_groups, int) and 1 <= n_groups <= n):
            raise ValueError(
                f"The 'n_groups' parameter of {owner} must be a whole number from 1 to that of "
                f"the rows, got {n_groups!r:.100}."
            )
        times = np.asarray(functions[0].x, dtype=np.float64)
        values = np.array([curve(times) for curve in functions])
        if n_groups is None:
            order, names = np.arange(n), [f"row {k}" for k in range(n)]
        else:
            order, names = np.argsort(-values[:, -1], kind="stable"), _group_names(n_groups)
        parts = np.array_split(order, len(names))
        curves = [
            _table(name, times, values[part].mean(axis=0), np.nan, np.nan)
            for name, part in zip(names, parts, strict=True)
        ]
        observed = None
        if y is not None:
            events, left = _exits(estimator, y, n, owner)
            observed = pd.concat(
                [
                    _table(name, *kaplan_meier(events[part], left[part], times[-1]))
                    for name, part in zip(names, parts, strict=True)
                ]
            )
        return cls(pd.concat(curves), observed)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw. By default a new figure.

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
        self.lines_: list[Any] = []
        names = self.curves["name"].unique().tolist()
        for table, style in ((self.curves, {}), (self.observed, {"ls": "--", "lw": 1})):
            for name, curve in () if table is None else table.groupby("name", sort=False):
                color = OKABE_ITO[names.index(name) % len(OKABE_ITO)]
                label = as_label(name) if not style else None
                x = curve["time"]
                drawn = ax.step(
                    x, curve["survival"], where="post", color=color, label=label, **style
                )
                self.lines_ += drawn
                ends = curve["low"], curve["high"]
                ax.fill_between(x, *ends, step="post", color=color, alpha=0.15, lw=0)
        if self.observed is not None:
            ax.plot([], [], color="black", label="observed", ls="--", lw=1)
        ax.set(xlabel="time", ylabel="without the event", ylim=(0, 1.02), xlim=(0, None))
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="best", fontsize="small")
        return self


def _group_names(n):
    names = [f"group {k + 1}" for k in range(n)]
    if n == 1:
        return ["all rows"]
    return ["lowest risk", *names[1:-1], "highest risk"]


def _table(name, time, survival, low, high):
    columns = dict(zip(_COLUMNS[1:], (time, survival, low, high), strict=True))
    return pd.DataFrame(columns).assign(name=name)[_COLUMNS]


def _exits(estimator, y, n, owner):
    """Return events and times; raise ValueError where they are not known of each row."""
    outcome = getattr(estimator, "outcome", None)
    names = getattr(getattr(y, "dtype", None), "names", None)
    given = None
    if outcome is not None and hasattr(outcome, "read"):
        given = outcome.read(y)
    elif names is not None and len(names) == 2:
        given = tuple(y[name] for name in names)
    try:
        events, times = (np.asarray(as_elements(part), dtype=np.float64) for part in given or ())
        known = events.shape == times.shape == (n,)
        known = known and bool(np.isin(events, (0, 1)).all() and (times >= 0).all())
    except (TypeError, ValueError):
        known = False
    if not known:
        raise ValueError(
            f"The 'y' parameter of {owner} must be a structured array of event and time, or a "
            "table with the columns of a release's outcome, one known event and time for each row."
        )
    return events == 1, times
