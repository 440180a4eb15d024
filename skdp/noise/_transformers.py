"""Transformers that add optimal, staircase or Gaussian noise to each element."""

import weakref
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from skdp.noise._distributions import (
    GAUSSIAN_CUT,
    LEAST_EPSILON,
    PRECISION,
    GaussianDistribution,
    OptimalDistribution,
    StaircaseDistribution,
)
from skdp.noise._randomness import (
    DEFAULT_SENSITIVITY,
    PrivateRandomness,
    private_bits,
    warn_of_seeds,
    warn_of_unstated_range,
    warn_of_weak_privacy,
)
from skdp.privacy import Mechanism, PrivacyGuarantee, PrivacyLeakWarning, gaussian_sigma
from skdp.utils._sklearn import Interval, StrOptions, VisualBlock
from skdp.utils._validation import check_array, validate_private_data
from skdp.utils._warnings import warn

# Number of elements of a block. The workspace is small for any size of data, and each of its
# arrays is below the 128 KiB from which malloc requests new pages each time (argued;
# benchmarks/bench_privacy.py measures speed and memory).
_BLOCK = 15_000


class DPNoise(OneToOneFeatureMixin, TransformerMixin, PrivateRandomness):
    """Base of all additive-noise transformers; a subclass defines the noise distribution."""

    _mechanism: str
    _kind: str  # of the mechanism, for accounting

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "sensitivity": [Interval(Real, 0, None, closed="neither"), None],
        "privacy_unit": [StrOptions({"element", "record"})],
        "bounds": [StrOptions({"data"}), "array-like", None],
        "perturb": [StrOptions({"always", "fit"})],
        "random_state": ["random_state"],
    }

    guarantee_: PrivacyGuarantee
    expected_magnitude_: Any
    variance_: Any
    distribution_: OptimalDistribution | StaircaseDistribution | GaussianDistribution
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        sensitivity: float | None = None,
        *,
        privacy_unit: str = "element",
        bounds: ArrayLike | None = None,
        perturb: str = "always",
        random_state: int | np.random.RandomState | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.privacy_unit = privacy_unit
        self.bounds = bounds
        self.perturb = perturb
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Calibrate the noise and state the guarantee, without using the values.

        .. note::
           With ``perturb="always"``, every later :meth:`transform` adds noise. With
           ``perturb="fit"``, only :meth:`fit_transform` does: ``fit(X).transform(X)`` is X
           itself, **unprotected**.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to protect. Only the number and names of the features and the dtype are
            used, unless ``bounds="data"`` asks for the extremes.

        y : None
            Ignored, present for API consistency.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ValueError
            If ε, δ, sensitivity or bounds are out of range or contradict each other.

        Warns
        -----
        PrivacyLeakWarning
            If a seed is given, ε is infinite, δ is above 1e-3, bounds are learned from X, or
            neither ``bounds`` nor ``sensitivity`` is given.

        Examples
        --------
        >>> from skdp import OptimalDPNoise
        >>> noise = OptimalDPNoise(epsilon=2.0, bounds=(0, 1)).fit([[0.2, 0.8], [0.5, 0.1]])
        >>> noise.guarantee_.epsilon, round(noise.expected_magnitude_, 4)
        (2.0, 0.5)
        """
        self._calibrate(X)
        warn_of_seeds(type(self).__name__, self.random_state)
        warn_of_weak_privacy(type(self).__name__, self.epsilon, self.delta)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> np.ndarray:
        """Calibrate, and return a noisy copy of X whatever ``perturb`` is.

        .. note::
           A :class:`~sklearn.pipeline.Pipeline` calls this method in training, so that later
           steps never see the original data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to protect.

        y : None
            Ignored, present for API consistency.

        Returns
        -------
        X_noisy : ndarray of shape (n_samples, n_features)
            X plus independent noise, in the dtype of X.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import StaircaseDPNoise
        >>> X = np.linspace(0, 1, 6).reshape(3, 2)
        >>> noisy = StaircaseDPNoise(epsilon=2.0, bounds=(0, 1)).fit_transform(X)
        >>> noisy.shape, bool((noisy == X).any())
        ((3, 2), False)
        """
        return self._perturb(self._calibrate(X))

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return a noisy copy of X, or X itself under ``perturb="fit"``.

        .. note::
            With ``perturb="always"`` (the default) the output is private. With
            ``perturb="fit"`` it is X, **unprotected**, for queries that are not published.
            This includes training rows, as in ``fit(X).transform(X)`` or a
            :class:`~sklearn.pipeline.FeatureUnion`; a warning appears only if X is the very
            object that was fitted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to protect, or queries.

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_features)
            In the dtype of X.

        Raises
        ------
        ValueError
            If X has other columns than the fitted data, or values that are not finite.

        Warns
        -----
        PrivacyLeakWarning
            If noise could be recomputed, values are likely to be released without noise, or
            training rows are returned unchanged.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import GaussianDPNoise
        >>> X = np.linspace(0, 1, 6).reshape(3, 2)
        >>> noise = GaussianDPNoise(epsilon=1.0, delta=1e-5, bounds=(0, 1)).fit(X)
        >>> bool((noise.transform(X) == noise.transform(X)).any())  # new noise in each call
        False
        """
        check_is_fitted(self)
        rows = validate_private_data(self, X, reset=False)
        if self._always:
            return self._perturb(rows)
        self._warn_of_training_rows(X)
        return rows

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Return X itself: noise cannot be removed, and noisy data keep their units.

        .. note::
            For a :class:`~sklearn.compose.TransformedTargetRegressor` with
            ``check_inverse=False``: its outcomes are noisy, its predictions unchanged. It calls
            :meth:`transform`, so it needs ``perturb="always"``, and it does not protect features;
            :class:`~skdp.DPNoiseRegressor` protects both.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Noisy data, or predictions of a model trained on them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The same values.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import OptimalDPNoise
        >>> X = np.linspace(0, 1, 6).reshape(3, 2)
        >>> noise = OptimalDPNoise(epsilon=2.0, bounds=(0, 1)).fit(X)
        >>> noisy = noise.transform(X)
        >>> bool((noise.inverse_transform(noisy) == noisy).all())
        True
        """
        check_is_fitted(self)
        return check_array(X, dtype=[np.float64, np.float32])

    def guarantee_for(self, X: ArrayLike, y: Any = None) -> PrivacyGuarantee:
        """Return the guarantee of one noisy copy of X, without drawing noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to protect, as for :meth:`fit`.

        y : None
            Ignored, present for API consistency.

        Returns
        -------
        guarantee : PrivacyGuarantee
            The ``guarantee_`` that :meth:`fit` would set.

        Examples
        --------
        >>> from skdp import OptimalDPNoise
        >>> OptimalDPNoise(epsilon=0.5, bounds=(0, 1)).guarantee_for([[0.2, 0.8]]).epsilon
        0.5
        """
        return clone(self).fit(X).guarantee_

    def _calibrate(self, X):
        self.__dict__.pop("guarantee_", None)  # not fitted if anything below fails
        self._validate_params()  # even if scikit-learn is configured to skip it
        # A weak reference reveals nothing about the rows; a digest would confirm a guess.
        self._fitted_on = None
        with suppress(TypeError):  # lists have no weak references
            self._fitted_on = weakref.ref(X)
        X = validate_private_data(self, X)
        self._warn_of_learned_bounds()
        warn_of_unstated_range(type(self).__name__, self.bounds, self.sensitivity)
        # A later set_params must not silently change the guarantee.
        self._always = self.perturb == "always"
        self._random_state = self.random_state
        sensitivity, width = self._check_sensitivity(X)
        distribution = self._make_distribution(sensitivity)
        self._noise = None
        if np.isfinite(self.epsilon):
            # Rounding to the grid can increase the distance of two values by one step.
            self._step = grid_step(sensitivity, distribution.expected_magnitude)
            distribution = self._make_distribution(sensitivity + self._step)
            self._noise = distribution.on_grid(self._step)
        self.distribution_ = distribution
        self.expected_magnitude_ = distribution.expected_magnitude * width
        self.variance_ = distribution.variance * width**2
        self.guarantee_ = self._make_guarantee()
        return X

    def _check_sensitivity(self, X):
        """Return the sensitivity in units of the noise, and this unit in units of the data."""
        if self.bounds is None:
            self._bounds = None
            self._sensitivity = float(self.sensitivity or DEFAULT_SENSITIVITY)
            if not 1e-140 < self._sensitivity < 1e140:  # its square must be a float64
                raise ValueError(
                    f"The 'sensitivity' parameter of {type(self).__name__} is too extreme for "
                    f"double precision, got {self.sensitivity!r}. Choose units in which it is "
                    "closer to 1."
                )
            return self._sensitivity, 1.0
        if self.sensitivity is not None:
            raise ValueError(
                f"The 'sensitivity' parameter of {type(self).__name__} cannot be combined with "
                f"'bounds', which define it, got {self.sensitivity!r}. Give only one of "
                "them."
            )
        self._sensitivity = 1.0  # in units of the width of the bounds
        self._bounds = check_bounds(self, self.bounds, X)
        width = self._bounds.width
        if not 1e-140 < width.min() <= width.max() < 1e140:
            got = f", got widths from {width.min():g} to {width.max():g}"
            raise ValueError(
                f"The 'bounds' parameter of {type(self).__name__} is too extreme for double "
                f"precision{'' if isinstance(self.bounds, str) else got}. Choose units in "
                "which widths are closer to 1."
            )
        return 1.0, float(width[0]) if (width == width[0]).all() else width

    def _element_budget(self):
        """Return (ε, δ) of one element, independent of the others."""
        # p elements compose to pε and 1 − (1 − δ)^p, the probability that any of p independent
        # point masses occurs.
        mechanism = self._state_mechanism()
        epsilon, delta = mechanism.parameter, mechanism.atom
        least = LEAST_EPSILON / (1 - delta)
        if epsilon < least:
            raise ValueError(
                f"The 'epsilon' parameter of {type(self).__name__} leaves {epsilon:g} for one of "
                f"{self.n_features_in_} elements, got {self.epsilon!r} per "
                f"{self.privacy_unit}. Use at least {least:g} per element: even then noise "
                "hides the data."
            )
        return epsilon, delta

    def _state_mechanism(self):
        """Return the mechanism of a budget split evenly between elements."""
        epsilon, delta = float(self.epsilon), float(self.delta)
        return Mechanism(self._kind, epsilon, delta, n_elements=self._n_moving())

    def _n_moving(self):
        """Return how many elements of a unit may change."""
        return self.n_features_in_ if self.privacy_unit == "record" else 1

    def _perturb(self, X):
        if self._noise is None:
            warn_of_weak_privacy(type(self).__name__, self.guarantee_.epsilon, 0.0)
            return X.copy()
        self._warn_of_exact_values(self._noise.atom, X.size)
        bits = private_bits(type(self).__name__, self._random_state)
        return add_noise(X, self._noise, self._step, bits, self._bounds)

    def _warn_of_exact_values(self, delta, n_values):
        """Warn if a point mass is likely to release values exactly.

        The warning depends only on δ and the number of values, which the recipient knows.
        """
        expected = delta * n_values
        if expected > 0.1:  # at a tenth, nine of ten draws have none
            warn(
                f"{type(self).__name__}(delta={self.guarantee_.delta:g}): of these {n_values} "
                f"values, about {expected:.3g} are released without noise and can be recognized "
                "on a coarse grid, such as pixels. Use a delta far below 1 / number of values, or "
                f"delta=0, with {1 / (1 - delta):.6g} times the noise.",
                PrivacyLeakWarning,
            )

    def _warn_of_learned_bounds(self):
        if isinstance(self.bounds, str):
            warn(
                f"{type(self).__name__}(bounds={self.bounds!r}) learns the bounds from the rows "
                "that it protects: the extremes of each feature are not protected, and the "
                "guarantee holds only among data sets with the same bounds. "
                "Pass publicly known bounds, such as bounds=(0, 255).",
                PrivacyLeakWarning,
            )

    def _warn_of_training_rows(self, X):
        reference = getattr(self, "_fitted_on", None)
        if reference is not None and reference() is X:
            warn(
                f"{type(self).__name__}(perturb='fit').transform returns the rows that it was "
                "fitted on without noise: only fit_transform adds noise. Use the output of "
                "fit_transform, or perturb='always', for anything that you share.",
                PrivacyLeakWarning,
            )

    def _make_guarantee(self):
        excludes = "labels, and the number of rows and of rows per class"
        if self.perturb == "fit":
            covers = (
                "the features of the training rows as fit_transform returns them, not as "
                "transform does"
            )
            excludes += "; queries and all else that transform passes on"
        else:
            covers = "the features of every row that transform returns"
        return PrivacyGuarantee(
            mechanism=self._mechanism,
            mechanisms=(self._state_mechanism(),),
            sensitivity=None if self._bounds else self._sensitivity,
            n_features=self.n_features_in_,
            covers=covers,
            excludes=excludes,
            unit=self.privacy_unit,
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_fitted_on", None)
        return state

    def _sk_visual_block_(self):
        when = "every transform" if self.perturb == "always" else "fit only, queries pass"
        return VisualBlock(
            "single",
            self,
            names=f"{type(self).__name__} (noise: {when})",
            name_details=f"{self!r}, perturb={self.perturb!r}",
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class OptimalDPNoise(DPNoise):
    r"""Make data (ε, δ)-private with the smallest-magnitude noise of Kumar and Moser.

    Each element independently gets no noise with probability δ, and otherwise Laplace noise of
    scale ``sensitivity / epsilon`` (Kumar and Moser, Algorithm 5; δ = 0 is the Laplace
    mechanism):

    .. math:: E|v| = (1-δ)\,\frac{d}{ε}, \qquad \mathrm{Var}\,v = 2(1-δ)\frac{d^2}{ε^2}

    **Privacy.** By default ε and δ are *per element*: the outputs of two data sets that differ in
    one entry by at most ``sensitivity`` are hard to tell apart. A whole record of p entries then
    has (pε, 1 − (1−δ)^p). With ``privacy_unit="record"``, ε and δ protect the record, and the
    scale is p·d/ε. Labels and the number of rows are not protected. Each further noisy copy of
    the same rows spends ε and δ again. After fitting, ``guarantee_`` states all of this.

    **Optimality.** E|v| is the smallest among noises of one point mass plus a density that meets
    a pointwise sufficient condition. Other ε-private mechanisms need less noise:
    :class:`StaircaseDPNoise` does at every ε, and much less if ε is large.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one ``privacy_unit``; smaller is more private. ``inf`` adds
        no noise, with a warning.

    delta : float, default=0.0
        Probability δ in [0, 1) that an element is released without noise, which can be
        recognized if the data lie on a coarse grid. For N rows of p elements choose δ far below
        1/(N·p), or 0, which takes 1/(1 − δ) times the noise. ``transform`` warns if more than
        0.1 values are expected to be unprotected.

    sensitivity : float or None, default=None
        Largest change d > 0 of one element between neighbors, in the units of the data. Prefer
        ``bounds``, which cannot be combined with it. None: the width of the bounds, or 1 without
        bounds, with a warning.

    privacy_unit : {"element", "record"}, default="element"
        Whether ε and δ protect one entry of the matrix, or one row with all its entries, which
        needs much more noise.

    bounds : pair (low, high), "data" or None, default=None
        Publicly known bounds of the features, each a number or an array of shape
        (n_features,). Values are clipped to them, and their width is the sensitivity.
        ``"data"`` learns them from X, which reveals the extremes and warns; a constant column
        of value c gets the width max(1, \|c\|). None: values are not clipped, and values that
        change by more than d are protected less.

    perturb : {"always", "fit"}, default="always"
        When to add noise. ``"always"``: in every :meth:`transform`, so that all output is
        private. ``"fit"``: in :meth:`fit_transform` only, as a training pipeline needs;
        :meth:`transform` then returns queries and training rows unchanged:
        ``fit(X).transform(X)`` is X.

    random_state : int, RandomState instance or None, default=None
        Source of the noise. Only ``None``, a new key from the operating system for each call, is
        private. An integer, NumPy's global generator and a generator that repeats itself warn
        with :class:`~skdp.privacy.PrivacyLeakWarning`. Pickles of fitted transformers hold no
        seed, and no pickle holds a ``RandomState``: in another process both become None.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Immutable statement of the guarantee.

    expected_magnitude_ : float or ndarray of shape (n_features,)
        E|v|, in the units of the data; per feature if the bounds differ.

    variance_ : float or ndarray of shape (n_features,)
        Var v, likewise, for methods that correct for the noise.

    distribution_ : distribution
        Distribution of the noise of one element, in the units of the data; with bounds, in units
        of their width.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    DPNoiseRegressor : Noise on outcomes too, for a regressor that learns from both.
    StaircaseDPNoise : Less noise at every ε.
    GaussianDPNoise : The Gaussian mechanism; less noise if δ is large for its ε,
        such as δ = 0.01 at ε = 0.1 or δ = 0.1 at ε = 1, and for whole records.

    Notes
    -----
    Values are rounded to a grid, the noise is an integer number of grid steps, and the step is
    added to the sensitivity. Hence the guarantee holds for the returned floating-point numbers
    (Mironov, 2012), not only in real arithmetic. The step is at most 2^-24 of the sensitivity, or
    at most 2^-34 of the noise if that is larger. Random bits come from AES-256 in counter mode.

    Neighboring data sets have equal size and order; the order of rows and the index of pandas
    output are preserved. Integers beyond ±2^53 are clipped; ``longdouble``, decimals, dates and
    text are refused.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Definition 21, Result 3, equations (111)–(117), Algorithm 5. SERUMS D3.3
    (2022), Definitions 16–18, Result 2, equations (1.72)–(1.78), Algorithm 5. SERUMS D3.1 (2019),
    Results 3 and 4, equations (2.79)–(2.88).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import OptimalDPNoise
    >>> X, _ = load_digits(return_X_y=True)
    >>> noise = OptimalDPNoise(epsilon=2.0, bounds=(0, 1)).fit(X / 16)
    >>> private = noise.transform(X / 16)
    >>> private.shape
    (1797, 64)
    >>> round(noise.expected_magnitude_, 4)
    0.5
    >>> round(noise.guarantee_.to_record().epsilon)
    128
    """

    _mechanism = "optimal"
    _kind = "laplace"

    def _make_distribution(self, sensitivity):
        epsilon, delta = self._element_budget()
        return OptimalDistribution(sensitivity / (epsilon - PRECISION / (1 - delta)), delta)


class StaircaseDPNoise(DPNoise):
    r"""Make data (ε, δ)-private with staircase noise, the smallest ε-private noise.

    Each element independently gets no noise with probability δ, and otherwise noise whose
    density falls by a factor e^ε from step to step (Geng & Viswanath, 2014). It has the smallest
    expected magnitude of all (ε, 0)-private noises that are independent of the data; the point
    mass lowers it further:

    .. math:: E|v| = (1-δ)\,d\,\frac{e^{ε/2}}{e^ε - 1} \;<\; (1-δ)\,\frac{d}{ε}

    **Privacy.** As for :class:`OptimalDPNoise`, ε and δ are per element or per record, where each
    element gets ε/p. For δ > 0 no optimal noise is known. This noise is (ε, δ)-private because it
    mixes no noise, with weight δ, and ε-private noise, with weight 1 − δ.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one ``privacy_unit``; smaller is more private. ``inf`` adds
        no noise, with a warning.

    delta : float, default=0.0
        Probability δ in [0, 1) that an element is released without noise, which can be
        recognized if the data lie on a coarse grid. For N rows of p elements choose δ far below
        1/(N·p), or 0, which takes 1/(1 − δ) times the noise. ``transform`` warns if more than
        0.1 values are expected to be unprotected.

    sensitivity : float or None, default=None
        Largest change d > 0 of one element between neighbors, in the units of the data. Prefer
        ``bounds``, which cannot be combined with it. None: the width of the bounds, or 1 without
        bounds, with a warning.

    privacy_unit : {"element", "record"}, default="element"
        Whether ε and δ protect one entry of the matrix, or one row with all its entries, which
        needs much more noise.

    bounds : pair (low, high), "data" or None, default=None
        Publicly known bounds of the features, each a number or an array of shape
        (n_features,). Values are clipped to them, and their width is the sensitivity.
        ``"data"`` learns them from X, which reveals the extremes and warns; a constant column
        of value c gets the width max(1, \|c\|). None: values are not clipped, and values that
        change by more than d are protected less.

    perturb : {"always", "fit"}, default="always"
        When to add noise. ``"always"``: in every :meth:`transform`, so that all output is
        private. ``"fit"``: in :meth:`fit_transform` only, as a training pipeline needs;
        :meth:`transform` then returns queries and training rows unchanged:
        ``fit(X).transform(X)`` is X.

    random_state : int, RandomState instance or None, default=None
        Source of the noise, as for :class:`OptimalDPNoise`; only ``None`` is private.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Immutable statement of the guarantee.

    expected_magnitude_ : float or ndarray of shape (n_features,)
        E|v|, in the units of the data; per feature if the bounds differ.

    variance_ : float or ndarray of shape (n_features,)
        Var v, likewise, for methods that correct for the noise.

    distribution_ : distribution
        Distribution of the noise of one element, in the units of the data; with bounds, in units
        of their width.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    Raises
    ------
    ValueError
        If ε is above 20 for one element, where the noise is a 20,000th of the sensitivity.

    See Also
    --------
    OptimalDPNoise : The noise of Kumar and Moser, a Laplace distribution.

    Notes
    -----
    Grid, order of rows and accepted numbers are as for :class:`OptimalDPNoise`.

    References
    ----------
    Geng, Q. and Viswanath, P., "The optimal mechanism in differential privacy", ISIT 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import OptimalDPNoise, StaircaseDPNoise
    >>> X, _ = load_digits(return_X_y=True)
    >>> staircase = StaircaseDPNoise(epsilon=8.0, bounds=(0, 1)).fit(X / 16)
    >>> optimal = OptimalDPNoise(epsilon=8.0, bounds=(0, 1)).fit(X / 16)
    >>> round(optimal.expected_magnitude_ / staircase.expected_magnitude_, 2)
    6.82
    """

    _mechanism = "staircase"
    _kind = "pure"

    def _make_distribution(self, sensitivity):
        epsilon, delta = self._element_budget()
        if np.isinf(epsilon):
            return OptimalDistribution(0.0)  # no noise at all
        if epsilon > 20:  # beyond, tables of 64 bits cannot represent the steps precisely enough
            raise ValueError(
                f"The 'epsilon' parameter of StaircaseDPNoise leaves {epsilon:g} for one element, "
                f"got {self.epsilon!r}; the most is 20. Use OptimalDPNoise, or a "
                "smaller epsilon."
            )
        return StaircaseDistribution(epsilon - PRECISION / (1 - delta), sensitivity, delta)


class GaussianDPNoise(DPNoise):
    r"""Make data (ε, δ)-private with Gaussian noise.

    Each element gets independent normal noise. The standard deviation σ is either

    - ``calibration="analytic"``: the smallest σ that is (ε, δ)-private, exact for every ε
      (Balle & Wang, 2018); or
    - ``calibration="classical"``: :math:`σ = d\sqrt{2\log(1.25/δ)}/ε`, with which SERUMS D3.1
      (2019), section 2.1.3, compares the optimal noise. It is proven, and accepted, for ε < 1
      only.

    **Privacy.** By default ε and δ are *per element*, as for :class:`OptimalDPNoise`. A whole
    record of p entries has the sensitivity √p·d: ``guarantee_.to_record()`` has the ε of this σ
    at the same δ, and ``privacy_unit="record"`` chooses σ for the record. Labels and the number
    of rows are not protected. Each further noisy copy of the same rows spends privacy again.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one ``privacy_unit``; smaller is more private. ``inf`` adds
        no noise, with a warning.

    delta : float, default=1e-5
        Slack δ in (0, 1): an event may be e^ε times as likely, plus δ. The probability that the
        privacy loss exceeds ε is larger than δ.

    sensitivity : float or None, default=None
        Largest change d > 0 of one element between neighbors, in the units of the data. Prefer
        ``bounds``, which cannot be combined with it. None: the width of the bounds, or 1 without
        bounds, with a warning.

    privacy_unit : {"element", "record"}, default="element"
        Whether ε and δ protect one entry of the matrix, or one row with all its entries, which
        needs much more noise.

    bounds : pair (low, high), "data" or None, default=None
        Publicly known bounds of the features, each a number or an array of shape
        (n_features,). Values are clipped to them, and their width is the sensitivity.
        ``"data"`` learns them from X, which reveals the extremes and warns; a constant column
        of value c gets the width max(1, \|c\|). None: values are not clipped, and values that
        change by more than d are protected less.

    perturb : {"always", "fit"}, default="always"
        When to add noise. ``"always"``: in every :meth:`transform`, so that all output is
        private. ``"fit"``: in :meth:`fit_transform` only, as a training pipeline needs;
        :meth:`transform` then returns queries and training rows unchanged:
        ``fit(X).transform(X)`` is X.

    calibration : {"analytic", "classical"}, default="analytic"
        How σ is computed from ε and δ.

    random_state : int, RandomState instance or None, default=None
        Source of the noise, as for :class:`OptimalDPNoise`; only ``None`` is private.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Immutable statement of the guarantee.

    expected_magnitude_ : float or ndarray of shape (n_features,)
        E|v| = σ·√(2/π), in the units of the data; per feature if the bounds differ.

    variance_ : float or ndarray of shape (n_features,)
        Var v, likewise, for methods that correct for the noise.

    distribution_ : distribution
        Distribution of the noise of one element, in the units of the data; with bounds, in units
        of their width.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    Raises
    ------
    ValueError
        If ``delta`` is 0 or too small for ε, or ε ≥ 1 with ``calibration="classical"``.

    See Also
    --------
    OptimalDPNoise : Smaller expected noise for the same ε and δ if δ is small.

    Notes
    -----
    Grid, order of rows and accepted numbers are as for :class:`OptimalDPNoise`.

    References
    ----------
    Balle, B. and Wang, Y.-X., "Improving the Gaussian mechanism for differential
    privacy: analytical calibration and optimal denoising", ICML 2018.

    SERUMS D3.1 (2019), Results 5 and 6, equations (2.90), (2.95) and (2.96).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import GaussianDPNoise, OptimalDPNoise
    >>> X, _ = load_digits(return_X_y=True)
    >>> gaussian = GaussianDPNoise(epsilon=0.5, bounds=(0, 1)).fit(X / 16)
    >>> optimal = OptimalDPNoise(epsilon=0.5, bounds=(0, 1)).fit(X / 16)
    >>> round(gaussian.expected_magnitude_ / optimal.expected_magnitude_, 2)
    2.81
    """

    _mechanism = "Gaussian"
    _kind = "gaussian"

    distribution_: GaussianDistribution

    _parameter_constraints: dict = {
        **DPNoise._parameter_constraints,
        "calibration": [StrOptions({"analytic", "classical"})],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        sensitivity: float | None = None,
        *,
        privacy_unit: str = "element",
        bounds: ArrayLike | None = None,
        perturb: str = "always",
        calibration: str = "analytic",
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(
            epsilon,
            delta,
            sensitivity,
            privacy_unit=privacy_unit,
            bounds=bounds,
            perturb=perturb,
            random_state=random_state,
        )
        self.calibration = calibration

    def _make_distribution(self, sensitivity):
        # p elements that each change by at most d are one vector that changes by at most √p·d.
        distance = sensitivity * np.sqrt(self._n_moving())
        epsilon, delta = float(self.epsilon), float(self.delta)
        if delta == 0:
            raise ValueError(
                f"The 'delta' parameter of GaussianDPNoise must be above 0, got {self.delta}: "
                "no amount of Gaussian noise is (epsilon, 0)-private. Use a small delta such "
                "as 1e-5, or OptimalDPNoise(delta=0)."
            )
        if self.calibration == "classical" and epsilon >= 1:
            raise ValueError(
                "The 'epsilon' parameter of GaussianDPNoise must be below 1 with "
                f"calibration='classical', got {self.epsilon}: the formula is proven for "
                "epsilon < 1 only. Use calibration='analytic', which is exact for every "
                "epsilon."
            )
        if np.isinf(epsilon):
            return GaussianDistribution(0.0)
        # Subtract the error of the sampler.
        p = self._n_moving()
        epsilon -= p * PRECISION
        delta -= (1 + np.exp(min(epsilon, 700.0))) * p * GAUSSIAN_CUT
        if delta <= 0 or epsilon <= 0:
            raise ValueError(
                f"The 'epsilon' and 'delta' parameters of GaussianDPNoise, {self.epsilon!r} and "
                f"{self.delta!r} for one {self.privacy_unit}, exceed the precision of the "
                "sampler. Use a larger delta, an epsilon closer to 1, or OptimalDPNoise."
            )
        if self.calibration == "classical":
            return GaussianDistribution(distance * np.sqrt(2 * np.log(1.25 / delta)) / epsilon)
        # The factor compensates for sums over a grid of 2^-24 in place of integrals (argued).
        return GaussianDistribution(gaussian_sigma(epsilon, delta, distance) * (1 + 2.0**-24))

    def _state_mechanism(self):
        p, stated = self._n_moving(), (float(self.epsilon), float(self.delta))
        if not self.distribution_.scale:
            return Mechanism(self._kind, *stated)
        distance = np.sqrt(p) * (self._sensitivity + self._step)
        distance = float(distance / self.distribution_.scale)
        sampler = {"slack": p * PRECISION, "cut": p * GAUSSIAN_CUT}
        return Mechanism(self._kind, *stated, squared_distance=distance * distance, **sampler)


def perturb_training_rows(noise: Any, X: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return a noisy copy of training rows, and the transformer that made it.

    Parameters
    ----------
    noise : transformer
        Is cloned. If it has the parameter ``perturb``, this is set to ``"fit"``, so that queries
        get no noise and its guarantee says so.

    X : ndarray of shape (n_samples, n_features)
        Private rows.

    Returns
    -------
    noisy : ndarray of shape (n_samples, n_features)
        In the dtype of X.

    noise : transformer
        The fitted clone; its ``guarantee_``, if it has one, holds for the noisy copy.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.noise import OptimalDPNoise, perturb_training_rows
    >>> X = np.linspace(0, 1, 12).reshape(4, 3)
    >>> noisy, noise = perturb_training_rows(OptimalDPNoise(epsilon=2.0, bounds=(0, 1)), X)
    >>> noisy.shape, bool((noisy == X).any())
    ((4, 3), False)
    >>> noise.guarantee_.covers
    'the features of the training rows as fit_transform returns them, not as transform does'
    >>> bool((noise.transform(X[:2]) == X[:2]).all())  # queries get no noise
    True
    """
    given = noise.get_params(deep=False)
    noise = clone(noise)
    if "perturb" in given:
        noise.set_params(perturb="fit")
    if "random_state" in given:
        # A clone copies a generator with its state: two data sets would get the same noise, and
        # the difference of their noisy copies would equal the difference of the data.
        noise.set_params(random_state=given["random_state"])
    noisy = np.asarray(noise.fit_transform(X), dtype=X.dtype)
    return noisy, noise


