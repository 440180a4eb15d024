"""Layer-wise relevance propagation against explicit matrices, and its private average."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp.neural import _relevance
from skdp.neural._network import Architecture, Network
from skdp.neural._relevance import budget_shares, relevances

STABILISER = 0.01
DENSE = Architecture(9, 3, None, (6, 5, 4), 3)
CONVOLUTION = Architecture(32, 3, (2, 4, 4), (3, 4, 5), 3)


def make_network(architecture, normalization="response"):
    torch.manual_seed(1)
    network = Network(architecture, normalization).double().train()
    network(torch.rand(50, architecture.n_features, dtype=torch.float64))
    return network.eval()


def as_matrix(layer, shape):
    """Return weights and biases of an affine layer as of a dense one, entry by entry."""
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    if isinstance(layer, torch.nn.Linear):
        return weight.T, bias
    channels, height, width = shape
    maps, _, size, _ = weight.shape
    above = (-(-height // 2), -(-width // 2))
    matrix = np.zeros((channels, height, width, maps, *above))
    for m, c, i, j, a, b in np.ndindex(maps, channels, *above, size, size):
        y, x = 2 * i + a - size // 2, 2 * j + b - size // 2
        if 0 <= y < height and 0 <= x < width:
            matrix[c, y, x, m, i, j] = weight[m, c, a, b]
    flat = matrix.reshape(channels * height * width, -1)
    return flat, np.repeat(bias, above[0] * above[1])


def slow_relevances(network, row):
    """Return the relevances of one row before they are brought to [0, 1], layer by layer."""
    values, affine = torch.from_numpy(row)[None], []
    for layer in network.layers():
        if hasattr(layer, "weight"):
            matrix, bias = as_matrix(layer, values.shape[1:])
            x = values.detach().numpy().ravel()
            z = x @ matrix + bias
            np.testing.assert_allclose(z, layer(values).detach().numpy().ravel(), atol=1e-12)
            affine.append((x, matrix, z))
        values = layer(values)
    scores = values[0].detach().numpy()
    relevance = np.where(np.arange(len(scores)) == scores.argmax(), scores, 0)
    for x, matrix, z in reversed(affine):
        below = np.zeros(len(x))
        for m, share in enumerate(relevance):
            stable = z[m] + (STABILISER if z[m] >= 0 else -STABILISER)
            for p in range(len(x)):
                below[p] += x[p] * matrix[p, m] / stable * share
        relevance = below
    return relevance


@pytest.mark.parametrize("normalization", ["response", "batch", "none"])
@pytest.mark.parametrize("architecture", [DENSE, CONVOLUTION])
def test_relevances_are_those_of_explicit_matrices(architecture, normalization, rng):
    network = make_network(architecture, normalization)
    rows = rng.rand(3, architecture.n_features)
    found = relevances(network, torch.from_numpy(rows)).numpy()
    assert found.max() == 1
    for row, relevance in zip(rows, found, strict=True):
        expected = slow_relevances(network, row)
        expected = (expected - expected.min()) / (np.ptp(expected) or 1)  # of a constant one: 0
        np.testing.assert_allclose(relevance, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("architecture", [DENSE, CONVOLUTION])
def test_relevance_is_conserved_without_biases(architecture, rng, monkeypatch):
    monkeypatch.setattr(_relevance, "_STABILISER", 1e-12)
    network = make_network(architecture)
    below = torch.from_numpy(rng.rand(6, architecture.n_features))
    for layer in network.layers():
        above = layer(below)
        if hasattr(layer, "weight"):
            layer.bias.data.zero_()
            relevance = torch.from_numpy(rng.normal(size=above.shape))
            found = _relevance._propagate(layer, below, relevance)
            assert found.shape == below.shape
            # A unit of which no input is active has nothing to hand on.
            active = layer(below).abs() > 1e-9
            expected = (relevance * active).flatten(1).sum(dim=1)
            torch.testing.assert_close(found.flatten(1).sum(dim=1), expected, rtol=1e-6, atol=1e-6)
        below = above.detach()


def test_another_row_moves_the_average_by_no_more_than_the_noise_is_for(rng):
    network, n, d = make_network(DENSE), 8, 9
    rows = torch.from_numpy(rng.rand(n, d))
    average = relevances(network, rows).mean(dim=0)
    moves = []
    for _ in range(200):
        neighbour = rows.clone()
        neighbour[0] = torch.from_numpy(rng.randint(2, size=d).astype(float))
        moves.append((relevances(network, neighbour).mean(dim=0) - average).abs().sum().item())
    # d/n, half of the 2d/n by which the paper divides.
    assert 0.3 * d / n < max(moves) <= d / n


def test_the_noise_of_relevances_is_that_of_equation_12(rng, monkeypatch):
    network, (n, d) = make_network(DENSE), (2500, 9)
    rows = torch.from_numpy(rng.rand(n, d))
    drawn = []

    def record(values, scales, random_state):
        drawn.append((values, scales))
        return values

    monkeypatch.setattr(_relevance, "perturb_rows", record)
    shares = budget_shares(network, rows, 0.25, None)
    [(values, scales)] = drawn
    expected = relevances(network, rows).mean(dim=0)
    torch.testing.assert_close(values[0], expected)
    np.testing.assert_allclose(scales, np.full(d, 2 * d / (n * 0.25)), rtol=1e-12)
    np.testing.assert_allclose(shares, expected.numpy() / expected.numpy().mean(), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("epsilon", [0.01, 1.0, np.inf])
def test_shares_are_positive_and_of_mean_1(epsilon, rng):
    rows = torch.from_numpy(rng.rand(50, 9))
    for seed in range(20):
        state = np.random.RandomState(seed)
        shares = budget_shares(make_network(DENSE), rows, epsilon, state)
        assert shares.shape == (9,)
        assert (shares > 0).all()
        assert shares.mean() == pytest.approx(1)


def test_columns_that_matter_get_more_of_the_budget(rng):
    network = make_network(Architecture(9, 3, None, (5,), 3))
    network.hidden.weight.data[:, 4:] = 0
    shares = budget_shares(network, torch.from_numpy(rng.rand(50, 9)), np.inf, None)
    assert np.ptp(shares[4:]) < 1e-6
    assert np.ptp(shares[:4]) > 0.1


def test_relevances_that_overflow_count_like_any_others():
    network = make_network(DENSE)
    for parameter in network.parameters():
        parameter.data *= 1e160
    found = relevances(network, torch.rand(5, 9, dtype=torch.float64))
    assert bool(((found >= 0) & (found <= 1)).all())
