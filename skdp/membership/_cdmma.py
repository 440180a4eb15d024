"""CDMMA, the conditionally deep membership-mapping autoencoder, and its wide form."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skdp.membership._autoencoder import (
    BaseAutoencoder,
    check_codes,
    error_sums,
    fit_autoencoders,
    nearest,
    take_output,
)
from skdp.membership._components import MOST_COMPONENTS
from skdp.membership._mapping_inference import MAX_ITER, Layer, fit_layer
from skdp.membership._search import SearchCache
from skdp.utils._kernel_regression import resolve_count
from skdp.utils._linalg import principal_directions
from skdp.utils._sklearn import Interval, StrOptions, fit_context
from skdp.utils._storage import require, stored_array
from skdp.utils._validation import validate_data, validate_training_data
from skdp.utils._warnings import warn

# Rows per component of "auto": with two, 40 rows of breast cancer and 15 of wine
# are reconstructed badly.
_ROWS_EACH = 4


class _DeepAutoencoder(BaseAutoencoder):
    """Base of CDMMA and WideCDMMA: predictions by one CDMMA per subset of the rows."""

    _parameter_constraints: dict = {
        **BaseAutoencoder._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_layers": [Interval(Integral, 1, None, closed="left")],
        "inference": [StrOptions({"gamma", "empirical"})],
    }

    def __init__(
        self,
        n_components: int | str = "auto",
        n_inducing: int | float = 0.5,
        n_layers: int = 5,
        *,
        inference: str = "gamma",
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.inference = inference
        self.random_state = random_state

    def layer_outputs(self, X: ArrayLike) -> np.ndarray:
        """Return the output of every layer; with several subsets, of the nearest one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to reconstruct.

        Returns
        -------
        outputs : ndarray of shape (n_layers, n_samples, n_features)
            From the least to the most abstract layer.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMA
        >>> X = load_digits(n_class=1).data / 16
        >>> autoencoder = CDMMA(5, n_layers=2, random_state=0).fit(X)
        >>> autoencoder.layer_outputs(X[:3]).shape
        (2, 3, 64)
        """

        def compute(Y):
            outputs = np.empty((len(Y), self.n_layers, Y.shape[1]), dtype=Y.dtype)
            _, winners = self._winners(Y)
            for k, rows in self._rows_won(winners):
                pairs = self._subsets()[k]._propagate(Y[rows])
                outputs[rows] = np.stack([output for _, output in pairs], axis=1)
            return outputs

        extra = 4 * self.n_layers * self.n_features_in_
        return self._map_rows(compute, X, extra).swapaxes(0, 1)

    def _nearest(self, Y, keep=None):
        errors, winners = self._winners(Y)
        if keep is None:
            return errors, None
        kept = None
        for k, rows in self._rows_won(winners):
            depths = winners[rows, 1]
            for depth, pair in enumerate(self._subsets()[k]._propagate(Y[rows])):
                value = keep(*pair)
                kept = np.empty((len(Y), value.shape[1]), value.dtype) if kept is None else kept
                kept[rows[depths == depth]] = value[depths == depth]
        return errors, kept

    def _winners(self, Y):
        """Return the smallest error of each row, with its subset and layer."""
        search = self._search([self._subsets()])
        errors, winners = search.winners_of_block(Y)
        return errors[:, 0], winners[:, 0]

    def _rows_won(self, winners):
        """Yield the subsets that win rows, and their rows."""
        for k in np.unique(winners[:, 0]):
            yield k, np.flatnonzero(winners[:, 0] == k)

    def candidates(self, Y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield codes and reconstructions; see :mod:`skdp.membership`.

        Parameters
        ----------
        Y : ndarray of shape (n_rows, n_features)
            Validated rows, in the dtype in which to compute.

        Yields
        ------
        code : ndarray of shape (n_rows, n_coordinates)
            Input of a layer.

        reconstruction : ndarray of shape (n_rows, n_features)
            Its output.
        """
        for autoencoder in self._subsets():
            yield from autoencoder._propagate(Y)

    def values_per_row(self) -> int:
        """Return how many numbers :meth:`candidates` holds in memory per row.

        Returns
        -------
        n_values : int
            Determines the block size of predictions.
        """
        return max(
            4 * self.n_features_in_ + 2 * a.n_inducing_.max() + 4 * a.n_components_
            for a in self._subsets()
        )


