"""Membership inference attacks on classifiers."""

from numbers import Integral
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import softmax
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skdp.utils._frames import as_frame
from skdp.utils._labels import label_array, natural_labels
from skdp.utils._parallel import draw_seeds, run_tasks
from skdp.utils._sklearn import HasMethods, Interval, fit_context

METRICS = ("correctness", "loss", "confidence", "entropy")

# Floor of probabilities, so that logarithms are finite.
_LEAST = 1e-9


def membership_scores(model: Any, X: ArrayLike, y: ArrayLike, attack: str = "loss") -> np.ndarray:
    r"""Return membership scores: higher for records that a classifier was likely trained on.

    Models tend to perform better on their training data (SERUMS D3.3 (2022), chapter 3). For
    predicted probabilities p, the scores are:

    - ``"correctness"``: whether the predicted class is y,
    - ``"loss"``: :math:`\log p_y`,
    - ``"confidence"``: :math:`\max_c p_c`,
    - ``"entropy"``: :math:`\sum_c p_c \log p_c`.

    Parameters
    ----------
    model : fitted classifier
        With ``predict_proba``, or ``decision_function``, whose softmax is taken; the attack
        "correctness" needs neither.

    X : array-like of shape (n_samples, n_features)
        Records.

    y : array-like of shape (n_samples,)
        Their true labels.

    attack : {"correctness", "loss", "confidence", "entropy"}, default="loss"
        Which score to use.

    Returns
    -------
    scores : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If the attack is unknown, or the model has no probabilities.

    References
    ----------
    SERUMS project, deliverable D3.3, "Final report on distributed differential privacy transfer
    and homomorphic encryption", 2022, section 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skdp.privacy.audit import membership_scores
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
    >>> seen = membership_scores(tree, X[::2], y[::2], "correctness")
    >>> unseen = membership_scores(tree, X[1::2], y[1::2], "correctness")
    >>> float(seen.mean()), bool(unseen.mean() < 1)
    (1.0, True)
    """
    X, y = read_rows(X, y)
    if attack == "correctness":
        return (model.predict(X) == y).astype(np.float64)
    p = _class_probabilities(model, X)
    if attack == "loss":
        return np.log(_probability_of_label(model, p, y))
    if attack == "confidence":
        return p.max(axis=1)
    if attack == "entropy":
        return (p * np.log(p)).sum(axis=1)
    raise ValueError(
        f"The 'attack' parameter of membership_scores must be one of {METRICS}, got {attack!r}."
    )


def as_classifier(model):
    """Return the predictor of a model: its release if it has one."""
    return getattr(model, "release_", model)


def _class_probabilities(model, X):
    """Return predicted probabilities, (n_samples, n_classes), all positive."""
    if hasattr(model, "predict_proba"):
        return np.clip(model.predict_proba(X), _LEAST, 1)
    if not hasattr(model, "decision_function"):
        raise ValueError(
            f"{model!r} has neither predict_proba nor decision_function. Use "
            "attacks=('correctness',)."
        )
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([-scores / 2, scores / 2])
    return np.clip(softmax(scores, axis=1), _LEAST, 1)


def _probability_of_label(model, p, y):
    """Return p_y of each record, or the floor if the model does not know the class."""
    y = np.asarray(y)
    class_indices = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1)
    has_class = model.classes_[class_indices] == y
    return np.where(has_class, p[np.arange(len(y)), class_indices], _LEAST)


def _log_odds(model, X, y):
    """Return the log-odds log p_y/(1 − p_y) of the true class of each record."""
    p = _probability_of_label(model, _class_probabilities(model, X), y)
    return np.log(p) - np.log(np.maximum(1 - p, _LEAST))


def read_rows(X, y):
    """Return rows and labels of any library as arrays, or rows as a DataFrame."""
    return as_frame(X), natural_labels(label_array(y))


