"""CDMMA, the conditionally deep membership-mapping autoencoder."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.membership._errors import error_sums
from skdp.membership._layer import fit_layer
from skdp.membership._reconstruction import BaseAutoencoder, check_codes, nearest, take_output
from skdp.utils._kernel_regression import resolve_count
from skdp.utils._linalg import principal_directions
from skdp.utils._sklearn import Interval, StrOptions, fit_context
from skdp.utils._validation import check_magnitude

# Degrees of freedom of the first layer, and of all under "empirical": Kumar and Moser,
# Algorithm 2, step 1; SERUMS D3.3 (2022), equation (1.52).
_NU = 2.1


class CDMMA(BaseAutoencoder):
    r"""Conditionally deep membership-mapping autoencoder.

    Layer l projects the output of the layer before it on the first
    max(n_components − l + 1, 1) principal directions of the training data and predicts the
    data from that code with a membership-mapping. Deeper layers see less and reconstruct
    more abstractly; the output is that of the layer nearest to the input:

    .. math::
       \hat y^{l} = \mathcal{F}^l(P^l \hat y^{l-1}), \quad \hat y^0 = y, \qquad
       l^* = \arg\min_l \|y - \hat y^l\|^2

    Parameters
    ----------
    n_components : int, default=20
        Size of the first layer's code. It never exceeds the number of features or the
        numerical rank of the centred data.

    n_inducing : int or float, default=0.5
        Inducing points of each layer: a count, or a fraction of the rows in (0, 1]. Never
        more than the distinct rows.

    n_layers : int, default=5
        Depth L.

    inference : {"gamma", "empirical"}, default="gamma"
        Inference of the mappings, see :class:`MembershipMapping`: ``"gamma"`` is that of
        Kumar and Moser (ν = 2.1 in the first layer, infinite below), ``"empirical"`` that of
        SERUMS D3.3 (2022) (ν = 2.1 throughout, and each layer starts from the number of
        inducing points that the one before it ended with).

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

    training_error_sums_ : ndarray of shape (3,)
        Number of training rows, sum of their squared reconstruction errors, and sum of the
        squares of these.

    dtype_ : dtype
        Floating dtype in which it computes, that of the training rows.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    WideCDMMA : The same for large data, one autoencoder for each subset.
    CDMMAClassifier : One autoencoder for each class.

    Notes
    -----
    The mappings assume inputs known up to a variance of 0.01: scale X to about unit range.
    Cost grows with the cube of the number of rows; above a few thousand use
    :class:`WideCDMMA`.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Definitions 17 and 18 and Algorithm 2. SERUMS D3.3 (2022), Definitions
    3 and 12 and Algorithm 2.

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

    _parameter_constraints: dict = {
        **BaseAutoencoder._parameter_constraints,
        "n_layers": [Interval(Integral, 1, None, closed="left")],
        "inference": [StrOptions({"gamma", "empirical"})],
    }

    def __init__(
        self,
        n_components=20,
        n_inducing=0.5,
        n_layers=5,
        *,
        inference="gamma",
        random_state=None,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.inference = inference
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
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
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        check_magnitude(X, "X")
        random_state = check_random_state(self.random_state)
        P = principal_directions(
            X.astype(np.float64, copy=False), min(self.n_components, X.shape[1])
        )
        n_inducing = resolve_count(self.n_inducing, len(X))

        layers = []

        def outputs():
            nonlocal n_inducing
            x = X @ P.T
            for depth in range(self.n_layers):
                gamma = self.inference == "gamma"
                layer, output = fit_layer(
                    x[:, : max(len(P) - depth, 1)],
                    X,
                    n_inducing=n_inducing,
                    inference=self.inference,
                    nu=np.inf if gamma and depth else _NU,
                    random_state=random_state,
                )
                layers.append(layer)
                if not gamma:
                    n_inducing = len(layer.inducing_points)
                yield x, output
                x = output @ P.T

        fitted = nearest(outputs(), X, take_output)[1]
        self.training_error_sums_ = error_sums(X, fitted)
        return self._assemble(P, layers, X.dtype)

    def _assemble(self, P, layers, dtype):
        """Take directions and layers, fitted or loaded, as this autoencoder."""
        self.dtype_ = dtype
        self.n_features_in_ = P.shape[1]
        self.components_ = P.astype(dtype, copy=False)
        self.n_components_ = self._n_features_out = len(P)
        self.precisions_ = np.array([layer.precision for layer in layers])
        self.n_inducing_ = np.array([len(layer.inducing_points) for layer in layers])
        self._layers = [layer.astype(dtype) for layer in layers]
        return self

    def layer_outputs(self, X):
        """Return the output of every layer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to reconstruct.

        Returns
        -------
        outputs : ndarray of shape (n_layers, n_samples, n_features)
            From the least abstract layer to the most.
        """

        def compute(Y):
            return np.stack([output for _, output in self.candidates(Y)], axis=1)

        extra = 2 * self.n_layers * self.n_features_in_
        return self._map_rows(compute, X, extra).swapaxes(0, 1)

    def inverse_transform(self, X):
        """Decode codes.

        A code tells which layer wrote it by how many of its last entries are zero, so
        ``inverse_transform(transform(X))`` equals ``reconstruct(X)``, with two exceptions:
        rows whose last coordinates are exactly zero by themselves, as on a grid along the
        axes, and depths beyond ``n_components_``, where several layers write codes of one
        entry. A code of zeros alone is decoded by the first layer.

        Parameters
        ----------
        X : array-like of shape (n_samples, `n_components_`)
            Codes.

        Returns
        -------
        X_decoded : ndarray of shape (n_samples, n_features)
            Rows in the space of the training data.
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

    def candidates(self, Y):
        """Yield codes and reconstructions, see :mod:`skdp.membership`.

        Parameters
        ----------
        Y : ndarray of shape (n_rows, n_features)
            Validated rows, in the dtype in which to compute.

        Yields
        ------
        code : ndarray of shape (n_rows, n_coordinates)
            What a layer reads.

        reconstruction : ndarray of shape (n_rows, n_features)
            What it makes of it.
        """
        output = Y
        for layer in self._layers:
            n_components = layer.inducing_points.shape[1]
            code = output @ self.components_[:n_components].T
            output = layer.predict(code)
            yield code, output

    def values_per_row(self):
        """Return how many numbers :meth:`candidates` holds at once for each row.

        Returns
        -------
        n_values : int
            By which predictions size their blocks.
        """
        return 4 * self.n_features_in_ + 2 * self.n_inducing_.max() + 4 * self.n_components_
