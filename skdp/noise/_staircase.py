"""The staircase mechanism."""

import numpy as np

from skdp.noise._base import PRECISION, DPNoise
from skdp.noise._distributions import OptimalDistribution, StaircaseDistribution

# Largest ε of one element: beyond, a table of 64 bits no longer holds the steps to within the
# precision of the sampler.
_GREATEST_EPSILON = 20


class StaircaseDPNoise(DPNoise):
    r"""Make data (ε, δ)-private with staircase noise, the least that is ε-private.

    To each element it adds, independently, 0 with probability δ and otherwise noise whose
    density falls by e^ε from step to step (Geng & Viswanath, 2014). Of all noises that are
    (ε, 0)-private and independent of the data it has the least expected magnitude, which
    the point mass lowers further:

    .. math:: E|v| = (1-δ)\,d\,\frac{e^{ε/2}}{e^ε - 1} \;<\; (1-δ)\,\frac{d}{ε}

    **What is guaranteed.** The same as by :class:`OptimalDPNoise`, element by element or for
    a record, whose elements then get the p-th part of ε each. With δ > 0 no noise is known
    to be the least; this one is (ε, δ)-private because it is a mixture of no noise, with
    weight δ, and of ε-private noise, with weight 1 − δ.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one element; smaller is more private. ``inf`` adds no
        noise at all, and warns.

    delta : float, default=0.0
        Probability δ in [0, 1) that an element is released as it is, which shows where the
        data lie on a coarse grid. For N rows of p elements choose δ far below 1/(N·p), with
        public N, or 0, which takes 1/(1 − δ) times the noise: ``transform`` warns where more
        than a tenth of a value is expected to leave so.

    sensitivity : float, default=1.0
        Largest change d > 0 of one element between neighbours, in the units of the data; 1.0
        suits features scaled to [0, 1]. To be left at 1.0 where ``bounds`` are given.

    privacy_unit : {"element", "record"}, default="element"
        What ε and δ hold for: one entry of the matrix, or one row with all its entries,
        which needs far more noise.

    bounds : pair (low, high), "data" or None, default=None
        Publicly known bounds of the features, each a number or an array of shape
        (n_features,). Values are clipped to them, and their width is the sensitivity.
        ``"data"`` learns them from X, which releases the extremes and warns. None: nothing
        is clipped, and a value that moves by more than d is protected less.

    perturb : {"always", "fit"}, default="always"
        When to add noise. ``"always"``: in every :meth:`transform`, so that whatever comes
        out is private. ``"fit"``: in :meth:`fit_transform` only, which is what a training
        pipeline wants; :meth:`transform` then returns what it gets unchanged: queries, but
        training rows too, as in ``fit(X).transform(X)``.

    random_state : int, RandomState instance or None, default=None
        Source of the noise. ``None`` takes a fresh key from the operating system for each
        call, and is the only private choice; an integer, NumPy's global generator and a
        generator that repeats itself warn with :class:`~skdp.privacy.PrivacyLeakWarning`. A
        pickle never carries a ``RandomState``, and that of a fitted transformer no seed
        either; read elsewhere it draws fresh entropy, as a ``RandomState`` does in any child
        process.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Immutable statement of what is guaranteed.

    expected_magnitude_ : float or ndarray of shape (n_features,)
        E|v|, in the units of the data; one for each feature where the bounds differ.

    variance_ : float or ndarray of shape (n_features,)
        Var v, likewise; what learners need to know in order to allow for the noise.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    Raises
    ------
    ValueError
        When ε is above 20 for one element, where the noise is a 20,000th of the sensitivity.

    See Also
    --------
    OptimalDPNoise : The noise of Kumar and Moser, a Laplace distribution in its place.

    Notes
    -----
    Values are rounded to a grid, noise is a whole number of grid steps, and the step is counted
    in the sensitivity: what is guaranteed holds for the floating-point numbers that come out
    (Mironov, 2012), not in real arithmetic alone. The step is 2^-24 of the sensitivity or less,
    and 2^-34 of the noise or less where that is more (2^-15 of the sensitivity at ε = 1e-6).
    Random bits come from AES-256 in counter mode.

    Neighbours differ in a value, never in the number of rows. Rows stay in their order, and
    where output is pandas they keep their index. Whole numbers beyond ±2^53 are clipped, and
    ``longdouble``, decimals, dates and text are refused.

    References
    ----------
    Geng, Q. and Viswanath, P., "The optimal mechanism in differential privacy", ISIT 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import OptimalDPNoise, StaircaseDPNoise
    >>> X, _ = load_digits(return_X_y=True)
    >>> staircase = StaircaseDPNoise(epsilon=8.0).fit(X / 16)
    >>> optimal = OptimalDPNoise(epsilon=8.0).fit(X / 16)
    >>> round(optimal.expected_magnitude_ / staircase.expected_magnitude_, 2)
    6.82
    """

    _mechanism = "staircase"

    def _make_distribution(self, sensitivity):
        epsilon, delta = self._element_budget()
        if np.isinf(epsilon):
            return OptimalDistribution(0.0)  # no noise at all
        if epsilon > _GREATEST_EPSILON:
            raise ValueError(
                f"The 'epsilon' parameter of StaircaseDPNoise leaves {epsilon:g} for one element, "
                f"got {self.epsilon!r}; the most is {_GREATEST_EPSILON}. Use OptimalDPNoise, or a "
                "smaller epsilon."
            )
        return StaircaseDistribution(epsilon - PRECISION / (1 - delta), sensitivity, delta)

    def _state_mechanism(self, distribution):
        return self._shared_budget("pure")
