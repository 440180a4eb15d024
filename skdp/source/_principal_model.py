"""The base of models of several passes: location, principal directions, rows in these, confidence.

The confidence in scores learned with noise is measured by a final query. Scores s of the classes
are limited, and replaced by log π + c (s − log π), where π are class frequencies and c is the
confidence. With c = 1 they do not change; with c = 0 every row gets the probabilities π. For a few
values of c, the changes of the rows' Brier scores relative to c = 0 are clipped, summed and
perturbed. A Gaussian process interpolates between these values. The best c is the one with the
largest gain minus one standard deviation of its error. The confidence is this c times the ratio of
the reduced gain to the expected gain.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from skdp.noise import Share
from skdp.release import Subspace, measure_moments, tempered_scores
from skdp.source._integers import (
    GRID,
    ROW,
    ROWS_AT_ONCE,
    WEIGHT_BITS,
    WEIGHT_GRID,
    IntegerMap,
    RowGrid,
    divided,
    integer_weights,
    rescaled,
    row_probabilities,
    squared_norms,
    weighted,
    weighted_roots,
)
from skdp.source._linear_model import StatisticsModel, perturb_sums, shares_of_sums

# Fraction of the rows within the radius; the others, outliers, are clipped to it.
_QUANTILE = 0.95
# Bins for each factor of two: the radius is at most 19% too large, as is its noise.
_BINS_PER_OCTAVE = 4
# Smallest variance relative to the largest, about ten times the precision of float32.
PRECISION = 1e-6

# Values of c whose Brier scores are perturbed.
_TRIED = np.array([0.25, 0.5, 0.75, 1.0])
# A Brier score lies in [0, 2]; its change is clipped to [-1, 1], which halves the noise.
_MOST = 1.0
_LOSS_SENSITIVITY = int(np.ceil(_MOST * np.sqrt(len(_TRIED)) * WEIGHT_GRID))
# Values of c among which the best is searched for.
_PLACES = np.linspace(0.0, 1.0, 101)
# Standard deviations subtracted from the gain of a confidence. On five tables at ε = 1
# the log loss of 1,000 rows is .062 below that of the frequencies with .8, .060 with 1.2, .038
# with 2; of 300 rows .002, .012 and .018 above it, at most .091: by the noise of the frequencies.
_CAUTION = 1.0
# Prior standard deviation of the change of a row's Brier score by c = 1, and the distance in c
# over which changes are alike.
_CHANGE, _SMOOTH = 0.5, 0.5

# Of the budget, for what all these models ask: where rows lie, and how far scores are trusted.
COMMON_FRACTIONS = {
    "rows": 0.005,
    "mean": 0.025,
    "distances": 0.005,
    "counts": 0.01,
    "total": 0.005,
    "contrast": 0.03,
    "lengths": 0.01,
    "losses": 0.02,
}


class PrincipalDirectionsModel(StatisticsModel):
    """Moments about a noisy mean, and the principal directions that follow from them.

    A subclass defines what is learned there.
    """

    n_directions: int
    quantile: float
    # Of the budget, public, of each query.
    fractions: dict

    def grid(self, columns):
        return widest_grid(columns.basis(()))

    def shares(self, outcome, grid):
        n_classes, n_basis = outcome.n_sums, grid.n_basis
        fractions, d = self.fractions, min(self.n_directions, n_basis)
        return {
            "rows": Share(fractions["rows"], 1, ROW),
            "mean": Share(fractions["mean"], n_basis, GRID),
            "distances": Share(fractions["distances"], len(distance_edges()), WEIGHT_GRID),
            **shares_of_sums(fractions, n_classes, n_basis),
            "lengths": Share(fractions["lengths"], len(length_edges(d)), WEIGHT_GRID),
            **self._shares_in_directions(n_classes, d),
            "losses": Share(fractions["losses"], len(_TRIED), _LOSS_SENSITIVITY),
        }

    def learn(self, rows, grid, queries):
        grid = estimate_location(rows, grid, queries)
        statistics = perturb_sums(rows.sums(grid), grid, queries)
        moments = measure_moments(statistics, grid.basis, grid.center)
        subspace = Subspace.of_moments(moments, self.n_directions)
        # Identical rows have no spread; it is at least one step of the grid.
        step = (grid.step / grid.basis.scale).max()
        subspace = replace(subspace, variances=np.maximum(subspace.variances, step**2))
        whitened = WhitenedRows.of(rows, grid, subspace, self.quantile, queries)
        model, score = self._learn(whitened, subspace, moments, queries)
        scored = ((score(codes), *rest) for codes, *rest in whitened.chunks())
        confidence = tempered_confidence(scored, moments.class_counts, queries)
        return replace(model, confidence=np.array([confidence]))

    @abstractmethod
    def _shares_in_directions(self, n_classes, n_directions):
        """Return the shares of the queries of :meth:`_learn`."""

    @abstractmethod
    def _learn(self, whitened, subspace, moments, queries):
        """Return the model that is learned in the principal directions, and its scores.

        The scores are a function of integer codes; each depends on its own row only, to the last
        bit.
        """


def widest_grid(basis):
    """Return a grid about the middle of the bounds, whose radius covers all rows."""
    ends = basis.scale * np.abs(np.stack([basis.low, basis.high]) - basis.center)
    return RowGrid(basis, np.zeros(len(basis.column)), float(np.linalg.norm(ends.max(axis=0))))


def estimate_location(rows, grid, queries):
    """Return a grid about the mean of the rows; spends "rows", "mean" and "distances"."""
    total, count = np.zeros(grid.n_basis, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for Q, _, sizes in rows.chunks(grid):
        firsts, weights = divided(Q, sizes)
        total += firsts.sum(axis=0).astype(np.int64)
        count += weights.sum().astype(np.int64)
    n = max(queries.add("rows", count, ROW)[0] / ROW, 1.0)
    mean = queries.add("mean", total, GRID) * grid.step / n
    mean *= min(1.0, grid.radius / max(np.linalg.norm(mean), grid.radius * 1e-9))
    around = grid.at(mean, 2 * grid.radius)
    edges = distance_edges()
    histogram = np.zeros(len(edges), dtype=np.int64)
    for Q, _, sizes in rows.chunks(around):
        histogram += norm_histogram(squared_norms(Q), integer_weights(sizes, len(Q)), edges)
    radius = noisy_radius(histogram, edges, _QUANTILE, queries, "distances")
    return around.at(mean, radius / GRID * around.radius)


def distance_edges():
    """Return the squared edges of the bins of distances from the mean; public."""
    # From a 64th of the largest possible distance, far below that of real rows.
    return geometric_edges(GRID * (1 / 64), GRID)


@dataclass(frozen=True)
class WhitenedRows:
    """Integer rows t with ‖t‖ ≤ 2¹⁶; t · radius / 2¹⁶ has about unit variances.

    Attributes
    ----------
    codes : ndarray of shape (n_samples, n_directions), dtype int32

    class_indices : ndarray of shape (n_samples,)

    weights : ndarray of shape (n_samples,), dtype int64
        In multiples of 2⁻²⁰.

    radius : float
        Noisy quantile of the norms, in standard deviations of a direction.
    """

    codes: np.ndarray
    class_indices: np.ndarray
    weights: np.ndarray
    radius: float

    @classmethod
    def of(cls, rows, grid, subspace, quantile, queries):
        """Return private rows in the directions of a subspace; spends "lengths"."""
        scaled = subspace.components.T / np.sqrt(subspace.variances)
        offset = grid.to_features(np.zeros(grid.n_basis)) - subspace.mean
        matrix = grid.radius / grid.basis.scale[:, np.newaxis] * scaled
        project = IntegerMap.nearest(matrix, GRID * (offset @ scaled))
        edges = length_edges(len(subspace.variances))
        codes, class_indices, weights = [], [], []
        histogram = np.zeros(len(edges), dtype=np.int64)
        # Rows Q of the grid are whole numbers of steps of radius/2¹⁶, so that Z is in multiples of
        # 2⁻¹⁶ standard deviations; of a person there are ``sizes`` rows.
        for Q, classes, sizes in rows.chunks(grid):
            for block in _slices(len(Q)):
                Z = project(Q[block])
                units = integer_weights(None if sizes is None else sizes[block], len(Z))
                histogram += norm_histogram(squared_norms(Z), units, edges)
                codes.append(Z.astype(np.int32))
                weights.append(units)
            class_indices.append(classes)
        radius = noisy_radius(histogram, edges, quantile, queries, "lengths")
        for Z in codes:
            Z[:] = rescaled(Z.astype(np.float64), radius)
        n_directions = len(subspace.variances)
        return cls(
            np.concatenate([np.zeros((0, n_directions), np.int32), *codes]),
            np.concatenate([np.zeros(0, np.int64), *class_indices]),
            np.concatenate([np.zeros(0, np.int64), *weights]),
            radius / GRID,
        )

    def chunks(self):
        """Yield codes in float64, class indices and weights of some rows."""
        for block in self._slices:
            codes = self.codes[block].astype(np.float64)
            yield codes, self.class_indices[block], self.weights[block]

    @property
    def _slices(self):
        return _slices(len(self.codes))

    def weighted_chunks(self, grid):
        """Yield the same for a descent, whose grid is in units of these rows."""
        return self.chunks()

    def sums(self, groups, n_groups):
        """Return counts and sums of groups of rows, int64, in multiples of 2⁻²⁰ and 2⁻¹⁶."""
        counts = np.zeros(n_groups, dtype=np.int64)
        sums = np.zeros((n_groups, self.codes.shape[1]), dtype=np.int64)
        for block, (codes, _, weights) in zip(self._slices, self.chunks(), strict=True):
            np.add.at(counts, groups[block], weights)
            indicator = (groups[block] == np.arange(n_groups)[:, np.newaxis]).astype(np.float64)
            sums += (indicator @ weighted(codes, weights)).astype(np.int64)
        return counts, sums

    def second_moments(self, groups, n_groups):
        """Return Σ rrᵀ by group, upper triangles by rows, int64, in multiples of 2⁻³².

        r is a row times the root of its weight; ``groups`` has one index for each row.
        """
        d = self.codes.shape[1]
        upper = np.triu_indices(d)
        sums = np.zeros((n_groups, len(upper[0])), dtype=np.int64)
        for block, (codes, _, weights) in zip(self._slices, self.chunks(), strict=True):
            rows = weighted_roots(codes, weights)
            for k in np.unique(groups[block]):
                members = rows[groups[block] == k]
                sums[k] += (members.T @ members)[upper].astype(np.int64)
        return sums


def length_edges(n_directions):
    """Return the squared edges of the bins of the lengths of whitened rows; public."""
    # From a quarter to eight times the norm of a row of unit variances: noise may make variances
    # too large or too small.
    middle = GRID * np.sqrt(n_directions)
    return geometric_edges(0.25 * middle, 8.0 * middle)


def _slices(n):
    return [slice(i, i + ROWS_AT_ONCE) for i in range(0, n, ROWS_AT_ONCE)]


def geometric_edges(low, high):
    """Return public squared edges of bins of norms, integers in float64."""
    steps = int(np.ceil(_BINS_PER_OCTAVE * np.log2(high / low)))
    return np.floor(low**2 * 2.0 ** (2 * np.arange(steps + 1) / _BINS_PER_OCTAVE))


def norm_histogram(squared_norms, weights, edges):
    """Return the weight of the rows in each bin; exact, and one record is in one bin."""
    # A person whose rows are in several bins moves the histogram by less than one whose rows are
    # all in the same.
    bins = np.minimum(np.searchsorted(edges, squared_norms), len(edges) - 1)
    histogram = np.zeros(len(edges), dtype=np.int64)
    np.add.at(histogram, bins, weights)
    return histogram


def noisy_radius(histogram, edges, quantile, queries, name):
    """Return a noisy quantile of the norms of rows; spends the share ``name``."""
    noisy = queries.add(name, histogram, WEIGHT_GRID)
    below = np.cumsum(noisy)
    enough = below >= quantile * below[-1]
    return float(np.sqrt(edges[enough.argmax()]))


def tempered_confidence(blocks, class_counts, queries):
    """Return the confidence of scores; spends the share "losses".

    Parameters
    ----------
    blocks : iterable of tuple
        Scores, class indices and integer weights of some rows, each of its row alone.

    class_counts : ndarray of shape (n_classes,)
        Noisy numbers of rows, public by then.

    queries : GaussianQueries
    """
    classes = np.arange(len(class_counts))
    # With c = 0 the score of a row depends on its class alone.
    frequencies = row_probabilities(
        np.tile(np.log(class_counts / class_counts.sum()), (len(classes), 1))
    )
    by_class = _brier_scores(frequencies, classes)
    sums = np.zeros(len(_TRIED), dtype=np.int64)
    for scores, class_indices, weights in blocks:
        for k, c in enumerate(_TRIED):
            tempered = row_probabilities(tempered_scores(scores, class_counts, c))
            change = _brier_scores(tempered, class_indices) - by_class[class_indices]
            change = np.clip(change, -_MOST * WEIGHT_GRID, _MOST * WEIGHT_GRID)
            change = np.trunc(change * (weights * 2.0**-WEIGHT_BITS))
            sums[k] += change.astype(np.int64).sum()
    noisy = queries.add("losses", sums, _LOSS_SENSITIVITY) / WEIGHT_GRID
    deviation = queries.deviation("losses", _LOSS_SENSITIVITY) / WEIGHT_GRID
    return best_confidence(noisy, deviation, class_counts.sum())


def best_confidence(changes, deviation, n_rows):
    """Return the confidence with the largest cautious gain.

    The change by c has the prior covariance (n_rows/2)² c c' exp(−2 (c − c')²), with no change at
    zero.
    """
    prior = _covariance(_PLACES, _TRIED, n_rows)
    observed = _covariance(_TRIED, _TRIED, n_rows) + deviation**2 * np.eye(len(_TRIED))
    gain = np.linalg.solve(observed, prior.T).T
    variance = _covariance(_PLACES, _PLACES, n_rows).diagonal() - (gain * prior).sum(axis=1)
    expected = gain @ changes
    pessimistic = expected + _CAUTION * np.sqrt(np.maximum(variance, 0.0))
    best = np.argmin(pessimistic)
    if pessimistic[best] >= 0:
        return 0.0
    return float(_PLACES[best] * pessimistic[best] / expected[best])


def _covariance(a, b, n_rows):
    distances = np.subtract.outer(a, b) / _SMOOTH
    return (n_rows * _CHANGE) ** 2 * np.outer(a, b) * np.exp(-(distances**2) / 2)


def _brier_scores(probabilities, class_indices):
    """Return Σ (p_c − [c = y])² in multiples of 2⁻²⁰, whole numbers."""
    residuals = np.rint(probabilities * WEIGHT_GRID)
    residuals[np.arange(len(residuals)), class_indices] -= WEIGHT_GRID
    return np.trunc(squared_norms(residuals) / WEIGHT_GRID)
