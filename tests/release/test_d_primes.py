import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from skdp import DPStatisticsSource
from skdp.release._linear_discriminant import d_primes, occurrence

pytestmark = pytest.mark.filterwarnings("ignore:.*were drawn before")


@pytest.mark.parametrize("sd", [1.0, 10.0, 300.0])
def test_occurrence_is_bayes_rule(sd):
    counts = np.array([-25.0, 0.0, 12.0, 35.0, 200.0])
    n = counts.clip(0).sum()
    expected = []
    for count in counts:
        near, end = max(count, 0), min(n, max(count, 0) + 10 * sd)
        exact = {"points": [near], "epsabs": 0.0, "epsrel": 1e-9}
        present = quad(lambda u, c=count: norm.pdf(c, u, sd) / n, 0, end, **exact)[0]
        expected.append(present / (present + norm.pdf(count, 0, sd)))
    if n < sd:  # then the range is that of the noise
        assert_allclose(occurrence(counts, sd), expected, atol=0.12)
    else:
        assert_allclose(occurrence(counts, sd), expected, rtol=1e-6)


def test_occurrence_without_noise_and_far_beyond_it():
    assert occurrence([0.0, 1.0, 5.0], 0.0).tolist() == [0, 1, 1]
    with np.errstate(all="raise", under="ignore"):
        far = occurrence([-1e12, 0.0, 1e12], 1.0)
        assert_allclose(far, [0, 0, 1], atol=1e-5)
        assert np.isfinite(occurrence([-1.0, -2.0], 1e9)).all()
        assert np.isfinite(occurrence([0.0, 0.0], 1e-300)).all()


def test_separations_are_those_of_normal_scores(rng):
    A = rng.randn(3, 3)
    W, means = A @ A.T + np.eye(3), rng.randn(4, 3)
    w = rng.randn(4, 3)
    found = d_primes(w, means, W)
    for a in range(4):
        for b in range(4):
            v = w[a] - w[b]
            expected = max(v @ (means[a] - means[b]), 0) / max(np.sqrt(v @ W @ v), 1e-100)
            assert found[a, b] == pytest.approx(expected)


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_a_class_without_rows_is_not_told_apart(rng, epsilon):
    y = rng.randint(2, size=2000)
    X = np.clip(rng.normal(0.4 + 0.2 * y[:, None], 0.15, (2000, 4)), 0, 1)
    for seed in range(3):
        noise = np.random.RandomState(seed)
        source = DPStatisticsSource(epsilon, classes=[0, 1, 2], random_state=noise)
        areas = source.fit(X, y).release_.linear.expected_auc
        assert areas[0, 1] > 0.95
        assert max(areas[0, 2], areas[1, 2]) < 0.55


def test_a_rare_class_is_told_apart(rng):
    y = np.where(np.arange(4000) < 120, 2, np.arange(4000) % 2)
    X = np.clip(rng.normal(0.2 + 0.3 * y[:, None], 0.15, (4000, 4)), 0, 1)
    noise = np.random.RandomState(0)
    source = DPStatisticsSource(4.0, classes=[0, 1, 2], random_state=noise)
    assert source.fit(X, y).release_.linear.expected_auc[:2, 2].min() > 0.9
