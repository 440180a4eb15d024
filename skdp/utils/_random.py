"""Seeds for work that runs in parallel."""

import numpy as np

# scikit-learn draws the seeds of its own parallel estimators below the same bound.
_SEED_BOUND = np.iinfo(np.int32).max


def draw_seeds(random_state, size=None):
    """Return integer seeds, drawn before anything runs in parallel.

    Parameters
    ----------
    random_state : RandomState
        Where they come from.

    size : int or None, default=None
        How many; None draws a single one.

    Returns
    -------
    seeds : int or ndarray of shape (size,)
        Non-negative, below 2³¹ − 1.
    """
    return random_state.randint(_SEED_BOUND, size=size)
