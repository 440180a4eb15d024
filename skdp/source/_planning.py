"""Planning: the expected accuracy of a release, from tables simulated from a schema."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Integral, Real
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import t as student
from sklearn.utils import check_random_state

from skdp.displays import PrivacyUtilityDisplay
from skdp.privacy import gaussian_epsilon, gaussian_sigma
from skdp.release import Release
from skdp.source._simulated_tables import KINDS
from skdp.source._statistics_source import DPStatisticsSource
from skdp.tabular import Schema, TabularEncoder, as_schema
from skdp.utils._frames import text_width
from skdp.utils._html import grid

# Largest number of simulated rows; less noise represents more rows (the sampling
# error of an AUC is then below .01).
_MOST_ROWS = 20_000
# Added to the standard deviation of draws, so that equal draws have a chance too.
_LEAST_SD = 1e-6


@dataclass(frozen=True)
class ReleasePlan:
    """The expected accuracy of releases of a table, by simulation.

    Attributes
    ----------
    table : DataFrame
        One row for each ``effects``, ``n_rows`` and ``epsilon``, with

        - ``auc``, the mean AUC of releases on new rows; its standard deviation ``auc_sd`` over
          tables and noise; and ``auc_without_noise``;
        - ``log_loss``, and ``base_log_loss`` of the class frequencies alone;
        - ``mean_error`` and ``share_error``, the median half widths of 95% intervals of means (in
          units of the range between the bounds) and of shares, by class.

        If the outcome is a number, ``r2``, ``r2_sd`` and ``r2_without_noise`` replace AUC and log
        loss; if it is a time to an event, ``concordance`` and so on. Means and shares are then for
        all rows.

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
    ...     schema, 200, [0.7, 0.3], [0.1, 10.0], effects="strong", n_draws=1, random_state=0
    ... )
    >>> plan.table[["n_rows", "epsilon"]].values.tolist()
    [[200.0, 0.1], [200.0, 10.0]]
    """

    table: pd.DataFrame
    draws: pd.DataFrame

    @property
    def _kind(self):
        """The kind of tables, which determines the planned measure."""
        return next(kind for kind in KINDS.values() if kind.figure in self.table)

    def epsilon_needed(self, wanted: float) -> pd.Series:
        """Return the smallest ε whose releases are expected to reach an AUC, R² or concordance.

        Parameters
        ----------
        wanted : float
            The AUC; R² where the outcome is a number, the concordance where it is a time.

        Returns
        -------
        epsilon : Series
            By effects (how strongly columns predict) and number of rows, interpolated between the
            planned values on a logarithmic scale. Infinite where none of them reaches it; the
            smallest planned value where that one suffices.

        Examples
        --------
        >>> from skdp import plan_release
        >>> schema = {"version": 1, "classes": ["alive", "dead"], "columns": {
        ...     "age": {"type": "numeric", "low": 18, "high": 100}}}
        >>> plan = plan_release(
        ...     schema, 200, [0.7, 0.3], [0.1, 10.0], effects="strong", n_draws=1, random_state=0
        ... )
        >>> plan.epsilon_needed(0.99).tolist()
        [inf]
        """
        return self._needed("epsilon", "n_rows", wanted)

    def rows_needed(self, wanted: float) -> pd.Series:
        """Return the smallest number of rows whose releases are expected to reach a value.

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

    def chance(self, wanted: float) -> pd.Series:
        """Return the chance that one release reaches an AUC, R² or concordance.

        Parameters
        ----------
        wanted : float
            The AUC; R² where the outcome is a number, the concordance where it is a time.

        Returns
        -------
        chance : Series
            By effects, number of rows and ε: the probability that a new draw exceeds the wanted
            value, if ``draws`` are normally distributed (Student's t). Missing with fewer than two
            draws.
        """
        groups = self.draws.groupby(["effects", "n_rows", "epsilon"], sort=False)
        groups = groups[self._kind.figure]
        n, sd = groups.size(), groups.std() + _LEAST_SD
        away = (wanted - groups.mean()) / (sd * np.sqrt(1 + 1 / n))
        return pd.Series(student.sf(away, n - 1), index=away.index, name="chance")

    @property
    def is_worth_it(self) -> pd.Series:
        """Whether a release is expected to predict better than a constant.

        For classes, the log loss is below the log loss of the class frequencies; for a number, R²
        is above 0; for a time, the concordance is above one half. One value for each line of
        ``table``.
        """
        if "log_loss" in self.table:
            return self.table["log_loss"] < self.table["base_log_loss"]
        return self.table[self._kind.figure] > self._kind.least

    def _needed(self, amount, given, wanted):
        figure = self._kind.figure
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
        figure, name = self._kind.figure, self._kind.name
        table, lines = self.table.assign(worth=self.is_worth_it), []
        for (effects, n_rows), part in table.groupby(["effects", "n_rows"], sort=False):
            without = part[f"{figure}_without_noise"].iloc[0]
            assumed = effects if effects[-1].isdigit() else f"{effects} effects"
            lines.append(
                f"assuming {assumed}: with {n_rows:,} rows and no noise, {name} {without:.2f}"
            )
            if "log_loss" in part:
                base = part["base_log_loss"].iloc[0]
                lines[-1] += f"; log loss of the frequencies alone {base:.3f}"
            lines += [_line(line, self._kind) for line in part.to_dict("records")]
        groups = "by class" if figure == "auc" else "of all rows"
        legend = (
            f"{name} +- its standard deviation over simulated tables and noise; means of columns "
            f"(in % of their range) and shares of categories {groups} +- half of a 95% interval, "
            "where 50% says nothing"
        )
        return "\n".join(lines + wrap(legend, text_width(80)))

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


