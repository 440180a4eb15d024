"""Results of audits, compared with the claim."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skdp.displays._base import (
    GREY,
    OKABE_ITO,
    Display,
    bounded_rates,
    claimed_rates,
    require_kind,
)


@dataclass(eq=False, repr=False)
class AuditDisplay(Display):
    """ROC curves of attacks, or the lower bound of an audit, against the claimed trade-off.

    Both axes are logarithmic: attacks with hardly any false positive are on the left. The dashed
    curve is the largest true-positive rate that the claim allows at each false-positive rate. An
    attack above it refutes the claim unless it is chance; the report's verdict says so. An audit
    without ROC curves shades the area up to the curve of its lower bound of ε: claims within it
    are refuted.

    ROC curves are exact. They show how well the records can be attacked: keep them private.

    Parameters
    ----------
    curves : dict of str to (array, array)
        False and true-positive rates of each attack.

    guarantee : PrivacyGuarantee or None, default=None
        The claim.

    bound : tuple of two floats or None, default=None
        Lower bound of ε, and its δ.

    least : float, default=1e-3
        The smallest rate to draw.

    title : str or None, default=None

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, set by :meth:`plot`.

    figure_ : matplotlib.figure.Figure
        Figure of the axes.

    lines_ : dict of str to matplotlib.lines.Line2D
        The line of each attack.

    claim_ : matplotlib.lines.Line2D or None
        The largest rates that the claim allows.

    See Also
    --------
    skdp.privacy.audit.audit_membership : Attacks a model.
    skdp.privacy.audit.audit_release : Audits a source.

    Examples
    --------
    >>> from skdp.displays import AuditDisplay
    >>> display = AuditDisplay({"loss": ([0, 0.1, 1], [0, 0.5, 1])}).plot()
    >>> list(display.lines_)
    ['loss']
    """

    curves: dict[str, tuple[np.ndarray, np.ndarray]]
    guarantee: Any = None
    bound: tuple[float, float] | None = None
    least: float = 1e-3  # where no sample says what is too small to be seen
    title: str | None = None

    _instead = "the report, which prints"

    @classmethod
    def from_report(cls, report: Any) -> Self:
        """Return the display of an audit.

        Parameters
        ----------
        report : MembershipReport or ReleaseAudit

        Returns
        -------
        display : AuditDisplay

        Raises
        ------
        ValueError
            If it is something else.
        """
        owner = "AuditDisplay.from_report"
        wanted = "what a function of skdp.privacy.audit returned"
        require_kind(owner, "report", report, ("evidence", "guarantee", "verdict"), wanted)
        curves = getattr(report, "curves", None)
        if curves is not None:
            return cls(curves, report.guarantee, least=0.5 / report.table["n_others"].max())
        evidence = report.evidence
        least = max(0.5 / evidence.other_n, 1e-6)
        return cls({}, report.guarantee, (evidence.epsilon_lower, evidence.delta), least)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; default: a new figure.

        Returns
        -------
        display : AuditDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        [ax] = self._take_axes(ax, figsize=(5.4, 4.8))
        self.lines_: dict[str, Any] = {}
        self.claim_: Any = None
        least = self.least
        rates = np.geomspace(least, 1, 200)
        # Each is thinner than the one before, so that equal curves do not hide each other.
        widths = np.linspace(1.5 + 0.8 * len(self.curves), 1.5, len(self.curves))
        for k, (attack, (fpr, tpr)) in enumerate(self.curves.items()):
            points = _on_a_grid(np.asarray(fpr), np.asarray(tpr), rates)
            color = OKABE_ITO[k % (len(OKABE_ITO) - 1)]  # black is the claim's
            [self.lines_[attack]] = ax.plot(*points, label=attack, lw=widths[k], color=color)
        ax.plot(rates, rates, color=GREY, ls=":", label="guessing")
        if self.bound is not None:
            refuted = bounded_rates(np.array([self.bound]), rates)
            style = {"color": OKABE_ITO[1], "alpha": 0.3, "lw": 0}
            label = f"refuted: ε < {self.bound[0]:.3g}"
            ax.fill_between(rates, rates, refuted, label=label, **style)
        if self.guarantee is not None:
            most = claimed_rates(self.guarantee, rates)
            if most[0] < 1:  # otherwise it allows everything
                label = "most that the claim allows"
                [self.claim_] = ax.plot(rates, most, color="black", ls="--", label=label)
        ax.set(xscale="log", yscale="log", xlim=(least, 1), ylim=(least, 1.05))
        ax.set(xlabel="false-positive rate", ylabel="true-positive rate")
        ax.legend(fontsize="small")
        if self.title is not None:
            ax.set_title(self.title)
        return self


def _on_a_grid(fpr, tpr, rates):
    """Return points of a ROC curve, also between corners: these axes bend straight lines."""
    x = np.concatenate([fpr, rates])
    y = np.concatenate([tpr, np.interp(rates, fpr, tpr)])
    order = np.lexsort((y, x))
    return np.maximum(x[order], rates[0]), np.maximum(y[order], rates[0])
