"""The expected accuracy of a release before it is made, from simulated tables of a schema."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.utils import check_random_state

from skdp.displays import PrivacyUtilityDisplay
from skdp.privacy import gaussian_epsilon, gaussian_sigma
from skdp.source._statistics_source import DPStatisticsSource
from skdp.tabular import EventOutcome, NumericColumn, Schema, TabularEncoder, as_schema
from skdp.utils._html import grid
from skdp.utils._survival import concordance_index

# Areas under the ROC curve that are reached with many rows and without noise, by name.
EFFECTS = {"weak": 0.65, "moderate": 0.75, "strong": 0.85}
# The same of R² where the outcome is a number.
R2_EFFECTS = {"weak": 0.1, "moderate": 0.3, "strong": 0.5}
# The same of the concordance where it is a time to an event.
CONCORDANCE_EFFECTS = {"weak": 0.6, "moderate": 0.7, "strong": 0.8}
# Share of rows with an event unless another is given.
_EVENT_SHARE = 0.3
# Largest number of simulated rows; more rows are represented by smaller noise (rule of thumb:
# the sampling error of an AUC of so many is below .01).
_MOST_ROWS = 20_000
# Number of those that bring effects to an AUC (rule of thumb).
_SCALING_ROWS = 5_000


@dataclass(frozen=True)
class ReleasePlan:
    """The expected accuracy of releases of a table, by simulation.

    Attributes
    ----------
    table : DataFrame
        One row for each ``effects``, ``n_rows`` and ``epsilon`` with ``auc``, the mean area under
        the ROC curve of releases on other rows of the same kind, its standard deviation
        ``auc_sd`` over tables and noise, and ``auc_without_noise``; ``mean_error`` and
        ``share_error``, medians of the half widths of 95 % intervals of means (in units of the
        range between the bounds) and of shares, by class. Where the outcome is a number, ``r2``,
        ``r2_sd`` and ``r2_without_noise`` in place of the AUC, and ``concordance`` and so on where
        it is a time to an event; and means and shares of all rows.

    draws : DataFrame
        The same for each simulated release.

    See Also
    --------
    plan_release : Makes one.

    Examples
    --------
    >>> from skdp import plan_release
    >>> schema = {"version": 1, "classes": ["alive", "dead"], "columns": {
    ...     "age": {"type": "numeric", "low": 18, "high": 100}}}
    >>> plan = plan_release(
    ...     schema, 200, epsilon=[0.1, 10.0], effects="strong", n_draws=1, random_state=0
    ... )
    >>> plan.table[["n_rows", "epsilon"]].values.tolist()
    [[200.0, 0.1], [200.0, 10.0]]
    """

    table: pd.DataFrame
    draws: pd.DataFrame

    @property
    def _figure(self):
        """Name of the figure that is planned in the table, and in texts."""
        return next((k.figure, k.name) for k in _WORLDS.values() if k.figure in self.table)

    def epsilon_needed(self, wanted: float) -> pd.Series:
        """Return the smallest ε whose releases are expected to reach an AUC, R² or concordance.

        Parameters
        ----------
        wanted : float
            The AUC; R² where the outcome is a number, the concordance where it is a time.

        Returns
        -------
        epsilon : Series
            By effects and number of rows, interpolated between the planned values on a logarithmic
            scale; infinite where none of them reaches it.

        Examples
        --------
        >>> from skdp import plan_release
        >>> schema = {"version": 1, "classes": ["alive", "dead"], "columns": {
        ...     "age": {"type": "numeric", "low": 18, "high": 100}}}
        >>> plan = plan_release(
        ...     schema, 200, epsilon=[0.1, 10.0], effects="strong", n_draws=1, random_state=0
        ... )
        >>> plan.epsilon_needed(0.99).tolist()
        [inf]
        """
        return self._needed("epsilon", "n_rows", wanted)

    def rows_needed(self, wanted: float) -> pd.Series:
        """Return the smallest number of rows whose releases are expected to reach a figure.

        Parameters
        ----------
        wanted : float
            The AUC; R² where the outcome is a number, the concordance where it is a time.

        Returns
        -------
        n_rows : Series
            By effects and ε, interpolated as by :meth:`epsilon_needed`.
        """
        return self._needed("n_rows", "epsilon", wanted)

    def _needed(self, amount, given, wanted):
        figure, _ = self._figure
        crossings = {
            key: _crossing(part[amount].to_numpy(float), part[figure].to_numpy(), wanted)
            for key, part in self.table.groupby(["effects", given], sort=False)
        }
        names = pd.MultiIndex.from_tuples(crossings, names=["effects", given])
        return pd.Series(list(crossings.values()), index=names, name=amount)

    def summary(self) -> str:
        """Return the plan as text, a line for each number of rows and ε.

        Returns
        -------
        text : str
        """
        figure, name = self._figure
        lines = []
        for (effects, n_rows), part in self.table.groupby(["effects", "n_rows"], sort=False):
            without = part[f"{figure}_without_noise"].iloc[0]
            lines.append(f"{effects}: {name} without noise {without:.2f}, with {n_rows:,} rows")
            lines += [
                f"  epsilon {line['epsilon']:<6g} {name} {line[figure]:.2f} +- "
                f"{line[f'{figure}_sd']:.2f}; means +- {100 * line['mean_error']:.1f} % of the "
                f"range, shares +- {100 * line['share_error']:.1f} %"
                for line in part.to_dict("records")
            ]
        groups = "by class" if figure == "auc" else "of all rows"
        lines += [
            f"{name} +- its standard deviation over simulated tables and noise; means and shares",
            f"{groups} +- half of a 95 % interval (50 %: the release says nothing of them)",
        ]
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Plot the expected AUC, R² or concordance against ε, with one standard deviation.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None

        Returns
        -------
        ax : matplotlib.axes.Axes

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).

        See Also
        --------
        skdp.displays.PrivacyUtilityDisplay : Draws it.
        """
        return PrivacyUtilityDisplay.from_plan(self).plot(ax).ax_

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self):
        rounded = self.table.round(3)
        return grid(list(rounded.columns), rounded.astype(object).to_numpy().tolist())


