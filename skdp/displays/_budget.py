"""What privacy costs: scores against epsilon, and a ledger over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from skdp.displays._base import OKABE_ITO, Display, as_label, require_kind
from skdp.utils._frames import as_frame
from skdp.utils._labels import label_array, natural_labels
from skdp.utils._sklearn import safe_indexing

_MARKERS = "os^Dv<>P"
# Values of ε that are written each on its own, and names of models within the axes.
_MOST_TICKS, _MOST_NAMES = 9, 3


@dataclass(eq=False, repr=False)
class PrivacyUtilityDisplay(Display):
    """Score against the privacy budget ε: means, with a band of a standard deviation.

    The axis of ε is logarithmic and rises to the right, so that privacy is stronger on the left.
    Scores that are reached without noise (ε infinite) are horizontal lines: dotted in the color of
    a model that also has scores with noise, dashed for models that have none.

    Scores of :meth:`from_estimator` are computed from the rows without noise. Do not publish them
    where these are private. A plan (:meth:`from_plan`) is made without any private row.

    Parameters
    ----------
    table : DataFrame
        A line for each ``model`` and ``epsilon``, with the mean ``score`` and its standard
        deviation ``sd``; ε is infinite where there is no noise.

    score_name : str, default="score"
        For the axis.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, set by :meth:`plot`.

    figure_ : matplotlib.figure.Figure
        Of the axes.

    lines_ : list of matplotlib.lines.Line2D
        One for each model with noise.

    See Also
    --------
    skdp.plan_release : What releases will be worth, before any budget is spent.

    Examples
    --------
    >>> import pandas as pd
    >>> from skdp.displays import PrivacyUtilityDisplay
    >>> scores = pd.DataFrame({"epsilon": [4, 4, 1, 1], "score": [0.8, 0.9, 0.6, 0.7]})
    >>> display = PrivacyUtilityDisplay.from_scores(scores).plot()
    >>> display.table.round(3)
       model  epsilon  score     sd
    0  score      1.0   0.65  0.071
    1  score      4.0   0.85  0.071
    """

    table: pd.DataFrame
    score_name: str = "score"

    _instead = "its attribute 'table'"

    @classmethod
    def from_scores(cls, scores: pd.DataFrame, *, score_name: str = "score") -> Self:
        """Return the display of scores, such as those of several seeds or folds.

        Parameters
        ----------
        scores : DataFrame
            A line for each score, with ``epsilon`` and ``score``, and ``model`` where there are
            several. An infinite ε stands for no noise.

        score_name : str, default="score"
            For the axis.

        Returns
        -------
        display : PrivacyUtilityDisplay
            With the mean, and the standard deviation of the sample, by model and ε.

        Raises
        ------
        ValueError
            When columns are missing, or an ε is not above 0.
        """
        owner = "PrivacyUtilityDisplay.from_scores"
        scores = as_frame(scores, "scores", text_as_categories=False)
        missing = {"epsilon", "score"} - set(getattr(scores, "columns", ()))
        if missing:
            raise ValueError(
                f"The 'scores' parameter of {owner} must be a DataFrame with the columns "
                f"'epsilon' and 'score', it lacks {sorted(missing)}."
            )
        epsilon = np.asarray(scores["epsilon"], dtype=np.float64)
        if not len(epsilon) or not (epsilon > 0).all():
            raise ValueError(
                f"The 'scores' parameter of {owner} must have an 'epsilon' above 0 on each line; "
                "infinity stands for no noise."
            )
        scores = scores.assign(epsilon=epsilon)
        if "model" not in scores:
            scores = scores.assign(model=score_name)
        names = scores["model"]
        ordered = names.astype(pd.CategoricalDtype(names.dropna().unique()))  # as they appear
        groups = scores["score"].groupby([ordered, scores["epsilon"]], observed=True)
        table = groups.agg(score="mean", sd="std").fillna({"sd": 0.0}).reset_index()
        return cls(table.astype({"model": names.dtype}), score_name)

    @classmethod
    def from_plan(cls, plan: Any) -> Self:
        """Return the display of a plan, with the expected figure of each size and effect.

        Parameters
        ----------
        plan : ReleasePlan
            As :func:`~skdp.plan_release` returns it.

        Returns
        -------
        display : PrivacyUtilityDisplay

        Raises
        ------
        ValueError
            When it is something else.
        """
        owner = "PrivacyUtilityDisplay.from_plan"
        require_kind(owner, "plan", plan, ("table", "epsilon_needed"), "a ReleasePlan")
        names = {"auc": "AUC", "r2": "R²", "concordance": "concordance"}
        figure, name = next(pair for pair in names.items() if pair[0] in plan.table)
        parts: list = []
        for (effects, n_rows), part in plan.table.groupby(["effects", "n_rows"], sort=False):
            model = f"{effects}, {n_rows:,} rows"
            expected = part["epsilon"], part[figure], part[f"{figure}_sd"]
            parts += zip([model] * len(part), *expected, strict=True)
            parts.append((model, np.inf, part[f"{figure}_without_noise"].iloc[0], 0.0))
        table = pd.DataFrame(parts, columns=["model", "epsilon", "score", "sd"])
        return cls(table, f"expected {name}")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | pd.DataFrame,
        y: ArrayLike,
        *,
        epsilon: Sequence[float] = (0.1, 0.3, 1.0, 3.0, 10.0),
        param_name: str = "epsilon",
        cv: Any = None,
        scoring: Any = None,
        score_name: str = "score",
    ) -> Self:
        """Return the display of estimators that are fitted with several ε, by cross-validation.

        Parameters
        ----------
        estimator : estimator, or mapping of names to these
            A source is scored by its ``release_``. One without the parameter ``param_name`` is a
            baseline: it is fitted as it is.

        X : array-like of shape (n_samples, n_features)

        y : array-like of shape (n_samples,)

        epsilon : sequence of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)

        param_name : str, default="epsilon"
            What is set, such as ``"optimaldpnoise__epsilon"`` of a pipeline.

        cv : int, splitter or None, default=None
            As in scikit-learn. Noise is drawn anew in each split.

        scoring : str, callable or None, default=None
            As in scikit-learn; None: ``score`` of the estimator.

        score_name : str, default="score"
            For the axis.

        Returns
        -------
        display : PrivacyUtilityDisplay

        Raises
        ------
        ValueError
            When no estimator has the parameter.
        """
        owner = "PrivacyUtilityDisplay.from_estimator"
        models = estimator
        if not isinstance(estimator, Mapping):
            models = {type(estimator).__name__: estimator}
        for model in models.values():
            require_kind(
                owner, "estimator", model, ("fit", "get_params"), "one or more estimators"
            )
        noisy = [name for name, model in models.items() if param_name in model.get_params()]
        if not noisy:
            raise ValueError(
                f"The 'param_name' parameter of {owner} is {param_name!r}, which none of the "
                "estimators has. See estimator.get_params()."
            )
        X, y = as_frame(X), natural_labels(label_array(y))
        splits = list(check_cv(cv, y, classifier=True).split(X, y))
        lines = []
        for name, model in models.items():
            for level in epsilon if name in noisy else (np.inf,):
                setting = {param_name: level} if name in noisy else {}
                for train, test in splits:
                    fitted = clone(model).set_params(**setting)
                    fitted.fit(safe_indexing(X, train), safe_indexing(y, train))
                    judged = getattr(fitted, "release_", fitted)
                    score = check_scoring(judged, scoring)(
                        judged, safe_indexing(X, test), safe_indexing(y, test)
                    )
                    lines.append((name, level, score))
        scores = pd.DataFrame(lines, columns=["model", "epsilon", "score"])
        return cls.from_scores(scores, score_name=score_name)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw. By default a new figure.

        Returns
        -------
        display : PrivacyUtilityDisplay
            Itself.

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).
        """
        [ax] = self._take_axes(ax, figsize=(6.4, 4.4))
        self.lines_: list[Any] = []
        dotted = False
        for k, (model, part) in enumerate(self.table.groupby("model", sort=False)):
            color, marker = OKABE_ITO[k % len(OKABE_ITO)], _MARKERS[k % len(_MARKERS)]
            part = part.sort_values("epsilon")
            noisy, clean = (
                part[np.isfinite(part["epsilon"]) == finite] for finite in (True, False)
            )
            if len(noisy):
                x, score, sd = noisy["epsilon"], noisy["score"], noisy["sd"]
                [line] = ax.plot(x, score, marker=marker, ms=5, color=color, label=model)
                ax.fill_between(x, score - sd, score + sd, color=color, alpha=0.15, lw=0)
                self.lines_.append(line)
            for row in clean.itertuples():
                dotted |= bool(len(noisy))
                style, label = (":", None) if len(noisy) else ("--", model)
                ax.axhline(row.score, color=color, ls=style, lw=1.2, label=label)
                if row.sd:
                    ends = row.score - row.sd, row.score + row.sd
                    ax.axhspan(*ends, color=color, alpha=0.08, lw=0)
        note = "; dotted: without noise" if dotted else ""
        ax.set(
            xscale="log",
            xlabel="ε (smaller is more private)",
            ylabel=f"{self.score_name} (mean ± SD{note})",
        )
        levels = np.unique(self.table["epsilon"][np.isfinite(self.table["epsilon"])])
        if len(levels) <= _MOST_TICKS:
            ax.set_xticks(levels, [f"{level:g}" for level in levels])
            ax.xaxis.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
        # Many names hide curves wherever they stand within the axes.
        many = self.table["model"].nunique() > _MOST_NAMES
        beside = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if many else {}
        ax.legend(frameon=False, fontsize="small", **beside)
        return self


