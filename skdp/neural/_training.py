"""The training loop that all networks share."""

import time
from copy import deepcopy

import torch

# Weight of the past in the running average of the parameters: about the last twenty batches, over
# which noise that is drawn for each batch averages out (rule of thumb).
_DECAY = 0.95
# Rows whose ranges and means are kept for prediction, at most (rule of thumb).
CALIBRATION_ROWS = 6000


def find_device(device):
    """Return the torch device of a parameter: "auto" is CUDA where there is any.

    Examples
    --------
    >>> find_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


def batches(n, batch_size, generator):
    """Yield positions of rows in random batches of one size; a remainder is left out.

    Parameters
    ----------
    n, batch_size : int
        Rows, and rows of a batch; all rows where there are fewer.

    generator : Generator
        Of torch.

    Yields
    ------
    positions : Tensor of shape (batch_size,)

    Examples
    --------
    >>> import torch
    >>> generator = torch.Generator().manual_seed(0)
    >>> [len(rows) for rows in batches(10, 4, generator)]
    [4, 4]
    """
    size = min(n, batch_size)
    order = torch.randperm(n, generator=generator)
    for start in range(0, n - size + 1, size):
        yield order[start : start + size]


def train(network, loss_of, n, *, batch_size, n_epochs, learning_rate, generator, progress):
    """Minimise a loss by Adam, and leave a running average of the parameters in the network.

    Parameters
    ----------
    network : Module
        Is changed.

    loss_of : callable
        ``loss_of(network, positions)`` of the rows of a batch.

    n : int
        Number of rows.

    batch_size, n_epochs : int
        Rows of a batch, and passes over all rows.

    learning_rate : float
        Of Adam.

    generator : Generator
        Order of the rows.

    progress : callable
        Is told the number of each epoch that is done. It gets no loss, which is private.
    """
    average, steps = deepcopy(network), 0
    optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate)
    for epoch in range(n_epochs):
        for positions in batches(n, batch_size, generator):
            optimiser.zero_grad()
            loss_of(network, positions).backward()
            optimiser.step()
            steps += 1
            _average(average, network, max(1 - _DECAY, 1 / steps))
        progress(epoch + 1)
    network.load_state_dict(average.state_dict())


@torch.no_grad()
def _average(average, network, weight):
    for mean, parameter in zip(average.parameters(), network.parameters(), strict=True):
        mean.lerp_(parameter, weight)


@torch.no_grad()
def calibrate(network, rows):
    """Keep ranges and means that units have over some rows, for the normalisation of queries.

    Parameters
    ----------
    network : Module
        Its normalisations over a batch are changed.

    rows : Tensor of shape (n_samples, n_features)
        Some of the rows of training.
    """
    network.train()
    network(rows[:CALIBRATION_ROWS])
    network.eval()


class Progress:
    """Print the epochs that are done, and the time that they took.

    Parameters
    ----------
    verbose : int
        Print every epoch from 2 on; at 1 about ten of all; nothing at 0.

    n_epochs : int
        Number of epochs.

    label : str
        What is being trained.

    Examples
    --------
    >>> progress = Progress(1, 20, "network")
    >>> progress(1)
    >>> progress(2)
    [network] epoch 2 of 20, ... s
    """

    def __init__(self, verbose, n_epochs, label):
        self._every = (0, max(1, n_epochs // 10), 1)[min(int(verbose), 2)]
        self._n_epochs, self._label, self._start = n_epochs, label, time.perf_counter()

    def __call__(self, epoch):
        """Print that an epoch is done."""
        if self._every and (epoch % self._every == 0 or epoch == self._n_epochs):
            seconds = time.perf_counter() - self._start
            print(f"[{self._label}] epoch {epoch} of {self._n_epochs}, {seconds:.0f} s")
