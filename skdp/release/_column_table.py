"""Tables of the columns of a release: means and shares by class, and effects on scores."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from skdp.release._basis import regression
from skdp.release._columns import (
    UnboundedColumn,
    column_names,
    encoded_rows,
    public_columns,
    public_scales,
)
from skdp.release._unclipped import clipping_by_class, numeric_functions
from skdp.tabular import (
    CategoryColumn,
    NumericColumn,
    Schema,
    bounded_columns,
    explain_prediction,
)
from skdp.utils._frames import one_row
from skdp.utils._linalg import NEGLIGIBLE

# Index of the number of rows, which is the last of the sums of a group.
_COUNT = -1
# Name of missing values where the schema does not use it.
_MISSING = "missing"
# Smallest variance within classes, in units of the squared range, for comparison with noise.
_LEAST_VARIANCE = 1e-6
# Variance of the logarithm of a variance by maximum entropy about the true one, of all classes
# and of a class beyond that (measured on seven tables: 20% and 10%).
_MODEL_ERROR = 0.04
_CLASS_ERROR = 0.01
# Number of places between its bounds at which a numeric column is evaluated.
_N_PLACES = 33


@dataclass(frozen=True)
class _Group:
    """Rows of one class, or all: sums of their encoded columns u, and the errors of these.

    Errors of different columns are independent, except for the effect of the noisy count.

    Attributes
    ----------
    label : object
        Label of the class; None for all rows.

    center : ndarray of shape (n_features,)

    sums, noise : ndarray of shape (n_features + 1,)
        Σ(u − center) and the number of rows, and variances of the noise in these.

    systematic_variance : ndarray of shape (n_features + 1,)
        Variances of systematic errors of the mean.

    spreads : dict of int to tuple
        For each numeric column: variance of its nonmissing values, and variance of the logarithm
        of this estimate.
    """

    label: object
    center: np.ndarray
    sums: np.ndarray
    noise: np.ndarray
    systematic_variance: np.ndarray
    spreads: dict

    def total(self, column):
        """Return the weights w with Σu = Σ w[k] · sums[k], for u of a column."""
        return {column: 1.0, _COUNT: float(self.center[column])}

    def interval(self, numerator, denominator, confidence, *, variance=None):
        """Return a ratio of sums, and the bounds of its interval (Fieller, 1954)."""
        # It contains the ratios r at which numerator − r · denominator is near zero, relative to
        # its standard deviation from noise and sampling.
        quantile = norm.isf((1 - confidence) / 2) ** 2
        top, bottom = self.value(numerator), self.value(denominator)
        # Powers of r in (numerator − r · denominator)² − quantile · variance.
        square = np.array([top * top, -2 * top * bottom, bottom * bottom])
        for key in {*numerator, *denominator}:
            a, b = numerator.get(key, 0.0), denominator.get(key, 0.0)
            square -= quantile * self.noise[key] * np.array([a * a, -2 * a * b, b * b])
            if a:
                moved = a * self.sums[_COUNT]
                square[0] -= quantile * self.systematic_variance[key] * moved**2
        rows = max(bottom, 0.0)
        if variance is None:
            square -= quantile * rows * np.array([0.0, 1.0, -1.0])
        else:
            square[0] -= quantile * rows * variance
        value = top / bottom if bottom > 0 else np.nan
        low, high = _roots(square)
        return value, low, high

    def value(self, coefficients):
        """Return a weighted sum of sums."""
        return sum(weight * self.sums[key] for key, weight in coefficients.items())


def _roots(powers):
    """Return where c + b r + a r² ≤ 0; everything where this is no interval."""
    c, b, a = powers
    discriminant = b * b - 4 * a * c
    if a <= 0 or discriminant < 0:
        return -np.inf, np.inf
    root = np.sqrt(discriminant)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def describe_columns(release, confidence=0.95):
    """Return means, deviations and shares of each column by class, see the method of Release."""
    if not 0 < confidence < 1:
        raise ValueError(
            "The 'confidence' parameter of Release.describe_columns must be a number between 0 "
            f"and 1, got {confidence!r}. 0.95 is usual."
        )
    has_statistics = release.statistics is not None
    groups = _groups_of_sums(release) if has_statistics else _groups_of_moments(release)
    quantile = norm.isf((1 - confidence) / 2)
    lines = []
    for group in groups:
        half = quantile * np.sqrt(group.noise[_COUNT]) if has_statistics else np.nan
        ends = np.maximum(group.sums[_COUNT] + np.array([0.0, -half, half]), 0.0)
        lines.append((None, "rows", group.label, *ends.tolist()))
    ratios = release.model.prediction.ratios(public_scales(release)[1], confidence)
    for column, block in public_columns(release):
        numbers = list(range(block.start, block.stop))
        for group in groups:
            for statistic, *interval in _statistics(group, numbers, column, confidence, ratios):
                lines.append((column.name, statistic, group.label, *interval))
    names = ("column", "statistic", "class", "value", "low", "high")
    # As objects: None would convert labels that are whole numbers to floats.
    frame = pd.DataFrame(lines, columns=pd.Index(names, dtype=object), dtype=object)
    return frame.astype(dict.fromkeys(names[3:], float))


def _groups_of_sums(release):
    """Return the rows of each class, and all of them, by noisy sums."""
    statistics = release.statistics
    sums, basis = statistics.sums, statistics.basis
    clipping = clipping_by_class(statistics, release.encoder)
    counts, count_sd = sums.pooled_counts
    frequencies = sums.row_counts / sums.row_counts.sum()
    K, clipped, noise = len(counts), sums.class_sums, sums.class_sum_noise
    mean = frequencies @ clipping.means
    factor = frequencies @ clipping.factors
    shift = frequencies @ (clipping.factors[:, np.newaxis] * clipping.means + clipping.shifts)
    # Of each class, and of all rows.
    weights = np.vstack([np.eye(K), frequencies])
    counts = np.append(counts, counts.sum())
    factors = np.append(clipping.factors, factor)
    shifts = np.vstack([clipping.shifts, shift - factor * mean])
    noise = np.append(noise, (sums.total_sd**2).sum()) / factors**2
    clipped = np.vstack([clipped, sums.total.sum(axis=0)])
    unclipped = (clipped - counts[:, np.newaxis] * shifts) / factors[:, np.newaxis]
    systematic_variance = weights @ clipping.systematic_variance
    labels, linear = [*release.outcome.groups, None], basis.linear
    low, width = public_scales(release)
    units = basis.scale[linear] * width
    center = (basis.center[linear] - low) / width
    spreads = _spreads(release, clipping, weights, counts, noise, systematic_variance)
    # The pseudo-classes of a number are not groups of rows.
    first = K + 1 - len(labels)
    return [
        _Group(
            label=labels[g - first],
            center=center,
            sums=np.append(unclipped[g, linear] / units, counts[g]),
            noise=np.append(noise[g] / units**2, count_sd**2 * (1 if g < K else K)),
            systematic_variance=np.append(systematic_variance[g, linear] / units**2, 0.0),
            spreads=spreads[g],
        )
        for g in range(first, K + 1)
    ]


def _spreads(release, clipping, weights, counts, noise, systematic_variance):
    """Return of each group, by numeric column, the variance of values and of its logarithm."""
    # Distributions of the values are those of maximum entropy that have the means of their basis
    # functions. Their variance within classes is then moved towards that of the noisy second
    # moment, depending on its noise.
    statistics, means = release.statistics, clipping.means
    spreads: list[dict] = [{} for _ in counts]
    rows = np.maximum(counts, 1.0)
    for number, f in numeric_functions(statistics.basis, release.encoder).items():
        p, missing = f.distributions(means)
        present = weights * (1 - missing)
        groups = (present @ p) / present.sum(axis=1, keepdims=True)
        deviations = _squares(f.values, groups)
        variances = np.maximum((groups * deviations).sum(axis=1), NEGLIGIBLE)
        square = groups[-1] @ f.table[:, 0] ** 2
        measured, error = _measured_square(statistics, clipping, f.places[0], present[-1].sum())
        # The part of the mean square that is no variance follows from the means.
        scale = (f.table[-1, 0] - f.table[0, 0]) / (f.values[-1] - f.values[0])
        within = present[-1] / present[-1].sum() @ (p * _squares(f.values, p)).sum(axis=1)
        within = max(within, _LEAST_VARIANCE) * scale**2
        change = (measured - square) / within
        error = (error / within) ** 2
        reliability = _MODEL_ERROR / (_MODEL_ERROR + error)
        factor = np.exp(reliability * np.log(max(1 + change, 0.1)))
        for g, of_group in enumerate(groups):
            slopes = regression(f.table, deviations[g], of_group)
            n = rows[g] * present[g].sum()
            nearest = f.table @ slopes
            sampling = (of_group @ nearest**2 - (of_group @ nearest) ** 2) / n
            sampling += slopes**2 @ (noise[g] / n**2 + systematic_variance[g, f.places])
            systematic = reliability * error + _CLASS_ERROR
            spreads[g][number] = (
                variances[g] * factor,
                sampling / variances[g] ** 2 + systematic,
            )
    return spreads


def _squares(values, p):
    """Return the squared deviations of values from the mean of each distribution over them."""
    return (values - (p @ values)[:, np.newaxis]) ** 2


def _measured_square(statistics, clipping, place, present_share):
    """Return the mean square of a linear function of nonmissing values, and its noise."""
    sums = statistics.sums
    divisor = sums.row_counts.sum() * clipping.square_factors[place] * present_share
    return sums.second[place, place] / divisor, sums.second_sd / divisor


def _diagonals(moments):
    """Return the variances of the columns by covariance, (n_covariances, n_features)."""
    return np.array([np.diag(moments.covariance(k)) for k in range(len(moments.covariances))])


def _groups_of_moments(release):
    """Return the rows of each class by moments; all rows only where means are equally certain."""
    moments = release.moments
    low, width = public_scales(release)
    variances = np.maximum(_diagonals(moments) / width**2, NEGLIGIBLE)
    variances = np.broadcast_to(variances, (release.outcome.n_sums, len(width)))
    spread_noise = np.broadcast_to(moments.covariance_noise / width**4, variances.shape)
    mean_noise = moments.mean_noise / width**2
    center = (moments.means - low) / width
    groups = []
    for c, label in enumerate(release.outcome.groups):
        n, size = moments.class_counts[c], moments.effective_sizes[c]
        noise = moments.noise / width**2
        noisy = variances[c] + noise
        # Additional variance due to the noise of rows and labels.
        sampling = np.maximum(noisy / size - variances[c] / n, 0.0)
        # With normal values and Laplace noise of variance v, whose excess kurtosis is 3, a noisy
        # value of variance s has the fourth moment 3 s² + 3 v², and its square the variance
        # 2 s² + 3 v². Optimal noise is much like Laplace noise.
        squares = 2 * noisy**2 + 3 * noise**2
        spread = (spread_noise[c] + squares / size) / variances[c] ** 2
        groups.append(
            _Group(
                label=label,
                center=center[c],
                sums=np.append(np.zeros(len(width)), n),
                noise=np.append((mean_noise[c] + sampling) * n**2, 0.0),
                systematic_variance=np.zeros(len(width) + 1),
                spreads=dict(enumerate(zip(variances[c], spread, strict=True))),
            )
        )
    return groups


def _statistics(group, numbers, column, confidence, ratios):
    """Yield name, value and interval of each statistic of a column in a group.

    For times, this includes the hazard ratios of categories.
    """
    first, everyone, missing = numbers[0], {_COUNT: 1.0}, {}
    if column.missing:
        missing = group.total(numbers[-1])
    present = _difference(everyone, missing)
    totals: dict = {}
    if isinstance(column, CategoryColumn) and column.is_one_hot:
        totals = dict(zip(column.categories, map(group.total, numbers), strict=False))
    elif isinstance(column, CategoryColumn) and len(column.categories) == 2:
        top, (other, one) = _present_total(group, first, missing), column.categories
        totals = {other: _difference(present, top), one: top}
    for category, total in totals.items():
        yield _share(f"share of {category}", group, total, present, confidence)
    for name, of_category in ratios.items():
        for category, total in totals.items():
            yield f"{name} of {category}", *of_category(total, group.value(total))
    if not totals:
        yield from _numeric(group, first, missing, present, column, confidence)
    if missing:
        yield _share(_MISSING, group, missing, everyone, confidence)


def _difference(these, those, weight=1.0):
    """Return the difference of two sums' coefficients, the second times a weight."""
    return {key: these.get(key, 0.0) - weight * those.get(key, 0.0) for key in these | those}


