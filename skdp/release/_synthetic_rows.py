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
from skdp.release._unclipped import NumericFunctions, clipping_by_class, numeric_functions
from skdp.tabular import fitted_encoder

# Smallest share of a category, used if noise makes a share negative.
_LEAST_SHARE = 1e-4
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
    """A column of the table, as a function of a latent normal variable.

    Attributes
    ----------
    numbers : list of int
        Indices of its encoded columns: a number, ranks, one of two values, or indicators of
        categories.

    missing : int or None
        Index of the indicator of missing values; for categories, one of ``numbers``.

    functions : NumericFunctions or None
        Basis functions of a numeric column.

    order : ndarray of int
        Of the categories along the normal variable.
    """

    numbers: list
    missing: int | None
    functions: NumericFunctions | None
    order: np.ndarray


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
        self._means = center + means[linear] / (basis.scale[linear] * self._width)
        covariance = sums.second / (n_rows * clipping.square_factors.mean())
        covariance -= np.outer(means, means)
        scale = basis.scale[linear] * self._width
        self._linear, self._scale = linear, scale
        covariance = covariance[np.ix_(linear, linear)] / np.outer(scale, scale)
        self._noise = sums.second_sd / n_rows / scale**2
        functions = numeric_functions(basis, schema)
        self._columns = list(_columns(schema, functions, len(linear), covariance))
        self._distributions = {
            id(column): column.functions.distributions(means[np.newaxis])[0][0]
            for column in self._columns
            if column.functions is not None
        }
        self._root = np.eye(len(self._columns))
        self._fit_correlations(statistics)

    def draw(self, n_samples, random_state):
        """Return encoded rows, ndarray of shape (n_samples, n_features)."""
        normal = random_state.standard_normal((n_samples, len(self._columns))) @ self._root.T
        rows = np.zeros((n_samples, len(self._low)))
        for column, z in zip(self._columns, normal.T, strict=True):
            self._fill(rows, column, z, random_state)
        return self._low + self._width * rows

    def _fill(self, rows, column, z, random_state):
        """Write the values of a column from its latent normal variable."""
        means, first = self._means, column.numbers[0]
        if column.functions is not None:
            cumulative = np.cumsum(self._distributions[id(column)])
            values = column.functions.values
            place = np.searchsorted(cumulative, cumulative[-1] * ndtr(z))
            rows[:, first] = values[np.minimum(place, len(values) - 1)]
            if values is PLACES:  # anywhere between the places
                rows[:, first] += (random_state.random_sample(len(z)) - 0.5) / len(PLACES)
        elif len(column.numbers) == 1:
            missing = 0.0 if column.missing is None else np.clip(means[column.missing], 0, 0.99)
            share = np.clip((means[first] - missing / 2) / (1 - missing), 0, 1)
            rows[:, first] = z > ndtri(1 - share)
        else:
            shares = np.maximum(means[column.numbers], _LEAST_SHARE)[column.order]
            cuts = ndtri(np.cumsum(shares)[:-1] / shares.sum())
            chosen = np.array(column.numbers)[column.order][np.searchsorted(cuts, z)]
            rows[np.arange(len(rows)), chosen] = 1.0
            return
        if column.missing is not None:
            missing = random_state.random_sample(len(z)) < means[column.missing]
            rows[missing, first] = 0.5
            rows[:, column.missing] = missing

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
        """Return weights that score each column by its encoded columns, and correlations.

        The correlations are between the scores and the latent normal variables.
        """
        scores = np.zeros((len(self._columns), len(self._low)))
        attenuation = np.ones(len(self._columns))
        for k, column in enumerate(self._columns):
            if column.functions is not None:
                scores[k, column.numbers[0]] = 1.0
                p = self._distributions[id(column)]
                values = column.functions.values
                place = np.searchsorted(np.cumsum(p) / p.sum(), PLACES)
                u = values[np.minimum(place, len(values) - 1)]
                if np.ptp(u) > 0:
                    attenuation[k] = np.corrcoef(u, _NORMAL)[0, 1] * self._attenuation(column, u)
            elif len(column.numbers) == 1:
                scores[k, column.numbers[0]] = 1.0
                share = np.clip(self._means[column.numbers[0]], 0.01, 0.99)
                attenuation[k] = norm.pdf(ndtri(share)) / np.sqrt(share * (1 - share))
                attenuation[k] *= self._attenuation(column, (share < PLACES).astype(float))
            else:
                order = np.array(column.numbers)[column.order]
                shares = np.maximum(self._means[order], _LEAST_SHARE)
                shares /= shares.sum()
                edges = np.concatenate([[0.0], norm.pdf(ndtri(np.cumsum(shares)[:-1])), [0.0]])
                # The mean of the normal variable in each interval.
                values = -np.diff(edges) / shares
                scores[k, order] = values
                attenuation[k] = np.sqrt(max(shares @ values**2, _LEAST_VARIANCE))
        return scores, attenuation

    def _attenuation(self, column, values):
        """Return the attenuation of a correlation by missing values in the middle."""
        if column.missing is None:
            return 1.0
        missing = np.clip(self._means[column.missing], 0, 0.99)
        variance = values.var()
        shown = (1 - missing) * (variance + missing * (values.mean() - 0.5) ** 2)
        return (1 - missing) * np.sqrt(variance / max(shown, _LEAST_VARIANCE))


def _believed(means, sums, basis):
    """Return means, shrunk towards the middle of the bounds by their noise."""
    noise = (np.linalg.norm(sums.total_sd) / sums.row_counts.sum()) ** 2
    return means * basis.variances / (basis.variances + noise)


def _columns(schema, functions, n_features, covariance):
    """Yield the columns of a table, or of an array."""
    if schema is None:
        for j in range(n_features):
            yield _Column([j], None, functions.get(j), np.zeros(1, dtype=int))
        return
    for column, block in zip(schema.columns, schema.encoded_slices, strict=True):
        numbers = list(range(block.start, block.stop))
        if column.is_one_hot:
            yield _Column(numbers, None, None, _order(numbers, covariance))
        else:
            missing = numbers[1] if column.missing else None
            order = np.zeros(1, dtype=int)
            yield _Column(numbers[:1], missing, functions.get(numbers[0]), order)


def _order(numbers, covariance):
    """Return the order of categories with the highest correlation with other columns."""
    others = np.delete(np.arange(len(covariance)), numbers)
    if not len(others):
        return np.arange(len(numbers))
    shares = np.maximum(covariance[numbers, numbers], _LEAST_VARIANCE)
    unit = 1 / np.sqrt(np.maximum(covariance[others, others], _LEAST_VARIANCE))
    left, _, _ = np.linalg.svd(covariance[np.ix_(numbers, others)] * unit, full_matrices=False)
    return np.argsort(left[:, 0] / shares)
