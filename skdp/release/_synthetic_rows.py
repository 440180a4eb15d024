"""Synthetic rows from noisy sums: marginals joined by a Gaussian copula, labels by the release.

Each column is a function of a latent normal variable. A number is a quantile of the maximum
entropy distribution with the column's means of basis functions. A category corresponds to an
interval of the variable whose probability is the category's share. Values are missing at random
with their share. The correlations of the latent variables reproduce the noisy second moments of
the columns, shrunk towards zero according to their noise.

Labels are drawn by the probabilities that the release predicts for the rows. If rows were drawn by
class, noise and the copula would create differences between classes that real rows do not have,
and a flexible learner would learn them.
"""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri
from scipy.stats import norm
from sklearn.utils import check_random_state

from skdp.release._basis import PLACES
from skdp.release._columns import column_names
from skdp.release._posterior import shrunk_correlations
from skdp.release._unclipped import clipping_by_class, numeric_functions
from skdp.tabular import fitted_encoder

# Smallest share of a category, used if noise makes a share negative.
_LEAST_SHARE = 1e-4
# Smallest variance or length by which something is divided.
_LEAST_VARIANCE = 1e-6
# Largest correlation of two columns: rows of larger ones would hardly differ.
_LARGEST = 0.95
# Number of rows drawn to measure the effect of clipping on second moments, and of rounds
# (measured: with three rounds the error of correlations of 20,000 rows is at most .03).
_SIMULATED, _ROUNDS = 4000, 3
# Quantiles of the normal distribution at which columns are correlated with it.
_NORMAL = ndtri(PLACES)


def drawn_rows(release, n, random_state, as_frame):
    """Return synthetic rows and outcomes, see ``Release.sample``."""
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(
            f"The 'n_samples' parameter of Release.sample must be a whole number >= 1, got {n!r}."
        )
    rows, outcomes = release.model.sample(n, release, check_random_state(random_state))
    rows = rows.astype(release.dtype)
    if as_frame and release.encoder is not None:
        rows = fitted_encoder(release.encoder).inverse_transform(rows)
    elif as_frame:
        rows = pd.DataFrame(rows, columns=column_names(release))
    return rows, outcomes


@dataclass(frozen=True)
class _Column:
    """A column of the table, as a function of a latent normal variable: one of two values.

    Attributes
    ----------
    numbers : list of int
        Indices of its encoded columns, without that of missing values.

    missing : list of int
        Index of the indicator of missing values, if there is one.

    means : ndarray of shape (n_features,)
        Means of all encoded columns.
    """

    numbers: list
    missing: list
    means: np.ndarray

    def fill(self, rows, z, random_state):
        """Write the values of the column into encoded rows, from its latent normal variable."""
        rows[:, self.numbers[0]] = self._values(z, random_state)
        for place in self.missing:
            missing = random_state.random_sample(len(z)) < self.means[place]
            rows[missing, self.numbers[0]] = 0.5
            rows[:, place] = missing

    def _values(self, z, random_state):
        """Return the values of rows that lack none."""
        missing = self._missing_share
        share = np.clip((self.means[self.numbers[0]] - missing / 2) / (1 - missing), 0, 1)
        return z > ndtri(1 - share)

    def scores(self):
        """Return weights that score the column by its encoded columns, and a correlation.

        The correlation is between the score and the latent normal variable.
        """
        share = np.clip(self.means[self.numbers[0]], 0.01, 0.99)
        correlation = norm.pdf(ndtri(share)) / np.sqrt(share * (1 - share))
        return 1.0, correlation * self._attenuation((share < PLACES).astype(float))

    @property
    def _missing_share(self):
        return np.clip(self.means[self.missing].sum(), 0, 0.99)

    def _attenuation(self, values):
        """Return the attenuation of a correlation by missing values in the middle."""
        if not self.missing:
            return 1.0
        missing, variance = self._missing_share, values.var()
        shown = (1 - missing) * (variance + missing * (values.mean() - 0.5) ** 2)
        return (1 - missing) * np.sqrt(variance / max(shown, _LEAST_VARIANCE))


