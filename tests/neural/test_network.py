"""Shapes and counts of networks, and what is refused."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp.neural import AdaptiveLaplaceClassifier
from skdp.neural._network import Architecture, Network

ARCHITECTURES = [
    Architecture(784, 10, (28, 28), (32, 64, 25), 5),
    Architecture(75, 3, (3, 5, 5), (4, 2, 6), 3),
    Architecture(9, 2, None, (6, 4), 5),
    Architecture(9, 2, None, (4,), 5),
    Architecture(9, 2, (3, 3), (4,), 3),
]


def count_first_layer_inputs(network):
    """Return how many inputs the first affine layer's units have, for convolutions in one map."""
    layer = next(m for m in network.layers() if hasattr(m, "weight"))
    if isinstance(layer, torch.nn.Linear):
        return layer.weight.numel()
    rows = torch.zeros(1, network.architecture.n_features)
    *_, height, width = layer(network.layers()[0](rows)).shape
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
        ({"image_shape": (3, 4)}, r"'image_shape' .* of 16 values in all, got \(3, 4\)"),
        ({"image_shape": (16,)}, r"'image_shape' .*, got \(16,\)"),
        ({"image_shape": (4, 4), "kernel_size": 4}, "'kernel_size' .* odd, got 4. Use 5"),
        ({"hidden_layer_sizes": ()}, r"'hidden_layer_sizes' .* got \(\)"),
        ({"hidden_layer_sizes": (4, 0)}, r"'hidden_layer_sizes' .* got \(4, 0\)"),
        ({"hidden_layer_sizes": (4, 2.5)}, r"'hidden_layer_sizes' .* got \(4, 2.5\)"),
    ],
)
def test_layers_that_do_not_fit_are_refused(settings, message, rng):
    with pytest.raises(ValueError, match=message):
        AdaptiveLaplaceClassifier(**settings).fit(rng.rand(20, 16), np.arange(20) % 2)


def test_a_kernel_is_of_no_account_without_an_image(rng, small):
    model = AdaptiveLaplaceClassifier(1e-3, kernel_size=4, **{**small, "random_state": None})
    model.fit(rng.rand(60, 3), np.arange(60) % 2)
    assert model.predict(rng.rand(5, 3)).shape == (5,)
