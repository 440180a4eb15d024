"""Membership inference with models of the attacker's own."""

from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skdp.privacy.audit._metrics import (
    LEAST,
    as_classifier,
    class_probabilities,
    log_odds,
    probability_of_label,
    take_rows,
)
from skdp.utils._sklearn import HasMethods, Interval, fit_context

# Seeds of shadow models are below this, the most that any random_state takes.
_SEEDS = np.iinfo(np.int32).max
# Number of largest probabilities of a prediction that an attack classifier sees (rule of thumb).
_N_LEADING = 3
# Floor of the standard deviation of log-odds: some models never change their mind (rule of thumb).
_LEAST_DEVIATION = 0.1


class _ShadowTraining(BaseEstimator):
    """Models of the attacker's own, of which it is known what they were trained on."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_shadows": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def _train(self, X, y):
        """Return shadow models, and which rows each of them saw: half of all, at random.

        Models come in pairs that see the two halves, so that each row is seen by as many
        models as not.
        """
        random_state = check_random_state(self.random_state)
        seen = np.zeros((self.n_shadows, len(y)), dtype=bool)
        for k in range(0, self.n_shadows, 2):
            half = random_state.permutation(len(y)) < len(y) // 2
            seen[k : k + 2] = [half, ~half][: self.n_shadows - k]
        shadows = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_seeded)(
                self.estimator, take_rows(X, rows), y[rows], random_state.randint(_SEEDS)
            )
            for rows in seen
        )
        return shadows, seen


def fit_seeded(estimator, X, y, seed):
    """Return a clone, fitted, that predicts.

    Parameters
    ----------
    estimator : classifier or source
        Is cloned; a ``source`` of its own is passed on as it is, fitted or not.

    X, y : array-like
        Rows and labels.

    seed : int
        For a ``random_state`` of its own. Those of the steps of a pipeline stay: noise keeps
        its fresh entropy.

    Returns
    -------
    classifier : fitted classifier
    """
    model = clone(estimator)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    if getattr(estimator, "source", None) is not None:
        model.set_params(source=estimator.source)
    return as_classifier(model.fit(X, y))


class ShadowAttack(_ShadowTraining):
    """Learn from shadow models how predictions of members differ (Shokri et al., 2017).

    SERUMS D3.3 (2022), chapter 3, attacks in this way. The attacker has rows of the same kind
    as the private ones, but none of them. Shadow models are trained on halves of these;
    another classifier learns to tell, from the three largest probabilities, the loss, the
    entropy and the correctness of a prediction, whether a model saw the row.

    Parameters
    ----------
    estimator : classifier
        What the attacker takes the model for. Is cloned.

    attack_classifier : classifier, default=None
        Tells members from others; with ``predict_proba`` or ``decision_function``. By
        default, logistic regression on standardised features.

    per_class : bool, default=False
        Whether each class of the model has an attack classifier of its own.

    n_shadows : int, default=20
        Shadow models.

    n_jobs : int or None, default=None
        Shadow models trained at once, as in joblib.

    random_state : int, RandomState instance or None, default=None
        For the halves, and for models that have a ``random_state`` of their own; the steps of
        a pipeline keep theirs.

    Attributes
    ----------
    attack_classifiers_ : dict
        By class label; for None, that of all classes.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V., "Membership inference attacks against
    machine learning models", IEEE S&P 2017.

    SERUMS project, deliverable D3.3, "Final report on distributed differential privacy transfer
    and homomorphic encryption", 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skdp.privacy.audit import ShadowAttack
    >>> X, y = load_digits(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:500], y[:500])
    >>> attack = ShadowAttack(tree, n_shadows=4, random_state=0).fit(X[1000:], y[1000:])
    >>> seen = attack.score_members(tree, X[:500], y[:500])
    >>> unseen = attack.score_members(tree, X[500:1000], y[500:1000])
    >>> bool(seen.mean() > unseen.mean() + 0.05)
    True
    """

    _parameter_constraints: dict = {
        **_ShadowTraining._parameter_constraints,
        "attack_classifier": [HasMethods(["fit", "predict"]), None],
        "per_class": ["boolean"],
    }

    def __init__(
        self,
        estimator,
        *,
        attack_classifier=None,
        per_class=False,
        n_shadows=20,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.attack_classifier = attack_classifier
        self.per_class = per_class
        self.n_shadows = n_shadows
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Train shadow models and attack classifiers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the attacker's own.

        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
        """
        y = np.asarray(y)
        shadows, seen = self._train(X, y)
        features = np.concatenate([_features(shadow, X, y) for shadow in shadows])
        labels, members = np.tile(y, len(shadows)), seen.ravel()
        default = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        attack = default if self.attack_classifier is None else self.attack_classifier
        self.attack_classifiers_ = {None: clone(attack).fit(features, members)}
        for label in np.unique(y) if self.per_class else ():
            rows = labels == label
            if len(np.unique(members[rows])) == 2:
                own = clone(attack).fit(features[rows], members[rows])
                self.attack_classifiers_[label] = own
        return self

    def score_members(self, model, X, y):
        """Return how much each record looks like a member.

        Parameters
        ----------
        model : fitted classifier
            Under attack.

        X : array-like of shape (n_samples, n_features)
            Records.

        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Probability that it is one, or the attack classifier's decision function.
        """
        check_is_fitted(self)
        y = np.asarray(y)
        features = _features(model, X, y)
        scores = _positive(self.attack_classifiers_[None], features)
        for label, attack in self.attack_classifiers_.items():
            rows = y == label
            if label is not None and rows.any():
                scores[rows] = _positive(attack, features[rows])
        return scores


