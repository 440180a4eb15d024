"""The source owner's estimator that makes a release from perturbed statistics."""

import os
from collections.abc import Mapping
from contextlib import suppress
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import clone

from skdp.noise import GaussianQueries, PrivateRandomness, private_bits
from skdp.privacy import PrivacyGuarantee, PrivacyLedger
from skdp.release import Release, warn_of_doubt
from skdp.source._accumulator import StatisticsAccumulator
from skdp.source._chunked_rows import announced_columns
from skdp.source._door import is_dask
from skdp.source._private_rows import (
    MODELS,
    SummedRows,
    announced_plan,
    chosen_outcome,
    one_pass_plan,
    read_private_rows,
)
from skdp.source._publication import PublishingMixin, default_settings, publish, whole_guarantee
from skdp.tabular import Schema, TabularEncoder
from skdp.utils._sklearn import Interval, StrOptions, fit_context
from skdp.utils._validation import forget_fit, listed


class DPStatisticsSource(PublishingMixin, PrivateRandomness):
    r"""Make a release of a private source from noisy statistics, which protect whole records.

    :class:`DPSource` perturbs each row and protects one *element*. This class perturbs sums over
    all rows, and protects a **whole record with its label**, or all rows of a **person**. The
    noise in a mean decreases with the number of rows.

    Rows are clipped to public bounds, scaled to a norm of at most R and rounded to whole numbers;
    their sums are exact, in any order; and each sum s of sensitivity Δ is released as

    .. math:: s + N(0, σ^2Δ^2), \qquad \sum_i \frac{1}{σ_i^2} = μ^2,

    where μ is the parameter of a single Gaussian mechanism with ε and δ: all queries compose
    exactly (Dong, Roth and Su, 2022). The split of the budget is fixed in advance and public.

    **What is guaranteed.** Neighboring data sets differ by one record with its
    label (add/remove); with ``privacy_unit="group"``, by one person. The number of rows and
    the class counts are protected too. ``guarantee_`` states the guarantee;
    :meth:`~skdp.PrivacyGuarantee.to_replace_one` converts it to the replace-one guarantee, for
    someone who is known to be in the data. **What is public**: the columns, their bounds and
    their encoder; the list of classes; all parameters; whether an array is float32 or float64;
    and whether :meth:`fit` raises an error, so show error messages to the owner only. Choose none
    of these by looking at the rows. How a row of a table is encoded depends on the schema and on
    that row alone, never on the type that other rows gave a column.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one record or person; smaller is more private. ``inf``
        releases exact statistics, and warns.

    delta : float, default=1e-5
        Slack δ in (0, 1); choose it far below 1 over the number of records. :meth:`fit` warns if
        it exceeds 1 over the noisy number of records, or 1e-3.

    privacy_unit : {"record", "group"}, default="record"
        The unit that ε and δ protect: one row with its label, or one person with all rows that
        ``groups`` assigns to them; each of k rows then counts 1/k.

    bounds : pair (low, high), default=(0, 1)
        Publicly known bounds of the columns, each a number or an array of shape (n_features,).
        Values are clipped to them. Not used with an ``encoder``, whose schema states the bounds.

    encoder : TabularEncoder, Schema, mapping, str, path-like or None, default=None
        Turns a table of mixed columns into bounded numbers by a public schema, which becomes part
        of the release. A schema in any form that :class:`TabularEncoder` takes is accepted.

    classes : array-like of shape (n_classes,) or None, default=None
        The public list of classes. Rows of other classes are left out, and classes without rows
        are still released. None: the classes in the encoder's schema; without an encoder, the
        labels in y, which reveals that each of them occurs, and warns. Labels are compared like
        categories: 1, 1.0, "1" and True are one label, but "Dead" and "dead " differ from
        "dead", and their rows are left out silently. ``set(y) - set(classes)`` shows the owner
        the unlisted labels; correct their spelling in y, and do not change the list.

    outcome : mapping or None, default=None
        If y is a number: its public bounds, as in ``{"type": "number", "low": 0, "high": 80}``,
        with ``"log": True`` for a logarithmic scale and ``"step"`` for the distance between
        possible values. Numbers are clipped to the bounds, and rows without a number are left out.
        If y is a time to an event: the public horizon up to which rows are followed, as in
        ``{"type": "event", "horizon": 365}``. Rows are censored at the horizon, and rows without
        event or time are left out. Events are 1 and 0, true and false, or yes and no;
        ``"event_value"`` names another value that marks an event, such as 2 or "dead", and
        ``"competing"`` lists values of events that exclude it: censored, and counted.
        None: the outcome in the encoder's schema, otherwise classes.

    model : {"auto", "linear", "gradients", "mixtures", "logistic"}, default="auto"
        The model that is learned besides the moments.

        - ``"linear"``: linear scores of public functions of the columns, in one pass.
        - ``"gradients"``: the same scores by noisy gradient descent. The sums of "linear" take a
          fifth of the budget. Each step reads all rows, up to 200 times.
        - ``"mixtures"``: mixtures of normal distributions of each class in the principal subspace.
        - ``"logistic"``: softmax regression by noisy gradient descent in the principal subspace,
          for many rows and linearly separable classes, such as images described by oriented
          gradients.
        - ``"auto"``: "gradients" for tables and for arrays of up to 100 columns, or "linear" for
          rows that arrive in parts; "mixtures" for classes in arrays with more columns, which
          needs tens of thousands of rows.

        "mixtures" and "logistic" measure distances between rows. Use them for comparable columns
        such as pixels, not for tables. Arrays of more than 100 columns get no nonlinear functions.

    ledger : PrivacyLedger, str, path-like or None, default=None
        The privacy ledger of these rows, or its file. Each fit enters what :meth:`guarantee_for`
        returns before any noise is drawn, or is refused with
        :class:`~skdp.privacy.BudgetExceededError`; clones share the ledger. Other processes, as
        with ``n_jobs``, need a ledger with a file. A pickle or copy of a fitted source omits it:
        its ``ledger`` is False, and the copy can be fitted only after it gets a ledger.

    verbose : int, default=0
        Above 0, :meth:`fit` prints each query that it perturbs.

    random_state : int, RandomState instance or None, default=None
        **Seeds the noise**, unlike in :class:`DPSource`. Only ``None`` is private: it takes fresh
        entropy from the operating system for each fit. An integer warns with
        :class:`~skdp.privacy.PrivacyLeakWarning`.

    Attributes
    ----------
    release_ : Release
        The release, which may be published.

    guarantee_ : PrivacyGuarantee
        The guarantee of the release.

    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.

    n_features_in_ : int
        Number of features seen during :term:`fit`, before encoding.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    DPSource : A release of noisy rows, with a guarantee for one element.
    Release : The result.
    DPTransferClassifier : Learns from a release.

    Notes
    -----
    Every :meth:`fit` draws new noise and spends ε and δ again; a ``ledger`` records this.

    References
    ----------
    Dong, J., Roth, A. and Su, W. J., "Gaussian differential privacy", Journal of the Royal
    Statistical Society B, 2022.

    Casacuberta, S., Shoemate, M., Vadhan, S. and Wagaman, C., "Widespread underestimation of
    sensitivity in differentially private libraries and how to fix it", CCS 2022.

    Examples
    --------
    >>> from skdp import DPStatisticsSource
    >>> from skdp.datasets import load_heart_disease
    >>> heart = load_heart_disease()  # a table, and its public schema with the classes
    >>> source = DPStatisticsSource(epsilon=4.0, encoder=heart.schema, model="linear")
    >>> source = source.fit(heart.data, heart.target)
    >>> source.release_
    Release(... rows, 2 classes, 34 features, epsilon 4, delta 1e-05 per labeled record, ...)
    >>> source.guarantee_.relation
    'add/remove'
    >>> source.release_.save("hospitals.skdp")
    """

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "privacy_unit": [StrOptions({"record", "group"})],
        "bounds": ["array-like"],
        "encoder": [TabularEncoder, Schema, Mapping, str, os.PathLike, None],
        "classes": ["array-like", None],
        "outcome": [Mapping, None],
        "model": [StrOptions({"auto", *MODELS})],
        "ledger": [PrivacyLedger, str, os.PathLike, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    release_: Release
    guarantee_: PrivacyGuarantee
    classes_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        privacy_unit: str = "record",
        bounds: ArrayLike = (0, 1),
        encoder: TabularEncoder
        | Schema
        | Mapping[str, Any]
        | str
        | os.PathLike[str]
        | None = None,
        classes: ArrayLike | None = None,
        outcome: Mapping[str, Any] | None = None,
        model: str = "auto",
        ledger: PrivacyLedger | str | os.PathLike[str] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.privacy_unit = privacy_unit
        self.bounds = bounds
        self.encoder = encoder
        self.classes = classes
        self.outcome = outcome
        self.model = model
        self.ledger = ledger
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Self:
        """Sum the rows, perturb the sums, and learn from the noisy sums alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            Private rows: a DataFrame with an ``encoder``, otherwise numbers. A
            :class:`numpy.memmap` of float32 or float64 is read in chunks. By default chunks of a
            Dask array or DataFrame are summed where they are, see
            :meth:`~skdp.source.StatisticsAccumulator.add_dask`; with ``model="gradients"`` or
            "mixtures" they are first read, one after another, into a temporary file here.

        y : array-like of shape (n_samples,)
            Class labels or numbers; for times, a structured array of event and time, or a table
            with these two columns. A Dask collection with the same chunks if X is one.

        groups : array-like of shape (n_samples,), default=None
            With ``privacy_unit="group"``, the person whom each row belongs to, as whole
            numbers or text; a Dask collection if X is one.

        Returns
        -------
        self : object
            With ``release_``.

        Raises
        ------
        ValueError
            When rows, bounds, classes or groups are invalid; nothing is charged.

        BudgetExceededError
            When the ``ledger`` does not allow it; no noise is drawn.

        Warns
        -----
        UserWarning
            When the release may not separate the classes.

        PrivacyLeakWarning
            When ``random_state`` is a seed, ``epsilon`` is infinite, ``delta`` is above 1e-3 or
            above 1 over the noisy number of rows, or the list of classes is taken from y.
        """
        forget_fit(self)  # whatever fails below, no old result is taken for a new one
        self._validate_params()  # even if scikit-learn is configured to skip it
        with default_settings():
            plan, rows = read_private_rows(self, X, y, groups)
        return self._publish(plan, rows)

    def guarantee_for(
        self,
        X: ArrayLike | pd.DataFrame | StatisticsAccumulator,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> PrivacyGuarantee:
        """Return the guarantee that :meth:`fit` will give; draws no noise and sums nothing.

        A :class:`~skdp.privacy.PrivacyLedger` asks for it before it lets a source fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Dask collection or StatisticsAccumulator
            Private rows, as for :meth:`fit` or :meth:`fit_accumulated`.

        y : array-like of shape (n_samples,)
            Class labels, as for :meth:`fit`; omit them with an accumulator.

        groups : array-like of shape (n_samples,), default=None
            The person whom each row belongs to, as for :meth:`fit`.

        Returns
        -------
        guarantee : PrivacyGuarantee

        Raises
        ------
        ValueError
            When :meth:`fit` would refuse the parameters or the data.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource
        >>> X = np.random.RandomState(0).rand(400, 2)
        >>> y = np.where(X[:, 0] > 0.5, "ill", "well")
        >>> source = DPStatisticsSource(epsilon=8.0, classes=["ill", "well"])
        >>> guarantee = source.guarantee_for(X, y)
        >>> round(guarantee.epsilon, 6), guarantee.delta, guarantee.unit
        (8.0, 1e-05, 'labeled record')
        """
        self._validate_params()
        with default_settings():
            if is_dask(X):
                plan = announced_plan(self, *announced_columns(X))
            elif isinstance(X, StatisticsAccumulator):
                plan = self._plan_of(X)
            else:
                plan, _ = read_private_rows(clone(self), X, y, groups)
            return self._guarantee(plan, self._queries(plan))

    def accumulator(
        self,
        n_features: int | None = None,
        feature_names: ArrayLike | None = None,
        dtype: DTypeLike = np.float64,
    ) -> StatisticsAccumulator:
        """Return an empty accumulator for rows that arrive in parts.

        Parameters
        ----------
        n_features : int or None, default=None
            Number of columns; not needed with ``feature_names`` or an ``encoder``.

        feature_names : array-like of str or None, default=None
            Names of the columns, in order.

        dtype : dtype, default=float64
            float32 or float64: the dtype of the rows, which the release states.

        Returns
        -------
        accumulator : StatisticsAccumulator
            Fill it with :meth:`~skdp.source.StatisticsAccumulator.add`, and release it with
            :meth:`fit_accumulated`.

        Raises
        ------
        ValueError
            When classes are not listed, the number of columns is not known, or the model needs
            more than one pass over the rows.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource
        >>> X = np.random.RandomState(0).rand(400, 2)
        >>> y = np.where(X[:, 0] > 0.5, "ill", "well")
        >>> source = DPStatisticsSource(epsilon=8.0, classes=["ill", "well"])
        >>> accumulator = source.accumulator(n_features=2)
        >>> accumulator.add(X[:200], y[:200])
        >>> accumulator.add(X[200:], y[200:])
        """
        self._validate_params()
        return StatisticsAccumulator(one_pass_plan(self, n_features, feature_names, dtype))

    @fit_context(prefer_skip_nested_validation=False)
    def fit_accumulated(self, accumulator: StatisticsAccumulator) -> Self:
        """Perturb the sums of an accumulator, and learn from them; spends ε and δ each time.

        Parameters
        ----------
        accumulator : StatisticsAccumulator
            Made by :meth:`accumulator` of a source with the same parameters.

        Returns
        -------
        self : object
            With ``release_``.

        Raises
        ------
        ValueError
            When a source with other parameters made the accumulator, or it is empty.

        BudgetExceededError
            When the ``ledger`` does not allow it; no noise is drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource
        >>> X = np.random.RandomState(0).rand(400, 2)
        >>> y = np.where(X[:, 0] > 0.5, "ill", "well")
        >>> source = DPStatisticsSource(epsilon=8.0, classes=["ill", "well"])
        >>> accumulator = source.accumulator(n_features=2)
        >>> accumulator.add(X, y)
        >>> source.fit_accumulated(accumulator).release_
        Release(... rows, 2 classes, 2 features, epsilon 8, delta 1e-05 per labeled record, ...)
        """
        forget_fit(self)
        self._validate_params()
        with default_settings():
            plan = self._plan_of(accumulator)
            accumulator._refuse_untouched()
        return self._publish(plan, SummedRows(accumulator._exact()))

    def _plan_of(self, accumulator):
        """Return the plan of an accumulator that was made for this source."""
        if not isinstance(accumulator, StatisticsAccumulator):
            raise ValueError(
                "The 'accumulator' parameter of DPStatisticsSource.fit_accumulated must be a "
                f"StatisticsAccumulator, got {type(accumulator).__name__}. Make one by "
                "accumulator(), and add rows to it; pass the rows themselves to fit."
            )
        columns = accumulator.plan.columns
        plan = one_pass_plan(self, columns.n_inputs, columns.input_names, columns.dtype)
        if not plan.is_same(accumulator.plan):
            raise ValueError(
                "The 'accumulator' parameter was made by a source with other parameters. Make it "
                "by accumulator() of the source that will release it."
            )
        return plan

    def _queries(self, plan):
        bits = private_bits(type(self).__name__, self.random_state)
        report = _print_query if self.verbose else None
        return GaussianQueries(self.epsilon, self.delta, plan.shares, bits, report)

    def _publish(self, plan, rows):
        """Publish the model that the plan learns from rows by noisy queries."""
        columns, queries = plan.columns, self._queries(plan)
        guarantee = self._guarantee(plan, queries)
        self.n_features_in_ = columns.n_inputs
        if columns.input_names is not None:
            self.feature_names_in_ = columns.input_names

        def make(model, rows, queries):
            return plan.release(model.learn(rows, plan.grid, queries), guarantee)

        self.release_ = publish(
            "DPStatisticsSource.fit",
            guarantee,
            make,
            private=(plan.model, rows, queries),
            rehearsals=[(plan.model, plan.no_rows(), queries.rehearsal())],
            ledger=self.ledger,
            name=type(self).__name__,
            doubt=warn_of_doubt,
        )
        self.guarantee_ = self.release_.guarantee
        if plan.outcome.groups:
            self.classes_ = self.release_.classes
        return self

    def _guarantee(self, plan, queries):
        columns = plan.columns
        refusals = "refusals of the input"
        if columns.schema is None:
            refusals += ", and whether its numbers are float32"
        excludes = (
            f"columns, bounds, encoder, {plan.outcome.public}, parameters; {refusals}; queries to "
            "the release"
        )
        noisy = [] if columns.schema is None else columns.schema.noisy_names
        if noisy:
            excludes += (
                f"; what the schema says of {listed(noisy)}, which was found in private rows with "
                "noise (quantile_bounds): that loss adds to this one"
            )
        if not chosen_outcome(self, columns.schema).is_complete:
            excludes += "; that each class occurs, as the list was taken from y"
        return whole_guarantee(
            "Gaussian noise on sums over rows",
            (queries.mechanism,),
            columns.n_features,
            by_group=self.privacy_unit == "group",
            covers="all features of the rows and their labels, and whether they are there at all",
            excludes=excludes,
        )


def _print_query(name):
    with suppress(OSError, ValueError):  # stdout may be closed
        print("[DPStatisticsSource] adds noise to:", name)
