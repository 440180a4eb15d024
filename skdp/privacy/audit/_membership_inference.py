"""Audit of a trained classifier by membership inference attacks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import roc_curve
from sklearn.utils import check_random_state

from skdp.displays import AuditDisplay
from skdp.privacy import PrivacyGuarantee
from skdp.privacy.audit._attacks import (
    METRICS,
    LikelihoodRatioAttack,
    ShadowAttack,
    as_classifier,
    canary_scores,
    halfway_scores,
    membership_scores,
    read_rows,
    stack_rows,
)
from skdp.privacy.audit._evidence import (
    AuditReport,
    Evidence,
    area_under_curve,
    best_epsilon,
    clopper_pearson,
    count_halves,
    epsilon_lower_bound,
    find_evidence,
)
from skdp.utils._parallel import draw_seeds
from skdp.utils._sklearn import Interval, StrOptions, validate_params

_DEFAULT_ATTACKS = (*METRICS, "halfway", "canary")
_ATTACKS = (*_DEFAULT_ATTACKS, "shadow", "shadow_per_class", "likelihood_ratio")


@dataclass(frozen=True)
class MembershipReport(AuditReport):
    """Result of membership inference attacks, compared with the claimed guarantee.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per attack and class (``"all"`` for all classes): ``n_members`` and
        ``n_others``; ``auc``; ``accuracy`` with as many members as others, and ``advantage``
        = 2·accuracy − 1, both at a threshold chosen on other records; the true-positive
        rates ``tpr_at_1%`` and ``tpr_at_0.1%`` of false positives, NaN below 100 and 1,000
        others; ``epsilon_lower``, a lower bound of the training's ε for records at the claimed δ
        (0 without a claim), if the outcomes of records are independent; ``epsilon_limit``, the
        bound that perfect separation would have given; and interval limits (``_low``,
        ``_high``), which treat the threshold of a rate as fixed.

    curves : dict
        False and true-positive rates by attack.

    confidence : float
        Confidence of the intervals and of ``epsilon_lower``.

    guarantee : PrivacyGuarantee or None
        The claimed guarantee for whole records.

    evidence : Evidence
        The joint evidence of all attacks; ``confidence`` holds for all of their bounds together.

    attack : str
        The attack with the largest bound.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skdp.privacy.audit import audit_membership
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(1).fit(X[::2], y[::2])
    >>> report = audit_membership(model, (X[::2], y[::2]), (X[1::2], y[1::2]), attacks=["loss"])
    >>> report.claim
    'nothing'
    >>> report.to_frame()["class"].tolist()
    ['all', 0, 1, 2]
    >>> report.verdict
    'nothing to refute, by these attacks, which detect at least epsilon = 0.736'
    """

    table: pd.DataFrame
    curves: dict[str, tuple[np.ndarray, np.ndarray]] = field(repr=False)
    confidence: float
    guarantee: PrivacyGuarantee | None
    evidence: Evidence
    attack: str

    def to_frame(self) -> pd.DataFrame:
        """Return the table.

        Returns
        -------
        frame : pandas.DataFrame

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from skdp.privacy.audit import audit_membership
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KNeighborsClassifier(1).fit(X[::2], y[::2])
        >>> seen, others = (X[::2], y[::2]), (X[1::2], y[1::2])
        >>> report = audit_membership(model, seen, others, attacks=["loss"])
        >>> report.to_frame()["class"].tolist()  # one attack, all classes together and each
        ['all', 0, 1, 2]
        """
        return self.table.copy()

    @property
    def verdict(self) -> str:
        """The verdict as a sentence, with the smallest ε that the attacks could have detected."""
        if self.passed:
            return super().verdict
        return (
            f"REFUTED by {self.attack!r}: epsilon >= {self.evidence.epsilon_lower:.3g}, with "
            f"{self.confidence:.0%} confidence in all attacks together"
        )

    @property
    def claim(self) -> str:
        """The claim for a record, as a string."""
        if self.guarantee is None:
            return "nothing"
        return (
            f"({self.guarantee.epsilon:g}, {self.guarantee.delta:g}) per {self.guarantee.unit}, "
            f"by {self.guarantee.mechanism}; it excludes {self.guarantee.excludes}"
        )

    def __str__(self) -> str:
        columns = ["attack", "auc", "accuracy", "tpr_at_1%", "tpr_at_0.1%"]
        columns += ["epsilon_lower", "epsilon_limit"]
        rows = self.table[self.table["class"] == "all"]
        text = rows[columns].to_string(index=False, float_format="%.3f")
        return (
            f"membership inference, {self.confidence:.0%} confidence\n{text}\n"
            f"claimed: {self.claim}\n"
            f"verdict: {self.verdict}"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the ROC curves on logarithmic axes, because low false-positive rates matter most.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. Default: a new figure.

        Returns
        -------
        ax : matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).

        See Also
        --------
        skdp.displays.AuditDisplay : The display.
        """
        return AuditDisplay.from_report(self).plot(ax).ax_


