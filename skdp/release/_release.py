"""The release: the only file that the source's owner gives to the target's owner."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NoReturn, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import InputTags, Tags, TargetTags
from sklearn.utils.metaestimators import available_if

from skdp.privacy import PrivacyGuarantee
from skdp.release._column_table import column_effects, describe_columns, explained_row
from skdp.release._columns import chosen_columns, encoded_rows
from skdp.release._frame import KIND, check, float_dtype, identity, joint_guarantee, pack, unpack
from skdp.release._merging import merged_release
from skdp.release._model import Model
from skdp.release._parts import read_only
from skdp.release._summary import as_html, as_text
from skdp.release._synthetic_rows import drawn_rows
from skdp.release._times import cumulative_hazards, curves, followed_times, survival_curve
from skdp.tabular import Explanation, Outcome, Schema
from skdp.utils._storage import load_arrays, save_arrays, stored_labels, well_formed

Rows: TypeAlias = "ArrayLike | pd.DataFrame"


def _of_model(name, text):
    """Return a property of a release that reads a part of its model."""
    return property(lambda release: getattr(release.model, name), doc=text)


def _has_classes(release):
    return len(release.outcome.classes) > 0


def _has_times(release):
    return len(release.outcome.curve_times) > 0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release:
    """A differentially private file of noisy statistics, from which a target learns.

    :meth:`DPSource.fit` makes a release from noisy rows, :meth:`DPStatisticsSource.fit` from noisy
    statistics: public properties and one learned model, without a seed or generator. As its
    contents were computed after the noise was added, its ``guarantee`` also covers everything that
    is computed from it. It is immutable: copies, clones and parameter searches share it. It is
    validated when it is made or loaded; a ValueError names the invalid part.

    Parameters
    ----------
    outcome : ClassOutcome, NumberOutcome or EventOutcome
        The outcome that is predicted; classes are sorted. scikit-learn's tools treat a release of
        classes as a fitted classifier and a release of a number as a fitted regressor;
        scikit-survival's tools accept a release of times to an event.
    n_features : int
        Number of features p of the source's rows.
    dtype : dtype
        float32 or float64, of the source's rows.
    guarantee : PrivacyGuarantee
        For the source's features; for statistics, for whole records with their labels, or for
        people. After :meth:`restrict` it covers the omitted features too.
    model : TableModel, PrincipalModel or RowsModel
        The model learned from the rows.
    label_guarantee : PrivacyGuarantee or None, default=None
        Separate guarantee for the labels; None if they were not randomized, or if ``guarantee``
        covers them.
    feature_names : ndarray of shape (n_features,) or None, default=None
        Names of the features, if they have names.
    bounds : ndarray of shape (2, n_features) or None, default=None
        Public bounds of the features, to which the source's rows were clipped.
    encoder : Schema or None, default=None
        Public schema that encodes tables into these features, both the source's rows and the
        tables passed to the methods.

    Examples
    --------
    The owner makes a release, and a target loads it. The examples of the methods use it:

    >>> from skdp import DPStatisticsSource, Release
    >>> from skdp.datasets import load_heart_disease
    >>> heart = load_heart_disease()
    >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
    >>> source.fit(heart.data, heart.target).release_.save("hospitals.skdp")
    >>> release = Release.load("hospitals.skdp")
    >>> release
    Release(... rows, 2 classes, 34 features, epsilon 8, delta 1e-05 per labeled record, ...)
    >>> release.guarantee.epsilon, release.guarantee.unit
    (8.0, 'labeled record')
    """

    outcome: Outcome
    n_features: int
    dtype: np.dtype
    guarantee: PrivacyGuarantee
    model: Model
    label_guarantee: PrivacyGuarantee | None = None
    feature_names: np.ndarray | None = None
    bounds: np.ndarray | None = None
    encoder: Schema | None = None

    statistics = _of_model("statistics", "Statistics or None: the noisy sums of a table.")
    descent = _of_model("descent", "Descent or None: coefficients found by noisy gradients.")
    moments = _of_model("moments", "Moments or None: counts, means and covariances of classes.")
    linear = _of_model("linear", "LinearScores or None: log-posteriors linear in the columns.")
    regression = _of_model("regression", "LinearRegression or None: of a number.")
    subspace = _of_model("subspace", "Subspace or None: directions in which rows vary most.")
    mixtures = _of_model("mixtures", "Mixtures or None: of normal distributions, there.")
    alignment = _of_model("alignment", "Alignment or None: directions and class medians.")
    classifier = _of_model("classifier", "WideCDMMAClassifier or None: the source's own.")
    row_classifier = _of_model("row_classifier", "WideCDMMAClassifier or None: of noisy rows.")

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", float_dtype(self.dtype))
        check(self)
        self._freeze()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap_mode: str | None = None) -> Self:
        """Read a release from a file that :meth:`save` wrote; no code in the file can run.

        ``mmap_mode="r"`` leaves large arrays in the file and shares them between processes; do not
        truncate it meanwhile. Raises ValueError if the file is truncated, altered or newer.
        """
        if mmap_mode not in (None, "r"):
            raise ValueError(
                "The 'mmap_mode' parameter of Release.load must be 'r' or None, got "
                f"{mmap_mode!r}. A release cannot be written to."
            )
        header, arrays = load_arrays(path, KIND, mmap_mode)
        with well_formed(path, KIND):
            return cls(**unpack(header, arrays))

    def save(self, path: str | os.PathLike[str] | BinaryIO, *, overwrite: bool = True) -> None:
        """Write the release to a file or binary stream, as arrays and text without code.

        An existing file keeps its permissions. Without ``overwrite`` it raises FileExistsError.
        """
        save_arrays(path, KIND, *pack(self), overwrite=overwrite)

    def encode(self, X: Rows) -> np.ndarray:
        """Return rows as numbers in the columns of the release, (n_samples, n_features).

        The columns of a DataFrame are matched by name: the columns of the schema with an
        ``encoder``, otherwise the features. An array has the features in their order. Raises
        ValueError if columns are missing or numbers are not finite. Warns if most values of a
        column are far outside their public bounds, if many do not fit the schema, or if columns
        are not needed.

        >>> release.encode(heart.data[:5]).shape
        (5, 34)
        """
        return encoded_rows(self, X)

    def scores(self, X: Rows) -> np.ndarray:
        """Return the score of each class by the source alone, (n_samples, n_classes).

        Larger is more likely. A release with a classifier returns minus the squared reconstruction
        error, any other the log-posterior up to a constant for each row. Raises ValueError if no
        part of the release can score rows.
        """
        return self.model.score(self.encode(X))

    def predict(
        self,
        X: Rows,
        return_std: bool = False,
        *,
        return_interval: float | None = None,
        statistic: str = "mean",
        quantile: float | None = None,
    ) -> Any:
        """Predict the class label of each row by the source alone, see :meth:`scores`.

        If the ``outcome`` is a number, predict its mean in its own unit, also on a logarithmic
        scale; ``statistic="median"`` or a ``quantile`` such as 0.9 replaces the mean. Also returns
        the standard deviations of the numbers with ``return_std``, and with ``return_interval``,
        such as 0.8, intervals that contain this share of the numbers, (n_samples, 2). If the
        ``outcome`` is a time to an event, predict the risk score: the log-hazard, relative to the
        baseline.

        >>> release.predict(heart.data[:3]).shape
        (3,)
        """
        return self.model.prediction.predict(
            self,
            self.encode(X),
            return_std=return_std,
            return_interval=return_interval,
            statistic=statistic,
            quantile=quantile,
        )

    @available_if(_has_times)
    def predict_cumulative_hazard_function(self, X: Rows, return_array: bool = False) -> Any:
        """Predict the cumulative hazard of each row, by the source alone.

        Returns step functions, (n_samples,), or with ``return_array`` their values at
        ``unique_times_``, (n_samples, n_times). Later, by noisy counts, too few rows are followed.
        """
        return curves(self.outcome, self.model.baseline, self.predict(X), return_array, False)

    @available_if(_has_times)
    def predict_survival_function(self, X: Rows, return_array: bool = False) -> Any:
        """Predict for each row the probability of being without the event, over time.

        Returns the shapes of :meth:`predict_cumulative_hazard_function`. The median survival time
        is where a curve falls below 0.5.
        """
        return curves(self.outcome, self.model.baseline, self.predict(X), return_array, True)

    @available_if(_has_times)
    def predict_proba_at(self, X: Rows, times: ArrayLike) -> np.ndarray:
        """Predict the probability that each row has the event by a time, by the source alone.

        Returns (n_samples,) for one time, and (n_samples, n_times) for several. Raises ValueError
        for times after the last of ``unique_times_``.
        """
        hazards = cumulative_hazards(self.outcome, self.model.baseline, self.predict(X), times)
        return -np.expm1(-hazards)

    @available_if(_has_times)
    def survival_curve(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return the probability over time that a row of the source is without the event.

        Uses the Nelson–Aalen estimate. The band includes noise and sampling, and is pointwise.
        """
        return survival_curve(self, confidence)

    @property
    def unique_times_(self) -> np.ndarray:
        """Ndarray of shape (n_times,): times at which curves step, while enough rows are left."""
        if not self.outcome.columns:
            raise AttributeError("Only a release about a time to an event has survival curves.")
        return followed_times(self.outcome, self.statistics.exits.n_followed)

    @available_if(_has_classes)
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Predict probabilities, (n_samples, n_classes), by the source alone; see :meth:`scores`.

        >>> release.predict_proba(heart.data).sum(axis=1).round(6)[:3]
        array([1., 1., 1.])
        """
        return self.model.probabilities(self.encode(X))

    def score(self, X: Rows, y: ArrayLike) -> float:
        """Return the accuracy of :meth:`predict`; R² for numbers, Harrell's concordance for times.

        The score has no noise: only the owner of the rows should see it. To share a score, use
        :func:`~skdp.evaluate_privately`. Raises ValueError for missing labels, and for −1 unless
        it is a class of the release.

        >>> release.score(heart.data, heart.target) > 0.7
        True
        """
        return self.model.prediction.score(self, y, self.predict(X))

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, as_frame: bool = False
    ) -> tuple[Any, np.ndarray]:
        """Return synthetic labeled rows, covered by the guarantee of the release.

        A release of noisy sums of a table draws rows with the table's frequencies of categories
        and missing values, correlations and steps, and labels by the probabilities that it
        predicts. Other releases draw classes by their frequencies, and rows from the normal
        distribution of their class, clipped to the bounds. Raises ValueError without moments.

        ``as_frame`` returns rows as a table, decoded to values that the schema allows if the
        release has an ``encoder``. Outcomes are class labels, numbers, or a structured array of
        event and time. A seed weakens no guarantee: the noise was drawn with the release.

        >>> X, y = release.sample(100, random_state=0, as_frame=True)
        >>> X.shape, y.shape
        ((100, 13), (100,))
        """
        self._require_moments("from which rows are drawn")
        return drawn_rows(self, n_samples, random_state, as_frame)

    def effects(self, positive: Any = None) -> pd.DataFrame:
        """Return how much each value of each column adds to the log-odds of a class.

        Scores are sums over the columns, so this table describes the model completely. It has a
        row for each ``column`` and ``value``, with the ``effect``, centered over the rows of the
        column: in the unit of a number, or in its logarithm; for times, log-hazards. A numeric
        column has 33 values between its bounds, or its steps if these are fewer; a missing value
        is None. By default the class is the second of two. Raises ValueError if the class is
        unknown or the release has no linear scores.
        """
        return column_effects(self, positive)

    def explain(self, x: ArrayLike | pd.DataFrame | pd.Series) -> Explanation:
        """Explain the prediction of one row by the source alone; for times, the log-hazard.

        Varies one column at a time over the values in the schema, or between the public bounds;
        without either, over [0, 1] and the value in the row, see
        :func:`~skdp.tabular.explain_prediction`.

        >>> release.explain(heart.data.iloc[[0]]).to_frame().shape
        (13, 4)
        """
        return explained_row(self, x)

    def describe_columns(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return statistics of each column by class, in the units of the schema.

        This descriptive table of a study costs no further privacy. It has a row for each
        ``column``, ``statistic`` and ``class`` (None: all rows), with the ``value`` and its
        interval from ``low`` to ``high``, which is infinite or spans the bounds if noise hides the
        statistic. Intervals include noise, sampling (except for counts) and the uncertainty
        from clipped rows.

        The statistics are:

        - "rows", without a column: the number of rows;
        - "mean" and "deviation" of a number, clipped to the bounds, without missing values;
        - "geometric mean" and "geometric deviation", a factor, on a logarithmic scale; "shifted"
          if it begins at zero: computed from x plus a hundredth of the upper bound;
        - "mean rank" of ordered categories, counted from 1;
        - "share of ..." for each category, among rows where the category is known;
        - "missing";
        - for times, "hazard ratio of ..." for each category, relative to all rows, not adjusted
          for other columns.

        If the release protects people, each person counts once, but deviations are between rows;
        the intervals of means are then too wide. Intervals follow Fieller (1954), and for
        shares Wilson (1927) with added noise.
        """
        self._require_moments("from which columns are described")
        return describe_columns(self, confidence)

    def summary(self) -> str:
        r"""Return readable text: what the release contains and what it guarantees.

        >>> print("\n".join(release.summary().splitlines()[:4]))
        Release(... rows, 2 classes, 34 features, epsilon 8, delta
        1e-05 per labeled record, add/remove)
        <BLANKLINE>
        What is in the file
        """
        return as_text(self)

    def restrict(self, names: Iterable[str]) -> Self:
        """Return the release marginalized to some of the columns, for rows that lack the others.

        This costs no privacy. The guarantee still covers all columns, because noisy values of the
        omitted ones influenced the model. Linear scores replace omitted columns by their
        expectation given the others, and mixtures are marginalized; where a classifier scored all
        columns, mixtures or the normal distributions of the moments score rows instead. Strategies
        from the papers cannot use the result. Give the names of the table's columns if the release
        has an ``encoder``, otherwise ``feature_names``, in the new order.

        >>> release.restrict(["cp", "age"])
        Release(... rows, 2 classes, 6 features, epsilon 8, delta 1e-05 per labeled record, ...)
        """
        columns, changes = chosen_columns(self, names)
        if np.array_equal(columns, np.arange(self.n_features)):
            return self
        self._require_moments("which a release of some columns is computed from")
        return replace(self, **changes, model=self.model.restrict(columns, self))

    @classmethod
    def merge(cls, releases: Iterable[Self], *, disjoint: bool) -> Self:
        """Return one release of the rows of several sources; it may be merged again.

        Noisy sums and the variances of their noise are added, and the model is estimated from
        these totals; where all releases have coefficients from gradients, from their mean.
        Differences between sources in class frequencies and means are removed, as far as noise
        allows, so classes are separated *within* sources. With two classes, ``intercept_sd``
        states how much the intercept varies between sources: its uncertainty at a new site.

        All releases must have sums of a table, and share columns (in any order), bounds,
        categories and classes; a ValueError names the difference. Warns if a release is so noisy
        that the result is better without it. Set ``disjoint`` only if you know that no person has
        rows in two of the sources, which releases cannot show. The guarantee is then the weakest
        of the sources' guarantees, otherwise their sum.

        >>> parts = [source.fit(heart.data[k::2], heart.target[k::2]).release_ for k in range(2)]
        >>> Release.merge(parts, disjoint=True).statistics.n_sources
        2
        """
        return merged_release(cls, list(releases), disjoint)

    @property
    def record_guarantee(self) -> PrivacyGuarantee | None:
        """PrivacyGuarantee for a whole record with its label, or None for unprotected labels."""
        return joint_guarantee(self)

    @property
    def classes(self) -> np.ndarray:
        """Ndarray of shape (n_classes,): sorted labels; AttributeError for a number or a time."""
        return read_only(stored_labels(list(self.outcome.classes)), copy=False)

    # scikit-learn's tools look for this name.
    classes_ = classes

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Raise TypeError; the method exists because scikit-learn's tools look for it."""
        raise TypeError(
            "A Release cannot be fitted again. Learn from it and from rows of your own with "
            "DPTransferClassifier(release).fit(X, y); for a tool of scikit-learn that fits its "
            "estimator, pass FrozenEstimator(release)."
        )

    def _require_moments(self, what):
        if self.moments is None:
            raise ValueError(
                f"This release has no moments, {what}. Ask its owner for one from "
                "DPStatisticsSource, or from DPSource(parts='noise_aware')."
            )

    def _freeze(self, copy=True):
        # After copying those that somebody else could write to.
        for name, value in vars(self).copy().items():
            object.__setattr__(self, name, read_only(value, copy))

    def __sklearn_tags__(self) -> Any:
        return Tags(
            **self.model.prediction.tags(),
            target_tags=TargetTags(required=True),
            input_tags=InputTags(allow_nan=self.encoder is not None),
            requires_fit=False,
        )

    def __repr__(self) -> str:
        return f"Release({identity(self)})"

    def _repr_html_(self):
        return as_html(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays from a pickle are writable, but nobody else holds them.
        self.__dict__.update(state)
        self._freeze(copy=False)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self

    __copy__ = __sklearn_clone__ = __deepcopy__
