"""Randomness that must not repeat, and warnings where it could be undone."""

import hashlib
import os
import weakref
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skdp.noise._random_bits import RandomBits, draw_key
from skdp.privacy import PrivacyLeakWarning
from skdp.utils._warnings import warn

# Attributes that hold randomness: the parameter, and what was fixed when the noise was fitted.
_RANDOMNESS = ("random_state", "_random_state")
# Keys drawn from generators that are remembered, as digests, so that one that comes again is
# noticed (rule of thumb: some 10 MB).
_N_REMEMBERED = 2**16
# Values that a draw may be expected to release exactly without a warning (rule of thumb: with a
# tenth of one, nine of ten draws have none).
_EXACT_VALUES = 0.1

_drawn: dict[bytes, None] = {}
_withheld: dict[str, dict] = {}
_secret = os.urandom(16)


class PrivateRandomness(BaseEstimator):
    """Neither a clone nor a pickle repeats what a ``random_state`` has drawn."""

    random_state: object

    def __sklearn_clone__(self):
        # A copied generator would repeat its noise on the next data set, and the difference
        # of two noisy copies would be that of the data. A shared one goes on.
        copy = super().__sklearn_clone__()
        copy.random_state = self.random_state
        return copy

    def __getstate__(self):
        # Whoever reads a pickle could step a generator's state back, or take a seed, and
        # subtract the noise. What has drawn no noise yet keeps its seed, so that results are
        # the same for any n_jobs. Copies within this process find theirs again.
        state = super().__getstate__().copy()
        state.pop("_fitted_on", None)
        fitted = "guarantee_" in state or "_random_state" in state  # or a later fit failed
        seeds = {}
        for name in _RANDOMNESS:
            value = state.get(name)
            if fitted and isinstance(value, Integral):
                seeds[name] = value
            if name in seeds or isinstance(value, np.random.RandomState):
                state[name] = None
        if seeds:
            token = hashlib.sha256(_secret + repr(sorted(seeds.items())).encode()).hexdigest()
            state["_token"], _withheld[token] = token, seeds
        return state

    def __setstate__(self, state):
        state = dict(state)
        state.update(_withheld.get(state.pop("_token", None), {}))
        super().__setstate__(state)


def private_bits(estimator, random_state):
    """Return the random bits of one draw, and warn of what would undo their noise.

    Parameters
    ----------
    estimator : estimator
        Named in warnings.

    random_state : int, RandomState instance or None
        Fixed when the estimator was fitted.

    Returns
    -------
    bits : RandomBits
    """
    warn_of_seeds(estimator, random_state)
    key = draw_key(random_state)
    if key is not None and isinstance(random_state, np.random.RandomState):
        digest = hashlib.sha256(key).digest()
        if digest in _drawn:
            warn(
                f"{type(estimator).__name__}(random_state=RandomState): these random bits were "
                "drawn before. The generator is a copy of another one, as a parameter grid "
                "makes, or has the same seed. Two outputs with the same noise differ by exactly "
                "what their inputs do, which undoes the guarantee. Use random_state=None.",
                PrivacyLeakWarning,
            )
        _drawn[digest] = None
        if len(_drawn) > _N_REMEMBERED:
            for oldest in list(_drawn)[: _N_REMEMBERED // 2]:
                _drawn.pop(oldest, None)
    return RandomBits(key)


def warn_of_seeds(estimator, random_state):
    """Warn of a ``random_state`` that others may know.

    Parameters
    ----------
    estimator : estimator
        Named in the warning.

    random_state : int, RandomState instance or None
        Its source of randomness.
    """
    name = type(estimator).__name__
    if isinstance(random_state, Integral):
        warn(
            f"{name}(random_state={random_state}): whoever guesses this seed can "
            "recompute the noise and subtract it, and every transform adds the same noise, "
            "so that two outputs differ by exactly what their inputs do. Either undoes the "
            "guarantee. Use random_state=None for anything that leaves your hands.",
            PrivacyLeakWarning,
        )
    elif random_state is not None and random_state is check_random_state(None):
        warn(
            f"{name}(random_state=NumPy's global generator): np.random.seed anywhere fixes this "
            "noise, and whatever else was drawn from it and published tells its state. Either "
            "undoes the guarantee. Use random_state=None, which is not that generator here.",
            PrivacyLeakWarning,
        )


def warn_of_no_noise(estimator, epsilon):
    """Warn of an infinite ε."""
    if np.isinf(epsilon):
        warn(
            f"{type(estimator).__name__}(epsilon=inf) adds no noise: what it returns is the data "
            "itself. Use a finite epsilon for anything that leaves your hands.",
            PrivacyLeakWarning,
        )


def warn_of_exact_values(noise, delta, n_values):
    """Warn where a point mass is likely to release values exactly.

    Only what is known to whoever gets the noisy matrix counts: δ, and how many values it has.

    Parameters
    ----------
    noise : DPNoise
        Named in the warning.

    delta : float
        Probability of the point mass for one value.

    n_values : int
        Values in the matrix.
    """
    expected = delta * n_values
    if expected > _EXACT_VALUES:
        warn(
            f"{type(noise).__name__}(delta={noise.guarantee_.delta:g}) leaves each value as it is "
            f"with probability {delta:g}: of these {n_values} values, {expected:.3g} are expected "
            "to leave without noise, and among data on a coarse grid, such as pixels, whoever "
            f"gets them can tell which. Use delta=0, with {1 / (1 - delta):.6g} times the noise, "
            "or one far below 1 over the public number of values.",
            PrivacyLeakWarning,
        )


def warn_of_learned_bounds(estimator):
    """Warn of bounds that are learned from private rows."""
    if isinstance(estimator.bounds, str):
        warn(
            f"{type(estimator).__name__}(bounds={estimator.bounds!r}) learns the bounds from the "
            "rows that it is to protect: the least and greatest value of each feature leave "
            "unprotected, and the guarantee holds only for data sets with the same bounds. Pass "
            "what is publicly known, such as bounds=(0, 255).",
            PrivacyLeakWarning,
        )


def reference_to(X):
    """Return a weak reference to rows, which keeps and tells nothing of them.

    A digest would say of any row that somebody guesses whether it was among these.

    Parameters
    ----------
    X : array-like
        Private rows.

    Returns
    -------
    reference : weakref or None
        None where the type of X allows none, as for a list.
    """
    try:
        return weakref.ref(X)
    except TypeError:
        return None


def warn_of_training_rows(noise, X):
    """Warn where the rows that a noise was fitted on are about to pass unchanged.

    Parameters
    ----------
    noise : DPNoise
        Fitted, with ``perturb="fit"``.

    X : array-like
        What ``transform`` was given.
    """
    reference = getattr(noise, "_fitted_on", None)
    if reference is not None and reference() is X:
        warn(
            f"{type(noise).__name__}(perturb='fit').transform was given the rows that it was "
            "fitted on, and returns them as they are, without noise: only fit_transform "
            "perturbs. Use what fit_transform returned, or perturb='always', for anything that "
            "leaves your hands.",
            PrivacyLeakWarning,
        )
