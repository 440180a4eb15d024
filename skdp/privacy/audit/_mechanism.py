"""Audit of a noise transformer or a label randomiser from its outputs alone."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.stats import binom

from skdp.privacy import PrivacyGuarantee
from skdp.privacy.audit._events import Sample, Statistic, best_event
from skdp.privacy.audit._evidence import Evidence
from skdp.privacy.audit._intervals import epsilon_lower_bound
from skdp.privacy.audit._subjects import make_subject
from skdp.utils._sklearn import HasMethods, Interval, validate_params

# Fewest outputs on which an event is chosen for each pair of neighbours; with more columns than
# this allows, a random subset of them is moved (rule of thumb).
_FEWEST_TRIALS = 500
# Comparisons of one column with another that look for shared noise, at most (rule of thumb:
# a second), and the most rows that take part.
_COMPARISONS = 200_000_000
_COMPARED_ROWS = 10_000
# Least correlation of two columns for which their difference is tried, in standard deviations
# of that of independent ones (rule of thumb).
_CORRELATED = 5.0
# Probability with which a right mechanism is taken for one that repeats its noise.
_MISTAKEN_REPEAT = 1e-12


@dataclass(frozen=True)
class MechanismAudit:
    """What an audit of a noise transformer or a label randomiser found.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        What it claims.

    epsilon_lower : float
        ε at the claimed δ that it cannot be below, with the given confidence.

    confidence : float
        Probability with which that bound is right.

    event : str
        The outcome that told two neighbours apart best. Outputs count from the first
        neighbour, in sensitivities; labels are class indices.

    n_trials : int
        Outputs for each neighbour on which the bound rests.

    moved : str
        Which neighbours were tried.

    Examples
    --------
    >>> from skdp import OptimalDPNoise
    >>> from skdp.privacy.audit import audit_mechanism
    >>> audit = audit_mechanism(OptimalDPNoise(epsilon=1.0), n_trials=10_000)
    >>> audit.passed, audit.n_trials
    (True, 5000)
    >>> audit.verdict
    'not refuted by these attacks, which detect at least epsilon = 1.16'
    """

    guarantee: PrivacyGuarantee
    epsilon_lower: float
    confidence: float
    event: str
    n_trials: int
    moved: str = ""

    @property
    def passed(self):
        """Whether the claim survives: the bound is not above the claimed ε."""
        return not self._evidence.refuted

    @property
    def epsilon_limit(self):
        """The bound that perfect separation would have given: no larger claim can be refuted."""
        return self._evidence.limit

    @property
    def epsilon_detectable(self):
        """The least ε that so many trials could have told from the claim.

        With the most telling event there can be, in every other audit; infinite where no
        event would do.
        """
        return self._evidence.detectable

    @property
    def verdict(self):
        """The verdict in words."""
        return self._evidence.verdict

    @property
    def _evidence(self):
        g, n = self.guarantee, self.n_trials
        return Evidence(g.epsilon, g.delta, self.epsilon_lower, self.confidence, n, n)

    def __str__(self):
        mechanism = self.guarantee.mechanism
        noise = mechanism if self.guarantee.unit == "label" else f"the {mechanism} noise"
        return (
            f"claimed:  ({self.guarantee.epsilon:g}, {self.guarantee.delta:g}) per "
            f"{self.guarantee.unit}, by {noise}\n"
            f"found:    epsilon >= {self.epsilon_lower:.4g} at this delta, with confidence "
            f"{self.confidence:.8g}\n"
            f"at most:  {self.epsilon_limit:.4g}, by perfect separation in so many trials\n"
            f"tried:    {self.moved}\n"
            f"event:    {self.event} ({self.n_trials} trials each)\n"
            f"verdict:  {self.verdict}"
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

    A row, and the same row moved by the sensitivity, are perturbed very often. With a
    guarantee for elements each column is moved in turn, with one for records all columns at
    once, with one for labels each class is tried against each. On one half of the outputs
    the move and the event are chosen that tell neighbours apart best; on fresh outputs of
    that move the event's probabilities are bounded by Clopper and Pearson, so that one event
    alone is tested and nothing needs correction.

    Events are half-lines of each output column, whichever was moved; the exact return of an
    input; and whether an output is a multiple of a power of two, which gives naive
    floating-point samplers away (Mironov, 2012). For elements also half-lines of what
    remains of a column once the column most correlated with it is subtracted; for records
    those of sums. Noise that repeats from call to call, row to row, half to half or in any
    two columns is looked for first.

    An audit can refute a guarantee and never prove one. ``epsilon_detectable`` says which
    leaks so many trials could have shown.

    Parameters
    ----------
    transformer : noise transformer or RandomizedResponse
        Is cloned. Must state a ``guarantee_`` once fitted and perturb in ``transform``; rows
        of one call count as independent trials. For a :class:`~skdp.DPSource` see
        :func:`audit_membership`.

    n_trials : int, default=1_000_000
        Outputs for each neighbour: half of them choose, shared out among the columns that
        are moved; half of them test. Below 1,000 for each column a random subset of the
        columns is moved.

    n_features : int, default=1
        Elements of a row.

    value : float, default=0.0
        Where the first neighbour lies, in every column. With bounds, their lower end is
        taken instead.

    confidence : float, default=1 - 1e-6
        Of the bound: one right mechanism in a million is refuted.

    Returns
    -------
    audit : MechanismAudit
        Print it, or look at ``passed``, ``epsilon_lower`` and ``epsilon_detectable``.

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
    subject = make_subject(transformer, n_features, value)
    n_train, n_test = n_trials // 2, n_trials - n_trials // 2
    pairs, moved = _tried(subject.pairs, n_train // _FEWEST_TRIALS)

    def found(epsilon, event):
        return MechanismAudit(subject.guarantee, float(epsilon), confidence, event, n_test, moved)

    outputs = subject.draw(0, n_trials)
    if np.isfinite(subject.guarantee.epsilon):
        if _repeats(outputs, subject.draw(0, n_trials), subject.chance):
            return found(np.inf, "the same noise is added again, and can be subtracted")
        if (columns := _shared_noise(outputs)) is not None:
            return found(np.inf, "columns {} and {} have the same noise".format(*columns))
    (a, b), event = _choose(subject, pairs, outputs[:n_train], confidence)
    first = outputs[n_train:] if a == 0 else subject.draw(a, n_test)
    counts = [event.count(first), event.count(subject.draw(b, n_test))]
    names = ["first", "second"]
    if event.swapped:
        counts, names = counts[::-1], names[::-1]
    sizes = (counts[0], n_test, counts[1], n_test)
    bound = epsilon_lower_bound(*sizes, subject.guarantee.delta, confidence)
    text = (
        f"{event}, {subject.pairs[a, b]}: {counts[0] / n_test:.4g} of the {names[0]}, "
        f"{counts[1] / n_test:.4g} of the {names[1]} input"
    )
    return found(bound, text)


def _tried(pairs, most):
    """Return the pairs of neighbours that are tried, by at most so many inputs, and a text."""
    inputs = {which for pair in pairs for which in pair} - {0}
    if len(inputs) <= max(most, 1):
        return list(pairs), f"{len(pairs)} of {len(pairs)} pairs of neighbours"
    drawn = np.random.default_rng().choice(list(inputs), max(most, 1), replace=False)
    kept = [pair for pair in pairs if {0, *drawn.tolist()}.issuperset(pair)]
    return kept, f"{len(kept)} of {len(pairs)} pairs of neighbours, drawn at random"


def _repeats(outputs, again, chance):
    """Tell whether noise comes twice; no noise at all is left to the events."""
    half = len(outputs) // 2
    pairs = [
        (outputs, again),
        (outputs[1:], outputs[:-1]),
        (outputs[:half], outputs[half : 2 * half]),
    ]
    return any(_same(one, other, chance) for one, other in pairs)


def _same(one, other, chance):
    """Tell whether most of the noise in one sample is that in another."""
    equal = (one == other)[one != 0]
    if len(equal) == 0 or equal.mean() <= (1 + chance) / 2:
        return False
    # Where chance is 0, that is a fraction of all pairs of numbers on a fine grid.
    return chance == 0 or bool(binom.sf(equal.sum() - 1, len(equal), chance) < _MISTAKEN_REPEAT)


def _shared_noise(outputs):
    """Return two columns that have the same noise, or None."""
    p = outputs.shape[1]
    n = min(_COMPARED_ROWS, max(_FEWEST_TRIALS, _COMPARISONS // p**2))
    for j in range(p):
        for k in range(j + 1, p):
            if _same(outputs[:n, j], outputs[:n, k], 0.0):
                return j, k
    return None


def _choose(subject, pairs, outputs, confidence):
    """Return the pair of neighbours and the event that tells them apart best."""
    inputs = {which for pair in pairs for which in pair} - {0}
    samples = {which: Sample(subject.draw(which, len(outputs) // len(inputs))) for which in inputs}
    samples[0] = Sample(outputs)
    p = outputs.shape[1]
    statistics = [Statistic("column" if p > 1 else "output", i) for i in range(p)]
    if subject.joint and p > 1:
        statistics += [Statistic("sum"), Statistic("clipped sum")]
    # With noise that two columns share, one gives away that of the other.
    differences = _differences(outputs) if p > 1 and not subject.joint else {}
    found = []
    for a, b in pairs:
        tried = statistics + differences.get(b - 1, [])
        bound, event = best_event(samples[a], samples[b], tried, subject, confidence)
        found.append((bound, (a, b), event))
    return max(found, key=lambda one: one[0])[1:]


def _differences(outputs):
    """Return what the column most like it leaves of each that is like another at all."""
    covariance = np.cov(outputs, rowvar=False)
    deviation = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    correlation = np.abs(covariance / deviation / deviation[:, np.newaxis])
    np.fill_diagonal(correlation, 0.0)
    found = {}
    for j, k in enumerate(correlation.argmax(axis=1).tolist()):
        if correlation[j, k] * np.sqrt(len(outputs)) > _CORRELATED:
            factor = float(covariance[j, k] / covariance[k, k])
            found[j] = [Statistic("difference", j, k, factor)]
    return found