def _present_total(group, number, missing):
    """Return Σu of the nonmissing values; missing ones count 1/2 each."""
    return _difference(group.total(number), missing, 0.5)


def _share(name, group, top, bottom, confidence):
    value, low, high = group.interval(top, bottom, confidence)
    return name, *np.clip([value, low, high], 0.0, 1.0).tolist()


def _numeric(group, number, missing, present, column, confidence):
    """Yield the mean of a numeric column or of ranks, and its standard deviation."""
    top = _present_total(group, number, missing)
    variance, log_variance = group.spreads[number]
    mean = group.interval(top, present, confidence, variance=variance)
    decode, scale, names = _units(column)
    yield names[0], *map(decode, mean)
    half = norm.isf((1 - confidence) / 2) / 2 * np.sqrt(min(log_variance, 100.0))
    yield names[1], *map(scale, np.sqrt(variance) * np.exp([0.0, -half, half]))


def _units(column):
    """Return functions from values and lengths on the scale of u to a column's units, and names.

    No distribution between the bounds has a deviation above 1/2.
    """
    if isinstance(column, UnboundedColumn):
        return float, float, ("mean", "deviation")
    if isinstance(column, CategoryColumn):
        steps = len(column.categories) - 1
        return (
            lambda u: 1 + steps * float(np.clip(u, 0, 1)),
            lambda d: steps * min(float(d), 0.5),
            ("mean rank", "deviation of ranks"),
        )
    plain = NumericColumn(column.name, column.low, column.high, log=column.log)

    def decode(u):
        return float(plain.decode(np.array([[u]]))[0]) if not np.isnan(u) else float("nan")

    if not column.log:
        return (
            decode,
            lambda d: min(float(d), 0.5) * (column.high - column.low),
            ("mean", "deviation"),
        )
    names = ("geometric mean", "geometric deviation")
    if column.low > 0:
        ratio = column.high / column.low
    else:  # of x + 1% of the upper bound, which is what the scale is the logarithm of
        ratio, names = 101.0, ("shifted geometric mean", "shifted geometric deviation")
    return decode, lambda d: float(ratio ** min(float(d), 0.5)), names


