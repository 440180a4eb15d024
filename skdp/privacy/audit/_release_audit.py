"""Audit of a whole fitted source: fits with and without one more record."""

import warnings
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import pandas as pd
from sklearn.base import clone

from skdp.privacy import PrivacyGuarantee, PrivacyLeakWarning
from skdp.privacy.audit._evaluation import find_evidence, find_gaussian_evidence
from skdp.privacy.audit._evidence import Evidence
from skdp.privacy.audit._metrics import stack_rows
from skdp.privacy.audit._released import best_direction, released_statistics
from skdp.utils._parallel import run_tasks
from skdp.utils._sklearn import HasMethods, Interval, validate_params

# Share of the fits on which it is learned what the noise is: some hundred do for as many
# statistics as an audit can look at, and the others all test (rule of thumb).
_LEARNED = 0.25


@dataclass(frozen=True)
class ReleaseAudit:
    """What fits with and without one more record showed, beside what was claimed.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        What is claimed.

    evidence : Evidence
        What was found, at the claimed δ. Where all losses of the claim are Gaussian, by the
        ``mu_lower`` that refutes these; otherwise by ``event_epsilon_lower``.

    mu_lower : float or None
        μ, the distance of two normal distributions, that the source cannot be below. None where
        the claim has other losses than Gaussian ones.

    event_epsilon_lower : float
        ε at the claimed δ that no source can be below, whatever its losses are.

    Examples
    --------
    >>> from skdp.privacy import Mechanism
    >>> from skdp.privacy.audit._evidence import GaussianEvidence
    >>> claim = PrivacyGuarantee(
    ...     *("statistics", [Mechanism("any", 1.0, 1e-5)], None, 2, "all", "nothing"),
    ...     unit="labelled record",
    ...     relation="add/remove",
    ... )
    >>> evidence = GaussianEvidence(1.0, 1e-5, 0.7, 0.95, 1500, 1500)
    >>> print(ReleaseAudit(claim, evidence, 0.2, 0.1))
    claimed:  (1, 1e-05) per labelled record, add/remove, by statistics
    found:    epsilon >= 0.7 at this delta, by mu >= 0.2 of Gaussian losses, with confidence 0.95
              epsilon >= 0.1 whatever the losses are
    at most:  24.97, by perfect separation in so many fits
    tried:    one canary, 1500 fits without and 1500 with it
    verdict:  not refuted by these attacks, which detect at least epsilon = 1.32
    """

    guarantee: PrivacyGuarantee
    evidence: Evidence
    mu_lower: float | None
    event_epsilon_lower: float

    @property
    def passed(self):
        """Whether the claim survives: the bound is not above the claimed ε."""
        return not self.evidence.refuted

    @property
    def epsilon_lower(self):
        """ε at the claimed δ that the source cannot be below, its losses being as claimed."""
        return self.evidence.epsilon_lower

    @property
    def epsilon_limit(self):
        """The bound that perfect separation would have given: no larger claim can be refuted."""
        return self.evidence.limit

    @property
    def epsilon_detectable(self):
        """The least ε that so many fits could have told from the claim, with this canary."""
        return self.evidence.detectable

    @property
    def verdict(self):
        """The verdict in words."""
        return self.evidence.verdict

    def __str__(self):
        e, g = self.evidence, self.guarantee
        by = "" if self.mu_lower is None else f", by mu >= {self.mu_lower:.4g} of Gaussian losses"
        return (
            f"claimed:  ({g.epsilon:g}, {g.delta:g}) per {g.unit}, {g.relation}, by "
            f"{g.mechanism}\n"
            f"found:    epsilon >= {e.epsilon_lower:.4g} at this delta{by}, with confidence "
            f"{e.confidence:.8g}\n"
            f"          epsilon >= {self.event_epsilon_lower:.4g} whatever the losses are\n"
            f"at most:  {e.limit:.4g}, by perfect separation in so many fits\n"
            f"tried:    one canary, {e.n} fits without and {e.other_n} with it\n"
            f"verdict:  {self.verdict}"
        )


