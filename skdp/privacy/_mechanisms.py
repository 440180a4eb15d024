"""Mechanisms of guarantees: their stated ε and δ, and their privacy loss."""

from dataclasses import dataclass, replace
from functools import partial
from math import exp, expm1, inf, isnan, log, log1p, sqrt
from numbers import Integral, Real

import numpy as np

from skdp.privacy._composition import composed_epsilon
from skdp.privacy._gaussian import MOST_EXPONENT, gaussian_delta, gaussian_sigma

# Fields that only mechanisms of a kind may set; all have ``epsilon`` and ``delta``.
KINDS = {
    "laplace": {"count", "n_elements"},
    "pure": {"count", "n_elements"},
    "any": {"count"},
    "gaussian": {"squared_distance", "slack", "cut"},
}
# Largest number of uses of one mechanism: later arithmetic represents them as float64, exact up
# to here.
MOST_USES = 2**53


@dataclass(frozen=True)
class Mechanism:
    r"""A mechanism for accounting: its stated ε and δ, and its privacy loss.

    Parameters
    ----------
    kind : {"laplace", "gaussian", "pure", "any"}
        Family of the privacy loss. "pure": any mechanism that is ε-private, except for a point
        mass δ, and treats elements independently. "any": every (ε, δ)-private mechanism. Both are
        composed as the worst such mechanism: two answers, one e^ε times as likely, and the data
        themselves with probability δ.

    epsilon : float
        Stated ε for one use.

    delta : float, default=0.0
        δ at this ε; except for Gaussian noise, the probability that the data are shown instead.

    count : int, default=1
        Number of uses on the same data; 1 for Gaussian noise, for which several uses equal
        one use with a larger distance.

    n_elements : int, default=1
        Number of elements of a record that share ε and δ evenly, with independent noise.

    squared_distance : float, default=None
        For Gaussian noise, (sensitivity/σ)². Default: the value for this ε and δ. A larger value
        is refused. A much smaller one is raised, unless it is as large as in the classical
        calibration, so that no composition has less than what is stated.

    slack, cut : float, default=0.0
        Deviation of a Gaussian sampler from its distribution: ratios of probabilities are within
        e^slack, except for outputs of probability ``cut``.

    Raises
    ------
    ValueError
        If a parameter is invalid, or the noise has a larger privacy loss than stated.

    Examples
    --------
    >>> from skdp.noise import OptimalDPNoise
    >>> guarantee = OptimalDPNoise(0.5, delta=0.01, bounds=(0, 1)).fit([[0.0, 1.0]]).guarantee_
    >>> [mechanism] = guarantee.to_record().mechanisms
    >>> mechanism.kind, mechanism.epsilon, mechanism.delta, mechanism.count
    ('laplace', 0.5, 0.01, 2)
    >>> from skdp.privacy import Mechanism
    >>> Mechanism("gaussian", 0.1, 1e-5, squared_distance=1.0)
    Traceback (most recent call last):
    ...
    ValueError: The 'squared_distance' of Mechanism amounts to more than epsilon=0.1 and ...
    """

    kind: str
    epsilon: float
    delta: float = 0.0
    count: int = 1
    n_elements: int = 1
    squared_distance: float = None  # type: ignore[assignment]  # set where it is Gaussian
    slack: float = 0.0
    cut: float = 0.0

    def __post_init__(self) -> None:
        real = partial(check_real, "Mechanism")
        fields = {
            "kind": check_choice("Mechanism", "kind", self.kind, KINDS),
            "epsilon": real("epsilon", self.epsilon, 0, inf),
            "delta": real("delta", self.delta, 0, 1),
            "count": check_count("Mechanism", "count", self.count),
            "n_elements": check_count("Mechanism", "n_elements", self.n_elements),
            "slack": real("slack", self.slack, 0, inf, open_high=True),
            "cut": real("cut", self.cut, 0, 1),
        }
        if self.squared_distance is not None:
            fields["squared_distance"] = real("squared_distance", self.squared_distance, 0, inf)
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        for name in set.union(*KINDS.values()) - KINDS[self.kind]:
            if getattr(self, name) != getattr(Mechanism, name):
                raise ValueError(
                    f"The {name!r} of Mechanism must be left at {getattr(Mechanism, name)} with "
                    f"kind={self.kind!r}, got {getattr(self, name)!r}."
                )
        if self.kind == "gaussian":
            object.__setattr__(self, "squared_distance", self._sound_squared_distance())

    def _sound_squared_distance(self):
        """Return a squared distance that has at least the stated ε and δ."""
        epsilon, delta = self.epsilon, self.delta
        if self.squared_distance is None or (delta == 0 and epsilon < inf):
            return self._stated_squared_distance()
        if epsilon == inf or delta == 1:
            return self.squared_distance
        # A stated ε and δ may be below the actual ones by rounding: relatively, δ absolutely too.
        distance, left = self.parameter, epsilon * (1 + 1e-9) - self.slack
        amount = 1.0
        if distance < inf and left >= 0:
            amount = gaussian_delta(1 / distance, left) if distance else 0.0
            amount += (1 + exp(min(left, MOST_EXPONENT))) * self.cut
        if amount > delta * (1 + 1e-6) + 2.3e-16:
            raise ValueError(
                "The 'squared_distance' of Mechanism amounts to more than "
                f"epsilon={epsilon:g} and delta={delta:g}. State its actual ε and δ."
            )
        # From this relative excess on, the stated ε is composed instead of the noise: more than
        # solvers and samplers usually leave.
        most = 1e-3
        classical = epsilon / sqrt(2 * (log(1.25) - log(delta)))
        if distance * (1 + most) >= classical:
            return self.squared_distance
        if epsilon <= composed_epsilon([self], delta) * (1 + most):
            return self.squared_distance
        return max(self.squared_distance, self._stated_squared_distance())

    def _stated_squared_distance(self):
        if self.epsilon == inf:
            return inf
        if not 0 < self.delta < 1:
            raise ValueError(
                "The 'delta' of Mechanism must be in (0, 1) with kind='gaussian', got "
                f"{self.delta:g}. Use a small number, such as 1e-5."
            )
        # Subtract the deviation of the sampler.
        epsilon = self.epsilon - self.slack
        delta = self.delta - (1 + exp(min(self.epsilon, MOST_EXPONENT))) * self.cut
        distance = 1 / gaussian_sigma(epsilon, delta)
        return distance * distance

    @property
    def parameter(self) -> float:
        """ε of one element and use; for Gaussian noise, sensitivity/σ."""
        if self.kind == "gaussian":
            return sqrt(self.squared_distance)
        return self.epsilon / self.n_elements

    @property
    def atom(self) -> float:
        """Probability that one element is shown in one use."""
        if self.kind == "gaussian":
            return 0.0
        return one_of(self.n_elements, self.delta)

    @property
    def uses(self) -> int:
        """Number of composed mechanisms with this parameter and point mass."""
        return self.count * self.n_elements

    @property
    def total_epsilon(self) -> float:
        """ε of all uses, by a closed form."""
        return self.count * self.epsilon

    @property
    def total_delta(self) -> float:
        """δ of all uses at that ε."""
        return any_of(self.count, self.delta)

    def repeat(self, k: int) -> "Mechanism":
        """Return the mechanism of k uses.

        Examples
        --------
        >>> from skdp.privacy import Mechanism
        >>> Mechanism("laplace", 0.5).repeat(3).total_epsilon
        1.5
        """
        if self.kind != "gaussian":
            return replace(self, count=k * self.count)
        squared = k * self.parameter * self.parameter
        return _gaussian(self.epsilon, self.delta, squared, k * self.slack, k * self.cut)

    def double(self) -> "Mechanism":
        """Return Gaussian noise with twice the sensitivity.

        Examples
        --------
        >>> from skdp.privacy import Mechanism
        >>> gaussian = Mechanism("gaussian", 1.0, 1e-5)
        >>> round(gaussian.double().parameter / gaussian.parameter, 12)
        2.0
        """
        # The ratio of two probabilities is a product of two ratios, each with its own slack.
        squared = 4 * self.squared_distance
        return _gaussian(self.epsilon, self.delta, squared, 2 * self.slack, self.cut)

    def merge(self, other: "Mechanism") -> "Mechanism":
        """Return the Gaussian mechanism that is equivalent to both.

        Examples
        --------
        >>> from skdp.privacy import Mechanism
        >>> gaussian = Mechanism("gaussian", 1.0, 1e-5)
        >>> round(gaussian.merge(gaussian).squared_distance / gaussian.squared_distance, 12)
        2.0
        """
        # At the larger δ, one of them alone may have a smaller ε than it states at its own δ.
        return _gaussian(
            max(self.epsilon, other.epsilon),
            max(self.delta, other.delta),
            self.squared_distance + other.squared_distance,
            self.slack + other.slack,
            self.cut + other.cut,
        )

    def weaker(self, other: "Mechanism") -> "Mechanism":
        """Return Gaussian noise that protects no more than either, at any δ.

        Examples
        --------
        >>> from skdp.privacy import Mechanism
        >>> strong, weak = Mechanism("gaussian", 1.0, 1e-5), Mechanism("gaussian", 2.0, 1e-5)
        >>> strong.weaker(weak) == weak
        True
        """
        fields = ("epsilon", "delta", "squared_distance", "slack", "cut")
        most = {name: max(getattr(self, name), getattr(other, name)) for name in fields}
        for mechanism in (self, other):
            if all(getattr(mechanism, name) == value for name, value in most.items()):
                return mechanism
        return _gaussian(*most.values())


