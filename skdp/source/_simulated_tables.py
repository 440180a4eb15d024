"""Tables simulated from a public schema, with effects of a wanted strength."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from skdp.tabular import NumericColumn
from skdp.utils._survival import concordance_index

# Number of rows that bring effects to an AUC, within .01.
_SCALING_ROWS = 5_000


@dataclass(frozen=True)
class _Tables:
    """Properties of simulated tables, chosen on four hospitals (benchmarks/bench_owners.py)."""

    # Positions of numbers between their bounds, and their spread, both from and to.
    centers: tuple = (0.2, 0.6)
    spreads: tuple = (0.15, 0.3)
    # Largest loading of a column on the factor that all columns share.
    largest_loading: float = 0.6
    # Effects of the columns, relative to each other, from and to.
    sizes: tuple = (0.1, 1.0)
    # Of the Dirichlet distribution of the shares of categories.
    concentration: float = 1.5
    # Share of missing cells.
    missing: float = 0.05


_TABLES = _Tables()


class ClassTables:
    """Tables of one kind: a public schema, and effects of classes on its columns.

    Each column is a function of a latent normal variable whose mean depends on the class; these
    variables share a common factor. A number is a linear function of its variable, clipped to the
    bounds. A category corresponds to an interval of its variable.
    """

    figure, name, least = "auc", "AUC", 0.5
    # Areas under the ROC curve that are reached with many rows and without noise, by name.
    effects = {"weak": 0.65, "moderate": 0.75, "strong": 0.85}
    # What is known without a release, and the parameter of a plan that says it.
    known, spread = "the class frequencies alone", "class_prior"
    # Number of rows that releases are evaluated on.
    n_test = 10_000

    def __init__(self, schema, spread, effect, random_state):
        self._schema, self._random = schema, random_state
        self._set_spread(spread)
        p = len(schema.columns)
        signs = random_state.choice([-1.0, 1.0], p)
        self._loadings = signs * random_state.uniform(0, _TABLES.largest_loading, p)
        self._shapes = [_Shape(column, random_state) for column in schema.columns]
        # Columns that have much in common with the others separate the classes most, as in
        # hospitals.
        sizes = random_state.uniform(*_TABLES.sizes, p) * np.abs(self._loadings)
        self._means = self._random_means(sizes / sizes.max(), signs)
        self._means *= self._scale(effect)

    @staticmethod
    def wanted(schema):
        """Return a description of the spread, for errors."""
        return (
            f"{len(schema.classes)} positive shares that add up to 1, by label or in the order of "
            f"{list(schema.classes)!r:.100}"
        )

    @staticmethod
    def checked_spread(schema, given):
        """Return class frequencies; None, or any error, if they are invalid."""
        K = len(schema.classes)
        if isinstance(given, Mapping) and len(given) == K:
            given = [given[label] for label in schema.classes]
        frequencies = np.asarray(given, dtype=float)
        proper = frequencies.shape == (K,) and (frequencies > 0).all()
        total = frequencies.sum()
        return frequencies / total if proper and abs(total - 1) < 1e-6 else None

    def _set_spread(self, frequencies):
        self._frequencies = frequencies

    def _random_means(self, sizes, signs):
        K, p = len(self._frequencies), len(sizes)
        places = np.array([[-0.5], [0.5]]) * signs
        return sizes * (places if K == 2 else self._random.standard_normal((K, p)))

    def _outcomes(self, n):
        """Return outcomes, and the means of the latent variables given the outcomes."""
        classes = self._random.choice(len(self._frequencies), n, p=self._frequencies)
        return classes, self._means[classes]

    def _labels(self, outcomes):
        return np.array(self._schema.classes)[outcomes]

    def _linear(self, X, outcomes, test, truth):
        """Return the AUC of a linear model."""
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-3).fit(X, outcomes)
        return _auc(truth, model.predict_proba(test), len(self._frequencies))

    def judged(self, release, rows, labels):
        """Return the AUC and log loss of a release on encoded rows, and that of frequencies."""
        codes, p = np.searchsorted(release.classes, labels), release.predict_proba(rows)
        return {
            "auc": _auc(codes, p, len(release.classes)),
            "log_loss": log_loss(codes, p, labels=range(p.shape[1])),
            "base_log_loss": float(-self._frequencies @ np.log(self._frequencies)),
        }

    def _scale(self, wanted):
        """Return the factor of effects with which a linear model reaches the wanted value."""
        outcomes, means = self._outcomes(_SCALING_ROWS)
        noise = self._noise(_SCALING_ROWS)
        half, low, high = _SCALING_ROWS // 2, 0.0, 20.0
        for _ in range(12):
            scale = (low + high) / 2
            places = noise + scale * means
            X = np.column_stack(
                [s.numbers(x) for s, x in zip(self._shapes, places.T, strict=True)]
            )
            reached = self._linear(X[:half], outcomes[:half], X[half:], outcomes[half:])
            low, high = (scale, high) if reached < wanted else (low, scale)
        return (low + high) / 2

    def _noise(self, n):
        common = self._random.standard_normal((n, 1)) * self._loadings
        specific = self._random.standard_normal((n, len(self._loadings)))
        return common + np.sqrt(1 - self._loadings**2) * specific

    def rows(self, n):
        """Return a simulated table and its labels."""
        outcomes, means = self._outcomes(n)
        places = self._noise(n) + means
        cells = {
            shape.column.name: shape.cells(x, self._random)
            for shape, x in zip(self._shapes, places.T, strict=True)
        }
        return pd.DataFrame(cells), self._labels(outcomes)


class NumberTables(ClassTables):
    """Tables whose outcome is a number: a linear function of a normal variable, clipped."""

    figure, name, least = "r2", "R²", 0.0
    effects = {"weak": 0.1, "moderate": 0.3, "strong": 0.5}
    known, spread = "the mean alone", "outcome_interval"

    @staticmethod
    def wanted(schema):
        """Return a description of the spread, for errors."""
        low, high = schema.outcome.low, schema.outcome.high
        zeros = (
            " (if most are 0, plan a schema of the amounts above 0, and one of the classes 0 and "
            "above 0)"
            if low == 0
            else ""
        )
        return (
            f"two numbers from {low:g} to {high:g} between which two thirds of outcomes lie{zeros}"
        )

    @staticmethod
    def checked_spread(schema, given):
        """Return two numbers in ascending order, within the bounds of the outcome."""
        low, high = map(float, given)
        proper = schema.outcome.low <= low < high <= schema.outcome.high
        return np.array([low, high]) if proper else None

    def _set_spread(self, interval):
        self._outcome = _Shape(self._schema.outcome.scale, self._random)
        low, high = self._schema.outcome.positions(interval)
        self._outcome.center, self._outcome.spread = (low + high) / 2, (high - low) / 2

    def _random_means(self, sizes, signs):
        return sizes * signs

    def _outcomes(self, n):
        normal = self._random.standard_normal(n)
        return self._outcome.numbers(normal)[:, 0], normal[:, np.newaxis] * self._means

    def _labels(self, outcomes):
        return self._schema.outcome.decode(outcomes[:, np.newaxis])

    def _linear(self, X, outcomes, test, truth):
        """Return R² of a linear model."""
        return r2_score(truth, LinearRegression().fit(X, outcomes).predict(test))

    def judged(self, release, rows, labels):
        """Return R² of a release on encoded rows, on the scale of the outcome."""
        places = (self._schema.outcome.positions(y) for y in (labels, release.predict(rows)))
        return {"r2": r2_score(*places)}


class TimeTables(NumberTables):
    """Tables whose outcome is a time: exponential, early where a normal variable is large.

    Rows leave without the event evenly up to the horizon.
    """

    figure, name, least = "concordance", "concordance", 0.5
    effects = {"weak": 0.6, "moderate": 0.7, "strong": 0.8}
    known, spread = "no model", "event_share"
    # Pairs of them are compared.
    n_test = 3_000

    @staticmethod
    def wanted(schema):
        """Return a description of the spread, for errors."""
        return "the share of rows with the event, such as 0.3"

    @staticmethod
    def checked_spread(schema, given):
        """Return the share of rows with the event."""
        return float(given) if isinstance(given, Real) and 0.001 <= float(given) <= 0.999 else None

    def _set_spread(self, share):
        # In units of the horizon, of a time of rate r comes first 1 − (1 − e^−r) / r.
        self._rate = brentq(lambda r: 1 + np.expm1(-r) / r - share, 1e-6, 1e6)

    def _outcomes(self, n):
        normal = self._random.standard_normal(n)
        times, left = -log_ndtr(normal) / self._rate, self._random.random_sample(n)
        y = np.zeros(n, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = times <= left, np.minimum(times, left)
        return y, normal[:, np.newaxis] * self._means

    def _labels(self, outcomes):
        labels = outcomes.copy()
        labels["time"] *= self._schema.outcome.horizon
        return labels

    def _linear(self, X, outcomes, test, truth):
        """Return the concordance of a linear model of residuals, whose hazard is known."""
        residuals = outcomes["event"] - self._rate * outcomes["time"]
        risks = LinearRegression().fit(X, residuals).predict(test)
        return concordance_index(truth["event"], truth["time"], risks)

    def judged(self, release, rows, labels):
        """Return the concordance of a release on encoded rows."""
        return {"concordance": release.score(rows, labels)}


# By the kind of the outcome.
KINDS = {"class": ClassTables, "number": NumberTables, "event": TimeTables}


class _Shape:
    """The function from a latent normal variable to a column."""

    def __init__(self, column, random_state):
        self.column = column
        self._numeric = isinstance(column, NumericColumn)
        if self._numeric:
            self.center = random_state.uniform(*_TABLES.centers)
            self.spread = random_state.uniform(*_TABLES.spreads)
            return
        k = len(column.categories)
        shares = random_state.dirichlet(np.full(k, _TABLES.concentration))
        self._cuts = ndtri(np.clip(np.cumsum(shares)[:-1], 1e-6, 1 - 1e-6))
        self._order = np.arange(k) if column.ordered else random_state.permutation(k)

    def numbers(self, places):
        """Return numbers for a linear model, of shape (n_samples, n_numbers)."""
        if self._numeric:
            return np.clip(self.center + self.spread * places, 0, 1)[:, np.newaxis]
        codes = self._codes(places)
        if self.column.ordered or len(self._order) == 2:
            return codes[:, np.newaxis].astype(float)
        return np.eye(len(self._order))[codes]

    def cells(self, places, random_state):
        """Return cells of a table, some of them missing where the schema allows it."""
        if self._numeric:
            values = self.column.decode(
                np.column_stack([self.numbers(places), np.zeros(len(places))])
            ).astype(object)
        else:
            values = np.array(self.column.categories, dtype=object)[self._codes(places)]
        if self.column.missing:
            values[random_state.random_sample(len(values)) < _TABLES.missing] = None
        return values

    def _codes(self, places):
        return self._order[np.searchsorted(self._cuts, places)]


def _auc(codes, probabilities, n_classes):
    """Return the area under the ROC curve; of several classes, the mean of one against others."""
    present = np.unique(codes)
    if n_classes == 2:
        return roc_auc_score(codes, probabilities[:, 1])
    return np.mean([roc_auc_score(codes == c, probabilities[:, c]) for c in present])
