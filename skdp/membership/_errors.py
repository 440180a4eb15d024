"""Reconstruction errors of groups of autoencoders, and the resulting class probabilities."""

from dataclasses import dataclass
from itertools import chain, repeat
from typing import Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.utils import check_random_state

from skdp.membership._autoencoder import nearest
from skdp.utils._labels import stratified_folds
from skdp.utils._linalg import TINY
from skdp.utils._parallel import map_rows
from skdp.utils._storage import require
from skdp.utils._warnings import recorded_warnings

# Folds are held out until they have this many rows, enough for two numbers per class: of many rows
# one more fit suffices.
_ROWS_LEFT_OUT = 500


def error_temperature(sums, n_features):
    """Return the temperature T that turns squared errors e into log-probabilities −e/T.

    ``sums`` (n_groups, 3) has Σ1, Σe and Σe² of each group of autoencoders.
    """
    # A residual that is Gaussian in k directions of equal variance v has a squared norm of mean kv
    # and variance 2kv², and a log-density −e/(2v). Matching both moments gives T = 2v =
    # variance/mean. A residual has at most p directions, hence T ≥ 2·mean/p.
    counts, totals, squares = np.transpose(sums)
    mean = totals.sum() / counts.sum()
    if mean == 0:
        # The nearest class gets probability one, without a division by zero.
        return 1e-100
    within = (squares - totals**2 / counts).sum() / counts.sum()
    return float(max(within / mean, 2 * mean / n_features))


def group_temperature(groups):
    """Return the :func:`error_temperature` of groups of autoencoders."""
    sums = [np.sum([a.training_error_sums_ for a in group], axis=0) for group in groups]
    temperature = error_temperature(sums, groups[0][0].n_features_in_)
    require(np.isfinite(temperature) and temperature > 0, "error_sums")  # of an untrusted file
    return temperature


def group_errors(groups, X, *, dtype, n_jobs=None, embed=None, reduce=None):
    """Return the smallest squared error among the autoencoders of each group, always finite.

    ``embed(Y)`` yields what each group reconstructs instead of Y; ``reduce`` replaces errors.
    """
    # Blocks of rows are scored in threads, in memory that does not grow with their number.

    def compute(Y):
        views = repeat(Y) if embed is None else embed(Y)
        errors = [
            nearest(chain.from_iterable(a.candidates(Z) for a in group), Z)[0]
            for group, Z in zip(groups, views, strict=False)
        ]
        # Queries so far away that squares overflow stay ordered and finite.
        largest = float(np.finfo(dtype).max)
        errors = np.nan_to_num(np.stack(errors, axis=1), nan=largest, posinf=largest)
        return errors if reduce is None else reduce(errors)

    return map_rows(
        compute,
        X,
        values_per_row=max(a.values_per_row() for group in groups for a in group),
        dtype=dtype,
        n_jobs=n_jobs,
    )


@dataclass(frozen=True)
class ErrorScales:
    r"""Probabilities of classes given their reconstruction errors.

    Class c has a power :math:`a_c` and an offset :math:`b_c`; the squared error :math:`e_c` of
    its reconstruction is divided by the typical error :math:`m`:

    .. math:: P(c) \propto \exp(b_c)\,(e_c / m)^{-a_c}

    With equal powers and zero offsets, the class of the nearest reconstruction is the most
    probable one. Offsets represent the class's scale of errors and its frequency.

    Parameters
    ----------
    powers : ndarray of shape (n_classes,)
        Powers a.

    offsets : ndarray of shape (n_classes,)
        Offsets b.

    typical_error : float
        Typical error m, the geometric mean of the errors of all rows by all classes, in squared
        units of X.

    least_error : float
        Floor of the errors.

    References
    ----------
    Platt, J., "Probabilistic outputs for support vector machines" (1999), also out of fold, for
    one score.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.membership import ErrorScales
    >>> scales = ErrorScales(np.array([1.0, 2.0]), np.zeros(2), 1.0, 1e-12)
    >>> np.exp(scales.scores(np.array([[1.0, 1.0], [4.0, 0.5]]))).round(3)
    array([[1.  , 1.  ],
           [0.25, 4.  ]])
    """

    powers: np.ndarray
    offsets: np.ndarray
    typical_error: float
    least_error: float

    @classmethod
    def from_errors(cls, errors: np.ndarray, class_indices: np.ndarray) -> Self:
        """Learn powers and offsets from out-of-fold errors.

        The posterior mode of a multinomial logistic regression in which the log-odds of a class
        depend on its own log-error only. Powers have a normal prior around a common power with a
        log-normal prior, and offsets one around zero.

        Parameters
        ----------
        errors : ndarray of shape (n_samples, n_classes)
            Squared errors of each row by the model of each class.

        class_indices : ndarray of shape (n_samples,)
            Index of the class of each row.

        Returns
        -------
        scales : ErrorScales

        Examples
        --------
        >>> import numpy as np
        >>> from skdp.membership import ErrorScales
        >>> errors = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 1.0], [6.0, 2.0]])
        >>> scales = ErrorScales.from_errors(errors, np.array([0, 0, 1, 1]))
        >>> bool((scales.powers > 0).all())
        True
        """
        errors = errors.astype(np.float64)
        # For rows that are reconstructed up to rounding.
        least = max(1e-12 * errors.mean(), TINY)
        logs = np.log(np.maximum(errors, least))
        typical = logs.mean()
        powers, offsets = _fit_logits(logs - typical, class_indices)
        return cls(powers, offsets, float(np.exp(typical)), float(least))

    def scores(self, errors: np.ndarray) -> np.ndarray:
        """Return log-probabilities of the classes, up to a constant in each row.

        Parameters
        ----------
        errors : ndarray of shape (n_samples, n_classes)
            Squared errors.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            In double precision.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp.membership import ErrorScales
        >>> scales = ErrorScales(np.array([1.0, 1.0]), np.zeros(2), 1.0, 1e-12)
        >>> scales.scores(np.array([[1.0, 2.0]])).argmax(axis=1)
        array([0])
        """
        errors = np.maximum(errors.astype(np.float64), self.least_error)
        return self.offsets - self.powers * (np.log(errors) - np.log(self.typical_error))


