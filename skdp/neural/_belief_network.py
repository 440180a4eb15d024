"""Convolutional RBMs of a polynomial energy, stacked below a dense layer and the scores."""

from math import prod

import numpy as np
import torch

from skdp.neural._network import STRIDE, halved, margins, response_scale
from skdp.neural._polynomials import sigmoid_coefficients
from skdp.neural._training import CALIBRATION_ROWS, batches, taylor_loss, train

# Rows of which an energy is computed at a time, so that maps stay in the cache: MNIST in chunks
# of 100 to 400 rows takes two thirds of the time of whole batches.
_CHUNK = 200


class PolynomialFunction(torch.autograd.Function):
    """Σ c_l x^l and its derivative, without a copy of x for each power."""

    @staticmethod
    def forward(ctx, x, coefficients):
        """Return the value at each element of x; no gradient reaches the coefficients."""
        ctx.save_for_backward(x)
        ctx.coefficients = coefficients.tolist()
        return _horner(x, ctx.coefficients)

    @staticmethod
    def backward(ctx, gradient):
        """Return the gradient in x."""
        (x,) = ctx.saved_tensors
        slopes = [order * c for order, c in enumerate(ctx.coefficients)][1:]
        return _horner(x, slopes).mul_(gradient), None


def _horner(x, coefficients):
    value = torch.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value.mul_(x).add_(coefficient)
    return value


class EnergyLayer(torch.nn.Module):
    """A convolutional RBM (Phan, Wu and Dou, 2017, equations (5), (6) and (12)–(14)).

    First pre-activations, on inputs that vary by 1/2, have the standard deviation ``spread``.
    """

    # With a = W * v + b, the scale Z of the local response normalization and X = a / max(|a|, Z),
    # hidden units are on with probability Σ α_l X^l. The paper's equation (14) multiplies this by
    # a again, so that the energy of a row is E(v) = −Σ a Σ_l α_l X^l − c Σ v.

    def __init__(self, in_shape, n_filters, kernel_size, coefficients, spread=1.0):
        super().__init__()
        self.in_shape = tuple(in_shape)
        channels, *size = self.in_shape
        # A single position needs no neighbors: filters reach no further than the image.
        kernel = [1 if length == 1 else k for k, length in zip(kernel_size, size, strict=True)]
        # They halve maps, as the paper's pooling does, at a quarter of the cost.
        self.stride = [1 if length == 1 else STRIDE for length in size]
        self.padding, self.after = margins(kernel)
        weight = torch.randn(n_filters, channels, *kernel)
        weight *= spread / (0.5 * np.sqrt(channels * np.prod(kernel)))
        self.weight = torch.nn.Parameter(weight)
        self.hidden_bias = torch.nn.Parameter(-0.5 * weight.sum(dim=(1, 2, 3)))
        self.visible_bias = torch.nn.Parameter(torch.zeros(channels))
        self.register_buffer("coefficients", torch.as_tensor(coefficients, dtype=torch.float32))
        self.range = np.polynomial.polynomial.polyval([-1.0, 1.0], coefficients).tolist()

    @property
    def out_shape(self):
        """Shape (n_filters, height, width) of the hidden units."""
        return (self.weight.shape[0], *map(halved, self.in_shape[1:]))

    def _convolve(self, visible, weight, bias=None):
        padded = torch.nn.functional.pad(visible, self.after)
        return torch.nn.functional.conv2d(padded, weight, bias, self.stride, self.padding)

    def pre_activation(self, visible):
        """Return W * v + b."""
        return self._convolve(visible, self.weight, self.hidden_bias)

    def probability(self, pre_activation, coefficients):
        """Return the polynomial of the normalized pre-activation; noise takes it anywhere."""
        scale = torch.maximum(pre_activation.abs(), response_scale(pre_activation))
        return PolynomialFunction.apply(pre_activation / scale, coefficients)

    def forward(self, visible):
        """Return the probabilities of the hidden units, stretched from their range to [0, 1]."""
        # On [-1, 1] the sigmoid function has values from 0.27 to 0.73 alone. The paper hands these
        # on; stretched, which is public, they leave the next layer twice the contrast.
        low, high = self.range
        hidden = self.probability(self.pre_activation(visible), self.coefficients)
        return ((hidden - low) / (high - low)).clamp(0, 1)

    def reconstruct(self, hidden):
        """Return the probabilities of the visible units (equation (6))."""
        channels, height, width = self.in_shape
        padded = len(hidden), channels, height + self.after[3], width + self.after[1]
        # The transposed convolution to this size is the gradient of the convolution in its input.
        settings = self.stride, self.padding
        visible = torch.nn.grad.conv2d_input(padded, self.weight, hidden, *settings)
        return torch.sigmoid(visible[..., :height, :width] + self.visible_bias[:, None, None])

    def energy(self, visible, coefficients):
        """Return the energy of each row (equation (14)) with coefficients α, perturbed or not."""
        a = self.pre_activation(visible)
        hidden = (a * self.probability(a, coefficients)).sum(dim=(1, 2, 3))
        return -hidden - visible.sum(dim=(2, 3)) @ self.visible_bias

    def sensitivity(self):
        """Return Δ of equation (15), the largest value that any row in [0, 1] can give it."""
        # The terms grow with each visible unit, so the row of ones has the largest:
        # with n inputs in the window of a hidden unit, normalized values are at most 1, and Δ = 2
        # [Σ_ij Σ_l |α_l| (1 + n_ij) + Σ v_ij]. It is the same for all rows, and tells nothing of
        # them; the published program of the authors computes it from each batch.
        ones = torch.ones(1, *self.in_shape)
        reach = torch.ones(1, *self.weight.shape[1:])
        inputs = self._convolve(ones, reach).double()
        hidden = self.coefficients.double().abs().sum() * (1 + inputs).sum()
        return float(2 * (hidden + np.prod(self.in_shape)))

    def contrastive_divergence(self, visible, coefficients, generator):
        """Add the gradient of a step of contrastive divergence; return the mean squared error."""
        # Energies of rows are to fall, those of their reconstructions from sampled hidden units to
        # rise: the gradient is that of the mean of E(v) − E(v'), in which v' is a constant. Hidden
        # units are sampled with the layer's own coefficients.
        error = 0.0
        for chunk in visible.split(_CHUNK):
            with torch.no_grad():
                hidden = self.probability(self.pre_activation(chunk), self.coefficients)
                uniform = torch.rand(hidden.shape, generator=generator)
                rebuilt = self.reconstruct((uniform.to(hidden) < hidden).to(hidden))
                error += float((rebuilt - chunk).square().sum())
            loss = self.energy(chunk, coefficients) - self.energy(rebuilt, coefficients)
            (loss.sum() / visible.numel()).backward()
        return error / visible.numel()


