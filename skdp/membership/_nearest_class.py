"""Classification by nearest reconstruction: fitting, scores, probabilities."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.membership._error_scales import fit_error_scales
from skdp.membership._errors import group_errors, group_temperature
from skdp.utils._private_data import validate_private_data
from skdp.utils._sklearn import StrOptions, fit_context

_NO_SCALES = (
    "This %(name)s was fitted with error_scale='shared' and has no scales of each class; call "
    "'fit' again with error_scale='own'."
)


def validate_training(classifier, X, y, *, min_classes=2, private=False):
    """Check training rows and labels, and set what follows from them alone.

    Parameters
    ----------
    classifier : ReconstructionClassifier
        Gets ``classes_``, ``dtype_``, ``n_features_in_`` and ``feature_names_in_``.

    X : array-like of shape (n_samples, n_features)
        Training rows.

    y : array-like of shape (n_samples,)
        Class labels.

    min_classes : int, default=2
        How many classes there must be.

    private : bool, default=False
        Whether noise is to be added: then types are refused that would be rounded.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        In single or double precision.

    class_indices : ndarray of shape (n_samples,)
        Position of the label of each row in ``classes_``.

    Raises
    ------
    ValueError
        When X or y are no such arrays, or there are fewer classes.

    Examples
    --------
    >>> from skdp import CDMMAClassifier
    >>> from skdp.membership import validate_training
    >>> classifier = CDMMAClassifier()
    >>> X, class_indices = validate_training(classifier, [[0.0], [1.0]], ["b", "a"])
    >>> class_indices.tolist(), classifier.dtype_
    ([1, 0], dtype('float64'))
    """
    validate = validate_private_data if private else validate_data
    X, y = validate(classifier, X, y, dtype=[np.float64, np.float32])
    check_classification_targets(y)
    classifier.classes_, class_indices = np.unique(y, return_inverse=True)
    if len(classifier.classes_) < min_classes:
        raise ValueError(
            f"The 'y' parameter of {type(classifier).__name__}.fit must hold at least two "
            f"classes, got one class: {classifier.classes_[0]!r}. Add rows of another class, "
            "or use WideCDMMA to model a single one."
        )
    classifier.dtype_ = X.dtype
    return X, class_indices


class ReconstructionClassifier(ClassifierMixin, BaseEstimator):
    """What the classifiers share; a subclass says how a class is modelled.

    A subclass defines ``autoencoders_by_class``, and either ``_fit_autoencoders(sets)``, which
    returns the autoencoder of each class, or a ``fit`` of its own. It has the parameters
    ``n_jobs``, ``verbose``, ``random_state`` and ``error_scale``.
    """

    _parameter_constraints: dict = {
        "error_scale": [StrOptions({"shared", "own"})],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn an autoencoder for each class.

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
        """
        X, class_indices = validate_training(self, X, y)
        sets = [X[class_indices == k] for k in range(len(self.classes_))]
        self.autoencoders_ = self._fit_autoencoders(sets)
        self.temperature_ = group_temperature(self.autoencoders_by_class())
        if self.error_scale == "own":
            self.error_scales_ = fit_error_scales(self, X, class_indices)
        return self

    def reconstruction_errors(self, X):
        """Return the squared distance of each row from its reconstruction by each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        errors : ndarray of shape (n_samples, n_classes)
            In squared units of X, summed over features.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype="numeric", reset=False)
        return group_errors(self.autoencoders_by_class(), X, dtype=self.dtype_, n_jobs=self.n_jobs)

    def decision_function(self, X):
        """Return the score of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            Minus the squared reconstruction error of each class, or with ``error_scale="own"``
            its log-probability up to a constant. With two classes, the score of
            ``classes_[1]`` less that of ``classes_[0]``, as scikit-learn has it.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Return the class with the highest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels. That with the nearest reconstruction, or with ``error_scale="own"``
            the most probable one.
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        """Return class probabilities.

        With ``error_scale="shared"``, the softmax of −error/T. The residual of a row is taken
        to be Gaussian in k directions of variance v each, so that its squared norm has mean kv
        and variance 2kv²; both are matched to the errors of the training rows, which gives
        T = 2v = variance/mean. All classes count as equally frequent. With
        ``error_scale="own"``, the probabilities learned out of fold, class frequencies
        included. Both order classes as :meth:`predict` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        weights = np.exp(self.log_odds(X))
        return weights / weights.sum(axis=1, keepdims=True)

    def log_odds(self, X):
        """Return by how much each class is less probable than the best one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        log_odds : ndarray of shape (n_samples, n_classes)
            Logarithms of ratios of probabilities, at most 0; finite also where
            :meth:`predict_proba` is zero by rounding.
        """
        scores = self._scores(X).astype(np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        return scores / self.temperature_ if self.error_scale == "shared" else scores

    def _scores(self, X):
        """Return a score of each class, the higher the better, (n_samples, n_classes)."""
        errors = self.reconstruction_errors(X)
        if self.error_scale == "shared":
            return -errors
        check_is_fitted(self, "error_scales_", msg=_NO_SCALES)
        return self.error_scales_.scores(errors)
