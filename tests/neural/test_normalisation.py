"""Normalisations against slow formulas; what rows of a batch share cancels in two of them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp.neural._network import Architecture, Network
from skdp.neural._normalisation import BatchCentring, RangeNormalisation, ResponseNormalisation


def test_response_normalisation_is_equation_22(rng):
    maps = np.maximum(rng.normal(0, 30, (2, 7, 3, 2)), 0)
    expected = np.zeros_like(maps)
    for row, k, i, j in np.ndindex(*maps.shape):
        squares = sum(maps[row, m, i, j] ** 2 for m in range(max(0, k - 2), min(6, k + 2) + 1))
        scale = (2 + 1e-4 * squares) ** 0.75
        expected[row, k, i, j] = maps[row, k, i, j] / max(maps[row, k, i, j], scale)
    found = ResponseNormalisation()(torch.from_numpy(maps)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (expected < 1).any()
    assert (expected == 1).any()


def test_range_normalisation_spans_0_to_1(rng):
    units = torch.from_numpy(rng.normal(0, 5, (30, 4)))
    found = RangeNormalisation(4).double()(units)
    low, high = units.amin(dim=0), units.amax(dim=0)
    torch.testing.assert_close(found, (units - low) / (high - low), rtol=1e-12, atol=0)
    assert RangeNormalisation(1)(torch.full((5, 1), 3.0)).tolist() == [[0.0]] * 5


@pytest.mark.parametrize("layer", [RangeNormalisation(3), BatchCentring((3,))], ids=repr)
def test_queries_are_normalised_one_by_one(layer, rng):
    layer = layer.double()
    layer(torch.from_numpy(rng.rand(50, 3)))
    layer.eval()
    queries = torch.from_numpy(rng.rand(8, 3))
    together = layer(queries)
    for query, expected in zip(queries, together, strict=True):
        assert torch.equal(layer(query[None])[0], expected)


def scores_of_training(architecture, normalization, rows):
    torch.manual_seed(0)
    network = Network(architecture, normalization).double().train()
    return network(torch.from_numpy(rows))


DENSE = Architecture(16, 3, None, (6, 5), 3)
LAST_LAYER = Architecture(16, 3, None, (5,), 3)
CONVOLUTION = Architecture(16, 3, (4, 4), (4, 4, 5), 3)


@pytest.mark.parametrize(
    ("architecture", "normalization"),
    [(LAST_LAYER, "response"), (LAST_LAYER, "batch"), (DENSE, "batch"), (CONVOLUTION, "batch")],
)
def test_noise_that_a_batch_shares_cancels(architecture, normalization, rng):
    rows, shared = rng.rand(40, 16), rng.laplace(0, 100, 16)
    plain = scores_of_training(architecture, normalization, rows)
    noisy = scores_of_training(architecture, normalization, rows + shared)
    assert plain.std() > 0.01
    torch.testing.assert_close(noisy, plain, rtol=0, atol=1e-10)


@pytest.mark.parametrize("architecture", [DENSE, CONVOLUTION])
def test_noise_of_each_row_does_not_cancel(architecture, rng):
    rows, noise = rng.rand(40, 16), rng.laplace(0, 100, (40, 16))
    plain = scores_of_training(architecture, "batch", rows)
    noisy = scores_of_training(architecture, "batch", rows + noise)
    assert (plain - noisy).abs().max() > 0.1


@pytest.mark.parametrize("architecture", [DENSE, CONVOLUTION])
def test_a_rectifier_below_the_normalisation_keeps_shared_noise(architecture, rng):
    # The paper's normalisation follows the rectifier: it hides units and keeps their differences.
    rows, shared = rng.rand(40, 16), rng.laplace(0, 100, 16)
    plain = scores_of_training(architecture, "response", rows)
    noisy = scores_of_training(architecture, "response", rows + shared)
    assert (plain - noisy).abs().max() > 0.01
