"""How near synthetic rows are to private ones, for the owner's eyes."""

import os
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import check_random_state

from skdp.tabular._columns import NumericColumn
from skdp.tabular._encoder import encode_table
from skdp.tabular._outcomes import exit_names
from skdp.tabular._schema import Schema, as_schema
from skdp.tabular._values import Vocabulary, numbers
from skdp.utils._frames import as_elements, as_frame
from skdp.utils._survival import concordance_index
from skdp.utils._text import named_like


@dataclass(frozen=True)
class TableComparison:
    """The findings of :func:`~skdp.tabular.compare_tables`.

    They are private, and stay with the rows.

    Parameters
    ----------
    columns : DataFrame
        By column: ``distance`` (total variation between the shares of categories, missing counted
        as one, or the largest difference between distribution functions of numbers; 0 to 1),
        ``missing`` and ``synthetic_missing`` (shares), ``told_apart`` (area under the ROC curve of
        boosting that distinguishes real from synthetic cells; .5 is best).

    correlation_difference : float
        Mean size of the differences between correlations of the encoded columns.

    told_apart : float
        Area under the ROC curve of boosting that distinguishes real from synthetic rows; .5 is
        best, and 1 usual where numbers repeat often.

    utility : float or None
        Area under the ROC curve, on real rows, of boosting trained on the synthetic rows; R²
        where the outcome is a number, and Harrell's concordance where it is a time to an event.

    real_utility : float or None
        Of boosting trained on as many other real rows.

    utility_name : str, default="area under the ROC curve"
        Of both.

    See Also
    --------
    compare_tables : Makes it.

    Examples
    --------
    >>> import pandas as pd
    >>> from skdp.tabular import TableComparison
    >>> columns = pd.DataFrame({"distance": [0.02], "missing": [0.0],
    ...                         "synthetic_missing": [0.0], "told_apart": [0.51]}, index=["age"])
    >>> print(str(TableComparison(columns, 0.01, 0.55, None, None)).splitlines()[0])
    This report is private: it was computed from the rows without noise. It stays here.
    """

    columns: pd.DataFrame
    correlation_difference: float
    told_apart: float
    utility: float | None
    real_utility: float | None
    utility_name: str = "area under the ROC curve"

    def __str__(self) -> str:
        lines = [
            "This report is private: it was computed from the rows without noise. It stays here.",
            "",
            *self.columns.to_string(float_format="{:.3f}".format).splitlines(),
            "",
            f"Correlations differ by {self.correlation_difference:.3f} on average.",
            *textwrap.wrap(
                "Boosting distinguishes real from synthetic rows with an area under the ROC curve "
                f"of {self.told_apart:.3f} (0.5: not at all)."
            ),
        ]
        if self.utility is not None:
            lines += textwrap.wrap(
                f"Boosting reaches an {self.utility_name} on real rows of "
                f"{self.utility:.3f} when it learns from the synthetic rows, and of "
                f"{self.real_utility:.3f} from as many other real ones."
            )
        return "\n".join(lines)


