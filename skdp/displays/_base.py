"""Shared parts of displays: colors, axes, the claimed trade-off, and checks of the input."""

from typing import Any

import numpy as np

# Colors that people with any color vision distinguish (Okabe and Ito, 2008), without yellow, which
# hardly shows on white.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#767676"


class Display:
    """Axes of a display, as scikit-learn's displays have them."""

    ax_: Any
    axes_: np.ndarray
    figure_: Any

    # What to read instead of the drawing.
    _instead = "its attributes"

    def _take_axes(self, ax, n=1, shape=(1, 1), **settings):
        """Set n axes: the given ones, or those of a new figure of this shape; return them."""
        owner = f"{type(self).__name__}.plot"
        if ax is None:
            axes = _new_axes(owner, self._instead, *shape, squeeze=False, **settings)
        else:
            axes = np.atleast_1d(np.asarray(ax, dtype=object))
            if axes.size < n or not all(hasattr(one, "get_figure") for one in axes.flat):
                wanted = "matplotlib axes" if n == 1 else f"{n} or more matplotlib axes"
                raise ValueError(
                    f"The 'ax' parameter of {owner} must be {wanted}, got "
                    f"{type(ax).__name__} {ax!r:.80}. Pass what plt.subplots returned, or None."
                )
        for rest in axes.flat[n:]:
            rest.set_visible(False)
        self.axes_ = axes
        self.ax_ = axes.flat[0]
        self.figure_ = self.ax_.get_figure()
        return axes.ravel()[:n]


def _new_axes(owner, instead, *shape, **settings):
    """Return axes of a new figure of matplotlib, which is an extra."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{owner} needs matplotlib, which is not installed. Install it (pip install "
            f"'skdp[plot]'), or read {instead}."
        ) from error
    return plt.subplots(*shape, layout="constrained", **settings)[1]


def as_label(name):
    """Return a name as literal text for matplotlib: ``$`` would start a formula."""
    return str(name).replace("$", r"\$")


def reach(table, name):
    """Return how far the intervals of a column reach to either side, 0 if unknown."""
    ends = np.array([table[name] - table["low"], table["high"] - table[name]], dtype=float)
    return np.maximum(np.nan_to_num(ends), 0)


def require_kind(owner, name, value, needed, wanted):
    """Raise ValueError unless a value has the attributes and methods that a display reads."""
    # The methods of a class are not data.
    if isinstance(value, type) or not all(hasattr(value, attribute) for attribute in needed):
        raise ValueError(
            f"The {name!r} parameter of {owner} must be {wanted}, got "
            f"{'the class ' if isinstance(value, type) else 'a '}"
            f"{value.__name__ if isinstance(value, type) else type(value).__name__}."
        )


def claimed_rates(guarantee, false_positive_rates):
    """Return the largest true-positive rates that a guarantee allows at false-positive rates."""
    # For every ε ≥ 0, with δ(ε) from ``guarantee.delta_at``, a test of two neighbors has TPR ≤ e^ε
    # FPR + δ(ε) and TPR ≤ 1 − e^−ε (1 − δ(ε) − FPR). The smallest of these bounds over many ε is
    # returned. Each is valid, so the curve is never too low.
    rates = np.asarray(false_positive_rates, dtype=np.float64)
    if not guarantee.epsilon < 50:  # above all that could be drawn
        return np.ones(len(rates))
    pairs = [(guarantee.epsilon, guarantee.delta)]
    try:
        # As many points as make a smooth curve.
        levels = np.linspace(0, 2 * guarantee.epsilon, 200).tolist()
        pairs += [(epsilon, guarantee.delta_at(epsilon)) for epsilon in levels]
    except (ImportError, ValueError):  # its losses cannot be composed; what is stated holds
        pass
    return bounded_rates(np.array(pairs), rates)


def bounded_rates(pairs, rates):
    """Return the largest true-positive rates under several pairs (ε, δ), see above."""
    epsilon, delta = pairs.T[:, :, np.newaxis]
    above = np.exp(epsilon) * rates + delta
    below = 1 - np.exp(-epsilon) * (1 - delta - rates)
    return np.minimum(np.minimum(above, below).min(axis=0), 1.0)
