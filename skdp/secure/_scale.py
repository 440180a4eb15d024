"""Scores of classes as whole numbers of 8 bits on a public scale, and how they are combined."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdp.utils._warnings import warn

# Largest dissimilarity: 8 bits, what the encrypted comparison is built for.
LARGEST = 255


@dataclass(frozen=True)
class ScoreScale:
    """Public scale on which participants round their scores to 8 bits.

    Its ends are agreed before anybody sees a query, from what a score can be at all or from
    public rows. They must not be computed from private rows: they travel in clear.

    Parameters
    ----------
    low, high : float
        Ends of the scale, ``low < high``. Scores beyond them are clipped, with a warning that
        tells no value where that moves one by more than rounding does.

    larger_is_likelier : bool, default=True
        Whether a larger score is evidence for a class, as a probability is, or against it, as a
        distance is.

    Raises
    ------
    ValueError
        When the ends are not finite or not in order.

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
                f"high, got {self.low!r} and {self.high!r}. Agree on a range that all scores can "
                "have."
            )
        if not isinstance(self.larger_is_likelier, bool):
            raise ValueError(
                "The 'larger_is_likelier' parameter of ScoreScale must be True or False, got "
                f"{self.larger_is_likelier!r}."
            )
        for name, end in zip(("low", "high"), ends, strict=True):
            object.__setattr__(self, name, float(end))

    def dissimilarities(self, scores: ArrayLike) -> np.ndarray:
        """Return scores as dissimilarities of 8 bits: 0 is the likeliest end of the scale.

        Parameters
        ----------
        scores : array-like of shape (n_queries, n_classes)
            Finite.

        Returns
        -------
        dissimilarities : ndarray of shape (n_queries, n_classes), uint8
            The nearest of 256 equidistant steps, halves to the even one.

        Raises
        ------
        ValueError
            When the scores are not a finite matrix.

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
                "Some scores lie beyond the public scale and were clipped to its ends. Agree on a "
                "wider scale for the next session, from public rows.",
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
        What to call. "auto" takes ``predict_proba`` where there is one. It must give a score for
        each class, not for each pair of classes as :class:`~sklearn.svm.SVC` does with
        ``decision_function_shape="ovo"``: three classes have three pairs, which no shape tells.

    Returns
    -------
    scores : ndarray of shape (n_queries, n_classes)
        Of two classes with one score s, the scores are −s and s.

    Raises
    ------
    ValueError
        When the estimator has no such method, or the method is another.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp.secure import class_scores
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    >>> class_scores(model, [[0.5]]).shape
    (1, 2)
    """
    known = ("predict_proba", "decision_function")
    if method not in ("auto", *known):
        raise ValueError(
            f"The 'method' parameter must be 'auto' or one of {known}, got {method!r}. Only they "
            "are scores of classes."
        )
    names = known if method == "auto" else (method,)
    found = next((name for name in names if callable(getattr(estimator, name, None))), None)
    if found is None:
        raise ValueError(
            f"The estimator, a {type(estimator).__name__}, has no method {' or '.join(names)}. "
            "Use a classifier with scores of classes."
        )
    scores = np.asarray(getattr(estimator, found)(X))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def combine_scores(dissimilarities: ArrayLike) -> np.ndarray:
    r"""Return the class with the least dissimilarity to any participant, in clear.

    It is what the server computes under encryption (SERUMS D3.3, 2022, chapter 2; the strongest
    rule of SERUMS D3.1, 2019, equation (2.166)):
    :math:`c^* = \arg\min_c \min_s d_{s,c}`, of equal classes the first.

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
            "The 'scores' parameter must be a matrix of finite numbers with a row for each "
            "query. Check the local model."
        )
    return values
