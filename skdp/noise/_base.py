"""What all additive-noise transformers share."""

from numbers import Real

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from skdp.noise._bounds import check_bounds
from skdp.noise._grid import add_noise, grid_step
from skdp.noise._leaks import (
    PrivateRandomness,
    private_bits,
    reference_to,
    warn_of_exact_values,
    warn_of_learned_bounds,
    warn_of_no_noise,
    warn_of_seeds,
    warn_of_training_rows,
)
from skdp.privacy import Mechanism, PrivacyGuarantee
from skdp.utils._private_data import validate_private_data
from skdp.utils._sklearn import Interval, StrOptions, VisualBlock

# The sampler keeps the logarithms of ratios of probabilities to within this (argued at
# IntegerNoise, which checks every cell). ε is lowered by it, over 1 − δ to be on the safe side
# where there is a point mass.
PRECISION = 2.0**-30
# Least ε of one element or label, a thousand times the precision of the sampler: nothing of the
# data is left long before (rule of thumb).
LEAST_EPSILON = 1e-6
# Smallest sensitivity, in the units of the data: its square, a variance, is a float64.
_SMALLEST = 1e-140
# Largest sensitivity, for the same reason.
_LARGEST = 1e140


class DPNoise(OneToOneFeatureMixin, TransformerMixin, PrivateRandomness):
    """Base of every additive-noise transformer; a subclass supplies the noise distribution."""

    _mechanism: str

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "sensitivity": [Interval(Real, 0, None, closed="neither")],
        "privacy_unit": [StrOptions({"element", "record"})],
        "bounds": [StrOptions({"data"}), "array-like", None],
        "perturb": [StrOptions({"always", "fit"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        epsilon=1.0,
        delta=0.0,
        sensitivity=1.0,
        *,
        privacy_unit="element",
        bounds=None,
        perturb="always",
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.privacy_unit = privacy_unit
        self.bounds = bounds
        self.perturb = perturb
        self.random_state = random_state

    def fit(self, X, y=None):
        """Calibrate the noise and state the guarantee; nothing is learned from the values.

        .. note::
           With ``perturb="always"`` every later :meth:`transform` adds noise. With
           ``perturb="fit"`` only :meth:`fit_transform` does: ``fit(X).transform(X)`` is X
           itself, **unprotected**.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to be protected. Only the number and names of its features and its dtype
            matter here, unless ``bounds="data"`` asks for its extremes.

        y : None
            Ignored, present for API consistency.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._calibrate(X)
        warn_of_seeds(self, self.random_state)
        warn_of_no_noise(self, self.epsilon)
        return self

    def fit_transform(self, X, y=None):
        """Calibrate, and return a noisy copy of X, whatever ``perturb`` says.

        .. note::
           This is the call that a training :class:`~sklearn.pipeline.Pipeline` makes, so a
           model behind it never sees the data itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to be protected.

        y : None
            Ignored, present for API consistency.

        Returns
        -------
        X_noisy : ndarray of shape (n_samples, n_features)
            X plus independent noise, in the dtype of X.
        """
        return self._perturb(self._calibrate(X))

    def transform(self, X):
        """Return a noisy copy of X, or X itself under ``perturb="fit"``.

        .. note::
           With ``perturb="always"`` (the default) what comes back is private. With
           ``perturb="fit"`` it is X, **unprotected**: meant for queries that stay with
           whoever asks them. Training rows that get here, as by ``fit(X).transform(X)`` or
           by a :class:`~sklearn.pipeline.FeatureUnion`, come back as they are; where it is
           the very object that was fitted, this warns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to be protected, or queries.

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_features)
            In the dtype of X.
        """
        check_is_fitted(self)
        rows = validate_private_data(self, X, reset=False)
        if self._always:
            return self._perturb(rows)
        warn_of_training_rows(self, X)
        return rows

    def guarantee_for(self, X, y=None):
        """Return what one noisy copy of X will guarantee; draws no noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to be protected, as for :meth:`fit`.

        y : None
            Ignored, present for API consistency.

        Returns
        -------
        guarantee : PrivacyGuarantee
            What ``guarantee_`` is after :meth:`fit`.
        """
        return clone(self).fit(X).guarantee_

    def _calibrate(self, X):
        self.__dict__.pop("guarantee_", None)  # whatever fails now, no other noise is added
        self._validate_params()  # whatever scikit-learn is configured to skip
        self._fitted_on = reference_to(X)
        X = validate_private_data(self, X)
        warn_of_learned_bounds(self)
        # What set_params changes later must not change, unseen, what is guaranteed now.
        self._always = self.perturb == "always"
        self._random_state = self.random_state
        sensitivity, width = self._check_sensitivity(X)
        distribution = self._make_distribution(sensitivity)
        self._noise = None
        if np.isfinite(self.epsilon):
            # Rounding to the grid can move two values apart by one more step.
            self._step = grid_step(sensitivity, distribution.expected_magnitude)
            distribution = self._make_distribution(sensitivity + self._step)
            self._noise = distribution.on_grid(self._step)
        self.expected_magnitude_ = distribution.expected_magnitude * width
        self.variance_ = distribution.variance * width**2
        self.guarantee_ = self._make_guarantee(distribution)
        return X

    def _check_sensitivity(self, X):
        """Return the sensitivity in units of the noise, and that unit in units of the data."""
        if self.bounds is None:
            self._bounds = None
            if not _SMALLEST < self.sensitivity < _LARGEST:
                raise ValueError(
                    f"The 'sensitivity' parameter of {type(self).__name__} is too extreme for "
                    f"double precision, got {self.sensitivity!r}. Bring it closer to 1, in other "
                    "units."
                )
            return float(self.sensitivity), 1.0
        if self.sensitivity != 1:
            raise ValueError(
                f"The 'sensitivity' parameter of {type(self).__name__} must be left at 1.0 where "
                f"bounds are given, got {self.sensitivity!r}: the bounds define it. Drop one of "
                "the two."
            )
        self._bounds = check_bounds(self, self.bounds, X)
        width = self._bounds.width
        if not _SMALLEST < width.min() <= width.max() < _LARGEST:
            got = f", got widths from {width.min():g} to {width.max():g}"
            raise ValueError(
                f"The 'bounds' parameter of {type(self).__name__} is too extreme for double "
                f"precision{'' if isinstance(self.bounds, str) else got}. Bring them closer to 1, "
                "in other units."
            )
        return 1.0, float(width[0]) if (width == width[0]).all() else width

    def _element_budget(self):
        """Return (ε, δ) of one element, independent of the others.

        p elements compose to pε, and to 1 − (1 − δ)^p, the probability that any of p
        independent point masses fires.
        """
        mechanism = self._shared_budget("pure")
        epsilon, delta = mechanism.parameter, mechanism.atom
        least = LEAST_EPSILON / (1 - delta)
        if epsilon < least:
            raise ValueError(
                f"The 'epsilon' parameter of {type(self).__name__} leaves {epsilon:g} for one of "
                f"{self.n_features_in_} elements, got {self.epsilon!r} for each "
                f"{self.privacy_unit}. Use at least {least:g} for one element: nothing "
                "of the data is left long before."
            )
        return epsilon, delta

    def _shared_budget(self, kind):
        """Return the mechanism of a budget that is split evenly between elements."""
        epsilon, delta = float(self.epsilon), float(self.delta)
        return Mechanism(kind, epsilon, delta, n_elements=self._n_moving())

    def _n_moving(self):
        """Return how many elements of a unit may move."""
        return self.n_features_in_ if self.privacy_unit == "record" else 1

    def _perturb(self, X):
        if self._noise is None:
            warn_of_no_noise(self, self.guarantee_.epsilon)
            return X.copy()
        warn_of_exact_values(self, self._noise.atom, X.size)
        bits = private_bits(self, self._random_state)
        return add_noise(X, self._noise, self._step, bits, self._bounds)

    def _make_guarantee(self, distribution):
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
            mechanisms=(self._state_mechanism(distribution),),
            sensitivity=None if self._bounds else float(self.sensitivity),
            n_features=self.n_features_in_,
            covers=covers,
            excludes=excludes,
            unit=self.privacy_unit,
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "guarantee_")

    def _sk_visual_block_(self):
        when = "every transform" if self.perturb == "always" else "fit only, queries pass"
        return VisualBlock(
            "single",
            self,
            names=f"{type(self).__name__} (noise: {when})",
            name_details=f"{self!r}, perturb={self.perturb!r}",
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
