"""Base of all private networks: validation, prediction and warm starts."""

from collections.abc import Sequence
from copy import deepcopy
from math import prod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skdp.neural._accounts import PrivacyAccount
from skdp.neural._network import Architecture
from skdp.neural._training import Progress, find_device
from skdp.noise import Bounds, PrivateRandomness, check_bounds, warn_of_seeds
from skdp.privacy import PrivacyGuarantee, PrivacyLeakWarning
from skdp.utils._frames import as_column
from skdp.utils._labels import checked_labels
from skdp.utils._parallel import draw_seeds
from skdp.utils._sklearn import Interval, StrOptions, fit_context
from skdp.utils._validation import (
    PrivateParametersMixin,
    forget_fit,
    validate_data,
    validate_private_data,
)
from skdp.utils._warnings import warn

KernelSize = int | Sequence[int | tuple[int, int]]
# Relative tolerance of the search of an accountant (Opacus uses an ε of 0.01).
TOLERANCE = 0.05


class PrivateNetworkClassifier(PrivateParametersMixin, ClassifierMixin, PrivateRandomness):
    """Base of the classifiers of this package; a subclass defines the network and its training.

    The last of the accounts that ``_train`` returns is for one labeled record.
    """

    epsilon: float
    noise_per: str
    classes_: np.ndarray
    bounds_: np.ndarray
    network_: torch.nn.Module
    guarantee_: PrivacyGuarantee
    accounts_: list[PrivacyAccount]
    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "image_shape": [tuple, list, None],
        "hidden_layer_sizes": [tuple, list],
        "kernel_size": [Interval(Integral, 1, None, closed="left"), tuple, list],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "bounds": ["array-like"],
        "classes": ["array-like", None],
        "warm_start": ["boolean"],
        "device": [StrOptions({"auto", "cpu", "cuda"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }
    # Parameters that determine the layers: a warm start cannot change them.
    _architectural: tuple = ("image_shape", "hidden_layer_sizes", "kernel_size")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on private rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows, clipped to ``bounds``.

        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : object
            The fitted classifier, with ``guarantee_``.

        Raises
        ------
        ValueError
            If rows, labels, bounds or layers do not fit together, or a warm start has other
            layers.

        Warns
        -----
        PrivacyLeakWarning
            If a seed or NumPy's global generator is given, or a row has a larger ε than
            ``epsilon``, or none at all.

        UserWarning
            If the noise is so large that nothing can be learned.

        Examples
        --------
        >>> import warnings
        >>> from sklearn.datasets import load_digits
        >>> from skdp.neural import PrivateCDBNClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> network = PrivateCDBNClassifier(
        ...     epsilon=200.0, hidden_layer_sizes=(8, 8), batch_size=300, n_epochs=2,
        ...     bounds=(0, 16),
        ... )
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     network = network.fit(X, y)
        >>> network.guarantee_.unit
        'labeled record'
        """
        resumed = self.warm_start and hasattr(self, "network_")
        if resumed:
            self._check_same_layers()
        else:
            forget_fit(self)
        values, targets = validate_private_data(self, X, as_column(y), reset=not resumed)
        targets = checked_labels(targets, f"{type(self).__name__}.fit")
        classes = self.classes_ if resumed else self._find_classes(targets)
        if not np.isin(targets, classes).all():
            raise ValueError(
                f"The 'y' parameter has labels that are not in the 'classes' of "
                f"{type(self).__name__}. Name them there before the first fit."
            )
        bounds = self.bounds_ if resumed else self._find_bounds(values)
        architecture = self._make_architecture(values.shape[1], len(classes))
        warn_of_seeds(type(self).__name__, self.random_state)
        # Not NumPy's global generator, the usual meaning of None, which np.random.seed could fix.
        fresh = np.random.RandomState() if self.random_state is None else self.random_state
        random_state = check_random_state(fresh)
        if resumed:
            # A copy, so that after an error the network is still the one that guarantee_ covers.
            network = deepcopy(self.network_).float()
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(draw_seeds(random_state))
                network = self._make_network(architecture)
        device = find_device(self.device)
        rows = self._to_unit(values, bounds).float()
        labels = np.searchsorted(classes, targets)
        accounts = self._train(network.to(device), rows.to(device), labels, random_state)
        # In double precision, so that the scores of a row do not depend on the rest of the block.
        self.network_ = network.cpu().double().eval()
        self.network_.zero_grad()  # remove gradients of rows
        self.classes_, self.bounds_ = classes, bounds
        self._fitted_with = self._layers()
        guarantee = accounts[-1].guarantee(values.shape[1], **self._describe_mechanism())
        self.guarantee_ = self.guarantee_ + guarantee if resumed else guarantee
        self.accounts_ = [*self.accounts_, *accounts] if resumed else accounts
        self._warn_of_weak_guarantee(accounts[-1])
        return self

    def _noise_source(self, random_state):
        """Return the source of noise; None stands for a cryptographic one."""
        return None if self.random_state is None else random_state

    def _schedule(self, generator, label):
        """Return the settings of a training, as arguments of :func:`train`."""
        return {
            "batch_size": self.batch_size,
            "n_epochs": self.n_epochs,
            "learning_rate": self.learning_rate,
            "generator": generator,
            "progress": Progress(self.verbose, self.n_epochs, label),
        }

    def _layers(self):
        return {name: _as_tuples(getattr(self, name)) for name in self._architectural}

    def _check_same_layers(self):
        """Raise ValueError if the fitted network has other layers than the parameters say."""
        present = self._layers()
        for name in self._architectural:
            if present[name] != self._fitted_with[name]:
                raise ValueError(
                    f"{type(self).__name__}(warm_start=True) continues a network with {name}="
                    f"{self._fitted_with[name]!r}, got {present[name]!r}. Keep it, or set "
                    "warm_start=False."
                )

    def _make_architecture(self, n_features, n_classes):
        """Return the architecture of the network, or raise ValueError if it does not fit."""
        name = type(self).__name__
        shape = None if self.image_shape is None else tuple(self.image_shape)
        sizes = tuple(self.hidden_layer_sizes)
        if not sizes or not all(map(_is_positive_integer, sizes)):
            raise ValueError(
                f"The 'hidden_layer_sizes' parameter of {name} must be a tuple of positive whole "
                f"numbers, got {sizes!r}. The last is for a dense layer."
            )
        if shape is not None:
            whole = all(map(_is_positive_integer, shape))
            if not whole or len(shape) not in (2, 3) or prod(shape) != n_features:
                raise ValueError(
                    f"The 'image_shape' parameter of {name} must be (height, width) or (channels, "
                    f"height, width) of {n_features} values in total, got {shape!r}. Use the "
                    "shape of the rows before they were flattened, or None."
                )
        sizes = tuple(map(int, sizes))
        kernels = ((1, 1),) * (len(sizes) - 1) if shape is None else self._kernels(len(sizes) - 1)
        return Architecture(n_features, n_classes, shape, sizes, kernels)

    def _kernels(self, n_convolutions):
        """Return (rows, columns) of the filters of each convolution."""
        sizes = _as_tuples(self.kernel_size)
        sizes = sizes if isinstance(sizes, tuple) else (sizes,) * n_convolutions
        kernels = tuple(size if isinstance(size, tuple) else (size, size) for size in sizes)
        pairs = all(len(k) == 2 and all(map(_is_positive_integer, k)) for k in kernels)
        if not pairs or len(kernels) != n_convolutions:
            raise ValueError(
                f"The 'kernel_size' parameter of {type(self).__name__} must be a positive whole "
                f"number or a sequence of {n_convolutions} numbers or pairs (rows, columns), one "
                f"per convolution, got {self.kernel_size!r}. "
                f"Use, for instance, [(4, 12)] * {n_convolutions}."
            )
        return tuple((int(rows), int(columns)) for rows, columns in kernels)

    def _find_classes(self, y):
        classes = np.unique(y if self.classes is None else np.asarray(self.classes))
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, got {len(classes)} class. "
                "Name them in its 'classes' parameter."
            )
        return classes

    def _find_bounds(self, X):
        bounds = check_bounds(self, self.bounds, X)
        return np.stack([bounds.low, bounds.high])

    @staticmethod
    def _to_unit(X, bounds):
        unit = Bounds(*bounds).to_unit(X)
        return torch.from_numpy(np.ascontiguousarray(unit, dtype=np.float64))

    def _warn_of_noise(self, perturbation, n):
        """Warn, before training, if there is too much noise to learn from."""
        # Up to there networks are no better than a guess. On digits the accuracy
        # of both networks was at most .17 up to 22, .52 at 50 and .75 at 200, if their other
        # settings allowed them to learn.
        if perturbation.signal(n) > 20.0:
            return
        deviation = np.sqrt(2) * float(np.median(perturbation.input_scales))
        low, high = self.bounds
        if isinstance(low, Real) and isinstance(high, Real):
            inputs = f"{deviation * (high - low):.3g} on columns of range {high - low:g}"
        else:
            inputs = f"{deviation:.3g} times the range of each column"
        warn(
            f"{type(self).__name__}(epsilon={self.epsilon:g}) adds noise of standard deviation "
            f"{inputs}, and {np.sqrt(2) * perturbation.label_scale:.3g} on label coefficients of "
            f"range 1: {n:,} such rows teach no more than a guess. Use a larger 'batch_size', "
            "fewer units in the last of 'hidden_layer_sizes', or DPStatisticsSource."
        )

    def _warn_of_weak_guarantee(self, account):
        """Warn if a row is less protected than the budget says."""
        name = f"{type(self).__name__}(epsilon={self.epsilon:g})"
        if not np.isfinite(account.epsilon):
            warn(f"{name} guarantees nothing for one row: {account.reason}.", PrivacyLeakWarning)
        elif account.epsilon > self.epsilon * (1 + TOLERANCE):
            warn(
                f"{name} is {account.epsilon:.4g}-private for one labeled record, not "
                f"{self.epsilon:g}-private: the papers' budget is for sums over a batch. See "
                "guarantee_ and accounts().",
                PrivacyLeakWarning,
            )

    @torch.no_grad()
    def _scores(self, X):
        check_is_fitted(self, "network_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        rows = self._to_unit(X, self.bounds_)
        device = find_device(self.device)
        network = self.network_.to(device)
        parts = [network(part.to(device)).cpu() for part in rows.split(2000)]
        self.network_.cpu()
        return torch.cat(parts)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, clipped to ``bounds``, without noise.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the classifier is not fitted.

        Examples
        --------
        >>> import warnings
        >>> from sklearn.datasets import load_digits
        >>> from skdp.neural import PrivateCDBNClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> network = PrivateCDBNClassifier(
        ...     epsilon=200.0, hidden_layer_sizes=(8, 8), batch_size=300, n_epochs=2,
        ...     bounds=(0, 16),
        ... )
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     network = network.fit(X, y)
        >>> network.predict_proba(X).shape
        (360, 2)
        """
        return self._probabilities(self._scores(X)).numpy()

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Class labels.

        Examples
        --------
        >>> import warnings
        >>> from sklearn.datasets import load_digits
        >>> from skdp.neural import PrivateCDBNClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> network = PrivateCDBNClassifier(
        ...     epsilon=200.0, hidden_layer_sizes=(8, 8), batch_size=300, n_epochs=2,
        ...     bounds=(0, 16),
        ... )
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     network = network.fit(X, y)
        >>> network.predict(X).shape
        (360,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def accounts(self) -> pd.DataFrame:
        """Return the privacy accounts: as in the paper, by composition, and for one row.

        Returns
        -------
        accounts : DataFrame
            With columns counting, protects, epsilon, delta, holds and reason; one block of rows
            for each call of :meth:`fit` with ``warm_start``.

        Examples
        --------
        >>> import warnings
        >>> from sklearn.datasets import load_digits
        >>> from skdp.neural import PrivateCDBNClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> network = PrivateCDBNClassifier(
        ...     epsilon=200.0, hidden_layer_sizes=(8, 8), batch_size=300, n_epochs=2,
        ...     bounds=(0, 16),
        ... )
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     network = network.fit(X, y)
        >>> network.accounts().columns.tolist()
        ['counting', 'protects', 'epsilon', 'delta', 'holds', 'reason']
        """
        check_is_fitted(self, "accounts_")
        return pd.DataFrame(self.accounts_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # at the default ε, little is learned of few rows
        return tags


def _as_tuples(value):
    """Return a value in which lists are tuples."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value


def _is_positive_integer(value):
    return isinstance(value, Integral) and int(value) > 0
