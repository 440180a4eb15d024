"""A classifier of fuzzy rules that participants learn separately and merge without their data."""

import os
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skdp.fuzzy._autoencoder import FEW_ROWS, DeepFuzzyAutoencoder, error_membership
from skdp.fuzzy._regressor import FUZZY_CONSTRAINTS
from skdp.membership import (
    MOST_COMPONENTS,
    ErrorScales,
    ReconstructionClassifier,
    check_shared_scales,
    fit_autoencoders,
    fit_error_scales,
    group_errors,
    group_temperature,
    pack_model,
    unpack_model,
    validate_training,
)
from skdp.noise import perturb_training_rows
from skdp.privacy import PrivacyGuarantee, joint_guarantee, pack_guarantee, unpack_guarantee
from skdp.tabular import Explanation, as_schema, explain_prediction
from skdp.utils._frames import one_row
from skdp.utils._labels import label_array
from skdp.utils._sklearn import HasMethods, Interval, StrOptions, fit_context
from skdp.utils._storage import (
    load_arrays,
    require,
    restore_feature_names,
    save_arrays,
    stored_array,
    stored_labels,
    well_formed,
)
from skdp.utils._validation import validate_queries, warn_of_scales

# Parameters of the fit, saved with the model.
_SAVED = (
    *("n_components", "n_inducing", "max_layers", "tol", "max_iter", "n_voters", "subset_size"),
)
# Names of the arrays of error scales in a file.
_SCALES = ("error_powers", "error_offsets", "error_sizes")


@dataclass(frozen=True)
class FuzzyRule:
    """One rule of the classifier, SERUMS D3.1 (2019), equation (2.165).

    Parameters
    ----------
    participant : object
        Name of the participant whose rows the fuzzy set was learned from; None without names.

    label : object
        The class.

    Examples
    --------
    >>> from skdp.fuzzy import FuzzyRule
    >>> print(FuzzyRule("ward 3", "sitting"))
    if a row is like class 'sitting' of participant 'ward 3', then it is of class 'sitting'
    """

    participant: Any
    label: Any

    def __str__(self) -> str:
        whose = "" if self.participant is None else f" of participant {self.participant!r}"
        return f"if a row is like class {self.label!r}{whose}, then it is of class {self.label!r}"


@dataclass(frozen=True)
class FiredRule:
    """A rule and the degree to which it fires for a row.

    Parameters
    ----------
    membership : float
        Between 0 and 1: exp(−error/2p), with the squared error of the row's reconstruction. Close
        to 1 for all rules if rows have a small norm.

    rule : FuzzyRule
        The rule.

    share : float
        The degree relative to all rules: exp(−error/T), as in probabilities, divided by its sum
        over all rules.

    Examples
    --------
    >>> from skdp.fuzzy import FiredRule, FuzzyRule
    >>> print(FiredRule(0.999, FuzzyRule(None, 3), 0.75))
    0.7500: if a row is like class 3, then it is of class 3
    """

    membership: float
    rule: FuzzyRule
    share: float

    def __str__(self) -> str:
        return f"{self.share:.4f}: {self.rule}"


