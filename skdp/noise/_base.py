"""The gate that data passes on the way out of its owner's hands."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.noise._laws import add_noise
from skdp.privacy import PrivacyGuarantee, PrivacyLeakWarning
from skdp.utils._sklearn import Interval, StrOptions, VisualBlock, fit_context


class DPNoise(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What every additive-noise transformer shares; a subclass supplies its law."""

    _mechanism: str

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "sensitivity": [Interval(Real, 0, None, closed="neither")],
        "perturb": [StrOptions({"always", "fit"})],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Calibrate the noise and state the guarantee; nothing is learned from the values.

        .. note::
           With ``perturb="always"`` every later :meth:`transform` adds noise; with
           ``perturb="fit"`` only :meth:`fit_transform` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to be protected. Only its number of columns, their names and its dtype
            matter here.

        y : None
            Ignored, present for API consistency.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._calibrate(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
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
           whoever asks them.

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
        X = self._validate(X, reset=False)
        return self._perturb(X) if self._always else X

    def _validate(self, X, reset):
        return validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)

    def _calibrate(self, X):
        X = self._validate(X, reset=True)
        self._warn_of_leaks()
        # What set_params changes later must not change, unseen, what is guaranteed now.
        self._always = self.perturb == "always"
        self._random_state = self.random_state
        self._law = self._make_law()
        self.expected_magnitude_ = self._law.expected_magnitude
        self.guarantee_ = self._make_guarantee()
        return X

    def _warn_of_leaks(self):
        name = type(self).__name__
        if isinstance(self.random_state, Integral):
            warnings.warn(
                f"{name}(random_state={self.random_state}): whoever guesses this seed can "
                "recompute the noise and subtract it, and every transform adds the same noise, "
                "so that two outputs differ by exactly what their inputs do. Either undoes the "
                "guarantee. Use random_state=None for anything that leaves your hands.",
                PrivacyLeakWarning,
                stacklevel=5,
            )
        if np.isinf(self.epsilon):
            warnings.warn(
                f"{name}(epsilon=inf) adds no noise: what it returns is the data itself. "
                "Use a finite epsilon for anything that leaves your hands.",
                PrivacyLeakWarning,
                stacklevel=5,
            )

    def _perturb(self, X):
        # None means fresh entropy of the operating system, never NumPy's global state,
        # which a forgotten np.random.seed would make predictable.
        entropy = None
        if self._random_state is not None:
            entropy = check_random_state(self._random_state).randint(
                0, 2**32, size=8, dtype=np.uint32
            )
        return add_noise(X, self._law, np.random.default_rng(entropy))

    def __sklearn_clone__(self):
        # A copied generator would repeat its noise on the next data set, and the difference
        # of two noisy copies would be that of the data. A shared one goes on.
        copy = super().__sklearn_clone__()
        copy.random_state = self.random_state
        return copy

    def __getstate__(self):
        # A generator's state would let whoever reads the pickle step it back and subtract
        # the noise. The copy draws fresh entropy instead.
        state = super().__getstate__().copy()
        for name in ("random_state", "_random_state"):
            if isinstance(state.get(name), np.random.RandomState):
                state[name] = None
        return state

    def _make_guarantee(self):
        record_epsilon, record_delta = self._record_level()
        excludes = "labels, and the number of rows and of rows per class"
        if self.perturb == "fit":
            covers = "the features of the training rows (what fit_transform returns)"
            excludes += "; queries, which pass unchanged"
        else:
            covers = "the features of every row that transform returns"
        return PrivacyGuarantee(
            mechanism=self._mechanism,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            sensitivity=float(self.sensitivity),
            n_features=self.n_features_in_,
            record_epsilon=float(record_epsilon),
            record_delta=float(record_delta),
            covers=covers,
            excludes=excludes,
        )

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
