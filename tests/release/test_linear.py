import numpy as np
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from skdp.release import BasisFunctions, LinearScores


def test_scores_are_linear_in_the_terms(rng):
    X, basis = rng.rand(20, 2), BasisFunctions.of_columns([0, 1])
    coefficients, intercepts = rng.randn(3, 4), rng.randn(3)
    linear = LinearScores(coefficients, intercepts, np.zeros((3, 3)), basis)
    Z = basis.encode(X)
    expected = [[w @ z + b for w, b in zip(coefficients, intercepts, strict=True)] for z in Z]
    assert_allclose(linear.scores(X), expected)
    bare = LinearScores(coefficients, intercepts, np.zeros((3, 3)))
    assert_allclose(bare.scores(Z), expected)


def test_nothing_is_expected_where_separations_are_not_known(rng):
    linear = LinearScores(rng.randn(2, 3), np.zeros(2))
    assert linear.d_primes is None
    assert linear.expected_auc is None


def test_expected_auc_is_that_of_normal_scores(rng):
    y = np.arange(100_000) % 2
    for d in (0.0, 0.7, 2.5):
        linear = LinearScores(np.zeros((2, 1)), np.zeros(2), np.array([[0, d], [d, 0]]))
        measured = roc_auc_score(y, rng.randn(len(y)) + d * y)
        assert_allclose(linear.expected_auc, [[0.5, measured], [measured, 0.5]], atol=0.006)
