"""What several mechanisms guarantee together: closed forms, and privacy-loss distributions."""

from dataclasses import dataclass
from math import expm1, inf, log1p, sqrt

from skdp.privacy._gaussian import gaussian_delta, gaussian_epsilon

# Privacy losses are rounded up to multiples of this share of the smallest one composed.
_RESOLUTION = 1e-3


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

    count : int, default=1
        How often it is used on the same data.
    """

    kind: str
    parameter: float
    atom: float = 0.0
    count: int = 1


def gaussian_distance(losses):
    """Return sensitivity/σ of the one Gaussian mechanism that equals them all, or None.

    Gaussian mechanisms of distances μ_i compose to one of distance √(Σ μ_i²), exactly.
    """
    if not losses or any(loss.kind != "gaussian" or loss.atom for loss in losses):
        return None
    return sqrt(sum(loss.count * loss.parameter**2 for loss in losses))


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
        Exact where all are Gaussian or a single one is pure; otherwise an upper bound that
        is tight up to a thousandth of the smallest loss.
    """
    distance = gaussian_distance(losses)
    if distance is not None:
        return gaussian_delta(1 / distance, epsilon) if distance else 0.0
    if sum(loss.count * loss.parameter for loss in losses) <= epsilon:
        return -expm1(sum(loss.count * log1p(-loss.atom) for loss in losses))
    if any(loss.parameter == inf for loss in losses):
        return 1.0
    return _distribution(losses).get_delta_for_epsilon(epsilon)


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
    """
    distance = gaussian_distance(losses)
    if distance is not None:
        if not distance:
            return 0.0
        return gaussian_epsilon(1 / distance, delta) if delta else inf
    shown = -expm1(sum(loss.count * log1p(-loss.atom) for loss in losses))
    if delta < shown or any(loss.parameter == inf for loss in losses):
        return inf
    if all(loss.kind != "gaussian" for loss in losses):
        everything = sum(loss.count * loss.parameter for loss in losses)
        if delta == shown or everything == 0:
            return everything
        return min(everything, _distribution(losses).get_epsilon_for_delta(delta))
    return _distribution(losses).get_epsilon_for_delta(delta)


def _distribution(losses):
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise ImportError(
            "Tight composition of this mechanism needs dp-accounting. Install it with "
            "pip install 'skdp[privacy]', or use the closed forms epsilon and delta of compose "
            "and to_record."
        ) from error

    smallest = min(loss.parameter for loss in losses if loss.parameter > 0)
    interval = _RESOLUTION * min(smallest, 1.0)
    total = None
    for loss in losses:
        if loss.kind == "laplace":
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
