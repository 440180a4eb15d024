"""Energy layers against slow formulas."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from skdp.neural._belief_network import EnergyLayer
from skdp.neural._polynomials import sigmoid_coefficients

ALPHA = sigmoid_coefficients("chebyshev", 7)


def make_layer(in_shape=(2, 5, 4), n_filters=3, kernel_size=(3, 3), seed=0):
    torch.manual_seed(seed)
    layer = EnergyLayer(in_shape, n_filters, kernel_size, ALPHA)
    with torch.no_grad():
        layer.visible_bias.normal_()
        layer.weight.mul_(3)
    return layer


def slow_pre_activations(layer, row):
    """Return W * v + b by loops over windows, of shape out_shape."""
    weight, bias = layer.weight.detach().double().numpy(), layer.hidden_bias.tolist()
    (channels, height, width), (kh, kw) = layer.in_shape, weight.shape[2:]
    found = np.zeros(layer.out_shape)
    for k, i, j in np.ndindex(*layer.out_shape):
        found[k, i, j] = bias[k]
        top = layer.stride[0] * i - layer.padding[0]
        left = layer.stride[1] * j - layer.padding[1]
        for c, r, s in np.ndindex(channels, kh, kw):
            if 0 <= top + r < height and 0 <= left + s < width:
                found[k, i, j] += weight[k, c, r, s] * row[c, top + r, left + s]
    return found


def slow_scale(values, k):
    """Return Z of equation (13) for one position, from all groups' values there."""
    near = values[max(0, k - 2) : k + 3]
    return max(abs(values[k]), (2 + 1e-4 * np.sum(near**2)) ** 0.75)


@pytest.mark.parametrize(
    ("in_shape", "kernel_size"),
    [((2, 5, 4), (3, 3)), ((1, 4, 6), (3, 5)), ((6, 1, 1), (5, 5)), ((2, 5, 8), (4, 6))],
)
def test_energy_is_that_of_equation_14(in_shape, kernel_size):
    layer = make_layer(in_shape, 7, kernel_size)
    row = np.random.default_rng(0).uniform(size=in_shape)
    a = slow_pre_activations(layer, row)
    energy = -float(layer.visible_bias.detach().double().numpy() @ row.sum(axis=(1, 2)))
    for k, i, j in np.ndindex(*layer.out_shape):
        x = a[k, i, j] / slow_scale(a[:, i, j], k)
        energy -= sum(alpha * x**power for power, alpha in enumerate(ALPHA)) * a[k, i, j]
    visible = torch.tensor(row[None], dtype=torch.float32)
    assert layer.energy(visible, layer.coefficients).item() == pytest.approx(energy, rel=1e-4)


def test_hidden_units_are_the_stretched_polynomial():
    layer = make_layer()
    row = np.random.default_rng(1).uniform(size=layer.in_shape)
    a = slow_pre_activations(layer, row)
    found = layer(torch.tensor(row[None], dtype=torch.float32))[0].detach().numpy()
    low, high = 1 / (1 + np.exp([1.0, -1.0]))
    for k, i, j in np.ndindex(*layer.out_shape):
        sigmoid = 1 / (1 + np.exp(-a[k, i, j] / slow_scale(a[:, i, j], k)))
        assert found[k, i, j] == pytest.approx((sigmoid - low) / (high - low), abs=1e-5)


def test_gradients_are_those_of_autograd_and_of_differences():
    layer = make_layer().double()
    visible = torch.rand(2, *layer.in_shape, dtype=torch.float64)

    def energy(weight):
        with torch.no_grad():
            layer.weight.copy_(weight)
        return layer.energy(visible, layer.coefficients).sum().item()

    layer.energy(visible, layer.coefficients).sum().backward()
    start, step = layer.weight.detach().clone(), 1e-6
    for place in [(0, 0, 0, 0), (2, 1, 2, 1), (1, 0, 1, 2)]:
        up, down = start.clone(), start.clone()
        up[place] += step
        down[place] -= step
        slope = (energy(up) - energy(down)) / (2 * step)
        assert layer.weight.grad[place].item() == pytest.approx(slope, rel=1e-4)


def test_reconstruction_is_the_transposed_convolution():
    even = [((2, 5, 4), (4, 2)), ((1, 6, 7), (2, 12)), ((2, 1, 6), (4, 4))]
    for in_shape, size in [((2, 5, 4), (3, 3)), ((1, 6, 7), (5, 3)), ((5, 1, 1), (5, 5)), *even]:
        layer = make_layer(in_shape, 3, size)
        hidden = torch.rand(1, *layer.out_shape)
        visible = torch.zeros(1, *in_shape, requires_grad=True)
        # The adjoint of the convolution, by its definition: the gradient of <h, W * v>.
        (hidden * layer.pre_activation(visible)).sum().backward()
        linear = visible.grad + layer.visible_bias[:, None, None]
        torch.testing.assert_close(layer.reconstruct(hidden), torch.sigmoid(linear))


def equation_15(layer, row):
    """Return the sensitivity of equation (15) at one row: weights and biases replaced by 1."""
    one = make_layer(layer.in_shape, layer.out_shape[0], layer.weight.shape[2:])
    with torch.no_grad():
        one.weight.fill_(1)
        one.hidden_bias.fill_(1)
    a, total = slow_pre_activations(one, row), row.sum()
    for i, j in np.ndindex(*layer.out_shape[1:]):
        ratio = a[0, i, j] / slow_scale(a[:, i, j], 0)
        powers = sum(abs(alpha) * ratio**power for power, alpha in enumerate(ALPHA))
        total += powers * (1 + (a[0, i, j] - 1))
    return 2 * total


@pytest.mark.parametrize("kernel_size", [(3, 3), (2, 4)])
def test_sensitivity_is_the_largest_over_extreme_rows(kernel_size):
    layer = make_layer((1, 3, 3), 4, kernel_size)
    corners = itertools.product([0.0, 1.0], repeat=9)
    largest = max(equation_15(layer, np.reshape(corner, (1, 3, 3))) for corner in corners)
    assert layer.sensitivity() == pytest.approx(largest, rel=1e-6)
    rng = np.random.default_rng(0)
    inner = max(equation_15(layer, rng.uniform(size=(1, 3, 3))) for _ in range(50))
    assert inner < layer.sensitivity()


def test_contrastive_divergence_lowers_the_reconstruction_error():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    stripes = torch.zeros(120, 1, 8, 8)
    stripes[:60, :, ::2] = 1
    stripes[60:, :, :, ::2] = 1
    layer = EnergyLayer((1, 8, 8), 8, (3, 3), ALPHA)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    errors = []
    for _ in range(150):
        optimizer.zero_grad()
        errors.append(layer.contrastive_divergence(stripes, layer.coefficients, generator))
        optimizer.step()
    assert np.mean(errors[-10:]) < np.mean(errors[:3]) / 2
