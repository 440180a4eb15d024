"""An outside peer at record level: DP-SGD on the source, fine-tuned on the target's few labels.

The source owner trains a small network with Opacus: convolutions with tanh for pictures, one
hidden layer of 64 for other features; (epsilon, 1e-5) for a whole record. The target owner trains
the released network further on the labeled rows only. Where pictures differ in size, those of the
target are resampled to the source's, which no other model of these benchmarks is allowed.
"""

import warnings

import _bench
import numpy as np
import torch
from _bench import epsilon_of
from _peers import DELTA, MOMENTUM, descend
from opacus import PrivacyEngine
from torch import nn

BATCH = 1024  # at most a tenth of the rows
RATE = 0.2
CLIP = 1.0  # greatest norm of the gradient of one row
TUNING_STEPS, TUNING_RATE = 50, 1e-3


class Network:
    """A network that a source owner trained at a record level; its seed is fixed."""

    def __init__(self, level, rows, epochs, pictures):
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        X, y = rows
        self.side = int(np.sqrt(X.shape[1])) if pictures else None
        self.classes, codes = np.unique(y, return_inverse=True)
        self.shape = (self.side, X.shape[1], len(self.classes))
        self.settings = {"delta": DELTA, "epochs": epochs, "batch": BATCH, "rate": RATE}
        self.settings |= {"clip": CLIP, "torch": torch.__version__}
        made, epsilon = network(*self.shape), epsilon_of(level)
        with _bench.Timer() as timer:
            self.released = train(made, tensor(X, self.side), torch.tensor(codes), epsilon, epochs)
        self.seconds = timer.seconds

    def score(self, X, y):
        """Accuracy of the released network in per cent."""
        return self._accuracy(self._model(), X, y)

    def predict(self, X):
        return self.classes[self._codes(self._model(), X)]

    def transfer(self, data, **settings):
        """Train the released network further, and return its accuracy in per cent."""
        X, _, marked, X_test, y_test = data
        known = np.isin(marked, self.classes)
        labels = torch.tensor(np.searchsorted(self.classes, marked[known]))
        model = self._model()
        with _bench.Timer() as timer:
            tune(model, tensor(X[known], self.side), labels)
        return {"accuracy": self._accuracy(model, X_test, y_test), "fit_seconds": timer.seconds}

    def _model(self):
        model = network(*self.shape)
        model.load_state_dict(self.released)
        return model

    def _codes(self, model, X):
        with torch.no_grad():
            return model(tensor(X, self.side)).argmax(dim=1).numpy()

    def _accuracy(self, model, X, y):
        return 100 * float((self._codes(model, X) == np.searchsorted(self.classes, y)).mean())


def tensor(X, side):
    """Rows as the network wants them; pictures, which have a side, resampled to it."""
    rows = torch.tensor(X, dtype=torch.float32)
    if side is None:
        return rows
    own = int(np.sqrt(X.shape[1]))
    rows = rows.reshape(-1, 1, own, own)
    return rows if own == side else nn.functional.interpolate(rows, (side, side), mode="bilinear")


def network(side, n_features, n_classes):
    torch.manual_seed(0)
    if side is None:
        return nn.Sequential(nn.Linear(n_features, 64), nn.Tanh(), nn.Linear(64, n_classes))
    convolutions = nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2), nn.Tanh(), nn.MaxPool2d(2, 1), nn.Flatten(),
    )  # fmt: skip
    width = convolutions(torch.zeros(1, 1, side, side)).shape[1]
    return nn.Sequential(convolutions, nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, n_classes))


def train(model, X, y, epsilon, epochs):
    """Train a network privately, and return its parameters."""
    rows = torch.utils.data.TensorDataset(X, y)
    batch = min(BATCH, max(len(X) // 10, 1))
    loader = torch.utils.data.DataLoader(rows, batch_size=batch, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
        module=model, optimizer=optimizer, data_loader=loader, target_epsilon=epsilon,
        target_delta=DELTA, epochs=epochs, max_grad_norm=CLIP,
    )  # fmt: skip
    descend(model, optimizer, loader, nn.functional.cross_entropy, epochs)
    return {name: value.detach().clone() for name, value in model._module.state_dict().items()}


def tune(model, X, y):
    """Train all parameters further on a few rows."""
    optimizer = torch.optim.Adam(model.parameters(), lr=TUNING_RATE)
    for _ in range(TUNING_STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), y).backward()
        optimizer.step()
