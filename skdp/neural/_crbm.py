"""One convolutional restricted Boltzmann machine whose energy is made of polynomials."""

import numpy as np
import torch

from skdp.neural._normalisation import response_scale

# Stride of every convolution over more than one position: it halves maps, as the paper's pooling
# does (Phan, Wu and Dou, 2017), and does so at a quarter of the cost (rule of thumb).
_STRIDE = 2
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
    r"""A convolutional RBM (Phan, Wu and Dou, 2017, equations (5), (6), (13) and (14)).

    With a = W * v + b, the scale Z of the local response normalisation and X = a / max(\|a\|, Z),
    hidden units are on with probability Σ α_l X^l. The paper's equation (14) multiplies this
    by a again, so that the energy of a row is

    .. math:: E(v) = -\sum_{k,i,j} a^k_{ij} \sum_l α_l (X^k_{ij})^l - c \sum_{ij} v_{ij}.

    Parameters
    ----------
    in_shape : tuple (channels, height, width)
        Of the visible units.

    n_filters : int
        Groups K of hidden units.

    kernel_size : tuple (height, width)
        Of the filters.

    coefficients : ndarray of shape (degree + 1,)
        α, from :func:`~skdp.neural._polynomials.sigmoid_coefficients`.

    spread : float, default=1.0
        Standard deviation of the first pre-activations, on inputs that vary by 1/2.
    """

    def __init__(self, in_shape, n_filters, kernel_size, coefficients, spread=1.0):
        super().__init__()
        self.in_shape = tuple(in_shape)
        channels, *size = self.in_shape
        # A single position needs no neighbours: filters reach no further than the image.
        kernel = [1 if length == 1 else k for k, length in zip(kernel_size, size, strict=True)]
        self.stride = [1 if length == 1 else _STRIDE for length in size]
        self.padding = [k // 2 for k in kernel]
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
        sizes = zip(self.in_shape[1:], self.weight.shape[2:], self.stride, strict=True)
        size = ((n + 2 * (k // 2) - k) // stride + 1 for n, k, stride in sizes)
        return (self.weight.shape[0], *size)

    def pre_activation(self, visible):
        """Return W * v + b."""
        convolve = torch.nn.functional.conv2d
        return convolve(visible, self.weight, self.hidden_bias, self.stride, self.padding)

    def probability(self, pre_activation, coefficients):
        """Return the polynomial of the normalised pre-activation; noise takes it anywhere."""
        scale = torch.maximum(pre_activation.abs(), response_scale(pre_activation))
        return PolynomialFunction.apply(pre_activation / scale, coefficients)

    def forward(self, visible):
        """Return the probabilities of the hidden units, stretched from their range to [0, 1].

        On [-1, 1] the sigmoid function has values from 0.27 to 0.73 alone. The paper hands these
        on; stretched, which is public, they leave the next layer twice the contrast.
        """
        low, high = self.range
        found = self.probability(self.pre_activation(visible), self.coefficients)
        return ((found - low) / (high - low)).clamp(0, 1)

    def reconstruct(self, hidden):
        """Return the probabilities of the visible units (equation (6))."""
        sizes = zip(self.in_shape[1:], self.out_shape[1:], self.weight.shape[2:], strict=True)
        left = [
            n - (m - 1) * stride + 2 * (k // 2) - k
            for (n, m, k), stride in zip(sizes, self.stride, strict=True)
        ]
        transposed = torch.nn.functional.conv_transpose2d(
            *(hidden, self.weight, self.visible_bias, self.stride, self.padding, left)
        )
        return torch.sigmoid(transposed)

    def energy(self, visible, coefficients):
        """Return the energy of each row (equation (14)) with the given coefficients.

        Parameters
        ----------
        visible : Tensor of shape (n_samples, channels, height, width)
            In [0, 1].

        coefficients : Tensor of shape (degree + 1,)
            α, perturbed or not.

        Returns
        -------
        energy : Tensor of shape (n_samples,)
        """
        found = self.pre_activation(visible)
        hidden = (found * self.probability(found, coefficients)).sum(dim=(1, 2, 3))
        return -hidden - visible.sum(dim=(2, 3)) @ self.visible_bias

    def sensitivity(self):
        r"""Return Δ of equation (15), the largest value that any row in [0, 1] can give it.

        The terms grow with each visible unit, so that the largest are those of the row of ones.
        With n inputs in the window of a hidden unit, normalised values are at most 1, and

        .. math:: Δ = 2 \Bigl[\sum_{ij} \sum_l |α_l|\,(1 + n_{ij}) + \sum_{ij} v_{ij}\Bigr].

        Returns
        -------
        sensitivity : float
            The same for all rows: it tells nothing of them. The published program of the authors
            computes it from each batch.
        """
        ones = torch.ones(1, *self.in_shape)
        reach = torch.ones(1, *self.weight.shape[1:])
        inputs = torch.nn.functional.conv2d(
            ones, reach, stride=self.stride, padding=self.padding
        ).double()
        hidden = self.coefficients.double().abs().sum() * (1 + inputs).sum()
        return float(2 * (hidden + np.prod(self.in_shape)))

    def contrast(self, visible, coefficients, generator):
        r"""Add the gradient of one step of contrastive divergence, and return the error.

        Energies of rows are to fall, those of their reconstructions from sampled hidden units to
        rise: the gradient is that of the mean of E(v) - E(v'), in which v' is a constant.

        Parameters
        ----------
        visible : Tensor of shape (n_samples, channels, height, width)
            A batch.

        coefficients : Tensor of shape (degree + 1,)
            α, perturbed or not. Hidden units are sampled with those of the layer.

        generator : torch.Generator
            Of the hidden units.

        Returns
        -------
        error : float
            Mean squared error of the reconstructions.
        """
        error = 0.0
        for chunk in visible.split(_CHUNK):
            with torch.no_grad():
                found = self.probability(self.pre_activation(chunk), self.coefficients)
                uniform = torch.rand(found.shape, generator=generator)
                rebuilt = self.reconstruct((uniform.to(found) < found).to(found))
                error += float((rebuilt - chunk).square().sum())
            loss = self.energy(chunk, coefficients) - self.energy(rebuilt, coefficients)
            (loss.sum() / visible.numel()).backward()
        return error / visible.numel()
