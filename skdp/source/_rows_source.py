"""The source owner's estimator that makes a release from perturbed rows."""

import os
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from skdp.membership import WideCDMMAClassifier, frozen_classifier
from skdp.noise import RandomizedResponse
from skdp.privacy import PrivacyGuarantee, PrivacyLedger, record_guarantee
from skdp.release import (
    Alignment,
    ClassModel,
    Mixtures,
    Moments,
    Release,
    RowsModel,
    Subspace,
    elements_per_record,
    linear_discriminant,
    value_guarantee,
    warn_of_doubt,
)
from skdp.source._door import check_labels, read_numbers, refuse_measurements
from skdp.source._perturbation import (
    NOISES,
    about_release,
    check_scale,
    class_labels,
    make_noise,
    make_response,
    perturb_labels,
    perturb_rows,
    public_stand_ins,
)
from skdp.source._private_rows import PublicColumns, read_table
from skdp.source._publication import PublishingMixin, default_settings, publish
from skdp.tabular import ClassOutcome, Schema, TabularEncoder
from skdp.utils._frames import as_frame
from skdp.utils._kernel_regression import COUNT_OR_FRACTION
from skdp.utils._labels import stratified_folds
from skdp.utils._sklearn import HasMethods, Interval, StrOptions, fit_context
from skdp.utils._validation import check_magnitude, forget_fit

# Directions of the subspace for each component of the codes. Rule of thumb: 60 directions for
# codes of 20, as many as the target's subspace has.
_DIRECTIONS_PER_COMPONENT = 3


