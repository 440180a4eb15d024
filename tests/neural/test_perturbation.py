"""Noise of rows and of batches: its scales, its distribution, and what it costs one row."""

import numpy as np
import pytest
from scipy.stats import kstest, laplace
from sklearn.utils import check_random_state

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp.neural import AdaptiveLaplaceClassifier
from skdp.neural._losses import label_coefficients, taylor_loss
from skdp.neural._network import Architecture, Network
from skdp.neural._perturbation import Perturbation, perturb_rows
from skdp.neural._training import calibrate, train
from skdp.utils._parallel import draw_seeds

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


def test_scales_are_those_of_the_equations():
    # MNIST, as in the paper: Δ = 2 · 14 · 14 · 25, Δ_F = 10 (25 + 25²/4), |L| = 1800.
    architecture = Architecture(784, 10, (28, 28), (32, 64, 25), 5)
    shares = np.linspace(0.5, 1.5, 784)
    found = AdaptiveLaplaceClassifier()._perturbation(architecture, shares, 60_000, (0.2, 0.4))
    np.testing.assert_allclose(found.input_scales, 9800 / (1800 * shares * 0.2), rtol=1e-12)
    assert found.label_scale == pytest.approx(10 * (25 + 625 / 4) / (1800 * 0.4), rel=1e-12)
    assert found.per_row
    # With fewer rows than a batch, all of them are one.
    few = AdaptiveLaplaceClassifier()._perturbation(architecture, shares, 600, (0.2, 0.4))
    np.testing.assert_allclose(few.input_scales, 3 * found.input_scales, rtol=1e-12)


def check_laplace(noise, scale):
    """Accept the distribution of some noise, and reject it at a scale that is 10 % off."""
    assert len(noise) >= 20_000
    assert kstest(noise, laplace(scale=scale).cdf).pvalue > 0.01
    for off in (0.9, 1.1):
        assert kstest(noise, laplace(scale=off * scale).cdf).pvalue < 1e-3


def perturbed(per_row, rows, coefficients, seed=0):
    perturbation = Perturbation(np.array([1.0, 10.0]), 0.5, per_row)
    return perturbation.of_all_rows(rows, coefficients, np.random.RandomState(seed))


def test_noise_of_rows_is_laplace_and_independent():
    rows, coefficients = torch.rand(20_000, 2), torch.full((20_000, 3), 0.5)
    noisy, labels = perturbed(True, rows, coefficients)(torch.arange(20_000))
    noise = torch.cat([noisy - rows, labels - coefficients], dim=1).double().numpy()
    for column, scale in enumerate([1.0, 10.0, 0.5, 0.5, 0.5]):
        check_laplace(noise[:, column], scale)
    correlations = np.corrcoef(np.hstack([noise[1:], noise[:-1]]).T) - np.eye(10)
    assert np.abs(correlations).max() < 5 / np.sqrt(20_000)


def test_noise_of_rows_is_drawn_once():
    take = perturbed(True, torch.rand(9, 2), torch.zeros(9, 3))
    first, again = take(torch.arange(9)), take(torch.arange(9).flip(0))
    for one, other in zip(first, again, strict=True):
        assert torch.equal(one, other.flip(0))


def test_rows_of_a_batch_share_noise_that_each_batch_draws_anew():
    rows, coefficients = torch.zeros(9, 2), torch.zeros(9, 3)
    take = perturbed(False, rows, coefficients)
    draws = []
    for _ in range(20_000):
        noisy, labels = take(torch.tensor([1, 4]))
        assert torch.equal(noisy[0], noisy[1])
        assert torch.equal(labels[0], labels[1])
        draws.append(torch.cat([noisy[0], labels[0]]).double().numpy())
    for column, scale in zip(np.transpose(draws), [1.0, 10.0, 0.5, 0.5, 0.5], strict=True):
        check_laplace(column, scale)


