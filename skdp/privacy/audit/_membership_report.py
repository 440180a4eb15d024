"""What membership inference reached, beside what is claimed."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from skdp.privacy import PrivacyGuarantee
from skdp.privacy.audit._evidence import Evidence

# Greatest ε of a claim whose bound is drawn: a larger one is above all curves (rule of thumb).
_GREATEST_DRAWN = 50


@dataclass(frozen=True)
class MembershipReport:
    """What membership inference reached, and what was claimed.

    Parameters
    ----------
    table : pandas.DataFrame
        One row for each attack and class (``"all"`` for all together): ``n_members`` and
        ``n_others``; ``auc``; ``accuracy`` with as many members as others, and ``advantage``
        = 2·accuracy − 1, both at a threshold chosen on other records; the true-positive
        rates ``tpr_at_1%`` and ``tpr_at_0.1%`` of false positives, NaN for fewer than 100
        and 1,000 others; ``epsilon_lower``, an ε for records that the training cannot be
        below at the claimed δ (0 without a claim), as far as records fare independently of
        each other; ``epsilon_limit``, the bound that perfect separation would have given; and
        the limits of intervals (``_low``, ``_high``). Those of the rates take the threshold
        as given.

    curves : dict
        False and true-positive rates by attack.

    confidence : float
        Of the intervals, and of ``epsilon_lower``.

    guarantee : PrivacyGuarantee or None
        What is claimed, for whole records, which membership inference is about.

    evidence : Evidence
        What all attacks together show, with ``confidence`` for all of their bounds at once.

    attack : str
        The one that shows most.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skdp.privacy.audit import audit_membership
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(1).fit(X[::2], y[::2])
    >>> report = audit_membership(model, (X[::2], y[::2]), (X[1::2], y[1::2]), attacks=["loss"])
    >>> report.claim
    'nothing'
    >>> report.to_frame()["class"].tolist()
    ['all', 0, 1, 2]
    >>> report.verdict
    'nothing to refute, by these attacks, which detect at least epsilon = 0.736'
    """

    table: pd.DataFrame
    curves: dict = field(repr=False)
    confidence: float
    guarantee: PrivacyGuarantee | None
    evidence: Evidence
    attack: str

    def to_frame(self):
        """Return the table.

        Returns
        -------
        frame : pandas.DataFrame
        """
        return self.table.copy()

    @property
    def passed(self):
        """Whether the claim survives: no attack shows more, or nothing is claimed."""
        return not self.evidence.refuted

    @property
    def epsilon_lower(self):
        """The greatest bound of any attack, all of them right at once with ``confidence``."""
        return self.evidence.epsilon_lower

    @property
    def epsilon_limit(self):
        """The bound that perfect separation would have given: no larger claim can be refuted."""
        return self.evidence.limit

    @property
    def epsilon_detectable(self):
        """The least ε that the sample could have told from the claim, or from none at all.

        With the most telling attack there can be, in every other audit; infinite where no
        attack would do.
        """
        return self.evidence.detectable

    @property
    def verdict(self):
        """The verdict in words, with the least ε that these attacks could have shown."""
        if self.passed:
            return self.evidence.verdict
        return (
            f"REFUTED by {self.attack!r}: epsilon >= {self.evidence.epsilon_lower:.3g}, with "
            f"{self.confidence:.0%} confidence in all attacks at once"
        )

    @property
    def claim(self):
        """What is claimed for a record, as a text."""
        if self.guarantee is None:
            return "nothing"
        return (
            f"({self.guarantee.epsilon:g}, {self.guarantee.delta:g}) per {self.guarantee.unit}, "
            f"by {self.guarantee.mechanism}; it excludes {self.guarantee.excludes}"
        )

    def __str__(self):
        columns = ["attack", "auc", "accuracy", "tpr_at_1%", "tpr_at_0.1%"]
        columns += ["epsilon_lower", "epsilon_limit"]
        rows = self.table[self.table["class"] == "all"]
        text = rows[columns].to_string(index=False, float_format="%.3f")
        return (
            f"membership inference, {self.confidence:.0%} confidence\n{text}\n"
            f"claimed: {self.claim}\n"
            f"verdict: {self.verdict}"
        )

    def plot(self, ax=None):
        """Draw the ROC curves, both axes logarithmic: what matters is on the left.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. By default a new figure.

        Returns
        -------
        ax : matplotlib.axes.Axes
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        least = 0.5 / self.table["n_others"].max()
        for attack, (fpr, tpr) in self.curves.items():
            ax.plot(np.maximum(fpr, least), np.maximum(tpr, least), label=attack)
        rates = np.geomspace(least, 1, 200)
        ax.plot(rates, rates, "k:", label="guessing")
        if self.guarantee is not None and self.guarantee.epsilon < _GREATEST_DRAWN:
            bound = np.exp(self.guarantee.epsilon) * rates + self.guarantee.delta
            ax.plot(rates, np.minimum(bound, 1), "k--", label="most that the claim allows")
        ax.set(xscale="log", yscale="log", xlim=(least, 1), ylim=(least, 1.05))
        ax.set(xlabel="false-positive rate", ylabel="true-positive rate")
        ax.legend()
        return ax
