"""
Who will exercise more? What noise costs a belief network
=========================================================

Phan, Wu and Dou (2017, section 4.1) predict from the past weeks of a person, and from those of
his or her friends, whether the person will exercise more next week. A row is a window: a matrix of
attributes × weeks, which a private convolutional belief network reads as an image. Their health
network is not public; the cohort below is synthetic, with people whose activity follows their own
past and their friends'.

How accurate is the network if its noise protects a batch, as in the paper, or one row? The first
does not protect a single row: its ε is about sums over a batch.

All results take half a minute, and PyTorch (``pip install 'skdp[neural]'``); the figure is drawn
from stored ones, which ``python plot_behavior_cdbn.py --compute`` makes and prints.
"""

import argparse
import warnings
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skdp import PrivacyLeakWarning

parser = argparse.ArgumentParser(description="A private belief network.")
parser.add_argument("--compute", action="store_true", help="do not use the stored results")
parser.add_argument("--draws", type=int, default=3, help="networks for each ε")
levels = [0.5, 2, 8, 32]
parser.add_argument("--epsilons", type=float, nargs="+", default=levels, help="to compute")
options = parser.parse_args()
N_PERSONS, N_WEEKS, WINDOW = 250, 60, 8

# %%
# The cohort: activity that follows a person's own level, last week, and the friends' last week;
# goals reached and messages received depend on it. One person in five is for testing.


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


windows, y, persons = make_cohort(0)
rows, test = windows.reshape(len(windows), -1), persons % 5 == 0
linear = GridSearchCV(LogisticRegression(max_iter=1000), {"C": np.logspace(-2, 3, 6)}, cv=3)
linear.fit(rows[~test], y[~test])
baseline = linear.score(rows[test], y[test])
print(f"always the more frequent answer: {max(y[test].mean(), 1 - y[test].mean()):.1%}")
print(f"logistic regression, not private: {baseline:.1%}")

# %%
# The network has the paper's ten filters, in one layer: windows of eight weeks are too short for
# its second one. In the paper, current attributes and the influence of friends enter as dynamic
# biases (equations (25) and (26)), which are linear in both. Here they are the last column and
# the last row of the window, over which the filters pass: the same inputs, with weights that are
# shared.


def network(how, epsilon):
    """Return the accuracy of one network, and the ε that it guarantees for one row."""
    from skdp.neural import PrivateCDBNClassifier

    model = PrivateCDBNClassifier(
        epsilon,
        noise_per=how,
        image_shape=windows.shape[1:],
        hidden_layer_sizes=(10, 25),
        kernel_size=3,
        batch_size=1000,
        n_epochs=25,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # the table says what they say
        model.fit(rows[~test], y[~test])
    return model.score(rows[test], y[test]), model.guarantee_.epsilon


# %%
# Mean and standard deviation of the accuracy of three networks, in %, and the ε of one row.

STORED = """
row inf 68.5 0.4 inf
batch 0.5 68.2 0.9 inf
batch 2 69.2 0.2 inf
batch 8 68.6 0.4 inf
batch 32 68.3 0.1 inf
row 0.5 56.1 0.4 52.32
row 2 62.6 0.3 209.3
row 8 67.0 0.1 837.2
row 32 67.8 0.2 3349
"""

if options.compute and not find_spec("torch"):
    raise SystemExit("This needs PyTorch: pip install 'skdp[neural]'.")
table: dict = {}
if options.compute:
    settings = [("row", np.inf)] + [(how, e) for how in ("batch", "row") for e in options.epsilons]
    for how, epsilon in settings:
        found = np.array([network(how, epsilon) for _ in range(options.draws)])
        accuracies = 100 * found[:, 0]
        table[how, epsilon] = accuracies.mean(), accuracies.std(), found[0, 1]
else:
    for line in STORED.strip().splitlines():
        how, epsilon, *values = line.split()
        table[how, float(epsilon)] = tuple(float(value) for value in values)
print("noise per  ε of the paper  accuracy, %    std  ε of one row")
for (how, epsilon), (mean, deviation, spent) in table.items():
    print(f"{how:<9} {epsilon:15g} {mean:12.1f} {deviation:6.1f} {spent:13.4g}")

shown = options.epsilons if options.compute else levels

# %%
# The parameter ε is not what a row has: with noise for each batch a row has no guarantee at all,
# and with noise for each row its ε is about 100 times the parameter, over all steps of the
# training. A person has many windows besides: what is spent on one of them counts for each.

figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
axes.axhline(100 * baseline, color="0.3", linestyle="--", label="logistic regression, not private")
axes.axhline(table["row", np.inf][0], color="0.3", linestyle=":", label="network, not private")
for how, color, marker in (("batch", "#D55E00", "s"), ("row", "#0072B2", "o")):  # Okabe and Ito
    mean, deviation, _ = np.transpose([table[how, epsilon] for epsilon in shown])
    label = f"network, noise per {how}"
    axes.errorbar(shown, mean, deviation, color=color, marker=marker, capsize=4, label=label)
axes.set_xscale("log", base=2)
axes.set_xticks(shown, [f"{epsilon:g}" for epsilon in shown])
axes.set(xlabel="ε, the parameter of the paper (log scale)", ylabel="accuracy on other people, %")
axes.legend(loc="lower right")
figure.set_label(
    "Accuracy over ε. With noise per batch, which protects no row, the network is as accurate as "
    "without noise; with noise per row accuracy rises with ε."
)
plt.show()
