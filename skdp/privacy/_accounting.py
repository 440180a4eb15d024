"""What several mechanisms guarantee together, with their point masses and sampling errors."""

from dataclasses import dataclass, replace
from functools import partial
from math import exp, expm1, inf, log, log1p, sqrt

from skdp.privacy._checks import check_choice, check_count, check_real
from skdp.privacy._composition import (
    gaussian_delta_of,
    gaussian_distance,
    gaussian_epsilon_of,
    most_epsilon,
    tight_delta,
    tight_epsilon,
)
from skdp.privacy._gaussian import gaussian_sigma

KINDS = ("laplace", "gaussian", "pure")

# Greatest argument of exp that float64 holds, rounded down.
_MOST_EXPONENT = 700.0
# A sum of losses may exceed the ε that was split into them by a rounding, relatively; point masses
# likewise the δ.
_SUM_ROUNDING = 1e-12
# How far stated ε and δ may be below what their mechanisms amount to, by rounding, relatively ...
_EPSILON_ROUNDING = 1e-9
_DELTA_ROUNDING = 1e-6
# ... and absolutely.
_LEAST_ROUNDING = 2.3e-16
# How many times what its mechanisms amount to at most a stated ε may be before it is refused:
# to state more than is needed is careful, up to a point (rule of thumb) ...
_MOST_OVERSTATED = 10.0
# ... and before it is composed in their place: a number that was rounded up by hand (rule of
# thumb).
_OVERSTATED = 1.01
# Likewise, relatively, above what Gaussian mechanisms amount to exactly, before the ε is composed
# in their place: more than what solvers and samplers usually leave (rule of thumb).
_GAUSSIAN_OVERSTATED = 1e-3
# Standard deviations beyond which a normal tail is below the smallest float.
_FARTHEST = 40.0
# Most different mechanisms of which it is found out, where that takes a numerical composition: a
# second or so (rule of thumb).
_MOST_KINDS = 10
# Rounds in which ε and what the cut takes of δ agree; a few suffice (rule of thumb).
_MAX_ROUNDS = 100


@dataclass(frozen=True)
class PrivacyLoss:
    """One elementary mechanism, as far as accounting needs it, used a number of times.

    Parameters
    ----------
    kind : {"laplace", "gaussian", "pure"}
        Family of the privacy loss. "pure" stands for any ε-private mechanism, by the one
        that is worst for every composition (two answers, one e^ε times as likely).

    parameter : float
        Sensitivity / scale, which is ε, for "laplace"; sensitivity / σ for "gaussian";
        ε for "pure".

    atom : float, default=0.0
        Probability with which the mechanism shows the data instead: its δ.

    slack, cut : float, default=0.0
        How far a sampler is from its distribution: ratios of probabilities within e^slack, but
        for a set of outputs of probability ``cut``.

    count : int, default=1
        How often it is used on the same data.

    Raises
    ------
    ValueError
        When no mechanism has such a loss.

    Examples
    --------
    >>> from skdp.noise import OptimalDPNoise
    >>> guarantee = OptimalDPNoise(epsilon=0.5, delta=0.01).fit([[0.0, 1.0]]).guarantee_
    >>> guarantee.to_record().losses
    (PrivacyLoss(kind='laplace', parameter=0.5, atom=0.01, slack=0.0, cut=0.0, count=2),)
    """

    kind: str
    parameter: float
    atom: float = 0.0
    slack: float = 0.0
    cut: float = 0.0
    count: int = 1

    def __post_init__(self):
        real = partial(check_real, "PrivacyLoss")
        fields = {
            "kind": check_choice("PrivacyLoss", "kind", self.kind, KINDS),
            "parameter": real("parameter", self.parameter, 0, inf),
            "atom": real("atom", self.atom, 0, 1),
            "slack": real("slack", self.slack, 0, inf, open_high=True),
            "cut": real("cut", self.cut, 0, 1),
            "count": check_count("PrivacyLoss", "count", self.count),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)


def _sampler_error(losses):
    """Return slack and cut of all together."""
    slack = sum(loss.count * loss.slack for loss in losses)
    return slack, sum(loss.count * loss.cut for loss in losses)


