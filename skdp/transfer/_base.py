"""The base of a target's three estimators: sources, columns, report, explanation."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdp.privacy import PrivacyGuarantee
from skdp.release import TARGET_ADVICE, warn_of_doubt
from skdp.tabular import Explanation, Schema, bounded_columns
from skdp.transfer._columns import check_columns, match_columns, names_of
from skdp.transfer._noise_aware import NOISE_AWARE
from skdp.transfer._scorers import CONTRADICTION
from skdp.transfer._sources import as_releases, named_sources, summed_guarantee
from skdp.utils._frames import WholeTable, as_frame, one_row
from skdp.utils._validation import check_magnitude, forget_fit, validate_data
from skdp.utils._warnings import warn


class TransferEstimator(BaseEstimator):
    """Base class of a target's estimators, which learn from releases of one kind of outcome."""

    _kind: str
    _parameter_constraints: dict = {
        "source": "no_validation",  # checked by as_releases, whose errors name the remedy
        "disjoint": ["boolean"],
    }

    model_: Any
    guarantee_: PrivacyGuarantee | tuple[PrivacyGuarantee, ...] | None
    source_weight_: float
    label_sampling_: str | None = None
    n_features_in_: int
    feature_names_in_: np.ndarray

    def _read(self, X, y, strategy=NOISE_AWARE):
        """Return the releases, matched with the columns of X, and rows as numbers."""
        forget_fit(self)  # no attribute of an earlier fit remains if this one fails
        releases = as_releases(self.source, strategy, self._kind)
        X = as_frame(X)
        if y is None and not releases:
            validate_data(self, X, y)  # raises, as all of scikit-learn does
        self._matching = match_columns(releases, X, strategy)
        rows = self._matching.rows(self, X, reset=True)
        check_magnitude(rows, "X")
        self._n_shared = self._matching.n_shared(rows)
        return releases, rows

    def _sources(self, model, rows, is_labeled):
        """Return the sources of a model of numbers or times, after checks."""
        together, singles = self._named(rows, np.where(is_labeled, 0, -1))
        settings = {"any_label": bool(is_labeled.any())}
        return model.sources_of(together + singles, self._n_shared, rows, **settings)

    def _named(self, rows, labels):
        """Return sources together and single ones, after checks; see :func:`named_sources`."""
        target_names = list(getattr(self, "feature_names_in_", ()))
        check_columns(self._matching, rows, target_names, labels)
        any_label = bool((labels >= 0).any())
        together, singles = named_sources(self._matching.releases, any_label=any_label)
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
        self.guarantee_ = summed_guarantee(releases, self.disjoint)
        return self

    def _check_known(self, known):
        """Raise ValueError if some of the outcomes to score are unknown."""
        if not known.all():
            raise ValueError(
                f"The 'y' parameter of {type(self).__name__}.score marks {(~known).sum()} of "
                f"{len(known)} outcomes as unknown. Score rows with outcomes; in "
                "cross-validation, use cv=LabeledSplit() and scoring=LabeledScorer()."
            )

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

            - ``name``, and ``side``: "source" for the release as it is, "target" for a model of
              the target's own rows, "both" for a release that labels adjust;
            - ``weight`` in the model; without self-training, the weights of "source" and "both"
              add up to ``source_weight_``;
            - ``log_odds`` of its evidence compared with the first row, usually the source;
            - ``n_labels``, the number of labels, and ``label_sampling``, how they were assumed to
              be chosen;
            - ``log_likelihood``, the mean log-likelihood of the labels, each predicted from the
              labels before it (the logarithm of the evidence, divided by the number of labels; for
              times, of events).

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
        """Return the explanation of a row between bounds.

        ``unscaled`` returns the rows that such rows stand for.
        """
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
            The row, such as X.iloc[[0]] or X.iloc[0], with the columns that :meth:`predict` takes.

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
        row = self._rows(one_row(x))[0]
        schema, low, width = self._readable_columns(row)
        return self._explained((row - low) / width, schema, lambda Z: low + Z * width)

    def _readable_columns(self, row):
        """Return a schema of the columns of a row, with the offset and width of each.

        Columns without bounds in a schema or release are bounded by the rows of :meth:`fit`.
        """
        n, matching = self._n_shared, self._matching
        releases = [r for r in matching.releases if not matching.embeds(r, n)]
        named = list(getattr(self, "feature_names_in_", ())), *map(names_of, releases)
        names = next(filter(None, named), [f"x{j}" for j in range(len(row))])
        encoders = [release.encoder for release in releases if release.encoder]
        bounds = [release.bounds for release in releases if release.bounds is not None]
        extra = matching.extra_encoder
        parts = [
            (slice(0, n), encoders, [*bounds, self._limits[:, :n]][0]),
            (slice(n, len(row)), [extra.schema_] if extra else [], self._limits[:, n:]),
        ]
        columns: tuple = ()
        low, width = np.zeros(len(row)), np.ones(len(row))
        for part, schemas, limits in parts:
            if schemas:
                columns += schemas[0].columns
                continue
            numbers = bounded_columns(names[part], limits, row[part])
            low[part] = [column.low for column in numbers]
            width[part] = [column.high - column.low for column in numbers]
            columns += numbers
        return Schema(columns), low, width

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
