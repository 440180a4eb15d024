"""
Participants who exchange files, not data
=========================================

Thirty people carry a phone that recognises what they do. Nobody hands out recordings.
Instead each participant runs the short program below *in a process of its own*, on its own
rows, and writes one file with a private local model. A coordinator, who sees nothing but
those files, merges them into one classifier of fuzzy rules.

The example runs on human-activity data where they are at hand (the environment variable
``SKDP_DATA`` names a folder with ``uci_har_features_derived.npz``), and otherwise on the
digits that scikit-learn ships, dealt to six participants. It prints a table and writes the
picture ``participants.png``.

ε is *per feature value*, with features scaled to [0, 1] and a sensitivity of 1; labels are
not protected. The participants' rows are disjoint, so nothing adds up between them.
"""

# %%
# What every participant runs, with a folder of its own as the only argument. The rows are
# read, perturbed, learned from; only the model files are for others.

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skdp import DeepFuzzyClassifier
from skdp.datasets import load_human_activity

PROGRAM = """
import sys
from pathlib import Path

import numpy as np

from skdp import DeepFuzzyClassifier, OptimalDPNoise

folder = Path(sys.argv[1])
with np.load(folder / "rows.npz") as rows:
    X, y, me = rows["X"], rows["y"], rows["me"]
for level in sys.argv[2:]:
    noise = None if level == "none" else OptimalDPNoise(epsilon=float(level))
    model = DeepFuzzyClassifier(noise=noise, random_state=0)
    model.fit(X, y, groups=np.full(len(y), me)).save(folder / f"{level}.model")
"""
LEVELS = ["1", "10", "none"]

# %%
# The data, and who holds which rows. Five people, or one in seven digits, are left out; their
# rows are the queries, and they publish the bounds by which everybody scales and clips, so that
# no private row decides what a sensitivity of 1 means.


def load():
    folder = os.environ.get("SKDP_DATA")
    if folder and (Path(folder) / "uci_har_features_derived.npz").is_file():
        activity = load_human_activity()
        held_out = np.isin(activity.groups, [2, 9, 16, 23, 30])
        low, high = np.percentile(activity.data[held_out], [1, 99], axis=0)
        X = np.clip((activity.data - low) / (high - low), 0, 1).astype(np.float32)
        return "human activity", "people", X, activity.target, activity.groups, held_out
    X, y = load_digits(return_X_y=True)
    groups = np.arange(len(X)) * 7 // len(X)
    return "digits", "digits", X / 16, y, groups, groups == 6


title, left_out, X, y, groups, held_out = load()
names = np.unique(groups[~held_out])
print(f"{title}: {len(names)} participants, {held_out.sum()} queries of others")

# %%
# Each participant in its own process; the coordinator reads the model files and nothing else.
# The five strongest rules score each class, since a single participant that errs would decide
# alone.

with tempfile.TemporaryDirectory() as root:
    for name in names:
        folder = Path(root, str(name))
        folder.mkdir()
        mine = groups == name
        np.savez(folder / "rows.npz", X=X[mine], y=y[mine], me=f"person {name}")

    def participate(name):
        command = [sys.executable, "-c", PROGRAM, str(Path(root, str(name))), *LEVELS]
        subprocess.run(command, check=True)

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(participate, names))
    for name in names:
        Path(root, str(name), "rows.npz").unlink()  # the coordinator could not read them

    local = {
        level: [
            DeepFuzzyClassifier.load(Path(root, str(name), f"{level}.model")) for name in names
        ]
        for level in LEVELS
    }
merged = {
    level: DeepFuzzyClassifier.merge(models).set_params(n_voters=5)
    for level, models in local.items()
}

# %%
# The merged classifier against the participants alone, on rows that none has seen.

queries, answers = X[held_out], y[held_out]
alone = {level: [m.score(queries, answers) for m in models] for level, models in local.items()}
together = {level: model.score(queries, answers) for level, model in merged.items()}

print(f"\n{'epsilon':>8}{'merged':>10}{'best alone':>12}{'mean alone':>12}")
for level in LEVELS:
    print(
        f"{level:>8}{together[level]:>10.1%}{max(alone[level]):>12.1%}"
        f"{np.mean(alone[level]):>12.1%}"
    )

print(f"\nWhat holds for every participant at epsilon = 10:\n{merged['10'].guarantee_}")
print("\nWhy the first query got its label:")
for fired in merged["10"].explain(queries[0], n_rules=3).rules:
    print(" ", fired)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.boxplot([alone[level] for level in LEVELS], widths=0.3)
axes.plot(range(1, len(LEVELS) + 1), list(together.values()), "D", label="merged from files")
axes.set_xticks(
    range(1, len(LEVELS) + 1),
    ["not private" if level == "none" else f"ε = {level}" for level in LEVELS],
)
axes.set_ylabel(f"accuracy on {left_out} left out")
axes.set_title(f"{title}: {len(names)} participants alone (boxes) and merged")
axes.legend()
figure.savefig("participants.png", dpi=120)
print("\nwrote participants.png")
