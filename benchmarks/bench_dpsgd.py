"""An outside peer at record level: DP-SGD on the source, fine-tuned on the target's few labels.

    pip install torch==2.13.0 opacus
    python benchmarks/bench_dpsgd.py --transfers mnist-mnist,mnist-usps

The transfers of ``bench_noise_aware.py``. The source owner trains a small network with Opacus:
convolutions with tanh for digits, one hidden layer of 64 for other features; (epsilon, 1e-5)
for a whole record. The target owner trains the released network further on the labelled rows;
unlabelled rows are not used. Where pictures differ in size, those of the target are resampled
to the source's, which no other model of these benchmarks is allowed. ``--budgets inf`` trains
without noise or clipping.
"""

import warnings

import numpy as np
import torch
from _report import Timer, parse, save
from _tasks import task
from opacus import PrivacyEngine
from torch import nn

args = parse(
    __doc__, transfers="mnist-mnist", budgets="16,8,4,1", draws=5, epochs=30, batch=1024,
    rate=0.2, clip=1.0, tuning=50, tuning_rate=1e-3,
)  # fmt: skip
warnings.simplefilter("ignore")
torch.set_num_threads(1)


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


def train(model, X, y, epsilon):
    """Train a network privately, and return its parameters."""
    rows = torch.utils.data.TensorDataset(X, y)
    batch = min(args.batch, max(len(X) // 10, 1))
    loader = torch.utils.data.DataLoader(rows, batch_size=batch, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.rate, momentum=0.9)
    if np.isfinite(epsilon):
        model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
            module=model, optimizer=optimizer, data_loader=loader, target_epsilon=epsilon,
            target_delta=1e-5, epochs=args.epochs, max_grad_norm=args.clip,
        )  # fmt: skip
    for _ in range(args.epochs):
        for some, labels in loader:
            optimizer.zero_grad()
            losses = nn.functional.cross_entropy(model(some), labels, reduction="sum")
            (losses / max(len(some), 1)).backward()  # a draw without rows gets its noise too
            optimizer.step()
    released = model._module if np.isfinite(epsilon) else model
    return {name: value.detach().clone() for name, value in released.state_dict().items()}


def tune(model, X, y):
    """Train all parameters further on a few rows."""
    optimizer = torch.optim.Adam(model.parameters(), lr=args.tuning_rate)
    for _ in range(args.tuning):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), y).backward()
        optimizer.step()


def accuracy(model, X, y):
    with torch.no_grad():
        return 100 * float((model(X).argmax(dim=1).numpy() == y).mean())


networks: dict = {}  # one for each source and budget, whatever the target


def run(transfer):
    rows = []
    for case, (X_source, y_source), draws in task(transfer, args.draws, 0):
        side = int(np.sqrt(X_source.shape[1])) if "-" in transfer else None
        classes, codes = np.unique(y_source, return_inverse=True)
        private, labels = tensor(X_source, side), torch.tensor(codes)
        for budget in args.budgets.split(","):
            key = (transfer.partition("-")[0], case, budget)
            if key not in networks:
                with Timer() as timer:
                    made = network(side, X_source.shape[1], len(classes))
                    networks[key] = train(made, private, labels, float(budget)), timer
            released, timer = networks[key]
            for draw, (X, _, marked, X_test, y_test) in enumerate(draws):
                model = network(side, X_source.shape[1], len(classes))
                model.load_state_dict(released)
                known, test = np.isin(marked, classes), tensor(X_test, side)
                numbers = np.searchsorted(classes, y_test)
                alone = accuracy(model, test, numbers)
                few = torch.tensor(np.searchsorted(classes, marked[known]))
                tune(model, tensor(X[known], side), few)
                tuned = accuracy(model, test, numbers)
                row = {"case": case, "level": f"record {budget}", "draw": draw}
                rows.append({**row, "alone": alone, "tuned": tuned, "fit_seconds": timer.seconds})
                print(rows[-1], flush=True)
            settings = {**vars(args), "delta": 1e-5, "torch": torch.__version__}
            save(f"dpsgd_{transfer.replace('-', '_')}", settings, rows)


for each in args.transfers.split(","):
    run(each)