def take_rows(X, rows):
    """Return rows of an array or of a DataFrame."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def stack_rows(first, second):
    """Return rows of two arrays or two DataFrames, one after the other."""
    if hasattr(first, "iloc"):
        return pd.concat([first, second], ignore_index=True)
    return np.concatenate([np.asarray(first), np.asarray(second)])


def halfway_scores(model, X, y):
    """Return how exactly predictions change halfway between records of different labels, 0 to 4.

    Non-numeric columns of a DataFrame are not moved.
    """
    # A model that memorizes, such as a 1-nearest-neighbor classifier, has its decision boundary
    # halfway between two training records. Each record is moved towards the nearest records with
    # another label. The score is the number of digits to which the point where the predicted label
    # changes agrees with the midpoint, for the best of them. Only predicted labels are used.
    y = np.asarray(y)
    frame = pd.DataFrame(X).infer_objects()
    columns = frame.select_dtypes("number").columns
    scores = np.zeros(len(y), dtype=np.int64)
    if len(columns) == 0:
        return scores
    numbers = frame[columns].to_numpy(np.float64)

    def keeps(targets, part):
        moved = frame.copy()
        moved[columns] = numbers + part * (targets - numbers)
        return model.predict(moved if hasattr(X, "iloc") else moved.to_numpy()) == y

    for nearest in _nearest_of_other_labels(np.nan_to_num(numbers), y).T:
        holds, digits = np.ones(len(y), dtype=bool), np.zeros(len(y), dtype=np.int64)
        for close in (0.1, 0.01, 0.001, 0.0001):
            holds &= keeps(numbers[nearest], 0.5 - close) & ~keeps(numbers[nearest], 0.5 + close)
            digits += holds
        scores = np.maximum(scores, digits)
    return scores


def _nearest_of_other_labels(numbers, y):
    """Return indices of the nearest records of another label; of itself if there are none."""
    # On digits, five of them identify 97% of the members of a 1-nearest-neighbor classifier, at 1%
    # false positives.
    most = 5
    nearest = np.repeat(np.arange(len(y))[:, np.newaxis], most, axis=1)
    for label in np.unique(y):
        rows, others = np.flatnonzero(y == label), np.flatnonzero(y != label)
        if k := min(most, len(others)):
            search = NearestNeighbors(n_neighbors=k).fit(numbers[others])
            nearest[rows, :k] = others[search.kneighbors(numbers[rows], return_distance=False)]
    return nearest


def canary_scores(estimator, members, others, random_state):
    """Train with planted wrong labels, and return how well the model learned each of them.

    Returns scores, whether each canary was trained on, and the planted labels.
    """
    # Records of ``others`` are paired within their class. Each pair gets one wrong label, and one
    # of the two records, chosen at random, is added to the training data. All training data except
    # the features of that record are the same in both cases, so the two data sets are neighbors
    # for a guarantee that treats labels as public. The score is log p of the planted label, or
    # whether it is predicted if the model has no probabilities. Many canaries in one training run
    # bound ε as independent ones would (Steinke, Nasr and Jagielski, 2023).
    X, y = others[0], np.asarray(others[1])
    classes = np.unique(np.concatenate([np.asarray(members[1]), y]))
    of_class = [random_state.permutation(np.flatnonzero(y == label)) for label in classes]
    pairs = np.concatenate([rows[: len(rows) // 2 * 2].reshape(-1, 2) for rows in of_class])
    # Two members and two others choose a threshold, and as many test it.
    if len(classes) < 2 or len(pairs) < 4:
        raise ValueError(
            "The 'others' parameter of audit_membership needs two classes, and 4 pairs of records "
            "of one class, for the attack 'canary', got "
            f"{len(classes)} and {len(pairs)}. Add records, or remove the attack."
        )
    # Any class but their own.
    steps = random_state.randint(1, len(classes), size=len(pairs))
    planted = classes[(np.searchsorted(classes, y[pairs[:, 0]]) + steps) % len(classes)]
    first = random_state.randint(2, size=len(pairs))
    inside, outside = (pairs[np.arange(len(pairs)), side] for side in (first, 1 - first))
    training = np.concatenate([np.asarray(members[1]), planted])
    rows = stack_rows(members[0], take_rows(X, inside))
    model = _fit_seeded(estimator, rows, training, draw_seeds(random_state))
    asked = take_rows(X, np.concatenate([inside, outside]))
    labels = np.concatenate([planted, planted])
    graded = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    scores = membership_scores(model, asked, labels, "loss" if graded else "correctness")
    return scores, np.arange(len(labels)) < len(inside), labels


class _ShadowTraining(BaseEstimator):
    """Shadow models: models of the attacker, whose training records are known."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_shadows": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        n_shadows: int = 20,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.n_shadows = n_shadows
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _train(self, X, y):
        """Return shadow models and the training rows of each, a random half."""
        # Models come in pairs trained on the two halves, so that each row is used by half of them.
        random_state = check_random_state(self.random_state)
        seen = np.zeros((self.n_shadows, len(y)), dtype=bool)
        for k in range(0, self.n_shadows, 2):
            half = random_state.permutation(len(y)) < len(y) // 2
            seen[k : k + 2] = [half, ~half][: self.n_shadows - k]
        tasks = (
            (self.estimator, take_rows(X, rows), y[rows], draw_seeds(random_state))
            for rows in seen
        )
        return run_tasks(_fit_seeded, tasks, len(seen), n_jobs=self.n_jobs), seen