@dataclass(frozen=True)
class FuzzyExplanation(Explanation):
    """Explanation of a prediction of :class:`~skdp.DeepFuzzyClassifier`.

    An :class:`~skdp.tabular.Explanation` with additional information about fuzzy rules.

    Parameters
    ----------
    prediction, probability, runner_up, deviation, columns
        See :class:`~skdp.tabular.Explanation`.

    rules : tuple of FiredRule
        The rules, strongest first.

    error_differences : tuple of float
        For each of ``columns``, the squared error of the reconstruction by the class ``against``
        minus the error by the class ``towards``. They add up to the difference of the classes'
        errors, which decides the prediction with ``error_scale="shared"``.

    Examples
    --------
    The examples of the methods use this model:

    >>> from sklearn.datasets import load_digits
    >>> from skdp import DeepFuzzyClassifier
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = DeepFuzzyClassifier(5, 20, random_state=0).fit(X / 16, y)
    >>> explanation = model.explain(X[0] / 16)
    >>> explanation.prediction, explanation.rules[0].rule.label
    (0, 0)
    """

    rules: tuple[FiredRule, ...]
    error_differences: tuple[float, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per column.

        Returns
        -------
        frame : DataFrame of shape (n_columns, 5)
            As for :class:`~skdp.tabular.Explanation`, and ``error_difference``.

        Examples
        --------
        >>> explanation.to_frame().shape
        (64, 5)
        """
        return super().to_frame().assign(error_difference=self.error_differences)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), "shares of the rules:", *map(str, self.rules)])


class DeepFuzzyClassifier(ReconstructionClassifier):
    r"""Classify by fuzzy if-then rules of several participants.

    For each participant s and class c a :class:`DeepFuzzyAutoencoder` learns a fuzzy set from
    the rows of s in class c. Each rule states "if a row is in the set of (s, c), then it is
    of class c", and the rule with the highest membership decides:

    .. math:: c^*(y) = \arg\max_c \max_s μ_{s,c}(y), \qquad
       μ_{s,c}(y) = \exp\Big(-\frac{\|y - \hat y_{s,c}\|^2}{2p}\Big)

    Participants can fit separately, each on its own machine with its own rows, even of a single
    class. They :meth:`save` their models to files without rows, which others :meth:`load` and
    :meth:`merge`. With ``noise`` the rows are perturbed before learning, and the model contains
    the guarantee.

    Parameters
    ----------
    n_components : "auto" or int, default="auto"
        Largest size of the code of each autoencoder. ``"auto"``: 20, as in the report, with
        ``noise`` or ``groups`` or if a class has fewer than 8 rows; otherwise the size with the
        largest mean likelihood over classes, see :class:`DeepFuzzyAutoencoder`.

    n_inducing : int or float, default=0.5
        Number of rules inside each autoencoder: a count, or a fraction of its rows.

    max_layers : int, default=10
        Largest number of layers of each autoencoder; layers are added while the precision grows.

    length_scale : "auto" or float, default="auto"
        Width of the fuzzy sets of codes, see :class:`DeepFuzzyAutoencoder`; 1 in the report.

    noise : transformer, default=None
        Noise transformer such as :class:`~skdp.OptimalDPNoise`. A clone for each participant
        perturbs the training rows first; queries are never perturbed. ``None`` learns from the
        original rows.

    membership_function : "gaussian" or callable, default="gaussian"
        See :class:`DeepFuzzyAutoencoder`. A model with a callable cannot be saved.

    n_voters : int, default=1
        Number of rules that score a class, by the mean reconstruction error of its ``n_voters``
        strongest rules, or of all if it has fewer. 1 is the rule above. With many participants
        and much noise about five are better (see Notes). May be set on a fitted or merged model.

    subset_size : int, default=1000
        A set of N rows is split by k-means into ⌈N / subset_size⌉ subsets with an
        autoencoder each; the best of them decides the membership of a row.

    error_scale : {"auto", "own", "shared"}, default="auto"
        "shared": errors of all classes are compared directly, as above. "own": errors are
        compared relative to a scale per class, and class frequencies count, see
        ``skdp.membership.ErrorScales``. The scales are learned out of fold, with the given
        ``n_voters``, which takes up to five more fits and at least two rows per class. They do
        not fit the rows of others, so such a model cannot be merged. "auto": "own" if it can be
        learned, without ``noise`` and ``groups``; merged models have shared scales.

    tol : float, default=1e-4
        Relative change of β at which the inference of a layer stops.

    max_iter : int, default=200
        Largest number of iterations for a layer.

    n_jobs : int or None, default=None
        Number of autoencoders fitted in parallel, and of threads in a prediction. ``None``
        means 1 unless in a :obj:`joblib.parallel_config` context. It does not change the result.

    verbose : int, default=0
        If positive, :meth:`fit` prints its progress.

    random_state : int, RandomState instance or None, default=None
        For k-means. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    participants_ : list
        Names of the participants, ``[None]`` if none were given.

    rules_ : list of FuzzyRule
        One for each participant and class with rows.

    autoencoders_ : list of list of DeepFuzzyAutoencoder
        Autoencoders of each rule.

    guarantees_ : dict
        The :class:`~skdp.PrivacyGuarantee` of each participant, None if its rows were
        not perturbed.

    guarantee_ : PrivacyGuarantee or None
        Guarantee for every participant: their data are disjoint, so guarantees do not add up,
        and the weakest holds for all. None if a participant has no guarantee.

    n_iter_ : int
        Largest number of iterations of a layer.

    dtype_ : dtype
        Floating dtype of the training rows and of the computations.

    temperature_ : float
        T in :meth:`predict_proba`, in squared units of X.

    error_scales_ : ErrorScales
        Scales learned out of fold. Not defined if errors are compared directly.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    WideCDMMAClassifier : The same idea with membership-mappings.

    Notes
    -----
    The classifier suits classes on separate low-dimensional manifolds, such as images and sensor
    data, and not overlapping classes, as in most tables. With noise, the scales of "own" fit
    perturbed rows, which costs accuracy at small ε.

    Without noise a model is not private: it reveals centers of clusters of rows. With noise, the
    numbers of each participant's classes and subsets are still visible.

    With many noisy participants, the maximum selects the largest error in favor of a class. On
    human activity with 25 participants, five voters were better than one at every ε.

    References
    ----------
    SERUMS D3.1 (2019), section 2.3, Algorithm 3, equations (2.162)–(2.166) and Remark 7.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from skdp import DeepFuzzyClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_test, y, y_test = X[:1500] / 16, X[1500:] / 16, y[:1500], y[1500:]
    >>> wards = np.repeat(["ward 1", "ward 2"], 750)
    >>> first, second = (
    ...     DeepFuzzyClassifier(random_state=0).fit(X[rows], y[rows], groups=wards[rows])
    ...     for rows in (wards == "ward 1", wards == "ward 2")
    ... )
    >>> merged = DeepFuzzyClassifier.merge([first, second])
    >>> bool(merged.score(X_test, y_test) > 0.93)
    True
    >>> print(merged.explain(X_test[0]).rules[0].rule)
    if a row is like class 1 of participant 'ward 2', then it is of class 1
    """

    _parameter_constraints: dict = {
        **ReconstructionClassifier._parameter_constraints,
        **FUZZY_CONSTRAINTS,
        **{
            name: DeepFuzzyAutoencoder._parameter_constraints[name]
            for name in ("n_components", "length_scale")
        },
        "error_scale": [StrOptions({"auto", "own", "shared"})],
        "noise": [HasMethods(["fit_transform"]), None],
        "n_voters": [Interval(Integral, 1, None, closed="left")],
        "subset_size": [Interval(Integral, 1, None, closed="left")],
    }

    participants_: list[Any]
    rules_: list[FuzzyRule]
    autoencoders_: list[list[DeepFuzzyAutoencoder]]
    guarantees_: dict[Any, PrivacyGuarantee | None]
    guarantee_: PrivacyGuarantee | None
    n_iter_: int

    def __init__(
        self,
        n_components: int | str = "auto",
        n_inducing: int | float = 0.5,
        *,
        max_layers: int = 10,
        length_scale: str | float = "auto",
        noise: Any = None,
        n_voters: int = 1,
        membership_function: str | Callable[..., Any] = "gaussian",
        subset_size: int = 1000,
        error_scale: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 200,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.max_layers = max_layers
        self.length_scale = length_scale
        self.noise = noise
        self.n_voters = n_voters
        self.membership_function = membership_function
        self.subset_size = subset_size
        self.error_scale = error_scale
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn a fuzzy set per participant and class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.

        y : array-like of shape (n_samples,)
            Class labels; a single class suffices for a model that will be merged.

        groups : array-like of shape (n_samples,), default=None
            Name of the participant of each row. ``None`` is one unnamed participant.

        Returns
        -------
        self : object
            The fitted classifier.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from skdp import DeepFuzzyClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> X = X / 16
        >>> wards = np.repeat(["ward 1", "ward 2"], 180)
        >>> model = DeepFuzzyClassifier(5, 20, random_state=0).fit(X, y, groups=wards)
        >>> model.participants_, len(model.rules_)
        (['ward 1', 'ward 2'], 4)
        """
        # A participant may have rows of a single class.
        private = self.noise is not None
        rows, class_indices = validate_training(self, X, y, min_classes=1, private=private)
        names: list[Any] = [None]
        participants: np.ndarray = np.zeros(len(rows), dtype=int)
        if groups is not None:
            groups = label_array(groups)
            check_consistent_length(rows, groups)
            distinct, participants = np.unique(groups, return_inverse=True)
            names = distinct.tolist()
        rows, guarantees = self._perturb(rows, participants, names)
        warn_of_scales(self, rows)  # of noisy rows, if there is noise
        rules, sets = [], []
        for s, name in enumerate(names):
            of_participant = participants == s
            for c in np.unique(class_indices[of_participant]):
                rules.append(FuzzyRule(name, self.classes_.tolist()[c]))
                sets.append(np.flatnonzero(of_participant & (class_indices == c)))
        # Errors are compared with other participants', who fit codes of the same size.
        alone, fewest = not private and groups is None, min(map(len, sets))
        sized = copy(self)
        if self.n_components == "auto" and not (alone and fewest >= FEW_ROWS):
            sized.n_components = MOST_COMPONENTS
        autoencoders = fit_autoencoders(sized, DeepFuzzyAutoencoder, rows, sets)
        self._assemble(rules, autoencoders, guarantees)
        learnable = alone and len(sets) > 1 and fewest > 1
        if self.error_scale == "own" or (self.error_scale == "auto" and learnable):
            self.error_scales_ = fit_error_scales(self, rows, class_indices, participants)
        return self

    def _perturb(self, X, participants, names):
        """Return the rows with each participant's noise, and their guarantees by name."""
        if self.noise is None:
            return X, dict.fromkeys(names)
        noisy, guarantees = np.empty_like(X), {}
        for s, name in enumerate(names):
            rows = participants == s
            noisy[rows], noise = perturb_training_rows(self.noise, X[rows])
            guarantees[name] = getattr(noise, "guarantee_", None)
        return noisy, guarantees

    def _assemble(self, rules, autoencoders, guarantees):
        """Set rules and their autoencoders, fitted, loaded or merged."""
        self.__dict__.pop("error_scales_", None)  # from an earlier fit
        self.rules_, self.autoencoders_, self.guarantees_ = rules, autoencoders, guarantees
        self.participants_ = list(guarantees)
        self.guarantee_ = joint_guarantee(guarantees.values())
        self.n_iter_ = max(a.n_iter_ for group in autoencoders for a in group)
        self.temperature_ = group_temperature(self.autoencoders_by_class())
        return self

    def autoencoders_by_class(self) -> list[list[Any]]:
        """Return the fitted autoencoders of each class.

        Returns
        -------
        groups : list of list of DeepFuzzyAutoencoder
            In the order of ``classes_``; the argument of
            ``group_errors``.
        """
        by_class = self._rules_by_class()
        return [[a for rule in rules for a in self.autoencoders_[rule]] for rules in by_class]

    def _rules_by_class(self):
        """Return the indices of the rules of each class."""
        labels = [rule.label for rule in self.rules_]
        return [[r for r, c in enumerate(labels) if c == k] for k in self.classes_.tolist()]

    def reconstruction_errors(self, X: ArrayLike) -> np.ndarray:
        """Return the squared reconstruction error of each class, by its strongest rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        errors : ndarray of shape (n_samples, n_classes)
            In squared units of X; the mean over the ``n_voters`` strongest rules.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import DeepFuzzyClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> X = X / 16
        >>> model = DeepFuzzyClassifier(5, 20, random_state=0).fit(X, y)
        >>> bool((model.reconstruction_errors(X).argmin(axis=1) == y).mean() > 0.97)
        True
        """

        def reduce(errors):
            of_class = [np.sort(errors[:, rules], axis=1) for rules in self._rules_by_class()]
            voters = [errors[:, : self.n_voters] for errors in of_class]
            return np.stack([errors.mean(axis=1) for errors in voters], axis=1)

        return self._rule_errors(X, reduce)

    def _rule_errors(self, X, reduce=None):
        """Return the squared reconstruction error of each rule, or their reduction."""
        X = validate_queries(self, X)
        return group_errors(
            self.autoencoders_, X, dtype=self.dtype_, n_jobs=self.n_jobs, reduce=reduce
        )

    def memberships(self, X: ArrayLike) -> np.ndarray:
        """Return the degree to which each row fires each rule.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        memberships : ndarray of shape (n_samples, n_rules)
            Between 0 and 1; columns are in the order of ``rules_``.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import DeepFuzzyClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> X = X / 16
        >>> model = DeepFuzzyClassifier(5, 20, random_state=0).fit(X, y)
        >>> model.memberships(X).shape
        (360, 2)
        """
        return error_membership(self._rule_errors(X), self.n_features_in_)

    def explain(self, x: ArrayLike, schema: Any = None, *, n_rules: int = 5) -> FuzzyExplanation:
        """Explain a prediction by contributions of columns and by the strongest rules.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            One query.

        schema : Schema, mapping, str, path-like or None, default=None
            Schema by which :class:`~skdp.TabularEncoder` encoded the rows, with the ranges and
            units of the columns. None means numbers in [0, 1].

        n_rules : int, default=5
            Largest number of rules in the explanation.

        Returns
        -------
        explanation : FuzzyExplanation
            See :func:`~skdp.tabular.explain_prediction`; for the class of :meth:`predict`.

        Raises
        ------
        ValueError
            If x is not one row, or the schema has other encoded columns than the model.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from skdp import DeepFuzzyClassifier, TabularEncoder
        >>> schema = {"age": {"type": "numeric", "low": 20, "high": 100},
        ...           "bmi": {"type": "numeric", "low": 10, "high": 60}}
        >>> rng = np.random.RandomState(0)
        >>> dead = np.repeat([False, True], 100)
        >>> age, bmi = np.where(dead, 70, 50) + 9 * rng.randn(200), 25 + 4 * rng.randn(200)
        >>> encoder = TabularEncoder(schema)
        >>> X = encoder.fit_transform(pd.DataFrame({"age": age, "bmi": bmi}))
        >>> y = np.where(dead, "dead", "alive")
        >>> model = DeepFuzzyClassifier(1, 5, error_scale="own", random_state=0).fit(X, y)
        >>> print(model.explain(X[150], schema))
        'dead', with probability 0.65. Added to the log-odds of 'dead' (against 'alive'),
        relative to the average value of each column:
        age is 69.39: +1.04 (its values: -4.42 to +3.09)
        bmi is 21.94: +1.01 (its values: -1.78 to +2.51)
        shares of the rules:
        0.8385: if a row is like class 'dead', then it is of class 'dead'
        0.1615: if a row is like class 'alive', then it is of class 'alive'
        """
        X = validate_queries(self, one_row(x))
        names = getattr(self, "feature_names_in_", None)
        schema = None if schema is None else as_schema(schema)

        def scores(rows):
            return self.log_odds(rows if names is None else pd.DataFrame(rows, columns=names))

        explanation = explain_prediction(scores, X[0], self.classes_, schema=schema, names=names)
        if schema is None:
            origins = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
        else:
            origins = [column.name for column in schema.columns for _ in column.kinds]
        by_rule = self._rule_residuals(X)
        residuals = dict(zip(self.classes_.tolist(), self._class_residuals(by_rule), strict=True))
        towards = residuals[explanation.towards]
        differences = residuals.get(explanation.against, towards) - towards
        by_column = pd.Series(differences).groupby(np.array(origins, dtype=object)).sum()
        return FuzzyExplanation(
            **vars(explanation),
            rules=self._fired_rules(by_rule.sum(axis=1), n_rules),
            error_differences=tuple(float(by_column[c.name]) for c in explanation.columns),
        )

    def _rule_residuals(self, X):
        """Return the contribution of each feature to the error of each rule, (n_rules, p)."""
        by_rule = []
        for autoencoders in self.autoencoders_:
            squares = [np.square(X - a.reconstruct(X), dtype=np.float64)[0] for a in autoencoders]
            by_rule.append(min(squares, key=np.sum))
        return np.array(by_rule)

    def _class_residuals(self, by_rule):
        """Return the mean over the strongest rules of each class, (n_classes, p)."""
        errors = by_rule.sum(axis=1)
        by_class = map(np.array, self._rules_by_class())
        ordered = [rules[np.argsort(errors[rules], kind="stable")] for rules in by_class]
        return [by_rule[rules[: self.n_voters]].mean(axis=0) for rules in ordered]

    def _fired_rules(self, errors, n_rules):
        """Return the rules that fire for a row, strongest first, given their squared errors."""
        shares = softmax(-errors / self.temperature_)
        memberships = error_membership(errors, self.n_features_in_)
        order = np.argsort(errors, kind="stable")[:n_rules]
        return tuple(
            FiredRule(float(memberships[k]), self.rules_[k], float(shares[k])) for k in order
        )

    @staticmethod
    def merge(models: Iterable["DeepFuzzyClassifier"]) -> "DeepFuzzyClassifier":
        """Merge models that participants fitted separately into one classifier.

        Parameters
        ----------
        models : list of DeepFuzzyClassifier
            Fitted or loaded. They may have different classes. An unnamed participant is named
            by the position of its model.

        Returns
        -------
        merged : DeepFuzzyClassifier
            With the rules of all models, and the parameters of the first.

        Raises
        ------
        ValueError
            If no model is given, if their features or types of labels differ, if two have the
            same participant, or if one has ``error_scale="own"``. Scales learned by "auto" are
            left out.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import DeepFuzzyClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> X = X / 16
        >>> models = [
        ...     DeepFuzzyClassifier(5, 20, random_state=0).fit(X[rows], y[rows])
        ...     for rows in (slice(0, 180), slice(180, 360))
        ... ]
        >>> merged = DeepFuzzyClassifier.merge(models)
        >>> merged.participants_, bool(merged.score(X, y) > 0.97)
        ([0, 1], True)
        """
        models = list(models)
        _check_mergeable(models)
        first = models[0]
        merged = clone(first).set_params(error_scale="shared")
        merged.classes_ = np.unique(np.concatenate([model.classes_ for model in models]))
        merged.n_features_in_ = first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            merged.feature_names_in_ = first.feature_names_in_
        merged.dtype_ = np.result_type(*(model.dtype_ for model in models))
        rules, autoencoders = [], []
        guarantees: dict = {}
        for position, model in enumerate(models):
            for name, guarantee in model.guarantees_.items():
                guarantees[position if name is None else name] = guarantee
            for rule in model.rules_:
                name = position if rule.participant is None else rule.participant
                rules.append(FuzzyRule(name, rule.label))
            autoencoders += model.autoencoders_
        return merged._assemble(rules, autoencoders, guarantees)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file of arrays and text, without code.

        Parameters
        ----------
        path : str or path-like
            Path of the file.

        Raises
        ------
        ValueError
            If ``membership_function`` is a callable, which is code.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from sklearn.datasets import load_digits
        >>> from skdp import DeepFuzzyClassifier
        >>> X, y = load_digits(n_class=2, return_X_y=True)
        >>> X = X / 16
        >>> model = DeepFuzzyClassifier(5, 20, random_state=0).fit(X, y)
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "ward.skdp")
        ...     model.save(path)
        ...     loaded = DeepFuzzyClassifier.load(path)
        >>> bool((loaded.predict(X) == model.predict(X)).all())
        True
        """
        check_is_fitted(self)
        if self.membership_function != "gaussian":
            raise ValueError(
                "The 'membership_function' parameter of DeepFuzzyClassifier must be "
                f"'gaussian' to be saved, got {self.membership_function!r}: the file contains no "
                "code. Use pickle if all readers trust you."
            )
        header, arrays = pack_model(self, _SAVED, self.autoencoders_)
        header |= {
            "rules": [[rule.participant, rule.label] for rule in self.rules_],
            "guarantees": [
                [name, guarantee and pack_guarantee(guarantee)]
                for name, guarantee in self.guarantees_.items()
            ],
            "feature_names": getattr(self, "feature_names_in_", np.array([])).tolist(),
        }
        if self.error_scale != "shared" and hasattr(self, "error_scales_"):
            scales = self.error_scales_
            sizes = np.array([scales.typical_error, scales.least_error])
            arrays |= dict(zip(_SCALES, (scales.powers, scales.offsets, sizes), strict=True))
        save_arrays(path, "DeepFuzzyClassifier", header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote, without executing code.

        Parameters
        ----------
        path : str or path-like
            Path of the file.

        Returns
        -------
        model : DeepFuzzyClassifier
            Fitted, ready to predict or to merge. See :meth:`save` for an example.

        Raises
        ------
        ValueError
            If the file is truncated, altered or not a model of skdp.
        """
        header, arrays = load_arrays(path, "DeepFuzzyClassifier")
        with well_formed(path, "DeepFuzzyClassifier"):
            return cls._from_file(header, arrays)

    @classmethod
    def _from_file(cls, header, arrays):
        model, autoencoders = unpack_model(cls, DeepFuzzyAutoencoder, _SAVED, header, arrays)
        rules = [FuzzyRule(name, label) for name, label in header["rules"]]
        require(len(rules) == len(set(rules)) == len(autoencoders), "rules and n_parts")
        guarantees = {
            name: None if guarantee is None else unpack_guarantee(guarantee)
            for name, guarantee in header["guarantees"]
        }
        for guarantee in filter(None, guarantees.values()):
            require(guarantee.epsilon > 0, "guarantees")
            require(guarantee.unit in {"element", "record"}, "guarantees")
            require(guarantee.n_features == model.n_features_in_, "guarantees")
        require({rule.participant for rule in rules} == set(guarantees), "rules and guarantees")
        model.classes_ = np.unique(stored_labels([rule.label for rule in rules]))
        restore_feature_names(model, header["feature_names"])
        model._assemble(rules, autoencoders, guarantees)
        if _SCALES[0] in arrays:
            shapes = (len(model.classes_),), (len(model.classes_),), (2,)
            powers, offsets, sizes = (
                stored_array(arrays, name, np.float64, shape)
                for name, shape in zip(_SCALES, shapes, strict=True)
            )
            require(sizes.min() > 0, _SCALES[2])
            model.error_scales_ = ErrorScales(powers, offsets, *sizes.tolist())
        return model

    def __getstate__(self) -> dict[str, Any]:
        # A pickle of a fitted model must not contain the source of its noise.
        state = super().__getstate__().copy()
        if "rules_" in state:
            state["noise"] = None
        return state