def fit_error_scales(classifier, X, class_indices, groups=None):
    """Learn the scales of a classifier's errors out of fold, by clones of it."""
    counts = np.bincount(class_indices)
    if counts.min() < 2:
        raise ValueError(
            f"The 'error_scale' parameter of {type(classifier).__name__} must be 'shared' if a "
            "class has a single row, got 'own', which is learned by cross-validation. Add rows, "
            "or use 'shared'."
        )
    random_state = check_random_state(classifier.random_state)
    n_folds = min(5, len(X))  # as scikit-learn
    folds = stratified_folds(class_indices, n_folds, random_state)
    n_used = min(n_folds, -(-n_folds * _ROWS_LEFT_OUT // len(X)))
    plain = {"error_scale": "shared", "verbose": 0}
    if "noise" in classifier.get_params(deep=False):
        plain["noise"] = None
    if classifier.n_components == "auto":
        # Errors of other numbers of components would have other scales.
        groups_of_all = classifier.autoencoders_by_class()
        plain["n_components"] = max(a.n_components_ for group in groups_of_all for a in group)
    errors = np.empty((len(X), len(counts)))
    for fold in range(n_used):
        kept, left_out = folds != fold, folds == fold
        fit_params = {} if groups is None else {"groups": groups[kept]}
        model = clone(classifier).set_params(**plain)
        with recorded_warnings():  # the fit to all rows has warned
            model.fit(X[kept], class_indices[kept], **fit_params)
        errors[left_out] = model.reconstruction_errors(X[left_out])
    used = folds < n_used
    return ErrorScales.from_errors(errors[used], class_indices[used])


def _fit_logits(logs, class_indices):
    """Return powers and offsets at the posterior mode, by their gradient."""
    n_classes = logs.shape[1]
    is_class = np.eye(n_classes)[class_indices]
    # The prior of the logarithm of the common power, since digits and tables have
    # powers of 0.1 to 10, and a nearer reconstruction makes no class less probable, whatever a few
    # rows say; and the priors that shrink the classes' powers together, and their offsets.
    precisions = np.repeat([1.0, 30.0, 3.0], [1, n_classes, n_classes])

    def objective(parameters):
        # The logarithm of the common power, then the deviation of each class, then the offsets.
        common = np.exp(parameters[0])
        deviations, offsets = parameters[1:].reshape(2, -1)
        log_odds = log_softmax(offsets - (common + deviations) * logs, axis=1)
        residual = np.exp(log_odds) - is_class
        by_power = -(residual * logs).sum(axis=0)
        gradient = np.concatenate([[common * by_power.sum()], by_power, residual.sum(axis=0)])
        gradient += precisions * parameters
        return 0.5 * precisions @ parameters**2 - (is_class * log_odds).sum(), gradient

    start = np.zeros(1 + 2 * n_classes)
    solution = minimize(objective, start, jac=True, method="L-BFGS-B").x
    deviations, offsets = solution[1:].reshape(2, -1)
    return np.exp(solution[0]) + deviations, offsets
