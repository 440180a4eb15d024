"""Curves of survival, and how well risks order times, by the conventions of scikit-survival."""

from dataclasses import dataclass

import numpy as np

# Rows with an event that are compared with all others at a time.
_CHUNK = 256


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A curve over time that is constant from each time to the next.

    As of scikit-survival: its metrics and scorers read curves of either kind.

    Parameters
    ----------
    x : ndarray of shape (n_times,)
        Times, ascending.

    y : ndarray of shape (n_times,)
        Values from these times on.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import StepFunction
    >>> curve = StepFunction(np.array([0.0, 10.0, 20.0]), np.array([1.0, 0.8, 0.7]))
    >>> curve([5, 10, 19])
    array([1. , 0.8, 0.8])
    """

    x: np.ndarray
    y: np.ndarray

    @property
    def domain(self) -> tuple[float, float]:
        """Tuple of float: first and last time at which there is a value."""
        return float(self.x[0]), float(self.x[-1])

    def __call__(self, x):
        """Return the values at some times; ValueError where one lies outside the domain."""
        times = np.asarray(x, dtype=np.float64)
        low, high = self.domain
        if not ((times >= low) & (times <= high)).all():
            raise ValueError(
                f"The 'x' parameter of a StepFunction must be times from {low:g} to {high:g}, "
                "where the curve ends: its horizon is public, and nothing is known beyond it."
            )
        return self.y[np.searchsorted(self.x, times, side="right") - 1]


def concordance_index(event: np.ndarray, time: np.ndarray, risk: np.ndarray) -> float:
    """Return Harrell's concordance: how often the earlier event has the higher risk.

    Of pairs whose order is known: one has an event before the other one leaves. Equal risks count
    one half. NaN where there is no such pair.
    """
    event, time, risk = np.asarray(event, dtype=bool), np.asarray(time), np.asarray(risk)
    right = pairs = 0.0
    with_event = np.flatnonzero(event)
    for start in range(0, len(with_event), _CHUNK):
        chunk = with_event[start : start + _CHUNK, np.newaxis]
        later = (time > time[chunk]) | ((time == time[chunk]) & ~event)
        pairs += later.sum()
        right += (later & (risk < risk[chunk])).sum() + 0.5 * (later & (risk == risk[chunk])).sum()
    return float(right / pairs) if pairs else float("nan")