def column_effects(release, positive=None):
    """Return the contribution of each value to the log-odds, see ``Release.effects``."""
    prediction = release.model.prediction
    sign = prediction.contrast(release, positive)
    lines: list = []
    for name, start, labels, blocks in _values(release):
        rows = np.zeros((len(blocks), release.n_features))
        rows[:, start : start + blocks.shape[1]] = blocks
        effect = prediction.terms(release, rows) @ sign
        lines += zip([name] * len(labels), labels, effect - effect.mean(), strict=True)
    return pd.DataFrame(lines, columns=["column", "value", "effect"])


def explained_row(release, x):
    """Return the explanation of the prediction of one row, see ``Release.explain``."""
    row = encoded_rows(release, one_row(x))[0].astype(np.float64)
    schema, (low, width) = release.encoder, public_scales(release)
    if schema is None:
        bounds = np.array([[0.0], [1.0]]) if release.bounds is None else release.bounds
        columns = bounded_columns(column_names(release), bounds, row)
        schema = Schema(columns)
        low = np.array([column.low for column in columns])
        width = np.array([column.high for column in columns]) - low
    row = (row - low) / width

    def unscaled(rows):
        return low + rows * width

    predict, facts = release.model.prediction.explanation(release, unscaled(row))
    return explain_prediction(lambda rows: predict(unscaled(rows)), row, schema=schema, **facts)


def _values(release):
    """Yield name, first encoded column, values and their encoded blocks, of each column."""
    low, width = public_scales(release)
    for column, block in public_columns(release):
        if isinstance(column, NumericColumn):
            blocks = np.zeros((_N_PLACES, block.stop - block.start))
            blocks[:, 0] = np.linspace(0, 1, _N_PLACES)
            # In steps there are fewer values than places.
            values = np.unique(column.decode(blocks)).tolist()
            blocks = np.asarray(column.encode(pd.Series(values, dtype=object)))
        else:
            values = list(column.categories)
            blocks = column.encode(pd.Series(values, dtype=object))
        if column.missing:
            values.append(None)
            blocks = np.vstack([blocks, column.encode(pd.Series([None], dtype=object))])
        blocks = low[block] + np.asarray(blocks, dtype=np.float64) * width[block]
        yield column.name, block.start, values, blocks
