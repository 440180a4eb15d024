"""The release: the only thing that the source's owner gives to the target's owner."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NoReturn, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import InputTags, Tags, TargetTags
from sklearn.utils.metaestimators import available_if

from skdp.displays import EffectsDisplay
from skdp.privacy import WHOLE, PrivacyGuarantee, record_guarantee
from skdp.release._column_table import describe_columns
from skdp.release._columns import chosen_columns, encoded_rows
from skdp.release._effects import column_effects, explained_row
from skdp.release._frame import (
    KIND,
    check_frame,
    check_model,
    elements_per_record,
    float_dtype,
    pack,
    unpack,
)
from skdp.release._merging import merged_release
from skdp.release._model import Model
from skdp.release._parts import read_only
from skdp.release._summary import as_text, statements
from skdp.release._synthetic_rows import drawn_rows
from skdp.release._times import cumulative_hazards, curves, survival_curve
from skdp.tabular import Explanation, Outcome, Schema
from skdp.utils._html import as_html, definitions
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

    An owner of private rows makes it, by :meth:`DPSource.fit` from noisy rows or by
    :meth:`DPStatisticsSource.fit` from noisy statistics. Everything in it was computed after noise
    had been added, so anything that anybody computes from it is covered by its ``guarantee`` too.

    It is a frame of what is public around one model of what was learned: immutable, and shared by
    copies, clones and parameter searches. It is validated when it is made or loaded; a ValueError
    names the part that does not fit. It holds no seed and no generator.

    Parameters
    ----------
    outcome : ClassOutcome, NumberOutcome or EventOutcome
        What is predicted; classes are sorted. To scikit-learn's tools the release is then a fitted
        classifier, or a fitted regressor of a number; of a time to an event it is one of
        scikit-survival's kind.
    n_features : int
        Number of features p of the source's rows.
    dtype : dtype
        float32 or float64, of the source's rows.
    guarantee : PrivacyGuarantee
        Guarantee for the source's features; for statistics, for whole records with
        their labels, or for people. After :meth:`restrict` it covers the omitted features too.
    model : TableModel, PrincipalModel or RowsModel
        What was learned of the rows.
    label_guarantee : PrivacyGuarantee or None, default=None
        Separate guarantee for its labels; None where they were used as they are,
        or where ``guarantee`` covers them.
    feature_names : ndarray of shape (n_features,) or None, default=None
        Names of the features, where they have names.
    bounds : ndarray of shape (2, n_features) or None, default=None
        Public bounds of the features, to which the source's rows were clipped.
    encoder : Schema or None, default=None
        Public schema by which tables were encoded into these features, and by which tables that
        are passed to the methods are encoded.

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
    Release(2 classes, 34 features, (8, 1e-05)-DP per labeled record, add/remove)
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
        check_frame(self)
        check_model(self)
        self._freeze()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap_mode: str | None = None) -> Self:
        """Read a release from a file that :meth:`save` wrote; no code in the file can run.

        With ``mmap_mode="r"`` the arrays stay in the file, which must not be truncated meanwhile,
        and are shared between processes: for large releases. ValueError says that a file is
        truncated, altered, of a newer version or no release.
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
        """Write the release to a file or binary stream that holds arrays and text, and no code.

        An existing file keeps its permissions, or raises FileExistsError without ``overwrite``.
        """
        save_arrays(path, KIND, *pack(self), overwrite=overwrite)

    def encode(self, X: Rows) -> np.ndarray:
        """Return rows as numbers in the columns of the release, (n_samples, n_features).

        The columns of a DataFrame are matched by name, in any order: with an ``encoder`` they are
        those of its schema, or the encoded ones; without, the features. An array has the features
        in their order, already encoded. ValueError says which columns X lacks, or that it has
        other than finite numbers. Warns of values that are mostly far outside their public bounds,
        as in other units, of many that do not fit the schema, and of columns that are not needed.

        >>> release.encode(heart.data[:5]).shape
        (5, 34)
        """
        return encoded_rows(self, X)

    def scores(self, X: Rows) -> np.ndarray:
        """Return the score of each class by the source alone, (n_samples, n_classes).

        Larger is more likely: minus the squared reconstruction error where there is a classifier,
        otherwise the log-posterior up to a constant for each row. ValueError says that no part of
        the release scores.
        """
        return self.score_encoded(self.encode(X))

    def score_encoded(self, rows: np.ndarray) -> np.ndarray:
        """Return :meth:`scores` of rows that are encoded in the columns of this release."""
        return self.model.score(rows)

    def predict(self, X: Rows, return_std: bool = False) -> Any:
        """Predict the class label of each row by the source alone, see :meth:`scores`.

        Or the number, where the ``outcome`` is one: with ``return_std``, also the standard
        deviations of the numbers about their predictions. On a logarithmic scale these are
        predictions of the logarithm, hence medians rather than means. Where it is a time to an
        event, the risk score: the log-hazard, relative to the baseline.

        >>> release.predict(heart.data[:3]).shape
        (3,)
        """
        return self.model.prediction.predict(self, self.encode(X), return_std)

    @available_if(_has_times)
    def predict_cumulative_hazard_function(self, X: Rows, return_array: bool = False) -> Any:
        """Predict the cumulative hazard of each row, by the source alone.

        Returns step functions, (n_samples,), or with ``return_array`` their values at
        ``unique_times_``, (n_samples, n_times).
        """
        hazards = cumulative_hazards(self.model.hazards.baseline, self.predict(X))
        return curves(self.outcome, hazards, 0.0, return_array)

    @available_if(_has_times)
    def predict_survival_function(self, X: Rows, return_array: bool = False) -> Any:
        """Predict the probability of each row to be without the event, over time.

        As :meth:`predict_cumulative_hazard_function`; the median is where a curve falls below .5.
        """
        hazards = cumulative_hazards(self.model.hazards.baseline, self.predict(X))
        return curves(self.outcome, np.exp(-hazards), 1.0, return_array)

    @available_if(_has_times)
    def survival_curve(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return the probability of being without the event over time, of all rows of the source.

        By Nelson and Aalen's estimate; the band for noise and sampling is for each time alone.
        """
        return survival_curve(self, confidence)

    @property
    def unique_times_(self) -> np.ndarray:
        """Ndarray of shape (n_times,): times at which curves of survival step."""
        return self.outcome.curve_times

    @available_if(_has_classes)
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Predict probabilities, (n_samples, n_classes), by the source alone; see :meth:`scores`.

        >>> release.predict_proba(heart.data).sum(axis=1).round(6)[:3]
        array([1., 1., 1.])
        """
        return self.model.probabilities(self.encode(X))

    def score(self, X: Rows, y: ArrayLike) -> float:
        """Return the accuracy of :meth:`predict`; R² of numbers, Harrell's concordance of times.

        It has no noise, and is for the owner of the rows alone; that of
        :func:`~skdp.evaluate_privately` may be shared. Missing labels, or −1 without being a class
        of the release, raise ValueError.

        >>> release.score(heart.data, heart.target) > 0.7
        True
        """
        return self.model.prediction.score(self, y, self.predict(X))

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, as_frame: bool = False
    ) -> tuple[Any, np.ndarray]:
        """Return synthetic labeled rows, covered by the guarantee of the release.

        For a release of noisy sums of a table: numbers in the steps of the schema, with
        categories and missing values as frequent as in the classes and the correlations within
        these; labels by the probabilities that the release gives to the rows. Otherwise
        classes are drawn by their frequencies, and rows from the normal distributions of their
        class, clipped to the public bounds. ValueError says that the release has no moments.

        With ``as_frame`` rows are a table: with an ``encoder``, decoded to values that its schema
        allows. Outcomes are class labels, numbers, or a structured array of event and time. A seed
        weakens no guarantee here: the noise was drawn when the release was made.

        >>> X, y = release.sample(100, random_state=0, as_frame=True)
        >>> X.shape, y.shape
        ((100, 13), (100,))
        """
        self._require_moments("from which rows are drawn")
        return drawn_rows(self, n_samples, random_state, as_frame)

    def effects(self, positive: Any = None) -> pd.DataFrame:
        """Return what each value of each column adds to the log-odds of a class.

        Scores are sums over the columns, so this table describes the model completely. Of a
        number they are in its unit, or its logarithm; of times they are log-hazards. The class is
        by default the second of two; ValueError says that it, or such scores, are not there.

        The table has a row for each ``column`` and ``value`` (of a number, 33 between its bounds,
        or its steps if these are fewer; None: a missing value), with ``effect``, centered over
        these rows.
        """
        return column_effects(self, positive)

    def explain(self, x: ArrayLike | pd.DataFrame | pd.Series) -> Explanation:
        """Explain the prediction of one row by the source alone, of times the log-hazard.

        Each column is varied alone over its public values: those of the schema, or the public
        bounds; without either, over [0, 1] and the row's own value. The row is a DataFrame of one
        row, a Series or an array; see :func:`~skdp.tabular.explain_prediction`.

        >>> release.explain(heart.data.iloc[[0]]).to_frame().shape
        (13, 4)
        """
        return explained_row(self, x)

    def plot_effects(self, columns: Sequence[str] | None = None, positive: Any = None) -> Any:
        """Plot :meth:`effects` by :class:`~skdp.displays.EffectsDisplay`, return axes."""
        display = EffectsDisplay.from_release(self, columns=columns, positive=positive)
        return display.plot().axes_

    def describe_columns(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return statistics of each column by class, in the units of the schema.

        The descriptive table of a study, computed from the release alone: it costs no further
        privacy. A row for each ``column``, ``statistic`` and ``class`` (None: all rows), with
        ``value`` and the ends ``low`` and ``high`` of its interval, which are infinite or at the
        bounds where noise leaves nothing known. Intervals include noise, sampling, and the
        uncertainty that the clipping of rows leaves; those of counts are for the rows themselves.

        Statistics are "rows", of no column; "mean" and "deviation" of numbers, without missing
        values, where values beyond the bounds count as the bounds; on a logarithmic scale
        "geometric mean" and "geometric deviation", a factor, which are "shifted", of x plus a
        hundredth of the upper bound, where the scale begins at zero; "mean rank", from 1, of
        ordered categories; "share of ..." for each category, among rows where it is known; and
        "missing". Of times, "hazard ratio of ..." for each category: the hazard of its rows,
        whatever their other columns, relative to that of all rows. Where people are protected,
        each counts once, and deviations are those of rows; intervals of means are then too wide.

        Intervals are those of Fieller (1954), and of shares those of Wilson (1927) with noise.
        """
        self._require_moments("from which columns are described")
        return describe_columns(self, confidence)

    def summary(self) -> str:
        r"""Return a text for people: what the release contains and what it guarantees.

        >>> print("\n".join(release.summary().splitlines()[:3]))
        Release(2 classes, 34 features, (8, 1e-05)-DP per labeled record, add/remove)
        <BLANKLINE>
        What is in the file
        """
        return as_text(self)

    def restrict(self, names: Iterable[str]) -> Self:
        """Return the release of some of the columns: its marginal, for rows that lack the others.

        It costs no privacy; its guarantee is that of this release, about all columns, because the
        noisy values of the omitted ones influenced it. Linear scores replace the omitted columns
        by their expectation given the others, and mixtures become marginal ones. A classifier of
        all columns has no marginal: mixtures score in its place, or the normal distributions of
        the moments. Nor has the alignment, so the papers' strategies cannot use the result. Names
        are those of the table with an ``encoder``, otherwise ``feature_names``, in a new order.

        >>> release.restrict(["cp", "age"])
        Release(2 classes, 6 features, (8, 1e-05)-DP per labeled record, add/remove)
        """
        columns, changes = chosen_columns(self, names)
        if np.array_equal(columns, np.arange(self.n_features)):
            return self
        self._require_moments("which a release of some columns is computed from")
        return replace(self, **changes, model=self.model.restrict(columns, self))

    @classmethod
    def merge(cls, releases: Iterable[Self], *, disjoint: bool) -> Self:
        """Return the release of the rows of several sources together, which may be merged again.

        Noisy sums are added, and so are the variances of their noise; everything else is then
        estimated once. Classes are separated *within* sources, as far as noise leaves the
        differences of their frequencies and means. With two classes, the intercept at a new
        site is uncertain by the spread of those of the sources, see ``intercept_sd``.

        The releases are of :class:`~skdp.DPStatisticsSource` with sums of a table,
        and of the same columns in any order, bounds, categories and classes; ValueError says which
        differs, and how. Warns when one has so much noise that the result is better without it.
        ``disjoint`` says that you know that no person has rows in two of the sources, which the
        releases cannot tell: each person then has the guarantee of the one source with their
        rows, and that of the result is the weakest of these; otherwise it is their sum.

        >>> parts = [source.fit(heart.data[k::2], heart.target[k::2]).release_ for k in range(2)]
        >>> Release.merge(parts, disjoint=True).statistics.n_sources
        2
        """
        return merged_release(cls, list(releases), disjoint)

    @property
    def record_guarantee(self) -> PrivacyGuarantee | None:
        """PrivacyGuarantee or None: the guarantee for a whole record with its label.

        None where labels were used as they are, see :func:`~skdp.privacy.record_guarantee`.
        """
        if self.guarantee.unit in WHOLE:
            return self.guarantee
        n_elements = elements_per_record(self.encoder, self.guarantee.n_features)
        return record_guarantee(self.guarantee, self.label_guarantee, n_elements)

    @property
    def classes(self) -> np.ndarray:
        """Ndarray of shape (n_classes,): sorted labels; missing of a number or a time."""
        return read_only(stored_labels(list(self.outcome.classes)), copy=False)

    # Under the name that scikit-learn's tools look for.
    classes_ = classes

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Raise TypeError: it is trained, and this shows scikit-learn's tools an estimator."""
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
        added = ", add/remove" if self.guarantee.relation == "add/remove" else ""
        return (
            f"Release({self.outcome.about}, {self.n_features} features, "
            f"({self.guarantee.epsilon:g}, {self.guarantee.delta:g})-DP "
            f"per {self.guarantee.unit}{added})"
        )

    def _repr_html_(self):
        return (
            f"<details open><summary><b>{as_html(repr(self))}</b></summary>"
            f"{definitions(statements(self).items())}</details>"
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays from a pickle are writable, but nobody else holds them.
        self.__dict__.update(state)
        self._freeze(copy=False)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self

    __copy__ = __sklearn_clone__ = __deepcopy__
