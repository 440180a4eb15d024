"""What all private networks share: validation, prediction, long training, files."""

from copy import deepcopy
from dataclasses import fields
from numbers import Integral, Real

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.neural._accounts import accounts_frame
from skdp.neural._exchange import read_network, write_network
from skdp.neural._network import Architecture
from skdp.neural._training import find_device
from skdp.noise import Bounds, PrivateRandomness, check_bounds
from skdp.privacy import PrivacyGuarantee, PrivacyLeakWarning
from skdp.utils._parallel import draw_seeds
from skdp.utils._private_data import PrivateParametersMixin, validate_private_data
from skdp.utils._sklearn import Interval, StrOptions, fit_context
from skdp.utils._storage import require
from skdp.utils._validation import forget_fit
from skdp.utils._warnings import warn

# What an accountant may overspend by its search, relatively (that of Opacus: an ε of 0.01).
ROUNDING = 0.05
# Rows that pass through the network at once in prediction (rule of thumb).
_PREDICTED_AT_ONCE = 2000


class PrivateNetworkClassifier(PrivateParametersMixin, ClassifierMixin, PrivateRandomness):
    """Base of the classifiers of this package.

    A subclass defines ``_make_network(architecture)``, ``_probabilities(scores)``,
    ``_describe()``, the name and relation of its guarantee, and ``_train(network, rows, labels,
    random_state)``, which trains and returns a list of :class:`PrivacyAccount`; the last one is
    that of one labelled record.
    """

    epsilon: float
    noise_per: str
    classes_: np.ndarray
    bounds_: np.ndarray
    network_: torch.nn.Module
    guarantee_: PrivacyGuarantee
    accounts_: list

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "image_shape": [tuple, list, None],
        "hidden_layer_sizes": [tuple, list],
        "kernel_size": [Interval(Integral, 1, None, closed="left")],
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
    # Parameters that decide what was fitted, saved with it.
    _saved: tuple = ("epsilon", "noise_per", "image_shape", "hidden_layer_sizes", "kernel_size")
    # Those of them that decide the layers: a warm start cannot change them.
    _architectural: tuple = ("image_shape", "hidden_layer_sizes", "kernel_size")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
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
            With ``guarantee_``.

        Raises
        ------
        ValueError
            When rows, labels, bounds or layers do not fit together, or a network that goes on has
            other layers.
        """
        goes_on = self.warm_start and hasattr(self, "network_")
        if goes_on:
            self._check_same_layers()
        else:
            forget_fit(self)
        X, y = validate_private_data(self, X, y, reset=not goes_on)
        check_classification_targets(y)
        classes = self.classes_ if goes_on else self._find_classes(y)
        if not np.isin(y, classes).all():
            raise ValueError(
                f"y holds labels that are none of the classes of {type(self).__name__}. Name "
                "them in its 'classes' parameter before the first fit."
            )
        bounds = self.bounds_ if goes_on else self._find_bounds(X)
        architecture = self._architecture(X.shape[1], len(classes))
        self._warn_of_seed()
        # NumPy's global generator, which None is elsewhere, could be fixed by np.random.seed.
        fresh = np.random.RandomState() if self.random_state is None else self.random_state
        random_state = check_random_state(fresh)
        if goes_on:
            # A copy: whatever fails below must leave a network that its guarantee_ covers.
            network = deepcopy(self.network_).float()
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(draw_seeds(random_state))
                network = self._make_network(architecture)
        device = find_device(self.device)
        rows = self._to_unit(X, bounds).float()
        labels = np.searchsorted(classes, y)
        accounts = self._train(network.to(device), rows.to(device), labels, random_state)
        # In double precision, so that the scores of a row do not depend on those beside it.
        self.network_ = network.cpu().double().eval()
        self.network_.zero_grad()  # gradients of rows are no part of it
        self.classes_, self.bounds_ = classes, bounds
        self._fitted_with = self._saved_parameters()
        guarantee = accounts[-1].guarantee(X.shape[1], **self._describe())
        self.guarantee_ = self.guarantee_ + guarantee if goes_on else guarantee
        self.accounts_ = [*self.accounts_, *accounts] if goes_on else accounts
        self._warn_of(accounts[-1])
        return self

    def _noise_source(self, random_state):
        """Return the source of noise: None is a cryptographic one there, and no generator."""
        return None if self.random_state is None else random_state

    def _saved_parameters(self):
        values = {name: getattr(self, name) for name in self._saved}
        return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}

    def _check_same_layers(self):
        """Raise ValueError where the fitted network is not of the present parameters."""
        present = self._saved_parameters()
        for name in self._architectural:
            if present[name] != self._fitted_with[name]:
                raise ValueError(
                    f"{type(self).__name__}(warm_start=True) goes on with a network of {name}="
                    f"{self._fitted_with[name]!r}, got {present[name]!r}. Keep it, or set "
                    "warm_start=False."
                )

    def _check_guarantee(self):
        """Raise ValueError unless guarantee_ follows from accounts_, and these from parameters.

        A file may state anything. The last account of each fit is that of one labelled record.
        """
        fits = [each for each in self.accounts_ if each.counting == self.accounts_[-1].counting]
        n_accounts, remainder = divmod(len(self.accounts_), len(fits))
        require(remainder == 0, "accounts")
        require(self._accounts_fit(*self.accounts_[-n_accounts:]), "accounts and parameters")
        first, *rest = (each.guarantee(self.n_features_in_, **self._describe()) for each in fits)
        expected = sum(rest, first)
        for name in (field.name for field in fields(PrivacyGuarantee)):
            found, derived = getattr(self.guarantee_, name), getattr(expected, name)
            # Texts say what each of several fits was, and exclude what each was given.
            several = name in ("mechanism", "excludes")
            same = derived in found if several else derived == found
            require(same, f"accounts and {name} of the guarantee")

    def _accounts_fit(self, paper, composed, row):
        """Return whether the accounts of one fit are such as its parameters give."""
        protected = self.noise_per == "row" and np.isfinite(self.epsilon)
        return paper.epsilon == self.epsilon and (protected or not row.holds)

    def _architecture(self, n_features, n_classes):
        shape = None if self.image_shape is None else tuple(self.image_shape)
        sizes = tuple(self.hidden_layer_sizes)
        if not sizes or not all(isinstance(n, Integral) and int(n) > 0 for n in sizes):
            raise ValueError(
                f"The 'hidden_layer_sizes' parameter of {type(self).__name__} must be a tuple of "
                f"positive whole numbers, got {sizes!r}. The last is that of a dense layer."
            )
        sizes = tuple(map(int, sizes))
        architecture = Architecture(n_features, n_classes, shape, sizes, int(self.kernel_size))
        architecture.check(self)
        return architecture

    def _find_classes(self, y):
        classes = np.unique(y if self.classes is None else np.asarray(self.classes))
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, got {len(classes)} class. "
                "Name them in its 'classes' parameter."
            )
        return classes

    def _find_bounds(self, X):
        found = check_bounds(self, self.bounds, X)
        return np.stack([found.low, found.high])

    @staticmethod
    def _to_unit(X, bounds):
        unit = Bounds(*bounds).to_unit(X)
        return torch.from_numpy(np.ascontiguousarray(unit, dtype=np.float64))

    def _warn_of_seed(self):
        if isinstance(self.random_state, Integral):
            warn(
                f"{type(self).__name__}(random_state={self.random_state}): whoever guesses this "
                "seed can recompute the noise and remove it. Use random_state=None for anything "
                "that leaves your hands.",
                PrivacyLeakWarning,
            )

    def _warn_of(self, account):
        """Warn where a row has less than the budget says."""
        name = f"{type(self).__name__}(epsilon={self.epsilon:g})"
        if not np.isfinite(account.epsilon):
            warn(f"{name} guarantees nothing for one row: {account.reason}.", PrivacyLeakWarning)
        elif account.epsilon > self.epsilon * (1 + ROUNDING):
            warn(
                f"{name} is {account.epsilon:.4g}-private for one labelled record, not "
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
        parts = [network(part.to(device)).cpu() for part in rows.split(_PREDICTED_AT_ONCE)]
        self.network_.cpu()
        return torch.cat(parts)

    def predict_proba(self, X):
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, clipped to ``bounds``; no noise is added to them.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._probabilities(self._scores(X)).numpy()

    def predict(self, X):
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def accounts(self):
        """Return what was spent: as the paper counts, as composition demands, and for a row.

        Returns
        -------
        accounts : DataFrame
            With columns counting, protects, epsilon, delta, holds, reason; one block of rows for
            each call of :meth:`fit` with ``warm_start``.
        """
        check_is_fitted(self, "accounts_")
        return accounts_frame(self.accounts_)

    def save(self, path):
        """Write the fitted network to a file of arrays and text, without code.

        Parameters
        ----------
        path : str or path-like
            Where to.
        """
        check_is_fitted(self, "network_")
        write_network(self, path)

    @classmethod
    def load(cls, path):
        """Read a fitted network that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        classifier : estimator
            Fitted; it predicts bit for bit as the one that was saved.

        Raises
        ------
        ValueError
            When the file is truncated, altered, or holds something else.
        """
        return read_network(cls, path)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "guarantee_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # at the default ε, few rows teach nothing
        return tags