@dataclass(frozen=True)
class _NumericColumn(_Column):
    """A number: a quantile of a distribution over values."""

    values: np.ndarray
    probabilities: np.ndarray

    def _values(self, z, random_state):
        cumulative = np.cumsum(self.probabilities)
        places = np.searchsorted(cumulative, cumulative[-1] * ndtr(z))
        chosen = self.values[np.minimum(places, len(self.values) - 1)]
        if self.values is PLACES:  # anywhere between the places
            return chosen + (random_state.random_sample(len(z)) - 0.5) / len(PLACES)
        return chosen

    def scores(self):
        p = self.probabilities
        places = np.searchsorted(np.cumsum(p) / p.sum(), PLACES)
        u = self.values[np.minimum(places, len(self.values) - 1)]
        if np.ptp(u) == 0:
            return 1.0, 1.0
        return 1.0, np.corrcoef(u, _NORMAL)[0, 1] * self._attenuation(u)


@dataclass(frozen=True)
class _CategoryColumn(_Column):
    """One of several categories, in the order of the latent normal variable."""

    @property
    def _shares(self):
        return np.maximum(self.means[self.numbers], _LEAST_SHARE)

    def fill(self, rows, z, random_state):
        shares = self._shares
        cuts = ndtri(np.cumsum(shares)[:-1] / shares.sum())
        chosen = np.array(self.numbers)[np.searchsorted(cuts, z)]
        rows[np.arange(len(rows)), chosen] = 1.0

    def scores(self):
        shares = self._shares
        shares /= shares.sum()
        edges = np.concatenate([[0.0], norm.pdf(ndtri(np.cumsum(shares)[:-1])), [0.0]])
        # The mean of the normal variable in each interval.
        values = -np.diff(edges) / shares
        return values, np.sqrt(max(shares @ values**2, _LEAST_VARIANCE))


