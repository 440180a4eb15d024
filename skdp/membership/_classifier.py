"""Classifiers by the reconstruction errors of one autoencoder per class."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from skdp.membership._autoencoder import fit_autoencoders, with_parameters_of
from skdp.membership._cdmma import CDMMA, WideCDMMA
from skdp.membership._components import most_components
from skdp.membership._errors import ErrorScales, fit_error_scales, group_temperature
from skdp.membership._search import SearchCache
from skdp.utils._frames import as_column
from skdp.utils._labels import checked_labels, label_array
from skdp.utils._sklearn import StrOptions, fit_context
from skdp.utils._validation import validate_data, validate_private_data, validate_queries
from skdp.utils._warnings import warn


def validate_training(classifier, X, y, *, min_classes=2, private=False):
    """Return checked rows and class indices, and set the attributes that depend on them only.

    ``private`` data will be perturbed: types that would be rounded are refused.
    """
    validate = validate_private_data if private else validate_data
    X, y = validate(classifier, X, as_column(y), dtype=[np.float64, np.float32])
    y = checked_labels(y, f"{type(classifier).__name__}.fit")
    classifier.classes_, class_indices = np.unique(y, return_inverse=True)
    if len(classifier.classes_) < min_classes:
        [label] = classifier.classes_.tolist()
        raise ValueError(
            f"The 'y' parameter of {type(classifier).__name__}.fit must have at least two "
            f"classes, got one class: {label!r}. Add rows of another class, or model a single one "
            "with WideCDMMA."
        )
    classifier.dtype_ = X.dtype
    return X, class_indices


class ReconstructionClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers by reconstruction errors; subclasses define the model of a class."""

    _parameter_constraints: dict = {
        "error_scale": [StrOptions({"shared", "own"})],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }
    classes_: np.ndarray
    dtype_: np.dtype[Any]
    temperature_: float
    error_scales_: ErrorScales
    n_features_in_: int
    feature_names_in_: np.ndarray

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean accuracy.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        y : array-like of shape (n_samples,)
            Labels, as for ``fit``.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        accuracy : float

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMAClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> classifier = CDMMAClassifier(5, n_layers=1, random_state=0).fit(X / 16, y)
        >>> classifier.score(X / 16, y) > 0.9
        True
        """
        labels = checked_labels(label_array(y), f"{type(self).__name__}.score")
        return super().score(X, labels, sample_weight)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the score of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            Log-probability of each class up to a constant, or with ``error_scale="shared"`` its
            negative squared reconstruction error. With two classes, the score of
            ``classes_[1]`` minus the score of ``classes_[0]``, as in scikit-learn.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMAClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> classifier = CDMMAClassifier(5, n_layers=1, random_state=0).fit(X[:200] / 16, y[:200])
        >>> scores = classifier.decision_function(X[200:] / 16)
        >>> bool(((scores > 0) == y[200:]).mean() > 0.97)
        True
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the class with the highest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The most probable class, or with ``error_scale="shared"`` the class of the nearest
            reconstruction.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMAClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> classifier = CDMMAClassifier(5, n_layers=1, random_state=0).fit(X[:200] / 16, y[:200])
        >>> bool((classifier.predict(X[200:] / 16) == y[200:]).mean() > 0.97)
        True
        """
        best = self._scores(X).argmax(axis=1) if self._has_scales() else self._nearest_class(X)
        return self.classes_[best]  # after what refuses what is not fitted

    def _nearest_class(self, X):
        """Return the index of the class that reconstructs each row best."""
        return self.reconstruction_errors(X).argmin(axis=1)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return class probabilities.

        With ``error_scale="own"``, probabilities are learned out of fold and include class
        frequencies. With ``error_scale="shared"``, they are the softmax of −error/T and assume
        equally frequent classes. T assumes that the residual of a row is Gaussian in k
        directions of variance v: its squared norm has mean kv and variance 2kv², and matching
        both to the errors of the training rows gives T = 2v = variance/mean. Either way
        :meth:`predict` returns the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to one.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMAClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> classifier = CDMMAClassifier(5, n_layers=1, random_state=0).fit(X[:200] / 16, y[:200])
        >>> probabilities = classifier.predict_proba(X[200:] / 16)
        >>> bool(abs(probabilities.sum(axis=1) - 1).max() < 1e-9)
        True
        """
        weights = np.exp(self.log_odds(X))
        return weights / weights.sum(axis=1, keepdims=True)

    def log_odds(self, X: ArrayLike) -> np.ndarray:
        """Return the log-odds of each class against the most probable one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        log_odds : ndarray of shape (n_samples, n_classes)
            Logarithms of ratios of probabilities, at most 0; finite even if
            :meth:`predict_proba` is rounded to zero.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMAClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> classifier = CDMMAClassifier(5, n_layers=1, random_state=0).fit(X[:200] / 16, y[:200])
        >>> float(classifier.log_odds(X[200:] / 16).max())
        0.0
        """
        scores = self._scores(X).astype(np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        return scores if self._has_scales() else scores / self.temperature_

    def _scores(self, X):
        """Return a score of each class, (n_samples, n_classes); higher is better."""
        errors = self.reconstruction_errors(X)
        if not self._has_scales():
            return -errors
        message = (
            "This %(name)s was fitted with error_scale='shared' and has no scales per class. "
            "Call 'fit' with error_scale='own'."
        )
        check_is_fitted(self, "error_scales_", msg=message)
        return self.error_scales_.scores(errors)

    def _has_scales(self):
        """Return whether errors are compared relative to a scale per class."""
        learned = hasattr(self, "error_scales_")
        return self.error_scale == "own" or (self.error_scale == "auto" and learned)


class CDMMAClassifier(ReconstructionClassifier):
    r"""Classify by the class whose autoencoder reconstructs a row best.

    Each class gets a :class:`CDMMA`. A query is assigned to the class c with the smallest
    :math:`\|y - \mathcal{D}_c(y)\|^2`.

    Parameters
    ----------
    n_components : "auto" or int, default="auto"
        Size of the first layer's code. It never exceeds the number of features or the
        numerical rank of a class's rows. ``"auto"``: at most 20, by the likelihood of held-out
        rows, see Notes; 20 in the papers.

    n_inducing : int or float, default=0.5
        Inducing points of each layer: a count, or a fraction of the class's rows in
        (0, 1]. Never more than its distinct rows.

    n_layers : int, default=5
        Depth of each autoencoder.

    inference : {"gamma", "empirical"}, default="gamma"
        Inference of the mappings, see :class:`CDMMA`.

    error_scale : {"auto", "own", "shared"}, default="auto"
        "shared": the nearest reconstruction wins, as in the papers. "own": errors are compared
        relative to a scale per class, and class frequencies count, see
        ``skdp.membership.ErrorScales``. The scales are learned out of fold, which takes up to
        five more fits and at least two rows per class. "auto": "own" if it can be learned.

    n_jobs : int or None, default=None
        Number of classes fitted in parallel, and of threads in a prediction. ``None`` means 1
        unless in a :obj:`joblib.parallel_config` context. It does not change the result.

    verbose : int, default=0
        If positive, :meth:`fit` prints its progress.

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    autoencoders_ : list of CDMMA
        One per class, in the order of ``classes_``.

    n_iter_ : int
        Largest number of iterations of a layer.

    dtype_ : dtype
        Floating dtype of the training rows and of the computations.

    temperature_ : float
        T in :meth:`predict_proba`, in squared units of X.

    error_scales_ : ErrorScales
        Scales learned out of fold. Not defined with ``error_scale="shared"``.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    WideCDMMAClassifier : The same for classes of more than a few thousand rows.

    Notes
    -----
    The classifier suits classes on separate low-dimensional manifolds, such as images and sensor
    data. If classes overlap, as in most tables, all of them reconstruct a row about equally well,
    and errors say little: use :class:`~sklearn.linear_model.LogisticRegression` or trees. Use
    ``error_scale="shared"`` if training rows are perturbed much more than queries, because the
    scales then do not fit the queries.

    ``n_components="auto"`` maximizes the log-likelihood of held-out rows of a class under
    probabilistic principal components (Tipping and Bishop), averaged over classes: as many
    directions as rows vary along distinctly more than along the remaining ones, and at most one
    per two rows. Along further directions other rows lie outside the narrow range of codes, where
    the kernel vanishes, so that a class hardly reconstructs its own rows. All classes have the
    same number, because their errors are compared.

    The papers use ``n_components=20, error_scale="shared"``, which needs classes of hundreds of
    rows; :doc:`/benchmarks/papers` compares this with the defaults on small data.

    For a private classifier, train it on noisy data (Kumar and Moser, Algorithm 6):
    ``make_pipeline(OptimalDPNoise(bounds=(0, 1), perturb="fit"), CDMMAClassifier())``. The
    mappings assume inputs known up to a variance of 0.01: scale X to about unit range.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Definition 20, equation (110), Algorithms 2 and 4. SERUMS D3.3 (2022),
    Definition 15, equation (1.71), Algorithms 2 and 4. Tipping, M. and Bishop, C., "Probabilistic
    principal component analysis" (1999), for ``n_components="auto"``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from skdp import CDMMAClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    >>> classifier = CDMMAClassifier(n_layers=2, random_state=0).fit(X, y)
    >>> bool(classifier.score(X_test, y_test) > 0.97)
    True
    """

    _parameter_constraints: dict = {
        **ReconstructionClassifier._parameter_constraints,
        **CDMMA._parameter_constraints,
        "error_scale": [StrOptions({"auto", "own", "shared"})],
    }

    autoencoders_: list[CDMMA] | list[WideCDMMA]
    n_iter_: int
    subset_size: int | None = None  # one autoencoder for each class

    def __init__(
        self,
        n_components: int | str = "auto",
        n_inducing: int | float = 0.5,
        n_layers: int = 5,
        *,
        inference: str = "gamma",
        error_scale: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.inference = inference
        self.error_scale = error_scale
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn an autoencoder per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.

        y : array-like of shape (n_samples,)
            Class labels, at least two different ones.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            If X or y are invalid, or y has fewer than two classes.

        Warns
        -----
        UserWarning
            If the rows of a class do not support ``n_components``.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMAClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> classifier = CDMMAClassifier(5, n_layers=1, random_state=0).fit(X[:200] / 16, y[:200])
        >>> classifier.classes_, len(classifier.autoencoders_)
        (array([0, 1]), 2)
        """
        X, class_indices = validate_training(self, X, y)
        self._fit(X, class_indices)
        counts = np.bincount(class_indices)
        if self.error_scale == "own" or (self.error_scale == "auto" and counts.min() > 1):
            self.error_scales_ = fit_error_scales(self, X, class_indices)
        return self

    def _fit(self, X, class_indices):
        sets = [np.flatnonzero(class_indices == k) for k in range(len(self.classes_))]
        self._warn_of_small_classes(sets, X.shape[1])
        return self._assemble(fit_autoencoders(self, CDMMA, X, sets, compared=True))

    def _warn_of_small_classes(self, sets, n_features):
        """Warn of more components than the rows of a class support."""
        k = min(range(len(sets)), key=lambda k: len(sets[k]))
        most = most_components(len(sets[k]))
        if self.n_components != "auto" and min(self.n_components, n_features) > most:
            name, label = type(self).__name__, self.classes_.tolist()[k]
            warn(
                f"The 'n_components' parameter of {name}, {self.n_components}, is too large for "
                f"the {len(sets[k])} rows of class {label!r}: its autoencoder hardly reconstructs "
                "other rows. Use n_components='auto', or at "
                f"most {most}."
            )

    def _assemble(self, groups):
        """Set the autoencoders of each class, fitted or loaded."""
        self.__dict__.pop("error_scales_", None)  # from an earlier fit
        self.autoencoders_ = [self._of_class(group) for group in groups]
        self.n_iter_ = max(a.n_iter_ for a in self.autoencoders_)
        self.temperature_ = group_temperature(groups)
        self._search = SearchCache()
        return self

    def reconstruction_errors(self, X: ArrayLike) -> np.ndarray:
        """Return the squared distance of each row to its reconstruction by each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        errors : ndarray of shape (n_samples, n_classes)
            In squared units of X, summed over features.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMAClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> classifier = CDMMAClassifier(5, n_layers=1, random_state=0).fit(X[:200] / 16, y[:200])
        >>> classifier.reconstruction_errors(X[200:] / 16).shape
        (160, 2)
        """
        X = validate_queries(self, X)
        search = self._search(self.autoencoders_by_class())
        return search.errors(X, n_jobs=self.n_jobs)

    def _nearest_class(self, X):
        X = validate_queries(self, X)
        search = self._search(self.autoencoders_by_class())
        return search.nearest_group(X, n_jobs=self.n_jobs)

    def _of_class(self, group):
        [autoencoder] = group
        return autoencoder

    def autoencoders_by_class(self) -> list[list[Any]]:
        """Return the fitted autoencoders of each class.

        Returns
        -------
        groups : list of list of CDMMA
            In the order of ``classes_``; the argument of
            ``group_errors``.
        """
        return [autoencoder._subsets() for autoencoder in self.autoencoders_]