def _crossing(amounts, areas, wanted):
    """Return where areas first reach the wanted one, between amounts in ascending order."""
    order = np.argsort(amounts)
    amounts, areas = np.log(amounts[order]), np.maximum.accumulate(areas[order])
    if areas[-1] < wanted:
        return inf
    if areas[0] >= wanted:
        return float(np.exp(amounts[0]))
    k = int(np.argmax(areas >= wanted))
    share = (wanted - areas[k - 1]) / (areas[k] - areas[k - 1])
    return float(np.exp(amounts[k - 1] + share * (amounts[k] - amounts[k - 1])))


def plan_release(
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    n_rows: int | Sequence[int] | np.ndarray,
    class_frequencies: ArrayLike | None = None,
    epsilon: float | Sequence[float] | np.ndarray = (0.1, 0.3, 1.0, 3.0, 10.0),
    *,
    delta: float = 1e-5,
    effects: str | float | Mapping[str, float] | Sequence[Any] = ("weak", "moderate", "strong"),
    event_share: float | None = None,
    n_draws: int = 5,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> ReleasePlan:
    r"""Estimate how accurate releases of a table will be, before any budget is spent.

    No private row is read: tables are simulated from the public schema, released as
    :class:`DPStatisticsSource` releases them, and the releases evaluated on further rows.

    Parameters
    ----------
    schema : Schema, mapping, str or path-like
        Of the table, with its classes, or an outcome that is a number or a time to an event.

    n_rows : int or sequence of int
        The approximate number of records, or of people; a public guess.

    class_frequencies : array-like of shape (n_classes,) or None, default=None
        In the order of the schema, a public guess; None: all equal. Of classes only.

    epsilon : float or sequence of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)
        Of the releases to be compared.

    delta : float, default=1e-5
        Of the same releases.

    effects : str, float, mapping, or a sequence, default=("weak", "moderate", "strong")
        How well the columns separate the classes: the AUC that a linear model would reach
        without privacy and with many rows, such as that of published models of the same
        outcome; "weak" is .65, "moderate" .75 and "strong" .85. Or, by names of columns, the
        difference of the last class from the first in standard deviations (Cohen's d), for
        categories that of the normal variable behind them; columns that are not named have none.
        Where the outcome is a number, R² in place of the AUC: "weak" is .1, "moderate" .3 and
        "strong" .5; and differences for one more standard deviation of the outcome. Where it is a
        time to an event, Harrell's concordance: "weak" is .6, "moderate" .7 and "strong" .8; and
        differences for one more standard deviation of the normal variable behind the time, which
        are positive where events are early.

    event_share : float or None, default=None
        Of times only: the share of rows with the event up to the horizon, a public guess. The
        others are simulated to leave evenly up to the horizon. None: .3.

    n_draws : int, default=5
        Number of simulated tables, each with one release for each ε.

    random_state : int, RandomState instance or None, default=None
        Seed of the simulation.

    verbose : int, default=0
        1 prints a line for each simulated table.

    Returns
    -------
    plan : ReleasePlan

    Raises
    ------
    ValueError
        Naming the parameter, its value and the remedy.

    Notes
    -----
    Properties of tables that the schema does not state were chosen on four hospitals. On six other
    tables the planned areas differ from those of releases by .02 on average, and are too low
    more often than too high; see :doc:`/howto/planning`.

    Examples
    --------
    >>> from skdp import plan_release
    >>> schema = {"version": 1, "classes": ["alive", "dead"], "columns": {
    ...     "age": {"type": "numeric", "low": 18, "high": 100}}}
    >>> plan = plan_release(
    ...     schema, 200, epsilon=[0.1, 10.0], effects="strong", n_draws=1, random_state=0
    ... )
    >>> areas = plan.table["auc"]
    >>> bool(areas[0] < areas[1])
    True
    """
    schema = as_schema(schema)
    kind = _WORLDS[type(schema.outcome)]
    figure = kind.figure
    frequencies = _checked_frequencies(schema, class_frequencies)
    share = _checked_share(schema, event_share)
    sizes = _checked_numbers("n_rows", n_rows, Integral, 20, "records, 20 or more")
    levels = _checked_numbers("epsilon", epsilon, Real, 0, "above 0")
    wanted = _checked_effects(schema, effects)
    _checked_numbers("n_draws", n_draws, Integral, 1, "tables, 1 or more")
    random_state = check_random_state(random_state)
    lines = []
    for name, effect in wanted.items():
        for draw in range(n_draws):
            world = kind(schema, frequencies if share is None else share, effect, random_state)
            frame, labels = world.rows(kind.n_test)
            test = TabularEncoder(schema).fit_transform(frame), labels
            for n in sizes:
                rows = world.rows(min(n, _MOST_ROWS))
                made = _releases(schema, rows, n, [*levels, inf], delta, random_state)
                reached = {level: world.judged(release, *test) for level, release in made}
                for level, release in made[:-1]:
                    lines.append(
                        {
                            "effects": name,
                            "n_rows": n,
                            "epsilon": level,
                            figure: reached[level],
                            f"{figure}_without_noise": reached[inf],
                            **_interval_widths(release),
                        }
                    )
            if verbose:
                print(f"plan_release: {name}, table {draw + 1} of {n_draws}")
    draws = pd.DataFrame(lines)
    groups = draws.groupby(["effects", "n_rows", "epsilon"], sort=False)
    table = groups.mean()
    table.insert(1, f"{figure}_sd", groups[figure].std(ddof=min(1, n_draws - 1)))
    return ReleasePlan(table.reset_index(), draws)


@dataclass(frozen=True)
class _Tables:
    """Properties of simulated tables, chosen on four hospitals (benchmarks/bench_planning.py)."""

    # Positions of numbers between their bounds, and their spread, both from and to.
    centers: tuple = (0.2, 0.6)
    spreads: tuple = (0.08, 0.22)
    # Largest loading of a column on the factor that all columns share.
    largest_loading: float = 0.6
    # Effects of the columns, relative to each other, from and to.
    sizes: tuple = (0.1, 1.0)
    # Of the Dirichlet distribution of the shares of categories.
    concentration: float = 1.5
    # Share of missing cells.
    missing: float = 0.05


_TABLES = _Tables()


class _World:
    """Tables of one kind: a public schema, and effects of classes on its columns.

    Behind every column is a normal variable; those of different columns share a common factor.
    Its mean depends on the class; a number is a linear function of it, clipped to the bounds, and
    a category is that of the interval that it falls into.
    """

    figure, name, effects, least = "auc", "AUC", EFFECTS, 0.5
    # Rows that releases are judged on.
    n_test = 10_000

    def __init__(self, schema, frequencies, effect, random_state):
        self._schema, self._frequencies, self._random = schema, frequencies, random_state
        p = len(schema.columns)
        signs = random_state.choice([-1.0, 1.0], p)
        self._loadings = signs * random_state.uniform(0, _TABLES.largest_loading, p)
        self._shapes = [_Shape(column, random_state) for column in schema.columns]
        if isinstance(effect, Mapping):
            distances = np.array([float(effect.get(name, 0.0)) for name in schema.names])
            self._means = self._given_means(distances)
            return
        self._means = self._random_means(random_state.uniform(*_TABLES.sizes, p), signs)
        self._means *= self._scale(effect)

    def _given_means(self, distances):
        return np.linspace(0, 1, len(self._frequencies))[:, np.newaxis] * distances

    def _random_means(self, sizes, signs):
        K, p = len(self._frequencies), len(sizes)
        places = np.array([[-0.5], [0.5]]) * signs
        return sizes * (places if K == 2 else self._random.standard_normal((K, p)))

    def _outcomes(self, n):
        """Return outcomes, and the means of the columns' variables that they bring with them."""
        classes = self._random.choice(len(self._frequencies), n, p=self._frequencies)
        return classes, self._means[classes]

    def _labels(self, outcomes):
        return np.array(self._schema.classes)[outcomes]

    def _linear(self, X, outcomes, test, truth):
        """Return the AUC of a linear model."""
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-3).fit(X, outcomes)
        return _auc(truth, model.predict_proba(test), len(self._frequencies))

    def judged(self, release, rows, labels):
        """Return the AUC of a release on encoded rows."""
        codes = np.searchsorted(release.classes, labels)
        return _auc(codes, release.predict_proba(rows), len(release.classes))

    def _scale(self, wanted):
        """Return what brings effects to a figure of a linear model of many rows, by bisection."""
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