def _fit_seeded(estimator, X, y, seed):
    """Return a fitted clone that predicts; its ``source`` is passed on unchanged."""
    # The seed becomes its ``random_state``. Steps of a pipeline keep theirs, so that noise has
    # fresh entropy.
    model = clone(estimator)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    if getattr(estimator, "source", None) is not None:
        model.set_params(source=estimator.source)
    return as_classifier(model.fit(X, y))


class ShadowAttack(_ShadowTraining):
    """Membership inference attack by shadow models (Shokri et al., 2017).

    The attacker has rows of the same kind as the private ones and trains shadow models on halves
    of them. An attack classifier then learns whether a model was trained on a row, from the three
    largest probabilities, the loss, the entropy and the correctness of its prediction. SERUMS
    D3.3 (2022), chapter 3, uses this attack.

    Parameters
    ----------
    estimator : classifier
        The attacker's guess of the model. Is cloned.

    attack_classifier : classifier, default=None
        Distinguishes members from others; with ``predict_proba`` or ``decision_function``.
        Default: logistic regression on standardized features.

    per_class : bool, default=False
        Whether to train an attack classifier for each class of the model.

    n_shadows : int, default=20
        Number of shadow models.

    n_jobs : int or None, default=None
        Number of shadow models trained in parallel, as in joblib.

    random_state : int, RandomState instance or None, default=None
        For the halves, and for models that have a ``random_state``; the steps of a pipeline keep
        theirs.

    Attributes
    ----------
    attack_classifiers_ : dict
        Attack classifiers by class label; the one for all classes is under None.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V., "Membership inference attacks against
    machine learning models", IEEE S&P 2017.

    SERUMS project, deliverable D3.3, "Final report on distributed differential privacy transfer
    and homomorphic encryption", 2022, section 3.1.

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

    attack_classifiers_: dict[Any, Any]

    def __init__(
        self,
        estimator: Any,
        *,
        attack_classifier: Any = None,
        per_class: bool = False,
        n_shadows: int = 20,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, n_shadows=n_shadows, n_jobs=n_jobs, random_state=random_state)
        self.attack_classifier = attack_classifier
        self.per_class = per_class

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train shadow models and attack classifiers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the attacker.

        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from skdp.privacy.audit import ShadowAttack
        >>> X, y = load_digits(return_X_y=True)
        >>> attack = ShadowAttack(DecisionTreeClassifier(), n_shadows=2, random_state=0)
        >>> list(attack.fit(X[:300], y[:300]).attack_classifiers_)
        [None]
        """
        X, y = read_rows(X, y)
        shadows, seen = self._train(X, y)
        features = np.concatenate([_features(shadow, X, y) for shadow in shadows])
        labels, members = np.tile(y, len(shadows)), seen.ravel()
        default = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        attack = default if self.attack_classifier is None else self.attack_classifier
        self.attack_classifiers_ = {None: clone(attack).fit(features, members)}
        for label in np.unique(y) if self.per_class else ():
            rows = labels == label
            if len(np.unique(members[rows])) == 2:
                trained = clone(attack).fit(features[rows], members[rows])
                self.attack_classifiers_[label] = trained
        return self

    def score_members(self, model: Any, X: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Return the membership score of each record.

        Parameters
        ----------
        model : fitted classifier
            Model under attack.

        X : array-like of shape (n_samples, n_features)
            Records.

        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Probability of membership, or the decision function of the attack classifier.
        """
        check_is_fitted(self)
        X, y = read_rows(X, y)
        features = _features(model, X, y)
        scores = _positive(self.attack_classifiers_[None], features)
        for label, attack in self.attack_classifiers_.items():
            rows = y == label
            if label is not None and rows.any():
                scores[rows] = _positive(attack, features[rows])
        return scores


def _features(model, X, y):
    p = _class_probabilities(model, X)
    # The three largest, the same number of features for each model, whatever
    # classes its training rows have.
    leading = np.full((len(p), 3), _LEAST)
    leading[:, : p.shape[1]] = np.sort(p, axis=1)[:, ::-1][:, :3]
    features = [
        leading,
        np.log(_probability_of_label(model, p, y)),
        (p * np.log(p)).sum(axis=1),
        model.predict(X) == y,
    ]
    return np.column_stack(features)


def _positive(classifier, features):
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba(features)[:, 1]
    return np.asarray(classifier.decision_function(features), dtype=np.float64)


class LikelihoodRatioAttack(_ShadowTraining):
    r"""Likelihood-ratio attack (LiRA): compare models trained with and without each record.

    With φ the log-odds of the true class, the score of a record is the log-likelihood ratio
    of the model's φ under two normal distributions. Their means come from the shadow models with
    and without this record; their variances are common to all records (Carlini et al., 2022):

    .. math:: \log\frac{N(φ; μ_{in}, σ_{in}^2)}{N(φ; μ_{out}, σ_{out}^2)}

    It is the strongest attack here, and needs the records in question.

    Parameters
    ----------
    estimator : classifier
        The training algorithm. Is cloned.

    n_shadows : int, default=20
        Number of shadow models; each record is used by half of them.

    n_jobs : int or None, default=None
        Number of shadow models trained in parallel, as in joblib.

    random_state : int, RandomState instance or None, default=None
        For the halves, and for models that have a ``random_state``; the steps of a pipeline keep
        theirs.

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

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
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

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from skdp.privacy.audit import LikelihoodRatioAttack
        >>> X, y = load_digits(return_X_y=True)
        >>> attack = LikelihoodRatioAttack(DecisionTreeClassifier(), n_shadows=4, random_state=0)
        >>> attack = attack.fit(X[:300], y[:300])
        """
        X, y = read_rows(X, y)
        shadows, seen = self._train(X, y)
        odds = np.array([_log_odds(shadow, X, y) for shadow in shadows])
        self._distributions = [_normal(odds, seen), _normal(odds, ~seen)]
        return self

    def score_members(self, model: Any, X: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Return the log-likelihood ratio of each record.

        Parameters
        ----------
        model : fitted classifier
            Model under attack.

        X : array-like of shape (n_samples, n_features)
            The records of :meth:`fit`, in the same order.

        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        scores : ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If the number of records differs from :meth:`fit`.
        """
        (mean_in, sd_in), (mean_out, sd_out) = self._distributions
        X, labels = read_rows(X, y)
        if len(labels) != len(mean_in):
            raise ValueError(
                f"score_members got {len(labels)} records, but fit had {len(mean_in)}. Pass the "
                "records of fit in the same order."
            )
        odds = _log_odds(model, X, labels)
        return norm.logpdf(odds, mean_in, sd_in) - norm.logpdf(odds, mean_out, sd_out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_distributions")


def _normal(odds, chosen):
    """Return each record's mean over chosen models, and one standard deviation."""
    count = np.maximum(chosen.sum(axis=0), 1)
    mean = np.where(chosen, odds, 0).sum(axis=0) / count
    variance = np.sum(np.where(chosen, odds - mean, 0) ** 2) / max(np.sum(count - 1), 1)
    return mean, max(np.sqrt(variance), 0.1)  # some models are constant
