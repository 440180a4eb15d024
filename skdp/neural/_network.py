"""The network: convolutions or dense layers below, one dense layer and the scores above."""

from dataclasses import dataclass
from math import ceil, prod
from numbers import Integral

import torch

from skdp.neural._normalisation import (
    BatchCentring,
    RangeNormalisation,
    ResponseNormalisation,
)

# Stride of the convolutions, which takes the place of pooling.
_STRIDE = 2


@dataclass(frozen=True)
class Architecture:
    """What a network consists of.

    Parameters
    ----------
    n_features, n_classes : int
        Columns of the rows, and classes.

    image_shape : tuple of int or None
        (height, width) or (channels, height, width) of a row; None for dense layers alone.

    hidden_layer_sizes : tuple of int
        Maps of each convolution, or units of each dense layer where there is no image, and last
        the units of the dense layer below the scores.

    kernel_size : int
        Odd side of the filters.

    Examples
    --------
    >>> from skdp.neural._network import Architecture
    >>> Architecture(784, 10, (28, 28), (32, 64, 25), 5).first_layer_inputs
    4900
    """

    n_features: int
    n_classes: int
    image_shape: tuple | None
    hidden_layer_sizes: tuple
    kernel_size: int

    @property
    def channels(self):
        """(channels, height, width) of a row."""
        return tuple(map(int, (1, *self.image_shape)[-3:])) if self.image_shape else None

    @property
    def first_layer_inputs(self):
        r"""Inputs of all neurons of the first layer together, :math:`\sum_{h \in h_0} d`.

        Of a dense layer, those of every unit. Of a convolution, those of one map, as the others
        read the same inputs: 14 × 14 × 25 for 28 × 28 pixels and filters of 5 × 5.
        """
        if self.image_shape is None or len(self.hidden_layer_sizes) == 1:
            return self.hidden_layer_sizes[0] * self.n_features
        channels, height, width = self.channels
        return halved(height) * halved(width) * channels * self.kernel_size**2

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

    def _fits(self, shape):
        whole = all(isinstance(n, Integral) and int(n) > 0 for n in shape)
        return whole and len(shape) in (2, 3) and prod(shape) == self.n_features

    def check(self, estimator):
        """Raise ValueError where the image does not fit the rows."""
        shape, name = self.image_shape, type(estimator).__name__
        if shape is not None and not self._fits(shape):
            raise ValueError(
                f"The 'image_shape' parameter of {name} must be (height, width) or (channels, "
                f"height, width) of {self.n_features} values in all, got {shape!r}. Use the shape "
                "that the rows had before they were flattened, or None."
            )
        if shape is not None and self.kernel_size % 2 == 0:
            raise ValueError(
                f"The 'kernel_size' parameter of {name} must be odd, got {self.kernel_size}. Use "
                f"{self.kernel_size + 1}."
            )


def halved(side):
    """Return the side of the maps that a convolution makes."""
    return ceil(side / _STRIDE)


class Network(torch.nn.Module):
    """Layers below, the last hidden layer, and a score for each class.

    Parameters
    ----------
    architecture : Architecture

    normalization : {"response", "batch", "none"}
        What goes with each affine transformation: the rectifier and the paper's normalisation;
        centring over the batch and the rectifier; or the rectifier alone, which lets each row be
        by itself.
    """

    def __init__(self, architecture, normalization):
        super().__init__()
        self.architecture = architecture
        *below, n_hidden = architecture.hidden_layer_sizes
        layers = _convolutions if architecture.image_shape else _dense_layers
        self.below = torch.nn.Sequential(*layers(architecture, below, normalization))
        self.hidden = torch.nn.Linear(architecture.n_below, n_hidden)
        self.bounded = torch.nn.Sequential(*_bounding(n_hidden, normalization))
        self.scores = torch.nn.Linear(n_hidden, architecture.n_classes)
        # The scores that minimise the loss where nothing is known of a row but the classes: a
        # network that starts at zero takes several epochs to get there.
        torch.nn.init.constant_(self.scores.bias, 4 * (1 / architecture.n_classes - 0.5))
        self.to(memory_format=torch.channels_last)  # halves the time of convolutions

    def forward(self, rows):
        """Return the scores of rows of [0, 1], of shape (n_samples, n_classes)."""
        return self.scores(self.bounded(self.hidden(self.below(rows))))

    def layers(self):
        """Return all layers in order, as a list."""
        return [*self.below, self.hidden, *self.bounded, self.scores]


def _bounding(n_hidden, normalization):
    """Yield what follows the last hidden layer."""
    if normalization == "none":
        yield torch.nn.ReLU()
        return
    yield RangeNormalisation(n_hidden)
    if normalization == "batch":
        yield BatchCentring((n_hidden,))


def _convolutions(architecture, sizes, normalization):
    maps, *sides = architecture.channels
    yield torch.nn.Unflatten(1, architecture.channels)
    size = architecture.kernel_size
    for n_maps in sizes:
        yield torch.nn.Conv2d(maps, n_maps, size, _STRIDE, padding=size // 2)
        maps, sides = n_maps, [halved(side) for side in sides]
        if normalization == "batch":
            yield BatchCentring((maps, *sides))
        yield torch.nn.ReLU()
        if normalization == "response":
            yield ResponseNormalisation()
    yield torch.nn.Flatten()


def _dense_layers(architecture, sizes, normalization):
    inputs = architecture.n_features
    for units in sizes:
        yield torch.nn.Linear(inputs, units)
        inputs = units
        if normalization == "batch":
            yield BatchCentring((units,))
        yield torch.nn.ReLU()
        if normalization == "response":
            yield RangeNormalisation(units)
