"""Batches, the running average, what is printed, and what queries are normalised by."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp.neural._network import Architecture, Network
from skdp.neural._training import Progress, batches, calibrate, find_device, train


def test_batches_are_of_one_size_and_have_each_row_once():
    generator = torch.Generator().manual_seed(3)
    epochs = [list(batches(23, 5, generator)) for _ in range(40)]
    for epoch in epochs:
        positions = torch.cat(epoch).tolist()
        assert [len(batch) for batch in epoch] == [5] * 4
        assert len(set(positions)) == 20
    seen = torch.cat([torch.cat(epoch) for epoch in epochs]).bincount()
    assert len(seen) == 23  # another remainder is left out in each epoch
    assert seen.min() > 20
    assert [len(batch) for batch in batches(3, 5, generator)] == [3]


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = torch.nn.Parameter(torch.zeros(()))


def test_the_network_becomes_the_running_average_of_adam():
    targets, generator = torch.arange(30.0), torch.Generator().manual_seed(0)

    def loss_of(network, positions):
        return (network.slope - targets[positions]).square().mean()

    network, epochs = Line(), []
    settings = {"batch_size": 1, "n_epochs": 2, "learning_rate": 0.1, "progress": epochs.append}
    train(network, loss_of, 30, generator=generator, **settings)
    # The same by hand: the mean of the first twenty, then 0.95 of the past.
    slope, average, steps = torch.zeros((), requires_grad=True), 0.0, 0
    optimiser = torch.optim.Adam([slope], lr=0.1)
    generator.manual_seed(0)
    for _ in range(2):
        for position in torch.randperm(30, generator=generator):
            optimiser.zero_grad()
            (slope - targets[position]).square().backward()
            optimiser.step()
            steps += 1
            average += max(0.05, 1 / steps) * (slope.item() - average)
    assert epochs == [1, 2]
    assert network.slope.item() == pytest.approx(average, rel=1e-5)
    assert abs(network.slope.item() - slope.item()) > 0.1


def test_queries_are_normalised_by_what_was_calibrated():
    network = Network(Architecture(3, 2, None, (4, 5), 3), "batch").double()
    rows = torch.rand(100, 3, dtype=torch.float64)
    calibrate(network, rows)
    assert not network.training
    with torch.no_grad():
        together = network(rows)
        in_training = copy.deepcopy(network).train()(rows)
    torch.testing.assert_close(together, in_training)


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 10), (2, 20), (7, 20), (True, 10)])
def test_progress(verbose, lines, capsys):
    progress = Progress(verbose, 20, "network")
    for epoch in range(20):
        progress(epoch + 1)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == lines
    if lines:
        assert printed[-1].startswith("[network] epoch 20 of 20, ")


def test_auto_is_cuda_where_there_is_any(monkeypatch):
    for available, name in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda available=available: available)
        assert find_device("auto") == torch.device(name)
        assert find_device("cpu") == torch.device("cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("mechanism", ["adaptive", "identical", "dpsgd"])
def test_cuda(mechanism, some_digits, small):
    from skdp.neural import AdaptiveLaplaceClassifier

    model = AdaptiveLaplaceClassifier(mechanism=mechanism, device="cuda", **small)
    model.fit(*some_digits)
    on_cpu = copy.deepcopy(model).set_params(device="cpu").predict_proba(some_digits[0])
    np.testing.assert_allclose(model.predict_proba(some_digits[0]), on_cpu, atol=1e-9)