def composed_delta(losses, epsilon):
    """Return the δ at which mechanisms are together (ε, δ)-private.

    Parameters
    ----------
    losses : sequence of PrivacyLoss
        What was spent on the same data.

    epsilon : float
        ≥ 0.

    Returns
    -------
    delta : float
        An upper bound. It is tight where, point masses apart, all are Gaussian, or all are
        pure with the same parameter; otherwise up to a thousandth of the smallest loss or a
        100,000th of all of them, and to 5e-14·√n + 2.2e-16·n for n mechanisms, the error of
        the FFT, which is added. Below 1e-11 that warns.

    Raises
    ------
    ValueError
        When what would have to be composed numerically is more than a million mechanisms, or
        parameters below 1e-9 or of a sum above 5e7.

    Examples
    --------
    >>> from skdp.privacy import PrivacyLoss
    >>> round(composed_delta([PrivacyLoss("laplace", 1.0, atom=0.25)], epsilon=1.0), 12)
    0.25
    """
    if any(loss.parameter == inf for loss in losses):
        return 0.0 if epsilon == inf else 1.0
    slack, cut = _sampler_error(losses)
    delta = _ideal_delta(losses, max(epsilon - slack, 0.0))
    # Each neighbour's outputs are within the cut of those of the distribution.
    return min(1.0, delta + (1 + exp(min(epsilon, _MOST_EXPONENT))) * cut) if cut else delta


def _ideal_delta(losses, epsilon):
    # A point mass is one that an observer can tell: either one fires, and the loss is infinite,
    # or it is that of the rest.
    shown, rest = _shown(losses), _without_atoms(losses)
    distance = gaussian_distance(rest)
    if distance is not None:
        delta = gaussian_delta_of(distance, epsilon)
    elif most_epsilon(rest) <= epsilon * (1 + _SUM_ROUNDING):
        delta = 0.0
    else:
        delta = min(1.0, tight_delta(_uses(rest), epsilon))
    return shown + (1 - shown) * delta


def _without_atoms(losses):
    return [replace(loss, atom=0.0) for loss in losses if loss.parameter > 0]


def _uses(losses):
    """Return how often each mechanism is used, by kind and parameter."""
    uses: dict = {}
    for loss in losses:
        key = loss.kind, loss.parameter
        uses[key] = uses.get(key, 0) + loss.count
    return uses


def _shown(losses):
    """Return the probability that any point mass fires."""
    if any(loss.atom == 1 for loss in losses):
        return 1.0
    return -expm1(sum(loss.count * log1p(-loss.atom) for loss in losses))


def any_of(k, probability):
    """Return the probability of any one of k independent events of the same probability.

    Parameters
    ----------
    k : int
        ≥ 1.

    probability : float
        In [0, 1].

    Returns
    -------
    probability : float

    Examples
    --------
    >>> round(any_of(2, 0.1), 12)
    0.19
    """
    return 1.0 if probability == 1 else -expm1(k * log1p(-probability))


def composed_epsilon(losses, delta):
    """Return the least ε for which mechanisms are together (ε, δ)-private.

    Parameters
    ----------
    losses : sequence of PrivacyLoss
        What was spent on the same data.

    delta : float
        In [0, 1).

    Returns
    -------
    epsilon : float
        As exact as :func:`composed_delta`; infinite where δ is below what the point masses
        alone need.

    Examples
    --------
    >>> from skdp.privacy import PrivacyLoss
    >>> composed_epsilon([PrivacyLoss("pure", 0.5, count=3)], delta=0.0)
    1.5
    """
    slack, cut = _sampler_error(losses)
    if any(loss.parameter == inf for loss in losses) or delta < _shown(losses):
        return inf
    epsilon, left = 0.0, delta
    # What the cut takes of δ grows with ε: both grow until they agree.
    for _ in range(_MAX_ROUNDS):
        left = delta - (1 + exp(min(epsilon, _MOST_EXPONENT))) * cut if cut else delta
        if left < 0:
            return inf
        found = _ideal_epsilon(losses, left) + slack
        if not cut or found <= epsilon * (1 + 1e-12):
            return found
        epsilon = found
    return inf


def _ideal_epsilon(losses, delta):
    shown, rest = _shown(losses), _without_atoms(losses)
    left = (delta - shown) / (1 - shown)
    distance = gaussian_distance(rest)
    if distance is not None:
        return gaussian_epsilon_of(distance, left)
    most = most_epsilon(rest)
    if most == 0 or left <= delta * _SUM_ROUNDING:
        return most
    return min(most, tight_epsilon(_uses(rest), left))