def _line(line, kind):
    """Return the text of a line of the table."""
    parts = [f"  epsilon {line['epsilon']:<4g} {kind.name} {line[kind.figure]:.2f}"]
    parts[0] += f" +- {line[f'{kind.figure}_sd']:.2f}"
    if "log_loss" in line:
        parts.append(f"log loss {line['log_loss']:.3f}")
    for what in ("mean", "share"):
        if isfinite(line[f"{what}_error"]):
            error = 100 * line[f"{what}_error"]
            parts.append(f"{what}s +- {error:.{int(error < 9.95)}f}%")
    no_worth = f"\n    not worth it: no better than {kind.known}"
    return "  ".join(parts) + ("" if line["worth"] else no_worth)


def _crossing(amounts, figures, wanted):
    """Return the interpolated amount at which figures first reach the wanted one."""
    order = np.argsort(amounts)
    amounts, figures = np.log(amounts[order]), np.maximum.accumulate(figures[order])
    if figures[-1] < wanted:
        return inf
    if figures[0] >= wanted:
        return float(np.exp(amounts[0]))
    k = int(np.argmax(figures >= wanted))
    share = (wanted - figures[k - 1]) / (figures[k] - figures[k - 1])
    return float(np.exp(amounts[k - 1] + share * (amounts[k] - amounts[k - 1])))


