"""Numbers of components and scales of errors that are chosen by the rows."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import minmax_scale

from skdp import CDMMAClassifier, WideCDMMAClassifier
from skdp.membership import _errors, likely_components
from skdp.membership._components import _log_likelihoods, most_components

DATA = {"digits": load_digits, "breast cancer": load_breast_cancer, "iris": load_iris}


def drawn(name, n_rows, draw):
    """Return so many rows of each class, at random, and up to 300 others."""
    X, y = DATA[name](return_X_y=True)
    X, order = minmax_scale(X), np.random.RandomState(draw).permutation(len(X))
    train = np.concatenate([order[y[order] == c][:n_rows] for c in np.unique(y)])
    test = np.setdiff1d(order, train, assume_unique=True)[:300]
    return X[train], y[train], X[test], y[test]


@pytest.mark.parametrize("p", [5, 40])
def test_likelihoods_are_those_of_a_normal_distribution(rng, p):
    train = rng.randn(30, 6) @ rng.randn(6, p) + 0.1 * rng.randn(30, p) + 2.0
    queries = rng.randn(7, 6) @ rng.randn(6, p) + 2.0
    constant = -0.5 * queries.size * np.log(2 * np.pi)
    fast = _log_likelihoods(train, queries, 20) + constant
    mean, covariance = train.mean(axis=0), np.cov(train.T, bias=True)
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    for n in range(1, min(p, 14) + 1):
        if n == p - 1:
            assert fast[n - 1] == -np.inf  # the same distribution as with all components
            continue
        kept = values.copy()
        kept[n:] = values[n:].mean() if n < p else 0.0
        density = multivariate_normal(mean, (vectors * kept) @ vectors.T)
        assert_allclose(fast[n - 1], density.logpdf(queries).sum(), rtol=1e-6)
        assert not np.isclose(fast[n - 1], 1.1 * density.logpdf(queries).sum(), rtol=1e-6)
    assert_array_equal(fast[min(p, 14) :], fast[min(p, 14) - 1])


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_directions_that_stand_out_are_counted(rng, n):
    rows = 3 * rng.randn(400, n) @ np.linalg.qr(rng.randn(30, n))[0].T + 0.3 * rng.randn(400, 30)
    assert likely_components(rows, [np.arange(400)]) == [n]
    wide = WideCDMMAClassifier(n_layers=1, subset_size=100, random_state=0)
    groups = wide.fit(rows, np.repeat(["a", "b"], 200)).autoencoders_by_class()
    assert [[a.n_components_ for a in group] for group in groups] == [[n, n], [n, n]]


def test_noise_has_one_and_the_plane_two(rng):
    assert likely_components(rng.randn(300, 20), [np.arange(300)]) == [1]
    assert likely_components(rng.randn(300, 2), [np.arange(300)]) == [2]
    assert likely_components(rng.randn(300, 1), [np.arange(300)]) == [1]


def test_sets_have_the_same_number_but_for_small_ones(rng):
    rows = 3 * rng.randn(420, 4) @ np.linalg.qr(rng.randn(30, 4))[0].T + 0.3 * rng.randn(420, 30)
    sets = np.split(np.arange(420), [200, 400, 406, 408, 409])
    assert likely_components(rows, sets) == [4, 4, 2, 1, 1, 4]
    assert [most_components(n) for n in (1, 3, 5, 6, 20)] == [1, 1, 1, 2, 9]


@pytest.mark.parametrize("rows", [np.zeros((30, 4)), np.ones((1, 3)), np.eye(2), 1e-9 * np.eye(9)])
def test_degenerate_rows_have_a_number_too(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [n] = likely_components(rows, [np.arange(len(rows))])
    assert 1 <= n <= 3


def test_rows_in_an_exact_subspace(rng):
    rows = rng.rand(60, 3) @ rng.rand(3, 10)
    assert likely_components(rows, [np.arange(60)]) == [3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_rows", "least"),
    # About what three nearest neighbors have.
    [("breast cancer", 100, 0.93), ("digits", 20, 0.92), ("iris", 20, 0.93)],
)
def test_the_defaults_fit_small_and_correlated_classes(name, n_rows, least):
    scores, papers = [], []
    for draw in range(3):
        X, y, X_test, y_test = drawn(name, n_rows, draw)
        scores.append(CDMMAClassifier(random_state=0).fit(X, y).score(X_test, y_test))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            old = CDMMAClassifier(20, error_scale="shared", random_state=0).fit(X, y)
        papers.append(old.score(X_test, y_test))
    assert np.mean(scores) > max(least, np.mean(papers) + 0.01)


@pytest.mark.parametrize("cls", [CDMMAClassifier, WideCDMMAClassifier])
def test_a_number_too_large_for_a_class_is_warned_of_once(cls):
    X, y, _, _ = drawn("digits", 20, 0)
    keep = (y != 3) | (np.cumsum(y == 3) <= 9)
    expected = (
        r"'n_components' parameter of .*, 5, is too large for the 9 rows of class 3.* most 3\."
    )
    with pytest.warns(UserWarning, match=expected) as told:
        cls(5, n_layers=1, random_state=0).fit(X[keep], y[keep])
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cls(3, n_layers=1, random_state=0).fit(X[keep], y[keep])
        cls(n_layers=1, random_state=0).fit(X[keep], y[keep])
        cls(20, n_layers=1, random_state=0).fit(X[keep][:, :3], y[keep])


def test_scales_are_learned_where_they_can_be():
    X, y, X_test, _ = drawn("digits", 20, 0)
    settings = {"n_layers": 1, "random_state": 0}
    auto = WideCDMMAClassifier(**settings).fit(X, y)
    own = WideCDMMAClassifier(error_scale="own", **settings).fit(X, y)
    shared = WideCDMMAClassifier(error_scale="shared", **settings).fit(X, y)
    assert_array_equal(auto.decision_function(X_test), own.decision_function(X_test))
    assert_array_equal(auto.predict(X_test), own.predict(X_test))
    # Neither with a single row of a class, nor with rows added later, whatever was before.
    single = np.flatnonzero((y != 3) | (np.cumsum(y == 3) == 1))
    assert not hasattr(auto.fit(X[single], y[single]), "error_scales_")
    auto.fit(X, y).partial_fit(X[:40], y[:40])
    assert not hasattr(auto, "error_scales_")
    assert_array_equal(auto.decision_function(X_test), -auto.reconstruction_errors(X_test))
    first = WideCDMMAClassifier(**settings).partial_fit(X, y)
    assert_array_equal(first.decision_function(X_test), shared.decision_function(X_test))
    assert_array_equal(first.predict_proba(X_test), shared.predict_proba(X_test))


def test_of_many_rows_fewer_folds_are_left_out(monkeypatch):
    X, y, _, _ = drawn("digits", 20, 0)
    fits, fit = [], CDMMAClassifier._fit
    monkeypatch.setattr(CDMMAClassifier, "_fit", lambda *args: fits.append(args) or fit(*args))
    for n_left_out, expected in ((500, 5), (100, 3), (40, 1), (1, 1)):
        monkeypatch.setattr(_errors, "_ROWS_LEFT_OUT", n_left_out)
        fits.clear()
        CDMMAClassifier(n_layers=1, random_state=0).fit(X, y)
        assert len(fits) == 1 + expected


def test_errors_that_mislead_make_no_class_less_probable():
    # Of four rows, each nearer to the other class: nothing says that it is so of others.
    errors = np.array([[2.0, 1.0], [3.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    scales = _errors.ErrorScales.from_errors(errors, np.array([0, 0, 1, 1]))
    assert scales.powers.min() > 0
