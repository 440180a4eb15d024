"""What several mechanisms guarantee together: closed forms, and privacy-loss distributions."""

from dataclasses import dataclass
from functools import partial
from math import exp, expm1, inf, log1p, sqrt

from skdp.privacy._checks import check_choice, check_count, check_real
from skdp.privacy._gaussian import gaussian_delta, gaussian_epsilon

KINDS = ("laplace", "gaussian", "pure")

# Privacy losses are rounded up to multiples of this fraction of the smallest one composed, so
# that ε is right to about a thousandth (tests/privacy/test_accounting.py) ...
_RESOLUTION = 1e-3
# ... or of this fraction of their whole range, where that is more: the cost of a composition stays
# bounded (rule of thumb).
_RANGE_RESOLUTION = 1e-5
# Greatest argument of exp that float64 holds, rounded down.
_MOST_EXPONENT = 700.0
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


def gaussian_distance(losses):
    """Return sensitivity/σ of the one Gaussian mechanism that equals them all, or None.

    Gaussian mechanisms of distances μ_i compose to one of distance √(Σ μ_i²), exactly.

    Parameters
    ----------
    losses : sequence of PrivacyLoss
        What was spent on the same data.

    Returns
    -------
    distance : float or None
        None where there is none, or another mechanism among them.

    Examples
    --------
    >>> from skdp.privacy import PrivacyLoss
    >>> gaussian_distance([PrivacyLoss("gaussian", 3.0), PrivacyLoss("gaussian", 2.0, count=4)])
    5.0
    """
    if not losses or any(loss.kind != "gaussian" or loss.atom for loss in losses):
        return None
    return sqrt(sum(loss.count * loss.parameter**2 for loss in losses))


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
        An upper bound. It is tight where all are Gaussian or a single one is pure, and
        otherwise up to a thousandth of the smallest loss or a 100,000th of all of them.

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
    distance = gaussian_distance(losses)
    if distance is not None:
        return gaussian_delta(1 / distance, epsilon) if distance else 0.0
    if _most_epsilon(losses) <= epsilon:
        return _shown(losses)
    return max(0.0, _loss_distribution(losses).get_delta_for_epsilon(epsilon))


def _most_epsilon(losses):
    """Return what no privacy loss exceeds, point masses apart."""
    if any(loss.kind == "gaussian" and loss.parameter for loss in losses):
        return inf
    return sum(loss.count * loss.parameter for loss in losses)


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
    distance = gaussian_distance(losses)
    if distance is not None:
        if not distance:
            return 0.0
        return gaussian_epsilon(1 / distance, delta) if delta else inf
    most = _most_epsilon(losses)
    if most == 0 or delta == _shown(losses):
        return most
    return min(most, _loss_distribution(losses).get_epsilon_for_delta(delta))


def _loss_distribution(losses):
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise ImportError(
            "Tight composition of this mechanism needs dp-accounting. Install it with "
            "pip install 'skdp[privacy]', or use the closed forms epsilon and delta of compose "
            "and to_record."
        ) from error

    losses = [loss for loss in losses if loss.parameter > 0 or loss.atom]
    smallest = min((loss.parameter for loss in losses if loss.parameter > 0), default=1.0)
    interval = max(_RESOLUTION * min(smallest, 1.0), _RANGE_RESOLUTION * _range(losses))
    total = None
    for loss in losses:
        if loss.parameter == 0:
            one = privacy_loss_distribution.identity(value_discretization_interval=interval)
        elif loss.kind == "laplace":
            one = privacy_loss_distribution.from_laplace_mechanism(
                1 / loss.parameter, value_discretization_interval=interval
            )
        elif loss.kind == "gaussian":
            one = privacy_loss_distribution.from_gaussian_mechanism(
                1 / loss.parameter, value_discretization_interval=interval
            )
        else:
            one = privacy_loss_distribution.from_privacy_parameters(
                common.DifferentialPrivacyParameters(loss.parameter, 0.0),
                value_discretization_interval=interval,
            )
        if loss.atom:
            # A point mass that an observer can tell: with its probability the loss is
            # infinite, otherwise it is that of the rest.
            shown = privacy_loss_distribution.from_privacy_parameters(
                common.DifferentialPrivacyParameters(0.0, loss.atom),
                value_discretization_interval=interval,
            )
            one = one.compose(shown)
        one = one.self_compose(loss.count) if loss.count > 1 else one
        total = one if total is None else total.compose(one)
    return total


def _range(losses):
    """Return a privacy loss that is hardly exceeded."""
    distance = gaussian_distance([loss for loss in losses if loss.kind == "gaussian"]) or 0.0
    others = sum(loss.count * loss.parameter for loss in losses if loss.kind != "gaussian")
    return others + distance * (distance / 2 + 10)