class _NumberWorld(_World):
    """Tables whose outcome is a number: a linear function of a normal variable, clipped."""

    figure, name, effects, least = "r2", "R²", R2_EFFECTS, 0.0

    def __init__(self, schema, frequencies, effect, random_state):
        self._outcome = _Shape(schema.outcome, random_state)
        super().__init__(schema, frequencies, effect, random_state)

    def _given_means(self, distances):
        return distances

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
        return r2_score(*places)


class _EventWorld(_NumberWorld):
    """Tables whose outcome is a time: exponential, early where a normal variable is large.

    Rows leave without the event evenly up to the horizon.
    """

    figure, name, effects, least = "concordance", "concordance", CONCORDANCE_EFFECTS, 0.5
    # Pairs of them are compared.
    n_test = 3_000

    def __init__(self, schema, share, effect, random_state):
        # In units of the horizon, of a time of rate r comes first 1 − (1 − e^−r) / r.
        self._rate = brentq(lambda r: 1 + np.expm1(-r) / r - share, 1e-6, 1e6)
        _World.__init__(self, schema, None, effect, random_state)

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
        return release.score(rows, labels)


# By the type of the outcome.
_WORLDS = {type(None): _World, NumericColumn: _NumberWorld, EventOutcome: _EventWorld}


class _Shape:
    """How a column follows from the normal variable behind it."""

    def __init__(self, column, random_state):
        self.column = column
        self._numeric = isinstance(column, NumericColumn)
        if self._numeric:
            self._center = random_state.uniform(*_TABLES.centers)
            self._spread = random_state.uniform(*_TABLES.spreads)
            return
        k = len(column.categories)
        shares = random_state.dirichlet(np.full(k, _TABLES.concentration))
        self._cuts = ndtri(np.clip(np.cumsum(shares)[:-1], 1e-6, 1 - 1e-6))
        self._order = np.arange(k) if column.ordered else random_state.permutation(k)

    def numbers(self, places):
        """Return numbers for a linear model, of shape (n_samples, n_numbers)."""
        if self._numeric:
            return np.clip(self._center + self._spread * places, 0, 1)[:, np.newaxis]
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


