"""Audit of a noise transformer or a label randomizer from its outputs alone."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone

from skdp.privacy import PrivacyGuarantee
from skdp.privacy.audit._events import Sample, Statistic, best_event, find_repeats
from skdp.privacy.audit._evidence import (
    AuditReport,
    Evidence,
    clopper_pearson,
    epsilon_lower_bound,
)
from skdp.utils._sklearn import HasMethods, Interval, validate_params


@dataclass(frozen=True)
class MechanismAudit(AuditReport):
    """Result of an audit of a noise transformer or of randomized response.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        The claimed guarantee.

    evidence : Evidence
        The evidence, at the claimed δ.

    event : str
        The event that distinguished two neighbors best. Outputs are relative to the first
        neighbor, in units of the sensitivity; labels are class indices.

    moved : str
        The pairs of neighbors that were tried.

    n_untried : int
        Number of pairs of neighbors that were not tried, because there were too few trials.

    Examples
    --------
    >>> from skdp import OptimalDPNoise
    >>> from skdp.privacy.audit import audit_mechanism
    >>> audit = audit_mechanism(OptimalDPNoise(epsilon=1.0, bounds=(0, 1)), n_trials=10_000)
    >>> audit.passed, audit.evidence.n
    (True, 5000)
    >>> audit.verdict
    'not refuted by these attacks, which detect at least epsilon = 1.16'
    """

    guarantee: PrivacyGuarantee
    evidence: Evidence
    event: str
    moved: str
    n_untried: int

    @property
    def epsilon_detectable(self) -> float:
        """The smallest ε that this number of trials could have detected with a power of 50 %.

        For the best possible event; infinite if no event could detect any, or if some neighbors
        were not tried.
        """
        return np.inf if self.n_untried else super().epsilon_detectable

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        verdict = super().verdict
        if self.passed and self.n_untried:
            return f"{verdict}; but only {self.moved}: of the others this says nothing"
        return verdict

    def __str__(self) -> str:
        mechanism = self.guarantee.mechanism
        noise = mechanism if self.guarantee.unit == "label" else f"the {mechanism} noise"
        return (
            f"claimed:  ({self.guarantee.epsilon:g}, {self.guarantee.delta:g}) per "
            f"{self.guarantee.unit}, by {noise}\n"
            f"found:    epsilon >= {self.epsilon_lower:.4g} at this delta, with confidence "
            f"{self.evidence.confidence:.8g}\n"
            f"at most:  {self.epsilon_limit:.4g}, by perfect separation in so many trials\n"
            f"tried:    {self.moved}\n"
            f"event:    {self.event} ({self.evidence.n} trials each)\n"
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
    transformer: Any,
    *,
    n_trials: int = 1_000_000,
    n_features: int = 1,
    value: float = 0.0,
    confidence: float = 1 - 1e-6,
) -> MechanismAudit:
    """Bound the ε of a noise transformer from below, from its outputs alone.

    A row, and the same row shifted by the sensitivity, are perturbed many times. With a guarantee
    per element each column is shifted in turn, with one per record all columns together, and with
    one per label each class is compared with each other. One half of the outputs chooses the
    shift and the event that distinguish neighbors best; on new outputs of that shift, the
    probabilities of the event are bounded by Clopper and Pearson. As only one event is tested, no
    correction for multiple testing is needed.

    Events are half-lines of each output column, whichever was shifted; outputs that equal an
    input; and outputs that are multiples of a power of two, which reveal naive floating-point
    samplers (Mironov, 2012). For elements there are also half-lines of the residual of a column
    after subtracting the column most correlated with it, and of sums of the columns whose means
    one shift changes; for records, those of sums of all columns.

    Repeated noise, up to its sign, is searched for first: between calls, between neighboring
    rows, between the two halves in both directions, and between two columns of the same row;
    among the first 100,000 values also at any fixed distance, and as draws from a small set.

    An audit can refute a guarantee but never prove one. ``epsilon_detectable`` is the smallest
    violation that this number of trials could have detected.

    Parameters
    ----------
    transformer : noise transformer or RandomizedResponse
        Is cloned. It must set ``guarantee_`` in ``fit`` and add noise in ``transform``; the rows
        of one call are treated as independent trials. For a :class:`~skdp.DPSource` see
        :func:`audit_membership`, for a source of statistics :func:`audit_release`.

    n_trials : int, default=1_000_000
        Number of outputs for each neighbor: one half, divided among the shifted columns, chooses
        the event; the other half tests it. With fewer than 1,000 for each column, only some
        columns are shifted: those that return their input too often, then alternately one with
        little noise and one at random. The verdict says so, and ``epsilon_detectable`` is
        infinite.

    n_features : int, default=1
        Number of elements of a row.

    value : float, default=0.0
        Value of the first neighbor in every column. With bounds, their lower end is used
        instead.

    confidence : float, default=1 - 1e-6
        Confidence of the bound: one correct mechanism in a million is refuted.

    Returns
    -------
    audit : MechanismAudit
        Print it, or see ``passed``, ``epsilon_lower`` and ``epsilon_detectable``.

    Raises
    ------
    ValueError
        If the transformer has no guarantee, or bounds that are learned from data.

    Examples
    --------
    >>> from skdp import OptimalDPNoise
    >>> from skdp.privacy.audit import audit_mechanism
    >>> audit = audit_mechanism(OptimalDPNoise(epsilon=1.0, bounds=(0, 1)), n_trials=100_000)
    >>> audit.passed, bool(0.8 < audit.epsilon_lower <= 1.0)
    (True, True)

    A mechanism that claims ε = 1 but has 2:

    >>> class Halved(OptimalDPNoise):
    ...     def transform(self, X):
    ...         return (X + super().transform(X)) / 2
    >>> audit_mechanism(Halved(epsilon=1.0), n_trials=100_000).passed
    False
    """
    subject = _make_subject(transformer, n_features, value)
    n_train, n_test = n_trials // 2, n_trials - n_trials // 2
    outputs = subject.draw(0, n_trials)
    pairs = _tried(subject, outputs[:n_train], confidence)
    untried = len(subject.pairs) - len(pairs)
    what = "columns were moved" if untried and subject.on_grid else "pairs of neighbors"
    moved = f"{len(pairs)} of {len(subject.pairs)} {what}"

    def audit(epsilon, event):
        claim = subject.guarantee
        sizes = n_test, n_test
        evidence = Evidence(claim.epsilon, claim.delta, float(epsilon), confidence, *sizes)
        return MechanismAudit(claim, evidence, event, moved, untried)

    if np.isfinite(subject.guarantee.epsilon):
        repeats = find_repeats(outputs, subject.draw(0, n_trials), subject.chance)
        if repeats is not None:
            return audit(np.inf, repeats)
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
    return audit(bound, text)


def _tried(subject, outputs, confidence):
    """Return the pairs of neighbors that are tried, by as many inputs as the outputs allow."""
    # An event is chosen on at least 500 outputs for each pair of neighbors (rule of thumb).
    pairs, most = subject.pairs, max(len(outputs) // 500, 1)
    inputs = sorted({which for pair in pairs for which in pair} - {0})
    if len(inputs) <= most:
        return list(pairs)
    order = np.random.default_rng().permutation(inputs)
    if subject.on_grid:
        order = _likely_first(order, outputs, subject.guarantee.delta, confidence)
    kept = {0, *order[:most].tolist()}
    return [pair for pair in pairs if kept.issuperset(pair)]


def _likely_first(order, outputs, delta, confidence):
    """Return inputs in the order in which they are moved; input j + 1 moves column j."""
    # First those whose column returns its input more often than δ allows, which only the move
    # shows to be no rounding; then by turns the one with the least noise and one at random.
    columns = outputs[:, order - 1]
    exact = np.count_nonzero(columns == 0, axis=0)
    low, _ = clopper_pearson(exact, len(outputs), confidence)
    clean = np.where(low > delta, exact, 0)
    suspects = np.argsort(-clean, kind="stable")[: np.count_nonzero(clean)]
    quiet = np.argsort(np.median(np.abs(columns), axis=0), kind="stable")
    by_turns = np.column_stack([quiet, np.arange(len(order))]).ravel()
    return order[list(dict.fromkeys([*suspects.tolist(), *by_turns.tolist()]))]


def _choose(subject, pairs, outputs, confidence):
    """Return the pair of neighbors and the event that tells them apart best."""
    inputs = {which for pair in pairs for which in pair} - {0}
    samples = {which: Sample(subject.draw(which, len(outputs) // len(inputs))) for which in inputs}
    samples[0] = Sample(outputs)
    p = outputs.shape[1]
    statistics = [_column(i, p) for i in range(p)]
    if subject.joint and p > 1:
        statistics += _sums("of the row", slice(None), np.ones(p))
    # With noise that two columns share, one gives away that of the other.
    differences = _differences(outputs) if p > 1 and not subject.joint else {}
    choices = []
    for a, b in pairs:
        tried = statistics + differences.get(b - 1, [])
        if p > 1 and not subject.joint:
            tried = tried + _combinations(samples[a].rows, samples[b].rows)
        bound, event = best_event(samples[a], samples[b], tried, subject, confidence)
        choices.append((bound, (a, b), event))
    return max(choices, key=lambda one: one[0])[1:]


def _column(i, n_columns):
    name = f"output[{i}]" if n_columns > 1 else "output"
    return Statistic(name, lambda rows: rows[:, i], is_column=True)


def _sums(which, columns, shifts, kind=""):
    """Return sums of columns, with the shifts of one move as weights."""
    # In the second one, which is the log-likelihood ratio of Laplace noise up to a factor, each
    # column is clipped to its values before and after the move.
    return [
        Statistic(f"{kind}sum {which}", lambda rows: rows[:, columns] @ shifts),
        Statistic(
            f"clipped {kind}sum {which}",
            lambda rows: np.clip(rows[:, columns] / shifts, 0, 1).sum(axis=1),
        ),
    ]


def _combinations(first, second):
    """Return sums of the columns whose means one move changes: two copies tell more than one."""
    shift = second.mean(axis=0) - first.mean(axis=0)
    error = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
    moved = np.flatnonzero(np.abs(shift) > 5.0 * error)  # rule of thumb
    if len(moved) < 2:
        return []
    names = f"of outputs {', '.join(map(str, moved.tolist()))}"
    return _sums(names, moved, shift[moved], "weighted ")


def _differences(outputs):
    """Return what the column most like it leaves of each that is like another at all."""
    covariance = np.cov(outputs, rowvar=False)
    deviation = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    correlation = np.abs(covariance / deviation / deviation[:, np.newaxis])
    np.fill_diagonal(correlation, 0.0)
    differences = {}
    for j, k in enumerate(correlation.argmax(axis=1).tolist()):
        # In standard deviations of that of independent columns (rule of thumb).
        if correlation[j, k] * np.sqrt(len(outputs)) > 5.0:
            differences[j] = [_difference(j, k, float(covariance[j, k] / covariance[k, k]))]
    return differences


def _difference(j, k, factor):
    name = f"output[{j}] {'-' if factor > 0 else '+'} {abs(factor):.4g} output[{k}]"
    return Statistic(name, lambda rows: rows[:, j] - factor * rows[:, k])


def _make_subject(transformer, n_features, value):
    """Return what is to be audited, fitted: its guarantee, and outputs for neighbors."""
    transformer = clone(transformer)
    if "classes" in transformer.get_params(deep=False):
        return _LabelSubject(transformer)
    return _NoiseSubject(transformer, n_features, float(value))


def _stated_guarantee(transformer):
    guarantee = getattr(transformer, "guarantee_", None)
    if guarantee is None:
        raise ValueError(
            f"The 'transformer' parameter of audit_mechanism must state a guarantee_, got "
            f"{transformer!r}. Audit a noise transformer such as skdp.OptimalDPNoise."
        )
    return guarantee


class _NoiseSubject:
    """A noise transformer; outputs are in units of the sensitivity."""

    atoms = (0.0, 1.0)  # outputs that may have a probability of their own
    on_grid = True  # whether outputs are to lie on one grid, wherever the input lies
    chance = 0.0  # most probability with which a correct mechanism moves two outputs alike

    def __init__(self, transformer, n_features, value):
        transformer.fit(np.full((1, n_features), value))
        self.guarantee = _stated_guarantee(transformer)
        # With perturb="fit", what is guaranteed is what fit_transform returns.
        passes = getattr(transformer, "perturb", "always") == "fit"
        self._perturb = transformer.fit_transform if passes else transformer.transform
        self._low, self._distance = _neighbors(transformer, self.guarantee, n_features, value)
        self.joint = self.guarantee.unit == "record"  # whether one move changes all columns
        # Inputs that are neighbors, and in which way; 0 is in at least one of them.
        if self.joint or n_features == 1:
            self.pairs = {(0, 1): "all columns moved"}
        else:
            self.pairs = {(0, j + 1): f"column {j} moved" for j in range(n_features)}

    def draw(self, which, n):
        """Return n independent outputs of the row (0), or of what a move makes of it.

        0 is what the row would be without noise.
        """
        row = self._low.copy()
        if which:
            moved = slice(None) if self.joint else which - 1
            row[moved] += self._distance[moved]
        rows = np.broadcast_to(row, (n, len(row))).copy()
        return (self._perturb(rows) - self._low) / self._distance


def _neighbors(transformer, guarantee, n_features, value):
    """Return where the first neighbor lies, and how far each element may move."""
    if guarantee.sensitivity is not None:
        return np.full(n_features, value), np.full(n_features, guarantee.sensitivity)
    if isinstance(transformer.bounds, str):
        raise ValueError(
            f"The 'transformer' parameter of audit_mechanism has bounds={transformer.bounds!r}: "
            "no two data sets are known to be neighbors. Give it public bounds."
        )
    low, high = (np.broadcast_to(end, n_features).astype(float) for end in transformer.bounds)
    return low, high - low


class _LabelSubject:
    """A label randomizer, in the same way; inputs and outputs are class indices."""

    on_grid = False
    joint = False
    # Of two classes at ε = 0: half of all labels are replaced, by the same one.
    chance = 0.5

    def __init__(self, response):
        response.fit([0, 1] if response.classes is None else response.classes)
        self.guarantee = _stated_guarantee(response)
        self._response = response
        names = [repr(label) for label in response.classes_.tolist()]
        self.pairs = {
            (a, b): f"labels {names[a]} and {names[b]}"
            for b in range(len(names))
            for a in range(b)
        }
        self.atoms = tuple(float(k) for k in range(len(names)))

    def draw(self, which, n):
        """Return n independent outputs of one class."""
        classes = self._response.classes_
        labels = self._response.transform(np.full(n, classes[which]))
        return np.searchsorted(classes, labels)[:, np.newaxis].astype(np.float64)