class Standardization(torch.nn.Module):
    """Bring units to mean 0 and variance 1 over a batch; queries by the moments kept for them."""

    def __init__(self, n_units):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_units))
        self.register_buffer("variance", torch.ones(n_units))

    def forward(self, units):
        """Return the standardized units."""
        mean, variance = self.mean, self.variance
        if self.training:
            mean, variance = _moments(units)
        return (units - mean) / (variance + 1e-5).sqrt()  # a constant unit becomes zero

    def calibrate(self, units):
        """Keep the moments of some rows for queries."""
        mean, variance = _moments(units)
        self.mean.copy_(mean)
        self.variance.copy_(variance)


def _moments(units):
    return units.mean(dim=0), units.var(dim=0, unbiased=False)


class BeliefNetwork(torch.nn.Module):
    """Energy layers, trained one by one, and the layers that are trained on their features."""

    # Where the architecture has no image, layers are RBMs of one position: columns are channels.

    def __init__(self, architecture, approximation, degree):
        super().__init__()
        *below, n_hidden = architecture.hidden_layer_sizes
        coefficients = sigmoid_coefficients(approximation, degree)
        shape = self.in_shape = architecture.channels or (architecture.n_features, 1, 1)
        self.layers = torch.nn.ModuleList()
        for n_filters, kernel in zip(below, architecture.kernels, strict=True):
            # Of layers above the first, whose inputs vary less (MNIST with 10,000 rows: 97.6% at
            # 3, 93.8% at 1, without training of the energy layers).
            spread = 3.0 if len(self.layers) else 1.0
            self.layers.append(EnergyLayer(shape, n_filters, kernel, coefficients, spread))
            shape = self.layers[-1].out_shape
        self.hidden = torch.nn.Linear(prod(shape), n_hidden)
        self.standardized = Standardization(n_hidden)
        self.scores = torch.nn.Linear(n_hidden, architecture.n_classes)
        self.to(memory_format=torch.channels_last)  # a tenth faster in the energies

    def visible(self, rows):
        """Return rows as visible units of the first layer."""
        maps = rows.reshape(-1, *self.in_shape)
        return maps.contiguous(memory_format=torch.channels_last)

    def classify(self, features):
        """Return the scores of features; hidden units are cut at 0 and 1, as Δ_C demands."""
        return self.scores(self.standardized(self.hidden(features)).clamp(0, 1))

    def forward(self, rows):
        """Return the scores of rows of [0, 1], of shape (n_samples, n_classes)."""
        maps = self.visible(rows)
        for layer in self.layers:
            maps = layer(maps)
        return self.classify(maps.flatten(1))


def train_layers(
    network, rows, noise_scales, *, batch_size, n_epochs, learning_rate, generator, noise, progress
):
    """Train energy layers from the lowest to the highest, and return their features, in [0, 1].

    Coefficients get Laplace noise of these scales for each batch; ``progress(n)`` is told epochs.
    """
    maps = network.visible(rows)
    for number, (layer, scale) in enumerate(zip(network.layers, noise_scales, strict=True)):
        optimizer = torch.optim.Adam(layer.parameters(), lr=learning_rate)
        tell = progress(number)
        for epoch in range(n_epochs):
            for positions in batches(len(maps), batch_size, generator):
                batch = maps[positions].float()
                drawn = noise.laplace(0, scale, size=len(layer.coefficients))
                noisy = layer.coefficients + torch.from_numpy(drawn.astype(np.float32)).to(batch)
                optimizer.zero_grad()
                layer.contrastive_divergence(batch, noisy, generator)
                optimizer.step()
            tell(epoch + 1)
        with torch.no_grad():
            # Half precision is enough for values in [0, 1], and takes half the memory.
            maps = torch.cat([layer(part.float()).half() for part in maps.split(_CHUNK)])
    return maps.flatten(1)


def train_classifier(network, features, take, **settings):
    """Train the dense layer and the scores on features; the energy layers stay as they are.

    ``take(positions)`` returns features and label coefficients; the settings are of ``train``.
    """
    for parameter in network.layers.parameters():
        parameter.requires_grad_(False)

    def loss(network, positions):
        batch, coefficients = take(positions)
        return taylor_loss(network.classify(batch.float()), coefficients)

    network.train()
    train(network, loss, len(features), **settings)
    with torch.no_grad():
        network.standardized.calibrate(network.hidden(features[:CALIBRATION_ROWS].float()))
    network.eval()
    for parameter in network.layers.parameters():
        parameter.requires_grad_(True)
