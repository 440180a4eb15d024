"""Wide CDMMA: one autoencoder for each subset of large data."""

from numbers import Integral

import numpy as np
from sklearn.utils.validation import validate_data

from skdp.membership._cdmma import CDMMA
from skdp.membership._fitting import fit_autoencoders
from skdp.membership._reconstruction import BaseAutoencoder, nearest, take_output
from skdp.utils._sklearn import Interval, fit_context


def make_cdmma(estimator, seed):
    """Return an unfitted CDMMA with the parameters of a wide autoencoder or classifier."""
    return CDMMA(
        estimator.n_components,
        estimator.n_inducing,
        estimator.n_layers,
        inference=estimator.inference,
        random_state=seed,
    )


class WideCDMMA(BaseAutoencoder):
    """Wide conditionally deep membership-mapping autoencoder, for large data.

    k-means splits the rows into ⌈N / subset_size⌉ subsets, each subset gets a
    :class:`CDMMA` of its own, and the output is the nearest reconstruction among them.

    Parameters
    ----------
    n_components : int, default=20
        Size of the first layer's code in each subset.

    n_inducing : int or float, default=0.5
        Inducing points of each layer: a count, or a fraction of the subset's rows in
        (0, 1]. Never more than the subset's distinct rows.

    n_layers : int, default=5
        Depth of each autoencoder.

    inference : {"gamma", "empirical"}, default="gamma"
        Inference of the mappings, see :class:`CDMMA`.

    subset_size : int, default=1000
        Rows for which one autoencoder is meant.

    n_jobs : int or None, default=None
        Autoencoders fitted at once, and threads of a prediction. ``None`` means 1 unless in
        a :obj:`joblib.parallel_config` context. The result does not depend on it.

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    autoencoders_ : list of CDMMA
        One for each subset.

    dtype_ : dtype
        Floating dtype in which it computes, that of the training rows.

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
    The code of a row is in the principal coordinates of the subset that won it, so codes
    of different rows need not be comparable, and there is no ``inverse_transform``: a code
    does not tell which subset wrote it.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Definition 19 and Algorithm 3. SERUMS D3.3 (2022), Definition 13 and
    Algorithm 3.

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
        **CDMMA._parameter_constraints,
        "subset_size": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components=20,
        n_inducing=0.5,
        n_layers=5,
        *,
        inference="gamma",
        subset_size=1000,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.inference = inference
        self.subset_size = subset_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
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
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        [autoencoders] = fit_autoencoders(self, make_cdmma, [X], self.subset_size)
        return self._assemble(autoencoders)

    def _assemble(self, autoencoders):
        """Take the autoencoders of the subsets, fitted or loaded, as this one."""
        self.autoencoders_ = autoencoders
        self.n_features_in_ = autoencoders[0].n_features_in_
        self.dtype_ = autoencoders[0].dtype_
        self._n_features_out = max(a.n_components_ for a in autoencoders)
        return self

    def layer_outputs(self, X):
        """Return the output of every layer of the subset that wins the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to reconstruct.

        Returns
        -------
        outputs : ndarray of shape (n_layers, n_samples, n_features)
            From the least abstract layer to the most.
        """

        def by_subset(Y):
            for autoencoder in self.autoencoders_:
                candidates = list(autoencoder.candidates(Y))
                outputs = np.stack([output for _, output in candidates], axis=1)
                yield outputs, nearest(candidates, Y, take_output)[1]

        def compute(Y):
            return nearest(by_subset(Y), Y, lambda outputs, _: outputs)[1]

        extra = 4 * self.n_layers * self.n_features_in_
        return self._map_rows(compute, X, extra).swapaxes(0, 1)

    def candidates(self, Y):
        """Yield codes and reconstructions, see :mod:`skdp.membership`.

        Parameters
        ----------
        Y : ndarray of shape (n_rows, n_features)
            Validated rows, in the dtype in which to compute.

        Yields
        ------
        code : ndarray of shape (n_rows, n_coordinates)
            What a layer of a subset's autoencoder reads.

        reconstruction : ndarray of shape (n_rows, n_features)
            What it makes of it.
        """
        for autoencoder in self.autoencoders_:
            yield from autoencoder.candidates(Y)

    def values_per_row(self):
        """Return how many numbers :meth:`candidates` holds at once for each row.

        Returns
        -------
        n_values : int
            By which predictions size their blocks.
        """
        return max(autoencoder.values_per_row() for autoencoder in self.autoencoders_)
