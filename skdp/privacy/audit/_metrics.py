"""Membership inference by what a model's predictions look like."""

import numpy as np
import pandas as pd
from scipy.special import softmax

METRICS = ("correctness", "loss", "confidence", "entropy")

# Floor of probabilities: one of zero is as surprising as this one (rule of thumb).
LEAST = 1e-9


def membership_scores(model, X, y, attack="loss"):
    r"""Return how much each record looks like one that a classifier was trained on.

    Models tend to do better on what they have seen (SERUMS D3.3 (2022), chapter 3). With p
    the vector of predicted probabilities, the higher of these the more likely a member:

    - ``"correctness"``: whether the predicted class is y,
    - ``"loss"``: :math:`\log p_y`,
    - ``"confidence"``: :math:`\max_c p_c`,
    - ``"entropy"``: :math:`\sum_c p_c \log p_c`.

    Parameters
    ----------
    model : fitted classifier
        With ``predict_proba`` or ``decision_function`` (of which the softmax is taken),
        unless correctness alone is asked.

    X : array-like of shape (n_samples, n_features)
        Records.

    y : array-like of shape (n_samples,)
        Their true labels.

    attack : {"correctness", "loss", "confidence", "entropy"}, default="loss"
        What to look at.

    Returns
    -------
    scores : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        When the attack is unknown, or the model has no probabilities to look at.

    References
    ----------
    SERUMS project, deliverable D3.3, "Final report on distributed differential privacy transfer
    and homomorphic encryption", 2022.

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
    if attack == "correctness":
        return (model.predict(X) == np.asarray(y)).astype(np.float64)
    p = class_probabilities(model, X)
    if attack == "loss":
        return np.log(probability_of_label(model, p, y))
    if attack == "confidence":
        return p.max(axis=1)
    if attack == "entropy":
        return (p * np.log(p)).sum(axis=1)
    raise ValueError(
        f"The 'attack' parameter of membership_scores must be one of {METRICS}, got {attack!r}."
    )


def as_classifier(model):
    """Return what predicts for a model: its release, where it makes one.

    Parameters
    ----------
    model : fitted classifier or source
        A source has ``release_``, with ``classes``, ``predict`` and ``predict_proba``.

    Returns
    -------
    classifier : fitted classifier
        With ``classes_``.
    """
    release = getattr(model, "release_", None)
    return model if release is None else _ReleaseClassifier(release)


class _ReleaseClassifier:
    """A release as a fitted classifier."""

    def __init__(self, release):
        self.classes_ = release.classes
        self.predict, self.predict_proba = release.predict, release.predict_proba


def class_probabilities(model, X):
    """Return predicted probabilities, none of them zero.

    Parameters
    ----------
    model : fitted classifier
        With ``predict_proba`` or ``decision_function``.

    X : array-like of shape (n_samples, n_features)
        Records.

    Returns
    -------
    p : ndarray of shape (n_samples, n_classes)
    """
    if hasattr(model, "predict_proba"):
        return np.clip(model.predict_proba(X), LEAST, 1)
    if not hasattr(model, "decision_function"):
        raise ValueError(
            f"{model!r} has neither predict_proba nor decision_function, so that only "
            "attacks=('correctness',) can be tried on it."
        )
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([-scores / 2, scores / 2])
    return np.clip(softmax(scores, axis=1), LEAST, 1)


def probability_of_label(model, p, y):
    """Return p_y, the least probability where the model does not know the class.

    Parameters
    ----------
    model : fitted classifier
        Has ``classes_``.

    p : ndarray of shape (n_samples, n_classes)
        Of :func:`class_probabilities`.

    y : array-like of shape (n_samples,)
        True labels.

    Returns
    -------
    p_y : ndarray of shape (n_samples,)
    """
    y = np.asarray(y)
    class_indices = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1)
    known = model.classes_[class_indices] == y
    return np.where(known, p[np.arange(len(y)), class_indices], LEAST)


def log_odds(model, X, y):
    """Return the log-odds log p_y/(1 − p_y) of the true class.

    Parameters
    ----------
    model : fitted classifier
        With ``predict_proba`` or ``decision_function``.

    X : array-like of shape (n_samples, n_features)
        Records.

    y : array-like of shape (n_samples,)
        Their true labels.

    Returns
    -------
    odds : ndarray of shape (n_samples,)
    """
    p = probability_of_label(model, class_probabilities(model, X), y)
    return np.log(p) - np.log(np.maximum(1 - p, LEAST))


def take_rows(X, rows):
    """Return rows of an array or of a DataFrame."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def stack_rows(first, second):
    """Return rows of two arrays or of two DataFrames, one after the other."""
    if hasattr(first, "iloc"):
        return pd.concat([first, second], ignore_index=True)
    return np.concatenate([np.asarray(first), np.asarray(second)])
