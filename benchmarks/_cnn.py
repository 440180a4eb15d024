"""The convolutional network of SERUMS D3.1 (2019), section 4.1.1.

Patches of 5×5, 32 and 64 maps, 1,024 units.
"""

import numpy as np
import torch
from torch import nn


def fit(X, y, iterations, batch=100):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        *(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 49, 1024), nn.ReLU(), nn.Linear(1024, 10)),
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    rows = np.random.RandomState(0)
    for _ in range(iterations):
        chosen = rows.randint(len(X), size=batch)
        loss = nn.functional.cross_entropy(
            model(torch.from_numpy(X[chosen])), torch.from_numpy(y[chosen])
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


def predict(model, X):
    with torch.no_grad():
        blocks = [model(torch.from_numpy(X[i : i + 1000])) for i in range(0, len(X), 1000)]
    return torch.cat(blocks).argmax(axis=1).numpy()
