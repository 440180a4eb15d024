"""The deep fuzzy model as a multi-output regressor."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state

from skdp.fuzzy._model import fit_layers, propagate
from skdp.utils._kernel_regression import (
    COUNT_OR_FRACTION,
    LENGTH_SCALE,
    Standardization,
    check_points,
    resolve_count,
    warn_of_no_convergence,
)
from skdp.utils._linalg import principal_directions
from skdp.utils._parallel import map_rows
from skdp.utils._sklearn import Interval, StrOptions, fit_context
from skdp.utils._validation import validate_queries, validate_training_data

FUZZY_CONSTRAINTS: dict = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "n_inducing": COUNT_OR_FRACTION,
    "max_layers": [Interval(Integral, 1, None, closed="left")],
    "membership_function": [StrOptions({"gaussian"}), callable],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}


class DeepFuzzyModel(BaseEstimator):
    """Base of the deep fuzzy regressor and autoencoder: shared parameters and learning."""

    _parameter_constraints: dict = {**FUZZY_CONSTRAINTS, "centers": ["array-like", None]}

    centers_: np.ndarray
    n_layers_: int
    precisions_: np.ndarray
    n_iter_: int

    def _fit_layers(self, x, Y, directions, **settings):
        """Learn the layers of the model x → Y; return them and their output for x."""
        layers, fitted, length_scale = fit_layers(
            x,
            Y,
            directions,
            n_rules=resolve_count(self.n_inducing, len(x)),
            max_layers=self.max_layers,
            centers=check_points(self, "centers", x.shape[1]),
            function=self.membership_function,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=check_random_state(self.random_state),
            **settings,
        )
        self.n_iter_ = max(layer.n_iter for layer in layers)
        warn_of_no_convergence(self)
        return layers, fitted, length_scale


class DeepFuzzyRegressor(MultiOutputMixin, RegressorMixin, DeepFuzzyModel):
    r"""Deep fuzzy model: stacked Takagi-Sugeno filters with Bayesian consequents.

    Each of M rules states "if x is in the fuzzy set around a_m, then y is α_m". With rule
    memberships that sum to one, a layer is linear in its consequents,

    .. math:: \hat y(x) = K(x)\,α, \qquad
       K_m(x) = \frac{μ_m(x)}{\sum_j μ_j(x)}, \qquad
       μ_m(x) = \exp\Big(-\tfrac12 \sum_k w_k (x_k - a_{mk})^2\Big)

    where α has a Gaussian prior of variance 10⁶, and the precision β of the outputs a Gamma
    prior; mean-field updates estimate both. The input of a further layer is the leading
    principal coordinates Vᵀŷ of the previous output. Layers are added while β grows.

    Parameters
    ----------
    n_components : int, default=20
        Number of principal coordinates Vᵀŷ that further layers read; at most the number of
        outputs.

    n_inducing : int or float, default=0.5
        Number of rules M: a count, or a fraction of the rows in (0, 1]. Never more than
        the distinct rows.

    max_layers : int, default=10
        Largest number of layers.

    length_scale : "auto" or float, default="auto"
        Width of the fuzzy sets along each feature, in units of the feature's range; 1 in the
        report. "auto" chooses 0.1, 0.3, 1 or 3 by the leave-one-out error of the first layer.

    standardize : bool, default=True
        Whether to make the result independent of units: outputs are learned with mean zero and
        variance one, and k-means measures distances in ranges of the features. The report does
        not, and its inference may mistake all of large outputs for noise.

    centers : array-like of shape (n_rules, n_features), default=None
        Centers of the first layer's fuzzy sets. Default: k-means centroids of X. Further
        layers find their own, because their inputs are in another space.

    membership_function : "gaussian" or callable, default="gaussian"
        A callable takes an array of squared distances, in units of the squared range of
        each feature, and returns logarithms of memberships.

    tol : float, default=1e-4
        Relative change of β at which the inference of a layer stops.

    max_iter : int, default=200
        Largest number of iterations for a layer, which are cheap.

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    centers_ : ndarray of shape (n_rules, n_features)
        Centers of the first layer.

    n_layers_ : int
        Number of layers.

    precisions_ : ndarray of shape (`n_layers_`,)
        Precision β of each layer, in inverse squared units of y, or of standardized outputs;
        they increase.

    length_scale_ : float
        The width of the fuzzy sets, in units of the range of each feature.

    n_iter_ : int
        Largest number of iterations of a layer.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    DeepFuzzyAutoencoder : Such a model from the principal coordinates of y to y.

    Notes
    -----
    The model of the report has ``length_scale=1.0, standardize=False``.

    References
    ----------
    SERUMS D3.1 (2019), section 2.2, Definitions 6 and 7, equations (2.111)–(2.116), Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DeepFuzzyRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.rand(200, 1)
    >>> y = np.sin(6 * X.ravel()) + 0.1 * rng.randn(200)
    >>> model = DeepFuzzyRegressor(n_inducing=10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> mean, std = model.predict(X, return_std=True)
    >>> print(f"{std.mean():.2f}")
    0.10
    """

    _parameter_constraints: dict = {
        **DeepFuzzyModel._parameter_constraints,
        "length_scale": LENGTH_SCALE,
        "standardize": ["boolean"],
    }

    length_scale_: float
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        n_components: int = 20,
        n_inducing: int | float = 0.5,
        *,
        max_layers: int = 10,
        length_scale: str | float = "auto",
        standardize: bool = True,
        centers: ArrayLike | None = None,
        membership_function: str | Callable[..., Any] = "gaussian",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.max_layers = max_layers
        self.length_scale = length_scale
        self.standardize = standardize
        self.centers = centers
        self.membership_function = membership_function
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Outputs.

        Returns
        -------
        self : object
            The fitted regressor.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DeepFuzzyRegressor
        >>> X = np.linspace(0, 1, 100)[:, np.newaxis]
        >>> model = DeepFuzzyRegressor(n_inducing=10, random_state=0).fit(X, np.sin(3 * X.ravel()))
        >>> model.centers_.shape
        (10, 1)
        """
        rows, outputs = validate_training_data(self, X, y, multi_output=True, y_numeric=True)
        Y = outputs.reshape(len(outputs), -1).astype(np.float64)
        self._outputs = Standardization.of(Y, self.standardize)
        Y = self._outputs.apply(Y)
        V = principal_directions(Y, self.n_components, center=False)
        x = rows.astype(np.float64, copy=False)
        layers, _, self.length_scale_ = self._fit_layers(
            x,
            Y,
            V,
            length_scale=self.length_scale,
            standardize=self.standardize,
            with_covariance=True,
        )
        self.centers_ = layers[0].centers
        self.n_layers_ = len(layers)
        self.precisions_ = np.array([layer.precision for layer in layers])
        self._layers = [layer.astype(rows.dtype) for layer in layers]
        self._directions = V.astype(rows.dtype, copy=False)
        self._single_output = outputs.ndim == 1
        return self

    def predict(
        self, X: ArrayLike, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predict the outputs for X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        return_std : bool, default=False
            Whether to return the standard deviation of the predictive distribution too, due to
            the consequents of the last layer and the noise.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Posterior mean, in the floating dtype of the training inputs.

        std : ndarray of the shape of y
            Returned if ``return_std`` is true; equal for all outputs of a row.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DeepFuzzyRegressor
        >>> X = np.linspace(0, 1, 100)[:, np.newaxis]
        >>> model = DeepFuzzyRegressor(n_inducing=10, random_state=0).fit(X, np.sin(3 * X.ravel()))
        >>> y, std = model.predict(X, return_std=True)
        >>> bool(np.abs(y - np.sin(3 * X.ravel())).max() < 0.1), std.shape
        (True, (100,))
        """
        rows = validate_queries(self, X)
        n_rules, n_outputs = self._layers[-1].coef.shape

        def compute(x):
            mean, x = propagate(self._layers, self._directions, x)
            mean = self._outputs.undo(mean)
            if not return_std:
                return mean
            std = np.sqrt(self._layers[-1].variance(x))
            return np.hstack([mean, np.outer(std, self._outputs.scale)])

        out = map_rows(
            compute,
            rows,
            values_per_row=2 * rows.shape[1] + 3 * (n_rules + n_outputs),
            dtype=self._directions.dtype,
        )
        mean, std = (
            values.ravel() if self._single_output else values
            for values in (out[:, :n_outputs], out[:, n_outputs:])
        )
        return (mean, std) if return_std else mean