class CDMMA(_DeepAutoencoder):
    r"""Conditionally deep membership-mapping autoencoder.

    Layer l projects the output of the previous layer on the first
    max(n_components − l + 1, 1) principal directions of the training data and predicts the
    data from this code with a membership-mapping. Deeper layers use fewer coordinates and
    reconstruct more abstractly. The output is the layer nearest to the input:

    .. math::
       \hat y^{l} = \mathcal{F}^l(P^l \hat y^{l-1}), \quad \hat y^0 = y, \qquad
       l^* = \arg\min_l \|y - \hat y^l\|^2

    Parameters
    ----------
    n_components : "auto" or int, default="auto"
        Size of the first layer's code. It never exceeds the number of features or the
        numerical rank of the centered data. ``"auto"``: 20, as in the papers, or a quarter of the
        number of rows if these are fewer than 80. Along further directions, other rows lie
        outside the range of the codes and are not reconstructed.

    n_inducing : int or float, default=0.5
        Inducing points of each layer: a count, or a fraction of the rows in (0, 1]. Never
        more than the distinct rows.

    n_layers : int, default=5
        Depth L.

    inference : {"gamma", "empirical"}, default="gamma"
        Inference of the mappings, see :class:`MembershipMapping`: ``"gamma"`` as in Kumar and
        Moser (ν = 2.1 in the first layer, infinite in deeper ones), ``"empirical"`` as in SERUMS
        D3.3 (2022) (ν = 2.1 in all layers, and each layer starts from the final number of
        inducing points of the previous one).

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (`n_components_`, n_features)
        Principal directions P, as rows.

    n_components_ : int
        Size of the code.

    precisions_ : ndarray of shape (n_layers,)
        Precision β of each layer.

    n_inducing_ : ndarray of shape (n_layers,)
        Inducing points of each layer.

    n_iter_ : int
        Largest number of iterations of a layer.

    training_error_sums_ : ndarray of shape (3,)
        Number of training rows, sum of their squared reconstruction errors, and sum of the
        squares of these errors.

    dtype_ : dtype
        Floating dtype of the training rows and of the computations.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    WideCDMMA : For large data, with one autoencoder per subset.
    CDMMAClassifier : One autoencoder for each class.

    Notes
    -----
    The mappings assume inputs known up to a variance of 0.01: scale X to about unit range.
    Cost grows with the cube of the number of rows; above a few thousand use
    :class:`WideCDMMA`.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Definitions 16–18, equations (99)–(106), Algorithm 2. SERUMS D3.3 (2022),
    Definitions 2, 3 and 12, equations (1.61)–(1.65), Algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import CDMMA
    >>> X, y = load_digits(return_X_y=True)
    >>> eights = X[y == 8] / 16
    >>> autoencoder = CDMMA(n_components=10, random_state=0).fit(eights)
    >>> autoencoder.transform(eights).shape
    (174, 10)
    >>> ones = X[y == 1] / 16
    >>> bool(autoencoder.reconstruction_error(ones).mean()
    ...      > autoencoder.reconstruction_error(eights).mean())
    True
    """

    components_: np.ndarray
    n_components_: int
    precisions_: np.ndarray
    n_inducing_: np.ndarray
    n_iter_: int
    training_error_sums_: np.ndarray

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

        Warns
        -----
        ConvergenceWarning
            If the precision of a layer did not converge.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMA
        >>> X = load_digits(n_class=1).data / 16
        >>> autoencoder = CDMMA(5, n_layers=2, random_state=0).fit(X)
        >>> autoencoder.components_.shape, autoencoder.n_inducing_.tolist()
        ((5, 64), [89, 89])
        """
        rows = validate_training_data(self, X)
        random_state = check_random_state(self.random_state)
        n_components = self.n_components
        if n_components == "auto":
            n_components = min(MOST_COMPONENTS, max(1, len(rows) // _ROWS_EACH))
        P = principal_directions(rows, n_components)
        gamma = self.inference == "gamma"
        layers = []

        def outputs(n_inducing):
            x = rows @ P.T
            for depth in range(self.n_layers):
                layer, output = fit_layer(
                    x[:, : max(len(P) - depth, 1)],
                    rows,
                    n_inducing=n_inducing,
                    inference=self.inference,
                    # Of the first layer, and of all under "empirical": Kumar and Moser, Algorithm
                    # 2, step 1; SERUMS D3.3 (2022), equation (1.52).
                    nu=np.inf if gamma and depth else 2.1,
                    random_state=random_state,
                )
                layers.append(layer)
                if not gamma:
                    n_inducing = len(layer.inducing_points)
                yield x, output
                x = output @ P.T

        fitted = nearest(outputs(resolve_count(self.n_inducing, len(rows))), rows, take_output)[1]
        if max(layer.n_iter for layer in layers) == MAX_ITER:
            warn(
                f"The precision of a layer of CDMMA did not converge in {MAX_ITER} iterations. "
                "Lower n_components or n_layers, or scale X to about unit range.",
                ConvergenceWarning,
            )
        self.training_error_sums_ = error_sums(rows, fitted)
        return self._assemble(P, layers, rows.dtype)

    def _assemble(self, components, layers, dtype):
        self.n_inducing_ = np.array([len(layer.inducing_points) for layer in layers])
        self.n_iter_ = max(layer.n_iter for layer in layers)
        self._search = SearchCache()
        return super()._assemble(components, layers, dtype)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Decode codes.

        The number of trailing zeros of a code identifies its layer, so that
        ``inverse_transform(transform(X))`` equals ``reconstruct(X)``, with two exceptions: rows
        whose last coordinates are exactly zero, as on a grid along the axes, and depths beyond
        ``n_components_``, where several layers have codes of one entry. The first layer decodes
        a code of zeros.

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
        >>> from skdp import CDMMA
        >>> X = load_digits(n_class=1).data / 16
        >>> autoencoder = CDMMA(5, n_layers=2, random_state=0).fit(X)
        >>> codes = autoencoder.transform(X)
        >>> bool(np.allclose(autoencoder.inverse_transform(codes), autoencoder.reconstruct(X)))
        True
        """
        check_is_fitted(self)
        codes = check_codes(self, X)
        n = self.n_components_
        used = np.where(codes != 0, np.arange(1, n + 1), 0).max(axis=1)
        depths = np.where(used == 0, 0, np.minimum(n - used, len(self._layers) - 1))
        decoded = np.empty((len(codes), self.n_features_in_), dtype=self.dtype_)
        for depth in np.unique(depths):
            layer, rows = self._layers[depth], depths == depth
            decoded[rows] = layer.predict(codes[rows, : layer.inducing_points.shape[1]])
        return decoded

    def _subsets(self):
        return [self]

    def _propagate(self, Y):
        """Yield the input and output of each layer for validated rows."""
        output = Y
        for layer in self._layers:
            code = output @ self.components_[: layer.inducing_points.shape[1]].T
            output = layer.predict(code)
            yield code, output

    def _to_arrays(self):
        """Return everything that predictions need, under the names used in files."""
        arrays = {
            "components": self.components_,
            "error_sums": self.training_error_sums_,
            "layers": np.array(
                [[layer.scale, layer.precision, layer.n_iter] for layer in self._layers]
            ),
        }
        for depth, layer in enumerate(self._layers):
            arrays[f"inducing_points{depth}"] = layer.inducing_points
            arrays[f"weights{depth}"] = layer.weights
            arrays[f"coef{depth}"] = layer.coef
        return arrays

    def _stored_layers(self, arrays, key, components):
        """Return the layers of a file, checked."""
        (n, p), dtype = components.shape, components.dtype
        most = p if self.n_components == "auto" else min(self.n_components, p)
        require(n <= most, f"{key}components")
        numbers = stored_array(arrays, f"{key}layers", np.float64, (self.n_layers, 3))
        layers = []
        for depth, (scale, precision, n_iter) in enumerate(numbers):
            # A scale may be zero: Π(1 + w·s)^−½ underflows if inputs hardly vary, and the
            # coefficients already contain the product.
            require(scale >= 0 and precision > 0, f"{key}layers")
            require(n_iter >= 0 and n_iter == int(n_iter), f"{key}layers")
            width = max(n - depth, 1)
            points = stored_array(arrays, f"{key}inducing_points{depth}", dtype, (None, width))
            weights = stored_array(arrays, f"{key}weights{depth}", dtype, (width,))
            require(weights.min() >= 0, f"{key}weights{depth}")
            coef = stored_array(arrays, f"{key}coef{depth}", dtype, (len(points), p))
            layers.append(
                Layer(points, weights, coef, float(scale), float(precision), int(n_iter))
            )
        return layers


