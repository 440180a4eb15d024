"""The cost of privacy: scores against epsilon."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from skdp.displays._base import OKABE_ITO, Display, require_kind
from skdp.utils._frames import as_frame

_MARKERS = "os^Dv<>P"
# Most values of ε that get their own tick, and most names of models within the axes.
_MOST_TICKS, _MOST_NAMES = 9, 3


@dataclass(eq=False, repr=False)
class PrivacyUtilityDisplay(Display):
    """Score against the privacy budget ε: means, with a band of a standard deviation.

    The axis of ε is logarithmic and privacy is stronger on the left. Scores without noise (ε
    infinite) are horizontal lines: dotted in the color of a model that also has scores with
    noise, dashed for other models.

    Do not publish exact scores of private rows. A plan (:meth:`from_plan`) uses no private row.

    Parameters
    ----------
    table : DataFrame
        One line per ``model`` and ``epsilon``, with the mean ``score`` and its standard
        deviation ``sd``; ε is infinite without noise.

    score_name : str, default="score"
        Label of the axis.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, set by :meth:`plot`.

    figure_ : matplotlib.figure.Figure
        Figure of the axes.

    lines_ : list of matplotlib.lines.Line2D
        One per model with noise.

    See Also
    --------
    skdp.plan_release : Estimates the accuracy of releases before any budget is spent.

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
        """Return the display of scores, for example of several seeds or folds.

        Parameters
        ----------
        scores : DataFrame
            One line per score, with ``epsilon`` and ``score``, and ``model`` to compare several
            models. An infinite ε means no noise.

        score_name : str, default="score"
            Label of the axis.

        Returns
        -------
        display : PrivacyUtilityDisplay
            With the mean, and the standard deviation of the sample, by model and ε.

        Raises
        ------
        ValueError
            If columns are missing, or an ε is not above 0.
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
                "infinity means no noise."
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
        """Return the display of a plan, with the expected score of each size and effect.

        Parameters
        ----------
        plan : ReleasePlan
            Result of :func:`~skdp.plan_release`.

        Returns
        -------
        display : PrivacyUtilityDisplay

        Raises
        ------
        ValueError
            If it is something else.
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

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; default: a new figure.

        Returns
        -------
        display : PrivacyUtilityDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
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
        # Many names hide curves wherever they are within the axes.
        many = self.table["model"].nunique() > _MOST_NAMES
        beside = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if many else {}
        ax.legend(frameon=False, fontsize="small", **beside)
        return self
