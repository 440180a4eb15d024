"""Audit of a source by fits with and without one additional record or person."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone

from skdp.privacy import PrivacyGuarantee, PrivacyLeakWarning
from skdp.privacy.audit._attacks import read_rows, stack_rows
from skdp.privacy.audit._evidence import (
    AuditReport,
    Evidence,
    area_under_curve,
    find_evidence,
    find_gaussian_evidence,
)
from skdp.utils._frames import as_frame
from skdp.utils._labels import label_array
from skdp.utils._parallel import run_tasks
from skdp.utils._sklearn import HasMethods, Interval, validate_params

# Orders of functions of columns that every release by gradients has.
_LEAST_ORDERS = 3


def released_statistics(release: Any) -> dict[str, np.ndarray]:
    """Return all numbers of a release that depend on private rows, part by part.

    Where possible these are numbers to which a record adds the same amount whatever the other
    records are:

    - for ``statistics``, the sums, with class sums in place of the contrasts, and estimates
      derived from them, since a leak may be easier to see in fewer numbers;
    - for ``moments``, class counts, class sums, and sums of products of two columns, over all
      rows if there is one common covariance matrix, otherwise per class;
    - for ``subspace``, the mean and the covariance that its directions represent;
    - for ``mixtures``, the mean and covariance of each class, in the columns of the rows.

    All other arrays are returned unchanged.

    Parameters
    ----------
    release : Release
        Of statistics.

    Returns
    -------
    statistics : dict of {str: ndarray of shape (n_statistics,)}
        Statistics by the name of the part.

    Examples
    --------
    >>> from skdp import DPStatisticsSource
    >>> X, y = np.random.RandomState(0).rand(100, 3), np.arange(100) % 2
    >>> source = DPStatisticsSource(classes=[0, 1], model="linear").fit(X, y)
    >>> sorted(released_statistics(source.release_))
    ['linear', 'moments', 'statistics']
    """
    statistics = {}
    for name, part in release.model.parts().items():
        contents = {name: part} if isinstance(part, np.ndarray) else vars(part)
        arrays = {
            k: a for k, a in contents.items() if isinstance(a, np.ndarray) and a.dtype.kind == "f"
        }
        numbers = _READERS[name](release, arrays) if name in _READERS else arrays.values()
        statistics[name] = np.concatenate([np.ravel(array) for array in numbers])
    return statistics


def _read_statistics(release, arrays):
    sums = release.statistics.sums
    upper = np.triu_indices(len(sums.second))
    by_class = sums.contrast + sums.frequencies.T @ sums.total
    numbers = [sums.counts, sums.total, by_class, sums.second[upper], sums.frequencies]
    numbers += [sums.count_sd, sums.total_sd, sums.contrast_sd, sums.second_sd]
    numbers += [sums.of_all_columns, sums.squares, sums.square_sd]
    numbers += [sums.exits, sums.exit_sd, sums.exit_places, sums.competing]
    return [number for number in numbers if number is not None]


def _read_descent(release, arrays):
    """Return coefficients of functions that there always are, and sums over the table of scores.

    How many cosines and bins there are depends on the noisy number of rows.
    """
    descent = release.descent
    usual = descent.basis.order <= _LEAST_ORDERS
    numbers = [descent.coefficients[:, usual], descent.intercepts]
    if descent.table is not None:
        low, width, n, _ = descent.table.bins
        by_score = descent.table.counts.sum(axis=0)
        numbers += [by_score.sum(), by_score @ (low + width * (np.arange(n) + 0.5))]
    return numbers


def _read_moments(release, arrays):
    """Return counts, Σx and Σxxᵀ by class; other arrays stay in ``arrays``."""
    counts, means = arrays.pop("class_counts"), arrays.pop("means")
    covariances = arrays.pop("covariances").astype(np.float64)
    rows, columns = np.triu_indices(means.shape[1])
    products = counts[:, np.newaxis] * (covariances + means[:, rows] * means[:, columns])
    if len(covariances) == 1:
        products = products.sum(axis=0)
    return counts, counts[:, np.newaxis] * means, products, *arrays.values()


def _read_subspace(release, arrays):
    components = arrays.pop("components")
    covariance = (components.T * arrays.pop("variances")) @ components
    return covariance[np.triu_indices(len(covariance))], *arrays.values()


def _read_mixtures(release, arrays):
    """Return mean and covariance of each class, for any number of components."""
    mixtures, subspace = release.mixtures, release.subspace
    classes = np.arange(mixtures.class_indices[-1] + 1)
    units = subspace.components / subspace.scale
    numbers = []
    for rows in mixtures.class_indices == classes[:, np.newaxis]:
        weights, means = mixtures.weights[rows], mixtures.means[rows]
        mean = weights @ means
        covariance = np.tensordot(weights, mixtures.covariances[rows], 1)
        covariance = covariance + ((means - mean).T * weights) @ (means - mean)
        covariance = units.T @ covariance @ units
        numbers += [subspace.mean + mean @ units, covariance[np.triu_indices(len(covariance))]]
    return numbers


_READERS = {
    "statistics": _read_statistics,
    "descent": _read_descent,
    "moments": _read_moments,
    "subspace": _read_subspace,
    "mixtures": _read_mixtures,
}


@dataclass(frozen=True)
class ReleaseAudit(AuditReport):
    """Result of an audit of a source by fits with and without one additional record or person.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        The claimed guarantee.

    evidence : Evidence
        The evidence, at the claimed δ: the larger of two bounds.

    mu_lower : float or None
        Lower bound of μ, the distance of two normal distributions. None if the claimed losses
        are not Gaussian.

    event_epsilon_lower : float
        Lower bound of ε at the claimed δ, for any kind of losses.

    n_rows : int
        Rows of the canary.

    parts : tuple of str
        The examined parts of the release; the verdict is about these only.

    attack : tuple of str
        The parts that distinguish the two kinds of fits.

    Examples
    --------
    >>> from skdp.privacy import Mechanism
    >>> from skdp.privacy.audit._evidence import GaussianEvidence
    >>> claim = PrivacyGuarantee(
    ...     *("statistics", [Mechanism("any", 1.0, 1e-5)], None, 2, "all", "nothing"),
    ...     unit="labeled record",
    ...     relation="add/remove",
    ... )
    >>> evidence = GaussianEvidence(1.0, 1e-5, 0.7, 0.96, 1500, 1500, "this canary")
    >>> print(ReleaseAudit(claim, evidence, 0.2, 0.1, 1, ("moments", "linear"), ("linear",)))
    claimed:  (1, 1e-05) per labeled record, add/remove, by statistics
    found:    epsilon >= 0.7 at this delta, by mu >= 0.2 of Gaussian losses, with confidence 0.96
              epsilon >= 0.1 whatever the losses are
    at most:  24.71, by perfect separation in so many fits
    tried:    one canary of 1 row, 1500 fits without and 1500 with it
    seen:     moments, linear; told apart by linear
    verdict:  not refuted by this canary, which detect at least epsilon = 1.34
    """

    guarantee: PrivacyGuarantee
    evidence: Evidence
    mu_lower: float | None
    event_epsilon_lower: float
    n_rows: int
    parts: tuple[str, ...]
    attack: tuple[str, ...]

    def __str__(self) -> str:
        e, g = self.evidence, self.guarantee
        by = "" if self.mu_lower is None else f", by mu >= {self.mu_lower:.4g} of Gaussian losses"
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows} rows"
        return (
            f"claimed:  ({g.epsilon:g}, {g.delta:g}) per {g.unit}, {g.relation}, by "
            f"{g.mechanism}\n"
            f"found:    epsilon >= {e.epsilon_lower:.4g} at this delta{by}, with confidence "
            f"{e.confidence:.8g}\n"
            f"          epsilon >= {self.event_epsilon_lower:.4g} whatever the losses are\n"
            f"at most:  {e.limit:.4g}, by perfect separation in so many fits\n"
            f"tried:    one canary of {rows}, {e.n} fits without and {e.other_n} with it\n"
            f"seen:     {', '.join(self.parts)}; told apart by {', '.join(self.attack)}\n"
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
    source: Any,
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    canary: tuple[ArrayLike, Any] | None = None,
    statistics: Callable[..., Any] = released_statistics,
    n_trials: int = 2000,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ReleaseAudit:
    """Bound the ε of a source from below, by fits with and without one additional record.

    This is for guarantees about records or people that are added or removed. The source is fitted
    many times to the rows, and as often to the rows plus the canary: one more record or person.
    One weighted sum of released numbers, of all parts or of one, distinguishes the two kinds of
    fits. A quarter of the fits choose the part and the weights: the effect of the canary, from
    pairs of fits with the same noise, in units of the noise and its correlations. For sums with
    normal noise no attack is stronger (Neyman and Pearson). The remaining fits test it. As only
    one number is tested, no correction for multiple testing is needed.

    The bound of ε at δ follows from how often this number exceeds a threshold with and without
    the canary (Clopper and Pearson); half of the fits choose the threshold, the others test it.
    At small ε this needs very rare events, hence millions of fits. If the claim is purely
    Gaussian (has a ``gaussian_distance``), a second bound pairs fits with and without the canary:
    how often the former has the larger number bounds μ, the distance of the two normal
    distributions that correspond to the losses, stated as the ε of μ at the claimed δ. It assumes
    the claimed Gaussian losses: with other losses the true ε at this δ may be smaller. The verdict
    uses the larger bound, with one confidence for both.

    An audit can refute a guarantee but never prove one. It misses leaks that only another canary
    would reveal, that are in numbers outside ``statistics``, or that are too small. Relative to μ
    the bound is closest for a claim of ε about 10 (at δ = 1e-5), where the default number of fits
    detects errors of a few percent in μ; at ε = 1 it detects large ones only. As a source is the
    same program at any ε, audit it at ε = 10.

    Parameters
    ----------
    source : source of a release of statistics
        Is cloned for each fit. Once fitted it must have a ``release_`` with a ``guarantee``.
        If it has a ``random_state``, the fits that learn come in pairs with the same noise; fits
        that test use the source unchanged. An integer there makes all noise equal, which refutes
        any claim.

    X : array-like of shape (n_samples, n_features)
        Rows. The result is not private: use public or synthetic rows.

    y : array-like of shape (n_samples,)
        Their labels.

    groups : array-like of shape (n_samples,), default=None
        Group of each row, for a guarantee per group; the canary is one more group.

    canary : tuple (rows, labels), default=None
        What is added: one row, of shape (n_features,), and its label. For a guarantee per group,
        also k rows of one person, of shape (k, n_features), and k labels or one. A DataFrame if X
        is one. By default a row with the value farthest from the mean in each column, or the
        rarest value of a non-numeric column, and the rarest label; a person has ten such rows.
        The guarantee holds for any canary; a canary that adds more, up to the source's clipping,
        gives a closer bound.

    statistics : callable, default=released_statistics
        Takes a release and returns the numbers to examine: a dict of arrays of shape
        (n_statistics,) by part, or one array. Default: all that is released.

    n_trials : int, default=2000
        Number of fits with the canary, and as many without it.

    confidence : float, default=0.95
        Confidence of the verdict.

    n_jobs : int or None, default=None
        Number of parallel fits, as in joblib.

    verbose : int, default=0
        If positive, print progress.

    Returns
    -------
    audit : ReleaseAudit
        Print it, or see ``passed``, ``epsilon_lower`` and ``verdict``.

    Raises
    ------
    ValueError
        If the guarantee is about other neighbors, groups are missing or unused, the canary has
        several rows for a guarantee about records, or it changes nothing in the release.

    References
    ----------
    Dong, J., Roth, A. and Su, W. J., "Gaussian differential privacy", Journal of the Royal
    Statistical Society B 84, 2022.

    Nasr, M., Hayes, J., Steinke, T., Balle, B., Tramèr, F., Jagielski, M., Carlini, N. and
    Terzis, A., "Tight auditing of differentially private machine learning", USENIX Security
    2023.

    Examples
    --------
    A source of one noisy count, with a tenth of the noise that its claim needs:

    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from skdp.privacy import Mechanism, PrivacyGuarantee
    >>> from skdp.privacy.audit import audit_release
    >>> claim = PrivacyGuarantee(
    ...     *("a noisy count", [Mechanism("gaussian", 1.0, 1e-5)], None, 1, "all", "nothing"),
    ...     unit="labeled record",
    ...     relation="add/remove",
    ... )
    >>> class Count(BaseEstimator):
    ...     def fit(self, X, y):
    ...         noise = np.random.default_rng().normal(scale=0.1 / claim.gaussian_distance)
    ...         self.release_ = SimpleNamespace(guarantee=claim, count=len(y) + noise)
    ...         return self
    >>> X, y = np.zeros((20, 1)), np.arange(20) % 2
    >>> def statistics(release):
    ...     return np.array([release.count])
    >>> audit = audit_release(Count(), X, y, statistics=statistics, n_trials=500)
    >>> audit.passed, audit.verdict
    (False, 'REFUTED')
    """
    worlds = _Worlds(source, X, y, groups, canary, statistics)
    settings = {"n_jobs": n_jobs, "verbose": verbose, "label": "audit_release", "unit": "fits"}
    # Some hundred suffice to learn the effect of the canary and the noise on the statistics of a
    # release; all others test.
    n_learned = int(0.25 * n_trials)
    n_tested = n_trials - n_learned
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # equal noise is intended here
        learned = worlds.released(range(n_learned), settings)
    if worlds.seeded and all(np.array_equal(*a.swapaxes(0, 1)) for a in learned.values()):
        raise ValueError(
            "The 'canary' parameter of audit_release changes nothing in the output of "
            "'statistics'. Use a known label, and a row that the source does not ignore."
        )
    score = BestScore(learned)
    tested = worlds.released([None] * n_tested, settings)
    guarantee, parts = worlds.guarantee, tuple(learned)
    evidence, mu, by_event = _find(score(learned), score(tested), guarantee, confidence)
    evidence = replace(evidence, attacks=f"this canary in {', '.join(parts)}")
    return ReleaseAudit(guarantee, evidence, mu, by_event, worlds.n_rows, parts, score.parts)


def _find(learned, tested, guarantee, confidence):
    """Return the evidence of scores of shape (n_fits, 2), a bound of μ and one of events."""
    distance = guarantee.gaussian_distance
    gaussian = distance is not None and 0 < distance < np.inf
    # A part is left to the bound that does not assume Gaussian losses: μ is 2%
    # lower, but rare but complete leaks are found).
    missed = (1 - confidence) * (0.2 if gaussian else 1.0)
    scores = np.concatenate([learned, tested])
    chooses = np.arange(len(scores)) < len(scores) // 2
    with_canary = np.tile([False, True], len(scores))
    trial = scores.ravel(), with_canary, np.repeat(chooses, 2)
    evidence, _ = find_evidence({"canary": trial}, guarantee, 1 - missed)
    by_event, mu = evidence.epsilon_lower, None
    if gaussian:
        without, others = tested.T
        of_pairs = confidence + missed
        by_pairs, mu = find_gaussian_evidence(others, without, guarantee, of_pairs)
        evidence = max(by_pairs, evidence, key=lambda one: one.epsilon_lower)
    return evidence, mu, by_event


class _Worlds:
    """Rows with and without a canary, and the releases of a source from either."""

    def __init__(self, source, X, y, groups, canary, statistics):
        self._source, self._statistics = source, statistics
        self.seeded = "random_state" in source.get_params(deep=False)
        X, y = read_rows(X, y)
        # A person with several rows, which together must count as one.
        with_canary = _with_canary(X, y, canary, 1 if groups is None else 10)
        self.n_rows = len(with_canary[1]) - len(y)
        self._data = [(X, y), with_canary]
        self._groups: list = [{}, {}]
        if groups is not None:
            codes = np.unique(label_array(groups), return_inverse=True)[1]
            person = np.full(self.n_rows, codes.max() + 1)
            self._groups = [{"groups": codes}, {"groups": np.concatenate([codes, person])}]
        self.guarantee = self._fit(False, None).release_.guarantee
        _check_guarantee(self.guarantee, groups)
        if groups is None and self.n_rows != 1:
            raise ValueError(
                f"The 'canary' parameter of audit_release has {self.n_rows} rows, but the "
                "guarantee is about one record. Pass one row, or groups."
            )

    def released(self, seeds, settings):
        """Return statistics without and with the canary, (n_seeds, 2, n_statistics) by part.

        A seed of None is the source's own noise. The settings are arguments of :func:`run_tasks`.
        """
        tasks = [(with_canary, seed) for seed in seeds for with_canary in (False, True)]
        fits = run_tasks(self._look, tasks, len(tasks), **settings)
        released = {}
        for part in fits[0]:
            numbers = [fit[part] for fit in fits]
            if len({len(row) for row in numbers}) > 1:
                raise ValueError(
                    "The 'statistics' parameter of audit_release must return equally many numbers "
                    f"for each release, got {min(map(len, numbers))} and {max(map(len, numbers))}"
                    f" for {part!r}."
                )
            released[part] = np.reshape(numbers, (len(seeds), 2, -1)).astype(np.float64)
        return released

    def _look(self, with_canary, seed):
        statistics = self._statistics(self._fit(with_canary, seed).release_)
        return statistics if isinstance(statistics, dict) else {"statistics": statistics}

    def _fit(self, with_canary, seed):
        source = clone(self._source)
        if seed is not None and self.seeded:
            source.set_params(random_state=seed)
        return source.fit(*self._data[with_canary], **self._groups[with_canary])


def _check_guarantee(guarantee, groups):
    if guarantee.relation != "add/remove":
        raise ValueError(
            "The 'source' parameter of audit_release must have a guarantee for added or removed "
            f"records, got relation={guarantee.relation!r}. Use audit_membership for replaced "
            "ones."
        )
    if (guarantee.unit == "group") != (groups is not None):
        raise ValueError(
            "The 'groups' parameter of audit_release must be given if and only if the guarantee "
            f"is per group, got one per {guarantee.unit}."
        )


def _with_canary(X, y, canary, n_rows):
    """Return rows and labels plus the canary, by default an extreme one."""
    rows, labels = _extreme(X, y, n_rows) if canary is None else canary
    rows = as_frame(rows, "canary")
    if not hasattr(rows, "iloc"):
        rows = np.atleast_2d(rows)
    return stack_rows(X, rows), np.concatenate([y, np.broadcast_to(labels, len(rows))])


def _extreme(X, y, n_rows):
    """Return extreme rows: the ends of the columns, and the rarest label."""
    labels, counts = np.unique(y, return_counts=True)
    frame = pd.DataFrame(X).infer_objects()
    rows = pd.DataFrame({name: [_far(column)] * n_rows for name, column in frame.items()})
    rows = rows.astype(frame.dtypes)
    return (rows if hasattr(X, "iloc") else rows.to_numpy()), labels[np.argmin(counts)]


def _far(column):
    if not pd.api.types.is_numeric_dtype(column):
        return column.value_counts().index[-1]
    return column.iloc[(column - column.mean()).abs().argmax()]


class BestScore:
    """The weighted sum of statistics that best distinguishes releases with and without a canary.

    It learns from statistics by part, (n_fits, 2, n_statistics) each, without and with the canary.
    """

    # For normal noise of covariance S, that is the log-likelihood ratio with weights S⁻¹d, where d
    # is what the canary adds: the most powerful test (Neyman and Pearson). Both are estimated. S
    # is shrunk towards independent noise such that weights from one half of the fits perform best
    # on the other half, by the area under the ROC curve. By the same measure, one part of the
    # release is used instead of all of them if it performs better.

    def __init__(self, learned):
        choices = [tuple(learned)] + [(name,) for name in learned if len(learned) > 1]
        best = -np.inf
        for parts in choices:
            fits = np.concatenate([learned[name] for name in parts], axis=2)
            halves = fits[::2], fits[1::2]
            directions = [_directions(half) for half in halves]
            # Weights of independent noise: from just enough for duplicated statistics to no
            # correlations at all.
            for part in (1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0):
                told = sum(
                    _area(other @ weights(part))
                    for other, weights in zip(halves[::-1], directions, strict=True)
                )
                if told > best:
                    best, self.parts, independent = told, parts, part
        fits = np.concatenate([learned[name] for name in self.parts], axis=2)
        self.weights = _directions(fits)(independent)

    def __call__(self, released):
        """Return the scores of releases, of shape (n_fits, 2)."""
        return np.concatenate([released[name] for name in self.parts], axis=2) @ self.weights


def _area(scores):
    return area_under_curve(scores[:, 1], scores[:, 0])[0]


def _directions(fits):
    """Return a function from the weight of independent noise to S⁻¹d."""
    means = fits.mean(axis=0)
    noise = (fits - means).reshape(-1, fits.shape[2])
    # A statistic without noise would have a deviation of zero.
    floor = 1e-9 * np.maximum(np.abs(fits).max(axis=(0, 1)), np.finfo(np.float32).tiny)
    deviations = np.maximum(noise.std(axis=0), floor)
    d = (means[1] - means[0]) / deviations
    # By singular values, as there may be more statistics than fits.
    _, values, axes = np.linalg.svd(noise / deviations, full_matrices=False)
    squares, along = values**2 / len(noise), axes @ d

    def weights(part):
        inside = along * (1 - part) * squares / ((1 - part) * squares + part)
        return (d - inside @ axes) / part / deviations

    return weights