class WideCDMMA(_DeepAutoencoder):
    """Wide conditionally deep membership-mapping autoencoder, for large data.

    k-means splits the rows into ⌈N / subset_size⌉ subsets. Each subset gets its own
    :class:`CDMMA`, and the output is the nearest reconstruction among them.

    Parameters
    ----------
    n_components : "auto" or int, default="auto"
        Size of the first layer's code in each subset. ``"auto"``: 20, as in the papers, or a
        quarter of the number of rows if these are fewer than 80.

    n_inducing : int or float, default=0.5
        Inducing points of each layer: a count, or a fraction of the subset's rows in
        (0, 1]. Never more than the subset's distinct rows.

    n_layers : int, default=5
        Depth of each autoencoder.

    inference : {"gamma", "empirical"}, default="gamma"
        Inference of the mappings, see :class:`CDMMA`.

    subset_size : int, default=1000
        Number of rows per autoencoder.

    n_jobs : int or None, default=None
        Number of autoencoders fitted in parallel, and of threads in a prediction. ``None``
        means 1 unless in a :obj:`joblib.parallel_config` context. It does not change the result.

    verbose : int, default=0
        If positive, :meth:`fit` prints its progress.

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    autoencoders_ : list of CDMMA
        One per subset.

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
    CDMMA : One autoencoder for all rows.
    WideCDMMAClassifier : One wide autoencoder for each class.

    Notes
    -----
    The code of a row consists of principal coordinates of the subset that reconstructs it best.
    Codes of different rows are therefore not always comparable. A code does not identify its
    subset, so the class has no ``inverse_transform``.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Definition 19, equations (107)–(109), Algorithm 3. SERUMS D3.3 (2022),
    Definitions 13 and 14, equations (1.66)–(1.70), Algorithm 3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import WideCDMMA
    >>> X, _ = load_digits(return_X_y=True)
    >>> autoencoder = WideCDMMA(n_layers=2, subset_size=500, random_state=0).fit(X / 16)
    >>> len(autoencoder.autoencoders_)
    4
    >>> autoencoder.reconstruct(X / 16).shape
    (1797, 64)
    """

    _parameter_constraints: dict = {
        **_DeepAutoencoder._parameter_constraints,
        "subset_size": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    autoencoders_: list[CDMMA]
    n_iter_: int

    def __init__(
        self,
        n_components: int | str = "auto",
        n_inducing: int | float = 0.5,
        n_layers: int = 5,
        *,
        inference: str = "gamma",
        subset_size: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(
            n_components, n_inducing, n_layers, inference=inference, random_state=random_state
        )
        self.subset_size = subset_size
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Partition the rows and learn an autoencoder for each subset.

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
        >>> from skdp import WideCDMMA
        >>> X = load_digits(n_class=2).data / 16
        >>> autoencoder = WideCDMMA(5, n_layers=1, subset_size=100, random_state=0).fit(X)
        >>> len(X), len(autoencoder.autoencoders_)
        (360, 4)
        """
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        [autoencoders] = fit_autoencoders(self, CDMMA, rows, [np.arange(len(rows))])
        return self._join(autoencoders)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Add autoencoders for new rows without changing existing ones.

        The new rows are partitioned among themselves: pass at least about ``subset_size`` rows
        at a time. A reconstruction changes only if one of the new autoencoders is nearer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; computations use the dtype of the first ones.

        y : None
            Ignored, present for API consistency.

        Returns
        -------
        self : object
            The autoencoder, fitted to all rows so far.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import WideCDMMA
        >>> X = load_digits(n_class=2).data / 16
        >>> autoencoder = WideCDMMA(5, n_layers=1, subset_size=100, random_state=0).fit(X[:200])
        >>> len(autoencoder.autoencoders_), len(autoencoder.partial_fit(X[200:]).autoencoders_)
        (2, 4)
        """
        if not hasattr(self, "autoencoders_"):
            return self.fit(X)
        rows = validate_data(self, X, dtype=self.dtype_, reset=False)
        [autoencoders] = fit_autoencoders(self, CDMMA, rows, [np.arange(len(rows))])
        return self._join([*self.autoencoders_, *autoencoders])

    def _join(self, autoencoders):
        """Set the autoencoders of the subsets, fitted or loaded."""
        self.autoencoders_ = autoencoders
        self.n_features_in_ = autoencoders[0].n_features_in_
        self.dtype_ = autoencoders[0].dtype_
        self.n_iter_ = max(a.n_iter_ for a in autoencoders)
        self._n_features_out = max(a.n_components_ for a in autoencoders)
        self._search = SearchCache()
        return self

    def _subsets(self):
        return self.autoencoders_