def _gaussian(least_epsilon, delta, squared_distance, slack, cut):
    """Return Gaussian noise that states its ε at a δ, or a given least ε."""
    fields = {"squared_distance": squared_distance, "slack": slack, "cut": cut}
    silent = Mechanism("gaussian", inf, delta, **fields)
    return replace(silent, epsilon=max(least_epsilon, composed_epsilon([silent], delta)))


def check_real(owner, name, value, low, high, *, open_low=False, open_high=False):
    """Return a real number in an interval with open or closed ends, as a float."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
    except OverflowError:
        number = None
    inside = number is not None and not isnan(number) and low <= number <= high
    if not inside or (open_low and number == low) or (open_high and number == high):
        ends = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
        raise ValueError(
            f"The {name!r} of {owner} must be a number in {ends}, got {_short(value)}. "
            "State what the mechanism guarantees."
        )
    return number


def check_count(owner, name, value):
    """Return a whole number from 1 to 2^53 as an int."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 1 <= value <= MOST_USES:
        raise ValueError(
            f"The {name!r} of {owner} must be a whole number from 1 to 2^53, got {_short(value)}."
        )
    return int(value)


def check_choice(owner, name, value, choices):
    """Return one of several strings."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(
            f"The {name!r} of {owner} must be one of {', '.join(map(repr, choices))}, got "
            f"{_short(value)}."
        )
    return value


def check_text(owner, name, value):
    """Return a string without control characters."""
    # Control characters can hide or overwrite printed numbers in a terminal.
    if not isinstance(value, str):
        raise ValueError(f"The {name!r} of {owner} must be a string, got {_short(value)}.")
    if not value.isprintable():
        raise ValueError(
            f"The {name!r} of {owner} must be printable, got "
            f"{_short(value)}. Remove control characters and line breaks."
        )
    return value


def _short(value):
    """Return a value for a message, shortened, because a file may hold very long ones."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"a very large {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"


def any_of(k, probability):
    """Return the probability that any of k independent events of equal probability occurs."""
    if k == 1 or probability == 1:
        return probability
    return -expm1(k * log1p(-probability))


def one_of(k, probability):
    """Return the probability of each of k independent events, given the probability of any."""
    if k == 1 or probability == 1:
        return probability
    return float(-np.expm1(np.log1p(-probability) / k))
