"""Learning in a target domain with few labels from a private source's release."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.displays import TransferReportDisplay
from skdp.release import TARGET_ADVICE, warn_of_doubt
from skdp.tabular import explain_prediction
from skdp.transfer._inspection import (
    encoded_row,
    readable_columns,
    report_frame,
    warn_of_source,
)
from skdp.transfer._labeled_split import LabeledScoreMixin
from skdp.transfer._noise_aware import NoiseAware
from skdp.transfer._priors_and_costs import (
    balanced_weights,
    check_class_prior,
    check_class_weight,
    predicted_labels,
    with_prior,
)
from skdp.transfer._self_training import SelfTrainingSchedule
from skdp.transfer._sources import (
    as_releases,
    check_columns,
    match_columns,
    merged_groups,
    summed_guarantee,
)
from skdp.transfer._strategy import Strategy, Task
from skdp.transfer._target_classes import encode_labels, match_classes
from skdp.transfer.papers import ALIGNMENT, MULTITASK
from skdp.utils._sklearn import StrOptions, fit_context
from skdp.utils._validation import check_magnitude, forget_fit

# A new strategy is one more of these; nothing else asks for a name.
_STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (NoiseAware(), ALIGNMENT, MULTITASK)
}


def _was_fitted_with_a_source(estimator):
    model = getattr(estimator, "model_", None)
    return estimator.source is not None if model is None else estimator.guarantee_ is not None


def _was_fitted_for_probabilities(estimator):
    # The strategy that was fitted decides: set_params after fit changes no model.
    model = getattr(estimator, "model_", None)
    if model is not None:
        return hasattr(model, "probabilities")
    strategy = _STRATEGIES.get(estimator.strategy)
    return strategy is not None and strategy.has_probabilities


class DPTransferClassifier(LabeledScoreMixin, BaseEstimator):
    r"""Learn from a few labels, many unlabelled rows, and the release of a private source.

    The target's own rows and labels are combined with what the release says of them. Source and
    target may differ: in their distributions, in some columns, even in all of them. Without a
    source it is a semi-supervised classifier.

    Columns with names are matched by name, in any order. Those that the target lacks are
    marginalised out of the release (:meth:`Release.restrict`), and those that only the target has
    feed its own models; a warning names both. Columns without names are matched by position, and
    another number of them is another space, into which the target is embedded.

    **What is guaranteed.** What the release guarantees about the *source's* rows; using it
    costs no more. For a person with rows in several sources, the guarantees add up, see
    ``disjoint``. The target's
    rows are **not** protected: the model holds clusters of them.

    Parameters
    ----------
    source : Release, path, fitted source, list of these, or None, default=None
        The release, or the path of the file that :meth:`Release.save` wrote; a file is read in
        each :meth:`fit`. Where a search clones this estimator, pass a release or a path: clones
        share a release, while the clone of a fitted source is not fitted. ``None`` learns from
        the target alone. Several releases are taken together ("noise_aware" only): those with
        noisy sums of the same columns are merged (:meth:`Release.merge`), and the labelled rows
        may favour a single one; others are weighted by these, and by how much they know. Each must
        have all classes of the target; without labels, all have the same classes. Those of tables
        share their schema, but for the order of its columns.

    disjoint : bool, default=False
        Whether nobody has rows in two of several sources, as you know and nobody else can. Then
        ``guarantee_`` is the weakest of theirs, not their sum; what is learned is the same.

    strategy : {"noise_aware", "alignment", "multitask"}, default="noise_aware"
        How source and target combine, see Notes. Those of the papers, "alignment" and
        "multitask", need a release of ``DPSource(parts="papers")`` or ``DPSource(parts="all")``.

    self_training : SelfTrainingSchedule or None, default=None
        Rounds of self-training, and the autoencoders that it trains; None for the defaults of the
        strategy. These parameters have an object of their own because they matter only where the
        target trains itself, which with releases of tables and statistics it seldom does. As with
        a nested estimator, searches reach the parameters of a given object by names such as
        ``self_training__n_components``.

    unlabeled : "auto" or label, default="auto"
        The value in y that marks an unlabelled row; None and NaN stand for each other.
        ``"auto"``: None, NaN, and −1 unless −1 is a class of the source. Without a source −1
        is a class only where fewer than two classes would be left if it were a mark.

    label_sampling : {"auto", "random", "stratified"}, default="auto"
        How the labelled rows were chosen among the target's rows ("noise_aware" only).
        ``"random"``: without regard to their class, so that their frequencies are those of the
        target, as far as so few tell. ``"stratified"``: some of each class; then they are no
        evidence of frequencies, which remain those that the source expects. ``"auto"``:
        stratified where rows without a label remain, and the classes that have labels have as many
        each; otherwise random, as few labels of a single class are. :meth:`fit` warns where it
        guesses and much depends on it. Where self-training stands by itself, see Notes, guesses
        move towards the source's frequencies in any case; give ``class_prior`` there.

    class_prior : None, "source", array-like or mapping, default=None
        Frequencies of the classes in the target ("noise_aware" only). Probabilities are moved
        after learning, by one offset for each class. ``None``: they stay as they were found.
        An array of shape (n_classes,), in the order of ``classes_``, or a mapping of labels to
        probabilities: the mean probabilities of all rows in :meth:`fit`, labelled or not, become
        these. ``"source"``: those of the source, of all rows of sources that are merged and on
        average over others; noisy in a release of
        statistics, and in one of :class:`~skdp.DPSource` exact and unprotected unless its labels
        were randomised. See Notes for when that harms.

    class_weight : None, "balanced" or mapping, default=None
        What errors cost, by the label that is missed. ``predict`` and ``transduction_`` name the
        class with the largest product of weight and probability; ``predict_proba`` and
        ``decision_function`` stay as they are. Labels that a mapping does not name count 1.
        ``"balanced"``: inverse to the mean probability of the class over all rows. The errors of
        the papers' strategies are divided by the ``temperature_`` of their target classifier for
        this.

    n_jobs : int or None, default=None
        Autoencoders fitted at once, and threads of a prediction. ``None`` means 1 unless in
        a :obj:`joblib.parallel_config` context. The result does not depend on it.

    verbose : int, default=0
        Above 0, :meth:`fit` prints a line for each round of self-training.

    random_state : int, RandomState instance or None, default=None
        For k-means and folds. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes that have a labelled row, sorted. Those that only the source has are left out,
        unless it is a release of statistics or of a table, or fewer than two classes are
        labelled: then these are its classes.

    transduction_ : ndarray of shape (n_samples,)
        Label of each training row: the given one, or the guess.

    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class distribution of each training row. Those of labelled rows are certain, and so are
        those of all rows with the strategies of the papers, whose errors have no common scale.

    history_ : dict of list
        One entry for each round of self-training, the initial guess being round 0: ``round``,
        ``n_components``, ``n_inducing``, ``n_layers``, ``changed`` (pseudo-labels that
        differ from the round before), ``agreement`` (fraction of them that do not); and
        ``source_weight`` and ``trusted``, the fraction of rows whose neighbours agree
        ("noise_aware"), or ``source_share``, the fraction of unlabelled rows decided by the
        source. An empty dictionary, ``{}``, where self-training was no candidate, as with most
        tables and releases of statistics: see :meth:`report` for what the model consists of.

    source_weight_ : float
        How much the source counts in the end, from 0 to 1: its share of the weights
        ("noise_aware"; even at 0 a denoised source gives its class frequencies), or the
        last ``source_share``.

    label_sampling_ : {"random", "stratified"} or None
        How labels were taken to be chosen; None without labels.

    class_weight_ : ndarray of shape (n_classes,)
        By which probabilities are multiplied to predict; 1 each without ``class_weight``.

    n_iter_ : int
        Rounds that were run, less than the schedule where the pseudo-labels settled.

    target_classifier_ : WideCDMMAClassifier
        Of the last round; for "multitask" it lives in the space of the source, for
        "noise_aware" it reads coordinates in the subspace of the target, and is one of two; None
        where the model does without.

    model_ : object
        What scores rows: ``scores(X)``, ``source_scores(X)`` and ``target_scores(X)``.

    guarantee_ : PrivacyGuarantee, tuple of PrivacyGuarantee, or None
        That of the source, None without one. It says nothing about the target's rows. Of several
        sources it is the sum, for a person may have rows in all of them, or with ``disjoint`` the
        weakest of theirs; where they are about
        different neighbours, and have no sum, it is a tuple, and each holds for its own source.

    n_features_in_ : int
        Number of features seen during :term:`fit`, before a table is encoded.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, when all of them are strings.

    See Also
    --------
    DPSource : Makes the release.
    Release : What it learns from.
    SelfTrainingSchedule : Configures self-training.
    LabeledSplit : Cross-validation that scores labelled rows only.

    Notes
    -----
    ``strategy="noise_aware"`` (ours) uses the known distribution of the source's noise, and one of
    two algorithms, or both.

    *Self-training*, where classes are well separated, as those of images and sensors are. Round by
    round, two models of the target, a :class:`~skdp.WideCDMMAClassifier` and mixtures of normal
    distributions, are fitted to all rows, and the labels are guessed again. The source has a
    classifier, mixtures behind the noise that are adapted to the target's rows, and, where noise
    leaves nothing finer, one normal distribution of each class, by empirical Bayes from its
    moments. Scores :math:`s_j` of source and target add up to log-posteriors,

    .. math:: \log p(c \mid y) = \sum_j w_j\, s_{j,c}(y) + b_c + \mathrm{const}, \qquad w_j \ge 0

    with weights averaged over all sets of scorers, by how likely each makes the labelled rows,
    and a prior-shift correction b towards the class frequencies of the source, as far as rows are
    uncertain. No row is scored by a model that has seen its guess, and rows whose nearest
    neighbours contradict their guess are left out of training in the next round.

    *Candidates by evidence*, where classes overlap, as in most tables, or rows have indicators,
    with a release of noisy *statistics* or of a table, and without labels. These are averaged: the
    source's log-posteriors s, corrected by an offset logistic regression

    .. math:: \log p(c \mid x) = a s_c(x) + b_c + u_c^T x + \mathrm{const}, \quad
       a \sim N(1, \sigma_a^2), \; b_c \sim N(0, \sigma_b^2), \; u_{jc} \sim N(0, v),

    averaged over several strengths: with the first few labels can hardly harm, with the second
    those of a random sample show that frequencies are others here (:math:`\sigma_b = 1`), and the
    others let many labels correct whatever they like, or of more than two classes the slope
    alone; class means that follow the target's rows, where these find well-separated classes, and
    the source differs from them on at most 1.3 times as many rows as it claims to be wrong of,
    with a slope by the labels; mixtures that follow them, where that separates classes as well or
    better; logistic regression of the labelled rows alone, its strength cross-validated; and
    self-training, as far as labels that it has not seen favour it. Prior odds favour the
    source by how much more it knows than the labels do, and the likelihood of held-out labels
    changes them. :meth:`report` lists the weights.

    ``strategy="alignment"`` (Kumar and Moser, Algorithm 7): a target row y enters the space of
    the source by subspace alignment, for each class so that the median of the target's rows of
    the class lies on the source's, and the better of the two reconstructions counts:

    .. math::
       f_c(y) = V_{sr}^T(V_{tg}\,y - m_{tg,c} + m_{sr,c}), \qquad
       \hat c(y) = \arg\min_c \min\big(\|y - \mathcal{WD}_{tg,c}(y)\|^2,
       \|f_c(y) - \mathcal{WD}_{sr,c}(f_c(y))\|^2\big)

    ``strategy="multitask"`` (SERUMS D3.3, 2022): target rows enter the space of the source
    once, as :math:`V_{sr}^T V_{tg}\,y` where the dimensions differ; the target guesses alone,
    and a :class:`~skdp.MembershipMapping` then learns to carry what the source reconstructs to
    the target:

    .. math::
       \hat c(y) = \arg\min_c \min\big(\|y - \mathcal{WD}_{tg,c}(y)\|^2,
       \|y - \mathcal{M}(\mathcal{WD}_{sr,c}(y))\|^2, \|y - \mathcal{WD}_{sr,c}(y)\|^2\big)

    In both, the errors of a noisy source and of a small target are on different scales, and either
    side may win undeservedly.

    Frequencies of the source are not the default of ``class_prior``: moving to them is right where
    columns moved and frequencies did not. Over 222 splits of six tables by a column, the log loss
    of a logistic regression of the source is .423 as it is; .435, .453 and .508 when its mean
    probability is moved a quarter, half and all of the way to the source's; and .384 with the true
    one. Nor are frequencies estimated from rows without labels, as the EM algorithm of Saerens,
    Latinne and Decaestecker (2002) does: it takes columns that moved for frequencies that did.
    Over 52 targets, other hospitals and other groups of six tables, log loss rises by more than
    .01 in 35 where log-odds have a normal prior of deviation 1 around the source's, and in 11 with
    one of .5 and a hundred rows that count as three. Some labels of a random sample tell more.

    :meth:`fit` takes no ``sample_weight``: what a weight means for a row without a label, for a
    guess that trains others, or for the evidence of a candidate, has not been derived. Repeat
    labelled rows, or give ``class_weight``.

    With ``class_weight`` the prediction is not the class of the largest ``decision_function``,
    which scikit-learn's estimators mostly guarantee: thresholds, curves and calibration need
    probabilities that costs have not changed.

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
    >>> source = DPStatisticsSource(epsilon=1.0, encoder=adult.schema)
    >>> release = source.fit(X.iloc[adult.source], y[adult.source]).release_
    >>> known = y[adult.learning]
    >>> known[20:] = None  # the labels of most rows are unknown
    >>> model = DPTransferClassifier(release, random_state=0)
    >>> model = model.fit(X.iloc[adult.learning], known)
    >>> bool(model.score(X.iloc[adult.test], y[adult.test]) > 0.82)
    True
    >>> model.guarantee_.epsilon
    1.0
    """

    _parameter_constraints: dict = {
        "source": "no_validation",  # by as_release, which knows the remedy
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

    def __init__(
        self,
        source=None,
        *,
        disjoint=False,
        strategy="noise_aware",
        self_training=None,
        unlabeled="auto",
        label_sampling="auto",
        class_prior=None,
        class_weight=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
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
    def fit(self, X, y=None):
        """Learn from labelled and unlabelled target rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows. All of them, labelled or not, shape the subspace and the model. A
            DataFrame of the table that a source's encoder takes is encoded, here and wherever rows
            are asked about.

        y : array-like of shape (n_samples,) or None, default=None
            Labels, with unlabelled rows marked as ``unlabeled`` says. 1, 1.0 and "1" are one;
            what is predicted is spelled as the source's classes are. With a source that has
            moments all rows may be unlabelled, or y None, and one labelled class is enough
            ("noise_aware").

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            When fewer than two classes have a labelled row although labels are needed, a label
            is not a class of the source, source and target have as many but other columns, the
            schedule of self-training does not fit, the largest magnitude is not between 1e-12
            and 1e12, or ``class_prior`` or ``class_weight`` do not fit the classes or the
            strategy.

        FileNotFoundError
            When the source is a path without a file.

        sklearn.exceptions.NotFittedError
            When the source is not fitted.

        Warns
        -----
        UserWarning
            When the labelled rows favour what the target learned alone, see :meth:`report`; or
            name classes much more or less often than the source expects, and
            ``label_sampling="auto"`` had to guess how they were chosen.
        """
        forget_fit(self)  # whatever fails from here on, nothing old passes for new
        strategy = _STRATEGIES[self.strategy]
        releases = as_releases(self.source, strategy)
        if y is None and not releases:
            validate_data(self, X, y)  # raises, as all of scikit-learn does
        self._matching = match_columns(releases, X, strategy)
        X = self._matching.rows(self, X, reset=True)
        check_magnitude(X, "X")
        settings = {"unlabeled": self.unlabeled, "strategy": strategy}
        self.classes_, labels = encode_labels(y, len(X), releases, **settings)
        random_state = check_random_state(self.random_state)
        schedule = SelfTrainingSchedule() if self.self_training is None else self.self_training
        training = schedule.resolve(
            strategy.schedule,
            len(X) / len(self.classes_),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=random_state,
        )
        check_columns(self, self._matching, X, labels)
        sources, singles = self._sources()
        for name, release, _ in sources:
            which = "the source" if len(sources) == 1 else name
            warn_of_doubt(release, TARGET_ADVICE.format(which=which))
        n_classes, n_shared = len(self.classes_), self._matching.n_shared
        how = self.n_jobs, random_state, self.label_sampling
        task = Task(X, labels, n_classes, sources, n_shared, *how, singles)
        if self.class_prior is not None:  # no guess of it decides frequencies
            task = replace(task, label_sampling=task.sampling)
        prior = check_class_prior(self.class_prior, strategy, self.classes_, task.frequencies)
        weights = check_class_weight(self.class_weight, self.classes_)
        try:
            result = strategy.learn(task, training)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"Input X has magnitudes up to {np.abs(X).max():g}, and cannot be brought "
                "together with the source in floating point. Scale it as the source's rows were."
            ) from error
        result = with_prior(result, task, prior)
        self._n_columns, self._n_labels = X.shape[1], int((labels >= 0).sum())
        if sources and self._n_labels:
            warn_of_source(result.model)
        self.class_weight_ = balanced_weights(result, task) if weights is None else weights
        self.model_, self.history_ = result.model, result.history
        self.target_classifier_ = result.model.target_classifier
        self.source_weight_ = result.model.source_weight
        self.label_sampling_ = task.sampling if self._n_labels else None
        self.n_iter_ = sum(k > 0 for k in self.history_.get("round", []))
        self.transduction_ = self.classes_[predicted_labels(result, task, self.class_weight_)]
        self.label_distributions_ = result.distributions
        guarantees = [release.guarantee for release in releases]
        self.guarantee_ = summed_guarantee(guarantees, self.disjoint)
        return self

    def _sources(self):
        """Return releases, merged where they can be, and each of those that were merged."""
        given, groups = self._matching.releases, merged_groups(self._matching.releases)
        indices = [match_classes(self.classes_, release.classes) for release in given]
        sources, singles = [], []
        for release, numbers in groups:
            plural = "s" * (len(numbers) > 1)
            name = f"source{plural} {', '.join(map(str, numbers))}"
            sources.append((name, release, indices[numbers[0]]))
            if plural:
                singles += [(f"source {k}", given[k], indices[k]) for k in numbers]
        return tuple(sources), tuple(singles)

    def _validated(self, X):
        check_is_fitted(self)
        return self._matching.rows(self, X)

    @available_if(_was_fitted_with_a_source)
    def source_scores(self, X):
        """Return what the source side says of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            Its part of the log-posteriors ("noise_aware"), before ``class_prior`` moves them, or
            minus its squared errors.
        """
        X = self._validated(X)
        return self.model_.source_scores(X)

    def target_scores(self, X):
        """Return what the target classifier says of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            As in :meth:`source_scores`.
        """
        X = self._validated(X)
        return self.model_.target_scores(X)

    def decision_function(self, X):
        """Return the score of each class, the larger the likelier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            Log-posteriors up to a constant ("noise_aware"), or minus the lesser squared error;
            with two classes, those of ``classes_[1]`` less those of ``classes_[0]``.
        """
        X = self._validated(X)
        scores = self.model_.scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Return the class with the best score, with ``class_weight`` the least expected cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        X = self._validated(X)
        return self.classes_[self.model_.weighted_scores(X, self.class_weight_).argmax(axis=1)]

    @available_if(_was_fitted_for_probabilities)
    def predict_proba(self, X):
        """Return probabilities of the classes, on a scale set by the labelled rows.

        A tenth of these may be outliers, for which the probabilities do not allow. Only where
        ``strategy="noise_aware"`` was fitted: the errors of the others have no common scale.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        X = self._validated(X)
        return self.model_.probabilities(X)

    def report(self):
        """Return what each part that was considered counts for, and what labels say of it.

        Returns
        -------
        report : DataFrame
            One row for each part: its ``name``; whose it is, as ``side`` ("source", "target" or
            "both"); its ``weight`` in the end, 0 where it is left out; the ``log_odds`` of the
            evidence for it against the first row, which is the source, or the target alone
            without one; ``n_labels``, their number; ``label_sampling``, how they were taken to be
            chosen; ``log_loss``, the mean over these of minus the log-probability of the label, by
            what has not seen it; the ``difference`` of this to the first row, and its
            ``standard_error``. Parts of several sources are in their order. Self-training alone,
            without other candidates, has one row for each scorer, with its share of the weights,
            and NaN elsewhere; the papers' strategies have the share of the rows that each side
            decided last.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource, DPTransferClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.random((2000, 3)), rng.integers(0, 2, 2000)
        >>> X[:, 0] = (X[:, 0] + y) / 2
        >>> release = DPStatisticsSource(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, y).release_
        >>> marked = np.where(np.arange(200) < 20, y[:200], -1)
        >>> model = DPTransferClassifier(release, random_state=0).fit(X[:200], marked)
        >>> model.report()[["name", "side", "n_labels"]]
                   name    side  n_labels
        0        source  source        20
        1  target alone  target        20
        """
        check_is_fitted(self)
        return report_frame(self.model_.contributions, self._n_labels, self.label_sampling_)

    def plot_report(self, ax=None):
        """Draw :meth:`report`: weights as bars, with the log loss of labels.

        In brackets its difference to the first row, with the standard error.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw. By default a new figure.

        Returns
        -------
        ax : matplotlib.axes.Axes

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).

        See Also
        --------
        skdp.displays.TransferReportDisplay : Draws it.
        """
        return TransferReportDisplay.from_estimator(self).plot(ax).ax_

    def explain(self, x, *, n_columns=5):
        """Say which columns decided the prediction of one row, and in which ranges it stays.

        Every column is moved alone over its public values, see
        :func:`~skdp.tabular.explain_prediction`: those of the schema where the release has one,
        otherwise within the public bounds of the release, or within [0, 1], and up to the row's
        own value where that lies beyond. Columns that only the target's table has are moved over
        the values that its rows had in :meth:`fit`. What is explained is :meth:`predict`; with
        ``class_weight`` probabilities are those multiplied by the weights. Those of the papers'
        strategies are on the scale of their target classifier's ``temperature_``.

        Parameters
        ----------
        x : DataFrame of one row, Series, or array-like of shape (n_features,)
            The row, as X.iloc[[0]] or X.iloc[0]. With the schema of a release it may be a row of
            the table, or encoded.

        n_columns : int, default=5
            How many columns the rule names at most.

        Returns
        -------
        explanation : Explanation
            Prints as a rule.

        Raises
        ------
        ValueError
            When x is not one row of the columns that were fitted.
        """
        check_is_fitted(self)
        row = encoded_row(x, self._matching, self._n_columns, self._validated)
        names = getattr(self, "feature_names_in_", None)
        schema, low, width = readable_columns(row, self._matching, names)
        return explain_prediction(
            lambda Z: self.model_.weighted_scores(low + Z * width, self.class_weight_),
            (row - low) / width,
            self.classes_,
            schema=schema,
            n_columns=n_columns,
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "guarantee_")
