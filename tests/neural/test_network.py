"""Networks: shapes and counts, normalizations, and relevances, against slow formulas."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp.neural import AdaptiveLaplaceClassifier, _adaptive_laplace, _network
from skdp.neural._adaptive_laplace import budget_shares
from skdp.neural._network import (
    Architecture,
    BatchCentering,
    Network,
    RangeNormalization,
    ResponseNormalization,
    relevances,
)

ARCHITECTURES = [
    Architecture(784, 10, (28, 28), (32, 64, 25), ((5, 5), (5, 5))),
    Architecture(75, 3, (3, 5, 5), (4, 2, 6), ((3, 3), (3, 3))),
    Architecture(9, 2, None, (6, 4), ((1, 1),)),
    Architecture(9, 2, None, (4,), ()),
    Architecture(9, 2, (3, 3), (4,), ()),
    Architecture(3072, 10, (3, 32, 32), (4, 4, 8, 30), ((3, 3), (5, 5), (5, 5))),  # CIFAR-10
    Architecture(7 * 12, 2, (7, 12), (3, 4, 3, 5), ((4, 12), (2, 6), (4, 4))),
    Architecture(7, 2, (1, 7), (3, 2, 5), ((2, 1), (4, 8))),
]


def count_first_layer_inputs(network):
    """Return how many inputs the first affine layer's units have, for convolutions in one map."""
    layer = next(m for m in network.layers() if hasattr(m, "weight"))
    if isinstance(layer, torch.nn.Linear):
        return layer.weight.numel()
    maps = torch.zeros(1, network.architecture.n_features)
    for below in network.layers()[: network.layers().index(layer)]:
        maps = below(maps)
    *_, height, width = layer(maps).shape
    return height * width * layer.weight[0].numel()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("normalization", ["response", "batch", "none"])
def test_counts_are_those_of_the_network(architecture, normalization):
    network = Network(architecture, normalization)
    assert architecture.first_layer_inputs == count_first_layer_inputs(network)
    scores = network(torch.rand(7, architecture.n_features))
    assert scores.shape == (7, architecture.n_classes)
    for row in range(3):
        through = torch.rand(4, architecture.n_features)
        expected = network.eval()(through)
        for layer in network.layers():
            through = layer(through)
        assert torch.equal(through, expected), row


def test_inputs_of_the_papers_first_layer():
    assert ARCHITECTURES[0].first_layer_inputs == 14 * 14 * 25


def test_scores_start_at_the_minimum_of_even_classes():
    network = Network(ARCHITECTURES[0], "response")
    expected = torch.full((10,), 4 * (0.1 - 0.5))
    torch.testing.assert_close(network.scores.bias.detach(), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_shape": (3, 4)}, r"'image_shape' .* of 16 values in total, got \(3, 4\)"),
        ({"image_shape": (16,)}, r"'image_shape' .*, got \(16,\)"),
        ({"kernel_size": (4, 12)}, r"'kernel_size' .* sequence of 1 .* got \(4, 12\)\. Use"),
        ({"kernel_size": [(4, 12, 1)]}, r"'kernel_size' .* got \[\(4, 12, 1\)\]"),
        ({"kernel_size": [(4, 0)]}, r"'kernel_size' .* got \[\(4, 0\)\]"),
        ({"kernel_size": [2.5]}, r"'kernel_size' .* got \[2.5\]"),
        ({"hidden_layer_sizes": ()}, r"'hidden_layer_sizes' .* got \(\)"),
        ({"hidden_layer_sizes": (4, 0)}, r"'hidden_layer_sizes' .* got \(4, 0\)"),
        ({"hidden_layer_sizes": (4, 2.5)}, r"'hidden_layer_sizes' .* got \(4, 2.5\)"),
    ],
)
def test_layers_that_do_not_fit_are_refused(settings, message, rng):
    layers = {"image_shape": (4, 4), "hidden_layer_sizes": (3, 2)}
    model = AdaptiveLaplaceClassifier(**{**layers, **settings})
    with pytest.raises(ValueError, match=message):
        model.fit(rng.rand(20, 16), np.arange(20) % 2)


