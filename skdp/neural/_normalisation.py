"""Normalisations of hidden units: the two of Phan et al., and that by the mean of a batch."""

import torch

# Constants q, l and α of equation (22), whose β is 3/4 (Phan et al., 2017, who take them from
# Krizhevsky, Sutskever and Hinton, 2012).
_OFFSET, _WIDTH, _WEIGHT = 2.0, 5, 1e-4
# Least range of a unit over a batch: where it is constant, it becomes zero and not undefined.
_LEAST_RANGE = 1e-6


def response_scale(maps):
    r"""Return the scale of each unit: a power of the squares of neighbouring maps.

    .. math::
       \Bigl(q + α \sum_{m=k-\lfloor l/2 \rfloor}^{k+\lfloor l/2 \rfloor} (h^m_{ij})^2\Bigr)^β,
       \qquad q = 2,\ l = 5,\ α = 10^{-4},\ β = 0.75.

    Parameters
    ----------
    maps : Tensor of shape (n_samples, n_maps, height, width)

    Returns
    -------
    scale : Tensor of the same shape

    Examples
    --------
    >>> import torch
    >>> response_scale(torch.zeros(1, 3, 1, 1)).flatten().tolist()
    [1.681..., 1.681..., 1.681...]
    """
    n, reach = maps.shape[1], _WIDTH // 2
    distance = torch.arange(n)[:, None] - torch.arange(n)
    near = (distance.abs() <= reach).to(maps)
    # A 1 × 1 convolution sums neighbouring maps in one product.
    squares = torch.nn.functional.conv2d(maps.square(), near[:, :, None, None])
    root = (_OFFSET + _WEIGHT * squares).sqrt()
    return root * root.sqrt()  # the power 3/4, in a third of the time


class ResponseNormalisation(torch.nn.Module):
    r"""Divide each unit of a convolution by what its neighbours respond, at most to 1.

    With h the unit after its rectifier and Z of :func:`response_scale`, it becomes
    h / max(h, Z) (Phan et al., 2017, equation (22)), of each row by itself.

    Examples
    --------
    >>> import torch
    >>> ResponseNormalisation()(torch.full((1, 1, 1, 2), 5.0)).flatten().tolist()
    [1.0, 1.0]
    """

    def forward(self, maps):
        """Return maps in [0, 1]."""
        return maps / torch.maximum(maps, response_scale(maps))


class RangeNormalisation(torch.nn.Module):
    r"""Bring each unit of a dense layer to [0, 1] by its range over a batch.

    With χ and φ the least and greatest value of a unit over the batch, it becomes
    (h − χ) / (φ − χ) (Phan et al., 2017, section III-B). What all rows of a batch have in common,
    such as noise that is drawn once for all of them, cancels. Rows to predict are normalised one
    by one, with the ranges of the last batch that was seen in training mode.

    Parameters
    ----------
    n_units : int

    Examples
    --------
    >>> import torch
    >>> layer = RangeNormalisation(1)
    >>> layer(torch.tensor([[3.0], [4.0], [5.0]])).flatten().tolist()
    [0.0, 0.5, 1.0]
    >>> layer.eval()(torch.tensor([[4.5]])).item()
    0.75
    """

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
        return ((units - low) / (high - low).clamp(min=_LEAST_RANGE)).clamp(0, 1)


class BatchCentring(torch.nn.Module):
    """Subtract from each unit its mean over a batch (Ioffe and Szegedy, 2015, without scales).

    What all rows of a batch have in common cancels. Rows to predict are centred one by one, by the
    means of the last batch that was seen in training mode.

    Parameters
    ----------
    shape : tuple of int
        Of the units of one row.

    Examples
    --------
    >>> import torch
    >>> layer = BatchCentring((1,))
    >>> layer(torch.tensor([[3.0], [5.0]])).flatten().tolist()
    [-1.0, 1.0]
    >>> layer.eval()(torch.tensor([[3.0]])).item()
    -1.0
    """

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
