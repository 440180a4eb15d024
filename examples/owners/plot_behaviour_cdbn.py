"""
Who will exercise more? A private belief network on sequences
=============================================================

Phan, Wu and Dou (2017, section 4.1) predict from the past weeks of a person, and from those of
his or her friends, whether the person will exercise more next week. The rows are windows: a
matrix of attributes × weeks, which a private convolutional belief network reads as an image.

Their health network is not public. The cohort below is made up, with persons whose activity
follows their own past and their friends'. Where human-activity data are at hand (the environment
variable ``SKDP_DATA`` names a folder with ``uci_har_features_derived.npz``), the same network also
tells six activities of real people from the spectra of their phones' sensors: a matrix of
signals × frequencies, since the order of the windows in time is not in that file.

In the paper, the current attributes and the influence of friends enter as dynamic biases
(equations (25) and (26)), which are linear in both. Here they are the last column and the last
row of the window, over which the filters pass: the same inputs, with weights that are shared.

The example prints a table and draws ``behaviour_cdbn.png``. It needs PyTorch, and says so where
there is none.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skdp import PrivacyLeakWarning
from skdp.datasets import load_human_activity

N_PERSONS, N_WEEKS, WINDOW = 250, 60, 8
LEVELS = [0.5, 2, 8, 32]

# %%
# The cohort: activity that follows a person's own level, last week, and the friends' last week;
# goals reached and messages received depend on it.


def make_cohort(random_state):
    """Return windows of shape (n, 4, WINDOW) in [0, 1], who exercises more, and whose they are."""
    rng = np.random.default_rng(random_state)
    friends = np.array([rng.choice(N_PERSONS, size=5, replace=False) for _ in range(N_PERSONS)])
    level = rng.normal(size=N_PERSONS)
    weeks = [level.copy()]
    for _ in range(N_WEEKS):
        last = weeks[-1]
        influence = last[friends].mean(axis=1)
        noise = 0.4 * rng.normal(size=N_PERSONS)
        weeks.append(0.3 * last + 0.4 * influence + 0.3 * level + noise)
    activity = np.array(weeks).T
    attributes = np.stack(
        [
            activity,
            activity + 0.5 * rng.normal(size=activity.shape),  # goals reached
            rng.normal(size=activity.shape),  # messages received
            activity[friends].mean(axis=1),  # what friends do
        ],
        axis=1,
    )
    unit = 1 / (1 + np.exp(-attributes))  # public bounds: (0, 1)
    windows = [unit[:, :, start : start + WINDOW] for start in range(N_WEEKS - WINDOW + 1)]
    more = [activity[:, t + WINDOW] > activity[:, t + WINDOW - 1] for t in range(len(windows))]
    persons = np.tile(np.arange(N_PERSONS), len(windows))
    return np.concatenate(windows), np.concatenate(more).astype(int), persons


def load_spectra():
    """Return spectra of shape (n, signals, bands) in [0, 1], activities, and persons; or None."""
    try:
        activity = load_human_activity()
    except OSError:
        return None
    names = [name.split("-") for name in activity.feature_names if "-logband" in name]
    signals = sorted({(signal, axis) for signal, _, axis in names})
    bands = sorted({band for _, band, _ in names}, key=lambda band: int(band[len("logband") :]))
    order = [f"{signal}-{band}-{axis}" for signal, axis in signals for band in bands]
    places = [activity.feature_names.index(name) for name in order]
    found = activity.data[:, places]
    # Bounds that somebody published; here those of the people who are left out of the training.
    publishers = activity.groups % 5 == 0
    low, high = np.quantile(found[publishers], [0.001, 0.999], axis=0)
    unit = np.clip((found - low) / (high - low), 0, 1)
    return unit.reshape(len(unit), len(signals), len(bands)), activity.target, activity.groups


# %%
# Networks with the paper's ten filters, in one layer: windows of eight weeks are too short for its
# second one. Noise for each row protects a window with its
# label; noise for each batch is what the paper's figures are about, and protects no row.


def accuracies(windows, y, persons):
    """Return the accuracy on persons who were not in the training, for each setting and ε."""
    from skdp.neural import PrivateCDBNClassifier

    test = persons % 5 == 0
    rows = windows.reshape(len(windows), -1)
    settings = {
        "image_shape": windows.shape[1:],
        "hidden_layer_sizes": (10, 25),
        "kernel_size": 3,
        "batch_size": 1000,
        "n_epochs": 25,
    }
    table = {}
    for how, levels in (("none", [np.inf]), ("batch", LEVELS), ("row", LEVELS)):
        for epsilon in levels:
            network = PrivateCDBNClassifier(
                epsilon, noise_per="row" if how == "none" else how, **settings
            )
            network.fit(rows[~test], y[~test])
            found = network.score(rows[test], y[test]), network.guarantee_.epsilon
            table[how, epsilon] = found
    return table


def show(title, table, y, axes):
    """Print and draw one table."""
    print(f"{title}; always the commonest: {np.bincount(y).max() / len(y):.1%}")
    print(f"  no noise: {table['none', np.inf][0]:.1%}")
    print("       ε   noise per batch   noise per row   ε of one row")
    for epsilon in LEVELS:
        (batch, _), (row, spent) = table["batch", epsilon], table["row", epsilon]
        print(f"{epsilon:8g} {batch:17.1%} {row:15.1%} {spent:14.3g}")
    for how in ("batch", "row"):
        axes.semilogx(LEVELS, [table[how, e][0] for e in LEVELS], "o-", label=f"noise per {how}")
    axes.axhline(table["none", np.inf][0], color="gray", label="no noise")
    axes.set(title=title, xlabel="ε of the paper", ylabel="accuracy")
    axes.legend()


def main():
    """Run on the cohort, and on human activities where they are at hand."""
    tasks = {"more exercise next week": make_cohort(0)}
    spectra = load_spectra()
    if spectra is not None:
        tasks["activity from spectra"] = spectra
    figure, axes = plt.subplots(1, len(tasks), figsize=(5 * len(tasks), 4), squeeze=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # the table says what they say
        for (title, task), ax in zip(tasks.items(), axes[0], strict=True):
            show(title, accuracies(*task), task[1], ax)
    figure.tight_layout()
    figure.savefig("behaviour_cdbn.png")
    print("A person has many windows: what is spent on one of them counts for each.")


try:
    import torch
except ImportError:
    print("This example needs PyTorch: pip install 'skdp[neural]'.")
else:
    torch.set_num_threads(1)
    main()
