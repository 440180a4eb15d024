"""The release: the only thing that the source's owner gives to the target's owner."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, BinaryIO, NoReturn, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import (
    ClassifierTags,
    InputTags,
    RegressorTags,
    Tags,
    TargetTags,
    check_random_state,
)
from sklearn.utils.metaestimators import available_if

from skdp.displays import EffectsDisplay
from skdp.privacy import WHOLE, PrivacyGuarantee, record_guarantee
from skdp.release._column_table import describe_columns
from skdp.release._columns import chosen_columns, column_names, encoded_rows
from skdp.release._effects import column_effects, explained_row
from skdp.release._frame import (
    KIND,
    check_frame,
    check_outcome,
    elements_per_record,
    float_dtype,
    pack,
    unpack,
)
from skdp.release._merging import (
    check_mergeable,
    merged_guarantee,
    names_to_restrict_by,
    warn_of_noisiest,
)
from skdp.release._model import Model
from skdp.release._numbers import predicted_numbers
from skdp.release._parts import read_only, require
from skdp.release._summary import as_text, statements
from skdp.release._times import (
    concordance,
    cumulative_hazards,
    curve_times,
    curves,
    survival_curve,
)
from skdp.tabular import (
    EventOutcome,
    Explanation,
    NumericColumn,
    Outcome,
    Schema,
    canonical,
    fitted_encoder,
    numbers,
    spelled_as,
)
from skdp.utils._html import as_html, definitions
from skdp.utils._labels import scorable_labels
from skdp.utils._storage import load_arrays, save_arrays, well_formed


def _of_model(name, text):
    """Return a property of a release that reads a part of its model."""
    return property(lambda release: getattr(release.model, name), doc=text)


def _has_classes(release):
    if release.outcome is not None:
        raise AttributeError("A release about a number or a time has no classes: use predict.")
    return True


def _has_times(release):
    if not isinstance(release.outcome, EventOutcome):
        raise AttributeError("Only a release about a time to an event has curves of survival.")
    return True


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release:
    """A differentially private file of noisy statistics, from which a target learns.

    An owner of private rows makes it, by :meth:`DPSource.fit` from noisy rows or by
    :meth:`DPStatisticsSource.fit` from noisy statistics; :class:`~skdp.DPTransferClassifier`
    combines it with rows of the target. Everything in it was computed after noise had been added,
    so anything that anybody computes from it is covered by its ``guarantee`` too.

    A release is a frame of what is public around one model of what was learned. It is immutable,
    and validated when it is made or loaded. Its arrays are read-only, so copies, clones and
    parameter searches share it. It contains what its file contains and nothing else: no seed and
    no generator. To scikit-learn's tools it is a fitted classifier, which cannot be fitted again.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Class labels, sorted. Class indices are positions among them.
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
    outcome : NumericColumn, EventOutcome or None, default=None
        Where what is predicted is a number: its public bounds and scale. ``classes`` are then the
        bounds, and to scikit-learn's tools the release is a fitted regressor. Where it is a time
        to an event: its horizon. The release is then a fitted model of scikit-survival's kind.

    Raises
    ------
    ValueError
        When parts are missing, damaged, or do not fit together; the message names the part.

    See Also
    --------
    DPSource : Makes a release from perturbed rows.
    DPStatisticsSource : Makes a release from perturbed statistics.
    DPTransferClassifier : Learns from one.

    Examples
    --------
    The owner makes a release and saves it, and a target loads it (examples of methods go on from
    here):

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
    >>> release.encoder.names[:3]
    ('age', 'sex', 'cp')
    """

    classes: np.ndarray
    n_features: int
    dtype: np.dtype
    guarantee: PrivacyGuarantee
    model: Model
    label_guarantee: PrivacyGuarantee | None = None
    feature_names: np.ndarray | None = None
    bounds: np.ndarray | None = None
    encoder: Schema | None = None
    outcome: Outcome | None = None

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
        require(isinstance(self.model, Model), "model", "must be a model of skdp.release")
        type(self.model).validate(
            self.model, "", self, {"K": len(self.classes), "p": self.n_features}
        )
        check_outcome(self)
        self._freeze()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap_mode: str | None = None) -> Self:
        """Read a release from a file that :meth:`save` wrote; no code in the file can run.

        Parameters
        ----------
        path : str or path-like
        mmap_mode : {"r", None}, default=None
            With "r" the arrays stay in the file and are shared between processes: for large
            releases. The file must not be truncated meanwhile; :meth:`save` never does that.

        Raises
        ------
        ValueError
            When the file is truncated, altered, of a newer version or not a release.
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
        """Write the release to a file that holds arrays and text, and no code.

        Parameters
        ----------
        path : str, path-like or binary file
            Used as given, whatever its ending.
        overwrite : bool, default=True
            Whether an existing file may be replaced (otherwise FileExistsError is raised); the
            new file keeps its permissions.
        """
        save_arrays(path, KIND, *pack(self), overwrite=overwrite)

    def encode(self, X: ArrayLike | pd.DataFrame) -> np.ndarray:
        """Return rows as numbers in the columns of the release.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_columns)
            The columns of a DataFrame are matched by name, in any order: with an ``encoder``
            they are those of its schema, or the encoded ones; without, the features. An array has
            the features in their order, already encoded.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            float32 or float64.

        Raises
        ------
        ValueError
            When X lacks columns, or contains anything but finite numbers.

        Warns
        -----
        UserWarning
            When more than half of the values of a column lie outside its public bounds by more
            than a tenth of their width, as values in other units would; when more than a tenth of
            the values of a column are no number, or no category, of the schema; and when a
            DataFrame has more columns than are needed.

        Examples
        --------
        >>> release.encode(heart.data[:5]).shape
        (5, 34)
        """
        return encoded_rows(self, X)

    def scores(self, X: ArrayLike | pd.DataFrame) -> np.ndarray:
        """Return the score of each class by the source alone; larger is more likely.

        Minus the squared reconstruction error where there is a classifier, otherwise the
        log-posterior up to a constant for each row: of ``linear``, or of ``mixtures``.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_features)
            Rows in the source's own columns, see :meth:`encode`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)

        Raises
        ------
        ValueError
            When the release has no part that scores, or X lacks features of the source.
        """
        return self.score_encoded(self.encode(X))

    def score_encoded(self, rows: np.ndarray) -> np.ndarray:
        """Return :meth:`scores` of rows that are encoded in the columns of this release."""
        return self.model.score(rows)

    def predict(self, X: ArrayLike | pd.DataFrame, return_std: bool = False) -> Any:
        """Predict the class label of each row by the source alone, see :meth:`scores`.

        Or the number, where the ``outcome`` is one: with ``return_std``, also the standard
        deviations of the numbers about their predictions. On a logarithmic scale these are
        predictions of the logarithm, hence medians rather than means. Where it is a time to an
        event, the risk score: the log-hazard, relative to the baseline.

        >>> release.predict(heart.data[:3]).shape
        (3,)
        """
        if isinstance(self.outcome, NumericColumn):
            return predicted_numbers(self, self.encode(X), return_std)
        if return_std:
            raise ValueError("The 'return_std' parameter of Release.predict is for numbers only.")
        if self.outcome is not None:
            return self.model.risks(self.encode(X))
        return self.classes[self.scores(X).argmax(axis=1)]

    @available_if(_has_times)
    def predict_cumulative_hazard_function(
        self, X: ArrayLike | pd.DataFrame, return_array: bool = False
    ) -> np.ndarray:
        """Predict the cumulative hazard of each row, by the source alone.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_features)
            Rows in the source's own columns, see :meth:`encode`.

        return_array : bool, default=False
            Whether to return the values at ``unique_times_``.

        Returns
        -------
        hazards : ndarray of StepFunction, of shape (n_samples,), or (n_samples, n_times)
        """
        hazards = cumulative_hazards(self.model.hazards.baseline, self.predict(X))
        return curves(self.outcome, hazards, 0.0, return_array)

    @available_if(_has_times)
    def predict_survival_function(
        self, X: ArrayLike | pd.DataFrame, return_array: bool = False
    ) -> np.ndarray:
        """Predict the probability of each row to be without the event, over time.

        Parameters and shapes are those of :meth:`predict_cumulative_hazard_function`. The median
        survival is where a curve falls below one half.
        """
        hazards = cumulative_hazards(self.model.hazards.baseline, self.predict(X))
        return curves(self.outcome, np.exp(-hazards), 1.0, return_array)

    @available_if(_has_times)
    def survival_curve(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return the probability of being without the event over time, of all rows of the source.

        From the noisy counts of rows by how they leave, by Nelson and Aalen's estimate.

        Parameters
        ----------
        confidence : float, default=0.95
            Of the band for noise and sampling, at each time by itself.

        Returns
        -------
        curve : DataFrame
            With ``time``, from 0 to the horizon, ``survival``, ``low`` and ``high``.

        Raises
        ------
        ValueError
            When the confidence is not between 0 and 1.
        """
        return survival_curve(self, confidence)

    @property
    def unique_times_(self) -> np.ndarray:
        """Ndarray of shape (n_times,): times at which curves of survival step."""
        if not isinstance(self.outcome, EventOutcome):
            raise AttributeError("Only a release about a time to an event has unique_times_.")
        return curve_times(self.outcome)

    @available_if(_has_classes)
    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> np.ndarray:
        """Predict probabilities, (n_samples, n_classes), by the source alone; see :meth:`scores`.

        Those of a classifier are described in :meth:`WideCDMMAClassifier.predict_proba`.

        >>> release.predict_proba(heart.data).sum(axis=1).round(6)[:3]
        array([1., 1., 1.])
        """
        return self.model.probabilities(self.encode(X))

    def score(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> float:
        """Return the accuracy of :meth:`predict`; R² of numbers, Harrell's concordance of times.

        It is computed without noise and is not covered by the guarantee. An owner can use it on
        held-out rows before publishing the release; it must not leave the owner's hands.
        :func:`~skdp.evaluate_privately` computes figures that may be shared. Missing labels, or
        −1 without being a class of the release, raise ValueError.

        >>> release.score(heart.data, heart.target) > 0.7
        True
        """
        if isinstance(self.outcome, EventOutcome):
            return concordance(self.outcome, y, self.predict(X), "Release.score")
        if self.outcome is not None:
            return float(r2_score(numbers(y), self.predict(X)))
        labels = list(map(canonical, self.classes.tolist()))
        y = spelled_as(scorable_labels(y, "Release.score", "auto", labels), self.classes)
        return float(accuracy_score(y, self.predict(X)))

    def sample(
        self,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
        *,
        as_frame: bool = False,
    ) -> tuple[Any, np.ndarray]:
        """Return synthetic labeled rows, covered by the guarantee of the release.

        For a release of noisy sums of a table: numbers in the steps of the schema, with
        categories and missing values as frequent as in the classes and the correlations within
        these; labels by the probabilities that the release gives to the rows. Otherwise
        classes are drawn by their frequencies, and rows from the normal distributions of their
        class, clipped to the public bounds.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None
            A seed here weakens no guarantee: the noise was drawn when the release was made.
        as_frame : bool, default=False
            Whether rows are returned as a table: with an ``encoder``, decoded to values that its
            schema allows; otherwise with ``feature_names``, or x0, x1 and so on.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features), or DataFrame
            In the dtype of the source's rows.
        y : ndarray of shape (n_samples,)
            Class labels, numbers, or a structured array of event and time.

        Raises
        ------
        ValueError
            When the release has no moments, or ``n_samples`` is no whole number above 0.

        Examples
        --------
        >>> X, y = release.sample(100, random_state=0, as_frame=True)
        >>> X.shape, y.shape
        ((100, 13), (100,))
        """
        if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
            raise ValueError(
                "The 'n_samples' parameter of Release.sample must be a whole number >= 1, got "
                f"{n_samples!r}."
            )
        self._require_moments("from which rows are drawn")
        rows, labels = self.model.sample(n_samples, self, check_random_state(random_state))
        rows = rows.astype(self.dtype)
        if as_frame and self.encoder is not None:
            rows = fitted_encoder(self.encoder).inverse_transform(rows)
        elif as_frame:
            rows = pd.DataFrame(rows, columns=column_names(self))
        return rows, labels if self.outcome is not None else self.classes[labels]

    def effects(self, positive: Any = None) -> pd.DataFrame:
        """Return what each value of each column adds to the log-odds of a class.

        Scores are sums over the columns, so this table describes the model completely. Of a
        number they are in its unit, or its logarithm; of times they are log-hazards.

        Parameters
        ----------
        positive : label or None, default=None
            The class; None: the second of two.

        Returns
        -------
        table : DataFrame
            One row for each ``column`` and ``value`` (of a number, 33 between its bounds, or its
            steps if these are fewer; None: a missing value), with ``effect``, centered over these
            rows.

        Raises
        ------
        ValueError
            When the release has no such scores, or not this class.
        """
        return column_effects(self, positive)

    def explain(self, x: ArrayLike | pd.DataFrame | pd.Series) -> Explanation:
        """Explain the prediction of one row by the source alone.

        Each column is varied alone over its public values: those of the schema, or the public
        bounds. Without either, over [0, 1], extended to the row's own value if necessary.

        Parameters
        ----------
        x : DataFrame of one row, Series, or array-like of shape (n_features,)
            The row, see :meth:`encode`.

        Returns
        -------
        explanation : Explanation
            See :func:`~skdp.tabular.explain_prediction`; of times of the log-hazard.

        Raises
        ------
        ValueError
            When x is not one row in the columns of the release.

        Examples
        --------
        >>> release.explain(heart.data.iloc[[0]]).to_frame().shape
        (13, 4)
        """
        return explained_row(self, x)

    def plot_effects(
        self, columns: Sequence[str] | None = None, positive: Any = None
    ) -> np.ndarray:
        """Plot :meth:`effects` of these columns, or the twelve widest, and return the axes.

        See :class:`~skdp.displays.EffectsDisplay`; needs matplotlib (extra ``plot``).
        """
        display = EffectsDisplay.from_release(self, columns=columns, positive=positive)
        return display.plot().axes_

    def describe_columns(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return statistics of each column by class, in the units of the schema.

        The descriptive table of a study. It is computed from the release alone, so
        it costs no further privacy, and whoever has the release can compute it.

        Parameters
        ----------
        confidence : float, default=0.95
            Of the intervals for the distribution that the rows come from: they include noise,
            sampling, and the uncertainty that the clipping of rows leaves. Intervals of counts are
            for the rows themselves.

        Returns
        -------
        table : DataFrame
            One row for each ``column``, ``statistic`` and ``class`` (None: all rows), with
            ``value`` and the ends ``low`` and ``high``, which are infinite or at the bounds where
            noise leaves nothing known. Statistics are "rows", of no column; "mean" and "deviation"
            of numbers, without missing values, where values beyond the bounds count as the
            bounds; on a logarithmic scale "geometric mean" and "geometric deviation", a
            factor, which are "shifted", of x plus a hundredth of the upper bound, where the scale
            begins at zero; "mean rank", from 1, of ordered categories; "share of ..." for each
            category, among rows where it is known; and "missing". Of times, "hazard ratio of ..."
            for each category: the hazard of its rows, whatever their other columns, relative to
            that of all rows; their survival is that of all rows to this power. Where people are
            protected, each counts once, and deviations are those of rows; intervals of means are
            then too wide.

        Raises
        ------
        ValueError
            When the release has no moments, or the confidence is not between 0 and 1.

        Notes
        -----
        Ratios of noisy sums have the intervals of Fieller (1954), shares those of Wilson (1927)
        with noise. Deviations by class follow from the means of basis functions, as those of
        maximum-entropy distributions.
        """
        self._require_moments("from which columns are described")
        return describe_columns(self, confidence)

    def summary(self) -> str:
        r"""Return a text for people: what the release contains and what it guarantees.

        The contents, what is protected and how well (also for a whole record and for labels),
        the columns, and the results. ``skdp describe`` prints the same text.

        >>> print("\n".join(release.summary().splitlines()[:3]))
        Release(2 classes, 34 features, (8, 1e-05)-DP per labeled record, add/remove)
        <BLANKLINE>
        What is in the file
        """
        return as_text(self)

    def restrict(self, names: Iterable[str]) -> Self:
        """Return the release of some of the columns: its marginal.

        For rows that lack the other columns. The marginal is computed from this release alone, so
        it costs no privacy; its guarantee is that of this release, about all columns, because
        the noisy values of the omitted ones influenced it. Linear scores replace the omitted
        columns by their expectation given the others, and mixtures become marginal ones. A
        classifier of all columns has no marginal: mixtures score in its place, or the normal
        distributions of the moments where there are none. The alignment has no marginal either, so
        the papers' strategies cannot use a restricted release.

        Parameters
        ----------
        names : iterable of str
            Names of the columns that remain, each once, in their new order. With
            an ``encoder`` those of the table, otherwise some of ``feature_names``.

        Returns
        -------
        release : Release
            This one if all columns remain in their order.

        Raises
        ------
        ValueError
            When names are unknown or repeated, or there are none; when the columns have no names;
            when the release has no moments.

        Examples
        --------
        >>> release.restrict(["cp", "age"])
        Release(2 classes, 6 features, (8, 1e-05)-DP per labeled record, add/remove)
        """
        columns, encoder = chosen_columns(self, names)
        if np.array_equal(columns, np.arange(self.n_features)):
            return self
        self._require_moments("which a release of some columns is computed from")
        return replace(
            self,
            n_features=len(columns),
            feature_names=None if self.feature_names is None else self.feature_names[columns],
            bounds=None if self.bounds is None else self.bounds[:, columns],
            encoder=encoder,
            model=self.model.restrict(columns, self),
        )

    @classmethod
    def merge(cls, releases: Iterable[Self], *, disjoint: bool) -> Self:
        """Return the release of the rows of several sources together.

        Noisy sums are added, and so are the variances of their noise; everything else is then
        estimated once. Classes are separated *within* sources, as far as noise leaves the
        differences of their frequencies and means. With two classes, the intercept at a new
        site is uncertain by the spread of those of the sources, see ``intercept_sd``.

        Parameters
        ----------
        releases : sequence of Release
            Of :class:`~skdp.DPStatisticsSource` with its linear model: of the same columns in any
            order, bounds, categories and classes.
        disjoint : bool
            Whether you know that no person has rows in two of the sources; the releases cannot
            tell. If so, each person has the guarantee of the one source with their rows, and the
            guarantee of the result is the weakest of these; otherwise it is their sum.

        Returns
        -------
        release : Release
            One like any other, which may be merged again.

        Raises
        ------
        ValueError
            When one of them has no sums, occurs twice, or differs in classes, columns or the
            unit of its guarantee; the message names which, and how.

        Warns
        -----
        UserWarning
            When one has so much noise that the result would be better without it.

        Examples
        --------
        >>> parts = [source.fit(heart.data[k::2], heart.target[k::2]).release_ for k in range(2)]
        >>> Release.merge(parts, disjoint=True).statistics.n_sources
        2
        """
        releases = list(releases)
        check_mergeable(releases, cls, disjoint)
        first, *others = releases
        if first.feature_names is not None:
            others = [release.restrict(names_to_restrict_by(first)) for release in others]
        models = [release.model for release in (first, *others)]
        warn_of_noisiest([model.statistics for model in models])
        return replace(
            first,
            dtype=np.result_type(*(release.dtype for release in releases)),
            guarantee=merged_guarantee([release.guarantee for release in releases], disjoint),
            model=type(first.model).merge(models),
        )

    @property
    def record_guarantee(self) -> PrivacyGuarantee | None:
        """PrivacyGuarantee or None: the guarantee for a whole record with its label.

        None where labels were used as they are, see :func:`~skdp.privacy.record_guarantee`. A
        changed record of an encoded table changes at most two of the indicators of a category.
        """
        if self.guarantee.unit in WHOLE:
            return self.guarantee
        n_elements = elements_per_record(self.encoder, self.guarantee.n_features)
        return record_guarantee(self.guarantee, self.label_guarantee, n_elements)

    @property
    def classes_(self) -> np.ndarray:
        """ndarray: ``classes``, under the name that scikit-learn's tools look for."""
        if self.outcome is not None:
            raise AttributeError("A release about a number or a time has no classes_.")
        return self.classes

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Raise TypeError: a release is already trained.

        The method exists because scikit-learn's tools recognize a classifier by it.
        """
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
        """Make all arrays read-only, after copying those that somebody else could write to."""
        for name, value in vars(self).copy().items():
            object.__setattr__(self, name, read_only(value, copy))

    def __sklearn_tags__(self) -> Any:
        number = isinstance(self.outcome, NumericColumn)
        kind = "regressor" if number else "classifier"
        return Tags(
            # Those of scikit-survival are of no kind that scikit-learn knows.
            estimator_type=kind if number or self.outcome is None else None,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if self.outcome is None else None,
            regressor_tags=RegressorTags() if number else None,
            input_tags=InputTags(allow_nan=self.encoder is not None),
            requires_fit=False,
        )

    def __repr__(self) -> str:
        added = ", add/remove" if self.guarantee.relation == "add/remove" else ""
        about = f"{len(self.classes)} classes"
        if self.outcome is not None:
            about = "a number" if isinstance(self.outcome, NumericColumn) else "a time to an event"
        return (
            f"Release({about}, {self.n_features} features, "
            f"({self.guarantee.epsilon:g}, {self.guarantee.delta:g})-DP "
            f"per {self.guarantee.unit}{added})"
        )

    def _repr_html_(self):
        """Return the text of :meth:`summary`, below a heading that folds in a notebook."""
        return (
            f"<details open><summary><b>{as_html(repr(self))}</b></summary>"
            f"{definitions(statements(self).items())}</details>"
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays from a pickle are writable, but nobody else holds them.
        self.__dict__.update(state)
        self._freeze(copy=False)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self
