"""Membership inference by what a model says in the neighbourhood of a record."""

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

from skdp.privacy.audit._metrics import membership_scores, stack_rows, take_rows
from skdp.privacy.audit._shadows import fit_seeded

NEIGHBOURHOOD = ("halfway", "canary")

# Nearest records of other labels towards which a record is moved. Of the digits, a 1-nearest-
# neighbour classifier gives 97 % of its members away at five, for 1 % of the others.
_NEAREST = 5
# How close to halfway the prediction is looked at, in parts of the way (rule of thumb).
_CLOSE = (0.1, 0.01, 0.001, 0.0001)
# Fewest canaries: two members and two others choose a threshold, as many test it.
_FEWEST_CANARIES = 4
# Seeds of models are below this, the most that any random_state takes.
_SEEDS = np.iinfo(np.int32).max


def halfway_scores(model, X, y):
    """Return how closely predictions change halfway to records of other labels.

    A model that memorises, such as a 1-nearest-neighbour classifier, has its boundary
    halfway between two records that it has seen. Each record is moved towards its five
    nearest of another label; the score counts the digits to which the place where its label
    is lost is known to be the middle, for the best of the five. Only predicted labels are
    looked at.

    Parameters
    ----------
    model : fitted classifier
        Under attack.

    X : array-like of shape (n_samples, n_features)
        Records, members or not. Columns of a DataFrame that are not numeric stay as they are.

    y : array-like of shape (n_samples,)
        Their labels.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
        0 to 4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = np.array([[0.0], [1.0], [0.1]]), np.array([0, 1, 0])
    >>> halfway_scores(KNeighborsClassifier(1).fit(X[:2], y[:2]), X, y).tolist()
    [4, 4, 1]
    """
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
        for close in _CLOSE:
            holds &= keeps(numbers[nearest], 0.5 - close) & ~keeps(numbers[nearest], 0.5 + close)
            digits += holds
        scores = np.maximum(scores, digits)
    return scores


def _nearest_of_other_labels(numbers, y):
    """Return indices of the nearest records of another label; of itself where there are none."""
    nearest = np.repeat(np.arange(len(y))[:, np.newaxis], _NEAREST, axis=1)
    for label in np.unique(y):
        own, others = np.flatnonzero(y == label), np.flatnonzero(y != label)
        if k := min(_NEAREST, len(others)):
            search = NearestNeighbors(n_neighbors=k).fit(numbers[others])
            nearest[own, :k] = others[search.kneighbors(numbers[own], return_distance=False)]
    return nearest


def canary_scores(estimator, members, others, random_state):
    """Train with planted labels, and return how well a model knows each of them.

    The records of ``others`` are paired within their class. Each pair is given one wrong
    label, and a coin decides which of the two joins the members in training. All the training
    data but the features of that record are the same either way, so the two data sets are
    neighbours for a guarantee that takes labels as public. The score is log p of the planted
    label, or whether it is predicted where the model has no probabilities.

    Parameters
    ----------
    estimator : classifier or source
        How the model was trained. Is cloned and fitted, once.

    members, others : tuple (X, y)
        Records that are trained on with their own labels, and of which canaries are made.

    random_state : RandomState
        For pairs, labels and coins.

    Returns
    -------
    scores : ndarray of shape (n_canaries,)

    joined : ndarray of bool of shape (n_canaries,)
        Whether each canary was trained on.

    labels : ndarray of shape (n_canaries,)
        Planted labels.

    Raises
    ------
    ValueError
        When there is one class only, or fewer than four pairs.

    References
    ----------
    Steinke, T., Nasr, M. and Jagielski, M., "Privacy auditing with one (1) training run",
    NeurIPS 2023: many canaries in one training bound ε as independent ones would.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> data, rng = ((X[::2], y[::2]), (X[1::2], y[1::2])), np.random.RandomState(0)
    >>> scores, joined, _ = canary_scores(KNeighborsClassifier(1), *data, rng)
    >>> bool(scores[joined].mean() > -1), bool(scores[~joined].mean() < -15)
    (True, True)
    """
    X, y = others[0], np.asarray(others[1])
    classes = np.unique(np.concatenate([np.asarray(members[1]), y]))
    of_class = [random_state.permutation(np.flatnonzero(y == label)) for label in classes]
    pairs = np.concatenate([rows[: len(rows) // 2 * 2].reshape(-1, 2) for rows in of_class])
    if len(classes) < 2 or len(pairs) < _FEWEST_CANARIES:
        raise ValueError(
            "The 'others' parameter of audit_membership must have two classes, and at least "
            f"{_FEWEST_CANARIES} pairs of records of one class for the attack 'canary', got "
            f"{len(classes)} and {len(pairs)}. Add records, or leave it out of 'attacks'."
        )
    # Any class but their own.
    steps = random_state.randint(1, len(classes), size=len(pairs))
    planted = classes[(np.searchsorted(classes, y[pairs[:, 0]]) + steps) % len(classes)]
    first = random_state.randint(2, size=len(pairs))
    inside, outside = (pairs[np.arange(len(pairs)), side] for side in (first, 1 - first))
    training = np.concatenate([np.asarray(members[1]), planted])
    rows = stack_rows(members[0], take_rows(X, inside))
    model = fit_seeded(estimator, rows, training, random_state.randint(_SEEDS))
    asked = take_rows(X, np.concatenate([inside, outside]))
    labels = np.concatenate([planted, planted])
    graded = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    scores = membership_scores(model, asked, labels, "loss" if graded else "correctness")
    return scores, np.arange(len(labels)) < len(inside), labels
