"""Learning in a target domain with few labels from a private source's release."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.membership import WideCDMMAClassifier
from skdp.transfer._alignment import Alignment
from skdp.transfer._labels import (
    check_columns,
    match_classes,
    scorable_labels,
    validate_training,
)
from skdp.transfer._multitask import MultiTask
from skdp.transfer._rounds import self_train
from skdp.transfer._schedule import SCHEDULE_CONSTRAINTS, make_schedule, resolve
from skdp.transfer._side import SourceSide
from skdp.transfer._source import check_source
from skdp.utils._sklearn import Interval, StrOptions, fit_context

_STRATEGIES = {"alignment": Alignment, "multitask": MultiTask}
_SEEDS = np.iinfo(np.int32).max


class DPTransferClassifier(ClassifierMixin, BaseEstimator):
    r"""Learn from a few labels, many unlabelled rows, and the release of a private source.

    A classifier of the labelled rows guesses the labels of the others; then, round by
    round, a :class:`~skdp.WideCDMMAClassifier` is fitted to all rows, finer each time, and
    the labels are guessed again. The source may have other features than the target.

    ``strategy="alignment"`` (004): a target row y enters the space of the source by
    subspace alignment, for each class so that the median of the target's rows of the class
    lies on the source's, and the better of the two reconstructions counts, in every round
    and in :meth:`predict`:

    .. math::
       f_c(y) = V_{sr}^T(V_{tg}\,y - m_{tg,c} + m_{sr,c}), \qquad
       \hat c(y) = \arg\min_c \min\big(\|y - \mathcal{WD}_{tg,c}(y)\|^2,
       \|f_c(y) - \mathcal{WD}_{sr,c}(f_c(y))\|^2\big)

    ``strategy="multitask"`` (003): target rows enter the space of the source once, as
    :math:`V_{sr}^T V_{tg}\,y` where the dimensions differ; the target guesses alone, and a
    :class:`~skdp.MembershipMapping` then learns to carry what the source reconstructs to
    the target. The least of the three errors decides :meth:`predict`:

    .. math::
       \hat c(y) = \arg\min_c \min\big(\|y - \mathcal{WD}_{tg,c}(y)\|^2,
       \|y - \mathcal{M}(\mathcal{WD}_{sr,c}(y))\|^2, \|y - \mathcal{WD}_{sr,c}(y)\|^2\big)

    Without a source it is a self-training classifier.

    **What is guaranteed.** What the release guarantees about the *source's* rows; using it
    costs no more. The target's rows are **not** protected: the model holds clusters of them.

    Parameters
    ----------
    source : DPSource or None, default=None
        A fitted release, usually ``DPSource.load(path)``. ``None`` learns from the target
        alone.

    strategy : {"alignment", "multitask"}, default="alignment"
        How source and target combine.

    n_components : "auto", int or sequence of int, default="auto"
        Size of the codes in each round, never going down; its length is the number of
        rounds. ``"auto"``: (4, 6, 8, 10) for "alignment", (5, 10, 15, 20) for "multitask".
        Rows of few features, or few rows of each class, want smaller ones.

    n_inducing : "auto", float, int or sequence of these, default="auto"
        Inducing points in each round, as a fraction of the rows of an autoencoder or a
        count; a single one serves all rounds. ``"auto"``: (1/10, 1/8, 1/6, 1/4) for
        "alignment", 0.5 for "multitask", cut or lengthened at its front to as many rounds
        as ``n_components`` has.

    n_layers : "auto" or int, default="auto"
        Depth in the last round; the others have one layer. ``"auto"``: 5 for "alignment",
        1 for "multitask".

    n_folds : int, default=1
        With more than one, unlabelled rows are labelled in each round by a classifier that
        has not seen the guesses of their fold, so that no guess confirms itself: slower, far
        more accurate where the schedule suits the data, and worse where it is too fine. 1:
        by a classifier of all rows, as in the papers.

    tol : float, default=1e-3
        Where no larger fraction of the pseudo-labels changed in a round, they count as
        settled and the last round comes next.

    unlabeled : "auto" or label, default="auto"
        The value in y that marks an unlabelled row; None and NaN stand for each other.
        ``"auto"``: with a source, None, NaN, and −1 unless −1 is one of its classes;
        without a source, nothing is unlabelled.

    inference : {"auto", "gamma", "empirical"}, default="auto"
        Inference of the target's mappings, see :class:`~skdp.CDMMA`. ``"auto"``: "gamma"
        for "alignment", "empirical" for "multitask". "empirical" is the better one where
        features vary by much less than 1.

    subset_size : int, default=1000
        Rows for which one autoencoder of the target is meant.

    n_jobs : int or None, default=None
        Autoencoders fitted at once, and threads of a prediction. ``None`` means 1 unless in
        a :obj:`joblib.parallel_config` context. The result does not depend on it.

    verbose : int, default=0
        Above 0, :meth:`fit` prints a line for each round.

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes that have a labelled row. Those that only the source has are left out.

    transduction_ : ndarray of shape (n_samples,)
        Label of each training row: the given one, or the guess of the last round.

    history_ : dict of list
        One entry for each round, the initial guess being round 0: ``round``,
        ``n_components``, ``n_inducing``, ``n_layers``, ``changed`` (pseudo-labels that
        differ from the round before), ``agreement`` (fraction of them that do not) and
        ``source_share`` (fraction of unlabelled rows decided by the source).

    n_rounds_ : int
        Rounds that were run, less than the schedule where the pseudo-labels settled.

    target_classifier_ : WideCDMMAClassifier
        Of the last round; for "multitask" it lives in the space of the source.

    guarantee_ : PrivacyGuarantee or None
        That of the source, None without one. It says nothing about the target's rows.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, when all of them are strings.

    See Also
    --------
    DPSource : Makes the release.
    LabeledSplit : Cross-validation that scores labelled rows only.

    Notes
    -----
    Errors of a noisy source and of a small target are on different scales, and the least
    error lets either side win undeservedly. :meth:`source_scores` and :meth:`target_scores`
    show both.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Algorithm 7 (004); SERUMS D3.3, section 1.3.2 (003).

    Examples
    --------
    >>> from skdp import DPSource, DPTransferClassifier
    >>> from skdp.datasets import load_digits_domains
    >>> domains = load_digits_domains()
    >>> source = DPSource(epsilon=16.0, n_layers=1, random_state=0)
    >>> source = source.fit(domains.source, domains.source_target)
    >>> X, y = domains.target[:700], domains.target_target[:700].copy()
    >>> y[100:] = -1  # the labels of most rows are unknown
    >>> model = DPTransferClassifier(source, n_components=(2, 3, 4, 4), random_state=0)
    >>> model = model.fit(X, y)  # small images want few components
    >>> model.predict(domains.target[700:]).shape
    (198,)
    >>> model.guarantee_.epsilon
    16.0
    """

    _parameter_constraints: dict = {
        "source": "no_validation",  # by check_source, which knows the remedy
        "strategy": [StrOptions(set(_STRATEGIES))],
        **SCHEDULE_CONSTRAINTS,
        "n_folds": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="both")],
        "unlabeled": [str, Real, None],
        **{
            name: WideCDMMAClassifier._parameter_constraints[name]
            for name in ("subset_size", "n_jobs", "verbose", "random_state")
        },
    }

    def __init__(
        self,
        source=None,
        *,
        strategy="alignment",
        n_components="auto",
        n_inducing="auto",
        n_layers="auto",
        n_folds=1,
        tol=1e-3,
        unlabeled="auto",
        inference="auto",
        subset_size=1000,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.source = source
        self.strategy = strategy
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.n_folds = n_folds
        self.tol = tol
        self.unlabeled = unlabeled
        self.inference = inference
        self.subset_size = subset_size
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn from labelled and unlabelled target rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows. All of them, labelled or not, shape the subspace and the model.

        y : array-like of shape (n_samples,)
            Labels, with unlabelled rows marked as ``unlabeled`` says.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            When fewer than two classes have a labelled row, a label is not a class of the
            source, source and target have as many but other columns, or the schedules do
            not fit together.

        sklearn.exceptions.NotFittedError
            When the source is not fitted.
        """
        self.__dict__.pop("guarantee_", None)  # whatever fails now, nothing old passes for new
        schedule = make_schedule(self)
        check_source(self.source)
        X, self.classes_, labels, self._marker = validate_training(self, X, y)
        random_state = check_random_state(self.random_state)
        self._side = self._make_side(X, labels, random_state)

        def fit(settings, rows, known):
            return WideCDMMAClassifier(
                settings.n_components,
                settings.n_inducing,
                settings.n_layers,
                inference=resolve(self, "inference"),
                subset_size=self.subset_size,
                n_jobs=self.n_jobs,
                random_state=random_state.randint(_SEEDS),
            ).fit(rows, known)

        self.target_classifier_, self.history_ = self_train(
            fit,
            schedule,
            self._side,
            X,
            labels,
            n_folds=self.n_folds,
            random_state=random_state,
            tol=self.tol,
            verbose=self.verbose,
        )
        self.n_rounds_ = sum(k > 0 for k in self.history_["round"])
        self.transduction_ = self.classes_[labels]
        self.guarantee_ = None if self.source is None else self.source.guarantee_
        return self

    def _make_side(self, X, labels, random_state):
        if self.source is None:
            return SourceSide()
        columns = match_classes(self.classes_, self.source.classes_)
        self.classes_ = self.source.classes_[columns]  # spelled as there: 1, not 1.0
        check_columns(self, self.source)
        strategy = _STRATEGIES[self.strategy]
        return strategy(self.source, columns, X, labels, self.n_jobs, random_state)

    def _rows(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self._side.rows(X)

    def _least_errors(self, X):
        """Return the lesser squared error of both sides for each row and class."""
        rows = self._rows(X)
        errors = self.target_classifier_.reconstruction_errors(rows)
        return np.minimum(errors, self._side.errors(rows))

    @available_if(lambda self: self.source is not None)
    def source_scores(self, X):
        """Return minus the squared error of the source side for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            Where these exceed :meth:`target_scores`, the source decides.
        """
        return -self._side.errors(self._rows(X))

    def target_scores(self, X):
        """Return minus the squared error of the target classifier for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            Without a source, these alone decide.
        """
        return -self.target_classifier_.reconstruction_errors(self._rows(X))

    def decision_function(self, X):
        """Return minus the least squared error of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            With two classes, the score of ``classes_[1]`` less that of ``classes_[0]``, as
            scikit-learn has it.
        """
        scores = -self._least_errors(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Return the class with the least error on either side.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        winners = self._least_errors(X).argmin(axis=1)
        return self.classes_[winners]

    def score(self, X, y, sample_weight=None):
        """Return the accuracy on labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        y : array-like of shape (n_samples,)
            Their labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        accuracy : float

        Raises
        ------
        ValueError
            When a row is marked as unlabelled: no score can judge it.
        """
        check_is_fitted(self)
        y = scorable_labels(self, y, self._marker)
        return super().score(X, y, sample_weight)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "guarantee_")
