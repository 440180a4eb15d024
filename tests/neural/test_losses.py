"""The polynomial loss against the exact cross entropy."""

import numpy as np
import pytest
from scipy.special import expit

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp.neural._losses import label_coefficients, taylor_loss, taylor_probabilities


def cross_entropy(z, y):
    """Of one class: the sum of two logistic losses, of which y and 1 − y are the weights."""
    return y * np.logaddexp(0, -z) + (1 - y) * np.logaddexp(0, z)


def test_the_loss_is_the_second_order_expansion_of_the_cross_entropy(rng):
    h, n_classes = 1e-3, 4
    scores, labels = rng.normal(0, 3, (20, n_classes)), rng.randint(n_classes, size=20)
    y = np.eye(n_classes)[labels]
    at, above, below = (cross_entropy(z, y) for z in (0.0, h, -h))
    slope, curvature = (above - below) / (2 * h), (above - 2 * at + below) / h**2
    expansion = at + slope * scores + curvature / 2 * scores**2
    found = taylor_loss(torch.from_numpy(scores), label_coefficients(labels, n_classes).double())
    expected = (expansion - np.log(2)).sum(axis=1).mean()
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_the_minimum_is_at_four_times_the_mean_label_less_a_half():
    labels = np.repeat([0, 1, 2], [5, 3, 2])
    scores = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    coefficients = label_coefficients(labels, 3).double()
    (gradient,) = torch.autograd.grad(taylor_loss(scores.expand(10, 3), coefficients), scores)
    # The loss is quadratic, of curvature 1/4: one step of Newton leads to the minimum.
    minimum = -4 * gradient[0].numpy()
    np.testing.assert_allclose(minimum, 4 * (np.array([0.5, 0.3, 0.2]) - 0.5), rtol=1e-12)
    found = taylor_probabilities(torch.from_numpy(minimum)[None])[0].numpy()
    np.testing.assert_allclose(found, [0.5, 0.3, 0.2], atol=1e-3)


def test_probabilities_keep_the_order_of_scores(rng):
    scores = torch.from_numpy(rng.normal(0, 6, (200, 5)))  # many are out of [−2, 2]
    probabilities = taylor_probabilities(scores)
    assert torch.equal(probabilities.argsort(dim=1), scores.argsort(dim=1))
    assert (probabilities > 0).all()
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(200, dtype=torch.float64))


def test_the_error_bound_of_the_paper_holds_and_is_loose():
    # Lemma 7 of Phan et al. (2017): what is lost, per class, by minimising the expansion in place
    # of the loss is at most (e² + 2e − 1) / (e (1 + e)²) = 0.31, for scores in [−1, 1]. Their
    # proof adds ranges of third derivatives; the third derivative of the sum is odd, and the
    # remainder of the second order at most z⁴/192.
    bound = (np.e**2 + 2 * np.e - 1) / (np.e * (1 + np.e) ** 2)
    z, y = np.meshgrid(np.linspace(-1, 1, 401), np.linspace(0, 1, 101), indexing="ij")
    exact, expansion = cross_entropy(z, y), np.log(2) + (0.5 - y) * z + z**2 / 8
    assert np.abs(exact - expansion).max() <= 1 / 192
    best = expansion.argmin(axis=0)
    lost = exact[best, np.arange(101)] - exact.min(axis=0)
    assert 0 < lost.max() < bound / 30
    # Also without any bound on the scores: at most log(1 + e⁻²), where y is certain.
    p = np.linspace(0, 1, 1001)
    entropy = cross_entropy(np.log(np.clip(p, 1e-300, 1) / np.clip(1 - p, 1e-300, 1)), p)
    lost = cross_entropy(4 * p - 2, p) - entropy
    assert lost.max() == pytest.approx(-np.log(expit(2)), rel=1e-9)
    assert lost.max() < bound