class DPSource(PublishingMixin, BaseEstimator):
    r"""Make a release of a private source from a noisy copy of its rows.

    The owner of private labeled rows calls :meth:`fit` and publishes ``release_``, saved by
    :meth:`Release.save`; the target's owner passes it to :class:`DPTransferClassifier`. Fitting
    perturbs the rows once, forgets them, and computes everything from the noisy copy
    :math:`y^+`:

    - counts, means and noise-corrected covariances
      :math:`\mathrm{cov}(y^+) - \mathrm{diag}(v)` of the classes;
    - a mixture of normal distributions for each class, corrected for the noise;
    - a :class:`~skdp.WideCDMMAClassifier` of denoised rows;
    - the leading principal directions :math:`V_{sr}` of all rows, and class medians

    .. math:: m_{sr,c} = \mathrm{median}\{V_{sr}\, y^+ : y^+ \text{ of class } c\}

    Classes overlap in most tables. A table's moments therefore give the log-odds of a linear
    discriminant, corrected for the noise, instead of mixtures and autoencoders.

    **What is guaranteed.** ε and δ protect each element of the *features* of the training rows;
    ``guarantee_`` also states the guarantee for a whole record. Neighboring data sets have equal
    numbers of rows (replace-one). An element may change to any value within public ``bounds``, or
    by ``sensitivity`` if it has no bounds. With an ``encoder``, ε and δ are for an element of the
    encoded rows. A change of category, or a value that goes missing, changes two elements, and
    ``guarantee_`` states the result for a value of the table (2ε, but less with Gaussian noise).
    The guarantee covers everything computed from the noisy copy, so ``parts`` costs no privacy.
    **What is treated as public**: the labels (hence the classes and their numbers of rows),
    the number and names of the columns, their dtype, and their bounds or encoder. With
    ``label_noise`` each label is protected too, see ``label_guarantee_``; classes and
    number of rows remain public.

    Parameters
    ----------
    epsilon : float or None, default=None
        Privacy-loss bound ε > 0 for one element, of the encoded rows with an
        ``encoder``; smaller is more private. ``inf`` releases a model of the unperturbed data,
        and warns. None: the ε of ``noise`` if ``noise`` is a transformer, otherwise 1.

    delta : float or None, default=None
        Slack δ in [0, 1) for one element. None: the δ of a ``noise`` transformer, otherwise 1e-5
        for "gaussian" and 0 for other noise.

    sensitivity : float or None, default=None
        Largest protected change of one element, in the units of the data. Values are not clipped
        to it: a value that changes by more is protected less. Prefer ``bounds``, which cannot be
        combined with it. None: the sensitivity of a ``noise`` transformer; otherwise 1, whatever
        the units, and :meth:`fit` warns with :class:`~skdp.privacy.PrivacyLeakWarning`.

    noise : {"optimal", "staircase", "gaussian"} or transformer, default="optimal"
        The noise by name, drawn from fresh entropy of the operating system. Or a noise
        transformer (for example with ``privacy_unit="record"`` or ``bounds``), which must state a
        ``guarantee_``; an ``epsilon``, ``delta`` or ``sensitivity`` given above must equal
        the transformer's. Neither a pickled fitted source nor a release contains the transformer.

    bounds : pair (low, high) or None, default=None
        Publicly known bounds of the columns, each a number or an array of shape (n_features,).
        Values are clipped to them, and any change within them is protected. None: the bounds of a
        ``noise`` transformer. Not used with an ``encoder``, whose schema states the bounds.

    encoder : TabularEncoder, Schema, mapping, str, path-like or None, default=None
        Turns a table of mixed columns into bounded numbers by a public schema, which becomes part
        of the release. A schema in any form that :class:`TabularEncoder` takes is accepted. If it
        lists the classes, rows of other classes are left out; with ``label_noise`` they raise an
        error, because the number of rows is public. Classes without rows are not released.

    ledger : PrivacyLedger, str, path-like or None, default=None
        The privacy ledger of these rows, or its file. Each fit enters what :meth:`guarantee_for`
        returns before any noise is drawn, or is refused with
        :class:`~skdp.privacy.BudgetExceededError`; clones share the ledger. Other processes, as
        with ``n_jobs``, need a ledger with a file. A pickle or copy of a fitted source omits it:
        its ``ledger`` is False, and the copy can be fitted only after it gets a ledger.

    label_noise : RandomizedResponse or None, default=None
        Randomizes the labels before anything is learned from them. By default they are
        used as they are, and count as public.

    parts : {"noise_aware", "papers", "all"}, default="noise_aware"
        What the release contains. ``"noise_aware"``: what the default strategy of
        :class:`DPTransferClassifier` needs, corrected for the noise, whose distribution is
        public: class moments (p(p+1)/2 numbers a class), and, in the
        ``3 * n_components`` directions in which rows vary most, a mixture of normal
        distributions for each class and a classifier of denoised rows; for a table,
        linear log-odds instead of these two. ``"papers"``: a
        classifier of the noisy rows, which the strategies "alignment" and "multitask" need.
        ``"all"``: both, from one noisy copy, so that strategies can be compared on one
        release.

    n_components : int, default=20
        Size of the codes, see :class:`~skdp.WideCDMMAClassifier`.

    n_inducing : int or float, default=0.5
        Inducing points of each layer: a count, or a fraction of the rows.

    n_layers : int, default=5
        Depth of each autoencoder. The file grows with it.

    inference : {"gamma", "empirical"}, default="gamma"
        Inference of the mappings, see :class:`~skdp.CDMMA`.

    subset_size : int, default=1000
        Number of rows for each autoencoder, approximately.

    n_jobs : int or None, default=None
        Number of autoencoders fitted in parallel. ``None`` means 1 unless in a
        :obj:`joblib.parallel_config` context. The result does not depend on it.

    verbose : int, default=0
        Above 0, :meth:`fit` prints its progress.

    random_state : int, RandomState instance or None, default=None
        Seeds the steps after the noise (k-means, held-out rows), **never the noise itself**, so a
        seed weakens no guarantee. For reproducible noise, pass a transformer with a
        ``random_state`` as ``noise``. The ``random_state`` of :class:`DPStatisticsSource` does
        seed the noise.

    Attributes
    ----------
    release_ : Release
        The release, which may be published: all that a target needs.

    guarantee_ : PrivacyGuarantee
        The guarantee of the release for features: for each element, or each value of the
        table with an ``encoder``. ``release_.guarantee`` is for encoded elements.

    label_guarantee_ : PrivacyGuarantee or None
        The guarantee for labels; None where they are used as they are.

    classes_ : ndarray of shape (n_classes,)
        Class labels.

    n_features_in_ : int
        Number of features seen during :term:`fit`, before encoding.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    DPStatisticsSource : A release of noisy sums, which protects whole records or people.
    Release : The result.
    DPTransferClassifier : Learns from a release.

    Notes
    -----
    Every :meth:`fit` draws new noise and spends ε and δ again. Every candidate of a parameter
    search over a source does so too; a ``ledger`` stops the search when the budget is spent. A
    search clones its estimators, and a clone of a source is not fitted, so pass ``release_``.

    ``parts="papers", inference="empirical"`` reproduces the source of SERUMS D3.3 (2022), section
    1.3.2 and Algorithm 6. The default inference, also in the benchmarks of the strategy
    "multitask", follows Kumar and Moser.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", section 4.2, Algorithms 5 and 6 and equation (118).

    Examples
    --------
    >>> from skdp import DPSource
    >>> from skdp.datasets import load_digits_domains
    >>> domains = load_digits_domains()
    >>> X, y = domains.source[:200], domains.source_target[:200]
    >>> source = DPSource(epsilon=8.0, bounds=(0, 1), n_layers=1, random_state=0)
    >>> source = source.fit(X, y)
    >>> source.release_
    Release(... rows, 10 classes, 64 features, epsilon 8 per element)
    >>> source.guarantee_.epsilon, source.guarantee_.unit
    (8.0, 'element')
    >>> source.release_.save("digits.skdp")

    A table, whose public properties are in a schema:

    >>> import numpy as np
    >>> import pandas as pd
    >>> schema = {
    ...     "columns": {
    ...         "age": {"type": "numeric", "low": 0, "high": 100},
    ...         "ward": {"type": "category", "categories": ["A", "B", "C"]},
    ...     },
    ...     "classes": ["dead", "alive"],
    ...     "version": 1,
    ... }
    >>> age = np.random.RandomState(0).randint(0, 100, 300)
    >>> table = pd.DataFrame({"age": age, "ward": np.resize(["A", "B", "C"], 300)})
    >>> source = DPSource(epsilon=4.0, encoder=schema, n_layers=1, random_state=0)
    >>> source = source.fit(table, np.where(age > 50, "dead", "alive"))
    >>> source.guarantee_.epsilon, source.guarantee_.unit
    (8.0, 'value')
    >>> source.release_.predict(table[:3]).shape
    (3,)
    """

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0, None, closed="right"), None],
        "delta": [Interval(Real, 0, 1, closed="left"), None],
        "sensitivity": [Interval(Real, 0, None, closed="neither"), None],
        "noise": [StrOptions(set(NOISES)), HasMethods(["fit_transform", "get_params"])],
        "bounds": ["array-like", None],
        "encoder": [TabularEncoder, Schema, Mapping, str, os.PathLike, None],
        "ledger": [PrivacyLedger, str, os.PathLike, None],
        "label_noise": [RandomizedResponse, None],
        "parts": [StrOptions({"noise_aware", "papers", "all"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_inducing": COUNT_OR_FRACTION,
        "n_layers": [Interval(Integral, 1, None, closed="left")],
        "inference": [StrOptions({"gamma", "empirical"})],
        "subset_size": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    release_: Release
    guarantee_: PrivacyGuarantee
    label_guarantee_: PrivacyGuarantee | None
    classes_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        sensitivity: float | None = None,
        *,
        noise: Any = "optimal",
        bounds: ArrayLike | None = None,
        encoder: TabularEncoder
        | Schema
        | Mapping[str, Any]
        | str
        | os.PathLike[str]
        | None = None,
        ledger: PrivacyLedger | str | os.PathLike[str] | None = None,
        label_noise: RandomizedResponse | None = None,
        parts: str = "noise_aware",
        n_components: int = 20,
        n_inducing: int | float = 0.5,
        n_layers: int = 5,
        inference: str = "gamma",
        subset_size: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.noise = noise
        self.bounds = bounds
        self.encoder = encoder
        self.ledger = ledger
        self.label_noise = label_noise
        self.parts = parts
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.inference = inference
        self.subset_size = subset_size
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Self:
        """Perturb the rows, and make the release from the noisy copy alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows: a DataFrame with an ``encoder``, otherwise numbers. Nothing computed
            from them without noise is kept.

        y : array-like of shape (n_samples,)
            Class labels, at least two different ones; not protected without ``label_noise``.

        Returns
        -------
        self : object
            With ``release_``.

        Raises
        ------
        ValueError
            When parameters, rows or labels are invalid, or the noise transformer contradicts
            this object's parameters, states no guarantee in advance, or does not work for rows
            of these columns; nothing is charged.

        BudgetExceededError
            When the ``ledger`` does not allow it; no noise is drawn.

        Warns
        -----
        UserWarning
            When the release may not separate the classes.

        PrivacyLeakWarning
            When neither ``bounds`` nor ``sensitivity`` is given, or ``epsilon`` is infinite.
        """
        forget_fit(self)  # whatever fails below, no old result is taken for a new one
        self._validate_params()  # even if scikit-learn is configured to skip it
        with default_settings():
            guarantee, noise, response, X, y, columns = self._prepared(X, y)
        # Without the generator of the noise, which a rehearsal must not advance, and small.
        small = {"n_components": 1, "n_layers": 1, "n_jobs": None, "verbose": 0}
        twin = clone(self).set_params(random_state=0, **small)
        self.release_ = publish(
            "DPSource.fit",
            guarantee,
            DPSource._perturb_and_learn,
            private=(self, noise, response, X, y, columns),
            rehearsals=[(twin, *public_stand_ins(noise, response, X, y, columns), columns)],
            ledger=self.ledger,
            name=type(self).__name__,
            doubt=warn_of_doubt,
        )
        self.classes_ = self.release_.classes
        self.guarantee_ = value_guarantee(self.release_.guarantee, self.release_.encoder)
        self.label_guarantee_ = self.release_.label_guarantee
        return self

    def guarantee_for(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> PrivacyGuarantee:
        """Return the guarantee that :meth:`fit` will give; draws no noise and learns nothing.

        A :class:`~skdp.privacy.PrivacyLedger` asks for it before it lets a source fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows, as for :meth:`fit`.

        y : array-like of shape (n_samples,)
            Class labels, as for :meth:`fit`.

        Returns
        -------
        guarantee : PrivacyGuarantee
            With ``label_noise``, the guarantee of a record with its label,
            ``release_.record_guarantee``; without, ``guarantee_``, which treats labels as public.

        Raises
        ------
        ValueError
            When :meth:`fit` would refuse the parameters or the data, or the noise cannot state
            its guarantee in advance.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPSource
        >>> X, y = np.random.RandomState(0).rand(100, 2), np.repeat([0, 1], 50)
        >>> DPSource(epsilon=2.0, bounds=(0, 1)).guarantee_for(X, y).epsilon
        2.0
        """
        self._validate_params()
        with default_settings():
            return clone(self)._prepared(X, y)[0]

    def _prepared(self, X, y):
        """Return the guarantee of a fit, the mechanisms, rows, labels and columns; checked."""
        noise = make_noise(self)
        X, y, columns = self._read(X, y)
        response = make_response(self.label_noise, columns.schema)
        check_scale(noise, X)
        guarantee = _guarantee_before(noise, response, X, y, columns.schema)
        return guarantee, noise, response, X, y, columns

    def _read(self, X, y):
        """Return rows as numbers, labels, and what is public about the columns."""
        X = as_frame(X)
        if self.encoder is None:
            X = read_numbers(self, X)
            labels = class_labels(check_labels(y, X))
            refuse_measurements(labels, "DPSource")
            names = getattr(self, "feature_names_in_", None)
            public = X.shape[1], self.bounds, names, X.dtype, "DPSource"
            return X, labels, PublicColumns.of_array(*public)
        columns = PublicColumns.of_encoder(self.encoder, X)
        rows, labels = read_table(columns, X, y, keep_all=self.label_noise is not None)
        labels = class_labels(labels)
        self.n_features_in_, self.feature_names_in_ = columns.n_inputs, columns.input_names
        return rows, labels, columns

    def _perturb_and_learn(self, noise, response, X, y, columns):
        """Return the release of rows and labels, from noisy copies alone."""
        labels = perturb_labels(response, y)
        learns_denoised = self.parts != "papers"
        noisy = perturb_rows(noise, X, needs_variance=learns_denoised, schema=columns.schema)
        del X, y  # below there is only the noisy copy
        check_magnitude(noisy.rows, "X (with the noise of 'sensitivity' and 'epsilon')")
        model = self._learn_denoised(noisy, labels, columns) if learns_denoised else RowsModel()
        return Release(
            outcome=ClassOutcome(labels.classes),
            n_features=noisy.rows.shape[1],
            dtype=noisy.rows.dtype,
            guarantee=noisy.guarantee,
            label_guarantee=labels.guarantee,
            feature_names=columns.names,
            bounds=columns.bounds,
            encoder=columns.schema,
            model=self._with_papers(model, noisy, labels),
        )

    def _learn_denoised(self, noisy, labels, columns):
        """Return what is learned with a correction for the noise, whose distribution is public."""
        moments = Moments.measure(noisy.rows, labels.weights, noisy.variance)
        if columns.schema is not None:
            return RowsModel(moments, linear_discriminant(moments))
        if not noisy.variance.any():
            return RowsModel(moments)
        subspace, mixtures, codes = denoised_codes(
            noisy.rows,
            labels.indices,
            moments,
            min(_DIRECTIONS_PER_COMPONENT * self.n_components, noisy.rows.shape[1]),
            check_random_state(self.random_state),
            labels_exact=self.label_noise is None,
        )
        classifier = self._fit_classifier(codes, labels)
        return RowsModel(moments, None, subspace, mixtures, code_classifier=classifier)

    def _with_papers(self, model, noisy, labels):
        """Add what the papers' strategies need: an alignment, and a classifier of noisy rows.

        The latter also where nothing else could separate the classes.
        """
        alignment = Alignment.measure(noisy.rows, labels.indices, len(labels.classes))
        scored = model.linear is not None or model.classifier is not None
        if self.parts == "noise_aware" and scored:
            return replace(model, alignment=alignment)
        of_rows = self._fit_classifier(noisy.rows, labels)
        return replace(model, alignment=alignment, row_classifier=of_rows)

    def _fit_classifier(self, rows, labels):
        classifier = WideCDMMAClassifier(
            self.n_components,
            self.n_inducing,
            self.n_layers,
            inference=self.inference,
            subset_size=self.subset_size,
            error_scale="shared",
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=self.random_state,
        ).fit(rows, labels.classes[labels.indices])
        # Without seeds, which may come from the generator that made the noise.
        return frozen_classifier(classifier, copy=False)

    def __getstate__(self) -> dict[str, Any]:
        # A pickle of a fitted source must not contain what made its noise: neither the noise nor
        # a generator, which may have drawn the noise too.
        state = super().__getstate__()
        if "release_" in state:
            state["random_state"] = None
            if self.label_noise is not None:  # None would mean that labels are public
                state["label_noise"] = clone(self.label_noise).set_params(random_state=None)
            if not isinstance(self.noise, str):
                state["noise"] = None
        return state


def _guarantee_before(noise, response, X, y, schema):
    """Return the guarantee that a fit will give; draws no noise."""
    noise = clone(noise)
    if not hasattr(noise, "guarantee_for"):
        raise ValueError(
            f"The 'noise' parameter of DPSource, {noise!r}, has no guarantee_for(X): it "
            "cannot state its privacy cost before noise is drawn. Use a noise transformer of skdp."
        )
    if "perturb" in noise.get_params(deep=False):
        noise.set_params(perturb="fit")  # as when it is fitted
    guarantee = about_release(noise.guarantee_for(X), schema)
    if response is not None and len(y) < 2:
        raise ValueError("The 'X' and 'y' parameters of DPSource.fit must hold two rows or more.")
    if response is None:
        perturb_labels(None, y)  # refuses a single class, and leaves labels as they are
        return value_guarantee(guarantee, schema)
    n_elements = elements_per_record(schema, guarantee.n_features)
    return record_guarantee(guarantee, response.guarantee_for(y), n_elements)


def denoised_codes(noisy, labels, moments, n_directions, random_state, *, labels_exact):
    """Return the subspace of the rows behind a noisy copy, and denoised rows in it."""
    subspace = Subspace.of_moments(moments, n_directions)
    codes, noise = subspace.encode(noisy), subspace.noise(moments.noise)
    mixtures = None
    if labels_exact:
        variances = subspace.variances * subspace.scale**2
        mixtures = _likely_mixtures(codes, labels, noise, variances, random_state)
    if mixtures is None:
        # From the moments of all features, whose noise is known without correlations.
        mixtures = Mixtures.of_moments(moments, subspace)
    return subspace, mixtures, mixtures.denoise(codes, labels, noise)


def _likely_mixtures(codes, labels, noise, variances, random_state):
    """Return mixtures if they explain held-out noisy rows better than one normal each."""
    held = stratified_folds(labels, 10, random_state) == 0  # one of ten folds
    held &= np.bincount(labels)[labels] > 1
    if not held.any():
        return None
    rest, rest_labels = codes[~held], labels[~held]
    moments = Moments.measure(rest, np.eye(labels.max() + 1)[rest_labels], noise)
    model = ClassModel.of_moments(moments, np.eye(len(noise)), variances)
    normals = Mixtures.single(model.means + moments.mean, model.covariances)
    mixtures = Mixtures.fit(rest, rest_labels, noise, random_state)
    rows = np.arange(held.sum())
    likelihoods = [
        model.log_likelihood(codes[held], noise)[rows, labels[held]].mean(dtype=np.float64)
        for model in (normals, mixtures)
    ]
    return mixtures if likelihoods[1] > likelihoods[0] else None
