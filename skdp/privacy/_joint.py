"""What holds for the owner of any one of several disjoint data sets."""

from dataclasses import replace

from skdp.privacy._accounting import PrivacyLoss


def joint_guarantee(guarantees):
    """Return what holds for the owner of any one of several disjoint data sets.

    Each data set went through its own mechanism once, so nothing adds up: the largest ε and
    δ and the smallest sensitivity hold for everybody (parallel composition). None where one
    of the data sets has no guarantee at all, or they are about different units or different
    neighbouring relations.

    Parameters
    ----------
    guarantees : iterable of PrivacyGuarantee or None
        One for each data set; no person's data may be in two of them.

    Returns
    -------
    guarantee : PrivacyGuarantee or None
        The weakest of each number.

    Examples
    --------
    >>> from skdp.noise import OptimalDPNoise, StaircaseDPNoise
    >>> from skdp.privacy import joint_guarantee
    >>> first = OptimalDPNoise(epsilon=0.5).fit([[0.0, 1.0]]).guarantee_
    >>> second = StaircaseDPNoise(epsilon=2.0).fit([[0.0, 1.0]]).guarantee_
    >>> joint = joint_guarantee([first, second])
    >>> joint.epsilon, joint.mechanism
    (2.0, 'optimal/staircase')
    """
    guarantees = list(guarantees)
    if not guarantees or None in guarantees:
        return None
    first = guarantees[0]
    if all(guarantee == first for guarantee in guarantees):
        return first
    bounded = {g.sensitivity is None for g in guarantees}
    if len({(g.unit, g.relation) for g in guarantees}) > 1 or len(bounded) > 1:
        return None
    epsilon, delta = max(g.epsilon for g in guarantees), max(g.delta for g in guarantees)
    # The worst mechanism of that ε and δ: where all treat elements independently, so does it.
    independent = all(g.losses for g in guarantees)
    return replace(
        first,
        mechanism="/".join(sorted({g.mechanism for g in guarantees})),
        n_features=max(g.n_features for g in guarantees),
        covers="; or ".join(dict.fromkeys(g.covers for g in guarantees)),
        excludes="; ".join(dict.fromkeys(g.excludes for g in guarantees)),
        epsilon=epsilon,
        delta=delta,
        sensitivity=None if True in bounded else min(g.sensitivity for g in guarantees),
        losses=(PrivacyLoss("pure", epsilon, delta),) if independent else (),
    )
