"""Audit of a noise transformer from its outputs alone."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone

from skdp.privacy import PrivacyGuarantee
from skdp.privacy.audit._intervals import epsilon_lower_bound
from skdp.utils._sklearn import HasMethods, Interval, validate_params

# Thresholds of half-lines that are tried as events (rule of thumb).
_THRESHOLDS = 400
# Exponents k of the multiples of 2^-k, in units of the sensitivity, that are tried as events:
# where float64 numbers of a certain size lie.
_LATTICES = range(20, 64)


@dataclass(frozen=True)
class MechanismAudit:
    """What an audit of a noise transformer found.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        What it claims.

    epsilon_lower : float
        ε at the claimed δ that it cannot be below, with the given confidence.

    confidence : float
        Probability with which that bound is right.

    event : str
        The outcome that told the two neighbours apart best.

    n_trials : int
        Outputs for each neighbour on which the bound rests.

    Examples
    --------
    >>> from skdp import OptimalDPNoise
    >>> from skdp.privacy.audit import audit_mechanism
    >>> audit = audit_mechanism(OptimalDPNoise(epsilon=1.0), n_trials=10_000)
    >>> audit.passed, audit.n_trials
    (True, 5000)
    """

    guarantee: PrivacyGuarantee
    epsilon_lower: float
    confidence: float
    event: str
    n_trials: int

    @property
    def passed(self):
        """Whether the claim survives: the bound is not above the claimed ε."""
        return self.epsilon_lower <= self.guarantee.epsilon

    def __str__(self):
        verdict = "not refuted" if self.passed else "REFUTED"
        return (
            f"claimed:  ({self.guarantee.epsilon:g}, {self.guarantee.delta:g}) per "
            f"{self.guarantee.unit}, by the {self.guarantee.mechanism} noise\n"
            f"found:    epsilon >= {self.epsilon_lower:.4g} at this delta, with confidence "
            f"{self.confidence:.8g}\n"
            f"event:    {self.event} ({self.n_trials} trials each)\n"
            f"verdict:  {verdict}"
        )


@validate_params(
    {
        "transformer": [HasMethods(["fit", "transform"])],
        "n_trials": [Interval(Integral, 1000, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "value": [Interval(Real, -1e100, 1e100, closed="both")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def audit_mechanism(
    transformer, *, n_trials=1_000_000, n_features=1, value=0.0, confidence=1 - 1e-6
):
    """Bound the ε of a noise transformer from below, by looking at what comes out.

    A value, and the same value moved by the sensitivity, are perturbed ``n_trials`` times
    each. On one half of the outputs the event is chosen that tells the two apart best; on
    the other half its probabilities are bounded by Clopper and Pearson, so that one event
    alone is tested. Candidates are half-lines, the exact return of the input, and whether
    an output is a multiple of a power of two, which gives naive floating-point samplers
    away (Mironov, 2012). Noise that repeats from call to call, row to row, half to half or
    feature to feature is looked for first; other dependence between elements is not.

    An audit can refute a guarantee and never prove one.

    Parameters
    ----------
    transformer : noise transformer
        Is cloned. Must state a ``guarantee_`` once fitted and perturb in ``transform``; rows
        of one call count as independent trials.

    n_trials : int, default=1_000_000
        Outputs for each neighbour; half of them choose, half of them test.

    n_features : int, default=1
        Elements of a row. With a guarantee for records all of them move.

    value : float, default=0.0
        Where the first neighbour lies. With bounds, their lower end is taken instead.

    confidence : float, default=1 - 1e-6
        Of the bound: one right mechanism in a million is refuted.

    Returns
    -------
    audit : MechanismAudit
        Print it, or look at ``passed`` and ``epsilon_lower``.

    Raises
    ------
    ValueError
        When the transformer states no guarantee.

    Examples
    --------
    >>> from skdp import OptimalDPNoise
    >>> from skdp.privacy.audit import audit_mechanism
    >>> audit = audit_mechanism(OptimalDPNoise(epsilon=1.0), n_trials=100_000)
    >>> audit.passed, bool(0.8 < audit.epsilon_lower <= 1.0)
    (True, True)

    A mechanism that says 1 and has 2:

    >>> class Halved(OptimalDPNoise):
    ...     def transform(self, X):
    ...         return (X + super().transform(X)) / 2
    >>> audit_mechanism(Halved(epsilon=1.0), n_trials=100_000).passed
    False
    """
    transformer = clone(transformer)
    transformer.fit(np.full((1, n_features), float(value)))
    guarantee = getattr(transformer, "guarantee_", None)
    if guarantee is None:
        raise ValueError(
            f"The 'transformer' parameter of audit_mechanism must state a guarantee_, got "
            f"{transformer!r}. Audit a noise transformer such as skdp.OptimalDPNoise."
        )
    low, distance = _neighbours(transformer, guarantee, n_features, float(value))
    # With perturb="fit", what is guaranteed is what fit_transform returns.
    passes = getattr(transformer, "perturb", "always") == "fit"
    perturb = transformer.fit_transform if passes else transformer.transform
    moved = slice(None) if guarantee.unit == "record" else slice(1)
    high = low.copy()
    high[moved] += distance[moved]
    # Relative to the first neighbour and in units of the sensitivity; the first one twice.
    samples = [
        (perturb(np.broadcast_to(row, (n_trials, n_features)).copy()) - low) / distance
        for row in (low, high, low)
    ]
    n_test = n_trials - n_trials // 2

    def found(epsilon, event):
        return MechanismAudit(guarantee, float(epsilon), confidence, event, n_test)

    if np.isfinite(guarantee.epsilon) and _repeats(samples[0], samples[2]):
        return found(np.inf, "the same noise is added again, and can be subtracted")
    first, second = (sample[:, moved] for sample in samples[:2])
    settings = (guarantee.delta, confidence)
    forth = _best_event(first, second, ("first", "second"), *settings)
    back = _best_event(second, first, ("second", "first"), *settings)
    return found(*max(forth, back))


def _neighbours(transformer, guarantee, n_features, value):
    """Return where the first neighbour lies, and how far each element may move."""
    if guarantee.sensitivity is not None:
        return np.full(n_features, value), np.full(n_features, guarantee.sensitivity)
    if isinstance(transformer.bounds, str):
        raise ValueError(
            f"The 'transformer' parameter of audit_mechanism has bounds={transformer.bounds!r}: "
            "no two data sets are known to be neighbours. Give it public bounds."
        )
    low, high = (np.broadcast_to(end, n_features).astype(float) for end in transformer.bounds)
    return low, high - low


def _repeats(outputs, again):
    """Tell whether noise comes twice; no noise at all is left to the events."""
    half = len(outputs) // 2
    pairs = [
        (outputs, again),
        (outputs[1:], outputs[:-1]),
        (outputs[:half], outputs[half : 2 * half]),
        (outputs[:, 1:], outputs[:, :-1]),
    ]
    same = [(one == other)[one != 0] for one, other in pairs]
    return any(len(equal) > 0 and equal.mean() > 0.5 for equal in same)


def _best_event(outputs, others, names, delta, confidence):
    """Return the bound of the event that an independent half of the outputs prefers."""
    half = len(outputs) // 2
    # Both halves of the error: one for each direction that is tried.
    confidence = 1 - (1 - confidence) / 2
    events: list[_Event] = []
    hits: list[int] = []
    other_hits: list[int] = []
    # Of one feature, sums tell nothing else.
    for statistic in _STATISTICS if outputs.shape[1] > 1 else ("output",):
        trains = [np.sort(_STATISTICS[statistic](x[:half])) for x in (outputs, others)]
        levels = np.unique(np.quantile(np.concatenate(trains), np.linspace(0, 1, _THRESHOLDS)))
        for kind in ("<=", ">="):
            events += [_Event(kind, statistic, float(level)) for level in levels]
            for train, counts in zip(trains, (hits, other_hits), strict=True):
                below = np.searchsorted(train, levels, "right" if kind == "<=" else "left")
                counts.extend(below if kind == "<=" else half - below)
        if statistic == "output":
            special = [_Event("==", statistic, level) for level in (0.0, 1.0)]
            special += [_Event("off", statistic, bits) for bits in _LATTICES]
            events += special
            hits += [event.count(trains[0]) for event in special]
            other_hits += [event.count(trains[1]) for event in special]
    chosen = events[
        np.argmax(epsilon_lower_bound(hits, half, other_hits, half, delta, confidence))
    ]
    tests = [_STATISTICS[chosen.statistic](x[half:]) for x in (outputs, others)]
    counts, n_test = [chosen.count(test) for test in tests], len(tests[0])
    bound = epsilon_lower_bound(counts[0], n_test, counts[1], n_test, delta, confidence)
    text = (
        f"{chosen}: {counts[0] / n_test:.4g} of the {names[0]}, {counts[1] / n_test:.4g} of the "
        f"{names[1]} input"
    )
    return float(bound), text


# Of rows in units of the sensitivity. The clipped sum is the log-likelihood ratio of Laplace
# noise, but for a factor.
_STATISTICS = {
    "output": lambda rows: rows[:, 0],
    "sum of the row": lambda rows: rows.sum(axis=1),
    "clipped sum of the row": lambda rows: np.clip(rows, 0, 1).sum(axis=1),
}


@dataclass(frozen=True)
class _Event:
    """A set of outcomes of a statistic."""

    kind: str
    statistic: str
    level: float

    def count(self, values):
        if self.kind == "<=":
            holds = values <= self.level
        elif self.kind == ">=":
            holds = values >= self.level
        elif self.kind == "==":
            holds = values == self.level
        else:
            holds = (np.abs(values) < 0.5) & (np.ldexp(values, int(self.level)) % 1 != 0)
        return int(np.count_nonzero(holds))

    def __str__(self):
        if self.kind == "off":
            return f"{self.statistic} within half a sensitivity and no multiple of 2^-{self.level}"
        return f"{self.statistic} {self.kind} {self.level:.6g} sensitivities"