def _features(model, X, y):
    p = class_probabilities(model, X)
    # As many features for each model, whatever classes its training rows happened to have.
    leading = np.full((len(p), _N_LEADING), LEAST)
    leading[:, : p.shape[1]] = np.sort(p, axis=1)[:, ::-1][:, :_N_LEADING]
    features = [
        leading,
        np.log(probability_of_label(model, p, y)),
        (p * np.log(p)).sum(axis=1),
        model.predict(X) == y,
    ]
    return np.column_stack(features)


def _positive(classifier, features):
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba(features)[:, 1]
    return np.asarray(classifier.decision_function(features), dtype=np.float64)


class LikelihoodRatioAttack(_ShadowTraining):
    r"""Compare each record with models that saw it and models that did not (LiRA).

    With φ the log-odds of the true class, the score of a record is the log-likelihood ratio
    of the model's φ under two normal distributions, whose means are those of the shadow
    models with and without this record and whose variances are common to all records
    (Carlini et al., 2022):

    .. math:: \log\frac{N(φ; μ_{in}, σ_{in}^2)}{N(φ; μ_{out}, σ_{out}^2)}

    It is the strongest of the attacks here, and needs the very records in question.

    Parameters
    ----------
    estimator : classifier
        How the model was trained. Is cloned.

    n_shadows : int, default=20
        Shadow models; each record is in half of them.

    n_jobs : int or None, default=None
        Shadow models trained at once, as in joblib.

    random_state : int, RandomState instance or None, default=None
        For the halves, and for models that have a ``random_state`` of their own; the steps of
        a pipeline keep theirs.

    References
    ----------
    Carlini, N. et al., "Membership inference attacks from first principles", IEEE S&P 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skdp.privacy.audit import LikelihoodRatioAttack
    >>> X, y = load_digits(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:500], y[:500])
    >>> attack = LikelihoodRatioAttack(tree, n_shadows=4, random_state=0).fit(X[:1000], y[:1000])
    >>> scores = attack.score_members(tree, X[:1000], y[:1000])
    >>> bool(scores[:500].mean() > scores[500:].mean())
    True
    """

    _parameter_constraints: dict = {
        **_ShadowTraining._parameter_constraints,
        "n_shadows": [Interval(Integral, 4, None, closed="left")],
    }

    def __init__(self, estimator, *, n_shadows=20, n_jobs=None, random_state=None):
        self.estimator = estimator
        self.n_shadows = n_shadows
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Train shadow models on halves of the records in question.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All records, members or not.

        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
        """
        y = np.asarray(y)
        shadows, seen = self._train(X, y)
        odds = np.array([log_odds(shadow, X, y) for shadow in shadows])
        self._distributions = [_normal(odds, seen), _normal(odds, ~seen)]
        return self

    def score_members(self, model, X, y):
        """Return the log-likelihood ratio of each record.

        Parameters
        ----------
        model : fitted classifier
            Under attack.

        X : array-like of shape (n_samples, n_features)
            The records of :meth:`fit`, in the same order.

        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        (mean_in, sd_in), (mean_out, sd_out) = self._distributions
        if len(y) != len(mean_in):
            raise ValueError(
                f"score_members got {len(y)} records, but fit had {len(mean_in)}. Pass the "
                "records of fit in the same order."
            )
        odds = log_odds(model, X, y)
        return norm.logpdf(odds, mean_in, sd_in) - norm.logpdf(odds, mean_out, sd_out)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_distributions")


def _normal(odds, chosen):
    """Return the mean for each record over chosen models, and one standard deviation."""
    count = np.maximum(chosen.sum(axis=0), 1)
    mean = np.where(chosen, odds, 0).sum(axis=0) / count
    variance = np.sum(np.where(chosen, odds - mean, 0) ** 2) / max(np.sum(count - 1), 1)
    return mean, max(np.sqrt(variance), _LEAST_DEVIATION)
