"""The network: its layers and their normalizations, and what each input matters for its scores."""

from dataclasses import dataclass
from math import ceil, prod

import torch

# Stride of the convolutions, which takes the place of pooling.
STRIDE = 2
# Constants q, l and α of equation (22), whose β is 3/4 (Phan et al., 2017, who take them from
# Krizhevsky, Sutskever and Hinton, 2012).
_OFFSET, _WIDTH, _WEIGHT = 2.0, 5, 1e-4
# Stabilizer μ of equation (5): keeps the ratio of two affine transformations finite (Bach et al.,
# 2015, use 0.01 on networks of such a size).
_STABILIZER = 0.01


@dataclass(frozen=True)
class Architecture:
    """What a network consists of."""

    n_features: int
    n_classes: int
    image_shape: tuple | None  # (height, width) or (channels, height, width); None: dense layers
    # Maps of each convolution, or units of each dense layer, and last the units below the scores.
    hidden_layer_sizes: tuple
    kernels: tuple  # (rows, columns) of the filters of each convolution

    @property
    def channels(self):
        """(channels, height, width) of a row."""
        return tuple(map(int, (1, *self.image_shape)[-3:])) if self.image_shape else None

    @property
    def first_layer_inputs(self):
        """Inputs of all neurons of the first layer together, Σ d over h in h_0."""
        # Of a dense layer, those of every unit. Of a convolution, those of one map, as the others
        # read the same inputs: 14 × 14 × 25 for 28 × 28 pixels and filters of 5 × 5.
        if self.image_shape is None or len(self.hidden_layer_sizes) == 1:
            return self.hidden_layer_sizes[0] * self.n_features
        channels, height, width = self.channels
        return halved(height) * halved(width) * channels * prod(self.kernels[0])

    @property
    def n_below(self):
        """Units below the last hidden layer."""
        *below, _ = self.hidden_layer_sizes
        if self.image_shape is None:
            return below[-1] if below else self.n_features
        maps, *sides = self.channels
        for n_maps in below:
            maps, sides = n_maps, [halved(side) for side in sides]
        return maps * prod(sides)


def halved(side):
    """Return the side of the maps that a convolution makes."""
    return ceil(side / STRIDE)


def margins(kernel):
    """Return the zeros around maps, and those after them, that halve maps by filters of a size."""
    # An even filter has no middle: it reads one more row below than above, or column to the right.
    rows, columns = kernel
    return ((rows - 1) // 2, (columns - 1) // 2), (0, 1 - columns % 2, 0, 1 - rows % 2)


def response_scale(maps):
    """Return the scale of each unit: a power of the squares of neighboring maps, equation (22)."""
    # (q + α Σ (h^m_ij)²)^β over maps m from k − ⌊l/2⌋ to k + ⌊l/2⌋, and β = 0.75.
    n, reach = maps.shape[1], _WIDTH // 2
    distance = torch.arange(n)[:, None] - torch.arange(n)
    near = (distance.abs() <= reach).to(maps)
    # A 1 × 1 convolution sums neighboring maps in one product.
    squares = torch.nn.functional.conv2d(maps.square(), near[:, :, None, None])
    root = (_OFFSET + _WEIGHT * squares).sqrt()
    return root * root.sqrt()  # the power 3/4, in a third of the time


class ResponseNormalization(torch.nn.Module):
    """Divide each unit h of a convolution by max(h, Z), with Z of :func:`response_scale`."""

    # Phan et al., 2017, equation (22); of each row by itself.

    def forward(self, maps):
        """Return maps in [0, 1]."""
        return maps / torch.maximum(maps, response_scale(maps))


class RangeNormalization(torch.nn.Module):
    """Bring each unit of a dense layer to [0, 1] by its range over a batch."""

    # With χ and φ the least and greatest value of a unit over the batch, it becomes (h − χ) / (φ −
    # χ) (Phan et al., 2017, section III-B). What all rows of a batch have in common, such as noise
    # that is drawn once for all of them, cancels. Rows to predict are normalized one by one, with
    # the ranges of the last batch that was seen in training mode.

    def __init__(self, n_units):
        super().__init__()
        self.register_buffer("low", torch.zeros(n_units))
        self.register_buffer("high", torch.ones(n_units))

    def forward(self, units):
        """Return units in [0, 1]."""
        low, high = self.low, self.high
        if self.training:
            low, high = units.amin(dim=0), units.amax(dim=0)
            self.low.copy_(low.detach())
            self.high.copy_(high.detach())
        return ((units - low) / (high - low).clamp(min=1e-6)).clamp(0, 1)  # zero if constant


class BatchCentering(torch.nn.Module):
    """Subtract from each unit its mean over a batch (Ioffe and Szegedy, 2015, without scales)."""

    # What all rows of a batch have in common cancels. Rows to predict are centered one by one, by
    # the means of the last batch that was seen in training mode.

    def __init__(self, shape):
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape))

    def forward(self, units):
        """Return units whose mean over the batch is zero."""
        if not self.training:
            return units - self.mean
        mean = units.mean(dim=0)
        self.mean.copy_(mean.detach())
        return units - mean


