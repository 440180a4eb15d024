"""Unpredictable random bits that copies and pickles do not repeat."""

import hashlib
import multiprocessing
import os
from numbers import Integral
from typing import Any, Self

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from skdp.privacy import PrivacyLeakWarning
from skdp.utils._warnings import warn

# Number of keys drawn from generators whose digests are stored to detect repetitions (rule of
# thumb: some 10 MB).
_N_REMEMBERED = 2**16
# Sensitivity if neither it nor bounds are given.
DEFAULT_SENSITIVITY = 1.0
# The process that imported this module; a forked child has another number.
_PROCESS = os.getpid()

_drawn: dict[bytes, None] = {}
_withheld: dict[str, Integral] = {}
_secret = os.urandom(16)


def fresh_key():
    """Return a new secret key."""
    return os.urandom(32)


class RandomBits:
    """Uniform random bits, 64 at a time: the keystream of AES-256 in counter mode."""

    def __init__(self, key=None):
        key = fresh_key() if key is None else key
        # The key is used for this stream only, so that a counter from zero never repeats.
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def draw(self, n):
        """Return the next n integers of 64 random bits."""
        zeros = bytes(n * 8)
        return np.frombuffer(self._encryptor.update(zeros), dtype="<u8")


class PrivateRandomness(BaseEstimator):
    """Base of estimators whose clones and pickles do not repeat their randomness."""

    random_state: int | np.random.RandomState | None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")

    def __sklearn_clone__(self) -> Self:
        # A copied generator would repeat its noise on the next data set: the difference of two
        # noisy copies would equal the difference of the data. A shared generator continues.
        copy = super().__sklearn_clone__()
        copy.random_state = self.random_state
        return copy

    def __getstate__(self) -> dict[str, Any]:
        # The reader of a pickle could step a generator back or use a seed, and subtract the
        # noise. An unfitted estimator keeps its seed, so that results do not depend on n_jobs.
        state = super().__getstate__().copy()
        fitted = any(name.endswith("_") for name in state)
        for name in {"random_state", "_random_state"} & set(state):  # the latter of the last fit
            if isinstance(state[name], np.random.RandomState):
                state[name] = None
            elif isinstance(state[name], Integral) and fitted:
                state[name] = _Withheld(state[name])
        return state


def without_seed(estimator):
    """Return a copy of an unfitted estimator that loses its seed in another process."""
    copy = clone(estimator)
    if isinstance(copy.random_state, Integral):
        copy.random_state = _Withheld(copy.random_state)
    return copy


class _Withheld:
    """A seed that copies in this process keep and that becomes None in any other."""

    def __init__(self, seed):
        self._seed = seed

    def __reduce__(self):
        token = hashlib.sha256(_secret + repr(self._seed).encode()).hexdigest()
        _withheld[token] = self._seed
        return _restore, (token,)


def _restore(token):
    return _withheld.get(token)


def private_bits(name, random_state):
    """Return the random bits of one draw; warn if the noise could be removed."""
    warn_of_seeds(name, random_state)
    key = _draw_key(random_state)
    if key is not None and isinstance(random_state, np.random.RandomState):
        digest = hashlib.sha256(key).digest()
        if digest in _drawn:
            warn(
                f"{name}(random_state=RandomState): these random bits were drawn before. The "
                "generator is a copy, as in a parameter grid, or has the same seed. Two outputs "
                "with the same noise reveal how their inputs differ. Use random_state=None.",
                PrivacyLeakWarning,
            )
        _drawn[digest] = None
        if len(_drawn) > _N_REMEMBERED:
            for oldest in list(_drawn)[: _N_REMEMBERED // 2]:
                _drawn.pop(oldest, None)
    return RandomBits(key)


def warn_of_seeds(name, random_state):
    """Warn of a ``random_state`` that others may know."""
    if isinstance(random_state, Integral):
        warn(
            f"{name}(random_state={random_state}): anyone who guesses this seed can subtract the "
            "noise, and every call repeats it. This voids the guarantee. Use random_state=None "
            "for anything that you share.",
            PrivacyLeakWarning,
        )
    elif random_state is not None and random_state is check_random_state(None):
        warn(
            f"{name}(random_state=NumPy's global generator): np.random.seed fixes this noise, and "
            "other published numbers reveal it. This voids the guarantee. Use random_state=None, "
            "which draws from the operating system.",
            PrivacyLeakWarning,
        )


def _draw_key(random_state):
    """Return the next key of a ``random_state``; None for system entropy."""
    # ``random_state=None`` is fresh entropy, never NumPy's global state, which a forgotten
    # ``np.random.seed`` would make predictable. A generator in a child process is replaced by
    # fresh entropy too: after a fork or unpickling it would repeat the draws of the parent and
    # of its other children.
    if random_state is None:
        return None
    in_child = os.getpid() != _PROCESS or multiprocessing.parent_process() is not None
    if isinstance(random_state, np.random.RandomState) and in_child:
        return None
    return check_random_state(random_state).bytes(32)


def warn_of_weak_privacy(name, epsilon, delta):
    """Warn of an infinite ε, and of a δ at which single records are likely to be exposed."""
    if np.isinf(epsilon):
        warn(
            f"{name}(epsilon=inf) adds no noise: it returns the data "
            "themselves. Use a finite epsilon for anything that you share.",
            PrivacyLeakWarning,
        )
    if delta > 1e-3:  # of a thousand records, one is expected to be exposed
        warn(
            f"The 'delta' parameter of {name}, {delta:g}, is about the probability that "
            "protected values are revealed. Use 1e-5, or another number far below 1 / number of "
            "records.",
            PrivacyLeakWarning,
        )


def warn_of_unstated_range(name, *stated, remedy=""):
    """Warn if the range of a value is not given; depends on parameters only, not on rows."""
    if all(parameter is None for parameter in stated):
        warn(
            f"{name} without 'bounds' or 'sensitivity' protects changes of a value by at most "
            f"{DEFAULT_SENSITIVITY:g}: nearly nothing of gray values from 0 to 255. "
            f"Pass public bounds=(low, high); {remedy}or sensitivity=1.0 if 1 is the largest "
            "change.",
            PrivacyLeakWarning,
        )
