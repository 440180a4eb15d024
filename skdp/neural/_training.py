"""Training on perturbed rows and labels: the noise, the polynomial loss, and the loop."""

import time
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch

from skdp.noise import OptimalDPNoise, perturb_training_rows
from skdp.utils._parallel import draw_seeds

# By how much more two values may move apart when they are rounded to the grid of the noise, in
# units of its scale (see skdp.noise).
NOISE_STEP = 2.0**-24
# Rows whose ranges and means are kept for prediction, at most: enough for means and ranges.
CALIBRATION_ROWS = 6000


def perturb_rows(rows, scales, random_state):
    """Return a copy of rows with independent Laplace noise, by the exact sampler of skdp.noise."""
    if not scales.any():
        return rows.clone()
    # In units of its noise each column has noise of scale 1, whatever its values.
    noise = OptimalDPNoise(1.0, 0.0, 1.0, random_state=random_state)
    noisy, _ = perturb_training_rows(noise, rows.cpu().double().numpy() / scales)
    return torch.from_numpy((noisy * scales).astype(np.float32)).to(rows)


@dataclass(frozen=True)
class Perturbation:
    """Noise of the inputs of the first layer, scaled to [0, 1], and of the loss.

    Per row it is drawn once; otherwise the rows of a batch share a draw each time that it is read.
    """

    # Phan et al. (2017), equations (15) and (17)–(21), Lemmas 3 and 4; but the bias has no noise.

    input_scales: np.ndarray  # of each column; zero for none
    label_scale: float  # of each linear coefficient of the loss
    per_row: bool

    def __post_init__(self):
        if not max(np.max(self.input_scales), self.label_scale) < 1e30:  # with a margin below 3e38
            raise ValueError(
                "The 'epsilon' parameter is so small that its noise, of a scale above "
                "1e+30, overflows single precision. Use a larger one."
            )

    @property
    def row_epsilon(self):
        """Privacy loss ε of one labeled record that is perturbed once."""
        # Values of [0, 1] with noise of scale b_j lose 1/b_j, another label moves two coefficients
        # by 1: ε = Σ 1/b_j + 2/b_y, and what rounding to the grid of the noise adds.
        if not (self.per_row and self.label_scale and self.input_scales.all()):
            return np.inf
        moves = (1 / self.input_scales).sum() + 2 / self.label_scale
        return float(moves + (len(self.input_scales) + 2) * NOISE_STEP)

    def signal(self, n):
        """Return how far a perfect linear signal stands out of the noise of n rows."""
        # A column that decides the class has a covariance of at most 1/4 with a coefficient, and
        # over n rows noise of deviations √2 b and √2 b_y gives their mean product one of 2 b
        # b_y/√n. For d columns of equal weight that is, at most, √(n d)/(8 b b_y).
        noise = 8 * float(np.median(self.input_scales)) * self.label_scale
        if not (self.per_row and noise):
            return np.inf
        return float(np.sqrt(n * len(self.input_scales)) / noise)

    def perturb(self, rows, coefficients, random_state):
        """Return a function from positions to the perturbed rows and coefficients of a batch."""
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


def label_coefficients(labels, n_classes):
    """Return the linear coefficients of each row: 1/2 less its one-hot label."""
    # Of Phan et al. (2017), equation (25), Lemma 5.
    labels = torch.as_tensor(labels, dtype=torch.int64)
    return 0.5 - torch.nn.functional.one_hot(labels, n_classes).float()


def taylor_loss(scores, coefficients):
    """Return the Taylor-expanded cross entropy, without its constant, averaged over rows."""
    # With z the scores of the M classes and y the one-hot label, it is Σ [log 2 + (1/2 − y) z +
    # z²/8]: Phan et al. (2017), equation (25), and Phan, Wu and Dou (2017), equations (17) and
    # (18). Only the linear coefficients depend on private values, and need noise; the others are
    # the same for every row. What is lost by minimizing it is far below Lemma 7, (37).
    return (coefficients * scores + scores.square() / 8).sum(dim=1).mean()


def taylor_probabilities(scores):
    """Return the class probabilities of which scores minimize :func:`taylor_loss`."""
    # Not the logistic function, as Phan et al. (2017), equation (23), have it: that belongs to the
    # exact cross entropy (24).
    # Its minimum is at z = 4 (E[y] − 1/2), so that scores tell 1/2 + z/4 of each class; these are
    # cut at zero and normalized.
    linear = (0.5 + scores / 4).clamp(min=0)
    # The logistic function orders classes whose scores are out of range, and changes no
    # probability to two decimals.
    weights = linear + 1e-4 * torch.sigmoid(scores)
    return weights / weights.sum(dim=1, keepdim=True)


def find_device(device):
    """Return the torch device of a parameter: "auto" is CUDA if available."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


def batches(n, batch_size, generator):
    """Yield positions of rows in random batches of one size; a remainder is left out."""
    size = min(n, batch_size)
    order = torch.randperm(n, generator=generator)
    for start in range(0, n - size + 1, size):
        yield order[start : start + size]


def train(network, loss_of, n, *, batch_size, n_epochs, learning_rate, generator, progress):
    """Minimize a loss by Adam, and leave a running average of the parameters in the network.

    ``progress`` is told the number of each epoch that is done, and no loss, which is private.
    """
    average, steps = deepcopy(network), 0
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    for epoch in range(n_epochs):
        for positions in batches(n, batch_size, generator):
            optimizer.zero_grad()
            loss_of(network, positions).backward()
            optimizer.step()
            steps += 1
            # About the last twenty batches, over which noise that is drawn for each batch averages
            # out.
            _average(average, network, max(1 - 0.95, 1 / steps))
        progress(epoch + 1)
    network.load_state_dict(average.state_dict())


@torch.no_grad()
def _average(average, network, weight):
    for mean, parameter in zip(average.parameters(), network.parameters(), strict=True):
        mean.lerp_(parameter, weight)


@torch.no_grad()
def calibrate(network, rows):
    """Keep ranges and means that units have over some rows, for the normalization of queries."""
    network.train()
    network(rows[:CALIBRATION_ROWS])
    network.eval()


class Progress:
    """Print the epochs that are done: every one from ``verbose`` 2 on, at 1 about ten of all."""

    def __init__(self, verbose, n_epochs, label):
        self._every = (0, max(1, n_epochs // 10), 1)[min(int(verbose), 2)]
        self._n_epochs, self._label, self._start = n_epochs, label, time.perf_counter()

    def __call__(self, epoch):
        """Print that an epoch is done."""
        if self._every and (epoch % self._every == 0 or epoch == self._n_epochs):
            seconds = time.perf_counter() - self._start
            print(f"[{self._label}] epoch {epoch} of {self._n_epochs}, {seconds:.0f} s")
