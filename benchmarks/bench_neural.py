"""Private networks on all of MNIST: 60,000 digits to train on, 10,000 to test.

The adaptive and the identical Laplace mechanism of Phan et al. (2017), DP-SGD by Opacus, the noisy
statistics of DPStatisticsSource, and the private convolutional deep belief network of Phan, Wu and
Dou (2017). Networks have the paper's 32 and 64 maps of 5 × 5 and 25 units, with convolutions of
stride 2, and batches of 1,800. ``--models 'dpsgd;statistics'`` chooses; ``--plot`` draws accuracy
against ε, results/neural.png. Two processes may fill the file together.
"""

import functools
from itertools import product

import _bench
import numpy as np
import torch
from _measured_tables import NEURAL
from _store import RESULTS
from _table import grouped, load, pick, where
from _tasks import mnist

from skdp import DPStatisticsSource
from skdp.neural import AdaptiveLaplaceClassifier, PrivateCDBNClassifier

DRAWS = 3
PLAIN = str | int | float | tuple | None  # settings that are written down
LEVELS = ("0.25", "0.5", "1", "2", "8")
EPOCHS, BELIEF_EPOCHS = 3, 15
NETWORK = {"image_shape": (28, 28), "n_epochs": EPOCHS, "learning_rate": 5e-3}
CENTERD = {**NETWORK, "normalization": "batch"}


digits = functools.cache(mnist)


@functools.lru_cache(maxsize=1)
def relevant_network(draw):
    """Return the network whose relevances are used: trained on the digits, without noise."""
    settings = {**CENTERD, "mechanism": "identical", "noise_per": "batch"}
    return AdaptiveLaplaceClassifier(np.inf, random_state=draw, **settings).fit(*digits()[:2])


def adaptive(epsilon, draw, **settings):
    settings = {"noise_per": "batch", **settings}
    network = relevant_network(draw)
    return AdaptiveLaplaceClassifier(epsilon, pretrained=network, random_state=draw, **settings)


def identical(epsilon, draw, **settings):
    settings = {"mechanism": "identical", "noise_per": "batch", **settings}
    return AdaptiveLaplaceClassifier(epsilon, random_state=draw, **settings)


def dpsgd(epsilon, draw):
    # Of 2e-3 and 8e-3, one seed at ε = 0.5: 83 % after three epochs, 89 % after two.
    settings = {**NETWORK, "mechanism": "dpsgd", "learning_rate": 8e-3, "n_epochs": 2}
    return AdaptiveLaplaceClassifier(epsilon, random_state=draw, **settings)


def deep_belief(epsilon, draw, noise_per="batch"):
    settings = {"image_shape": (28, 28), "n_epochs": BELIEF_EPOCHS, "noise_per": noise_per}
    return PrivateCDBNClassifier(epsilon, random_state=draw, **settings)


def statistics(epsilon, draw):
    return DPStatisticsSource(epsilon, classes=range(10))


# Name in the tables, levels of ε, and what makes the classifier.
MODELS = {
    "adaptive": (LEVELS, functools.partial(adaptive, **CENTERD)),
    "identical": (LEVELS, functools.partial(identical, **CENTERD)),
    "adaptive, as printed": (("0.5", "8"), functools.partial(adaptive, **NETWORK)),
    "adaptive, noise per row": (
        ("0.5", "8", "100"),
        functools.partial(adaptive, **{**CENTERD, "noise_per": "row"}),
    ),
    "dpsgd": (LEVELS, dpsgd),
    "statistics": (LEVELS, statistics),
    "cdbn": (LEVELS, deep_belief),
    "cdbn, noise per row": (("0.5", "8"), functools.partial(deep_belief, noise_per="row")),
    "tcdbn": (("inf",), deep_belief),
}


def measure(cells):
    """Return a cell with its accuracy, its seconds, and what a row is guaranteed."""
    X, y, X_test, y_test = digits()
    [cell] = cells
    model = MODELS[cell["model"]][1](float(cell["level"]), cell["draw"])
    with _bench.Timer() as fit:
        model.fit(X, y)
    scorer = getattr(model, "release_", model)
    guarantee = scorer.guarantee if scorer is not model else model.guarantee_
    settings = model.get_params(deep=False).items()
    names = ("unit", "epsilon", "delta", "relation")
    row = {
        **cell,
        "accuracy": 100 * scorer.score(X_test, y_test),
        "fit_seconds": fit.seconds,
        "guarantee": {name: getattr(guarantee, name) for name in names},
        "settings": {name: value for name, value in settings if isinstance(value, PLAIN)},
    }
    return [row]


def plot():
    """Draw the accuracy of each model against ε, with the least and greatest of its seeds."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    rows = [row for row in load("neural")["rows"] if np.isfinite(float(row["level"]))]
    for model in MODELS:
        levels = grouped(where(rows, model=model), "level")
        found = {float(level): pick(some) for (level,), some in levels.items()}
        if len(found) < len(LEVELS):
            continue
        epsilons = sorted(found)
        label = NEURAL[model][0].strip("*")  # as in the table
        axes.plot(epsilons, [found[e].mean for e in epsilons], marker="o", label=label)
        ends = [(min(found[e]), max(found[e])) for e in epsilons]
        axes.fill_between(epsilons, *zip(*ends, strict=True), alpha=0.2)
    axes.set(xscale="log", xlabel="ε (the parameter)", ylabel="accuracy on test digits, %")
    axes.set_xticks([float(level) for level in LEVELS], LEVELS)
    axes.minorticks_off()
    axes.legend()
    figure.savefig(RESULTS / "neural.png", dpi=110)


def groups(models, draws):
    for draw, model in product(range(draws), models):
        for level in MODELS[model][0]:
            yield [{"case": "mnist", "level": level, "model": model, "draw": draw}]


if __name__ == "__main__":
    options = _bench.options_of(__doc__, models=";".join(MODELS), draws=DRAWS, plot=False)
    torch.set_num_threads(1)
    if options.plot:
        plot()
    else:
        _bench.complete("neural", groups(options.models.split(";"), options.draws), measure)