@validate_params(
    {
        "source": [HasMethods(["fit", "set_params"])],
        "statistics": [callable],
        "n_trials": [Interval(Integral, 100, None, closed="left")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=True,
)
def audit_release(
    source,
    X,
    y,
    *,
    groups=None,
    canary=None,
    statistics=released_statistics,
    n_trials=2000,
    confidence=0.95,
    n_jobs=None,
    verbose=0,
):
    """Bound the ε of a whole source from below, by fits with and without one more record.

    For a guarantee of records, or of groups, that are added or removed. The source is fitted very
    often to the rows, and as often to the rows and one more, the canary, with its label. Both
    worlds are told apart by the released statistics, projected on what the canary adds to them
    (known from two fits without noise) in units of their noise (learned on a quarter of the
    fits). For sums with Gaussian noise no other attack is stronger (Neyman and Pearson).

    A bound of ε at δ follows from how often that number is beyond a threshold in either world;
    one half of the fits chooses the threshold, the other tests it, by Clopper and Pearson. At
    small ε it takes events that hardly ever happen, hence millions of fits. So where all that is
    claimed is Gaussian (its ``gaussian_distance``), the verdict rests on another bound: fits
    with and without the canary are paired, and of how many pairs the one with it has the greater
    number bounds μ, the distance of the two normal distributions that the losses stand for. It is
    stated as the ε of that μ at the claimed δ. It supposes nothing of what is released, but is
    about the claim with its losses: where the truth is no Gaussian mechanism, its ε at this δ
    may be smaller.

    An audit can refute a guarantee and never prove one: neither other canaries among other rows
    nor what ``statistics`` does not return is looked at.

    Parameters
    ----------
    source : source of a release of statistics
        Is cloned for each fit. Must have a ``release_`` with a ``guarantee`` once it is fitted,
        and a parameter ``epsilon`` that may be infinite. With an integer ``random_state`` all
        noise is the same, which refutes any claim.

    X : array-like of shape (n_samples, n_features)
        Rows. What is found is released: use rows that are public, or made up.

    y : array-like of shape (n_samples,)
        Their labels.

    groups : array-like of shape (n_samples,), default=None
        Their groups, for a guarantee per group; the canary is a group of its own.

    canary : tuple (row, label), default=None
        The row, of shape (n_features,) (a DataFrame of one row where X is one), and its label.
        By default a row that has in each column what lies farthest from its mean, or the rarest
        value where they are no numbers; of the rarest label. The guarantee holds for any, and the
        bound is the closer to it the more a canary adds, up to what the source clips it to.

    statistics : callable, default=released_statistics
        Takes a release and returns what is looked at, as an array of shape (n_statistics,).
        By default counts, sums and sums of products, from its ``moments``.

    n_trials : int, default=2000
        Fits for each of the two worlds.

    confidence : float, default=0.95
        Of the bound.

    n_jobs : int or None, default=None
        Fits at once, as in joblib.

    verbose : int, default=0
        Above 0, print progress.

    Returns
    -------
    audit : ReleaseAudit
        Print it, or look at ``passed``, ``epsilon_lower`` and ``verdict``.

    Raises
    ------
    ValueError
        When the guarantee is about other neighbours, groups are missing or of no use, or the
        canary adds nothing to what is released.

    References
    ----------
    Dong, J., Roth, A. and Su, W. J., "Gaussian differential privacy", Journal of the Royal
    Statistical Society B 84, 2022.

    Nasr, M., Hayes, J., Steinke, T., Balle, B., Tramèr, F., Jagielski, M., Carlini, N. and
    Terzis, A., "Tight auditing of differentially private machine learning", USENIX Security
    2023.
    """
    worlds = _Worlds(source, X, y, groups, canary, statistics)
    guarantee = worlds.guarantee
    seen = np.arange(2 * n_trials) % 2 == 1
    tasks = [(bool(with_canary),) for with_canary in seen]
    settings = {"n_jobs": n_jobs, "verbose": verbose, "label": "audit_release", "unit": "fits"}
    released = np.array(run_tasks(worlds.draw, tasks, len(tasks), **settings))
    n_learned = int(_LEARNED * n_trials)
    scores = worlds.score(released.reshape(n_trials, 2, -1), n_learned)
    half = np.arange(n_trials) < n_trials // 2
    trial = (scores.ravel(), seen, np.repeat(half, 2))
    evidence, _ = find_evidence({"canary": trial}, guarantee, confidence)
    by_event, mu = evidence.epsilon_lower, None
    distance = guarantee.gaussian_distance
    if distance is not None and 0 < distance < np.inf:
        without, with_canary = scores[n_learned:].T
        evidence, mu = find_gaussian_evidence(with_canary, without, guarantee, confidence)
    return ReleaseAudit(guarantee, evidence, mu, by_event)


class _Worlds:
    """Rows, with and without a canary, and what a source releases of either."""

    def __init__(self, source, X, y, groups, canary, statistics):
        self._source, self._statistics = source, statistics
        self._data = [(X, np.asarray(y)), _with_canary(X, np.asarray(y), canary)]
        self._groups: list = [{}, {}]
        if groups is not None:
            codes = np.unique(np.asarray(groups), return_inverse=True)[1]
            self._groups = [{"groups": codes}, {"groups": np.append(codes, codes.max() + 1)}]
        self.guarantee = self._fit(source, False).release_.guarantee
        _check_guarantee(self.guarantee, groups)
        self.contribution = self._contribution()

    def draw(self, with_canary):
        """Return what one more release says of the rows, as a vector."""
        return self._statistics(self._fit(self._source, with_canary).release_)

    def score(self, released, n_learned):
        """Return how much each release looks as if the canary were in it.

        Parameters
        ----------
        released : ndarray of shape (n_trials, 2, n_statistics)
            Without and with it.

        n_learned : int
            So many first trials say what the noise is.

        Returns
        -------
        scores : ndarray of shape (n_trials, 2)
        """
        without, with_canary = released[:n_learned].swapaxes(0, 1)
        return released @ best_direction(self.contribution, without, with_canary)

    def _fit(self, source, with_canary):
        return clone(source).fit(*self._data[with_canary], **self._groups[with_canary])

    def _contribution(self):
        exact = clone(self._source).set_params(epsilon=np.inf)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)  # no noise is what is asked for
            first, second = (
                self._statistics(self._fit(exact, world).release_) for world in (False, True)
            )
        if np.array_equal(first, second):
            raise ValueError(
                "The 'canary' parameter of audit_release adds nothing to what 'statistics' "
                "returns. Use a label that the source knows, and a row that it does not ignore."
            )
        return np.subtract(second, first, dtype=np.float64)


def _check_guarantee(guarantee, groups):
    if guarantee.relation != "add/remove":
        raise ValueError(
            "The 'source' parameter of audit_release must guarantee something for records that "
            f"are added or removed, got one with relation={guarantee.relation!r}. See "
            "audit_membership for records that are replaced."
        )
    if (guarantee.unit == "group") != (groups is not None):
        raise ValueError(
            "The 'groups' parameter of audit_release must be given if and only if the guarantee "
            f"is per group, got one per {guarantee.unit}."
        )


def _with_canary(X, y, canary):
    row, label = _extreme(X, y) if canary is None else canary
    row = row if hasattr(row, "iloc") else np.reshape(row, (1, -1))
    return stack_rows(X, row), np.append(y, [label])


def _extreme(X, y):
    """Return what adds much: the ends of the columns, and the rarest label."""
    labels, counts = np.unique(y, return_counts=True)
    frame = pd.DataFrame(X).infer_objects()
    row = pd.DataFrame({name: [_far(column)] for name, column in frame.items()})
    row = row.astype(frame.dtypes)
    return (row if hasattr(X, "iloc") else row.to_numpy()), labels[np.argmin(counts)]


def _far(column):
    if not pd.api.types.is_numeric_dtype(column):
        return column.value_counts().index[-1]
    return column.loc[(column - column.mean()).abs().idxmax()]