@dataclass(eq=False, repr=False)
class LedgerDisplay(Display):
    """What a ledger has spent of its budget and what is left, entry by entry or by date.

    The line is the ε that all entries up to there guarantee together, which is less than the sum
    of their own where noise is Gaussian. The entries of a ledger are not protected by its
    guarantees: the plot tells of all releases of the same rows, and is the owner's.

    Parameters
    ----------
    entries : DataFrame
        A line for each entry, as :meth:`PrivacyLedger.to_frame
        <skdp.privacy.PrivacyLedger.to_frame>` has it.

    epsilon : float or None
        The largest total, None where nothing is refused.

    dates : sequence of datetime or None, default=None
        Place of each entry on an axis of time.

    Attributes
    ----------
    spent : float
        The total ε of all entries.

    left : float
        ε up to the limit; infinite without one.

    ax_ : matplotlib.axes.Axes
        The axes, set by :meth:`plot`.

    figure_ : matplotlib.figure.Figure
        Of the axes.

    line_ : matplotlib.lines.Line2D
        The total.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import OptimalDPNoise
    >>> from skdp.displays import LedgerDisplay
    >>> from skdp.privacy import PrivacyLedger
    >>> ledger = PrivacyLedger(epsilon=1.0)
    >>> for name in ("spring survey", "autumn survey"):
    ...     noisy = ledger.release(OptimalDPNoise(0.4, bounds=(0, 1)), np.zeros((4, 3)), name=name)
    >>> display = LedgerDisplay.from_ledger(ledger).plot()
    >>> display.spent, round(display.left, 3)
    (0.8, 0.2)
    """

    entries: pd.DataFrame
    epsilon: float | None = None
    dates: Any = None

    _instead = "PrivacyLedger.to_frame()"

    @classmethod
    def from_ledger(cls, ledger: Any, *, dates: Any = None) -> Self:
        """Return the display of a ledger.

        Parameters
        ----------
        ledger : PrivacyLedger

        dates : sequence of datetime or None, default=None
            Place of each entry on an axis of time, such as ``ledger.dates``. None: entries are
            drawn side by side, each with its name and the day on which it was charged.

        Returns
        -------
        display : LedgerDisplay

        Raises
        ------
        ValueError
            When it is something else or has no entries, or dates are not one for each entry in
            ascending order.
        """
        owner = "LedgerDisplay.from_ledger"
        require_kind(owner, "ledger", ledger, ("to_frame", "spend"), "a PrivacyLedger")
        entries = ledger.to_frame()
        if not len(entries):
            raise ValueError(
                f"The 'ledger' parameter of {owner} has no entries: nothing was released yet."
            )
        if dates is not None:
            dates = pd.DatetimeIndex(dates)
            if len(dates) != len(entries) or not dates.is_monotonic_increasing:
                raise ValueError(
                    f"The 'dates' parameter of {owner} must hold a date for each of the "
                    f"{len(entries)} entries, in ascending order, got {len(dates)}."
                )
        return cls(entries, ledger.epsilon, dates)

    @property
    def spent(self) -> float:
        """The total ε of all entries."""
        return float(self.entries["total_epsilon"].iloc[-1])

    @property
    def left(self) -> float:
        """ε up to the limit; infinite without one."""
        return np.inf if self.epsilon is None else max(self.epsilon - self.spent, 0.0)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw. By default a new figure.

        Returns
        -------
        display : LedgerDisplay
            Itself.

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).
        """
        n = len(self.entries)
        [ax] = self._take_axes(ax, figsize=(max(6.4, 0.5 * n), 4.2))
        total = self.entries["total_epsilon"].to_numpy(float)
        names = [as_label(f"{name or 'entry'!s:.24}") for name in self.entries["name"]]
        if self.dates is None:
            days = self.entries["date"].str[:10]
            labels = [f"{name}\n{day}".rstrip() for name, day in zip(names, days, strict=True)]
            places = np.arange(n)
            before = np.append(0.0, total[:-1])
            bars = ax.bar(places, total - before, bottom=before, color=OKABE_ITO[5], width=0.8)
            ax.bar_label(bars, [f"+{g:.2g}" for g in total - before], fontsize="small")
            [self.line_] = ax.step(places, total, where="post", color=OKABE_ITO[0], lw=1.5)
            upright = n > 4
            ax.set_xticks(
                places,
                labels,
                rotation=40 if upright else 0,
                ha="right" if upright else "center",
                fontsize="small",
            )
        else:
            [self.line_] = ax.step(
                self.dates, total, where="post", marker="o", color=OKABE_ITO[0], lw=1.5
            )
            for k, (date, height, name) in enumerate(zip(self.dates, total, names, strict=True)):
                ax.annotate(
                    *(name, (date, height)),
                    xytext=(-4 if k else 2, 5),
                    textcoords="offset points",
                    ha="right" if k else "left",  # where the line is not
                    fontsize="small",
                )
            ax.figure.autofmt_xdate()
        top = total[-1]
        if self.epsilon is not None:
            top = max(top, self.epsilon)
            ax.axhline(self.epsilon, color=OKABE_ITO[1], ls="--")
            ax.axhspan(self.spent, self.epsilon, color=OKABE_ITO[2], alpha=0.12, lw=0)
            text = f"limit {self.epsilon:g}: {self.spent:.3g} spent, {self.left:.3g} left"
            ax.annotate(
                *(text, (0.01, self.epsilon)),
                xycoords=ax.get_yaxis_transform(),
                xytext=(0, 4),
                textcoords="offset points",
            )
        ax.set(ylim=(0, 1.12 * top), ylabel="total ε of all releases")
        ax.spines[["top", "right"]].set_visible(False)
        return self