def compare_tables(
    real: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    label: str | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> TableComparison:
    """Compare synthetic rows with the private rows that they imitate. Nothing is released.

    Parameters
    ----------
    real : DataFrame of shape (n_samples, n_columns)
        **Private**: so is the report.

    synthetic : DataFrame of shape (n_synthetic, n_columns)
        As :meth:`~skdp.Release.sample` makes with ``as_frame=True``.

    schema : Schema or mapping
        Of the columns.

    label : str or None, default=None
        Column of both tables with labels, by which utility is measured: half of the real rows are
        for training, and the other half for testing. None where the outcome is a time to an event:
        it names its two columns, by which utility is measured if both tables have them.

    random_state : int, RandomState instance or None, default=0
        Of the halves and folds.

    Returns
    -------
    comparison : TableComparison

    Raises
    ------
    ValueError
        When a table lacks a column, has fewer than ten rows, or has labels of one class only.

    Examples
    --------
    >>> from skdp import DPStatisticsSource
    >>> from skdp.datasets import load_heart_disease
    >>> from skdp.tabular import compare_tables
    >>> data = load_heart_disease()
    >>> source = DPStatisticsSource(epsilon=4.0, encoder=data.schema, random_state=0)
    >>> release = source.fit(data.data, data.target).release_  # doctest: +SKIP
    >>> synthetic, _ = release.sample(900, as_frame=True)  # doctest: +SKIP
    >>> print(compare_tables(data.data, synthetic, data.schema))  # doctest: +SKIP
    """
    schema = as_schema(schema)
    of_exits = exit_names(schema.outcome, label, "compare_tables")
    wanted = [*schema.names, *of_exits, *filter(None, (label,))]
    real = named_like(as_frame(real, "real"), wanted)
    synthetic = named_like(as_frame(synthetic, "synthetic"), wanted)
    for argument, frame in (("real", real), ("synthetic", synthetic)):
        _check(argument, frame, schema, label)
    rng = check_random_state(random_state)
    frames = [_at_most(frame, rng) for frame in (real, synthetic)]
    encoded = [
        np.asarray(encode_table(schema, frame[list(schema.names)]), dtype=np.float64)
        for frame in frames
    ]
    seed = rng.randint(2**31)
    columns = pd.DataFrame(
        [
            _of_column(column, encoded[0][:, block], encoded[1][:, block], seed)
            for column, block in zip(schema.columns, schema.encoded_slices, strict=True)
        ],
        index=list(schema.names),
    )
    correlations = [_correlations(E) for E in encoded]
    pairs = np.triu_indices(encoded[0].shape[1], 1)
    differences = np.abs(correlations[0] - correlations[1])[pairs]
    utility: tuple = (None, None)
    if of_exits and all(set(of_exits) <= set(frame.columns) for frame in frames):
        utility = (*_ordered(encoded, schema.outcome, frames, seed), "index of concordance")
    elif label is not None and isinstance(schema.outcome, NumericColumn):
        places = [schema.outcome.positions(frame[label]) for frame in frames]
        utility = (*_explained(encoded, places, seed), "R²")
    elif label is not None:
        utility = _utility(encoded, [frame[label] for frame in frames], seed)
    return TableComparison(
        columns,
        float(differences.mean()) if len(differences) else 0.0,
        _told_apart(encoded[0], encoded[1], seed),
        *utility,
    )


def _check(argument, frame, schema, label):
    """Raise ValueError for a table that cannot be compared."""
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(
            f"The {argument!r} parameter of compare_tables must be a DataFrame, got one of type "
            f"{type(frame).__name__}. Release.sample makes one with as_frame=True."
        )
    lacking = [name for name in (*schema.names, label) if name not in (None, *frame.columns)]
    if lacking:
        raise ValueError(
            f"The {argument!r} parameter of compare_tables lacks the columns {lacking}. "
            "Both tables need those of the schema, and 'label'."
        )
    if len(frame) < 10:
        raise ValueError(
            f"The {argument!r} parameter of compare_tables must have ten rows or more, got "
            f"{len(frame)}."
        )


def _at_most(frame, random_state):
    """Return rows in random order, and not more than can be learned from soon."""
    return frame.iloc[random_state.permutation(len(frame))[:10_000]]


def _of_column(column, real, synthetic, seed):
    """Return what is said of one column, by its encoded columns in both tables."""
    return {
        "distance": _distance(column, real, synthetic),
        "missing": _missing(column, real),
        "synthetic_missing": _missing(column, synthetic),
        "told_apart": _told_apart(real, synthetic, seed),
    }


def _missing(column, block):
    """Return the share of cells that are missing; NaN where the schema knows of none."""
    if not column.missing:
        return np.nan
    return float(np.mean(block[:, -1] > 0.5))  # what tells that it is comes last


def _distance(column, *blocks):
    """Return the distance between the distributions of a column in two tables."""
    if column.is_one_hot:
        return float(np.abs(np.subtract(*(b.mean(axis=0) for b in blocks))).sum() / 2)
    places = np.unique(np.concatenate([b[:, 0] for b in blocks]))
    ranks = [np.searchsorted(np.sort(b[:, 0]), places, side="right") / len(b) for b in blocks]
    difference = ranks[0] - ranks[1]
    if isinstance(column, NumericColumn):
        return float(np.abs(difference).max())
    return float(np.abs(np.diff(difference, prepend=0.0)).sum() / 2)


def _correlations(encoded):
    """Return correlations, none with a column that is constant."""
    centered = encoded - encoded.mean(axis=0)
    deviations = np.sqrt((centered**2).mean(axis=0))
    centered /= np.where(deviations > 1e-9, deviations, np.inf)
    return centered.T @ centered / len(encoded)


def _told_apart(real, synthetic, seed):
    """Return how well rows of as many of each are told apart that boosting has not seen."""
    n = min(len(real), len(synthetic))
    rows, source = np.vstack([real[:n], synthetic[:n]]), np.repeat([0, 1], n)
    model = _boosting(seed)
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    scores = cross_val_predict(model, rows, source, cv=folds, method="predict_proba")
    return float(roc_auc_score(source, scores[:, 1]))


def _utility(encoded, labels, seed):
    """Return what boosting reaches on real rows, by synthetic and by other real ones."""
    vocabulary = Vocabulary(sorted(set(labels[0].tolist()), key=str))
    codes = [vocabulary.codes(values) for values in labels]
    half = len(encoded[0]) // 2
    n = min(half, len(encoded[1]))
    if any(len(set(c[c >= 0])) < 2 for c in (codes[0][:half], codes[0][half:], codes[1][:n])):
        raise ValueError(
            "The 'label' parameter of compare_tables must name a column with two or more classes "
            "in both tables, several rows of each."
        )
    areas = []
    for E, c in ((encoded[1][:n], codes[1][:n]), (encoded[0][:n], codes[0][:n])):
        model = _boosting(seed).fit(E[c >= 0], c[c >= 0])
        areas.append(_area(model, encoded[0][half:], codes[0][half:]))
    return tuple(areas)


def _explained(encoded, places, seed):
    """Return R² on real rows of boosting, by synthetic and by other real ones."""
    half = len(encoded[0]) // 2
    n = min(half, len(encoded[1]))
    test = ~np.isnan(places[0][half:])
    reached = []
    for E, y in ((encoded[1][:n], places[1][:n]), (encoded[0][:n], places[0][:n])):
        if np.isnan(y).all() or not test.any():
            raise ValueError(
                "The 'label' parameter of compare_tables must name a column with numbers in both "
                "tables, as the outcome of the schema is one."
            )
        model = _boosting(seed, of_numbers=True).fit(E[~np.isnan(y)], y[~np.isnan(y)])
        reached.append(r2_score(places[0][half:][test], model.predict(encoded[0][half:][test])))
    return tuple(map(float, reached))


def _ordered(encoded, outcome, frames, seed):
    """Return the concordance on real rows of boosting of residuals of the model without columns.

    By synthetic and by other real rows.
    """
    half = len(encoded[0]) // 2
    n = min(half, len(encoded[1]))
    exits = []
    for frame in frames:
        events, times = (as_elements(frame[name]) for name in (outcome.event, outcome.time))
        happened = outcome.cells(events, np.zeros(len(frame))) == 0
        known, times = outcome.cells(events, times) >= 0, numbers(times)
        happened &= times <= outcome.horizon
        exits.append((known, happened, np.minimum(times, outcome.horizon)))
    reached = []
    test = np.flatnonzero(exits[0][0][half:]) + half
    for E, (known, happened, times) in ((encoded[1], exits[1]), (encoded[0], exits[0])):
        rows = np.flatnonzero(known[:n])
        if not (happened[rows].any() and len(test)):
            raise ValueError(
                "The tables of compare_tables must have rows with the event, as the outcome of "
                "the schema is a time to one."
            )
        # Nelson and Aalen's hazard up to the time of each row, ties in any order.
        order = rows[np.argsort(times[rows], kind="stable")]
        hazards = np.cumsum(happened[order] / np.arange(len(order), 0, -1))
        model = _boosting(seed, of_numbers=True).fit(E[order], happened[order] - hazards)
        risks = model.predict(encoded[0][test])
        reached.append(concordance_index(exits[0][1][test], exits[0][2][test], risks))
    return tuple(reached)


def _boosting(seed, *, of_numbers=False):
    # Nothing else needs scikit-learn's ensembles, and who imports skdp need not wait for them.
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor if of_numbers else HistGradientBoostingClassifier
    return model(random_state=seed)


def _area(model, X, codes):
    """Return the area under the ROC curve, of more than two classes the mean over each."""
    probabilities = model.predict_proba(X)
    areas = [
        roc_auc_score(codes == c, probabilities[:, k])
        for k, c in enumerate(model.classes_)
        if 0 < np.sum(codes == c) < len(codes)
    ]
    return float(np.mean(areas))
