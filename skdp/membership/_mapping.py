"""The membership-mapping as a multi-output regressor."""

from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state

from skdp.membership._mapping_inference import MAX_ITER, fit_layer
from skdp.utils._kernel_regression import (
    COUNT_OR_FRACTION,
    LENGTH_SCALE,
    Standardization,
    check_points,
    resolve_count,
    warn_of_no_convergence,
)
from skdp.utils._parallel import map_rows
from skdp.utils._sklearn import Interval, StrOptions, fit_context
from skdp.utils._validation import validate_queries, validate_training_data


class MembershipMapping(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Variational Student-t membership-mapping, a sparse Bayesian kernel regressor.

    Each output is a smooth function of the inputs, represented by M inducing points a:

    .. math:: \hat y(x) = G(x)\,α, \qquad α = (Φ + τK + K/β)^{-1}\,Ψ^T Y

    K is the kernel matrix of the inducing points; Ψ and Φ are the kernel and its products,
    averaged over the uncertainty of the inputs; τ is the smoothing of the Student-t model, and β
    the learned precision of the outputs.

    Parameters
    ----------
    n_inducing : int or float, default=0.5
        Number of inducing points: a count, or a fraction of the rows in (0, 1]. It never
        exceeds the number of distinct rows; ``inference="empirical"`` may reduce it.

    inference : {"gamma", "empirical"}, default="gamma"
        How β and the kernel variance are estimated. ``"gamma"``: Gamma-distributed precisions
        and uncertain inputs (Kumar and Moser, Algorithm 1). ``"empirical"``: β is the inverse
        of the mean squared residual; M and the kernel variance adapt to the variance of the
        outputs (SERUMS D3.3 (2022), Algorithm 1).

    nu : float, default=2.1
        Degrees of freedom ν > 2 of the Student-t mapping; ``inf``, for "gamma" only, switches
        its smoothing off (τ = 0). Large values make "empirical" drop nearly all inducing points.

    input_variance : float, default=0.0
        Variance σ_x² ≥ 0 of errors in the inputs, in squared units of X, for
        ``inference="gamma"``; 0.01 in the paper, for features of about unit range.

    length_scale : "auto" or float, default="auto"
        Width of the kernel along each feature, in units of the feature's range; 1 in the papers.
        "auto" chooses 0.1, 0.3, 1 or 3 by the leave-one-out error of the training rows, at little
        cost.

    standardize : bool, default=True
        Whether to make the result independent of units: outputs are learned with mean zero and
        variance one, and k-means measures distances in ranges of the features. The papers do not,
        and their prior shrinks outputs far from zero or much larger than one.

    inducing_points : array-like of shape (n_points, n_features), default=None
        Inducing points. Default: k-means centroids of X.

    tol : float, default=1e-4
        Relative change of β at which the iteration stops.

    max_iter : int, default=200
        Largest number of updates of β, which are cheap.

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    inducing_points_ : ndarray of shape (n_points, n_features)
        The points a.

    dual_coef_ : ndarray of shape (n_points, n_outputs)
        The coefficients α; of standardized outputs if ``standardize``.

    precision_ : float
        The precision β of the outputs, in inverse squared units of y, or of standardized outputs.

    length_scale_ : float
        The width of the kernel, in units of the range of each feature.

    n_iter_ : int
        Number of iterations until β converged.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    CDMMA : Autoencoder stacked from these mappings.
    DPNoiseRegressor : Trains such a mapping on noisy inputs and outputs.

    Notes
    -----
    The kernel is :math:`\exp(-\tfrac12\sum_k (x_k-x'_k)^2/(\ell r_k)^2)` with the range r_k of
    feature k and the ``length_scale`` :math:`\ell`. The papers use
    ``length_scale=1.0, standardize=False``, and ``input_variance=0.01`` with "gamma".

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Algorithm 1, equations (66)–(98) and (149)–(157). SERUMS D3.3 (2022),
    Definition 11 and Algorithm 1, equations (1.49)–(1.60).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import MembershipMapping
    >>> X = np.linspace(0, 1, 100)[:, np.newaxis]
    >>> y = np.sin(3 * X.ravel())
    >>> mapping = MembershipMapping(n_inducing=20, random_state=0)
    >>> mapping.fit(X, y).inducing_points_.shape
    (20, 1)
    >>> bool(mapping.score(X, y) > 0.999)
    True
    """

    _parameter_constraints: dict = {
        "n_inducing": COUNT_OR_FRACTION,
        "inference": [StrOptions({"gamma", "empirical"})],
        "nu": [Interval(Real, 2, None, closed="right")],
        "input_variance": [Interval(Real, 0, None, closed="left")],
        "length_scale": LENGTH_SCALE,
        "standardize": ["boolean"],
        "inducing_points": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    inducing_points_: np.ndarray
    dual_coef_: np.ndarray
    precision_: float
    length_scale_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        n_inducing: int | float = 0.5,
        *,
        inference: str = "gamma",
        nu: float = 2.1,
        input_variance: float = 0.0,
        length_scale: str | float = "auto",
        standardize: bool = True,
        inducing_points: ArrayLike | None = None,
        tol: float = 1e-4,
        max_iter: int = MAX_ITER,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_inducing = n_inducing
        self.inference = inference
        self.nu = nu
        self.input_variance = input_variance
        self.length_scale = length_scale
        self.standardize = standardize
        self.inducing_points = inducing_points
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the mapping from X to y.

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

        Raises
        ------
        ValueError
            If ``nu`` is infinite with ``inference="empirical"``, or X or y are invalid.

        Warns
        -----
        ConvergenceWarning
            If β did not converge within ``max_iter`` iterations.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import MembershipMapping
        >>> X = np.linspace(0, 1, 50)[:, np.newaxis]
        >>> mapping = MembershipMapping(n_inducing=10, random_state=0).fit(X, np.sin(3 * X))
        >>> mapping.dual_coef_.shape, bool(mapping.precision_ > 1)
        ((10, 1), True)
        """
        rows, outputs = validate_training_data(self, X, y, multi_output=True, y_numeric=True)
        if self.inference == "empirical" and np.isinf(self.nu):
            raise ValueError(
                "The 'nu' parameter of MembershipMapping must be finite with "
                "inference='empirical', got inf: the number of inducing points would be "
                "undefined. Use nu=2.1, or inference='gamma'."
            )
        Y = outputs.reshape(len(outputs), -1).astype(np.float64)
        self._outputs = Standardization.of(Y, self.standardize)
        layer, _ = fit_layer(
            rows.astype(np.float64, copy=False),
            self._outputs.apply(Y),
            n_inducing=resolve_count(self.n_inducing, len(rows)),
            inference=self.inference,
            nu=self.nu,
            input_variance=self.input_variance,
            length_scale=self.length_scale,
            standardize=self.standardize,
            inducing_points=check_points(self, "inducing_points", rows.shape[1]),
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=check_random_state(self.random_state),
            with_variance=True,
        )
        self.inducing_points_ = layer.inducing_points
        self.dual_coef_ = layer.coef / layer.scale
        self.precision_ = layer.precision
        self.length_scale_ = layer.length_scale
        self.n_iter_ = layer.n_iter
        warn_of_no_convergence(self)
        self._layer = layer.astype(rows.dtype)
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
            Whether to return the standard deviation of the predictive distribution too. Its
            square adds up the noise 1/β, the posterior variance of the outputs at the inducing
            points (equation (156)), and the variance of the mapping given these (equation (149)),
            which grows with the distance from them. It costs O(M²) per row and O(M³) once, and a
            fitted mapping keeps an M × M matrix for it.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The mapping's output, in the floating dtype of the training inputs.

        std : ndarray of the shape of y
            Returned if ``return_std`` is true.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import MembershipMapping
        >>> X = np.linspace(0, 1, 50)[:, np.newaxis]
        >>> mapping = MembershipMapping(n_inducing=10, random_state=0)
        >>> y, std = mapping.fit(X, np.sin(3 * X.ravel())).predict(X, return_std=True)
        >>> bool(np.abs(y - np.sin(3 * X.ravel())).max() < 0.01)
        True
        >>> bool(std.max() < mapping.predict([[3.0]], return_std=True)[1])  # far from X
        True
        """
        rows = validate_queries(self, X)
        layer = self._layer
        y = map_rows(
            self.predict_block,
            rows,
            values_per_row=2 * rows.shape[1] + sum(layer.coef.shape),
            dtype=layer.coef.dtype,
        )
        y = y.ravel() if self._single_output else y
        if not return_std:
            return y
        variance = layer.variance.function()
        std = map_rows(
            lambda x: np.sqrt(variance(x)),
            rows,
            values_per_row=2 * rows.shape[1] + 4 * sum(layer.coef.shape),
            dtype=np.float64,
        )
        std *= self._outputs.scale
        return y, std.reshape(y.shape).astype(y.dtype)

    def predict_block(self, X: np.ndarray) -> np.ndarray:
        """Predict a block of rows, without validation.

        For callers that validate their rows and divide them into blocks.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Validated inputs, in the dtype in which to compute.

        Returns
        -------
        y : ndarray of shape (n_rows, n_outputs)
            The mapping's output, always two-dimensional.
        """
        return self._outputs.undo(self._layer.predict(X))