class SyntheticRows:
    """Sampler of encoded rows of a release of noisy sums.

    Parameters
    ----------
    statistics : Statistics

    schema : Schema or None
    """

    def __init__(self, statistics, schema):
        basis = statistics.basis
        linear = basis.linear
        clipping = clipping_by_class(statistics, schema)
        sums = statistics.sums
        n_rows = sums.row_counts.sum()
        self._low, self._width = basis.low[linear], (basis.high - basis.low)[linear]
        means = _believed(sums.row_counts @ clipping.means / n_rows, sums, basis)
        # Means of the encoded columns between their bounds.
        center = (basis.center[linear] - self._low) / self._width
        encoded_means = center + means[linear] / (basis.scale[linear] * self._width)
        covariance = sums.second / (n_rows * clipping.square_factors.mean())
        covariance -= np.outer(means, means)
        scale = basis.scale[linear] * self._width
        self._linear, self._scale = linear, scale
        covariance = covariance[np.ix_(linear, linear)] / np.outer(scale, scale)
        self._noise = sums.second_sd / n_rows / scale**2
        distributions = {
            first: (functions.values, functions.distributions(means[np.newaxis])[0][0])
            for first, functions in numeric_functions(basis, schema).items()
        }
        self._columns = list(_columns(schema, encoded_means, distributions, covariance))
        self._root = np.eye(len(self._columns))
        self._fit_correlations(statistics)

    def draw(self, n_samples, random_state):
        """Return encoded rows, ndarray of shape (n_samples, n_features)."""
        normal = random_state.standard_normal((n_samples, len(self._columns))) @ self._root.T
        rows = np.zeros((n_samples, len(self._low)))
        for column, z in zip(self._columns, normal.T, strict=True):
            column.fill(rows, z, random_state)
        return self._low + self._width * rows

    def _fit_correlations(self, statistics):
        """Find correlations with which clipped rows have the second moments of the sums.

        The effect of clipping is measured on sampled and clipped rows.
        """
        scores, attenuation = self._scores()
        sums = statistics.sums
        n_rows = sums.row_counts.sum()
        wanted = self._covariance(sums.second / n_rows, sums.total.sum(axis=0) / n_rows, scores)
        noise = scores**2 @ self._noise
        correlations = np.zeros_like(wanted)
        for _ in range(_ROUNDS):
            Z = statistics.basis.encode(self.draw(_SIMULATED, check_random_state(0)))
            lengths = np.sqrt((Z**2).sum(axis=1))
            Z *= np.minimum(1.0, sums.radius / np.maximum(lengths, _LEAST_VARIANCE))[:, np.newaxis]
            drawn = self._covariance(Z.T @ Z / _SIMULATED, Z.mean(axis=0), scores)
            # Correlations, because variances differ a little; noisy small variances are left out.
            variances = np.maximum(drawn.diagonal(), _LEAST_VARIANCE)
            wanted_variances = np.maximum(wanted.diagonal(), variances / 2)
            change = wanted / np.sqrt(np.outer(wanted_variances, wanted_variances))
            change -= drawn / np.sqrt(np.outer(variances, variances))
            correlations += change / np.outer(attenuation, attenuation)
            # Noise of entries off the diagonal: half the geometric mean of those on it, squared.
            errors = noise / (wanted_variances * attenuation**2)
            believed, _ = shrunk_correlations(
                correlations, np.ones(len(noise)), np.outer(errors, errors) / 2, _LARGEST
            )
            unit = 1 / np.sqrt(believed.diagonal())
            self._root = np.linalg.cholesky(believed * np.outer(unit, unit))

    def _covariance(self, second, mean, scores):
        """Return the covariance of the columns' scores, by moments of clipped rows."""
        covariance = second - np.outer(mean, mean)
        linear = covariance[np.ix_(self._linear, self._linear)]
        return scores @ (linear / np.outer(self._scale, self._scale)) @ scores.T

    def _scores(self):
        """Return the weights of encoded columns in the score of each column, and correlations."""
        scores = np.zeros((len(self._columns), len(self._low)))
        attenuation = np.ones(len(self._columns))
        for k, column in enumerate(self._columns):
            scores[k, column.numbers], attenuation[k] = column.scores()
        return scores, attenuation


def _believed(means, sums, basis):
    """Return means, shrunk towards the middle of the bounds by their noise."""
    noise = (np.linalg.norm(sums.total_sd) / sums.row_counts.sum()) ** 2
    return means * basis.variances / (basis.variances + noise)


def _columns(schema, means, distributions, covariance):
    """Yield the columns of a table, or of an array."""
    blocks: list[tuple[list, list, bool]] = [([j], [], False) for j in range(len(means))]
    if schema is not None:
        blocks = [
            (list(range(block.start, block.stop)), [], True)
            if column.is_one_hot
            else ([block.start], [block.start + 1] * column.missing, False)
            for column, block in zip(schema.columns, schema.encoded_slices, strict=True)
        ]
    for numbers, missing, is_one_hot in blocks:
        if is_one_hot:
            yield _CategoryColumn(_ordered(numbers, covariance), missing, means)
        elif numbers[0] in distributions:
            yield _NumericColumn(numbers, missing, means, *distributions[numbers[0]])
        else:
            yield _Column(numbers, missing, means)


def _ordered(numbers, covariance):
    """Return categories in the order with the highest correlation with other columns."""
    others = np.delete(np.arange(len(covariance)), numbers)
    if not len(others):
        return numbers
    shares = np.maximum(covariance[numbers, numbers], _LEAST_VARIANCE)
    unit = 1 / np.sqrt(np.maximum(covariance[others, others], _LEAST_VARIANCE))
    left, _, _ = np.linalg.svd(covariance[np.ix_(numbers, others)] * unit, full_matrices=False)
    return np.array(numbers)[np.argsort(left[:, 0] / shares)].tolist()
