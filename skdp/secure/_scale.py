"""Scores of classes as whole numbers of 8 bits on a public scale, and how they are combined."""

import warnings
from dataclasses import dataclass
from numbers import Real

import numpy as np

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
        tells no value.

    larger_is_likelier : bool, default=True
        Whether a larger score speaks for a class, as probabilities do, or against it, as
        distances do.

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

    def __post_init__(self):
        ends = (self.low, self.high)
        numbers = all(isinstance(end, Real) and not isinstance(end, bool) for end in ends)
        if not numbers or not np.isfinite(ends).all() or not self.low < self.high:
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
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    def dissimilarities(self, scores):
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
        """
        scores = np.asarray(scores, dtype=np.float64)
        if scores.ndim != 2 or not np.isfinite(scores).all():
            raise ValueError(
                "The 'scores' parameter must be a matrix of finite numbers with a row for each "
                f"query, got an array of shape {scores.shape} or one that is not finite. Check "
                "the local model."
            )
        if ((scores < self.low) | (scores > self.high)).any():
            warnings.warn(
                "Some scores lie beyond the public scale and were clipped to its ends. Agree on a "
                "wider scale for the next session, from public rows.",
                UserWarning,
                stacklevel=2,
            )
        share = (np.clip(scores, self.low, self.high) - self.low) / (self.high - self.low)
        if self.larger_is_likelier:
            share = 1.0 - share
        return np.rint(share * LARGEST).astype(np.uint8)


def class_scores(estimator, X, method="auto"):
    """Return the scores of all classes from a fitted classifier.

    Parameters
    ----------
    estimator : object
        Fitted classifier.

    X : array-like of shape (n_queries, n_features)
        Queries.

    method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What to call. "auto" takes ``predict_proba`` where there is one.

    Returns
    -------
    scores : ndarray of shape (n_queries, n_classes)
        Of two classes with one score s, the scores are −s and s.

    Raises
    ------
    ValueError
        When the estimator has no such method.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp.secure import class_scores
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    >>> class_scores(model, [[0.5]]).shape
    (1, 2)
    """
    names = ("predict_proba", "decision_function") if method == "auto" else (method,)
    found = next((name for name in names if callable(getattr(estimator, name, None))), None)
    if found is None:
        raise ValueError(
            f"The estimator, a {type(estimator).__name__}, has no method {' or '.join(names)}. "
            "Use a classifier with scores of classes."
        )
    scores = np.asarray(getattr(estimator, found)(X))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def combine_scores(dissimilarities):
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
