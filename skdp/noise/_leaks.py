"""Randomness that must not repeat, and warnings where it could be undone."""

import warnings
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from skdp.privacy import PrivacyLeakWarning


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
        # A generator's state would let whoever reads the pickle step it back and subtract
        # the noise. The copy draws fresh entropy instead.
        state = super().__getstate__().copy()
        for name in ("random_state", "_random_state"):
            if isinstance(state.get(name), np.random.RandomState):
                state[name] = None
        return state


def warn_of_leaks(estimator, stacklevel):
    """Warn of settings that undo a guarantee.

    Parameters
    ----------
    estimator : estimator
        With ``epsilon`` and ``random_state``, and perhaps ``bounds``.

    stacklevel : int
        Frames from here to the user's line.
    """
    name = type(estimator).__name__
    messages = []
    if isinstance(estimator.random_state, Integral):
        messages.append(
            f"{name}(random_state={estimator.random_state}): whoever guesses this seed can "
            "recompute the noise and subtract it, and every transform adds the same noise, "
            "so that two outputs differ by exactly what their inputs do. Either undoes the "
            "guarantee. Use random_state=None for anything that leaves your hands."
        )
    if isinstance(getattr(estimator, "bounds", None), str):
        messages.append(
            f"{name}(bounds={estimator.bounds!r}) learns the bounds from the rows that it is to "
            "protect: the least and greatest value of each feature leave unprotected, and "
            "the guarantee holds only for data sets with the same bounds. Pass what is "
            "publicly known, such as bounds=(0, 255)."
        )
    if np.isinf(estimator.epsilon):
        messages.append(
            f"{name}(epsilon=inf) adds no noise: what it returns is the data itself. "
            "Use a finite epsilon for anything that leaves your hands."
        )
    for message in messages:
        warnings.warn(message, PrivacyLeakWarning, stacklevel=stacklevel + 1)
