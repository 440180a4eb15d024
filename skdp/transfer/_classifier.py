"""Learning in a target domain with few labels from a private source's release."""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skdp.tabular import canonical, explain_prediction, spelled_as
from skdp.transfer._base import TransferEstimator
from skdp.transfer._classes import (
    balanced_weights,
    check_class_prior,
    check_class_weight,
    encode_labels,
    match_classes,
    predicted_labels,
    with_prior,
)
from skdp.transfer._noise_aware import NOISE_AWARE
from skdp.transfer._self_training import SelfTrainingSchedule
from skdp.transfer._task import Task
from skdp.transfer.papers import ALIGNMENT, MULTITASK
from skdp.utils._labels import scorable_labels
from skdp.utils._sklearn import StrOptions, fit_context
from skdp.utils._warnings import warn

# A new strategy is added here; the name is used nowhere else.
_STRATEGIES = {strategy.name: strategy for strategy in (NOISE_AWARE, ALIGNMENT, MULTITASK)}


def _was_fitted_with_a_source(estimator):
    return getattr(estimator, "guarantee_", estimator.source) is not None


def _was_fitted_for_probabilities(estimator):
    # The strategy that was fitted decides: set_params after fit changes no model.
    if hasattr(estimator, "model_"):
        return hasattr(estimator.model_, "probabilities")
    strategy = _STRATEGIES.get(estimator.strategy)
    return not getattr(strategy, "reconstructs_rows", True)


