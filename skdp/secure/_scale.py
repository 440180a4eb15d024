"""Class scores as 8-bit integers on a public scale, and their combination."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdp.utils._frames import as_frame
from skdp.utils._warnings import warn

# Largest dissimilarity: 8 bits, as in the encrypted comparison.
LARGEST = 255


@dataclass(frozen=True)
class ScoreScale:
    """Public scale on which participants round their scores to 8 bits.

    Agree on its ends before any query, from the possible range of scores or from public rows.
    Never compute them from private rows, because they are not encrypted.

    Parameters
    ----------
    low, high : float
        Ends of the scale, ``low < high``. Scores beyond them are clipped, with a warning without
        values if that changes a score by more than rounding.

    larger_is_likelier : bool, default=True
        Whether a larger score is evidence for a class, like a probability, or against it, like a
        distance.

    Raises
    ------
    ValueError
        If the ends are not finite or not in order.

    Examples
    --------
    >>> from skdp.secure import ScoreScale
    >>> ScoreScale(0.0, 1.0).dissimilarities([[1.0, 0.5, 0.0]]).tolist()
    [[0, 128, 255]]
    >>> ScoreScale(0.0, 10.0, larger_is_likelier=False).dissimilarities([[1, 10]]).tolist()
    [[26, 255]]
    """

    low: float
    high: float
    larger_is_likelier: bool = True

    def __post_init__(self) -> None:
        ends = (self.low, self.high)
        if not _is_range(*ends):
            raise ValueError(
                f"The 'low' and 'high' parameters of ScoreScale must be finite numbers with low < "
                f"high, got {self.low!r} and {self.high!r}. Agree on a range that contains all "
                "possible scores."
            )
        if not isinstance(self.larger_is_likelier, bool):
            raise ValueError(
                "The 'larger_is_likelier' parameter of ScoreScale must be True or False, got "
                f"{self.larger_is_likelier!r}."
            )
        for name, end in zip(("low", "high"), ends, strict=True):
            object.__setattr__(self, name, float(end))

    def dissimilarities(self, scores: ArrayLike) -> np.ndarray:
        """Return scores as 8-bit dissimilarities: 0 is the likeliest end of the scale.

        Parameters
        ----------
        scores : array-like of shape (n_queries, n_classes)
            Finite scores.

        Returns
        -------
        dissimilarities : ndarray of shape (n_queries, n_classes), uint8
            The nearest of 256 equidistant steps, with ties to the even one.

        Raises
        ------
        ValueError
            If the scores are not a finite matrix.

        Warns
        -----
        UserWarning
            If scores beyond the scale were clipped.

        Examples
        --------
        >>> from skdp.secure import ScoreScale
        >>> ScoreScale(-1.0, 1.0).dissimilarities([[1.0, -1.0], [0.0, 0.5]]).tolist()
        [[0, 255], [128, 64]]
        """
        scores = _finite_matrix(scores)
        clipped = np.clip(scores, self.low, self.high)
        half_a_step = (self.high - self.low) / LARGEST / 2
        if (np.abs(scores - clipped) > half_a_step).any():
            warn(
                "Some scores were clipped to the ends of the public scale. Agree on a wider scale "
                "for the next session, from public rows.",
            )
        share = (clipped - self.low) / (self.high - self.low)
        if self.larger_is_likelier:
            share = 1.0 - share
        return np.rint(share * LARGEST).astype(np.uint8)


def class_scores(estimator: Any, X: ArrayLike, method: str = "auto") -> np.ndarray:
    """Return the scores of all classes from a fitted classifier.

    Parameters
    ----------
    estimator : object
        Fitted classifier.

    X : array-like of shape (n_queries, n_features)
        Queries.

    method : {"auto", "decision_function", "predict_proba"}, default="auto"
        Method to call. "auto" prefers ``predict_proba``. It must return a score for
        each class, not for each pair of classes as :class:`~sklearn.svm.SVC` does with
        ``decision_function_shape="ovo"``: with three classes the shape does not show the
        difference.

    Returns
    -------
    scores : ndarray of shape (n_queries, n_classes)
        For two classes with one score s, the scores are −s and s.

    Raises
    ------
    ValueError
        If ``method`` is unknown, or the estimator does not have it.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp.secure import class_scores
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    >>> class_scores(model, [[0.5]]).shape
    (1, 2)
    """
    methods = ("predict_proba", "decision_function")
    if method not in ("auto", *methods):
        raise ValueError(
            f"The 'method' parameter must be 'auto' or one of {methods}, got {method!r}. Only "
            "these return scores of classes."
        )
    names = methods if method == "auto" else (method,)
    chosen = next((name for name in names if callable(getattr(estimator, name, None))), None)
    if chosen is None:
        raise ValueError(
            f"The estimator, a {type(estimator).__name__}, has no method {' or '.join(names)}. "
            "Use a classifier with scores of classes."
        )
    scores = np.asarray(getattr(estimator, chosen)(as_frame(X)))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def combine_scores(dissimilarities: ArrayLike) -> np.ndarray:
    r"""Return the class with the smallest dissimilarity to any participant, without encryption.

    This is the function that the server computes under encryption (SERUMS D3.3, 2022, chapter 2;
    the strongest rule of SERUMS D3.1, 2019, equation (2.166)):
    :math:`c^* = \arg\min_c \min_s d_{s,c}`, the first class in case of ties.

    Parameters
    ----------
    dissimilarities : array-like of shape (n_participants, n_queries, n_classes)
        Whole numbers.

    Returns
    -------
    class_indices : ndarray of shape (n_queries,)

    Examples
    --------
    >>> from skdp.secure import combine_scores
    >>> combine_scores([[[9, 4]], [[3, 7]]]).tolist()
    [0]
    """
    return np.asarray(dissimilarities).min(axis=0).argmin(axis=1)


def _is_range(low, high):
    """Return whether two numbers are finite, in order, and at a finite distance."""
    if not all(isinstance(end, Real) and not isinstance(end, bool) for end in (low, high)):
        return False
    try:
        low, high = float(low), float(high)
    except OverflowError:
        return False
    return low < high and bool(np.isfinite([low, high, high - low]).all())


def _finite_matrix(scores):
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.empty(0)
    if values.ndim != 2 or not np.isfinite(values).all():
        # Raised here and not in the handler: NumPy's own errors quote what they cannot convert.
        raise ValueError(
            "The 'scores' parameter must be a matrix of finite numbers with one row per "
            "query. Check the local model."
        )
    return values
