"""Training: the polynomial loss, the noise of rows and of batches, the loop, what is printed."""

import copy

import numpy as np
import pytest
from scipy.stats import kstest, laplace
from sklearn.utils import check_random_state

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp.neural import AdaptiveLaplaceClassifier
from skdp.neural._network import Architecture, Network
from skdp.neural._training import (
    Perturbation,
    batches,
    calibrate,
    label_coefficients,
    taylor_loss,
    taylor_probabilities,
    train,
)
from skdp.utils._parallel import draw_seeds

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


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


def test_scales_are_those_of_the_equations():
    # MNIST, as in the paper: Δ = 2 · 14 · 14 · 25, Δ_F = 10 (25 + 25²/4), |L| = 1800.
    architecture = Architecture(784, 10, (28, 28), (32, 64, 25), ((5, 5), (5, 5)))
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
    return perturbation.perturb(rows, coefficients, np.random.RandomState(seed))


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


def test_the_epsilon_of_a_row_is_the_largest_log_ratio_of_densities(rng):
    scales, label_scale, n_classes = np.array([0.7, 2.0]), 0.9, 3
    perturbation = Perturbation(scales, label_scale, per_row=True)

    def log_density(output, row, label):
        center = np.append(row, 0.5 - np.eye(n_classes)[label])
        return laplace.logpdf(output, center, np.append(scales, [label_scale] * n_classes)).sum()

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
        network = Network(Architecture(X.shape[1], 10, None, hidden_layer_sizes, ()), "response")
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


def test_batches_are_of_one_size_and_have_each_row_once():
    generator = torch.Generator().manual_seed(3)
    epochs = [list(batches(23, 5, generator)) for _ in range(40)]
    for epoch in epochs:
        positions = torch.cat(epoch).tolist()
        assert [len(batch) for batch in epoch] == [5] * 4
        assert len(set(positions)) == 20
    seen = torch.cat([torch.cat(epoch) for epoch in epochs]).bincount()
    assert len(seen) == 23  # another remainder is left out in each epoch
    assert seen.min() > 20
    assert [len(batch) for batch in batches(3, 5, generator)] == [3]


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = torch.nn.Parameter(torch.zeros(()))


def test_the_network_becomes_the_running_average_of_adam():
    targets, generator = torch.arange(30.0), torch.Generator().manual_seed(0)

    def loss_of(network, positions):
        return (network.slope - targets[positions]).square().mean()

    network, epochs = Line(), []
    settings = {"batch_size": 1, "n_epochs": 2, "learning_rate": 0.1, "progress": epochs.append}
    train(network, loss_of, 30, generator=generator, **settings)
    # The same by hand: the mean of the first twenty, then 0.95 of the past.
    slope, average, steps = torch.zeros((), requires_grad=True), 0.0, 0
    optimizer = torch.optim.Adam([slope], lr=0.1)
    generator.manual_seed(0)
    for _ in range(2):
        for position in torch.randperm(30, generator=generator):
            optimizer.zero_grad()
            (slope - targets[position]).square().backward()
            optimizer.step()
            steps += 1
            average += max(0.05, 1 / steps) * (slope.item() - average)
    assert epochs == [1, 2]
    assert network.slope.item() == pytest.approx(average, rel=1e-5)
    assert abs(network.slope.item() - slope.item()) > 0.1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("mechanism", ["adaptive", "identical", "dpsgd"])
def test_cuda(mechanism, some_digits, small):
    from skdp.neural import AdaptiveLaplaceClassifier

    model = AdaptiveLaplaceClassifier(mechanism=mechanism, device="cuda", **small)
    model.fit(*some_digits)
    on_cpu = copy.deepcopy(model).set_params(device="cpu").predict_proba(some_digits[0])
    np.testing.assert_allclose(model.predict_proba(some_digits[0]), on_cpu, atol=1e-9)