def plan_release(
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    n_rows: int | Sequence[int] | np.ndarray,
    class_prior: ArrayLike | Mapping[Any, float] | None = None,
    epsilon: float | Sequence[float] | np.ndarray = (0.1, 0.3, 1.0, 3.0, 10.0),
    *,
    delta: float = 1e-5,
    effects: str | float | Sequence[Any] = ("weak", "moderate", "strong"),
    outcome_interval: tuple[float, float] | None = None,
    event_share: float | None = None,
    model: str = "auto",
    n_owners: int = 1,
    n_draws: int = 5,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> ReleasePlan:
    r"""Estimate how accurate releases of a table will be, before any budget is spent.

    No private row is read: tables are simulated from the public schema, released by
    :class:`DPStatisticsSource`, and the releases are evaluated on further simulated rows.

    Parameters
    ----------
    schema : Schema, mapping, str or path-like
        The public schema of the table, with its classes or outcome.

    n_rows : int or sequence of int
        The approximate number of records, or of people, of each owner; a public guess.

    class_prior : array-like of shape (n_classes,), mapping or None, default=None
        A public guess of the class frequencies, in the order of the schema or by label. Required
        if the outcome is a class; the accuracy of a release depends on it.

    epsilon : float or sequence of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)
        Values of ε to compare.

    delta : float, default=1e-5
        Slack δ of each release.

    effects : str, float, or a sequence, default=("weak", "moderate", "strong")
        How well the columns predict the outcome: the AUC that a linear model would reach without
        privacy and with many rows, for example in published models of the same outcome. "weak" is
        0.65, "moderate" 0.75 and "strong" 0.85. For a number, give R²: "weak" is 0.1, "moderate"
        0.3 and "strong" 0.5. For a time to an event, give Harrell's concordance: "weak" is 0.6,
        "moderate" 0.7 and "strong" 0.8.

    outcome_interval : pair of float or None, default=None
        Required for a number: a public guess of two numbers that contain about two thirds of the
        outcomes. If the bounds are much wider, noise is large. If most outcomes are zero, plan the
        others alone, with their number of rows and their interval, and as two classes whether an
        outcome is zero.

    event_share : float or None, default=None
        Required for a time: a public guess of the share of rows with the event up to the horizon.
        The other rows are simulated with uniform censoring times.

    model : {"auto", "linear", "gradients", "mixtures", "logistic"}, default="auto"
        The released model, see :class:`DPStatisticsSource`. "linear" is planned fastest, as all ε
        share their sums. Simulated effects are linear.

    n_owners : int, default=1
        Number of owners, each with ``n_rows`` rows, whose releases are merged.

    n_draws : int, default=5
        Number of simulated tables, each with one release for each ε.

    random_state : int, RandomState instance or None, default=None
        Seed of the simulation.

    verbose : int, default=0
        Above 0, prints a line for each simulated table.

    Returns
    -------
    plan : ReleasePlan

    Raises
    ------
    ValueError
        Naming the parameter, its value and the remedy.

    Notes
    -----
    Properties of tables that the schema does not state were chosen on data of four hospitals.
    :doc:`/benchmarks/owners` compares plans with releases of ten other tables.

    Examples
    --------
    >>> from skdp import plan_release
    >>> schema = {"version": 1, "classes": ["alive", "dead"], "columns": {
    ...     "age": {"type": "numeric", "low": 18, "high": 100}}}
    >>> plan = plan_release(
    ...     schema, 200, {"alive": 0.7, "dead": 0.3}, [0.1, 10.0], effects="strong",
    ...     n_draws=2, random_state=0
    ... )
    >>> areas = plan.table["auc"]
    >>> bool(areas[0] < areas[1])
    True
    >>> plan.is_worth_it.tolist()
    [False, True]
    """
    schema = as_schema(schema)
    kind = KINDS[schema.outcome.kind]
    guesses = {"class_prior": class_prior, "outcome_interval": outcome_interval}
    spread = _checked_spread(kind, schema, guesses | {"event_share": event_share})
    sizes = _checked_numbers("n_rows", n_rows, Integral, 20, "records, 20 or more")
    levels = _checked_numbers("epsilon", epsilon, Real, 0, "above 0")
    wanted = _checked_effects(kind, effects)
    _checked_numbers("n_draws", n_draws, Integral, 1, "tables, 1 or more")
    _checked_numbers("n_owners", n_owners, Integral, 1, "owners, 1 or more")
    random_state = check_random_state(random_state)
    source = {"encoder": schema, "delta": delta, "model": model, "random_state": random_state}
    figure, lines = kind.figure, []
    for name, effect in wanted.items():
        for draw in range(n_draws):
            world = kind(schema, spread, effect, random_state)
            frame, labels = world.rows(kind.n_test)
            test = TabularEncoder(schema).fit_transform(frame), labels
            for n in sizes:
                made = _merged_releases(world, n, [*levels, inf], n_owners, **source)
                *reached, exact = (world.judged(release, *test) for release in made)
                for level, release, figures in zip(levels, made, reached, strict=False):
                    lines.append(
                        {
                            "effects": name,
                            "n_rows": n,
                            "epsilon": level,
                            **figures,
                            f"{figure}_without_noise": exact[figure],
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


def _merged_releases(world, n_rows, levels, n_owners, **source):
    """Return a release for each ε, of one owner or merged of several."""
    size = min(n_rows, _MOST_ROWS)
    with warnings.catch_warnings(action="ignore"):  # warnings are for owners of private rows
        owners = [_releases(world.rows(size), n_rows, levels, **source) for _ in range(n_owners)]
        if n_owners == 1:
            return owners[0]
        return [Release.merge(list(made), disjoint=True) for made in zip(*owners, strict=True)]


def _releases(rows, n_rows, levels, random_state, delta, **settings):
    """Return a release of the rows for each ε, with noise as for a given number of rows."""
    made, accumulator = [], None
    for level in levels:
        level = _level_of(level, delta, n_rows / len(rows[0]))
        seed = random_state.randint(2**31)
        source = DPStatisticsSource(level, delta, random_state=seed, **settings)
        if settings["model"] != "linear":
            made.append(source.fit(*rows).release_)
            continue
        if accumulator is None:  # whose sums serve all levels
            accumulator = source.accumulator()
            accumulator.add(*rows)
        made.append(source.fit_accumulated(accumulator).release_)
    return made


def _level_of(epsilon, delta, times):
    """Return the ε whose noise is smaller by a factor."""
    if times == 1 or epsilon == inf:
        return epsilon
    return gaussian_epsilon(gaussian_sigma(epsilon, delta) / times, delta)


def _interval_widths(release):
    """Return median half widths of intervals of means and shares, by class or of all rows."""
    table = release.describe_columns()
    table = table[table["class"].notna() == bool(release.outcome.groups)]
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


def _checked_spread(kind, schema, given):
    """Return the class frequencies, outcome interval or event share that the outcome needs."""
    for name, value in given.items():
        if name != kind.spread and value is not None:
            raise ValueError(
                f"The {name!r} parameter of plan_release is for another outcome than that of the "
                f"schema, which needs {kind.spread!r}. Leave it out."
            )
    if not schema.outcome.is_complete:
        raise ValueError(
            "The 'schema' parameter of plan_release lists no classes. Add them, as "
            "\"classes\": ['alive', 'dead'], or an outcome that is a number or a time."
        )
    try:
        spread = kind.checked_spread(schema, given[kind.spread])
    except (TypeError, ValueError, KeyError):
        spread = None
    if spread is None:
        value = given[kind.spread]
        raise ValueError(
            f"The {kind.spread!r} parameter of plan_release is "
            f"{'missing' if value is None else f'{value!r:.100}'}. Pass a public guess: "
            f"{kind.wanted(schema)}."
        )
    return spread


def _checked_numbers(name, given, kind, least, what):
    """Return checked numbers: whole ones at or above a limit, others strictly above it."""
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


def _checked_effects(kind, given):
    """Return the wanted values by name."""
    effects = {}
    for effect in given if isinstance(given, list | tuple) and given else [given]:
        if isinstance(effect, str) and effect in kind.effects:
            effects[effect] = kind.effects[effect]
        elif isinstance(effect, Real) and kind.least < effect < 1:
            effects[f"{kind.name} {effect:g}"] = float(effect)
        else:
            raise ValueError(
                f"The 'effects' parameter of plan_release is {effect!r:.100}. Use 'weak', "
                f"'moderate' or 'strong', or a number between {kind.least:g} and 1 ({kind.name})."
            )
    return effects
