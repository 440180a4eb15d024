"""Laplace noise on inputs and labels: once for each row, or once for each batch."""

from dataclasses import dataclass

import numpy as np
import torch

from skdp.noise import OptimalDPNoise, perturb_training_rows
from skdp.utils._parallel import draw_seeds

# By how much more two values may move apart when they are rounded to the grid of the noise, in
# units of its scale (see skdp.noise).
GRID = 2.0**-24
# Largest scale of noise: beyond, single precision overflows in a network (rule of thumb).
_LARGEST_SCALE = 1e30


def perturb_rows(rows, scales, random_state):
    """Return a copy of rows with independent Laplace noise, by the exact sampler of skdp.noise.

    Parameters
    ----------
    rows : Tensor of shape (n_samples, n_columns)
        Private values.

    scales : ndarray of shape (n_columns,)
        Scale b of the noise of each column, infinite nowhere.

    random_state : RandomState or None
        Source of randomness; None for a cryptographic one.

    Returns
    -------
    noisy : Tensor of shape (n_samples, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> random_state = np.random.RandomState(0)
    >>> noisy = perturb_rows(torch.zeros(2000, 2), np.array([1.0, 10.0]), random_state)
    >>> noisy.abs().mean(dim=0).round().tolist()  # E|noise| = b
    [1.0, 10.0]
    """
    if not scales.any():
        return rows.clone()
    # In units of its noise each column has noise of scale 1, whatever its values.
    noise = OptimalDPNoise(1.0, 0.0, 1.0, random_state=random_state)
    noisy, _ = perturb_training_rows(noise, rows.cpu().double().numpy() / scales)
    return torch.from_numpy((noisy * scales).astype(np.float32)).to(rows)


@dataclass(frozen=True)
class Perturbation:
    """Noise of the inputs of the first layer and of the loss.

    Parameters
    ----------
    input_scales : ndarray of shape (n_features,)
        Scale of the noise of each column of the rows in [0, 1]; zero for none.

    label_scale : float
        Scale of the noise of each linear coefficient of the loss; zero for none.

    per_row : bool
        Whether every row gets noise of its own, once; otherwise each batch gets one draw, which
        its rows share, each time that it is read.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.neural._perturbation import Perturbation
    >>> round(Perturbation(np.full(4, 2.0), 0.5, per_row=True).row_epsilon, 6)
    6.0
    """

    input_scales: np.ndarray
    label_scale: float
    per_row: bool

    def __post_init__(self):
        if not max(np.max(self.input_scales), self.label_scale) < _LARGEST_SCALE:
            raise ValueError(
                "The 'epsilon' parameter is so small that its noise, of a scale above "
                f"{_LARGEST_SCALE:g}, overflows single precision. Use a larger one."
            )

    @property
    def row_epsilon(self):
        r"""Privacy loss ε of one labelled record that is perturbed once.

        Values of [0, 1] with noise of scale b_j lose 1/b_j, another label moves two coefficients
        by 1:

        .. math:: ε = \sum_j 1/b_j + 2/b_y,

        and what rounding to the grid of the noise adds.
        """
        if not (self.per_row and self.label_scale and self.input_scales.all()):
            return np.inf
        moves = (1 / self.input_scales).sum() + 2 / self.label_scale
        return float(moves + (len(self.input_scales) + 2) * GRID)

    def of_all_rows(self, rows, coefficients, random_state):
        """Return rows and coefficients as training may read them, and a function for a batch.

        Parameters
        ----------
        rows : Tensor of shape (n_samples, n_features)
            Private rows in [0, 1].

        coefficients : Tensor of shape (n_samples, n_classes)
            1/2 less the one-hot labels.

        random_state : RandomState or None
            Source of randomness; None for a fresh one, cryptographic where noise is per row.

        Returns
        -------
        take : callable
            ``take(positions)`` returns rows and coefficients of a batch.
        """
        label_scales = np.full(coefficients.shape[1], float(self.label_scale))
        if self.per_row:
            rows = perturb_rows(rows, self.input_scales, random_state)
            coefficients = perturb_rows(coefficients, label_scales, random_state)
            return lambda positions: (rows[positions], coefficients[positions])
        seeds = None if random_state is None else draw_seeds(random_state, 4)
        generator = np.random.default_rng(seeds)

        def shared(scales, like):
            return torch.from_numpy(generator.laplace(0, scales).astype(np.float32)).to(like)

        def take(positions):
            return (
                rows[positions] + shared(self.input_scales, rows),
                coefficients[positions] + shared(label_scales, coefficients),
            )

        return take