def grid_step(sensitivity, magnitude):
    """Return a power of two that is small compared with the sensitivity and the noise."""
    # It is 2^-25 to 2^-24 of the smaller one, but at least 2^-35 of the noise, so that enough of
    # 64 random bits remain for the rejection.
    finest = max(min(sensitivity, magnitude) * 2.0**-24, magnitude * 2.0**-34)
    return float(2.0 ** np.floor(np.log2(finest)))


def add_noise(X, noise, step, bits, bounds=None):
    """Return a copy of X in its dtype with noise in units of a step, a power of two.

    With bounds, X is clipped and scaled to [0, 1] first.
    """
    # Rounding to the grid is exact and increases the distance of two values by less than one
    # step. Rounding the sum with the noise to the dtype of X and rescaling it to the bounds are
    # post-processing.
    noisy = np.empty_like(X, order="C")
    rows = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], rows):
        block = X[start : start + rows].astype(np.float64)
        if bounds is not None:
            block = bounds.to_unit(block)
        with np.errstate(over="ignore"):
            block /= step
        np.rint(block, out=block)
        block += noise.sample(block.size, bits).reshape(block.shape)
        block *= step
        beyond = np.isinf(block)
        if beyond.any():
            # Too large for the grid: floating-point numbers of this size within the sensitivity of
            # each other are equal.
            block[beyond] = X[start : start + rows][beyond]
        noisy[start : start + rows] = block if bounds is None else bounds.from_unit(block)
    return noisy


