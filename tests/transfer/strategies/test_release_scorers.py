"""What a release of statistics says by itself."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from skdp.release import Moments
from skdp.transfer.strategies._candidates import log_posteriors
from skdp.transfer.strategies._release_scorers import Discriminant, OfTarget


def rows_of_two(rng, n, p=6):
    labels = (rng.rand(n) < 0.3).astype(int)
    return labels[:, np.newaxis] * np.linspace(0, 1, p) + rng.randn(n, p), labels


def test_without_noise_it_is_the_quadratic_discriminant(rng):
    rows, labels = rows_of_two(rng, 40_000)
    moments = Moments.measure(rows, np.eye(2)[labels], np.zeros(6))
    expected = QuadraticDiscriminantAnalysis().fit(rows, labels).predict_proba(rows[:500])
    assert_allclose(np.exp(log_posteriors(Discriminant(moments), rows[:500])), expected, atol=0.04)


def test_noise_makes_it_unsure_but_not_wrong(rng):
    rows, labels = rows_of_two(rng, 4000, p=20)
    exact = Moments.measure(rows, np.eye(2)[labels], np.zeros(20))
    pooled = (exact.frequencies @ exact.covariances)[np.newaxis]
    losses = []
    for _ in range(20):
        means = exact.means + np.sqrt(0.3) * rng.randn(2, 20)
        found = [exact.class_counts, exact.effective_sizes, means, pooled, np.zeros(20)]
        for noise in (0.3, 0.0):
            moments = Moments(*found, np.full((2, 20), noise), np.full((1, 20), 0.01))
            logs = log_posteriors(Discriminant(moments), rows)
            losses.append(-logs[np.arange(4000), labels].mean())
    aware, blind = np.mean(np.reshape(losses, (20, 2)), axis=0)
    # Frequencies alone have 0.61.
    assert aware < 0.61 < blind


def test_a_target_has_its_own_rows_and_classes(rng):
    X = rng.randn(5, 3)
    scorer = OfTarget(Echo(), lambda X: X[:, ::-1], [2, 0])
    assert_array_equal(scorer.scores(X), X[:, ::-1][:, [2, 0]])


class Echo:
    def scores(self, X):
        return X
