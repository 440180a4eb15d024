"""What all displays share: colors, axes, the claimed trade-off, and refusals of wrong input."""

from typing import Any

import numpy as np

# Colors that people with any color vision tell apart, of Okabe and Ito (2008); yellow is left out,
# which hardly shows on white.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#767676"
# Values of ε whose bounds are drawn together as one curve (rule of thumb).
_N_BOUNDS = 200
# Beyond this ε a claim is above all that could be drawn (rule of thumb).
_GREATEST_DRAWN = 50


class Display:
    """Axes of a display, as scikit-learn's displays have them.

    Parameters
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, or the first of several; set by ``plot``.

    axes_ : ndarray of matplotlib.axes.Axes
        All of them, flat.

    figure_ : matplotlib.figure.Figure
        What they belong to.
    """

    ax_: Any
    axes_: np.ndarray
    figure_: Any

    # What can be read in place of the drawing.
    _instead = "its attributes"

    def _take_axes(self, ax, n=1, shape=(1, 1), **settings):
        """Remember n axes: those given, or those of a new figure; return them.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, array-like of these, or None

        n : int, default=1

        shape : tuple of int, default=(1, 1)
            Rows and columns of a new figure.

        **settings
            Of a new figure, as ``matplotlib.pyplot.subplots`` takes them.
        """
        owner = f"{type(self).__name__}.plot"
        if ax is None:
            axes = _new_axes(owner, self._instead, *shape, squeeze=False, **settings)
        else:
            axes = np.atleast_1d(np.asarray(ax, dtype=object))
            if axes.size < n or not all(hasattr(each, "get_figure") for each in axes.flat):
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
            f"{owner} draws with matplotlib, which is not installed: pip install 'skdp[plot]', or "
            f"read {instead}."
        ) from error
    return plt.subplots(*shape, layout="constrained", **settings)[1]


def as_label(name):
    r"""Return a name as a text that matplotlib draws as it is, where ``$`` would begin a formula.

    Examples
    --------
    >>> from skdp.displays._base import as_label
    >>> print(as_label("cost in $"))
    cost in \$
    """
    return str(name).replace("$", r"\$")


def require_kind(owner, name, value, needed, wanted):
    """Raise ValueError unless a value has what a display reads.

    Parameters
    ----------
    owner, name : str
        The method, and its parameter.

    value : object

    needed : tuple of str
        Names of attributes and methods.

    wanted : str
        What it should be.

    Raises
    ------
    ValueError
        Naming the parameter and the remedy.
    """
    # Of a class, methods are no data.
    if isinstance(value, type) or not all(hasattr(value, each) for each in needed):
        raise ValueError(
            f"The {name!r} parameter of {owner} must be {wanted}, got "
            f"{'the class ' if isinstance(value, type) else 'a '}"
            f"{value.__name__ if isinstance(value, type) else type(value).__name__}."
        )


def claimed_rates(guarantee, false_positive_rates):
    r"""Return the largest true-positive rates that a guarantee allows.

    For every ε ≥ 0, with δ(ε) of ``guarantee.delta_at``, a test of two neighbours has

    .. math:: \mathrm{TPR} \le e^ε\, \mathrm{FPR} + δ(ε), \qquad
        \mathrm{TPR} \le 1 - e^{-ε}\,(1 - δ(ε) - \mathrm{FPR})

    and the least of these bounds is returned, over many ε. Each holds by itself, so that the
    curve is never too low.

    Parameters
    ----------
    guarantee : PrivacyGuarantee

    false_positive_rates : array-like of shape (n_rates,)

    Returns
    -------
    true_positive_rates : ndarray of shape (n_rates,)
    """
    rates = np.asarray(false_positive_rates, dtype=np.float64)
    if not guarantee.epsilon < _GREATEST_DRAWN:
        return np.ones(len(rates))
    pairs = [(guarantee.epsilon, guarantee.delta)]
    try:
        levels = np.linspace(0, 2 * guarantee.epsilon, _N_BOUNDS).tolist()
        pairs += [(epsilon, guarantee.delta_at(epsilon)) for epsilon in levels]
    except (ImportError, ValueError):  # its losses cannot be composed; what is stated holds
        pass
    return bounded_rates(np.array(pairs), rates)


def bounded_rates(pairs, rates):
    """Return the largest true-positive rates under several pairs (ε, δ), see above.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)

    rates : ndarray of shape (n_rates,)
        Of false positives.

    Returns
    -------
    true_positive_rates : ndarray of shape (n_rates,)
    """
    epsilon, delta = pairs.T[:, :, np.newaxis]
    above = np.exp(epsilon) * rates + delta
    below = 1 - np.exp(-epsilon) * (1 - delta - rates)
    return np.minimum(np.minimum(above, below).min(axis=0), 1.0)
