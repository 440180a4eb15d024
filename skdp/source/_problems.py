r"""Residuals, starting values and step lengths of gradient descent for each kind of outcome.

The residual r(s) of a row with scores s is

- for classes, :math:`\mathrm{softmax}(s) - e_y`, and for two classes its second entry,
- for a number, s − y, where y is the number rescaled to 0–1,
- for a time, :math:`\min(Λ_0(t) e^s, 3) - δ`, the negative martingale residual.

The residual of a row is bit for bit independent of other rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from skdp.release import (
    MOST_HAZARD,
    NumberBins,
    ScoreBins,
    TableModel,
    TimeCells,
    number_variances,
    pair_frame,
    score_frame,
)
from skdp.source._integers import (
    WEIGHT_BITS,
    row_exponentials,
    row_logistic,
    row_probabilities,
)

# Scale of the residuals of numbers in their standard deviations.
_OF_NUMBERS = 1.2


class Problem(ABC):
    """The loss of the descent for one outcome, from public or noisy values only.

    Attributes
    ----------
    n_rows : float

    start : ndarray of shape (n_scores,)
        Starting values of the intercepts.

    first : ndarray of shape (n_scores, n_functions), or None
        Starting coefficients of the functions in the sums; None for 0.

    scale : float
        Scale of the residuals, at which they are clipped.

    curvature : float
        Expected second derivative of the loss by the scores.

    largest_square : float
        Largest mean square of rows along a direction.

    n_outcomes : int
        Number of outcomes in the table of scores.
    """

    # The length of a step; the number of steps, in units of the signal N μ/√p; the least factor of
    # the norm to which gradients of rows are clipped; and the signal of which each doubling adds
    # an order of cosines. Of the most steps, the problem has this share.
    step_length: ClassVar[float] = 1.0
    steps_per_signal = 0.5
    tightest: ClassVar[float] = 0.7
    base_signal: ClassVar[float] = 80.0
    most_steps: ClassVar[float] = 1.0
    scale, curvature, n_outcomes = 1.0, 1.0, 2
    first: np.ndarray | None = None
    largest_square = 1.0

    def __init__(self, counts, start):
        self.n_rows, self.start = float(counts.sum()), start

    @abstractmethod
    def residuals(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the residuals of rows, of the shape of their scores (n_rows, n_scores)."""

    def bins(self, coefficients, intercepts, variances, deviation):
        """Return public bins of a score, given the standard deviation of the noise in each bin."""
        center, unit = score_frame(coefficients[0], float(intercepts[0]), variances)
        return ScoreBins.of(center, unit, self.n_rows, deviation)

    def cells(self, scores: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of rows to be measured, and their outcomes in the table.

        If a row has several scores, (n_rows, n_measured), it is divided evenly among them.
        """
        return scores, codes[:, np.newaxis]


class TwoClasses(Problem):
    """Log-odds of the second class."""

    def __init__(self, statistics):
        sums, linear = statistics.sums, statistics.linear
        start = np.diff(np.log(sums.row_counts))
        # Halfway between 0 and the coefficients from the sums. In 24 cells that were not used to
        # choose this, log loss is .007 lower than with a start at 0, and AUC .007 higher; for
        # numbers, R² is lower.
        super().__init__(sums.row_counts, (start + np.diff(linear.intercepts)) / 2)
        self.first = np.diff(linear.coefficients, axis=0) / 2
        shares = sums.row_counts / sums.row_counts.sum()
        self.curvature = float(shares.prod())
        # Noise is relatively larger for rare classes than for balanced ones. With half of the
        # steps for balanced classes, the AUC of three rare classes (5 to 9%, ε = 1 and 4) is .006
        # higher.
        self.steps_per_signal = float(np.sqrt(self.curvature))

    def residuals(self, scores, codes):
        """Return the probability of the second class, minus 1 for rows of this class."""
        return row_logistic(scores) - codes[:, np.newaxis]


class SeveralClasses(Problem):
    """A score of each class."""

    # Residuals of several classes are longer. With .7, the log loss of three outcomes of adult is
    # .02 higher at 2,000 and 8,000 rows.
    step_length, n_outcomes, tightest = 3.0, 3, 1.0
    # Of 50,000 digits of MNIST, 91.2 and 92.1% are right at ε = 1 and 4 with half of the steps and
    # with all of them, and occupations of adult .3% more, by one draw: half of the time.
    most_steps = 0.5

    def __init__(self, counts):
        log_odds = np.log(counts)
        super().__init__(counts, log_odds - log_odds.mean())
        shares = counts / counts.sum()
        self.curvature = float((shares * (1 - shares)).mean())

    def residuals(self, scores, codes):
        """Return the probabilities, minus 1 for the row's class."""
        residuals = row_probabilities(scores)
        residuals[np.arange(len(scores)), codes] -= 1
        return residuals

    def bins(self, coefficients, intercepts, variances, deviation):
        """Return bins of the absolute difference of two scores."""
        center, unit = pair_frame(coefficients, variances)
        return ScoreBins.of(center, unit, self.n_rows, deviation, folded=True)

    def cells(self, scores, codes):
        """Return absolute differences between the true class's score and the others, and outcomes.

        The outcome is 0 if the other class scores higher, 1 if a third class scores highest, and 2
        if the true class scores highest.
        """
        n, K = scores.shape
        own = np.take_along_axis(scores, codes[:, np.newaxis], axis=1)
        others = scores[np.arange(K) != codes[:, np.newaxis]].reshape(n, K - 1)
        first = (others <= own).all(axis=1, keepdims=True)
        return np.abs(own - others), np.where(first, 2, np.where(others > own, 0, 1))


class Number(Problem):
    """A number, rescaled to 0–1 between its bounds."""

    step_length, steps_per_signal, base_signal = 0.5, 0.35, 20.0

    def __init__(self, sums, zero=False):
        self._sums, self._zero = sums, zero
        n_rows = sums.row_counts.sum()
        self.mean = float(sums.row_counts[1] / n_rows)
        deviation = np.sqrt(number_variances(sums, n_rows, self.mean)).mean()
        self.scale = min(_OF_NUMBERS * float(deviation), 0.5)
        # Away from the mean, columns of which rows fill a small part between the bounds would
        # learn the difference, and the bins of the score be too wide for its values.
        super().__init__(sums.row_counts, np.array([self.mean]))

    def residuals(self, scores, codes):
        """Return prediction minus rescaled number."""
        return scores - _places(codes)[:, np.newaxis]

    def bins(self, coefficients, intercepts, variances, deviation):
        """Return bins of the prediction between −1 and 1."""
        # In the table, numbers are rescaled to −1 to 1.
        self._numbers = NumberBins.of_sums(self._sums, self._zero, deviation)
        self.n_outcomes = self._numbers.n
        return super().bins(2 * coefficients, 2 * intercepts - 1, variances, deviation)

    def cells(self, scores, codes):
        """Return the prediction, rescaled to −1 to 1, and the bin of the number."""
        predicted = 2 * scores - 1
        return predicted, self._numbers.index(2 * _places(codes)[:, np.newaxis] - 1, predicted)


class Time(Problem):
    """The log-hazard of a time to an event, relative to the log-hazard of all rows."""

    steps_per_signal = 0.25

    def __init__(self, statistics):
        exits, of_sums = statistics.exits, TableModel(statistics)
        regression, hazards = of_sums.regression, of_sums.hazards
        # Halfway, as for two classes: concordance is .015 higher in 15 cells of four tables.
        half = hazards.slope / 2
        super().__init__(
            statistics.sums.row_counts, half * (regression.intercept - hazards.center)
        )
        self.first = half * regression.coefficients[np.newaxis]
        self._exits = exits
        cumulative = np.cumsum(exits.hazards)
        middle = cumulative - exits.hazards / 2
        # With the codes of competing events, which are censored.
        self._hazards = np.concatenate([middle, middle, cumulative[-1:], middle])
        self._events = np.arange(len(self._hazards)) < len(middle)
        self.curvature = float(exits.rows[: len(middle)].sum() / exits.rows.sum())

    def bins(self, coefficients, intercepts, variances, deviation):
        """Return bins of log-hazards."""
        self._cells = TimeCells.of(self._exits, deviation)
        self.n_outcomes = self._cells.n
        return super().bins(coefficients, intercepts, variances, deviation)

    def residuals(self, scores, codes):
        """Return the cumulative hazard of rows up to their exit, minus 1 for an event."""
        expected = self._hazards[codes, np.newaxis] * row_exponentials(scores)
        return np.minimum(expected, MOST_HAZARD) - self._events[codes, np.newaxis]

    def cells(self, scores, codes):
        """Return the log-hazard, and the group of exits."""
        cells = self._cells.cells
        cells = np.append(cells, cells[len(cells) // 2 : -1])  # competing events are censored
        return scores, cells[codes, np.newaxis]


def problem_of(statistics, zero=False):
    """Return the problem of the kind of outcome, from noisy sums."""
    problem = _PROBLEMS[statistics.kind](statistics, zero)
    problem.largest_square = _largest_square(statistics.sums, problem.n_rows)
    return problem


def _largest_square(sums, n_rows):
    """Return the largest eigenvalue of the second moments, estimated from noisy ones.

    Noise makes it larger (Benaych-Georges and Nadakuditi, 2011), or hides it below ``noise``.
    """
    noisy = np.linalg.eigvalsh(sums.second)[-1] / n_rows
    noise = float(np.max(sums.second_sd)) * np.sqrt(len(sums.second) / 2) / n_rows
    return (max(noisy, 2 * noise) + np.sqrt(max(noisy**2 - 4 * noise**2, 0.0))) / 2


def _of_classes(statistics):
    if statistics.sums.counts.shape[1] == 2:
        return TwoClasses(statistics)
    return SeveralClasses(statistics.sums.row_counts)


# From noisy sums, and whether zero is a class of numbers.
_PROBLEMS: dict[str, Callable] = {
    "class": lambda statistics, zero: _of_classes(statistics),
    "number": lambda statistics, zero: Number(statistics.sums, zero),
    "event": lambda statistics, zero: Time(statistics),
}


def _places(codes):
    """Return numbers rescaled to 0–1 between their bounds."""
    return codes * 2.0**-WEIGHT_BITS
