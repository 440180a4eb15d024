"""Numbers in their own unit: predictions with their deviations, effects, synthetic outcomes.

A regression is about the place of a number between its public bounds, 0 to 1, on a logarithmic
scale where the outcome has one.
"""

from dataclasses import replace

import numpy as np
from scipy.stats import norm

# Share of outcomes, and of the posterior of R², in their intervals; half of one in deviations.
INTERVAL = 0.8
HALF_WIDTH = float(norm.ppf((1 + INTERVAL) / 2))


def in_units(outcome, places, deviations=None):
    """Return numbers in the unit of an outcome by their places, and deviations if given."""
    # Predictions need not be whole steps.
    column, inside = replace(outcome, step=None), np.clip(places, 0, 1)
    values = column.decode(inside[:, np.newaxis])
    if deviations is None:
        return values
    if not outcome.log:
        return values, deviations * (outcome.high - outcome.low)
    low, high = (in_units(outcome, inside + side * deviations) for side in (-1, 1))
    return values, (high - low) / 2


def predicted_numbers(release, rows, return_std):
    """Return the predicted number of each encoded row, and its standard deviation if asked."""
    outcome, model = release.outcome, release.model
    places = model.places(rows)
    if not return_std:
        return in_units(outcome, places)
    deviations = release.regression.deviation(places, _mean(release))
    return in_units(outcome, places, deviations)


def sampled_numbers(release, rows, random_state):
    """Return numbers that rows may have had, with what their prediction leaves open."""
    places, spread = release.model.places(rows), np.sqrt(release.regression.variance[0])
    places = np.clip(places + spread * random_state.standard_normal(len(rows)), 0, 1)
    return release.outcome.decode(places[:, np.newaxis])


def _mean(release):
    counts = release.statistics.sums.row_counts
    return counts[1] / counts.sum()


def number_lines(release):
    """Return lines of the summary about a number; they are noisy and may be shown."""
    sums = release.statistics.sums
    n = round(float(sums.row_counts.sum()))
    [mean] = in_units(release.outcome, np.array([_mean(release)]))
    r2, low, high = release.regression.r2
    name = "mean" if not release.outcome.log else "mean on the logarithmic scale"
    return [
        f"{release.guarantee.counted} (noisy; may be shown): {n:,}; {name} of the outcome: "
        f"{mean:.4g}",
        f"expected R² on rows like these (0: the mean): {r2:.2f} (80 %: {low:.2f} to {high:.2f})",
    ]


def number_doubt(expected_r2):
    """Return the warning that nothing may be explained, or None."""
    r2, low, high = expected_r2
    if low > 0:
        return None
    return (
        "This release may predict the outcome no better than its mean does: its expected R² "
        f"is {r2:.2f}, and with a probability of 80 % between 0 and {high:.2f}."
    )
