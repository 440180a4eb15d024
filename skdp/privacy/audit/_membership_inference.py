"""Membership inference on a trained classifier: the attacks, one after the other."""

from numbers import Real

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import roc_curve
from sklearn.utils import check_random_state

from skdp.privacy import PrivacyGuarantee
from skdp.privacy.audit._evaluation import evaluate, find_evidence, halves
from skdp.privacy.audit._membership_report import MembershipReport
from skdp.privacy.audit._metrics import METRICS, as_classifier, membership_scores, stack_rows
from skdp.privacy.audit._neighbourhood import NEIGHBOURHOOD, canary_scores, halfway_scores
from skdp.privacy.audit._shadows import LikelihoodRatioAttack, ShadowAttack
from skdp.utils._sklearn import Interval, StrOptions, validate_params

_DEFAULT_ATTACKS = (*METRICS, *NEIGHBOURHOOD)
_ATTACKS = (*_DEFAULT_ATTACKS, "shadow", "shadow_per_class", "likelihood_ratio")
# Fewest members, and others, of a class that has a row of its own: two of each choose thresholds,
# two of each test them.
_FEWEST = 4


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
    model,
    members,
    others,
    *,
    attacks=_DEFAULT_ATTACKS,
    estimator=None,
    shadow_data=None,
    n_shadows=20,
    attack_classifier=None,
    guarantee="auto",
    confidence=0.95,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Try to tell the records that a classifier was trained on from others.

    That no attack succeeds proves nothing. One that goes beyond a claim refutes it, if it used
    nothing that the claim excludes: the guarantees here are about features, and where labels
    are in the clear a rare label alone can give a record away.

    Parameters
    ----------
    model : fitted classifier or DPSource
        Under attack. A source is asked what its ``release_`` predicts.

    members : tuple (X, y)
        Records that it was trained on, with labels.

    others : tuple (X, y)
        Records of the same kind that it was not trained on.

    attacks : sequence of str, default=("correctness", "loss", "confidence", "entropy", \
            "halfway", "canary")
        The first four see :func:`membership_scores`. ``"halfway"`` asks for predictions on
        the way from each record to its nearest of other labels: a boundary in the middle
        gives both away. ``"canary"`` does not attack the model but how it was trained: one
        more is trained on the members and on half of the others, with wrong labels planted,
        and asked for these; a pair of neighbours differs in the features of a record alone.
        Also ``"shadow"`` and ``"shadow_per_class"`` (:class:`ShadowAttack`), and
        ``"likelihood_ratio"`` (:class:`LikelihoodRatioAttack`), which train more models.

    estimator : classifier, default=None
        What canaries are planted in and shadow models are made of. By default, clones of
        the model.

    shadow_data : tuple (X, y), default=None
        Further rows, the attacker's own, for the shadow attacks.

    n_shadows : int, default=20
        Shadow models of each attack that has some.

    attack_classifier : classifier, default=None
        See :class:`ShadowAttack`.

    guarantee : PrivacyGuarantee, None or "auto", default="auto"
        What is claimed. By default that of the model, or of a step of a pipeline; but none for
        a model with a ``source``, whose guarantee is about other rows. One for records that are
        added or removed is held to what it means for records that are replaced, as these are;
        for the former see :func:`audit_release`.

    confidence : float, default=0.95
        Of each interval and each bound, on its own; and of the verdict, all attacks at once.

    n_jobs : int or None, default=None
        Shadow models trained at once, as in joblib.

    random_state : int, RandomState instance or None, default=None
        For canaries and shadow models, and for which records choose thresholds and which test
        them.

    verbose : int, default=0
        Above 0, print each attack as it ends.

    Returns
    -------
    report : MembershipReport
        Print it, or look at ``passed``, ``verdict`` and ``to_frame()``.

    Raises
    ------
    ValueError
        When an attack is unknown, or lacks ``shadow_data``, or enough others for canaries;
        when the model is none that predicts, such as :class:`~skdp.RandomizedResponse`; when
        the guarantee is about labels alone, of which these attacks, by features, test nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skdp.privacy.audit import audit_membership
    >>> X, y = load_digits(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:900], y[:900])
    >>> report = audit_membership(tree, (X[:900], y[:900]), (X[900:], y[900:]), random_state=0)
    >>> frame = report.to_frame()
    >>> bool(frame.loc[frame["class"] == "all", "auc"].max() > 0.55)
    True

    A claim that this training cannot keep:

    >>> from skdp.privacy import Mechanism, PrivacyGuarantee
    >>> stated = [Mechanism("any", 1.0)]
    >>> claim = PrivacyGuarantee("tree", stated, 1.0, 64, "rows", "labels", unit="record")
    >>> audit_membership(
    ...     tree, (X[:900], y[:900]), (X[900:], y[900:]), guarantee=claim, random_state=0
    ... ).passed
    False
    """
    _check_attacks(attacks, shadow_data)
    _check_model(model)
    if isinstance(guarantee, str):
        guarantee = find_guarantee(model)
    _check_guarantee(guarantee)
    # A canary takes the place of another record.
    guarantee = None if guarantee is None else guarantee.to_record().to_replace_one()
    delta = 0.0 if guarantee is None else guarantee.delta
    records = _Records(members, others)
    random_state = check_random_state(random_state)
    chooses = halves(records.is_member, records.y, random_state)
    estimator = clone(model if estimator is None else estimator)
    if getattr(model, "source", None) is not None and hasattr(estimator, "source"):
        # A clone of a fitted source is not fitted, and its release is what is learned from.
        estimator.set_params(source=model.source)
    settings = {"n_shadows": n_shadows, "n_jobs": n_jobs}
    rows, curves, trials = [], {}, {}
    for attack in attacks:
        if attack == "canary":
            scores, joined, labels = canary_scores(estimator, members, others, random_state)
            trial = (scores, joined, halves(joined, labels, random_state))
        else:
            scores = _scores(
                attack,
                as_classifier(model),
                records,
                estimator,
                shadow_data,
                {**settings, "attack_classifier": attack_classifier},
                random_state,
            )
            trial, labels = (scores, records.is_member, chooses), records.y
        trials[attack] = trial
        curves[attack] = roc_curve(trial[1], trial[0], drop_intermediate=False)[:2]
        rows += _rows(attack, trial, labels, confidence, delta)
        if verbose:
            overall = next(row for row in rows if row["attack"] == attack)
            print(f"[audit_membership] {attack}: AUC {overall['auc']:.3f}")
    evidence, best = find_evidence(trials, guarantee, confidence)
    return MembershipReport(pd.DataFrame(rows), curves, confidence, guarantee, evidence, best)


class _Records:
    """Members and others, one after the other."""

    def __init__(self, members, others):
        self.X = stack_rows(members[0], others[0])
        self.y = np.concatenate([np.asarray(members[1]), np.asarray(others[1])])
        self.is_member = np.arange(len(self.y)) < len(members[1])


def _scores(attack, model, records, estimator, shadow_data, settings, random_state):
    """Return how much each record looks like a member."""
    if attack in METRICS:
        return membership_scores(model, records.X, records.y, attack)
    if attack == "halfway":
        return halfway_scores(model, records.X, records.y)
    settings = {**settings, "random_state": random_state.randint(np.iinfo(np.int32).max)}
    if attack == "likelihood_ratio":
        del settings["attack_classifier"]
        trained = LikelihoodRatioAttack(estimator, **settings).fit(records.X, records.y)
    else:
        settings["per_class"] = attack == "shadow_per_class"
        trained = ShadowAttack(estimator, **settings).fit(*shadow_data)
    return trained.score_members(model, records.X, records.y)


def _rows(attack, trial, labels, confidence, delta):
    """Return the rows of one attack: for all classes together, and for each."""
    scores, is_member, chooses = trial
    overall = evaluate(scores, is_member, chooses, confidence, delta)
    rows = [{"attack": attack, "class": "all", **overall}]
    for label in np.unique(labels).tolist():
        own = labels == label
        if min(is_member[own].sum(), (~is_member[own]).sum()) >= _FEWEST:
            part = evaluate(scores[own], is_member[own], chooses[own], confidence, delta)
            rows.append({"attack": attack, "class": label, **part})
    return rows


def _check_attacks(attacks, shadow_data):
    unknown = [attack for attack in attacks if attack not in _ATTACKS]
    if unknown:
        raise ValueError(
            f"The 'attacks' parameter of audit_membership has {unknown}, which are not among "
            f"{_ATTACKS}."
        )
    if shadow_data is None and any(attack.startswith("shadow") for attack in attacks):
        raise ValueError(
            "The 'shadow_data' parameter of audit_membership must be rows of the attacker's "
            "own, (X, y), for the attacks 'shadow' and 'shadow_per_class', got None."
        )


def _check_model(model):
    if not hasattr(model, "predict") and not hasattr(model, "release_"):
        raise ValueError(
            "The 'model' parameter of audit_membership must be a fitted classifier or DPSource, "
            f"got {model!r}, which predicts nothing. Audit what adds noise to features or labels "
            "with audit_mechanism."
        )


def _check_guarantee(guarantee):
    if guarantee is not None and guarantee.unit == "label":
        raise ValueError(
            "The 'guarantee' parameter of audit_membership has unit='label': it claims nothing "
            "of features, by which these attacks tell records apart. Give guarantee=None, and "
            "audit the labels with audit_mechanism."
        )


def find_guarantee(model):
    """Return the guarantee of a model, of a step of its pipeline, or None.

    Parameters
    ----------
    model : estimator
        Perhaps a pipeline.

    Returns
    -------
    guarantee : PrivacyGuarantee or None
        None for a model with a ``source``, whose guarantee is about other rows.
    """
    if getattr(model, "source", None) is not None:
        return None
    guarantee = getattr(model, "guarantee_", None)
    for _, step in getattr(model, "steps", ()):
        guarantee = guarantee or find_guarantee(step)
    return guarantee
