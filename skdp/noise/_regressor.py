"""A regressor trained on noisy features and noisy outcomes."""

from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skdp.noise._randomness import without_seed
from skdp.noise._transformers import DPNoise, perturb_training_rows
from skdp.privacy import PrivacyGuarantee
from skdp.utils._frames import as_column
from skdp.utils._sklearn import HasMethods
from skdp.utils._validation import PrivateParametersMixin, validate_private_data, validate_queries


class DPNoiseRegressor(PrivateParametersMixin, MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    r"""Train any regressor on noisy features and noisy outcomes under one guarantee.

    :meth:`fit` adds independent noise to every feature and every outcome, and trains a clone of
    ``regressor`` on these noisy pairs,

    .. math:: x^{+} = x + u, \qquad y^{+} = y + v,

    This is the private algorithm of SERUMS D3.1 (2019), Definition 1, with the noise of Result 4
    (:class:`OptimalDPNoise`) or Result 6 (:class:`GaussianDPNoise`). The regressor never sees
    the exact data. :meth:`predict` adds no noise.

    **Privacy.** ``guarantee_`` protects a whole record: all features of one row *and* its
    outcomes may change. It adds up both guarantees: nε + pε′ for ε per feature (n of them) and ε′
    per outcome (p of them), and less for Gaussian noise on both. For a change of a single value
    see ``noise_.guarantee_`` and ``target_noise_.guarantee_``. The number of rows and the queries
    are not protected. Each fit spends the budget again, and so does each candidate and fold of a
    grid search; scores on private rows are not protected. Put steps that learn from the data,
    such as a scaler, into ``regressor``: earlier steps of a pipeline would see exact data.

    Parameters
    ----------
    regressor : estimator object
        Regressor to train, also a pipeline or a
        :class:`~sklearn.compose.TransformedTargetRegressor`. Its parameters must not depend on
        the data.

    noise : OptimalDPNoise, StaircaseDPNoise or GaussianDPNoise
        Noise of the features. Its parameter ``perturb`` is ignored: training rows are always
        perturbed, queries never.

    target_noise : OptimalDPNoise, StaircaseDPNoise or GaussianDPNoise
        Noise of the outcomes. It requires publicly known ``bounds=(low, high)``: outcomes are
        clipped to them, and their width is the sensitivity. Its seed, in tests, must differ
        from the seed of ``noise``.

    Attributes
    ----------
    regressor_ : estimator object
        The fitted regressor.

    guarantee_ : PrivacyGuarantee
        Joint guarantee of a record with its outcomes.

    noise_, target_noise_ : transformer
        The fitted noises, each with ``guarantee_`` and ``variance_``.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    OptimalDPNoise : Noise on the features only, in a pipeline with ``perturb="fit"``.

    Notes
    -----
    Results 1 to 6 of SERUMS D3.1 (2019) are about data sets that differ in **one element of X or
    Y** by at most d. Hence their (ε, δ) protects one value, not a record; for two different
    noises it is the larger one. Their proof implicitly needs U independent of V: with V = U, and
    X and Y of the same shape, the difference X⁺ − Y⁺ = X − Y would be exact. Here the noises are
    drawn independently.

    Noise on the features flattens the model: the slope of a linear regression shrinks by
    var(x)/(var(x) + var(u)). ``noise_.variance_`` is var(u), and ``input_variance`` of
    :class:`MembershipMapping` corrects for it. Intervals of a regressor that estimates its
    residuals, as by ``predict(X, return_std=True)``, are about noisy outcomes.

    References
    ----------
    SERUMS project, deliverable D3.1, "Report on initial distributed differential privacy deep
    learning models", 2019, Definitions 1–3, Results 1–6, equations (2.5), (2.8),
    (2.9)–(2.12), (2.83), (2.84), (2.95), (2.96).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skdp import DPNoiseRegressor, OptimalDPNoise
    >>> rng = np.random.RandomState(0)
    >>> X = rng.rand(2000, 2)
    >>> y = 10 * X[:, 0]
    >>> model = DPNoiseRegressor(
    ...     LinearRegression(),
    ...     noise=OptimalDPNoise(epsilon=8.0, bounds=(0, 1)),
    ...     target_noise=OptimalDPNoise(epsilon=4.0, bounds=(0, 10)),
    ... ).fit(X, y)
    >>> print(model.guarantee_)
    (20, 0)-differential privacy per labeled record, by the optimal noise of features and the ...
      neighbors:  two data matrices that differ in one record, anywhere within the bounds, ...
      covers:     the features and outcomes of the training rows, in all that is learned from them
      excludes:   the number of rows; queries
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _parameter_constraints: dict = {
        "regressor": [HasMethods(["fit", "predict"])],
        "noise": [DPNoise],
        "target_noise": [DPNoise],
    }

    regressor_: Any
    guarantee_: PrivacyGuarantee
    noise_: DPNoise
    target_noise_: DPNoise
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(self, regressor: Any, *, noise: DPNoise, target_noise: DPNoise):
        self.regressor = regressor
        self.noise = noise
        self.target_noise = target_noise

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add noise to X and y, and train the regressor on both.

        Sample weights are not supported: they would be further values of a record.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private features.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Private outcomes, numbers.

        Returns
        -------
        self : object
            The fitted regressor.

        Raises
        ------
        ValueError
            If ``target_noise`` has no bounds or the seed of ``noise``, or if X, y or the settings
            of a noise are invalid.

        Warns
        -----
        PrivacyLeakWarning
            If noise could be recomputed, is infinitely small, or has bounds learned from the data.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DeepFuzzyRegressor, DPNoiseRegressor, GaussianDPNoise
        >>> X = np.linspace(0, 1, 100)[:, np.newaxis]
        >>> noise = GaussianDPNoise(epsilon=2.0, bounds=(0, 1))
        >>> model = DPNoiseRegressor(DeepFuzzyRegressor(), noise=noise, target_noise=noise)
        >>> round(model.fit(X, X.ravel()).guarantee_.epsilon, 2)  # less than 2 + 2
        2.95
        """
        self.__dict__.pop("guarantee_", None)  # not fitted if anything below fails
        self._validate_params()  # even if scikit-learn is configured to skip it
        self._check_target_noise()
        multi_output = get_tags(self).target_tags.multi_output
        rows, outcomes = validate_private_data(self, X, y, multi_output=multi_output)
        columns = _validated_columns(clone(self.target_noise), y)
        noisy_rows, noise = perturb_training_rows(self.noise, rows)
        noisy_columns, target_noise = perturb_training_rows(self.target_noise, columns)
        noisy_outcomes = noisy_columns.ravel() if outcomes.ndim == 1 else noisy_columns
        self.regressor_ = clone(self.regressor).fit(noisy_rows, noisy_outcomes)
        self.noise_, self.target_noise_ = noise, target_noise
        self.guarantee_ = _guarantee_of_pairs(noise.guarantee_, target_noise.guarantee_)
        return self

    def _check_target_noise(self):
        if self.target_noise.bounds is None:
            raise ValueError(
                "The 'target_noise' parameter of DPNoiseRegressor must have bounds, or larger "
                "changes of outcomes would be protected less. Pass publicly known "
                f"bounds of y, such as {type(self.target_noise).__name__}(bounds=(low, high))."
            )
        seeds = self.noise.random_state, self.target_noise.random_state
        if all(isinstance(seed, Integral) for seed in seeds) and seeds[0] == seeds[1]:
            raise ValueError(
                "The 'noise' and 'target_noise' parameters of DPNoiseRegressor have the same "
                f"random_state={seeds[0]}: their noise would not be independent. "
                "Use None, or different seeds."
            )

    def predict(self, X: ArrayLike, **predict_params: Any) -> Any:
        """Predict outcomes with the fitted regressor, without noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, which are not protected.

        **predict_params : dict
            Passed to ``predict`` of the regressor, such as ``return_std=True``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Output of the regressor.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPNoiseRegressor, GaussianDPNoise, MembershipMapping
        >>> X = np.linspace(0, 1, 100)[:, np.newaxis]
        >>> noise = GaussianDPNoise(epsilon=2.0, bounds=(0, 1))
        >>> model = DPNoiseRegressor(MembershipMapping(10), noise=noise, target_noise=noise)
        >>> y, std = model.fit(X, X.ravel()).predict(X, return_std=True)
        >>> y.shape, std.shape
        ((100,), (100,))
        """
        check_is_fitted(self)
        return self.regressor_.predict(validate_queries(self, X), **predict_params)

    def __getstate__(self) -> dict[str, Any]:
        # The fitted noises have no seed in a pickle; neither may the noises they were cloned from.
        state = super().__getstate__().copy()
        if any(name.endswith("_") for name in state):
            for name in ("noise", "target_noise"):
                state[name] = without_seed(state[name])
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags = get_tags(self.regressor).target_tags
        tags.non_deterministic = True
        return tags


def _validated_columns(noise, y):
    """Return outcomes as a table of floats; quote no value."""
    y = as_column(y)
    if not hasattr(y, "ndim"):
        # An array of whole and other numbers would round large ones before clipping.
        y = np.array(y, dtype=object)
    try:
        return validate_private_data(noise, y if y.ndim == 2 else np.asarray(y)[:, np.newaxis])
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("Input X", "Input y")) from None


def _guarantee_of_pairs(of_rows, of_outcomes):
    """Return the guarantee of a record, all of whose features and outcomes may change."""
    record, outcomes = of_rows.to_record(), of_outcomes.to_record()
    return replace(
        record,
        mechanism=f"the {record.mechanism} noise of features and the {outcomes.mechanism} noise "
        "of outcomes",
        mechanisms=(*record.mechanisms, *outcomes.mechanisms),
        covers="the features and outcomes of the training rows, in all that is learned from them",
        excludes="the number of rows; queries",
        unit="labeled record",
    )