class DPTransferClassifier(ClassifierMixin, TransferEstimator):
    r"""Learn from a few labels, many unlabeled rows, and the release of a private source.

    The classifier combines the target's own rows and labels with a :class:`~skdp.Release`, the
    differentially private file that another organization made of its data. It is meant for targets
    with few labels. The two data sets may differ in their distributions (domain adaptation), in
    some of their columns, or in all of them. Without a source it is a semi-supervised classifier.

    Named columns are matched by name, in any order. Columns that the target lacks are marginalized
    out of the release (:meth:`Release.restrict`); columns that only the target has are used by its
    own models; a warning lists both. Columns without names are matched by position. If their
    number differs, or no name is common to both, the target counts as another feature space, and
    is embedded into the source's. Embedding needs a release of :class:`~skdp.DPSource` and labels
    of two classes; a table with a schema is not embedded.

    **Privacy.** The release protects the *source's* rows, and using it costs no further privacy.
    If a person may have rows in several sources, the guarantees add up, see ``disjoint``. The
    *target's* rows are **not** protected: the fitted model contains clusters of them.

    Parameters
    ----------
    source : Release, path, fitted source, list of these, or None, default=None
        The release, or the path of a file that :meth:`Release.save` wrote, which is read in each
        :meth:`fit`. In a search such as :class:`~sklearn.model_selection.GridSearchCV`, pass a
        release or a path: clones share a release, whereas the clone of a fitted source is not
        fitted. ``None`` learns from the target alone: to search over ``[release, None]`` on a
        table, put ``TabularEncoder(release.encoder)`` before the classifier in a pipeline, because
        without a release nothing encodes it. A list combines several releases
        ("noise_aware" only): releases with noisy sums of the same columns are merged
        (:meth:`Release.merge`), and the labeled rows may still favor a single one; the others
        are weighted by the labels and by their effective sample size. Each release must have all
        classes of the target; without labels, all must have the same classes. Releases of tables
        must share their schema, apart from the order of its columns.

    disjoint : bool, default=False
        Whether you know that no person has rows in two of several sources. If so, ``guarantee_``
        is the weakest of their guarantees instead of the sum. It does not change what is learned.

    strategy : {"noise_aware", "alignment", "multitask"}, default="noise_aware"
        How source and target are combined, see Notes. "alignment" and "multitask" reproduce
        published methods, and need a release of ``DPSource(parts="papers")`` or
        ``DPSource(parts="all")``.

    self_training : SelfTrainingSchedule or None, default=None
        Rounds of self-training and the size of the autoencoders trained in them; None for the
        defaults of the strategy. These settings are a separate object because they matter only
        where self-training is used, which is rare with releases of tables and statistics. As
        with a nested estimator, searches reach its parameters by names such as
        ``self_training__n_components``.

    unlabeled : "auto" or label, default="auto"
        The value in y that marks an unlabeled row; None and NaN are equivalent.
        ``"auto"``: None, NaN, and −1 unless −1 is a class of the source. Without a source, −1 is
        a class only if fewer than two classes would remain otherwise.

    label_sampling : {"auto", "random", "stratified"}, default="auto"
        How the labeled rows were chosen among the target's rows ("noise_aware" only).
        ``"random"``: without regard to their class, so that their class frequencies estimate
        the target's frequencies: by chance, or as typical rows. ``"stratified"``: a fixed number
        of each class, so that label frequencies carry no information and the frequencies that the
        source expects are kept. ``"auto"``: stratified if some rows are unlabeled and all labeled
        classes have equally many labels, otherwise random; a few labels of a single class count as
        random. :meth:`fit` warns if it has to guess and the result depends on the guess.

    class_prior : None, "source", array-like or mapping, default=None
        Class frequencies of the target, if known ("noise_aware" only). Probabilities are
        corrected after learning by one offset for each class. ``None``: no correction.
        An array of shape (n_classes,), in the order of ``classes_``, or a mapping of labels to
        probabilities: the mean probabilities of all rows in :meth:`fit`, labeled or not, are
        moved to these values. ``"source"``: the frequencies of the source, pooled over merged
        sources and averaged over others. They are noisy in a release of statistics, and exact and
        unprotected in a release of :class:`~skdp.DPSource` unless its labels were randomized.
        Notes explain when this harms.

    class_weight : None, "balanced" or mapping, default=None
        Costs of errors, by the true label. ``predict`` and ``transduction_`` choose the class
        with the largest product of weight and probability; ``predict_proba`` and
        ``decision_function`` are not changed. Labels missing in a mapping have weight 1.
        ``"balanced"``: inversely proportional to the mean probability of the class over all
        rows. For "alignment" and "multitask", errors are first divided by the ``temperature_``
        of the target classifier.

    n_jobs : int or None, default=None
        Number of autoencoders fitted in parallel, and of threads in a prediction. ``None`` means
        1 unless in a :obj:`joblib.parallel_config` context. The result does not depend on it.

    verbose : int, default=0
        If positive, :meth:`fit` prints a line for each round of self-training.

    random_state : int, RandomState instance or None, default=None
        Seeds k-means and folds. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted classes that have a labeled row. Classes that only the source has are included
        if it is a release of statistics or of a table, or if fewer than two classes are labeled.

    transduction_ : ndarray of shape (n_samples,)
        Label of each training row: the given one, or the predicted one.

    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of each training row; 0 or 1 for labeled rows. With "alignment" and
        "multitask" they are 0 or 1 for all rows, as these have no probabilities.

    history_ : dict of list
        One entry for each round of self-training, the initial guess being round 0: ``round``,
        ``n_components``, ``n_inducing``, ``n_layers``, ``changed`` (number of pseudo-labels that
        changed) and ``agreement`` (fraction that did not); also ``source_weight``
        ("noise_aware") or ``source_share``, the fraction of unlabeled rows decided by the source
        (others).
        Empty if self-training was not a candidate, as with most tables and releases of
        statistics; :meth:`report` lists what the model consists of.

    source_weight_ : float
        Weight of the source in the final model, from 0 to 1 ("noise_aware"; even at 0, the source
        may determine class frequencies), or the last ``source_share``.

    label_sampling_ : {"random", "stratified"} or None
        How labels were assumed to be chosen; None without labels.

    class_weight_ : ndarray of shape (n_classes,)
        Factors of the probabilities in a prediction; all 1 without ``class_weight``.

    n_iter_ : int
        Number of rounds; less than scheduled if the pseudo-labels settled.

    target_classifier_ : WideCDMMAClassifier or None
        Classifier of the last round of self-training, None without self-training. For
        "multitask" it works in the feature space of the source; for "noise_aware" it reads
        coordinates in the target's subspace, and is one of two models.

    model_ : object
        The fitted model, with ``scores(X)``, ``source_scores(X)`` and ``target_scores(X)``.

    guarantee_ : PrivacyGuarantee, tuple of PrivacyGuarantee, or None
        Guarantee of the source, None without one. It does not cover the target's rows. For
        several sources it is the sum of their guarantees, as a person may have rows in all of
        them, or with ``disjoint`` the weakest one. Guarantees for different neighboring relations
        cannot be added, and are returned as a tuple: each holds for its own source.

    n_features_in_ : int
        Number of features seen during :term:`fit`, before a table is encoded.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when they are all strings.

    See Also
    --------
    DPStatisticsSource : Makes a release of noisy statistics, the usual choice for tables.
    DPSource : Makes a release of noisy rows.
    Release : The input of this classifier.
    SelfTrainingSchedule : Configures self-training.
    LabeledSplit : Cross-validation that scores labeled rows only.

    Notes
    -----
    **The default**, ``strategy="noise_aware"``, uses the known distribution of the source's noise,
    and averages candidates by their evidence:

    - The source's unchanged log-posteriors s, and Bayesian softmax regressions around them,

      .. math:: \log p(c \mid x) = a s_c(x) + b_c + u_c^T z(x) + \mathrm{const},

      with normal priors: of the slope a about 1, of the level b, and of coefficients u of the
      columns z, such that :math:`u^T z` has a standard deviation of 0.5 to 2 in log-odds (4 with
      more than two classes). The unchanged source has a prior probability of a third, with two
      classes up to 0.8 the better the means of all columns agree with those of the source. The
      level has a standard deviation of 0.3, or also of 1 for a random sample of labels, which may
      show other class frequencies. The intercept at the target's site is unknown. The source's
      log-odds of two classes are therefore divided by :math:`\sqrt{1 + π τ^2 / 8}`, nearly their
      mean over an intercept of standard deviation τ (MacKay, 1992). τ is the standard deviation
      between the sites of a merged release, or 0.7.
    - The same for single sources, if several were merged, with half of the probability.
    - Class means adapted to the target's rows, if the classes are well separated and the source
      disagrees on at most 1.3 times as many rows as it expects to get wrong. Labels adjust the
      slope.
    - Mixtures adapted likewise, if they separate the classes at least as well.
    - The target alone: a = 0, around the expected class frequencies.
    - Self-training, if each class has a label and its first round separates the classes, as in
      images and sensor data. It is tried for noisy rows, for adapted mixtures without adapted
      class means, and if labels favor the target alone.

    The evidence is Laplace's approximation of the mean likelihood of the labels over the prior,
    and predictions are moderated by the width of the posterior. :meth:`report` lists the
    resulting weights.

    *Self-training.* In each round, two models of the target, a :class:`~skdp.WideCDMMAClassifier`
    and Gaussian mixtures, are fitted to all rows, and pseudo-labels are predicted again. The
    scores :math:`s_j` of the sources, of adapted mixtures and of the target are added up to
    log-posteriors,

    .. math:: \log p(c \mid y) = \sum_j w_j\, s_{j,c}(y) + \mathrm{const}, \qquad w_j \ge 0

    with weights averaged over all subsets of scorers by the likelihood of the labeled rows. Each
    row is scored by models that were not trained on its pseudo-label.

    **Published strategies.** ``strategy="alignment"`` (Kumar and Moser, Algorithm 7) maps a target
    row y into the space of the source by subspace alignment, separately for each class so that the
    class medians of target and source coincide. The lower of the two reconstruction errors counts:

    .. math::
       f_c(y) = V_{sr}^T(V_{tg}\,y - m_{tg,c} + m_{sr,c}), \qquad
       \hat c(y) = \arg\min_c \min\big(\|y - \mathcal{WD}_{tg,c}(y)\|^2,
       \|f_c(y) - \mathcal{WD}_{sr,c}(f_c(y))\|^2\big)

    ``strategy="multitask"`` (SERUMS D3.3, 2022) maps target rows once, as
    :math:`V_{sr}^T V_{tg}\,y` if the dimensions differ. The target is self-trained alone, and a
    :class:`~skdp.MembershipMapping` then learns to map the source's reconstructions to the target:

    .. math::
       \hat c(y) = \arg\min_c \min\big(\|y - \mathcal{WD}_{tg,c}(y)\|^2,
       \|y - \mathcal{M}(\mathcal{WD}_{sr,c}(y))\|^2, \|y - \mathcal{WD}_{sr,c}(y)\|^2\big)

    In both, the errors of a noisy source and of a small target have different scales, and the
    comparison may favor the wrong side. Algorithm 7 ends with the target classifier alone, which
    is ``target_classifier_``; :meth:`predict` combines it with the source, as its rounds do. All
    reported results are compared with measured ones in :doc:`/benchmarks/papers`.

    **Class frequencies.** ``class_prior="source"`` is not the default: it is right only if
    features shifted and class frequencies did not. Frequencies are not estimated from unlabeled
    rows either, as the EM algorithm of Saerens, Latinne and Decaestecker (2002) does: it mistakes
    a shift of features for one of frequencies. A few labels of a random sample are more
    informative.

    **Weights.** :meth:`fit` takes no ``sample_weight``: the meaning of a weight for unlabeled
    rows, for pseudo-labels and for the evidence of a candidate has not been derived. Repeat
    labeled rows, or use ``class_weight``. With ``class_weight`` the prediction is not the class
    of the largest ``decision_function``, as it is in most of scikit-learn's classifiers:
    thresholds, curves and calibration need probabilities that costs have not changed.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Algorithm 7. SERUMS D3.3 (2022), section 1.3.2. Saerens, Latinne and
    Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori probabilities".

    Examples
    --------
    >>> from skdp import DPStatisticsSource, DPTransferClassifier
    >>> from skdp.datasets import load_adult
    >>> adult = load_adult(random_state=0)
    >>> X, y = adult.data, adult.target
    >>> rows = adult.source[:4000]
    >>> source = DPStatisticsSource(epsilon=2.0, encoder=adult.schema)
    >>> release = source.fit(X.iloc[rows], y[rows]).release_
    >>> labels = y[adult.learning]
    >>> labels[20:] = None  # the labels of most rows are unknown
    >>> model = DPTransferClassifier(release, random_state=0)
    >>> model = model.fit(X.iloc[adult.learning], labels)
    >>> bool(model.score(X.iloc[adult.test], y[adult.test]) > 0.8)
    True
    >>> model.guarantee_.epsilon
    2.0
    """

    _parameter_constraints: dict = {
        "source": "no_validation",  # checked by as_releases, whose errors name the remedy
        "disjoint": ["boolean"],
        "strategy": [StrOptions(set(_STRATEGIES))],
        "self_training": [SelfTrainingSchedule, None],
        "unlabeled": [str, Real, None],
        "label_sampling": [StrOptions({"auto", "random", "stratified"})],
        "class_prior": [StrOptions({"source"}), "array-like", dict, None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    _kind = "class"

    def __init__(
        self,
        source: Any = None,
        *,
        disjoint: bool = False,
        strategy: str = "noise_aware",
        self_training: SelfTrainingSchedule | None = None,
        unlabeled: Any = "auto",
        label_sampling: str = "auto",
        class_prior: str | ArrayLike | Mapping[Any, float] | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.source = source
        self.disjoint = disjoint
        self.strategy = strategy
        self.self_training = self_training
        self.unlabeled = unlabeled
        self.label_sampling = label_sampling
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike | None = None) -> Self:
        """Learn from labeled and unlabeled target rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows. All of them, labeled or not, shape the subspace and the model. If the
            source has an encoder, a DataFrame with its columns is encoded, here and in all other
            methods. Named columns that number the records, such as "Unnamed: 0", are left out with
            a warning, unless the source has them.

        y : array-like of shape (n_samples,) or None, default=None
            Labels, with unlabeled rows marked as ``unlabeled`` says. 1, 1.0 and "1" are the same
            label; predicted labels are spelled like the source's classes. With "noise_aware" and a
            source that has moments, labels of a single class suffice, and all rows may be
            unlabeled, or y None.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            If fewer than two classes have a labeled row although labels are needed, a label
            is not a class of the source, source and target have equally many columns that cannot
            be matched by name, the schedule of self-training does not fit, the largest magnitude
            is not between 1e-12 and 1e12, or ``class_prior`` or ``class_weight`` do not fit the
            classes or the strategy.

        FileNotFoundError
            If the source is a path without a file.

        sklearn.exceptions.NotFittedError
            If the source is not fitted.

        Warns
        -----
        UserWarning
            If the labeled rows favor the model learned from the target alone, see
            :meth:`report`; if their class frequencies differ much from what the source
            expects and ``label_sampling="auto"`` had to guess how they were chosen; if one side
            lacks columns of the other, or all of them; or if columns seem to be in other units.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource, DPTransferClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.random((2000, 2)), np.repeat([0, 1], 1000)
        >>> X[:, 0] = (X[:, 0] + y) / 2  # the first column separates the classes
        >>> release = DPStatisticsSource(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, y).release_
        >>> labels = y[::50].copy()
        >>> labels[::2] = -1  # half of the labels are unknown
        >>> model = DPTransferClassifier(release).fit(X[::50], labels)
        >>> model.classes_, model.transduction_.shape
        (array([0, 1]), (40,))
        """
        strategy = _STRATEGIES[self.strategy]
        releases, X = self._read(X, y, strategy)
        self.classes_, labels = encode_labels(
            y, len(X), releases, unlabeled=self.unlabeled, strategy=strategy
        )
        random_state = check_random_state(self.random_state)
        schedule = self.self_training or SelfTrainingSchedule()
        training = schedule.resolve(
            strategy.schedule,
            len(X) / len(self.classes_),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=random_state,
        )
        sources, singles = (
            tuple(
                (name, each, match_classes(self.classes_, each.classes)) for name, each, _ in part
            )
            for part in self._named(X, labels)
        )
        how = self.n_jobs, random_state, self.label_sampling
        shared = self._n_shared, *how, singles, self._matching.is_embedded
        task = Task(X, labels, len(self.classes_), sources, *shared)
        expects_classes, prior = self.class_prior is not None, np.empty(0)
        if expects_classes:  # then labels that deviate from the source's need no warning
            task = replace(task, label_sampling=task.sampling)
            prior = check_class_prior(self.class_prior, strategy, self.classes_, task.frequencies)
        weights = check_class_weight(self.class_weight, self.classes_)
        try:
            result = strategy.learn(task, training)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"X has magnitudes up to {np.abs(X).max():g}, too far from the source's. Scale it "
                "alike."
            ) from error
        if expects_classes:
            result = with_prior(result, task, prior)
        n_labels = int((labels >= 0).sum())
        if sources and n_labels:
            _warn_of_source(result.model)
        if self.class_weight == "balanced":
            weights = balanced_weights(result, task)
        self.class_weight_ = weights
        self.history_ = result.history
        self.target_classifier_ = result.model.target_classifier
        self.n_iter_ = sum(k > 0 for k in self.history_.get("round", []))
        self.transduction_ = self.classes_[predicted_labels(result, task, self.class_weight_)]
        self.label_distributions_ = result.distributions
        return self._learned(releases, X, result.model, n_labels, task.sampling)

    @available_if(_was_fitted_with_a_source)
    def source_scores(self, X: ArrayLike) -> np.ndarray:
        """Return the scores of each class by the source alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            The source's part of the log-posteriors ("noise_aware"), before ``class_prior`` is
            applied; for the other strategies, minus its squared errors.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource, DPTransferClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.random((2000, 2)), np.repeat([0, 1], 1000)
        >>> X[:, 0] = (X[:, 0] + y) / 2  # the first column separates the classes
        >>> release = DPStatisticsSource(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, y).release_
        >>> model = DPTransferClassifier(release).fit(X[::50])  # without labels
        >>> model.source_scores([[0.1, 0.5], [0.9, 0.5]]).argmax(axis=1)
        array([0, 1])
        """
        X = self._rows(X)  # this first checks whether the estimator is fitted
        return self.model_.source_scores(X)

    def target_scores(self, X: ArrayLike) -> np.ndarray:
        """Return the scores of each class by the target's own models alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            As in :meth:`source_scores`.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource, DPTransferClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.random((2000, 2)), np.repeat([0, 1], 1000)
        >>> X[:, 0] = (X[:, 0] + y) / 2  # the first column separates the classes
        >>> release = DPStatisticsSource(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, y).release_
        >>> model = DPTransferClassifier(release).fit(X[::50])  # without labels

        Without labels, the target's own models add nothing to the source:

        >>> model.target_scores([[0.1, 0.5], [0.9, 0.5]]).round(6).tolist()
        [[0.0, 0.0], [0.0, 0.0]]
        """
        X = self._rows(X)  # this first checks whether the estimator is fitted
        return self.model_.target_scores(X)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the score of each class; larger is more likely.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            Log-posteriors up to a constant ("noise_aware"), or minus the smaller squared error;
            with two classes, the score of ``classes_[1]`` minus the score of ``classes_[0]``.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource, DPTransferClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.random((2000, 2)), np.repeat([0, 1], 1000)
        >>> X[:, 0] = (X[:, 0] + y) / 2  # the first column separates the classes
        >>> release = DPStatisticsSource(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, y).release_
        >>> model = DPTransferClassifier(release).fit(X[::50])  # without labels
        >>> (model.decision_function([[0.1, 0.5], [0.9, 0.5]]) > 0).tolist()
        [False, True]
        """
        X = self._rows(X)
        scores = self.model_.scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the most probable class; with ``class_weight``, the class of least expected cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.

        Raises
        ------
        ValueError
            If X has other columns than in :meth:`fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource, DPTransferClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.random((2000, 2)), np.repeat([0, 1], 1000)
        >>> X[:, 0] = (X[:, 0] + y) / 2  # the first column separates the classes
        >>> release = DPStatisticsSource(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, y).release_
        >>> model = DPTransferClassifier(release).fit(X[::50])  # without labels
        >>> model.predict([[0.1, 0.5], [0.9, 0.5]])
        array([0, 1])
        """
        X = self._rows(X)
        scores = self.model_.weighted_scores(X, self.class_weight_)
        return self.classes_[scores.argmax(axis=1)]

    @available_if(_was_fitted_for_probabilities)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the probabilities of the classes.

        Only available with ``strategy="noise_aware"``: the errors of the other strategies have no
        common scale.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource, DPTransferClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.random((2000, 2)), np.repeat([0, 1], 1000)
        >>> X[:, 0] = (X[:, 0] + y) / 2  # the first column separates the classes
        >>> release = DPStatisticsSource(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, y).release_
        >>> model = DPTransferClassifier(release).fit(X[::50])  # without labels
        >>> model.predict_proba([[0.1, 0.5], [0.9, 0.5]]).round(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        X = self._rows(X)  # this first checks whether the estimator is fitted
        return self.model_.probabilities(X)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on labeled rows."""
        check_is_fitted(self)
        forms = list(map(canonical, self.classes_.tolist()))
        y = scorable_labels(y, f"{type(self).__name__}.score", self.unlabeled, forms)
        return super().score(X, spelled_as(y, self.classes_), sample_weight)

    def _explained(self, row, schema, unscaled):
        return explain_prediction(
            lambda Z: self.model_.weighted_scores(unscaled(Z), self.class_weight_),
            row,
            self.classes_,
            schema=schema,
        )


def _warn_of_source(model):
    """Warn if labels indicate that a source does not help, or is wrong."""
    if model.ignores_source:
        finding = "favor the model learned from the target alone"
    elif model.is_contradicted:
        finding = "contradict the source, which was corrected by them"
    else:
        return
    warn(
        f"The labeled rows {finding}: the source has a weight of {model.source_weight:.2f}. Check "
        "columns, units and classes, see report(), or use source=None."
    )
