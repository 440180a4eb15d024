"""Privacy accounts of a training: as in the paper, by composition, and for one row.

This module and ``_polynomials`` need no PyTorch.
"""

from dataclasses import asdict, dataclass
from math import inf, isinf
from numbers import Real

from skdp.privacy import Mechanism, PrivacyGuarantee


@dataclass(frozen=True)
class PrivacyAccount:
    """One way to account for the privacy loss of a training, and whether it is valid.

    Parameters
    ----------
    counting : str
        Name of the way of accounting.

    protects : str
        What the ε protects.

    epsilon, delta : float
        Privacy loss and slack.

    holds : bool
        Whether this is a valid guarantee for the trained network.

    reason : str
        Why it is valid, or why not.

    Raises
    ------
    ValueError
        If the account is impossible: a value of the wrong type, ε negative or NaN, δ outside
        [0, 1], or a valid guarantee without a finite ε.

    Examples
    --------
    >>> from skdp.neural import PrivacyAccount
    >>> PrivacyAccount("one row", "a labeled record", 4.0, 0.0, True, "perturbed once").holds
    True
    """

    counting: str
    protects: str
    epsilon: float
    delta: float
    holds: bool
    reason: str

    def __post_init__(self) -> None:
        texts = all(isinstance(t, str) for t in (self.counting, self.protects, self.reason))
        numbers = all(isinstance(n, Real) and n >= 0 for n in (self.epsilon, self.delta))
        sound = texts and numbers and self.delta <= 1 and isinstance(self.holds, bool)
        if not sound or (self.holds and isinf(self.epsilon)):
            raise ValueError(
                "A PrivacyAccount must have texts, an 'epsilon' >= 0 and a 'delta' in [0, 1], "
                f"and may hold for a finite 'epsilon' only, got {asdict(self)}."
            )

    def guarantee(
        self,
        n_features: int,
        mechanism: str,
        relation: str = "replace-one",
        also_excludes: str = "",
    ) -> PrivacyGuarantee:
        """Return this account as a guarantee for one labeled record, with ε = ∞ unless valid.

        Parameters
        ----------
        n_features : int
            Number of columns of the training rows.

        mechanism : str
            Name of the mechanism.

        relation : {"replace-one", "add/remove"}, default="replace-one"
            How neighbors differ.

        also_excludes : str, default=""
            Further exclusions.

        Returns
        -------
        guarantee : PrivacyGuarantee

        Examples
        --------
        >>> from skdp.neural import PrivacyAccount
        >>> account = PrivacyAccount("one row", "a labeled record", 4.0, 0.0, True, "one draw")
        >>> account.guarantee(n_features=3, mechanism="Laplace noise on each row").epsilon
        4.0
        """
        return PrivacyGuarantee(
            mechanism=mechanism,
            mechanisms=(Mechanism("any", self.epsilon if self.holds else inf, self.delta),),
            sensitivity=None,
            n_features=n_features,
            covers="the trained network, and whatever is computed from it",
            excludes="the number of rows, the list of classes, rows given to predict"
            + also_excludes,
            unit="labeled record",
            relation=relation,
        )
