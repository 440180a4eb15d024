"""A stack of convolutional RBMs below a dense layer and the scores."""

from math import prod

import numpy as np
import torch

from skdp.neural._crbm import EnergyLayer
from skdp.neural._losses import taylor_loss
from skdp.neural._polynomials import sigmoid_coefficients
from skdp.neural._training import CALIBRATION_ROWS, batches, train

# Spread of the first pre-activations of layers above the first, whose inputs vary less (MNIST with
# 10,000 rows: 97.6 % at 3, 93.8 % at 1, without training of the energy layers).
_UPPER_SPREAD = 3.0
# Rows that pass through a trained layer at once: their maps stay in the cache (as in _crbm).
_CHUNK = 200
# Added to variances: a unit that is constant over a batch becomes zero and not undefined.
_LEAST_VARIANCE = 1e-5


class Standardisation(torch.nn.Module):
    """Bring units to mean 0 and variance 1 over a batch; queries by the moments kept for them.

    Parameters
    ----------
    n_units : int
    """

    def __init__(self, n_units):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_units))
        self.register_buffer("variance", torch.ones(n_units))

    def forward(self, units):
        """Return the standardised units."""
        mean, variance = self.mean, self.variance
        if self.training:
            mean, variance = _moments(units)
        return (units - mean) / (variance + _LEAST_VARIANCE).sqrt()

    def calibrate(self, units):
        """Keep the moments of some rows for queries.

        Parameters
        ----------
        units : Tensor of shape (n_samples, n_units)
        """
        mean, variance = _moments(units)
        self.mean.copy_(mean)
        self.variance.copy_(variance)


def _moments(units):
    return units.mean(dim=0), units.var(dim=0, unbiased=False)


class BeliefNetwork(torch.nn.Module):
    """Energy layers, trained one by one, and the layers that are trained on their features.

    Parameters
    ----------
    architecture : Architecture
        Where it has no image, layers are RBMs of one position: each column is a channel.

    approximation : {"chebyshev", "taylor", "piecewise"}
        Of the sigmoid function.

    degree : int
        Of the polynomials.
    """

    def __init__(self, architecture, approximation, degree):
        super().__init__()
        *below, n_hidden = architecture.hidden_layer_sizes
        coefficients = sigmoid_coefficients(approximation, degree)
        shape = self.in_shape = architecture.channels or (architecture.n_features, 1, 1)
        self.layers = torch.nn.ModuleList()
        for n_filters in below:
            spread = _UPPER_SPREAD if len(self.layers) else 1.0
            size = [architecture.kernel_size] * 2
            self.layers.append(EnergyLayer(shape, n_filters, size, coefficients, spread))
            shape = self.layers[-1].out_shape
        self.hidden = torch.nn.Linear(prod(shape), n_hidden)
        self.standardised = Standardisation(n_hidden)
        self.scores = torch.nn.Linear(n_hidden, architecture.n_classes)
        self.to(memory_format=torch.channels_last)  # a tenth faster in the energies

    def visible(self, rows):
        """Return rows as visible units of the first layer."""
        maps = rows.reshape(-1, *self.in_shape)
        return maps.contiguous(memory_format=torch.channels_last)

    def classify(self, features):
        """Return the scores of features; hidden units are cut at 0 and 1, as Δ_C demands."""
        return self.scores(self.standardised(self.hidden(features)).clamp(0, 1))

    def forward(self, rows):
        """Return the scores of rows of [0, 1], of shape (n_samples, n_classes)."""
        maps = self.visible(rows)
        for layer in self.layers:
            maps = layer(maps)
        return self.classify(maps.flatten(1))


def train_layers(network, rows, noise_scales, *, n_epochs, progress, **settings):
    """Train energy layers from the lowest to the highest, and return their features.

    Parameters
    ----------
    network : BeliefNetwork
        Its ``layers`` are changed.

    rows : Tensor of shape (n_samples, n_features)
        As training may read them.

    noise_scales : sequence of float
        Scale of the Laplace noise of the coefficients of each layer, drawn for each batch.

    n_epochs : int
        Passes over all rows for each layer.

    progress : callable
        ``progress(n)`` returns what is told the epochs of layer n.

    **settings : dict
        ``batch_size``, ``learning_rate``, ``generator`` (of torch), ``noise`` (of NumPy).

    Returns
    -------
    features : Tensor of shape (n_samples, n_features), float16
        In [0, 1].
    """
    maps = network.visible(rows)
    for number, (layer, scale) in enumerate(zip(network.layers, noise_scales, strict=True)):
        if n_epochs:
            tell = progress(number)
            _train_layer(layer, maps, scale, n_epochs=n_epochs, progress=tell, **settings)
        with torch.no_grad():
            # Half precision is enough for values in [0, 1], and takes half the memory.
            maps = torch.cat([layer(part.float()).half() for part in maps.split(_CHUNK)])
    return maps.flatten(1)


def _train_layer(
    layer, maps, scale, *, n_epochs, progress, batch_size, learning_rate, generator, noise
):
    optimiser = torch.optim.Adam(layer.parameters(), lr=learning_rate)
    for epoch in range(n_epochs):
        for positions in batches(len(maps), batch_size, generator):
            drawn = noise.laplace(0, scale, size=len(layer.coefficients))
            optimiser.zero_grad()
            batch = maps[positions].float()
            layer.contrast(batch, layer.coefficients + _like(drawn, batch), generator)
            optimiser.step()
        progress(epoch + 1)


def _like(values, tensor):
    return torch.from_numpy(values.astype(np.float32)).to(tensor)


def train_classifier(network, features, take, **settings):
    """Train the dense layer and the scores; the energy layers stay as they are.

    Parameters
    ----------
    network : BeliefNetwork
        Its upper layers are changed.

    features : Tensor of shape (n_samples, n_features)
        Of the energy layers.

    take : callable
        ``take(positions)`` returns features and label coefficients of a batch.

    **settings : dict
        Of :func:`~skdp.neural._training.train`.
    """
    for parameter in network.layers.parameters():
        parameter.requires_grad_(False)

    def loss(network, positions):
        batch, coefficients = take(positions)
        return taylor_loss(network.classify(batch.float()), coefficients)

    network.train()
    train(network, loss, len(features), **settings)
    with torch.no_grad():
        network.standardised.calibrate(network.hidden(features[:CALIBRATION_ROWS].float()))
    network.eval()
    for parameter in network.layers.parameters():
        parameter.requires_grad_(True)
