"""The privacy statement that travels with everything made from noisy data."""

from dataclasses import dataclass, replace


class PrivacyLeakWarning(UserWarning):
    """A setting that weakens or voids the privacy guarantee.

    Raised as a warning when noise could be recomputed and removed by somebody else (a
    guessable integer seed) or when no noise is added at all (an infinite ε).
    """


def joint_guarantee(guarantees):
    """Return what holds for the owner of any one of several disjoint data sets.

    Each data set went through its own mechanism once, so nothing adds up: the largest ε and
    δ and the smallest sensitivity hold for everybody (parallel composition). None where one
    of the data sets has no guarantee at all.

    Parameters
    ----------
    guarantees : iterable of PrivacyGuarantee or None
        One for each data set; no person's data may be in two of them.

    Returns
    -------
    guarantee : PrivacyGuarantee or None
        The weakest of each number.
    """
    guarantees = list(guarantees)
    if not guarantees or None in guarantees:
        return None
    first = guarantees[0]
    if all(guarantee == first for guarantee in guarantees):
        return first
    return replace(
        first,
        mechanism="/".join(sorted({g.mechanism for g in guarantees})),
        epsilon=max(g.epsilon for g in guarantees),
        delta=max(g.delta for g in guarantees),
        sensitivity=min(g.sensitivity for g in guarantees),
        record_epsilon=max(g.record_epsilon for g in guarantees),
        record_delta=max(g.record_delta for g in guarantees),
    )


@dataclass(frozen=True)
class PrivacyGuarantee:
    """What was promised, to whom, about which values.

    An immutable value made by a noise transformer when it is fitted. It is a statement
    about the mechanism in real arithmetic, for **one** noisy copy of the data: k copies of
    the same rows add up to kε and kδ.

    Parameters
    ----------
    mechanism : str
        Name of the noise law.

    epsilon, delta : float
        The privacy-loss bound ε and its slack δ, for one ``unit``: an event may be e^ε
        times as likely for one neighbour as for the other, plus δ.

    sensitivity : float
        Largest change of one element between two neighbours, in the units of the data.

    n_features : int
        Number of elements in a record.

    record_epsilon, record_delta : float
        The same guarantee for a whole record, all of whose elements may change by up to
        ``sensitivity`` each.

    covers : str
        What the guarantee speaks about.

    excludes : str
        What it does not protect.

    unit : str, default="element"
        What two neighbouring data sets differ in.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skdp.noise import OptimalDPNoise
    >>> X, y = load_iris(return_X_y=True)
    >>> guarantee = OptimalDPNoise(epsilon=0.5, delta=0.0, sensitivity=8.0).fit(X).guarantee_
    >>> guarantee.epsilon, guarantee.record_epsilon
    (0.5, 2.0)
    >>> print(guarantee)
    (0.5, 0)-differential privacy per element, by the optimal noise
      neighbours: two data matrices that differ in one element by at most 8
      a record:   (2, 0), all 4 elements of a row free to move by 8 each
      covers:     the features of every row that transform returns
      excludes:   labels, and the number of rows and of rows per class
    """

    mechanism: str
    epsilon: float
    delta: float
    sensitivity: float
    n_features: int
    record_epsilon: float
    record_delta: float
    covers: str
    excludes: str
    unit: str = "element"

    @property
    def neighbours(self):
        """The neighbouring relation, in words."""
        return f"two data matrices that differ in one {self.unit} by at most {self.sensitivity:g}"

    def __str__(self):
        return (
            f"({self.epsilon:g}, {self.delta:g})-differential privacy per {self.unit}, "
            f"by the {self.mechanism} noise\n"
            f"  neighbours: {self.neighbours}\n"
            f"  a record:   ({self.record_epsilon:g}, {self.record_delta:g}), all "
            f"{self.n_features} elements of a row free to move by {self.sensitivity:g} each\n"
            f"  covers:     {self.covers}\n"
            f"  excludes:   {self.excludes}"
        )
