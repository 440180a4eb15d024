"""The deep fuzzy autoencoder."""

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdp.fuzzy._model import FuzzyLayer, propagate
from skdp.fuzzy._regressor import FUZZY_CONSTRAINTS, DeepFuzzyModel
from skdp.membership import (
    MOST_COMPONENTS,
    BaseAutoencoder,
    check_codes,
    error_sums,
    likely_components,
)
from skdp.utils._kernel_regression import LENGTH_SCALE
from skdp.utils._linalg import principal_directions
from skdp.utils._sklearn import StrOptions, fit_context
from skdp.utils._storage import require, stored_array
from skdp.utils._validation import validate_training_data

# So few rows say too little about the number of components: codes of full rank, of which rules
# are averages, were more accurate with five rows of a class on five of six data sets.
FEW_ROWS = 8
# Width of the fuzzy sets of full-rank codes. Wide sets reconstruct rows far from all training rows
# as well as these, so that classes do not differ.
_NARROW = 0.3


class DeepFuzzyAutoencoder(DeepFuzzyModel, BaseAutoencoder):
    r"""Deep fuzzy autoencoder: a deep fuzzy model from the code of a row to the row.

    The code is x = Vᵀy, with V the leading eigenvectors of the uncentered second moment of
    the training rows; a model like :class:`DeepFuzzyRegressor` maps it back to y. All layers
    share the centers and the metric of the first, because their inputs are codes of (nearly)
    the same rows. The autoencoder defines a fuzzy set to which a row belongs the more, the
    better it is reconstructed:

    .. math:: μ(y) = \exp\Big(-\frac{\|y - \hat y\|^2}{2p}\Big)

    Parameters
    ----------
    n_components : "auto" or int, default="auto"
        Size of the code. It never exceeds the number of features or the numerical rank of
        the rows. ``"auto"``: at most 20, by the held-out likelihood of probabilistic principal
        components as in :class:`CDMMA`, and 20 for fewer than 8 rows; 20 in the report.

    n_inducing : int or float, default=0.5
        Number of rules M: a count, or a fraction of the rows in (0, 1]. Never more than
        the distinct rows.

    max_layers : int, default=10
        Largest number of layers; layers are added while the precision grows.

    length_scale : "auto" or float, default="auto"
        Width of the fuzzy sets along each coordinate of the code, in units of its range.
        ``"auto"``: 1, as in the report, or 0.3 if the code has as many coordinates as a row.

    centers : array-like of shape (n_rules, n_components), default=None
        Centers of the fuzzy sets in the space of codes. Default: k-means centroids of the
        codes.

    membership_function : "gaussian" or callable, default="gaussian"
        A callable takes an array of squared distances, in units of the squared range of
        each coordinate, and returns logarithms of memberships.

    tol : float, default=1e-4
        Relative change of β at which the inference of a layer stops.

    max_iter : int, default=200
        Largest number of iterations for a layer, which are cheap.

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (`n_components_`, n_features)
        Vᵀ, principal directions as rows.

    n_components_ : int
        Size of the code.

    centers_ : ndarray of shape (n_rules, `n_components_`)
        Centers of the fuzzy sets.

    n_layers_ : int
        Number of layers.

    precisions_ : ndarray of shape (`n_layers_`,)
        Precision β of each layer; they increase.

    training_error_sums_ : ndarray of shape (3,)
        Number of training rows, sum of their squared reconstruction errors, and sum of the
        squares of these errors.

    n_iter_ : int
        Largest number of iterations of a layer.

    dtype_ : dtype
        Floating dtype of the training rows and of the computations.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    CDMMA : The autoencoder of membership-mappings.
    DeepFuzzyClassifier : One autoencoder per participant and class.

    References
    ----------
    SERUMS D3.1 (2019), section 2.2.5, Definitions 8–10, equations (2.156)–(2.162), Algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import DeepFuzzyAutoencoder
    >>> X, y = load_digits(return_X_y=True)
    >>> eights = X[y == 8] / 16
    >>> autoencoder = DeepFuzzyAutoencoder(n_components=10, random_state=0).fit(eights)
    >>> autoencoder.transform(eights).shape
    (174, 10)
    >>> ones = X[y == 1] / 16
    >>> bool(autoencoder.membership(eights).mean() > autoencoder.membership(ones).mean())
    True
    """

    _parameter_constraints: dict = {
        **DeepFuzzyModel._parameter_constraints,
        "n_components": [*FUZZY_CONSTRAINTS["n_components"], StrOptions({"auto"})],
        "length_scale": LENGTH_SCALE,
    }

    components_: np.ndarray
    n_components_: int
    training_error_sums_: np.ndarray

    def __init__(
        self,
        n_components: int | str = "auto",
        n_inducing: int | float = 0.5,
        *,
        max_layers: int = 10,
        length_scale: str | float = "auto",
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
        self.centers = centers
        self.membership_function = membership_function
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the autoencoder.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.

        y : None
            Ignored, present for API consistency.

        Returns
        -------
        self : object
            The fitted autoencoder.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import DeepFuzzyAutoencoder
        >>> X = load_digits(n_class=1).data / 16
        >>> autoencoder = DeepFuzzyAutoencoder(5, n_inducing=20, random_state=0).fit(X)
        >>> autoencoder.components_.shape, autoencoder.centers_.shape
        ((5, 64), (20, 5))
        """
        rows = validate_training_data(self, X)
        n_components = self.n_components
        if n_components == "auto":
            [n_components] = likely_components(rows, [np.arange(len(rows))])
            n_components = MOST_COMPONENTS if len(rows) < FEW_ROWS else n_components
        V = principal_directions(rows, n_components, center=False)
        width = self.length_scale
        if width == "auto":
            width = _NARROW if len(V) == rows.shape[1] else 1.0
        layers, fitted, _ = self._fit_layers(
            rows @ V.T, rows, V, length_scale=width, share_centers=True
        )
        self.training_error_sums_ = error_sums(rows, fitted)
        return self._assemble(V, layers, rows.dtype)

    def _assemble(self, components, layers, dtype):
        self.centers_ = layers[0].centers
        self.n_layers_ = len(layers)
        return super()._assemble(components, layers, dtype)

    def _to_arrays(self):
        """Return everything that predictions need, under the names used in files."""
        coefs = {f"coef{depth}": layer.coef for depth, layer in enumerate(self._layers)}
        return {
            "components": self.components_,
            "centers": self._layers[0].centers,
            "weights": self._layers[0].weights,
            "precisions": self.precisions_,
            "error_sums": self.training_error_sums_,
            "n_iter": np.array(self.n_iter_),
            **coefs,
        }

    def _stored_layers(self, arrays, key, components):
        """Return the layers of a file, checked."""
        (n, p), dtype = components.shape, components.dtype
        centers = stored_array(arrays, f"{key}centers", dtype, (None, n))
        weights = stored_array(arrays, f"{key}weights", dtype, (n,))
        require(weights.min() >= 0, f"{key}weights")
        precisions = stored_array(arrays, f"{key}precisions", np.float64, (None,))
        require(precisions.min() > 0, f"{key}precisions")
        n_iter = arrays[f"{key}n_iter"]
        require(n_iter.shape == () and n_iter.dtype.kind == "i", f"{key}n_iter")
        layers = []
        for depth, precision in enumerate(precisions):
            coef = stored_array(arrays, f"{key}coef{depth}", dtype, (len(centers), p))
            layers.append(FuzzyLayer(centers, weights, "gaussian", coef, float(precision)))
        self.n_iter_ = int(n_iter)
        return layers

    def membership(self, X: ArrayLike) -> np.ndarray:
        """Return the degree to which each row belongs to the fuzzy set.

        SERUMS D3.1 (2019), equation (2.162).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        membership : ndarray of shape (n_samples,)
            Between 0 and 1.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import DeepFuzzyAutoencoder
        >>> X = load_digits(n_class=1).data / 16
        >>> autoencoder = DeepFuzzyAutoencoder(5, n_inducing=20, random_state=0).fit(X)
        >>> bool(autoencoder.membership(X).mean() > autoencoder.membership(1 - X).mean())
        True
        """
        return error_membership(self.reconstruction_error(X), self.n_features_in_)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Decode codes; ``inverse_transform(transform(X))`` is ``reconstruct(X)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, `n_components_`)
            Codes.

        Returns
        -------
        X_decoded : ndarray of shape (n_samples, n_features)
            Rows in the space of the training data.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from skdp import DeepFuzzyAutoencoder
        >>> X = load_digits(n_class=1).data / 16
        >>> autoencoder = DeepFuzzyAutoencoder(5, n_inducing=20, random_state=0).fit(X)
        >>> codes = autoencoder.transform(X)
        >>> bool(np.allclose(autoencoder.inverse_transform(codes), autoencoder.reconstruct(X)))
        True
        """
        check_is_fitted(self)
        return propagate(self._layers, self.components_, check_codes(self, X))[0]

    def candidates(self, Y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield codes and reconstructions; see :mod:`skdp.membership`.

        Parameters
        ----------
        Y : ndarray of shape (n_rows, n_features)
            Validated rows, in the dtype in which to compute.

        Yields
        ------
        code : ndarray of shape (n_rows, n_coordinates)
            Coordinates Vᵀy of the only candidate.

        reconstruction : ndarray of shape (n_rows, n_features)
            Output of the last layer.
        """
        code = Y @ self.components_.T
        yield code, propagate(self._layers, self.components_, code)[0]

    def values_per_row(self) -> int:
        """Return how many numbers :meth:`candidates` holds in memory per row.

        Returns
        -------
        n_values : int
            Determines the block size of predictions.
        """
        return 4 * self.n_features_in_ + 2 * len(self.centers_) + 4 * self.n_components_


def error_membership(errors, n_features):
    """Return exp(−error / (2p)), SERUMS D3.1 (2019), equation (2.162)."""
    return np.exp(-0.5 * errors / n_features)