@pytest.mark.parametrize(
    ("given", "kernels"),
    [(4, ((4, 4),) * 2), ((3, 5), ((3, 3), (5, 5))), ([[4, 12], 2], ((4, 12), (2, 2)))],
)
def test_filters_of_each_convolution(given, kernels):
    model = AdaptiveLaplaceClassifier(
        image_shape=(4, 12), hidden_layer_sizes=(3, 4, 5), kernel_size=given
    )
    assert model._make_architecture(48, 2).kernels == kernels


def test_response_normalization_is_equation_22(rng):
    maps = np.maximum(rng.normal(0, 30, (2, 7, 3, 2)), 0)
    expected = np.zeros_like(maps)
    for row, k, i, j in np.ndindex(*maps.shape):
        squares = sum(maps[row, m, i, j] ** 2 for m in range(max(0, k - 2), min(6, k + 2) + 1))
        scale = (2 + 1e-4 * squares) ** 0.75
        expected[row, k, i, j] = maps[row, k, i, j] / max(maps[row, k, i, j], scale)
    found = ResponseNormalization()(torch.from_numpy(maps)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (expected < 1).any()
    assert (expected == 1).any()


def test_range_normalization_spans_0_to_1(rng):
    units = torch.from_numpy(rng.normal(0, 5, (30, 4)))
    found = RangeNormalization(4).double()(units)
    low, high = units.amin(dim=0), units.amax(dim=0)
    torch.testing.assert_close(found, (units - low) / (high - low), rtol=1e-12, atol=0)
    assert RangeNormalization(1)(torch.full((5, 1), 3.0)).tolist() == [[0.0]] * 5


@pytest.mark.parametrize("layer", [RangeNormalization(3), BatchCentering((3,))], ids=repr)
def test_queries_are_normalized_one_by_one(layer, rng):
    layer = layer.double()
    layer(torch.from_numpy(rng.rand(50, 3)))
    layer.eval()
    queries = torch.from_numpy(rng.rand(8, 3))
    together = layer(queries)
    for query, expected in zip(queries, together, strict=True):
        assert torch.equal(layer(query[None])[0], expected)


STABILIZER = 0.01
NINE_COLUMNS = Architecture(9, 3, None, (6, 5, 4), ((1, 1), (1, 1)))
TWO_CHANNELS = Architecture(32, 3, (2, 4, 4), (3, 4, 5), ((3, 3), (3, 3)))
EVEN_FILTERS = Architecture(30, 3, (2, 3, 5), (3, 4, 5), ((4, 2), (1, 6)))


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
    maps, _, rows, columns = weight.shape
    above = (-(-height // 2), -(-width // 2))
    matrix = np.zeros((channels, height, width, maps, *above))
    for m, c, i, j, a, b in np.ndindex(maps, channels, *above, rows, columns):
        y, x = 2 * i + a - (rows - 1) // 2, 2 * j + b - (columns - 1) // 2
        if 0 <= y < height and 0 <= x < width:
            matrix[c, y, x, m, i, j] = weight[m, c, a, b]
    flat = matrix.reshape(channels * height * width, -1)
    return flat, np.repeat(bias, above[0] * above[1])


def slow_relevances(network, row):
    """Return the relevances of one row before they are brought to [0, 1], layer by layer."""
    values = below = torch.from_numpy(row)[None]
    affine = []
    for layer in network.layers():
        if hasattr(layer, "weight"):
            matrix, bias = as_matrix(layer, below.shape[1:])
            x = below.detach().numpy().ravel()
            z = x @ matrix + bias
            np.testing.assert_allclose(z, layer(values).detach().numpy().ravel(), atol=1e-12)
            affine.append((x, matrix, z))
        # Zeros around maps are part of the convolution that follows.
        below = values if isinstance(layer, torch.nn.ZeroPad2d) else layer(values)
        values = layer(values)
    scores = values[0].detach().numpy()
    relevance = np.where(np.arange(len(scores)) == scores.argmax(), scores, 0)
    for x, matrix, z in reversed(affine):
        below = np.zeros(len(x))
        for m, share in enumerate(relevance):
            stable = z[m] + (STABILIZER if z[m] >= 0 else -STABILIZER)
            for p in range(len(x)):
                below[p] += x[p] * matrix[p, m] / stable * share
        relevance = below
    return relevance


@pytest.mark.parametrize("normalization", ["response", "batch", "none"])
@pytest.mark.parametrize("architecture", [NINE_COLUMNS, TWO_CHANNELS, EVEN_FILTERS])
def test_relevances_are_those_of_explicit_matrices(architecture, normalization, rng):
    network = make_network(architecture, normalization)
    rows = rng.rand(3, architecture.n_features)
    found = relevances(network, torch.from_numpy(rows)).numpy()
    assert found.max() == 1
    for row, relevance in zip(rows, found, strict=True):
        expected = slow_relevances(network, row)
        expected = (expected - expected.min()) / (np.ptp(expected) or 1)  # of a constant one: 0
        np.testing.assert_allclose(relevance, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("architecture", [NINE_COLUMNS, TWO_CHANNELS, EVEN_FILTERS])
def test_relevance_is_conserved_without_biases(architecture, rng, monkeypatch):
    monkeypatch.setattr(_network, "_STABILIZER", 1e-12)
    network = make_network(architecture)
    below = torch.from_numpy(rng.rand(6, architecture.n_features))
    for layer in network.layers():
        above = layer(below)
        if hasattr(layer, "weight"):
            layer.bias.data.zero_()
            relevance = torch.from_numpy(rng.normal(size=above.shape))
            found = _network._propagate(layer, below, relevance)
            assert found.shape == below.shape
            # A unit of which no input is active has nothing to hand on.
            active = layer(below).abs() > 1e-9
            expected = (relevance * active).flatten(1).sum(dim=1)
            torch.testing.assert_close(found.flatten(1).sum(dim=1), expected, rtol=1e-6, atol=1e-6)
        below = above.detach()


def test_another_row_moves_the_average_by_no_more_than_the_noise_is_for(rng):
    network, n, d = make_network(NINE_COLUMNS), 8, 9
    rows = torch.from_numpy(rng.rand(n, d))
    average = relevances(network, rows).mean(dim=0)
    moves = []
    for _ in range(200):
        neighbor = rows.clone()
        neighbor[0] = torch.from_numpy(rng.randint(2, size=d).astype(float))
        moves.append((relevances(network, neighbor).mean(dim=0) - average).abs().sum().item())
    # d/n, half of the 2d/n by which the paper divides.
    assert 0.3 * d / n < max(moves) <= d / n


def test_the_noise_of_relevances_is_that_of_equation_12(rng, monkeypatch):
    network, (n, d) = make_network(NINE_COLUMNS), (2500, 9)
    rows = torch.from_numpy(rng.rand(n, d))
    drawn = []

    def record(values, scales, random_state):
        drawn.append((values, scales))
        return values

    monkeypatch.setattr(_adaptive_laplace, "perturb_rows", record)
    shares, spent = budget_shares(network, rows, 0.25, None)
    [(values, scales)] = drawn
    expected = relevances(network, rows).mean(dim=0)
    torch.testing.assert_close(values[0], expected)
    np.testing.assert_allclose(scales, np.full(d, 2 * d / (n * 0.25)), rtol=1e-12)
    np.testing.assert_allclose(shares, expected.numpy() / expected.numpy().mean(), rtol=1e-9)
    assert spent == 0.25 / 2 + d * 2.0**-24  # rounding to the grid of the noise


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("epsilon", [0.01, 1.0, np.inf])
def test_shares_are_positive_and_of_mean_1(epsilon, rng):
    rows = torch.from_numpy(rng.rand(50, 9))
    for seed in range(20):
        state = np.random.RandomState(seed)
        shares, _ = budget_shares(make_network(NINE_COLUMNS), rows, epsilon, state)
        assert shares.shape == (9,)
        assert (shares > 0).all()
        assert shares.mean() == pytest.approx(1)


def test_columns_that_matter_get_more_of_the_budget(rng):
    network = make_network(Architecture(9, 3, None, (5,), ()))
    network.hidden.weight.data[:, 4:] = 0
    shares, _ = budget_shares(network, torch.from_numpy(rng.rand(50, 9)), np.inf, None)
    assert np.ptp(shares[4:]) < 1e-6
    assert np.ptp(shares[:4]) > 0.1


def test_relevances_that_overflow_count_like_any_others():
    network = make_network(NINE_COLUMNS)
    for parameter in network.parameters():
        parameter.data *= 1e160
    found = relevances(network, torch.rand(5, 9, dtype=torch.float64))
    assert bool(((found >= 0) & (found <= 1)).all())