def _check_mergeable(models):
    """Raise ValueError unless the models of several participants can be merged."""
    if not models:
        raise ValueError("The 'models' parameter of merge must have at least one model, got none.")
    first = models[0]
    seen: set = set()
    for position, model in enumerate(models):
        if type(model).__name__ != "DeepFuzzyClassifier":
            raise ValueError(
                f"models[{position}] must be a DeepFuzzyClassifier, got "
                f"{type(model).__name__}. Take the classifier out of its pipeline first."
            )
        check_is_fitted(model)
        if model.error_scale == "own":
            check_shared_scales(model, f"models[{position}]")
        if model.n_features_in_ != first.n_features_in_:
            raise ValueError(
                f"models[{position}] has {model.n_features_in_} features, models[0] has "
                f"{first.n_features_in_}. Fit all participants on the same features."
            )
        names = [list(getattr(m, "feature_names_in_", [])) for m in (model, first)]
        if names[0] != names[1]:
            raise ValueError(
                f"models[{position}] and models[0] have different feature names. Fit all "
                "participants on the same columns in the same order."
            )
        if (model.classes_.dtype.kind in "OUS") != (first.classes_.dtype.kind in "OUS"):
            raise ValueError(
                f"models[{position}] has labels of type {model.classes_.dtype}, models[0] of "
                f"type {first.classes_.dtype}. Fit all participants on the same kind of labels."
            )
        participants = {position if name is None else name for name in model.participants_}
        if participants & seen:
            raise ValueError(
                f"models[{position}] has participants of another model: "
                f"{sorted(participants & seen, key=str)}. Give each a unique name in "
                "groups; if one participant fitted two models, its privacy is spent twice."
            )
        seen |= participants
