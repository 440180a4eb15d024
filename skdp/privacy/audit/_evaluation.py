"""How well scores tell members from others, and what that says about ε."""

import numpy as np

from skdp.privacy._composition import gaussian_epsilon_of
from skdp.privacy.audit._evidence import Evidence, GaussianEvidence
from skdp.privacy.audit._intervals import (
    area_under_curve,
    clopper_pearson,
    epsilon_lower_bound,
    mu_lower_bound,
)

# Thresholds of the scores that are tried (rule of thumb).
_THRESHOLDS = 200


def halves(is_member, y, random_state):
    """Return which records choose thresholds: half of the members and others of each class.

    Parameters
    ----------
    is_member : ndarray of bool of shape (n_records,)

    y : ndarray of shape (n_records,)
        Labels.

    random_state : RandomState

    Returns
    -------
    chooses : ndarray of bool of shape (n_records,)
    """
    chooses = np.zeros(len(y), dtype=bool)
    for member in (True, False):
        for label in np.unique(y):
            rows = random_state.permutation(np.flatnonzero((is_member == member) & (y == label)))
            chooses[rows[: (len(rows) + 1) // 2]] = True
    return chooses


def evaluate(scores, is_member, chooses, confidence, delta):
    """Return a row of the report, see :class:`MembershipReport`.

    Parameters
    ----------
    scores : ndarray of shape (n_records,)
        Higher for likelier members.

    is_member, chooses : ndarray of bool of shape (n_records,)
        What is true, and which records choose thresholds.

    confidence : float
        Of each interval and each bound, on its own.

    delta : float
        The δ that is granted.

    Returns
    -------
    row : dict
    """
    members, others = scores[is_member], scores[~is_member]
    auc, auc_low, auc_high = area_under_curve(members, others, confidence)
    row = {
        "n_members": len(members),
        "n_others": len(others),
        "auc": auc,
        "auc_low": auc_low,
        "auc_high": auc_high,
    }
    for rate, name in ((0.01, "1%"), (0.001, "0.1%")):
        # Strictly above all but this fraction of the others, where these are enough to tell.
        threshold = np.quantile(others, 1 - rate, method="higher")
        hits = int(np.sum(members > threshold))
        low, high = clopper_pearson(hits, len(members), confidence)
        values = (hits / len(members), float(low), float(high))
        if len(others) * rate < 1:
            values = (np.nan,) * 3
        keys = (f"tpr_at_{name}", f"tpr_at_{name}_low", f"tpr_at_{name}_high")
        row.update(zip(keys, values, strict=True))
    choice, test = _halved(scores, is_member, chooses)
    row["advantage"] = float(test.advantage()[choice.advantage().argmax()])
    row["accuracy"] = (1 + row["advantage"]) / 2
    best = choice.epsilon(confidence, delta).argmax()
    row["epsilon_lower"] = float(test.epsilon(confidence, delta)[best])
    m, n = test.sizes
    row["epsilon_limit"] = float(epsilon_lower_bound(m, m, 0, n, delta, confidence))
    return row


def find_evidence(trials, guarantee, confidence):
    """Return what several attacks together show, and which of them shows most.

    Parameters
    ----------
    trials : dict of {str: tuple}
        Of each attack ``scores``, ``is_member`` and ``chooses``, as for :func:`evaluate`.

    guarantee : PrivacyGuarantee or None
        The claim.

    confidence : float
        That all bounds are right at once (Bonferroni).

    Returns
    -------
    evidence : Evidence
        The greatest bound, and the sizes of the largest sample.

    attack : str
    """
    delta = 0.0 if guarantee is None else guarantee.delta
    each = 1 - (1 - confidence) / len(trials)
    bounds, sizes = {}, []
    for attack, trial in trials.items():
        choice, test = _halved(*trial)
        best = choice.epsilon(each, delta).argmax()
        bounds[attack] = float(test.epsilon(each, delta)[best])
        sizes.append(test.sizes)
    attack = max(bounds, key=lambda name: bounds[name])
    claim = None if guarantee is None else guarantee.epsilon
    return Evidence(claim, delta, bounds[attack], each, *max(sizes, key=min)), attack


def find_gaussian_evidence(members, others, guarantee, confidence):
    """Return what pairs of scores show of a claim whose losses are Gaussian, and the bound of μ.

    Parameters
    ----------
    members, others : ndarray of shape (n_pairs,)
        Higher for likelier members; independent of each other.

    guarantee : PrivacyGuarantee
        The claim.

    confidence : float
        Of the bound.

    Returns
    -------
    evidence : GaussianEvidence

    mu : float
    """
    n = len(members)
    mu = float(mu_lower_bound(np.count_nonzero(members > others), n, confidence))
    epsilon = gaussian_epsilon_of(mu, guarantee.delta)
    return GaussianEvidence(guarantee.epsilon, guarantee.delta, epsilon, confidence, n, n), mu


def _halved(scores, is_member, chooses):
    """Return counts at thresholds: of the records that choose, and of those that test."""
    thresholds = np.unique(np.quantile(scores[chooses], np.linspace(0, 1, _THRESHOLDS)))
    return [_Counts(scores[rows], is_member[rows], thresholds) for rows in (chooses, ~chooses)]


class _Counts:
    """How many members and others score at least each of some thresholds."""

    def __init__(self, scores, is_member, thresholds):
        samples = [np.sort(scores[is_member == member]) for member in (True, False)]
        self.sizes = [len(sample) for sample in samples]
        self._above = [len(s) - np.searchsorted(s, thresholds, "left") for s in samples]

    def advantage(self):
        members, others = (a / n for a, n in zip(self._above, self.sizes, strict=True))
        return members - others

    def epsilon(self, confidence, delta):
        """Return bounds of ε at δ by the events "above" and then by "not above"."""
        (members, others), (m, n) = self._above, self.sizes
        above = epsilon_lower_bound(members, m, others, n, delta, confidence)
        below = epsilon_lower_bound(n - others, n, m - members, m, delta, confidence)
        return np.concatenate([above, below])
