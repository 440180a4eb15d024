"""Randomized response for labels."""

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skdp.noise._distributions import LEAST_EPSILON, PRECISION, AliasTable
from skdp.noise._randomness import (
    PrivateRandomness,
    private_bits,
    warn_of_seeds,
    warn_of_weak_privacy,
)
from skdp.privacy import Mechanism, PrivacyGuarantee
from skdp.utils._labels import checked_labels, label_array
from skdp.utils._sklearn import Interval


class RandomizedResponse(PrivateRandomness):
    r"""Make labels ε-private by randomized response (Warner, 1965).

    With k classes each label is kept with probability

    .. math:: π = \frac{e^ε}{e^ε + k - 1}

    and otherwise replaced by one of the other k − 1 classes with equal probability. No ε-private
    mechanism that replaces labels independently keeps more of them (Kairouz et al., 2016).

    **Privacy.** ε protects each *label*, with δ = 0: the noisy versions of two lists that differ
    in one label are hard to tell apart. The set of classes, the number of labels and the features
    are not protected. Each further noisy version of the same labels spends ε again.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε ≥ 1e-6 for one label. ``inf`` keeps all labels, with a warning. An
        ε above 20 counts as 20, at which one label in half a billion changes.

    classes : array-like of shape (n_classes,), default=None
        All possible classes, publicly known. By default the classes in y, which then count as
        public.

    random_state : int, RandomState instance or None, default=None
        Source of randomness, as for :class:`OptimalDPNoise`. Only ``None``, a new key from the
        operating system for each call, is private; an integer warns.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted classes.

    keep_probability_ : float
        Probability π that a label is kept.

    guarantee_ : PrivacyGuarantee
        Immutable statement of the guarantee.

    See Also
    --------
    DPSource : Uses it as ``label_noise``.

    References
    ----------
    Warner, S., "Randomized response", JASA 60, 1965. Kairouz, P., Oh, S. and Viswanath, P.,
    "Extremal mechanisms for local differential privacy", JMLR 17, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import RandomizedResponse
    >>> y = np.repeat(["healthy", "ill"], [9000, 1000])
    >>> response = RandomizedResponse(epsilon=1.0, classes=["healthy", "ill"])
    >>> noisy = response.fit_transform(y)
    >>> round(response.keep_probability_, 3)
    0.731
    >>> bool(abs(response.unbiased_counts(noisy)[1] - 1000) < 800)
    True
    """

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, LEAST_EPSILON, None, closed="both")],
        "classes": ["array-like", None],
        "random_state": ["random_state"],
    }

    classes_: np.ndarray
    keep_probability_: float
    guarantee_: PrivacyGuarantee

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.epsilon = epsilon
        self.classes = classes
        self.random_state = random_state

    def fit(self, y: ArrayLike) -> Self:
        """Compute the probabilities and state the guarantee.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels to protect. Without ``classes`` only their set is used.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ValueError
            If classes are fewer than two, or y has labels outside ``classes``.

        Warns
        -----
        PrivacyLeakWarning
            If a seed is given or ε is infinite.

        Examples
        --------
        >>> from skdp import RandomizedResponse
        >>> response = RandomizedResponse(epsilon=1.0, classes=["no", "yes"]).fit(["no", "yes"])
        >>> response.guarantee_.epsilon, response.guarantee_.unit
        (1.0, 'label')
        """
        self._calibrate(y)
        warn_of_seeds(type(self).__name__, self.random_state)
        warn_of_weak_privacy(type(self).__name__, self.epsilon, 0.0)
        return self

    def _calibrate(self, y):
        """Set the classes, the sampling table and the guarantee; draw nothing.

        The name ``_random_state``, like ``random_state``, is left out of pickles.
        """
        self.__dict__.pop("guarantee_", None)  # not fitted if anything below fails
        self._validate_params()  # even if scikit-learn is configured to skip it
        y = _as_labels(y)
        self.classes_ = np.unique(y if self.classes is None else np.asarray(self.classes))
        self._class_indices(y)  # raises for labels that are not among the classes
        k = len(self.classes_)
        if k < 2:
            raise ValueError(
                "The 'classes' parameter of RandomizedResponse must have at least two, "
                f"got {k}. Name all possible classes."
            )
        self._random_state = self.random_state
        epsilon = float(self.epsilon)
        # Odds 1 : e^−ε : … : e^−ε; rounding them to the table costs PRECISION of ε at most.
        # Up to 20 the table represents the odds to 2^-30; a larger ε would hardly keep more
        # labels.
        spent = min(epsilon - PRECISION, 20.0)
        others = np.exp(-spent) if np.isfinite(epsilon) else 0.0
        self.keep_probability_ = float(1 / (1 + (k - 1) * others))
        self._table = AliasTable(np.append(1.0, np.full(k - 1, others)))
        self.guarantee_ = PrivacyGuarantee(
            mechanism="randomized response",
            mechanisms=(Mechanism("pure", epsilon),),
            sensitivity=None,
            n_features=1,
            covers="the labels that transform returns",
            excludes="features, the set of classes, and the number of labels",
            unit="label",
        )

    def guarantee_for(self, y: ArrayLike) -> PrivacyGuarantee:
        """Return the guarantee of one noisy version of y, without drawing noise.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels to protect, as for :meth:`fit`.

        Returns
        -------
        guarantee : PrivacyGuarantee
            The ``guarantee_`` that :meth:`fit` would set.

        Examples
        --------
        >>> from skdp import RandomizedResponse
        >>> RandomizedResponse(epsilon=1.0, classes=[0, 1]).guarantee_for([0, 1, 1]).epsilon
        1.0
        """
        return clone(self).fit(y).guarantee_

    def transform(self, y: ArrayLike) -> np.ndarray:
        """Replace some labels at random.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        y_noisy : ndarray of shape (n_samples,)

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import RandomizedResponse
        >>> y = np.repeat([0, 1], 500)
        >>> noisy = RandomizedResponse(epsilon=1.0, classes=[0, 1]).fit(y).transform(y)
        >>> bool(0.6 < (noisy == y).mean() < 0.85)  # 0.731 are kept on average
        True
        """
        check_is_fitted(self)
        labels = _as_labels(y)
        indices = self._class_indices(labels)
        warn_of_weak_privacy(type(self).__name__, self.guarantee_.epsilon, 0.0)
        bits = private_bits(type(self).__name__, self._random_state)
        moves = self._table.draw(bits.draw(len(labels)))
        return self.classes_[(indices + moves) % len(self.classes_)]

    def _class_indices(self, y):
        """Return the index of each label among the classes."""
        indices = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if np.any(self.classes_[indices] != y):
            # The message must not reveal which label it is, or whose.
            raise ValueError(
                "Input y has labels that are not in the 'classes' of RandomizedResponse. Name all "
                "possible classes there."
            )
        return indices

    def fit_transform(self, y: ArrayLike) -> np.ndarray:
        """Fit, and replace some labels at random.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        y_noisy : ndarray of shape (n_samples,)

        Examples
        --------
        >>> from skdp import RandomizedResponse
        >>> RandomizedResponse(epsilon=1.0, classes=[0, 1]).fit_transform([0, 1, 1]).shape
        (3,)
        """
        self._calibrate(y)
        return self.transform(y)

    def unbiased_memberships(self, y_noisy: ArrayLike) -> np.ndarray:
        r"""Return unbiased weights of the true class of each label.

        Let :math:`π' = (1 - π)/(k - 1)` be the probability of replacement by a given class. A
        label reported as class r gets, for each class c,

        .. math:: w_c = \frac{[r = c] - π'}{π - π'}

        whose expectation is 1 for the true class and 0 for every other one, since r = c has
        probability π or π′. Sums with these weights, such as counts or moments of a class, are
        therefore unbiased.

        Parameters
        ----------
        y_noisy : array-like of shape (n_samples,)
            Output of :meth:`transform`.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_classes)
            One column for each of ``classes_``. Each row sums to 1; all but one of its weights
            are negative, or 0 if ε is infinite.

        Raises
        ------
        ValueError
            If a label is not among the classes.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import RandomizedResponse
        >>> y = np.repeat([0, 1], [9000, 1000])
        >>> response = RandomizedResponse(epsilon=np.log(3), classes=[0, 1]).fit(y)
        >>> response.unbiased_memberships([0, 1]).round(6).tolist()
        [[1.5, -0.5], [-0.5, 1.5]]
        >>> weights = response.unbiased_memberships(response.transform(y))
        >>> bool(abs(weights[y == 1].mean(axis=0)[1] - 1) < 0.2)
        True
        """
        check_is_fitted(self)
        indices = self._class_indices(_as_labels(y_noisy))
        return self._without_bias(np.eye(len(self.classes_))[indices], 1)

    def unbiased_counts(self, y_noisy: ArrayLike) -> np.ndarray:
        r"""Return unbiased estimates of the number of labels of each class.

        With :math:`n^+_c` labels of class c among the n reported ones and π′ as in
        :meth:`unbiased_memberships`,

        .. math:: \hat n_c = \frac{n^+_c - π' n}{π - π'}

        Parameters
        ----------
        y_noisy : array-like of shape (n_samples,)
            Output of :meth:`transform`.

        Returns
        -------
        counts : ndarray of shape (n_classes,)
            Estimates that sum to n; they may be negative.

        Raises
        ------
        ValueError
            If a label is not among the classes.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import RandomizedResponse
        >>> response = RandomizedResponse(epsilon=np.log(3), classes=[0, 1]).fit([0, 1])
        >>> response.unbiased_counts([0, 0, 0, 0, 1]).round(6).tolist()
        [5.5, -0.5]
        """
        check_is_fitted(self)
        indices = self._class_indices(_as_labels(y_noisy))
        counts = np.bincount(indices, minlength=len(self.classes_))
        return self._without_bias(counts, len(indices))

    def _without_bias(self, counts, n):
        """Return unbiased estimates of true counts, given the counts of n reported labels."""
        keep = self.keep_probability_
        other = (1 - keep) / (len(self.classes_) - 1)
        return (counts - other * n) / (keep - other)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.two_d_array = False
        tags.target_tags.one_d_labels = True
        return tags


def _as_labels(y):
    if np.asarray(y).dtype.kind == "c":  # scikit-learn's message would quote labels
        raise ValueError("Input y has complex labels. Use integers or strings.")
    return checked_labels(label_array(y, warn=True), "RandomizedResponse")
