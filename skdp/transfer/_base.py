"""The base of a target's three estimators: sources, columns, report, explanation."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdp.privacy import PrivacyGuarantee
from skdp.release import TARGET_ADVICE, warn_of_doubt
from skdp.tabular import Explanation, Schema, bounded_columns
from skdp.transfer._noise_aware import NOISE_AWARE
from skdp.transfer._scorers import CONTRADICTION
from skdp.transfer._sources import (
    as_releases,
    check_columns,
    match_columns,
    named_sources,
    summed_guarantee,
)
from skdp.utils._frames import WholeTable, as_frame, named_like, one_row
from skdp.utils._validation import check_array, check_magnitude, forget_fit, validate_data
from skdp.utils._warnings import warn

# Of scores: estimator, number of unknown outcomes and of rows.
UNKNOWN = (
    "The 'y' parameter of {}.score marks {} of {} outcomes as unknown. Score rows with outcomes; "
    "in cross-validation, use cv=LabeledSplit() and scoring=LabeledScorer()."
)


class TransferEstimator(BaseEstimator):
    """Base class of a target's estimators, which learn from releases of one kind of outcome."""

    _kind: str

    model_: Any
    guarantee_: PrivacyGuarantee | tuple[PrivacyGuarantee, ...] | None
    label_sampling_: str | None = None

    def _read(self, X, y, strategy=NOISE_AWARE):
        """Return the releases, matched with the columns of X, and rows as numbers."""
        forget_fit(self)  # no attribute of an earlier fit remains if this one fails
        releases = as_releases(self.source, strategy, kind=self._kind)
        X = as_frame(X)
        if y is None and not releases:
            validate_data(self, X, y)  # raises, as all of scikit-learn does
        self._matching = match_columns(releases, X, strategy)
        rows = self._matching.rows(self, X, reset=True)
        check_magnitude(rows, "X")
        if self._matching.n_shared is None:
            self._matching = replace(self._matching, n_shared=rows.shape[1])
        return releases, rows

    def _sources(self, model, rows, is_labeled):
        """Return the sources of a model of numbers or times, after checks."""
        together, singles = self._named(rows, np.where(is_labeled, 0, -1))
        settings = {"any_label": bool(is_labeled.any())}
        return model.sources_of(together + singles, self._matching.n_shared, rows, **settings)

    def _named(self, rows, labels):
        """Return sources together and single ones, after checks; see :func:`named_sources`."""
        check_columns(self, self._matching, rows, labels)
        any_label = bool((labels >= 0).any())
        together, singles = named_sources(self._matching.releases, with_singles=any_label)
        for name, release, _ in together:
            which = name if len(together) > 1 else "the source"
            warn_of_doubt(release, TARGET_ADVICE.format(which=which))
        return together, singles

    def _learned(self, releases, rows, model, n_labels, sampling):
        """Set the attributes that all estimators have after :meth:`fit`."""
        self.model_, self._n_labels = model, n_labels
        self.source_weight_ = model.source_weight
        self.label_sampling_ = sampling if n_labels else None
        self._limits = np.array([rows.min(axis=0), rows.max(axis=0)])
        guarantees = [release.guarantee for release in releases]
        self.guarantee_ = summed_guarantee(guarantees, self.disjoint)
        return self

    def _rows(self, X):
        """Return rows as numbers, of the fitted columns."""
        check_is_fitted(self)
        return self._matching.rows(self, X)

    def report(self) -> pd.DataFrame:
        """Return the composition of the model: weights, evidence, and likelihood of the labels.

        Returns
        -------
        report : DataFrame
            One row for each kind of candidate, with several sources in the given order:

            - ``name``, and ``side`` ("source", "target" or "both");
            - ``weight`` in the model;
            - ``log_odds`` of its evidence compared with the first row, the source if there is one;
            - ``n_labels``, the number of labels, and ``label_sampling``, how they were assumed to
              be chosen;
            - ``log_likelihood``, the mean log-likelihood of the labels, each predicted from those
              before it (the logarithm of the evidence, divided by the number of labels; for times,
              of events).

            For "alignment" and "multitask", the weight is the share of rows that each side decided
            in the last round, and other columns are NaN. The report reveals information about the
            target's labels and is not private.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPTransferRegressor
        >>> X = np.random.default_rng(0).random((30, 2))
        >>> DPTransferRegressor().fit(X, X[:, 0]).report()[["name", "side", "weight", "n_labels"]]
                   name    side  weight  n_labels
        0  target alone  target     1.0        30
        """
        check_is_fitted(self)
        frame = pd.DataFrame([vars(part) for part in self.model_.contributions])
        frame.insert(4, "n_labels", self._n_labels)
        frame.insert(5, "label_sampling", self.label_sampling_)
        return WholeTable(frame)

    def _explained(self, row, schema, unscaled):
        """Return the explanation of a row between bounds; see :func:`_explainable`."""
        raise NotImplementedError

    def explain(self, x: ArrayLike | pd.DataFrame | pd.Series) -> Explanation:
        """Explain the prediction of one row: what each column contributes to it.

        Varies one column at a time over its public values, see
        :func:`~skdp.tabular.explain_prediction`: the values in the release's schema, otherwise the
        public bounds of the release, extended to the value in the row if necessary. Columns that
        only the target has are varied over their values in :meth:`fit`. The explained prediction
        is the result of :meth:`predict`: a class, with probabilities multiplied by
        ``class_weight`` ("alignment" and "multitask": on the scale of the target classifier's
        ``temperature_``); a number in its unit; or a risk score, with log hazard ratios as
        effects.

        Parameters
        ----------
        x : DataFrame of one row, Series, or array-like of shape (n_features,)
            The row, such as X.iloc[[0]] or X.iloc[0]. If the release has a schema, it may be a row
            of the table or an encoded row.

        Returns
        -------
        explanation : Explanation

        Raises
        ------
        ValueError
            If x is not a single row with the fitted columns.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPTransferRegressor
        >>> X = np.random.default_rng(0).random((200, 2))
        >>> model = DPTransferRegressor().fit(X, 10 * X[:, 0])
        >>> model.explain([0.75, 0.5]).to_frame()["effect"].round(1).abs()
        x0    2.5
        x1    0.0
        Name: effect, dtype: float64
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return self._explained(*_explainable(x, self._matching, self._limits, self._rows, names))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")


def warn_of_contradiction(deviations, finding):
    """Warn if outcomes significantly contradict a source's predictions.

    ``finding`` describes the contradiction.
    """
    if deviations < -CONTRADICTION:
        warn(
            f"The outcomes in y contradict the source: {finding} ({-deviations:.1f} standard "
            "errors from no relation). Check columns, units and the outcome, see report(), or use "
            "source=None."
        )


def _readable_columns(row, matching, names, limits):
    """Return a schema of the columns of a row, with the offset and width of each.

    Columns without bounds in a schema or release are bounded by ``limits``.
    """
    n = matching.n_shared
    same = [release for release in matching.releases if not matching.embeds(release, n)]
    name_lists = [matching.names, names, *(release.feature_names for release in same)]
    name_lists += [[f"x{j}" for j in range(len(row))]]
    names = next(list(name_list) for name_list in name_lists if name_list is not None)
    encoders = [release.encoder for release in same if release.encoder]
    bounds = [release.bounds for release in same if release.bounds is not None]
    columns: tuple = ()
    low, width = np.zeros(len(row)), np.ones(len(row))
    extra = matching.extra_encoder
    parts = [
        (slice(0, n), encoders[0] if encoders else None, bounds[0] if bounds else limits[:, :n]),
        (slice(n, len(row)), extra and extra.schema_, limits[:, n:]),
    ]
    for part, schema, limits in parts:
        if schema:
            columns += schema.columns
            continue
        numbers = bounded_columns(names[part], limits, row[part])
        low[part] = [column.low for column in numbers]
        width[part] = [column.high - column.low for column in numbers]
        columns += numbers
    return Schema(columns), low, width


def _explainable(x, matching, limits, validated, names):
    """Return one row between bounds, their schema, and a function that undoes that scaling."""
    x, n_columns = named_like(one_row(x), matching.names), limits.shape[1]
    columns = set(getattr(x, "columns", ()))
    encoded = matching.is_raw and not columns >= set(matching.names)
    if encoded and not matching.extra_encoder:
        row = matching.releases[0].encode(x)[0]
    elif columns or not encoded:
        row = validated(x)[0]
    elif x.shape[1] == n_columns:
        row = check_array(x)[0]
    else:
        raise ValueError(
            f"The 'x' parameter of explain has {x.shape[1]} values, not {n_columns}. Pass a row "
            "of the table as a DataFrame."
        )
    schema, low, width = _readable_columns(row, matching, names, limits)
    return (row - low) / width, schema, lambda Z: low + Z * width