class WideCDMMAClassifier(CDMMAClassifier):
    r"""Classify by the class whose wide autoencoder reconstructs a row best.

    Each class gets a :class:`WideCDMMA`: k-means splits its rows into ⌈N / subset_size⌉
    subsets with an autoencoder each. A query is assigned to the class c with the smallest
    :math:`\|y - \mathcal{WD}_c(y)\|^2`. One pool of workers fits all autoencoders.

    Parameters
    ----------
    n_components : "auto" or int, default="auto"
        Size of the first layer's code. It never exceeds the number of features or the
        numerical rank of a subset. ``"auto"``: at most 20, by the likelihood of held-out rows,
        see the notes of :class:`CDMMAClassifier`; 20 in the papers.

    n_inducing : int or float, default=0.5
        Inducing points of each layer: a count, or a fraction of the subset's rows in
        (0, 1]. Never more than its distinct rows.

    n_layers : int, default=5
        Depth of each autoencoder.

    inference : {"gamma", "empirical"}, default="gamma"
        Inference of the mappings, see :class:`CDMMA`.

    subset_size : int, default=1000
        Number of rows per autoencoder.

    error_scale : {"auto", "own", "shared"}, default="auto"
        "shared": the nearest reconstruction wins, as in the papers. "own": errors are compared
        relative to a scale per class, and class frequencies count, see
        ``skdp.membership.ErrorScales``. The scales are learned out of fold, which takes up to
        five more fits and at least two rows per class; a release cannot hold them. "auto": "own"
        if it can be learned, hence "shared" after :meth:`partial_fit`.

    n_jobs : int or None, default=None
        Number of autoencoders fitted in parallel, and of threads in a prediction. ``None``
        means 1 unless in a :obj:`joblib.parallel_config` context. It does not change the result.

    verbose : int, default=0
        If positive, :meth:`fit` prints its progress.

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    autoencoders_ : list of WideCDMMA
        One per class, in the order of ``classes_``.

    n_iter_ : int
        Largest number of iterations of a layer.

    dtype_ : dtype
        Floating dtype of the training rows and of the computations.

    temperature_ : float
        T in :meth:`predict_proba`, in squared units of X.

    error_scales_ : ErrorScales
        Scales learned out of fold. Not defined with ``error_scale="shared"``.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    CDMMAClassifier : One autoencoder per class, for small classes.

    Notes
    -----
    The classifier suits classes on separate low-dimensional manifolds, such as images and sensor
    data, and not overlapping classes, as in most tables; see the notes of
    :class:`CDMMAClassifier`.

    For a private classifier, train it on noisy data (Kumar and Moser, Algorithm 6):
    ``make_pipeline(OptimalDPNoise(bounds=(0, 1), perturb="fit"), WideCDMMAClassifier())``. The
    mappings assume inputs known up to a variance of 0.01: scale X to about unit range. float32
    data are predicted in float32, twice as fast as float64.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Definition 20, equation (110), Algorithms 3 and 4. SERUMS D3.3 (2022),
    Definition 15, equation (1.71), Algorithms 3 and 4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from skdp import WideCDMMAClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    >>> classifier = WideCDMMAClassifier(n_layers=2, random_state=0).fit(X, y)
    >>> bool(classifier.score(X_test, y_test) > 0.97)
    True
    """

    _parameter_constraints: dict = {
        **CDMMAClassifier._parameter_constraints,
        **WideCDMMA._parameter_constraints,
    }

    subset_size: int
    autoencoders_: list[WideCDMMA]

    def __init__(
        self,
        n_components: int | str = "auto",
        n_inducing: int | float = 0.5,
        n_layers: int = 5,
        *,
        inference: str = "gamma",
        subset_size: int = 1000,
        error_scale: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.inference = inference
        self.subset_size = subset_size
        self.error_scale = error_scale
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: Any = None) -> Self:
        """Add autoencoders for new rows, of known or new classes.

        Existing autoencoders do not change, so errors can only decrease, where a new autoencoder
        is nearer. The new rows of a class are partitioned among themselves: pass at least about
        ``subset_size`` rows per class at a time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; computations use the dtype of the first ones.

        y : array-like of shape (n_samples,)
            Their classes. The first call may have a single class.

        classes : None
            Ignored, present for API consistency: classes are added with their first rows.

        Returns
        -------
        self : object
            The classifier, fitted to all rows so far.

        Raises
        ------
        ValueError
            If ``error_scale="own"``, which is learned from all rows at once, or if the new
            classes are text and the known ones numbers, or vice versa.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import WideCDMMAClassifier
        >>> X, y = load_digits(n_class=3, return_X_y=True)
        >>> classifier = WideCDMMAClassifier(5, n_layers=1, random_state=0)
        >>> for label in (0, 1, 2):  # a class at a time
        ...     classifier = classifier.partial_fit(X[y == label] / 16, y[y == label])
        >>> classifier.classes_
        array([0, 1, 2])
        """
        if self.error_scale == "own":
            raise ValueError(
                "The 'error_scale' parameter of WideCDMMAClassifier must be 'shared' for "
                "partial_fit, got 'own', which is learned from all rows at once. Use 'shared', "
                "or call fit with all rows."
            )
        if not hasattr(self, "classes_"):
            X, class_indices = validate_training(self, X, y, min_classes=1)
            return self._fit(X, class_indices)
        X, y = validate_data(self, X, as_column(y), dtype=self.dtype_, reset=False)
        y = checked_labels(y, "WideCDMMAClassifier.partial_fit")
        present = np.unique(y)
        if (present.dtype.kind in "OSU") != (self.classes_.dtype.kind in "OSU"):
            raise ValueError(
                "The 'y' parameter of WideCDMMAClassifier.partial_fit must be all text or all "
                f"numbers, like the first class {self.classes_[0]!r}, "
                f"got {present[0]!r}. Convert it."
            )
        sets = [np.flatnonzero(y == label) for label in present]
        added = fit_autoencoders(self, CDMMA, X, sets, compared=True)
        groups = dict(zip(self.classes_.tolist(), self.autoencoders_by_class(), strict=True))
        for label, group in zip(present.tolist(), added, strict=True):
            groups[label] = [*groups.get(label, []), *group]
        self.classes_ = np.union1d(self.classes_, present)
        return self._assemble([groups[label] for label in self.classes_.tolist()])

    def _of_class(self, group):
        return with_parameters_of(self, WideCDMMA)._join(group)
