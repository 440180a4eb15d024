"""Evaluating a model on private rows: exact histograms of scores, and their noise."""

import os
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skdp.noise import GaussianQueries, Share, private_bits
from skdp.privacy import PrivacyLedger
from skdp.release import N_BINS, PrivateEvaluation, bin_of
from skdp.source._door import check_budget, check_labels, read_persons, row_weights
from skdp.source._integers import ROW
from skdp.source._publication import default_settings, publish, sealed, whole_guarantee
from skdp.tabular import Vocabulary
from skdp.utils._frames import as_frame


def evaluate_privately(
    model: Any,
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    *,
    groups: ArrayLike | None = None,
    ledger: PrivacyLedger | str | os.PathLike[str] | None = None,
    name: str = "evaluation",
    random_state: int | np.random.RandomState | None = None,
) -> PrivateEvaluation:
    r"""Evaluate a classifier on private rows with differential privacy.

    An owner can thus state how accurate a release is without showing rows, and a target with
    private labels how accurate it is there. Rows are counted by class and by public bins of
    the model's log-odds, and Gaussian noise is added to the counts: one row adds 1 to one count,
    or, with K ≥ 3 classes, to one for each class, which is a sensitivity of :math:`\sqrt{K}`.
    Everything else is computed from the noisy counts.

    **What is guaranteed**: whole records with their labels (add/remove), or with ``groups`` whole
    people, each of whose k rows counts 1/k. The model is not covered: a model that was trained on
    these rows without protection reveals them by itself, and its evaluation on them is
    optimistic. The score of a row must depend on this row alone, as that of a fitted classifier
    does except for the last digits, which in some libraries depend on the other rows of a call.

    Parameters
    ----------
    model : Release, or fitted classifier with ``predict_proba``
        Preferably one that was not trained on these rows.

    X : array-like of shape (n_samples, n_features) or DataFrame
        Private rows, as the model takes them.

    y : array-like of shape (n_samples,)
        Private labels. Rows whose class the model does not know are left out silently.

    epsilon : float, default=1.0
        Privacy loss. ``inf`` adds no noise, and warns.

    delta : float, default=1e-5
        Slack δ.

    groups : array-like of shape (n_samples,) or None, default=None
        The person whom each row belongs to: whole people are protected.

    ledger : PrivacyLedger, str, path-like or None, default=None
        Charged before noise is drawn.

    name : str, default="evaluation"
        Of the ledger's entry.

    random_state : int, RandomState instance or None, default=None
        A seed warns: whoever knows it can remove the noise.

    Returns
    -------
    evaluation : PrivateEvaluation
        With ``guarantee``.

    Raises
    ------
    ValueError
        Naming the parameter and the remedy; nothing is charged.

    BudgetExceededError
        When the ledger does not allow it; no noise is drawn.

    RuntimeError
        When the model fails on these rows. Its message is withheld, as it may quote them.

    Warns
    -----
    PrivacyLeakWarning
        When ``random_state`` is a seed, or ``epsilon`` is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp import evaluate_privately
    >>> rng = np.random.RandomState(0)
    >>> y = rng.randint(2, size=1000)
    >>> X = rng.standard_normal((1000, 2)) + 2 * y[:, None]
    >>> model = LogisticRegression().fit(X[:200], y[:200])
    >>> evaluation = evaluate_privately(model, X[200:], y[200:], epsilon=2.0)
    >>> evaluation.auc().value > 0.8
    True
    """
    classes = _checked_classes(model)
    check_budget("evaluate_privately", epsilon, delta)
    n_scores = 1 if len(classes) == 2 else len(classes)
    frame = as_frame(X)
    with default_settings():
        labels = check_labels(y, frame)
        weights = row_weights(read_persons(groups, len(labels), "evaluate_privately"), len(labels))
    with sealed("evaluate_privately"):
        counts = _counts(model, frame, labels, weights)
    # All counts together change by the root of the number of histograms, each by 1 in one bin.
    share = Share(1.0, counts.size, ROW * np.sqrt(n_scores))
    bits = private_bits("evaluate_privately", random_state)
    queries = GaussianQueries(epsilon, delta, {"histograms": share}, bits)
    guarantee = whole_guarantee(
        "Gaussian noise on histograms of scores",
        (queries.mechanism,),
        n_scores + 1,
        by_group=groups is not None,
        covers="the scores of the rows and their labels",
        excludes="the model, its classes, the bins; refusals of the input; that the score of a "
        "row depends on other rows, if only by rounding",
    )

    def make(counts, queries):
        noisy = queries.add("histograms", counts.ravel(), share.sensitivity) / ROW
        return PrivateEvaluation(
            classes=tuple(classes),
            histograms=noisy.reshape(counts.shape),
            deviation=float(queries.deviation("histograms", np.sqrt(n_scores))),
            guarantee=guarantee,
        )

    return publish(
        "evaluate_privately",
        guarantee,
        make,
        private=(counts, queries),
        rehearsals=[(np.zeros_like(counts), queries.rehearsal())],
        ledger=ledger,
        name=name,
    )


def _checked_classes(model):
    """Return the classes of a model as a list; raise ValueError for what cannot be used."""
    classes = getattr(model, "classes_", None)
    if classes is None or not hasattr(model, "predict_proba"):
        raise ValueError(
            "The 'model' parameter of evaluate_privately must be a Release, or a fitted "
            f"classifier with predict_proba, got one of type {type(model).__name__}."
        )
    classes = np.asarray(classes).tolist()
    if len(set(classes)) < max(2, len(classes)):
        raise ValueError(
            "The 'model' parameter of evaluate_privately must have two or more different classes."
        )
    return classes


def _counts(model, X, labels, weights):
    """Return exact weights by score, class and bin, (n_scores, 2, N_BINS): **private**."""
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)
    K = len(model.classes_)
    if probabilities.shape != (len(labels), K):
        raise ValueError("predict_proba returned another shape")
    codes = Vocabulary(np.asarray(model.classes_).tolist()).codes(labels)
    has_class = codes >= 0
    scored = [1] if K == 2 else range(K)
    counts = np.zeros((len(scored), 2, N_BINS), dtype=np.int64)
    for number, c in enumerate(scored):
        cells = ((codes == c).astype(np.int64), bin_of(probabilities[:, c]))
        np.add.at(counts[number], tuple(index[has_class] for index in cells), weights[has_class])
    return counts
