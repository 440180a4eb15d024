"""Classification by nearest reconstruction: fitting, scores, probabilities."""

from itertools import chain, repeat
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.membership._reconstruction import nearest
from skdp.utils._parallel import map_rows
from skdp.utils._sklearn import fit_context


def error_temperature(error_sums, n_features):
    """Return the temperature T that turns squared errors into log-probabilities −e/T.

    A residual that is Gaussian in k directions of equal variance v has a squared norm of
    mean kv and variance 2kv², and a log-density −e/(2v). Matching both moments gives
    T = 2v = variance/mean. A residual has at most p directions, hence T ≥ 2·mean/p.

    Parameters
    ----------
    error_sums : array-like of shape (n_classes, 3)
        For each class the number of training rows, the sum of their squared reconstruction
        errors, and the sum of the squares of these.

    n_features : int
        Number of features p.

    Returns
    -------
    temperature : float
        Positive; in squared units of the data.
    """
    counts, sums, squares = np.transpose(error_sums)
    mean = sums.sum() / counts.sum()
    if mean == 0:
        return 1e-100  # nothing is left to be uncertain about
    within = (squares - sums**2 / counts).sum() / counts.sum()
    return float(max(within / mean, 2 * mean / n_features))


def group_errors(groups, X, *, dtype, n_jobs=None, embed=None, reduce=None):
    """Return the least reconstruction error among the autoencoders of each group.

    Parameters
    ----------
    groups : list of list of CDMMA or DeepFuzzyAutoencoder
        Those of each class, say.

    X : ndarray of shape (n_samples, n_features)
        Validated queries.

    dtype : dtype
        In which to compute.

    n_jobs : int or None, default=None
        Threads.

    embed : callable, default=None
        ``embed(Y)`` gives, group by group, what the autoencoders of that group shall
        reconstruct for the rows Y. By default, Y itself.

    reduce : callable, default=None
        ``reduce(errors)`` replaces the errors of a block of rows.

    Returns
    -------
    errors : ndarray of shape (n_samples, n_groups)
        Finite; or what ``reduce`` made of them.
    """

    def compute(Y):
        views = repeat(Y) if embed is None else embed(Y)
        errors = [
            nearest(chain.from_iterable(part._candidates(Z) for part in parts), Z)[0]
            for parts, Z in zip(groups, views, strict=False)
        ]
        # Queries so far away that squares overflow stay ordered and finite.
        largest = np.finfo(dtype).max
        errors = np.nan_to_num(np.stack(errors, axis=1), nan=largest, posinf=largest)
        return errors if reduce is None else reduce(errors)

    return map_rows(
        compute,
        X,
        values_per_row=max(part._values_per_row() for parts in groups for part in parts),
        dtype=dtype,
        n_jobs=n_jobs,
    )


class ReconstructionClassifier(ClassifierMixin, BaseEstimator):
    """What the classifiers share; a subclass says how a class is modelled."""

    _min_classes = 2

    _parameter_constraints: dict = {
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
        X, labels = self._validate_training(X, y)
        sets = [X[labels == k] for k in range(len(self.classes_))]
        self.autoencoders_ = self._fit_autoencoders(sets)
        self._set_temperature()
        return self

    def _validate_training(self, X, y):
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < self._min_classes:
            raise ValueError(
                f"The 'y' parameter of {type(self).__name__}.fit must hold at least two "
                f"classes, got one class: {self.classes_[0]!r}. Add rows of another class, "
                "or use WideCDMMA to model a single one."
            )
        self._dtype = X.dtype
        return X, labels

    def _set_temperature(self):
        sums = [
            np.sum([part.training_error_sums_ for part in parts], axis=0)
            for parts in self._class_parts()
        ]
        self._temperature = error_temperature(sums, self.n_features_in_)

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
        return self._errors_of(self._class_parts(), X)

    def _errors_of(self, groups, X, reduce=None):
        """Return the least reconstruction error among the parts of each group."""
        X = validate_data(self, X, dtype="numeric", reset=False)
        return group_errors(groups, X, dtype=self._dtype, n_jobs=self.n_jobs, reduce=reduce)

    def decision_function(self, X):
        """Return minus the squared reconstruction error of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            With two classes, the score of ``classes_[1]`` less that of ``classes_[0]``, as
            scikit-learn has it.
        """
        scores = -self.reconstruction_errors(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Return the class with the nearest reconstruction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        nearest_class = self.reconstruction_errors(X).argmin(axis=1)
        return self.classes_[nearest_class]

    def predict_proba(self, X):
        """Return class probabilities, the softmax of −error/T.

        The residual of a row is taken to be Gaussian in k directions of variance v each, so
        that its squared norm has mean kv and variance 2kv²; both are matched to the errors
        of the training rows, which gives T = 2v = variance/mean. All classes count as
        equally frequent. The probabilities order classes as :meth:`predict` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        errors = self.reconstruction_errors(X).astype(np.float64)
        errors -= errors.min(axis=1, keepdims=True)
        weights = np.exp(-errors / self._temperature)
        return weights / weights.sum(axis=1, keepdims=True)