def _releases(schema, rows, n_rows, levels, delta, random_state):
    """Return each ε with a release of the rows, whose noise is that of a number of rows."""
    made, accumulator = [], None
    for level in levels:
        source = DPStatisticsSource(
            _level_of(level, delta, n_rows / len(rows[0])),
            delta,
            encoder=schema,
            model="linear",  # whose effects are what is simulated
            random_state=random_state.randint(2**31),
        )
        with warnings.catch_warnings(action="ignore"):  # they are for owners of private rows
            if accumulator is None:
                accumulator = source.accumulator()
                accumulator.add(*rows)
            made.append((level, source.fit_accumulated(accumulator).release_))
    return made


def _level_of(epsilon, delta, times):
    """Return ε of noise that is so many times smaller."""
    if times == 1 or epsilon == inf:
        return epsilon
    return gaussian_epsilon(gaussian_sigma(epsilon, delta) / times, delta)


def _auc(codes, probabilities, n_classes):
    """Return the area under the ROC curve; of several classes, the mean of one against others."""
    present = np.unique(codes)
    if n_classes == 2:
        return roc_auc_score(codes, probabilities[:, 1])
    return np.mean([roc_auc_score(codes == c, probabilities[:, c]) for c in present])


def _interval_widths(release):
    """Return median half widths of the intervals of means and shares by class, or of all rows."""
    table = release.describe_columns()
    table = table[table["class"].isna() if release.outcome else table["class"].notna()]
    columns = {column.name: column for column in release.encoder.columns}
    means, shares = [], []
    for line in table.itertuples(index=False):
        if line.statistic.startswith("share"):
            shares.append((line.high - line.low) / 2)
        elif line.statistic.endswith("mean"):
            low, high = columns[line.column].positions([line.low, line.high])
            means.append((high - low) / 2)
    return {
        "mean_error": np.median(means) if means else np.nan,
        "share_error": np.median(shares) if shares else np.nan,
    }


