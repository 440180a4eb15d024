"""A lower bound on the information of released data about a sensitive column, by decoders."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from scipy.special import digamma, gammaln
from scipy.stats import norm
from sklearn.base import is_classifier, is_regressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import check_random_state

from skdp.information._decoders import (
    Probabilities,
    Residuals,
    StandardNormal,
    category_decoders,
    cross_fitted,
    frequencies,
    normal_scores,
    number_decoders,
)
from skdp.information._estimate import InformationEstimate, mean_of_gains
from skdp.utils._frames import as_frame
from skdp.utils._parallel import draw_seeds, run_tasks


def information_leakage(
    private: ArrayLike | pd.DataFrame,
    released: ArrayLike | pd.DataFrame,
    *,
    kind: str = "auto",
    decoder: Any = None,
    cv: Any = 5,
    n_permutations: int = 10,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> InformationEstimate:
    r"""Estimate how much information released or predicted data contain about a sensitive column.

    This is a lower bound on the mutual information of the sensitive column S and the released
    columns T, from rows whose owner has both. For any distribution q of S given T (Barber and
    Agakov),

    .. math:: I(S; T) \ge E[\log q(S \mid T) - \log p(S)],

    with equality if q is the true distribution. Here q is the best mixture of several *decoders*.
    Each row is evaluated by decoders learned from other rows, so the estimate is never too large
    on average.

    Parameters
    ----------
    private : array-like of shape (n_rows,) or (n_rows, n_columns)
        One or a few sensitive columns: numbers or categories.

    released : array-like of shape (n_rows, n_columns)
        The released version of the same rows: noisy values, codes, predictions. Text, booleans
        and categories are one-hot encoded; missing numbers are replaced by the median, with an
        indicator.

    kind : {"auto", "categories", "numbers"}, default="auto"
        Kind of the private columns. ``"auto"``: numbers if more than ten are
        distinct.

    decoder : estimator, default=None
        A classifier with ``predict_proba`` for categories, or a regressor for numbers. Default:
        a mixture, for numbers of ridge regression and :class:`~skdp.MembershipMapping`, both with
        Student-t residuals, and boosting on up to 16 bins; for categories of logistic regression
        and boosting.

    cv : int or splitter, default=5
        Folds. All rows of a person must be in one fold: pass a list of splits if people may have
        several rows.

    n_permutations : int, default=10
        Number of repetitions with permuted rows of ``private``, which estimate the null
        distribution. They multiply the time; 0 for none.

    n_jobs : int, default=None
        Number of permutations in parallel, as in joblib.

    random_state : int, RandomState instance or None, default=None
        For folds, ties, permutations and decoders.

    verbose : int, default=0
        If positive, print progress.

    Returns
    -------
    estimate : InformationEstimate
        In nats, with its standard error. **It is computed from exact private rows** and must not
        be published with a release.

    Raises
    ------
    ValueError
        If rows do not match or are fewer than 50, numbers of ``private`` are missing, or the
        decoder does not fit the kind of ``private``.

    See Also
    --------
    skdp.privacy.PrivacyGuarantee.information_bound : An upper bound for every adversary.

    Notes
    -----
    A small estimate does not prove that the released data contain little information: a better
    decoder may find more. Only the bound of the guarantee holds for all decoders.

    For numbers, S is replaced by normal scores of its ranks, with ties broken at random, which
    does not change the information and makes log p(S) known. For several columns,
    :math:`\log q(s_1, s_2 \mid t) = \log q(s_1 \mid t) + \log q(s_2 \mid t, s_1)`, and the
    entropy of two or three numbers is estimated by nearest neighbors (Kozachenko and Leonenko),
    which may err in either direction. Categories of fewer than 20 rows are merged.

    References
    ----------
    Barber, D. and Agakov, F., "The IM algorithm: a variational approach to information
    maximization", 2003. Kozachenko, L. and Leonenko, N., "Sample estimate of the entropy of a
    random vector", 1987.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.information import information_leakage
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(50, 10, 400)
    >>> noisy = age + rng.normal(0, 10, 400)  # 0.347 nats
    >>> leakage = information_leakage(age, noisy[:, np.newaxis], n_permutations=0, random_state=0)
    >>> bool(abs(leakage.nats - 0.347) < 2 * leakage.standard_error)
    True
    """
    if kind not in {"auto", "categories", "numbers"}:
        raise ValueError(
            f"The 'kind' parameter must be 'auto', 'categories' or 'numbers', got {kind!r:.60}."
        )
    rng = check_random_state(random_state)
    columns, about = _private_columns(as_frame(private, "private"))
    X = _features(as_frame(released, "released"), len(columns))
    secret = _Secret.of(columns, kind, rng)
    _check_decoder(decoder, secret)
    seeds = draw_seeds(rng, n_permutations + 1)

    def estimate(i):
        state = np.random.RandomState(seeds[i])
        rows = state.permutation(len(X)) if i else np.arange(len(X))
        return _gains(secret.take(rows), X, decoder, cv, state)

    gains = run_tasks(
        estimate,
        ((i,) for i in range(n_permutations + 1)),
        n_permutations + 1,
        n_jobs=n_jobs,
        verbose=verbose,
        label="information_leakage",
        unit="permutations",
    )
    null = tuple(float(of_null.mean()) for of_null in gains[1:])
    return mean_of_gains(gains[0], about, null=null)


@dataclass(frozen=True)
class _Secret:
    """The target of decoding: a joint category of each row, and normal scores within it."""

    categories: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, columns, kind, rng):
        numbers = [name for name in columns if _holds_numbers(columns[name], kind)]
        others = columns.drop(columns=numbers)
        codes = np.zeros(len(columns), dtype=np.intp)
        if others.shape[1]:
            texts = others.astype(str).to_numpy(dtype=str)  # missing values among them
            codes = np.unique(texts, axis=0, return_inverse=True)[1].ravel()
        rare = np.bincount(codes)[codes] < 20  # which are merged
        codes = np.unique(np.where(rare, -1, codes), return_inverse=True)[1]
        scores = np.empty((len(columns), len(numbers)))
        ties = rng.random_sample(scores.shape)
        for category in range(codes.max() + 1):
            rows = np.flatnonzero(codes == category)
            for j, name in enumerate(numbers):
                scores[rows, j] = normal_scores(columns[name].to_numpy()[rows], ties[rows, j])
        return cls(codes, scores)

    def take(self, rows):
        return replace(self, categories=self.categories[rows], scores=self.scores[rows])

    @property
    def n_categories(self):
        return int(self.categories.max()) + 1

    def log_probability(self):
        """Return log p(s) of each row, its expectation the negative entropy."""
        n = len(self.categories)
        result = np.log(np.bincount(self.categories) / n)[self.categories]
        if self.scores.shape[1] == 1:
            return result + norm.logpdf(self.scores[:, 0])
        for category in range(self.n_categories if self.scores.shape[1] else 0):
            rows = self.categories == category
            result[rows] -= neighbor_entropies(self.scores[rows])
        return result


def _private_columns(private):
    """Return the private columns as a frame, and their name."""
    if isinstance(private, pd.Series):
        private = private.to_frame()
    if not isinstance(private, pd.DataFrame):
        values = np.asarray(private)
        if values.ndim not in {1, 2}:
            raise ValueError(
                "The 'private' parameter must have one or two dimensions, got the "
                f"shape {values.shape}. Pass one row for each row of 'released'."
            )
        private = pd.DataFrame(values if values.ndim == 2 else values[:, None])
        about = "the private column" if private.shape[1] == 1 else "the private columns"
        return private.infer_objects(), about
    named = [str(name) for name in private if name is not None]
    return private.reset_index(drop=True), " and ".join(named) or "the private column"


def _holds_numbers(values, kind):
    number = _is_number(values.dtype)
    if kind == "categories" or (kind == "auto" and not number):
        return False
    if not number:
        raise ValueError(
            f"The 'kind' parameter is 'numbers', but a column of 'private' is of the type "
            f"{values.dtype}. Use kind='auto' or 'categories'."
        )
    if kind == "auto" and values.nunique() <= 10:  # as in the draft of a schema
        return False
    if not np.isfinite(values.to_numpy(dtype=np.float64)).all():
        raise ValueError(
            "The 'private' parameter must not have missing or infinite numbers. Remove these rows "
            "here and in 'released', or use kind='categories'."
        )
    return True


def _is_number(dtype):
    return is_numeric_dtype(dtype) and not is_bool_dtype(dtype)


def _features(released, n_rows):
    """Return the released columns as standardized numbers, without using private values."""
    if not hasattr(released, "shape"):
        released = np.asarray(released)
    if len(released) != n_rows or n_rows < 50:
        raise ValueError(
            f"The 'private' and 'released' parameters must have the same rows, 50 or "
            f"more, got {n_rows} and {len(released)}."
        )
    if not isinstance(released, pd.DataFrame):
        released = pd.DataFrame(np.asarray(released).reshape(n_rows, -1)).infer_objects()
    released = released.set_axis(range(released.shape[1]), axis=1)
    numbers = [name for name, dtype in released.dtypes.items() if _is_number(dtype)]
    texts = released.drop(columns=numbers)
    parts = []
    if numbers:
        prepare = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
        )
        parts.append(prepare.fit_transform(released[numbers].to_numpy(dtype=np.float64)))
    if texts.shape[1]:
        encoder = OneHotEncoder(max_categories=30, sparse_output=False)
        parts.append(encoder.fit_transform(texts.astype(str)))
    return np.hstack(parts)


def _check_decoder(decoder, secret):
    if decoder is None:
        return
    categories, numbers = secret.n_categories > 1, secret.scores.shape[1] > 0
    if (categories and not is_classifier(decoder)) or (numbers and not is_regressor(decoder)):
        needed = "a regressor" if numbers else "a classifier with predict_proba"
        if numbers and categories:
            needed = "None"
        raise ValueError(
            f"The 'decoder' parameter must be {needed} for the columns of 'private', got "
            f"{decoder!r:.60}. Use None for the decoders of skdp."
        )


def _gains(secret, X, decoder, cv, state):
    """Return log q(s | t) − log p(s) of each row."""
    n_train = len(X) - len(X) // 5
    seed = draw_seeds(state)
    folds = _folds(cv, secret, state)
    gains = -secret.log_probability()
    codes, given = secret.categories, X
    if secret.n_categories > 1:
        decoders = category_decoders(n_train) if decoder is None else [Probabilities(decoder)]
        gains += cross_fitted([frequencies(), *decoders], X, codes, folds)
        given = np.column_stack([X, np.eye(secret.n_categories)[codes][:, 1:]])
    for z in secret.scores.T:
        decoders = [Residuals(decoder)]
        if decoder is None:
            decoders = number_decoders(given.shape[1], n_train, seed)
        gains += cross_fitted([StandardNormal(), *decoders], given, z, folds)
        given = np.column_stack([given, z])
    return gains


def _folds(cv, secret, state):
    labels = secret.categories
    if isinstance(cv, int | np.integer):
        folds = StratifiedKFold if secret.n_categories > 1 else KFold
        cv = folds(cv, shuffle=True, random_state=state)
    return list(check_cv(cv, labels, classifier=True).split(labels, labels))


def neighbor_entropies(Z):
    """Return terms whose mean estimates the entropy of rows, in nats."""
    # ψ(n) − ψ(k) + log V_d + d log r, with r the distance of the k-th neighbor and V_d the volume
    # of the unit ball (Kozachenko and Leonenko, 1987).
    n, d = Z.shape
    k = min(5, n - 1)  # more neighbors have less variance and more bias
    distances = NearestNeighbors(n_neighbors=k).fit(Z).kneighbors()[0][:, -1]
    volume = d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)
    return digamma(n) - digamma(k) + volume + d * np.log(np.maximum(distances, 1e-12))
