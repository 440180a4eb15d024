"""The release: the one thing that passes from the source's owner to the target's."""

from dataclasses import dataclass, fields, replace
from html import escape

import numpy as np
from sklearn.metrics import accuracy_score

from skdp.membership import WideCDMMAClassifier, frozen_classifier
from skdp.privacy import PrivacyGuarantee, record_guarantee
from skdp.release._alignment import Alignment
from skdp.release._basis import BasisFunctions
from skdp.release._io import read_release, write_release
from skdp.release._linear import LinearScores
from skdp.release._mixtures import Mixtures
from skdp.release._moments import Moments
from skdp.release._reading import decode_rows, encode_rows
from skdp.release._restricting import restrict_release
from skdp.release._sampling import sample_rows
from skdp.release._scoring import class_probabilities, class_scores
from skdp.release._subspace import Subspace
from skdp.release._summary import describe
from skdp.release._validation import WHOLE_UNITS, check_dtype, check_release
from skdp.release._values import elements_per_record
from skdp.tabular import Schema
from skdp.utils._labels import scorable_labels


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release:
    r"""What a private source hands out in place of its rows: an immutable value.

    :meth:`DPSource.fit` makes one from noisy rows, :meth:`DPStatisticsSource.fit` from noisy
    statistics; :meth:`save` and :meth:`load` carry it, and :class:`~skdp.DPTransferClassifier`
    learns from it. Everything in it was computed from what noise had been added to, so that
    whatever is computed from it, by anybody, keeps its :attr:`guarantee`.

    It is checked once, when it is made or loaded: one that exists can be used. Its arrays
    cannot be written to, so copies, clones and parameter searches share it. It holds what its
    file holds and nothing else: no seed, no generator. Its classifiers are there to be asked, not
    to be fitted again.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Class labels. Class indices are positions among them.

    n_features : int
        Number of features p of the source's rows.

    dtype : dtype
        float32 or float64, of the source's rows.

    guarantee : PrivacyGuarantee
        What is guaranteed about the source's features; of statistics, about whole records with
        their labels, or about persons. After :meth:`restrict` it is about those left out too.

    label_guarantee : PrivacyGuarantee or None, default=None
        What is guaranteed about its labels beside that; None where they were used as they are,
        or where ``guarantee`` is about them too.

    feature_names : ndarray of shape (n_features,) or None, default=None
        Names of the features, where they have names.

    bounds : ndarray of shape (2, n_features) or None, default=None
        Public bounds of the features, to which the source's rows were clipped.

    encoder : Schema or None, default=None
        Public schema by which tables were encoded into these features; tables that are asked about
        are encoded alike.

    alignment : Alignment or None, default=None
        ``components`` V_sr, ``class_medians`` m_sr,c and ``mean`` of the noisy rows.

    moments : Moments or None, default=None
        ``class_counts`` and ``effective_sizes`` (n_classes,), ``means`` (n_classes, p), upper
        triangles of ``covariances`` (n_classes, p(p+1)/2), and ``noise`` (p,), its variances.

    subspace : Subspace or None, default=None
        Directions in which rows behind the noise differ most; None where nothing is denoised.

    mixtures : Mixtures or None, default=None
        Mixture of normal distributions of each class, in the subspace.

    linear : LinearScores or None, default=None
        Log-posteriors of the classes as weighted sums of the features or of public functions of
        them.

    classifier : WideCDMMAClassifier or None, default=None
        Classifier of the source: of denoised rows in the subspace where there is one, of the
        noisy rows otherwise.

    row_classifier : WideCDMMAClassifier or None, default=None
        Classifier of the noisy rows, which the papers' strategies need. Without a subspace it
        is ``classifier``.

    See Also
    --------
    DPSource : Makes a release from perturbed rows.
    DPStatisticsSource : Makes a release from perturbed statistics.
    DPTransferClassifier : Learns from one.

    Examples
    --------
    >>> from skdp import DPSource
    >>> from skdp.datasets import load_digits_domains
    >>> domains = load_digits_domains()
    >>> source = DPSource(epsilon=8.0, bounds=(0, 1), n_layers=1, random_state=0)
    >>> release = source.fit(domains.source, domains.source_target).release_
    >>> release
    Release(10 classes, 64 features, (8, 0)-DP per element)
    >>> release.predict(domains.source[:5]).shape
    (5,)
    >>> release.save("digits.skdp")  # doctest: +SKIP
    >>> release = Release.load("digits.skdp")  # doctest: +SKIP
    """

    classes: np.ndarray
    n_features: int
    dtype: np.dtype
    guarantee: PrivacyGuarantee
    label_guarantee: PrivacyGuarantee | None = None
    feature_names: np.ndarray | None = None
    bounds: np.ndarray | None = None
    encoder: Schema | None = None
    alignment: Alignment | None = None
    moments: Moments | None = None
    subspace: Subspace | None = None
    mixtures: Mixtures | None = None
    linear: LinearScores | None = None
    classifier: WideCDMMAClassifier | None = None
    row_classifier: WideCDMMAClassifier | None = None

    def __post_init__(self):
        object.__setattr__(self, "dtype", check_dtype(self.dtype))
        if self.subspace is None and self.row_classifier is None:
            object.__setattr__(self, "row_classifier", self.classifier)
        check_release(self)
        self._freeze()

    @property
    def record_guarantee(self):
        """What a whole record with its label is guaranteed, a PrivacyGuarantee or None.

        None where labels were used as they are, see
        :func:`~skdp.privacy.record_guarantee`. A record of an encoded table moves no more than two
        of the indicators of a category.
        """
        if self.guarantee.unit in WHOLE_UNITS:
            return self.guarantee
        n_elements = elements_per_record(self.encoder, self.guarantee.n_features)
        return record_guarantee(self.guarantee, self.label_guarantee, n_elements)

    def _freeze(self, copy=True):
        """Make all arrays read-only: copies of those that somebody else could still write to."""
        shared = self.row_classifier is self.classifier
        for field in fields(self):
            object.__setattr__(self, field.name, _read_only(getattr(self, field.name), copy))
        if shared:
            object.__setattr__(self, "row_classifier", self.classifier)

    def encode(self, X):
        """Return rows as numbers in the columns of the release.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_columns)
            A DataFrame is matched by name, in any order: with an ``encoder`` it has the columns
            of its schema, or the encoded ones; without, the features. An array has the features
            in their order, encoded already.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            float32 or float64.

        Raises
        ------
        ValueError
            When X lacks columns, or holds something else than finite numbers.

        Warns
        -----
        UserWarning
            When more than half of the values of a column lie outside its public bounds by more
            than a tenth of their width, which other units would explain; when more than a tenth of
            the values that are there in a column of a table are no number, or no category, of the
            schema; and when a DataFrame has more columns than are needed.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from skdp import DPStatisticsSource
        >>> schema = {"age": {"type": "numeric", "low": 0, "high": 100}}
        >>> table = pd.DataFrame({"age": np.arange(100)})
        >>> source = DPStatisticsSource(encoder=schema, classes=["child", "adult"])
        >>> release = source.fit(table, np.where(table["age"] < 18, "child", "adult")).release_
        >>> release.encode(table[:3])
        array([[0.  ],
               [0.01],
               [0.02]])
        """
        return encode_rows(self, X)

    def scores(self, X):
        """Return the score of each class by the source alone, larger is likelier.

        Minus the squared reconstruction error where there is a classifier, otherwise the
        log-posterior up to a constant for each row: of ``linear``, or of ``mixtures``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the source's own features; as :meth:`encode` takes them.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)

        Raises
        ------
        ValueError
            When the release has no part that scores, or X lacks features of the source.
        """
        return class_scores(self, self.encode(X))

    def predict(self, X):
        """Return the class with the best score: what the source alone says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the source's own features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        return self.classes[self.scores(X).argmax(axis=1)]

    def predict_proba(self, X):
        """Return class probabilities by the source alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the source's own features.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes``. See :meth:`WideCDMMAClassifier.predict_proba` for those of
            a classifier.
        """
        return class_probabilities(self, self.encode(X))

    def sample(self, n_samples=1, random_state=None, *, as_frame=False):
        """Return synthetic labelled rows, as private as the release is.

        Classes are drawn by their frequencies, rows from the normal distributions of their
        class, clipped to the public bounds.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.

        random_state : int, RandomState instance or None, default=None
            Whatever it is, it undoes no noise: that was drawn when the release was made.

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
            When the release has no moments.

        Examples
        --------
        >>> from skdp import DPStatisticsSource
        >>> from skdp.datasets import load_digits_domains
        >>> domains = load_digits_domains()
        >>> source = DPStatisticsSource(epsilon=4.0, classes=range(10))
        >>> release = source.fit(domains.source, domains.source_target).release_
        >>> X, y = release.sample(100, random_state=0)
        >>> X.shape, y.shape
        ((100, 64), (100,))
        """
        rows, labels = sample_rows(self, n_samples, random_state)
        return (decode_rows(self, rows) if as_frame else rows), labels

    def restrict(self, names):
        """Return the release of some of the columns: the marginal of what it knows of all.

        For rows that lack the others. It is computed from this release alone, so that nothing
        is spent; the guarantee stays that of this release, about all its columns, since noisy
        values of those that are left out had a say in it. Linear scores put what the remaining
        columns let expect in place of the others, mixtures become marginal ones. A
        classifier of all columns has no marginal: mixtures score in its place, or the normal
        distributions of the moments where there are none. Neither has the alignment, so that the
        papers' strategies cannot use a release of fewer columns.

        Parameters
        ----------
        names : iterable of str
            Names of the columns that remain, each once; they are in this order then. With
            an ``encoder`` those of the table, otherwise some of ``feature_names``.

        Returns
        -------
        release : Release
            This one where all columns remain in their order.

        Raises
        ------
        ValueError
            When names are unknown or repeated, or there are none; when the columns have no names;
            when the release has no moments.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from skdp import DPStatisticsSource
        >>> schema = {name: {"type": "numeric", "low": 0, "high": 1} for name in "abc"}
        >>> rng = np.random.RandomState(0)
        >>> table = pd.DataFrame(rng.rand(1000, 3), columns=list("abc"))
        >>> source = DPStatisticsSource(encoder=schema, classes=[0, 1])
        >>> release = source.fit(table, (table["a"] + table["b"] > 1).astype(int)).release_
        >>> release.restrict(["b", "a"])
        Release(2 classes, 2 features, (1, 1e-05)-DP per labelled record, add/remove)
        """
        return restrict_release(self, names)

    def score(self, X, y):
        """Return the accuracy of :meth:`predict`.

        Ask for it, with held-out rows, before the release is handed out; they are queries,
        and stay where they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that were not trained on.

        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        accuracy : float

        Raises
        ------
        ValueError
            When labels are missing, or −1 and no class of the release.
        """
        y = scorable_labels(y, "Release.score", "auto", self.classes.tolist())
        return float(accuracy_score(y, self.predict(X)))

    def save(self, path, *, overwrite=True):
        """Write the release to a file that holds arrays and text, and no code.

        Parameters
        ----------
        path : str or path-like
            Where to write; used as given, whatever its ending.

        overwrite : bool, default=True
            Whether a file that is there may be replaced, and hands down its permissions.

        Raises
        ------
        FileExistsError
            When there is one, and ``overwrite`` is False.
        """
        write_release(self, path, overwrite)

    @classmethod
    def load(cls, path, *, mmap_mode=None):
        """Read a release that :meth:`save` wrote; no code in the file can run.

        Parameters
        ----------
        path : str or path-like
            The file; of this format, or of format 4.

        mmap_mode : {"r", None}, default=None
            With "r" arrays stay in the file, which processes then share: for large releases.
            The file must not be truncated meanwhile; :meth:`save` never does that.

        Returns
        -------
        release : Release

        Raises
        ------
        ValueError
            When the file is truncated, altered, of a newer version or not a release.
        """
        return read_release(cls, path, mmap_mode)

    def summary(self):
        """Return a few lines for humans: what the release is, and what it guarantees.

        Returns
        -------
        text : str
            Ends with the statements of :attr:`guarantee`, :attr:`label_guarantee` and
            :attr:`record_guarantee`.
        """
        return describe(self)

    def __repr__(self):
        added = ", add/remove" if self.guarantee.relation == "add/remove" else ""
        return (
            f"Release({len(self.classes)} classes, {self.n_features} features, "
            f"({self.guarantee.epsilon:g}, {self.guarantee.delta:g})-DP "
            f"per {self.guarantee.unit}{added})"
        )

    def _repr_html_(self):
        """Return :meth:`summary` behind a heading that a notebook can unfold."""
        return (
            f"<details open><summary><b>{escape(repr(self))}</b></summary>"
            f"<pre>{escape(self.summary())}</pre></details>"
        )

    def __setstate__(self, state):
        # Arrays that come from a pickle can be written to, but are nobody else's.
        self.__dict__.update(state)
        self._freeze(copy=False)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __sklearn_clone__(self):
        return self


def _read_only(value, copy):
    """Return a field whose arrays cannot be written to."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.copy() if copy else value  # the caller's own stays the caller's
        value.flags.writeable = False
    elif isinstance(
        value, Alignment | LinearScores | Mixtures | Moments | Subspace | BasisFunctions
    ):
        arrays = {name: _read_only(array, copy) for name, array in vars(value).items()}
        value = replace(value, **arrays)
    elif isinstance(value, WideCDMMAClassifier):
        value = frozen_classifier(value, copy)
    return value
