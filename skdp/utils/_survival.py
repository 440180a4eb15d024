"""Survival curves and concordance, with the conventions of scikit-survival."""

from dataclasses import dataclass

import numpy as np

# Rows with an event that are compared with all others at a time.
_CHUNK = 256


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A curve over time that is constant from each time to the next.

    As in scikit-survival: its metrics and scorers read either kind of curve.

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
        """Tuple of float: first and last time with a value."""
        return float(self.x[0]), float(self.x[-1])

    def __call__(self, x):
        """Return the values at some times; ValueError if one is outside the domain."""
        times = np.asarray(x, dtype=np.float64)
        low, high = self.domain
        if not ((times >= low) & (times <= high)).all():
            raise ValueError(
                f"The 'x' parameter of a StepFunction must be times from {low:g} to {high:g}. "
                "Nothing is known beyond the horizon, where the curve ends."
            )
        return self.y[np.searchsorted(self.x, times, side="right") - 1]


def concordance_index(event: np.ndarray, time: np.ndarray, risk: np.ndarray) -> float:
    """Return Harrell's concordance: how often the earlier event has the higher risk.

    Pairs count if one has an event before the other leaves. Equal risks count one half. NaN
    without such a pair.
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