def _checked_frequencies(schema, given):
    if schema.outcome is not None:
        if given is not None:
            raise ValueError(
                "The 'class_frequencies' parameter of plan_release is for classes, and the "
                "outcome of the schema is a number, or a time. Leave it out."
            )
        return None
    if schema.classes is None:
        raise ValueError(
            "The 'schema' parameter of plan_release lists no classes. Add them, as "
            "\"classes\": ['alive', 'dead'], or an outcome that is a number or a time."
        )
    K = len(schema.classes)
    if given is None:
        return np.full(K, 1 / K)
    try:
        frequencies = np.asarray(given, dtype=float)
        proper = frequencies.shape == (K,) and (frequencies > 0).all()
        proper = proper and abs(frequencies.sum() - 1) < 1e-6
    except (TypeError, ValueError):
        proper = False
    if not proper:
        raise ValueError(
            f"The 'class_frequencies' parameter of plan_release is {given!r:.100}. Pass {K} "
            f"positive shares that add up to 1, in the order of {list(schema.classes)!r:.100}."
        )
    return frequencies / frequencies.sum()


def _checked_share(schema, given):
    """Return the share of rows with the event, None where the outcome is no time."""
    if not isinstance(schema.outcome, EventOutcome):
        if given is not None:
            raise ValueError(
                "The 'event_share' parameter of plan_release is for outcomes that are a time to "
                "an event. Leave it out."
            )
        return None
    share = _EVENT_SHARE if given is None else given
    if not isinstance(share, Real) or not 0.001 <= float(share) <= 0.999:
        raise ValueError(
            f"The 'event_share' parameter of plan_release is {given!r:.100}. Pass the share of "
            "rows with the event, such as 0.3."
        )
    return float(share)


def _checked_numbers(name, given, kind, least, what):
    """Return a sequence of numbers; of whole ones, none below the least, of others, all above."""
    numbers = [given] if isinstance(given, kind) else given
    try:
        numbers = list(numbers)
        proper = bool(numbers) and all(
            isinstance(x, kind)
            and not isinstance(x, bool)
            and isfinite(x)
            and (x > least or (x == least and kind is Integral))
            for x in numbers
        )
    except TypeError:
        proper = False
    if not proper:
        raise ValueError(
            f"The {name!r} parameter of plan_release is {given!r:.100}. Pass a number, or a list "
            f"of numbers, {what}."
        )
    return numbers


def _checked_effects(schema, given):
    """Return what effects are to be, by name: a figure, or differences by column."""
    kind = _WORLDS[type(schema.outcome)]
    figure, least, named = kind.name, kind.least, kind.effects
    several = isinstance(given, list | tuple)
    effects: dict = {}
    for effect in given if several else [given]:
        if isinstance(effect, Mapping):
            unknown = [name for name in effect if name not in schema.names]
            if unknown or not all(isinstance(d, Real) and isfinite(d) for d in effect.values()):
                raise ValueError(
                    f"The 'effects' parameter of plan_release is {effect!r:.200}. Give finite "
                    f"numbers by names of columns, of {list(schema.names)!r:.200}."
                )
            effects[f"given {len(effects) + 1}" if several else "given"] = dict(effect)
        elif isinstance(effect, str) and effect in named:
            effects[effect] = named[effect]
        elif isinstance(effect, Real) and least < float(effect) < 1:
            effects[f"{figure} {effect:g}"] = float(effect)
        else:
            raise ValueError(
                f"The 'effects' parameter of plan_release is {effect!r:.100}. Use 'weak', "
                f"'moderate' or 'strong', a number between {least:g} and 1 ({figure}), or a "
                "mapping of columns to differences of the classes in standard deviations."
            )
    if not effects:
        raise ValueError("The 'effects' parameter of plan_release is empty. Leave it out.")
    return effects