@validate_params(
    {
        "attacks": ["array-like"],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "guarantee": [PrivacyGuarantee, StrOptions({"auto"}), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=True,
)
def audit_membership(
    model: Any,
    members: tuple[ArrayLike, ArrayLike],
    others: tuple[ArrayLike, ArrayLike],
    *,
    attacks: Sequence[str] = _DEFAULT_ATTACKS,
    estimator: Any = None,
    shadow_data: Any = None,
    n_shadows: int = 20,
    attack_classifier: Any = None,
    guarantee: PrivacyGuarantee | str | None = "auto",
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> MembershipReport:
    """Attack a classifier by membership inference, and compare the result with its guarantee.

    Unsuccessful attacks prove nothing. An attack that exceeds a claim refutes it if the attack
    used nothing that the claim excludes. Many guarantees are about features only: if labels are
    not protected, a rare label alone can reveal a record.

    Parameters
    ----------
    model : fitted classifier or DPSource
        The model under attack; for a source, its ``release_``.

    members : tuple (X, y)
        Records that it was trained on, with labels.

    others : tuple (X, y)
        Records of the same kind that it was not trained on.

    attacks : sequence of str, default=("correctness", "loss", "confidence", "entropy", \
            "halfway", "canary")
        For the first four see :func:`membership_scores`. ``"halfway"`` examines predictions on
        the line from each record to its nearest records with other labels: a boundary exactly in
        the middle reveals both. ``"canary"`` attacks the training algorithm: it trains another
        model on the members and half of the others with planted wrong labels, and examines
        predictions of these; two neighbors differ only in the features of a record. The
        attacks ``"shadow"`` and ``"shadow_per_class"`` (:class:`ShadowAttack`), and
        ``"likelihood_ratio"`` (:class:`LikelihoodRatioAttack`), train more models.

    estimator : classifier, default=None
        Estimator for canaries and shadow models. Default: clones of the model.

    shadow_data : tuple (X, y), default=None
        Further rows that the attacker owns, for the shadow attacks.

    n_shadows : int, default=20
        Number of shadow models of each attack that needs them.

    attack_classifier : classifier, default=None
        See :class:`ShadowAttack`.

    guarantee : PrivacyGuarantee, None or "auto", default="auto"
        The claim. Default: the guarantee of the model or of a step of its pipeline; none for a
        model with a ``source``, whose guarantee is about other rows. These attacks test replaced
        records; a guarantee for added or removed ones, see :func:`audit_release`, is converted.

    confidence : float, default=0.95
        Confidence of each interval and each bound, and of the verdict for all attacks together.

    n_jobs : int or None, default=None
        Number of shadow models trained in parallel, as in joblib.

    random_state : int, RandomState instance or None, default=None
        For canaries and shadow models, and to split records into two parts: one chooses
        thresholds, and the other tests them.

    verbose : int, default=0
        If positive, print each attack when it ends.

    Returns
    -------
    report : MembershipReport
        Print it, or see ``passed``, ``verdict`` and ``to_frame()``.

    Raises
    ------
    ValueError
        If an attack is unknown, or ``shadow_data`` or enough others for canaries are missing;
        if the model does not predict, such as :class:`~skdp.RandomizedResponse`; or if the
        guarantee is about labels only, which these attacks do not test.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skdp.privacy.audit import audit_membership
    >>> X, y = load_digits(return_X_y=True)
    >>> members, others = (X[:500], y[:500]), (X[500:1000], y[500:1000])
    >>> tree = DecisionTreeClassifier(random_state=0).fit(*members)
    >>> report = audit_membership(tree, members, others, attacks=["loss"], random_state=0)
    >>> frame = report.to_frame()
    >>> bool(frame.loc[frame["class"] == "all", "auc"].max() > 0.55)
    True

    A claim that this training violates:

    >>> from skdp.privacy import Mechanism, PrivacyGuarantee
    >>> stated = [Mechanism("any", 1.0)]
    >>> claim = PrivacyGuarantee("tree", stated, 1.0, 64, "rows", "labels", unit="record")
    >>> settings = {"attacks": ["canary"], "guarantee": claim, "random_state": 0}
    >>> audit_membership(tree, members, others, **settings).passed
    False
    """
    _check_attacks(attacks, shadow_data)
    _check_model(model)
    claim = _claim(_find_guarantee(model) if isinstance(guarantee, str) else guarantee)
    delta = 0.0 if claim is None else claim.delta
    (rows, labels), (other_rows, other_labels) = read_rows(*members), read_rows(*others)
    members, others = (rows, labels), (other_rows, other_labels)
    X, y = stack_rows(rows, other_rows), np.concatenate([labels, other_labels])
    is_member = np.arange(len(y)) < len(labels)
    rng = check_random_state(random_state)
    chooses = _halves(is_member, y, rng)
    estimator = clone(model if estimator is None else estimator)
    if getattr(model, "source", None) is not None and hasattr(estimator, "source"):
        # A clone of a fitted source is not fitted; models learn from the release.
        estimator.set_params(source=model.source)
    classifier = as_classifier(model)
    settings: dict[str, Any] = {"n_shadows": n_shadows, "n_jobs": n_jobs}
    rows, curves, trials = [], {}, {}
    for attack in attacks:
        if attack == "canary":
            scores, joined, labels = canary_scores(estimator, members, others, rng)
            trial = (scores, joined, _halves(joined, labels, rng))
        else:
            if attack in METRICS:
                scores = membership_scores(classifier, X, y, attack)
            elif attack == "halfway":
                scores = halfway_scores(classifier, X, y)
            else:
                settings["random_state"] = draw_seeds(rng)
                if attack == "likelihood_ratio":
                    trained = LikelihoodRatioAttack(estimator, **settings).fit(X, y)
                else:
                    per_class = attack == "shadow_per_class"
                    kind = {"attack_classifier": attack_classifier, "per_class": per_class}
                    trained = ShadowAttack(estimator, **kind, **settings).fit(*shadow_data)
                scores = trained.score_members(classifier, X, y)
            trial, labels = (scores, is_member, chooses), y
        trials[attack] = trial
        curves[attack] = roc_curve(trial[1], trial[0], drop_intermediate=False)[:2]
        rows += _rows(attack, trial, labels, confidence, delta)
        if verbose:
            overall = next(row for row in rows if row["attack"] == attack)
            print(f"[audit_membership] {attack}: AUC {overall['auc']:.3f}")
    evidence, best = find_evidence(trials, claim, confidence)
    return MembershipReport(pd.DataFrame(rows), curves, confidence, claim, evidence, best)


def _rows(attack, trial, labels, confidence, delta):
    """Return the rows of one attack: for all classes, and for each."""
    scores, is_member, chooses = trial
    overall = _evaluate(scores, is_member, chooses, confidence, delta)
    rows = [{"attack": attack, "class": "all", **overall}]
    for label in np.unique(labels).tolist():
        chosen = labels == label
        # Two members and two others choose thresholds, and as many test them.
        if min(is_member[chosen].sum(), (~is_member[chosen]).sum()) >= 4:
            part = _evaluate(scores[chosen], is_member[chosen], chooses[chosen], confidence, delta)
            rows.append({"attack": attack, "class": label, **part})
    return rows


def _check_attacks(attacks, shadow_data):
    unknown = [attack for attack in attacks if attack not in _ATTACKS]
    if unknown:
        raise ValueError(
            f"The 'attacks' parameter of audit_membership has {unknown}. Choose from {_ATTACKS}."
        )
    if shadow_data is None and any(attack.startswith("shadow") for attack in attacks):
        raise ValueError(
            "The 'shadow_data' parameter of audit_membership must be rows of the attacker, "
            "(X, y), for the attacks 'shadow' and 'shadow_per_class', got None."
        )


def _check_model(model):
    if not hasattr(model, "predict") and not hasattr(model, "release_"):
        raise ValueError(
            "The 'model' parameter of audit_membership must be a fitted classifier or DPSource, "
            f"got {model!r}, which does not predict."
        )


def _claim(guarantee):
    """Return the claim for a replaced record, such as a canary."""
    if guarantee is None:
        return None
    if guarantee.unit == "label":
        raise ValueError(
            "The 'guarantee' parameter of audit_membership has unit='label', but these attacks "
            "distinguish records by their features. Use guarantee=None."
        )
    return guarantee.to_record().to_replace_one()


def _find_guarantee(model):
    """Return the guarantee of a model, of a step of its pipeline, or None.

    None for a model with a ``source``, whose guarantee is about other rows.
    """
    if getattr(model, "source", None) is not None:
        return None
    guarantee = getattr(model, "guarantee_", None)
    for _, step in getattr(model, "steps", ()):
        guarantee = guarantee or _find_guarantee(step)
    return guarantee


def _halves(is_member, y, random_state):
    """Return which records choose thresholds: half of the members and others of each class."""
    chooses = np.zeros(len(y), dtype=bool)
    for member in (True, False):
        for label in np.unique(y):
            rows = random_state.permutation(np.flatnonzero((is_member == member) & (y == label)))
            chooses[rows[: (len(rows) + 1) // 2]] = True
    return chooses


def _evaluate(scores, is_member, chooses, confidence, delta):
    """Return a row of the report, see :class:`MembershipReport`."""
    members, others = scores[is_member], scores[~is_member]
    row: dict = {"n_members": len(members), "n_others": len(others)}
    area = area_under_curve(members, others, confidence)
    row.update(zip(("auc", "auc_low", "auc_high"), area, strict=True))
    for rate, name in ((0.01, "1%"), (0.001, "0.1%")):
        # Strictly above all but this fraction of the others, if there are enough of them.
        threshold = np.quantile(others, 1 - rate, method="higher")
        hits = int(np.sum(members > threshold))
        low, high = clopper_pearson(hits, len(members), confidence)
        values = (hits / len(members), float(low), float(high))
        if len(others) * rate < 1:
            values = (np.nan,) * 3
        keys = (f"tpr_at_{name}", f"tpr_at_{name}_low", f"tpr_at_{name}_high")
        row.update(zip(keys, values, strict=True))
    choice, test = count_halves(scores, is_member, chooses)
    row["advantage"] = float(test.advantage()[choice.advantage().argmax()])
    row["accuracy"] = (1 + row["advantage"]) / 2
    row["epsilon_lower"] = best_epsilon(choice, test, confidence, delta)
    m, n = test.sizes
    row["epsilon_limit"] = float(epsilon_lower_bound(m, m, 0, n, delta, confidence))
    return row
