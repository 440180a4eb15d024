"""What each part of a transferred model counts for."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from skdp.displays._base import OKABE_ITO, Display, as_label, require_kind, write_beside

_COLORS = {"source": OKABE_ITO[0], "both": OKABE_ITO[2], "target": OKABE_ITO[1]}


@dataclass(eq=False, repr=False)
class TransferReportDisplay(Display):
    """Weights of the parts of a :class:`~skdp.DPTransferClassifier`, with the log loss of labels.

    Bars are the weights, in the colors of whose a part is. To the right stands the mean log loss
    on labels that the part has not seen, with its difference to the first row and the standard
    error of this difference.

    The losses are computed from labels of the target without noise. Do not publish the plot where
    these are private.

    Parameters
    ----------
    report : DataFrame
        As :meth:`DPTransferClassifier.report <skdp.DPTransferClassifier.report>` returns it.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, set by :meth:`plot`.

    figure_ : matplotlib.figure.Figure
        Of the axes.

    bars_ : matplotlib.container.BarContainer
        One bar for each part.

    See Also
    --------
    skdp.DPTransferClassifier.plot_report : Draws it.

    Examples
    --------
    >>> import pandas as pd
    >>> from skdp.displays import TransferReportDisplay
    >>> report = pd.DataFrame(
    ...     {
    ...         "name": ["source", "target alone"],
    ...         "side": ["source", "target"],
    ...         "weight": [0.8, 0.2],
    ...         "log_loss": [0.41, 0.55],
    ...         "difference": [0.0, 0.14],
    ...         "standard_error": [0.0, 0.06],
    ...     }
    ... )
    >>> display = TransferReportDisplay(report).plot()
    >>> [float(bar.get_width()) for bar in display.bars_]
    [0.8, 0.2]
    """

    report: pd.DataFrame

    _instead = "the table of report()"

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Return the display of a fitted classifier.

        Parameters
        ----------
        estimator : DPTransferClassifier
            Fitted.

        Returns
        -------
        display : TransferReportDisplay

        Raises
        ------
        ValueError
            When it is another estimator.
        """
        owner = "TransferReportDisplay.from_estimator"
        require_kind(owner, "estimator", estimator, ("report",), "a fitted DPTransferClassifier")
        return cls(estimator.report())

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw. By default a new figure, whose height follows the number of parts.

        Returns
        -------
        display : TransferReportDisplay
            Itself.

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).
        """
        report, n = self.report, len(self.report)
        [ax] = self._take_axes(ax, figsize=(8, 1.3 + 0.36 * n))
        colors = report["side"].map(_COLORS).tolist()
        places = np.arange(n)
        self.bars_ = ax.barh(places, report["weight"], height=0.7, color=colors)
        ax.bar_label(self.bars_, fmt="%.2f", padding=3, fontsize="small")
        for side, color in _COLORS.items():
            if (report["side"] == side).any():
                ax.barh([0], [0], color=color, label=side)
        ax.set_yticks(places, report["name"].map(as_label).tolist())
        ax.set(xlabel="weight", xlim=(0, 1.12), ylim=(n - 0.4, -0.6))
        ax.set_xticks(np.linspace(0, 1, 6))
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderaxespad=0.2
        )
        if report["log_loss"].notna().any():
            write_beside(ax, -0.6, "log loss (difference ± SE)", va="bottom", color="0.35")
        for place, row in zip(places, report.itertuples(), strict=True):
            write_beside(ax, place, _loss_text(row, is_first=place == 0), va="center")
        return self


def _loss_text(row, is_first):
    """Return what labels say of a part."""
    if np.isnan(row.log_loss):
        return ""
    if is_first or np.isnan(row.standard_error):
        return f"{row.log_loss:.3f}"
    return f"{row.log_loss:.3f} ({row.difference:+.3f} ± {row.standard_error:.3f})"