class Network(torch.nn.Module):
    """Layers below, the last hidden layer, and a score for each class.

    Of the normalizations "response", "batch" and "none" only the last treats rows separately.
    """

    def __init__(self, architecture, normalization):
        super().__init__()
        self.architecture = architecture
        *below, n_hidden = architecture.hidden_layer_sizes
        layers = _convolutions if architecture.image_shape else _dense_layers
        self.below = torch.nn.Sequential(*layers(architecture, below, normalization))
        self.hidden = torch.nn.Linear(architecture.n_below, n_hidden)
        self.bounded = torch.nn.Sequential(*_hidden_normalization(n_hidden, normalization))
        self.scores = torch.nn.Linear(n_hidden, architecture.n_classes)
        # The scores that minimize the loss where nothing is known of a row but the classes: a
        # network that starts at zero takes several epochs to get there.
        torch.nn.init.constant_(self.scores.bias, 4 * (1 / architecture.n_classes - 0.5))
        self.to(memory_format=torch.channels_last)  # halves the time of convolutions

    def forward(self, rows):
        """Return the scores of rows of [0, 1], of shape (n_samples, n_classes)."""
        return self.scores(self.bounded(self.hidden(self.below(rows))))

    def layers(self):
        """Return all layers in order, as a list."""
        return [*self.below, self.hidden, *self.bounded, self.scores]


def _hidden_normalization(n_hidden, normalization):
    """Yield what follows the last hidden layer: a rectifier, or what scales units to [0, 1].

    With "batch" the scaled units are centered as well, as those of the layers before are.
    """
    if normalization == "none":
        yield torch.nn.ReLU()
        return
    yield RangeNormalization(n_hidden)
    if normalization == "batch":
        yield BatchCentering((n_hidden,))


def _convolutions(architecture, sizes, normalization):
    maps, *sides = architecture.channels
    yield torch.nn.Unflatten(1, architecture.channels)
    for n_maps, kernel in zip(sizes, architecture.kernels, strict=True):
        around, after = margins(kernel)
        if any(after):  # otherwise it would only copy
            yield torch.nn.ZeroPad2d(after)
        yield torch.nn.Conv2d(maps, n_maps, kernel, STRIDE, around)
        maps, sides = n_maps, [halved(side) for side in sides]
        if normalization == "batch":
            yield BatchCentering((maps, *sides))
        yield torch.nn.ReLU()
        if normalization == "response":
            yield ResponseNormalization()
    yield torch.nn.Flatten()


def _dense_layers(architecture, sizes, normalization):
    inputs = architecture.n_features
    for units in sizes:
        yield torch.nn.Linear(inputs, units)
        inputs = units
        if normalization == "batch":
            yield BatchCentering((units,))
        yield torch.nn.ReLU()
        if normalization == "response":
            yield RangeNormalization(units)


@torch.no_grad()
def relevances(network, rows):
    """Return the relevance of each column, in [0, 1], for the score of the predicted class."""
    # The score is distributed over the units of each layer in turn, in proportion to what they
    # contribute to the affine transformation z of those above (Phan et al., 2017, equations
    # (4)–(9)), R_p = Σ_m x_p W_pm/(z_m ± μ) R_m, and the relevances of a row are brought to [0, 1]
    # by their range. Layers that rescale or reshape pass relevance on.
    network.eval()
    layers = network.layers()
    inputs = [rows]
    for layer in layers[:-1]:
        inputs.append(layer(inputs[-1]))
    scores = network.scores(inputs[-1])
    best = scores.argmax(dim=1, keepdim=True)
    relevance = torch.zeros_like(scores).scatter(1, best, scores.gather(1, best))
    for layer, below in zip(reversed(layers), reversed(inputs), strict=True):
        relevance = _propagate(layer, below, relevance)
    low, high = relevance.aminmax(dim=1, keepdim=True)
    unit = (relevance - low) / (high - low).clamp(min=torch.finfo(relevance.dtype).tiny)
    # A row whose relevances overflow must count like any other: the noise is for [0, 1].
    return unit.nan_to_num(0.0).clamp(0, 1)


def _propagate(layer, below, relevance):
    """Return the relevance of the inputs of one layer."""
    if isinstance(layer, torch.nn.ZeroPad2d):
        *_, height, width = below.shape
        return relevance[..., :height, :width]
    if not isinstance(layer, torch.nn.Linear | torch.nn.Conv2d):
        return relevance.reshape(below.shape)
    with torch.enable_grad():
        below = below.detach().requires_grad_()
        above = layer(below)
        signs = torch.where(above >= 0, 1.0, -1.0)
        ratios = (relevance / (above + _STABILIZER * signs)).detach()
        # The transposed layer applied to the ratios is the gradient of their product with z.
        (gradient,) = torch.autograd.grad(above, below, ratios)
    return (below * gradient).detach()
