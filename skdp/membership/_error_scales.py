"""Each class's own scale of reconstruction errors, learned from rows that were left out."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.utils import check_random_state

from skdp.utils._labels import stratified_folds

# Fits of which each leaves out other rows. A rule of thumb, scikit-learn's default.
_N_FOLDS = 5
# Precision of the prior that pulls the classes' powers and offsets together. 1 to 100 differ by
# .01 in the log loss of digits and tables, but for 5 digits a class, where 1 is worse by .05.
_PRIOR_PRECISION = 10.0
# Precision of the prior of the power that all share, which bounds it where classes are
# separable: a rule of thumb, for digits and tables have powers of 0.1 to 10.
_COMMON_PRECISION = 0.01
# Least error, relative to the mean: that of rows which are reconstructed up to rounding.
_LEAST_ERROR = 1e-12


@dataclass(frozen=True)
class ErrorScales:
    r"""How probable classes are given their reconstruction errors.

    Class c has a power :math:`a_c` and an offset :math:`b_c`; the squared error :math:`e_c` of
    its reconstruction counts relative to the typical error :math:`m`:

    .. math:: P(c) \propto \exp(b_c)\,(e_c / m)^{-a_c}

    Equal powers and zero offsets make the nearest reconstruction the most probable. Offsets hold
    the class's scale of errors and its frequency.

    Parameters
    ----------
    powers : ndarray of shape (n_classes,)
        a.

    offsets : ndarray of shape (n_classes,)
        b.

    typical_error : float
        m, the geometric mean of the errors of all rows by all classes, in squared units of X.

    least_error : float
        Smaller errors count as this one.

    References
    ----------
    Platt, J., "Probabilistic outputs for support vector machines" (1999), is the same for one
    score, out of fold as here.

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
    def from_errors(cls, errors, class_indices):
        """Learn powers and offsets from the errors of rows that the models have not seen.

        The posterior mode of a multinomial logistic regression in which the log-odds of a class
        depend on its own log-error only. Powers are normal about a common power, which
        is nearly free, and offsets normal about zero.

        Parameters
        ----------
        errors : ndarray of shape (n_samples, n_classes)
            Squared errors of each row by the model of each class.

        class_indices : ndarray of shape (n_samples,)
            Its own class.

        Returns
        -------
        scales : ErrorScales
        """
        errors = errors.astype(np.float64)
        least = max(_LEAST_ERROR * errors.mean(), np.finfo(np.float64).tiny)
        logs = np.log(np.maximum(errors, least))
        typical = logs.mean()
        powers, offsets = _fit_logits(logs - typical, class_indices)
        return cls(powers, offsets, float(np.exp(typical)), float(least))

    def scores(self, errors):
        """Return log-probabilities of the classes, up to a constant in each row.

        Parameters
        ----------
        errors : ndarray of shape (n_samples, n_classes)
            Squared errors.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            In double precision.
        """
        errors = np.maximum(errors.astype(np.float64), self.least_error)
        return self.offsets - self.powers * (np.log(errors) - np.log(self.typical_error))


def fit_error_scales(classifier, X, class_indices, groups=None):
    """Learn the scales of a classifier's errors from models of which each left out other rows.

    Parameters
    ----------
    classifier : ReconstructionClassifier
        Not changed; clones of it are fitted.

    X : ndarray of shape (n_samples, n_features)
        Validated training rows, perturbed already if they shall be.

    class_indices : ndarray of shape (n_samples,)
        Positions of their classes, from 0.

    groups : ndarray of shape (n_samples,), default=None
        Passed on to ``fit``.

    Returns
    -------
    scales : ErrorScales

    Raises
    ------
    ValueError
        When a class has a single row.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import CDMMAClassifier
    >>> from skdp.membership import fit_error_scales
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> classifier = CDMMAClassifier(5, n_layers=1, random_state=0)
    >>> fit_error_scales(classifier, X / 16, y).powers.round()
    array([5., 5.])
    """
    counts = np.bincount(class_indices)
    if counts.min() < 2:
        raise ValueError(
            f"The 'error_scale' parameter of {type(classifier).__name__} must be 'shared' where a "
            "class has a single row, got 'own', which leaves out rows of each class in turn. Add "
            "rows, or use 'shared'."
        )
    random_state = check_random_state(classifier.random_state)
    n_folds = min(_N_FOLDS, len(X))
    folds = stratified_folds(class_indices, n_folds, random_state)
    plain = {"error_scale": "shared", "verbose": 0}
    if "noise" in classifier.get_params(deep=False):
        plain["noise"] = None
    errors = np.empty((len(X), len(counts)))
    for fold in range(n_folds):
        kept, left_out = folds != fold, folds == fold
        fit_params = {} if groups is None else {"groups": groups[kept]}
        model = clone(classifier).set_params(**plain)
        model.fit(X[kept], class_indices[kept], **fit_params)
        errors[left_out] = model.reconstruction_errors(X[left_out])
    return ErrorScales.from_errors(errors, class_indices)


def _fit_logits(logs, class_indices):
    """Return powers and offsets at the posterior mode, by their gradient."""
    n_classes = logs.shape[1]
    own = np.eye(n_classes)[class_indices]
    precisions = np.repeat([_COMMON_PRECISION, _PRIOR_PRECISION], [1, 2 * n_classes])

    def objective(parameters):
        # The common power, then what each class's differs by, then the offsets.
        deviations, offsets = parameters[1:].reshape(2, -1)
        log_odds = log_softmax(offsets - (parameters[0] + deviations) * logs, axis=1)
        residual = np.exp(log_odds) - own
        by_power = -(residual * logs).sum(axis=0)
        gradient = np.concatenate([[by_power.sum()], by_power, residual.sum(axis=0)])
        gradient += precisions * parameters
        return 0.5 * precisions @ parameters**2 - (own * log_odds).sum(), gradient

    start = np.concatenate([[1.0], np.zeros(2 * n_classes)])
    found = minimize(objective, start, jac=True, method="L-BFGS-B").x
    deviations, offsets = found[1:].reshape(2, -1)
    return found[0] + deviations, offsets
