"""What each part of a fitted model counts for: as a table, as a picture, and as a warning."""

import numpy as np
import pandas as pd

from skdp.utils._warnings import warn


def report_frame(contributions, n_labels):
    """Return one row for each part, see :meth:`DPTransferClassifier.report`.

    Parameters
    ----------
    contributions : list of Contribution

    n_labels : int
    """
    frame = pd.DataFrame([vars(part) for part in contributions])
    frame.insert(4, "n_labels", n_labels)
    return frame


def draw_report(frame, ax=None):
    """Draw the weights as bars, see :meth:`DPTransferClassifier.plot_report`.

    Parameters
    ----------
    frame : DataFrame
        See :func:`report_frame`.

    ax : matplotlib.axes.Axes or None, default=None
    """
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "plot_report draws with matplotlib, which is not installed: pip install "
                "'skdp[plot]', or read the table of report()."
            ) from error
        _, ax = plt.subplots(layout="constrained")
    colours = {"source": "C0", "both": "C2", "target": "C1"}
    places = np.arange(len(frame))
    bars = ax.barh(places, frame["weight"], color=frame["side"].map(colours).tolist())
    ax.bar_label(bars, labels=[_said_by_labels(row) for row in frame.itertuples()], padding=4)
    for side, colour in colours.items():
        if (frame["side"] == side).any():
            ax.barh([0], [0], color=colour, label=side)
    ax.set_yticks(places, frame["name"].tolist())
    ax.invert_yaxis()
    # Labels stand beside the bars.
    ax.set(xlabel="weight", xlim=(0, 1.6), xticks=np.linspace(0, 1, 6))
    ax.legend(loc="lower right")
    return ax


def _said_by_labels(row):
    """Return what labels say of a part, as text."""
    if np.isnan(row.log_loss):
        return ""
    loss = f"log loss {row.log_loss:.3f}"
    if row.Index == 0 or np.isnan(row.standard_error):
        return loss
    return f"{loss} ({row.difference:+.3f} ± {row.standard_error:.3f})"


def warn_of_source(model):
    """Warn where labels say that a source does not help.

    Parameters
    ----------
    model : object
        That was learned with a source and labels.
    """
    if model.source_weight < model.least_source_weight:
        warn(
            "The labelled rows favour what the target learned alone: the source counts for "
            f"{model.source_weight:.2f} of 1. Check that its columns, their units and its classes "
            "mean the same here, see report() for what each part counts and how well it explains "
            "the labels, or leave the source out (source=None).",
        )