def test_no_noise_leaves_rows_as_they_are():
    rows = torch.rand(5, 2)
    assert torch.equal(perturb_rows(rows, np.zeros(2), None), rows)


def test_the_epsilon_of_a_row_is_the_largest_log_ratio_of_densities(rng):
    scales, label_scale, n_classes = np.array([0.7, 2.0]), 0.9, 3
    perturbation = Perturbation(scales, label_scale, per_row=True)

    def log_density(output, row, label):
        centre = np.append(row, 0.5 - np.eye(n_classes)[label])
        return laplace.logpdf(output, centre, np.append(scales, [label_scale] * n_classes)).sum()

    largest = -np.inf
    for trial in range(400):
        # The extremes are rows at the bounds, and outputs beyond them; others stay below.
        row, other = (rng.randint(2, size=2) if trial % 2 else rng.rand(2) for _ in "ab")
        label, other_label = rng.randint(n_classes, size=2)
        output = rng.choice([-3.0, 4.0], 5) if trial % 2 else rng.laplace(0.5, 1, 5)
        ratio = log_density(output, row, label) - log_density(output, other, other_label)
        largest = max(largest, ratio)
        assert ratio <= perturbation.row_epsilon + 1e-9
    assert largest == pytest.approx(1 / 0.7 + 1 / 2.0 + 2 / 0.9, rel=1e-12)
    # Rounding to the grid of the noise moves four values apart by 2^-24 scales more each.
    assert perturbation.row_epsilon == pytest.approx(largest + 4 * 2.0**-24, rel=1e-12)


def test_without_noise_of_its_own_a_row_has_no_epsilon():
    assert Perturbation(np.ones(3), 1.0, per_row=False).row_epsilon == np.inf
    assert Perturbation(np.array([1.0, 0.0]), 1.0, per_row=True).row_epsilon == np.inf
    assert Perturbation(np.ones(3), 0.0, per_row=True).row_epsilon == np.inf


def train_without_noise(X, y, *, hidden_layer_sizes, n_epochs, batch_size, random_state):
    """What the classifier does where there is no mechanism, step by step."""
    random_state = check_random_state(random_state)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw_seeds(random_state))
        network = Network(Architecture(X.shape[1], 10, None, hidden_layer_sizes, 5), "response")
    generator = torch.Generator().manual_seed(int(draw_seeds(random_state)))
    rows, coefficients = torch.from_numpy(X).float(), label_coefficients(y, 10)

    def loss_of(trained, positions):
        return taylor_loss(trained(rows[positions]), coefficients[positions])

    train(
        network.train(),
        loss_of,
        len(X),
        batch_size=batch_size,
        n_epochs=n_epochs,
        learning_rate=2e-3,
        generator=generator,
        progress=lambda epoch: None,
    )
    calibrate(network, rows[torch.randperm(len(X), generator=generator)])
    return network.double()(torch.from_numpy(X)).detach().numpy()


def test_an_infinite_epsilon_is_training_without_noise(some_digits, small):
    expected = train_without_noise(*some_digits, **small)
    settings = {**small, "mechanism": "identical", "epsilon": np.inf}
    for noise_per in ("row", "batch"):
        model = AdaptiveLaplaceClassifier(noise_per=noise_per, **settings).fit(*some_digits)
        np.testing.assert_array_equal(model._scores(some_digits[0]).numpy(), expected)
        assert model.guarantee_.epsilon == np.inf


def test_a_large_epsilon_tends_to_training_without_noise(some_digits, small):
    X, y = some_digits
    settings = {**small, "mechanism": "identical"}
    free = AdaptiveLaplaceClassifier(np.inf, **settings).fit(X, y)._scores(X)
    gaps = []
    for epsilon in (1e2, 1e5, 1e10):
        noisy = AdaptiveLaplaceClassifier(epsilon, **settings).fit(X, y)._scores(X)
        gaps.append((noisy - free).abs().max().item())
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-3
