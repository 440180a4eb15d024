"""The release: the only thing that the source's owner gives to the target's owner."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from textwrap import wrap
from typing import Any, NoReturn, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.metrics import accuracy_score
from sklearn.utils import (
    ClassifierTags,
    InputTags,
    Tags,
    TargetTags,
    check_random_state,
)

from skdp.displays import ShapeFunctionsDisplay
from skdp.membership import WideCDMMAClassifier
from skdp.privacy import WHOLE, PrivacyGuarantee, record_guarantee
from skdp.release._column_table import describe_columns
from skdp.release._columns import (
    check_names,
    numeric_columns,
    refuse_text,
    warn_of_units,
    warn_of_unread,
)
from skdp.release._effects import column_effects
from skdp.release._file import KIND, pack, unpack
from skdp.release._guarantees import (
    FEATURE_UNITS,
    check_guarantee,
    elements_per_record,
)
from skdp.release._linear_scores import LinearScores
from skdp.release._merging import (
    check_mergeable,
    column_names,
    merged_guarantee,
    warn_of_noisiest,
)
from skdp.release._mixtures import Mixtures
from skdp.release._moments import Moments, normal_root
from skdp.release._parts import (
    LARGEST,
    RowClassifier,
    SourceClassifier,
    check_shape,
    largest_magnitude,
    read_only,
    require,
)
from skdp.release._shapes import ShapeFunctions, merged_shapes
from skdp.release._statistics import Statistics
from skdp.release._subspace import Alignment, Subspace
from skdp.release._summary import statements
from skdp.release._synthetic_rows import SyntheticRows
from skdp.tabular import Schema, canonical, fitted_encoder, spelled_as
from skdp.utils._frames import as_frame
from skdp.utils._html import as_html, definitions
from skdp.utils._labels import scorable_labels
from skdp.utils._storage import load_arrays, save_arrays, well_formed
from skdp.utils._text import named_like
from skdp.utils._validation import check_array, checked_subset

# Types of labels that a file can hold.
_LABELS = (bool, int, float, str)
# Of lines of the summary, in characters (rule of thumb).
_WIDTH = 88


class _Estimated:
    """A part of a release that is estimated from its noisy sums, where it has these.

    It is computed when it is first accessed, and not stored in the file.
    """

    def __repr__(self):
        return "estimated"  # in signatures, as the default

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, release, owner=None):
        if release is None:
            return None  # the default of the field
        sums = vars(release).get("statistics")
        return vars(release)[self._name] if sums is None else getattr(sums, self._name)

    def __set__(self, release, value):
        # Where none is given, the default is passed, which is this descriptor.
        vars(release)[self._name] = None if value is self else value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release:
    """A differentially private file of noisy statistics, from which a target learns.

    A target loads a release, and predicts with it or trains on it:

    >>> from skdp import DPStatisticsSource, Release
    >>> from skdp.datasets import load_heart_disease
    >>> heart = load_heart_disease()
    >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
    >>> source.fit(heart.data, heart.target).release_.save("hospitals.skdp")
    >>> release = Release.load("hospitals.skdp")
    >>> release.predict(heart.data[:5]).shape
    (5,)

    An owner of private rows makes it, by :meth:`DPSource.fit` from noisy rows or by
    :meth:`DPStatisticsSource.fit` from noisy statistics; :class:`~skdp.DPTransferClassifier`
    combines it with rows of the target. Everything in it was computed after noise had been added,
    so anything that anybody computes from it is covered by its ``guarantee`` too.

    A release is immutable, and validated when it is made or loaded. Its arrays are read-only, so
    copies, clones and parameter searches share it. It contains what its file contains and nothing
    else: no seed and no generator. To scikit-learn's tools it is a fitted classifier, which
    cannot be fitted again.

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

    alignment : Alignment or None, default=None
        ``components`` V_sr, ``class_medians`` m_sr,c and ``mean`` of the noisy rows.

    statistics : Statistics or None, default=None
        The noisy sums themselves, of the columns and public functions of them, of one source or
        of several that were merged. Moments and linear scores are computed from them.

    moments : Moments or None, default=None
        ``class_counts`` and ``effective_sizes`` (n_classes,), ``means`` (n_classes, p), upper
        triangles of ``covariances`` (n_classes, p(p+1)/2), and ``noise`` (p,), its variances.

    subspace : Subspace or None, default=None
        Directions in which the rows without noise vary most; None where nothing is denoised.

    mixtures : Mixtures or None, default=None
        Mixture of normal distributions of each class, in the subspace.

    linear : LinearScores or None, default=None
        Log-posteriors of the classes as weighted sums of the features or of public functions of
        them.

    shapes : ShapeFunctions or None, default=None
        Functions of single columns that are added to these scores.

    classifier : WideCDMMAClassifier or None, default=None
        Classifier of the source: of denoised rows in the subspace where there is one, of the
        noisy rows otherwise.

    row_classifier : WideCDMMAClassifier or None, default=None
        Classifier of the noisy rows, which the papers' strategies need. Without a subspace it
        is ``classifier``.

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
    >>> release
    Release(2 classes, 34 features, (8, 1e-05)-DP per labelled record, add/remove)
    >>> release.guarantee.epsilon, release.guarantee.unit
    (8.0, 'labelled record')
    >>> release.encoder.names[:3]
    ('age', 'sex', 'cp')
    """

    classes: np.ndarray
    n_features: int
    dtype: np.dtype
    guarantee: PrivacyGuarantee
    label_guarantee: PrivacyGuarantee | None = None
    feature_names: np.ndarray | None = None
    bounds: np.ndarray | None = None
    encoder: Schema | None = None
    alignment: Alignment | None = field(default=None, metadata={"part": Alignment})
    statistics: Statistics | None = field(default=None, metadata={"part": Statistics})
    moments: Moments | None = field(
        default=_Estimated(),  # type: ignore[assignment]
        metadata={"part": Moments},
    )
    subspace: Subspace | None = field(default=None, metadata={"part": Subspace})
    mixtures: Mixtures | None = field(default=None, metadata={"part": Mixtures})
    linear: LinearScores | None = field(
        default=_Estimated(),  # type: ignore[assignment]
        metadata={"part": LinearScores},
    )
    shapes: ShapeFunctions | None = field(default=None, metadata={"part": ShapeFunctions})
    classifier: WideCDMMAClassifier | None = field(
        default=None, metadata={"part": SourceClassifier}
    )
    row_classifier: WideCDMMAClassifier | None = field(
        default=None, metadata={"part": RowClassifier}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _float_dtype(self.dtype))
        if self.subspace is None and self.row_classifier is None:
            object.__setattr__(self, "row_classifier", self.classifier)
        if isinstance(self.statistics, Statistics):
            self._forget_estimates()
        self._check()
        self._freeze()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap_mode: str | None = None) -> Self:
        """Read a release from a file that :meth:`save` wrote; no code in the file can run.

        Parameters
        ----------
        path : str or path-like
            The file.

        mmap_mode : {"r", None}, default=None
            With "r" the arrays stay in the file and are shared between processes: for large
            releases. The file must not be truncated while it is in use; :meth:`save` never does
            that.

        Returns
        -------
        release : Release

        Raises
        ------
        OSError
            When there is no such file, or it cannot be read.

        ValueError
            When the file is truncated, altered, of a newer version or not a release.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> release.save("hospitals.skdp")
        >>> Release.load("hospitals.skdp")
        Release(2 classes, 34 features, (8, 1e-05)-DP per labelled record, add/remove)
        """
        if mmap_mode not in (None, "r"):
            raise ValueError(
                "The 'mmap_mode' parameter of Release.load must be 'r' or None, got "
                f"{mmap_mode!r}. A release cannot be written to."
            )
        header, arrays = load_arrays(path, KIND, mmap_mode)
        with well_formed(path, KIND):
            return cls(**unpack(header, arrays, cls.part_kinds()))

    def predict(self, X: ArrayLike | pd.DataFrame) -> np.ndarray:
        """Predict the class of each row by the source's models alone.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_features)
            Rows in the source's own columns, see :meth:`encode`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.

        Raises
        ------
        ValueError
            When the release has no part that scores, or X lacks features of the source.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> release.predict(heart.data[:3]).shape
        (3,)
        """
        return self.classes[self.scores(X).argmax(axis=1)]

    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> np.ndarray:
        """Predict class probabilities by the source's models alone.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_features)
            Rows in the source's own columns, see :meth:`encode`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes``. Those of a classifier are described in
            :meth:`WideCDMMAClassifier.predict_proba`.

        Raises
        ------
        ValueError
            When the release has no part that scores, or X lacks features of the source.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> release.predict_proba(heart.data).sum(axis=1).round(6)[:3]
        array([1., 1., 1.])
        """
        rows = self.encode(X)
        if self.linear is None and self.classifier is not None:
            return self.classifier.predict_proba(self._codes(rows))
        return softmax(self.score_encoded(rows), axis=1)

    def summary(self) -> str:
        r"""Return a text for people: what the release contains and what it guarantees.

        Returns
        -------
        text : str
            The contents, what is protected and how well (also for a whole record and for labels),
            the columns, and the results. ``skdp describe`` prints the same text.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> print("\n".join(release.summary().splitlines()[:3]))
        Release(2 classes, 34 features, (8, 1e-05)-DP per labelled record, add/remove)
        <BLANKLINE>
        What is in the file
        """
        sections = [repr(self)]
        for title, text in statements(self).items():
            lines, wrapped = text.split("\n"), [title]
            for line in lines:
                hanging = " " * (len(line) - len(line.lstrip()) + 2) if len(lines) > 1 else ""
                wrapped += wrap(line, _WIDTH, subsequent_indent=hanging, break_on_hyphens=False)
            sections.append("\n  ".join(wrapped))
        return "\n\n".join(sections)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the release to a file that holds arrays and text, and no code.

        Parameters
        ----------
        path : str or path-like
            Where to write; used as given, whatever its ending.

        overwrite : bool, default=True
            Whether an existing file may be replaced; the new file keeps its permissions.

        Raises
        ------
        FileExistsError
            When the file exists and ``overwrite`` is False.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> release.save("hospitals.skdp")
        >>> Release.load("hospitals.skdp").n_features
        34
        """
        save_arrays(path, KIND, *pack(self), overwrite=overwrite)

    def score(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> float:
        """Return the accuracy of :meth:`predict`.

        The accuracy is computed without noise and is not covered by the guarantee. An owner can
        use it on held-out rows before publishing the release; it must not leave the owner's hands.
        :func:`~skdp.evaluate_privately` computes figures that may be shared.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_features)
            Rows that were not trained on.

        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        accuracy : float

        Raises
        ------
        ValueError
            When labels are missing, or −1 without being a class of the release.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> release.score(heart.data, heart.target) > 0.7
        True
        """
        known = list(map(canonical, self.classes.tolist()))
        y = spelled_as(scorable_labels(y, "Release.score", "auto", known), self.classes)
        return float(accuracy_score(y, self.predict(X)))

    def scores(self, X: ArrayLike | pd.DataFrame) -> np.ndarray:
        """Return the score of each class by the source's models alone; larger is more likely.

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

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> release.scores(heart.data[:3]).shape
        (3, 2)
        """
        return self.score_encoded(self.encode(X))

    def score_encoded(self, rows: np.ndarray) -> np.ndarray:
        """Return :meth:`scores` of rows that are already encoded in the columns of this release.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)

        Raises
        ------
        ValueError
            When the release has no part that scores.
        """
        if self.linear is not None:
            scores = self.linear.scores(rows)
            return scores if self.shapes is None else scores + self.shapes.scores(rows)
        if self.classifier is not None:
            return -self.classifier.reconstruction_errors(self._codes(rows))
        if self.mixtures is not None and self.moments is not None:
            return self.mixtures.log_posteriors(self._codes(rows), self.moments.frequencies)
        raise ValueError(
            "This release has no classifier of its own. Learn from it with DPTransferClassifier, "
            "or ask its owner for a release with one."
        )

    def _codes(self, rows):
        return rows if self.subspace is None else self.subspace.encode(rows)

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
            the values in a column of a table are no number, or no category, of the
            schema; and when a DataFrame has more columns than are needed.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from skdp import DPStatisticsSource
        >>> schema = {"age": {"type": "numeric", "low": 0, "high": 100}}
        >>> table = pd.DataFrame({"age": np.arange(100)})
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=schema, classes=["child", "adult"])
        >>> release = source.fit(table, np.where(table["age"] < 18, "child", "adult")).release_
        >>> release.encode(table[:3])
        array([[0.  ],
               [0.01],
               [0.02]])
        """
        schema = self.encoder
        X = named_like(as_frame(X), self.feature_names if schema is None else schema.names)
        names = getattr(X, "columns", None)
        if names is not None and schema is not None and not schema.is_encoded(names):
            # Finite by construction. scikit-learn's check would first search all installed
            # packages for table libraries, which takes longer than encoding 1,000 rows.
            rows = np.asarray(fitted_encoder(schema).transform(X))
            if not len(rows):
                raise ValueError("X has 0 sample(s), while a minimum of 1 is required.")
            warn_of_unread(schema, X)
            warn_of_units(numeric_columns(schema, X))
            return rows
        if names is None and schema is not None:
            refuse_text(schema, X)
        if names is not None and self.feature_names is not None:
            X = cast(Any, X)[check_names(list(names), self.feature_names.tolist())]
        rows = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if rows.shape[1] != self.n_features:
            raise ValueError(
                f"X has {rows.shape[1]} features, but Release is expecting {self.n_features} "
                "features as input. Use DPTransferClassifier for rows with other features."
            )
        if self.bounds is not None:
            warn_of_units(zip(self._column_names(), rows.T, *self.bounds, strict=True))
        return rows

    def _column_names(self):
        if self.feature_names is not None:
            return self.feature_names.tolist()
        return [f"x{i}" for i in range(self.n_features)]

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
            Number of rows.

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
            Class labels.

        Raises
        ------
        ValueError
            When the release has no moments, or ``n_samples`` is no whole number above 0.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> X, y = release.sample(100, random_state=0, as_frame=True)
        >>> X.shape, y.shape
        ((100, 13), (100,))
        """
        if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
            raise ValueError(
                "The 'n_samples' parameter of Release.sample must be a whole number >= 1, got "
                f"{n_samples!r}."
            )
        moments = self._needed_moments("from which rows are drawn")
        random_state = check_random_state(random_state)
        if self.statistics is not None and self.encoder is not None:
            rows, labels = self._table_rows(n_samples, random_state)
        else:
            rows, labels = self._normal_rows(moments, n_samples, random_state)
        rows = rows.astype(self.dtype)
        if as_frame:
            rows = self._frame(rows)
        return rows, self.classes[labels]

    def _table_rows(self, n_samples, random_state):
        """Return synthetic rows of a table, and the numbers of their classes."""
        rows = SyntheticRows(self.statistics, self.encoder).draw(n_samples, random_state)
        steps = np.cumsum(softmax(self.score_encoded(rows), axis=1), axis=1)
        places = random_state.random_sample((n_samples, 1)) * steps[:, -1:]
        return rows, (places > steps[:, :-1]).sum(axis=1)

    def _normal_rows(self, moments, n_samples, random_state):
        """Return rows of normal distributions, and the numbers of their classes."""
        labels = random_state.choice(len(self.classes), n_samples, p=moments.frequencies)
        rows, roots = np.empty((n_samples, self.n_features)), {}
        for c in np.unique(labels):
            here = np.flatnonzero(labels == c)
            k = c if len(moments.covariances) > 1 else 0  # one that all classes share
            if k not in roots:
                roots[k] = normal_root(moments.covariance(k), moments.eigenvalue_noise)
            normal = random_state.standard_normal((len(here), self.n_features)) @ roots[k]
            rows[here] = self._with_mixture(c, moments.means[c] + normal, random_state)
        if self.bounds is not None:
            rows = np.clip(rows, *self.bounds)
        return rows, labels

    def _with_mixture(self, c, rows, random_state):
        """Return rows of one class, by its mixture in the subspace and as they are elsewhere."""
        subspace = self.subspace
        if self.mixtures is None or subspace is None:
            return rows
        inside = subspace.project(rows)
        codes = self.mixtures.select([c]).sample(len(rows), random_state) / subspace.scale
        return rows + (codes - inside) @ subspace.components

    def _frame(self, rows):
        """Return rows as a DataFrame: of the source's tables, where there is an encoder."""
        if self.encoder is not None:
            return fitted_encoder(self.encoder).inverse_transform(rows)
        return pd.DataFrame(rows, columns=self._column_names())

    def effects(self, positive: Any = None) -> pd.DataFrame:
        """Return what each value of each column adds to the log-odds of a class.

        Scores are sums over the columns, so this table describes the model completely.

        Parameters
        ----------
        positive : label or None, default=None
            The class; None: the second of two.

        Returns
        -------
        table : DataFrame
            One row for each ``column`` and ``value`` (of a number, 33 between its bounds, or its
            steps if these are fewer;
            None: a missing value), with ``effect``, centered over these rows, and ``noise``,
            an upper bound of the standard deviation of the noise in the shape function; 0 where
            there is no shape function, as the noise of linear scores is not known by column.

        Raises
        ------
        ValueError
            When the release has no such scores, or not this class.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> table = release.effects()
        >>> table[table["column"] == "cp"]["value"].tolist()
        ['1', '2', '3', '4', None]
        """
        return column_effects(self, positive)

    def plot_effects(
        self, columns: Sequence[str] | None = None, positive: Any = None
    ) -> np.ndarray:
        """Plot :meth:`effects`, with bands of two standard deviations of the noise.

        Parameters
        ----------
        columns : list of str or None, default=None
            None: the twelve columns with the widest effects.

        positive : label or None, default=None
            The class; None: the second of two.

        Returns
        -------
        axes : ndarray of matplotlib.axes.Axes

        Raises
        ------
        ValueError
            When the release has no such scores, columns or class.

        ImportError
            When matplotlib is not installed (extra ``plot``).

        See Also
        --------
        skdp.displays.ShapeFunctionsDisplay : Draws it, also on given axes.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> axes = release.plot_effects(["age", "cp"])  # doctest: +SKIP
        """
        display = ShapeFunctionsDisplay.from_release(self, columns=columns, positive=positive)
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
            category, among rows where it is known; and "missing".

            Where people are protected, each of them counts once, and deviations are those of
            rows; intervals of means are then too wide rather than too narrow.

        Raises
        ------
        ValueError
            When the release has no moments, or the confidence is not between 0 and 1.

        Notes
        -----
        Ratios of noisy sums have the intervals of Fieller (1954), shares those of Wilson (1927)
        with noise. Deviations by class follow from the means of basis functions, as those of
        maximum-entropy distributions.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> table = release.describe_columns()
        >>> table[table["column"] == "age"]["statistic"].unique().tolist()
        ['mean', 'deviation']
        """
        if self.statistics is None:
            self._needed_moments("from which columns are described")
        return describe_columns(self, confidence)

    def _needed_moments(self, what):
        if self.moments is None:
            raise ValueError(
                f"This release has no moments, {what}. Ask its owner for one from "
                "DPStatisticsSource, or from DPSource(parts='noise_aware')."
            )
        return self.moments

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
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_heart_disease
        >>> heart = load_heart_disease()
        >>> source = DPStatisticsSource(epsilon=8.0, encoder=heart.schema, model="linear")
        >>> release = source.fit(heart.data, heart.target).release_
        >>> release.restrict(["cp", "age"])
        Release(2 classes, 6 features, (8, 1e-05)-DP per labelled record, add/remove)
        """
        columns, feature_names, encoder = self._chosen(names)
        if np.array_equal(columns, np.arange(self.n_features)):
            return self
        if self.statistics is None:
            self._needed_moments("which a release of some columns is computed from")
        parts: dict[str, Any] = dict.fromkeys(self.part_kinds())
        for name, (kind, part) in self.parts().items():
            parts[name] = kind.restrict(part, columns, self)
        scorers = ("linear", "classifier", "mixtures")
        alone = all(parts[name] is None for name in scorers)
        if self.classifier is not None and self.moments is not None and alone:
            subspace = Subspace.of_columns(self.moments, columns, len(columns))
            parts["subspace"] = subspace
            parts["mixtures"] = Mixtures.of_moments(parts["moments"], subspace)
        return replace(
            self,
            n_features=len(columns),
            feature_names=feature_names,
            bounds=None if self.bounds is None else self.bounds[:, columns],
            encoder=encoder,
            **parts,
        )

    def _chosen(self, names):
        """Return the numbers and names of the remaining columns, and their schema."""
        if self.feature_names is None:
            raise ValueError(
                f"The {self.n_features} columns of this release have no names to restrict it by. "
                "Ask its owner for one that was made from a DataFrame, or pass rows of all "
                "columns."
            )
        encoder = None if self.encoder is None else self.encoder.restrict(names)
        known = self.feature_names.tolist()
        if encoder is None:
            wanted = checked_subset("Release.restrict", names, known)
        else:
            wanted = encoder.encoded_names
        place = {name: number for number, name in enumerate(known)}
        columns = np.array([place[name] for name in wanted])
        return columns, self.feature_names[columns], encoder

    @classmethod
    def merge(cls, releases: Iterable[Self], *, disjoint: bool) -> Self:
        """Return the release of the rows of several sources together.

        Noisy sums are added, and so are the variances of their noise; everything else is then
        estimated once. Classes are separated *within* sources, as far as noise leaves the
        differences of their frequencies and means. With two classes, the intercept at a new
        site is uncertain by the spread of those of the sources, see
        ``intercept_sd``. A merged release is a release like any other and may be
        merged again.

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
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource, Release
        >>> rng = np.random.RandomState(0)
        >>> def hospital(n):
        ...     X, y = rng.rand(n, 2), rng.randint(2, size=n)
        ...     return DPStatisticsSource(1.0, classes=[0, 1]).fit(X + y[:, None] / 2, y).release_
        >>> Release.merge([hospital(300), hospital(400)], disjoint=True)
        Release(2 classes, 2 features, (1, 1e-05)-DP per labelled record, add/remove)
        """
        releases = list(releases)
        check_mergeable(releases, cls, disjoint)
        first, *others = releases
        if first.feature_names is not None:
            others = [each.restrict(column_names(first)) for each in others]
        mergeable = (first, *others)
        parts = [each.statistics for each in mergeable if each.statistics is not None]
        warn_of_noisiest(parts)
        guarantees = [each.guarantee for each in releases]
        statistics = Statistics.merge(parts)
        return replace(
            first,
            dtype=np.result_type(*(each.dtype for each in releases)),
            guarantee=merged_guarantee(guarantees, disjoint),
            statistics=statistics,
            moments=None,
            linear=None,
            shapes=merged_shapes([first, *others], statistics),
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
        return self.classes

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Raise TypeError: a release is already trained.

        The method exists because scikit-learn's tools recognize a classifier by it.

        Parameters
        ----------
        X, y : object
            Ignored.

        Raises
        ------
        TypeError
            Always; the message says what to use instead.
        """
        raise TypeError(
            "A Release cannot be fitted again. Learn from it and from rows of your own with "
            "DPTransferClassifier(release).fit(X, y); for a tool of scikit-learn that fits its "
            "estimator, pass FrozenEstimator(release)."
        )

    @classmethod
    def part_kinds(cls) -> dict[str, Any]:
        """Return the class that checks, stores, restricts and describes each part, by name."""
        return {f.name: f.metadata["part"] for f in fields(cls) if "part" in f.metadata}

    def parts(self) -> dict[str, tuple[Any, Any]]:
        """Return the class and the part of each that is stored, by name."""
        found = {name: (kind, vars(self)[name]) for name, kind in self.part_kinds().items()}
        return {name: (kind, part) for name, (kind, part) in found.items() if part is not None}

    def _forget_estimates(self):
        """Raise ValueError where estimates are given that are not those of the sums."""
        for name in ("moments", "linear"):
            given = vars(self)[name]
            own = given is None or given is getattr(self.statistics, name)
            require(own, name, "must be left out where there are statistics")
            vars(self)[name] = None

    def _check(self):
        """Raise ValueError, naming the part, unless all parts fit together and can be used."""
        _check_frame(self)
        units = FEATURE_UNITS | WHOLE
        # The other columns still tell about those that were left out.
        check_guarantee(self.guarantee, "guarantee", units, self.n_features, at_least=True)
        if self.label_guarantee is not None:
            own = self.guarantee.unit in FEATURE_UNITS
            require(own, "label_guarantee", "must be None where the guarantee is about labels too")
            check_guarantee(self.label_guarantee, "label_guarantee", {"label"}, 1)
        for name, (kind, part) in self.parts().items():
            kind.validate(part, name, self)
        some = any(name in self.parts() for name in ("statistics", "moments", "classifier"))
        require(some, "release", "has neither statistics, moments nor a classifier")

    def _freeze(self, copy=True):
        """Make all arrays read-only, after copying those that somebody else could write to."""
        one = self.row_classifier is self.classifier
        for name, value in vars(self).copy().items():
            kind = self.part_kinds().get(name)
            if kind is None:
                value = read_only(value, copy)
            elif value is not None:
                value = (
                    self.classifier if one and kind is RowClassifier else kind.freeze(value, copy)
                )
            object.__setattr__(self, name, value)

    def __sklearn_tags__(self) -> Any:
        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(allow_nan=self.encoder is not None),
            requires_fit=False,
        )

    def __repr__(self) -> str:
        added = ", add/remove" if self.guarantee.relation == "add/remove" else ""
        return (
            f"Release({len(self.classes)} classes, {self.n_features} features, "
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


def _float_dtype(dtype):
    """Return float32 or float64; raise ValueError for anything else."""
    for allowed in (np.dtype(np.float32), np.dtype(np.float64)):
        if any(
            dtype is same or dtype == same for same in (allowed.type, allowed.str, allowed.name)
        ):
            return allowed
    raise ValueError(
        f"The 'dtype' of a release must be float32 or float64, got {dtype!r}. Ask its owner for "
        "a sound one."
    )


def _check_frame(release):
    """Check what is public: classes, names, bounds and schema."""
    classes, p = release.classes, release.n_features
    labels = isinstance(classes, np.ndarray) and classes.ndim == 1
    labels = labels and all(type(c) in _LABELS for c in classes.tolist())
    labels = labels and len({type(c) for c in classes.tolist()}) == 1
    require(labels, "classes", "must be an array of numbers or one of text")
    require(classes.dtype.kind != "f" or np.isfinite(classes).all(), "classes", "must be finite")
    distinct = len(set(classes.tolist()))
    require(len(classes) == distinct >= 2, "classes", "must be two or more different ones")
    require(_is_count(p), "n_features", "must be a whole number >= 1")
    require(classes.tolist() == sorted(classes.tolist()), "classes", "must be sorted")
    names = release.feature_names
    if names is not None:
        listed = isinstance(names, np.ndarray) and names.shape == (p,)
        require(listed, "feature_names", f"must be an array of {p} names")
        texts = all(isinstance(name, str) for name in names.tolist())
        require(texts, "feature_names", "must be text")
        require(len(set(names.tolist())) == p, "feature_names", "must differ from each other")
    if release.bounds is not None:
        _check_bounds(release.bounds, p)
    if release.encoder is not None:
        require(isinstance(release.encoder, Schema), "encoder", "must be a Schema")
        given = () if names is None else tuple(names.tolist())
        encodes = release.encoder.encoded_names == given
        require(encodes, "encoder", "must encode rows into feature_names")


def _check_bounds(bounds, p):
    real = isinstance(bounds, np.ndarray) and bounds.dtype.kind == "f"
    require(real, "bounds", "must be an array of real numbers")
    check_shape(bounds, (2, p), "bounds")
    require(largest_magnitude(bounds) < LARGEST, "bounds", "must be finite")
    require((bounds[0] < bounds[1]).all(), "bounds", "must be low and high, low < high")


def _is_count(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1