@dataclass(frozen=True)
class Bounds:
    """Finite bounds of each feature, low below high."""

    low: np.ndarray
    high: np.ndarray

    @property
    def width(self):
        """High minus low."""
        return self.high - self.low

    def to_unit(self, X):
        """Return X, clipped and scaled to [0, 1]."""
        return (np.clip(X, self.low, self.high) - self.low) / self.width

    def from_unit(self, Z):
        """Return values in the units of the data, given values in units of the width."""
        return self.low + self.width * Z


def check_bounds(estimator, bounds, X):
    """Return bounds from a pair of numbers or arrays, or of X for "data"."""
    if isinstance(bounds, str):
        low, high = (end.astype(np.float64) for end in (X.min(axis=0), X.max(axis=0)))
        high = np.where(high > low, high, low + np.maximum(1, np.abs(low)))
    else:
        try:
            low, high = (np.broadcast_to(b, X.shape[1]).astype(np.float64) for b in bounds)
        except (TypeError, ValueError) as error:
            raise _wrong_bounds(estimator, bounds, X) from error
    if not (np.isfinite(high - low).all() and (low < high).all()):
        raise _wrong_bounds(estimator, bounds, X)
    return Bounds(low, high)


def _wrong_bounds(estimator, bounds, X):
    return ValueError(
        f"The 'bounds' parameter of {type(estimator).__name__} must be a pair (low, high) of "
        f"finite numbers, or {X.shape[1]} numbers each, low below high, got "
        f"{bounds!r}. Use publicly known bounds of the features, such as (0, 255)."
    )