def contradict(losses, epsilon, delta):
    """Return whether mechanisms amount to more than a stated ε and δ.

    Closed forms decide nearly always; where they do not, and dp-accounting is not installed,
    the statement is taken for true.

    Parameters
    ----------
    losses : sequence of PrivacyLoss
        What was spent on the same data.

    epsilon, delta : float
        What is stated.

    Returns
    -------
    wrong : bool

    Raises
    ------
    ValueError
        When there are too many mechanisms to find out.

    Examples
    --------
    >>> from skdp.privacy import PrivacyLoss
    >>> contradict([PrivacyLoss("pure", 0.5, count=3)], 1.5, 0.0)
    False
    >>> contradict([PrivacyLoss("pure", 0.5, count=4)], 1.5, 0.0)
    True
    """
    if epsilon == inf or delta == 1:
        return False
    if any(loss.parameter == inf for loss in losses):
        return True
    allowed = delta * (1 + _DELTA_ROUNDING) + _LEAST_ROUNDING
    if _basic_delta(losses, epsilon) <= allowed:
        return False
    if len(_uses(losses)) > _MOST_KINDS:
        raise ValueError(f"More than {_MOST_KINDS} different losses cannot be checked.")
    try:
        return composed_delta(losses, epsilon) > allowed
    except ImportError:  # tight accounting is an extra
        return False


def _basic_delta(losses, epsilon):
    """Return δ by basic composition of Gaussian mechanisms, taken together, and the others."""
    rest = _without_atoms(losses)
    gaussian = [loss for loss in rest if loss.kind == "gaussian"]
    slack, cut = _sampler_error(losses)
    others = most_epsilon([loss for loss in rest if loss.kind != "gaussian"])
    left = epsilon * (1 + _EPSILON_ROUNDING) - slack - others
    if left < 0:
        return 1.0
    delta = gaussian_delta_of(gaussian_distance(gaussian), left) if gaussian else 0.0
    # Each of them was allowed its own part of ε.
    each = left / max(1, sum(loss.count for loss in gaussian))
    delta += (1 + exp(min(each, _MOST_EXPONENT))) * cut
    return 1 - (1 - _shown(losses)) * (1 - delta)


def understate(losses, epsilon):
    """Return whether mechanisms amount to a tenth of a stated ε or less, whatever the δ.

    A loose sum of closed forms is no understatement: for each use, what is allowed is the largest
    loss, for Gaussian noise the ε at the smallest δ that is a float.

    Parameters
    ----------
    losses : sequence of PrivacyLoss
        What was spent on the same data. Where there are none, nothing is known.

    epsilon : float
        What is stated; infinity states nothing.

    Returns
    -------
    wrong : bool

    Examples
    --------
    >>> from skdp.privacy import PrivacyLoss
    >>> understate([PrivacyLoss("pure", 0.5, count=3)], 1.5)
    False
    >>> understate([PrivacyLoss("pure", 1e-9)], 1.5)
    True
    """
    return _overstated(losses, epsilon, _MOST_OVERSTATED)


def _overstated(losses, epsilon, times):
    if not losses or epsilon == inf:
        return False
    slack, _ = _sampler_error(losses)
    return epsilon > times * (slack + sum(map(_most_stated, losses))) + _LEAST_ROUNDING


def _most_stated(loss):
    """Return the largest ε that can be stated of a mechanism, without its slack."""
    one = loss.parameter
    if loss.kind == "gaussian":
        one *= one / 2 + _FARTHEST  # δ(ε) is at most Φ(μ/2 − ε/μ)
    return loss.count * one


def sound_losses(losses, epsilon, delta):
    """Return mechanisms that amount to no less than a stated ε, as far as these can be trusted.

    What is composed must not be less than what is stated: where the losses fall short, they are
    not those of the mechanism. Gaussian ones are brought up to the distance that has this ε and
    δ, unless they are as large as the classical calibration leaves them, which is loose; losses
    that amount to less for every δ are replaced by the worst mechanism of this ε and δ.

    Parameters
    ----------
    losses : tuple of PrivacyLoss
        What was spent on the same data.

    epsilon, delta : float
        What is stated.

    Returns
    -------
    losses : tuple of PrivacyLoss
        The same ones, nearly always.

    Examples
    --------
    >>> from skdp.privacy import PrivacyLoss
    >>> sound_losses((PrivacyLoss("pure", 1e-9),), 2.0, 0.0)
    (PrivacyLoss(kind='pure', parameter=2.0, atom=0.0, slack=0.0, cut=0.0, count=1),)
    """
    if _overstated(losses, epsilon, _OVERSTATED):
        return (PrivacyLoss("pure", epsilon, delta),)
    distance = gaussian_distance(losses)
    if distance is None or epsilon == inf or not 0 < delta < 1:
        return losses
    if distance * (1 + _GAUSSIAN_OVERSTATED) >= epsilon / sqrt(2 * log(1.25 / delta)):
        return losses
    if epsilon <= composed_epsilon(losses, delta) * (1 + _GAUSSIAN_OVERSTATED):
        return losses
    stated = 1 / gaussian_sigma(epsilon, delta)
    missing = stated * stated - distance * distance
    return (*losses, PrivacyLoss("gaussian", sqrt(missing))) if missing > 0 else losses
