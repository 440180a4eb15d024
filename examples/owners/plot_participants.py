"""
How do participants learn together from files, not data?
========================================================

Six participants have digits that they may not show. Each runs the short program below *in a
process of its own*, on its own rows, and writes one file with a private local model. A
coordinator, who sees nothing but those files, merges them into one classifier of fuzzy rules.
How much more accurate is it than a participant alone?

ε is *per pixel*, with pixels in [0, 1] and a sensitivity of 1; labels are not protected. The
participants' rows are disjoint, so nothing adds up between them.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from skdp import DeepFuzzyClassifier

parser = argparse.ArgumentParser()
parser.add_argument("--draws", type=int, default=3, help="models of each ε at each participant")
levels = ["1", "3", "10", "inf"]
parser.add_argument("--epsilons", nargs="+", default=levels, help="privacy levels, with 10")
options = parser.parse_args()

# %%
# What every participant runs, with a folder of its own as the first argument. The rows are read,
# perturbed, learned from; only the model files are for others. The program makes several models of
# each privacy level, to show how much the noise varies; a real participant makes one.

PROGRAM = """
import sys
from pathlib import Path

import numpy as np

from skdp import DeepFuzzyClassifier, OptimalDPNoise

folder = Path(sys.argv[1])
with np.load(folder / "rows.npz") as rows:
    X, y, me = rows["X"], rows["y"], rows["me"]
for level in sys.argv[3:]:
    for copy in range(int(sys.argv[2])):
        noise = None if level == "inf" else OptimalDPNoise(float(level), bounds=(0, 1))
        model = DeepFuzzyClassifier(noise=noise, random_state=0)
        model.fit(X, y, groups=np.full(len(y), me)).save(folder / f"{level}_{copy}.model")
"""
LEVELS = options.epsilons

# %%
# Who holds which rows: six participants have a seventh of the digits each, and the last seventh
# are the queries.

X, y = load_digits(return_X_y=True)
X, owner = X / 16, np.arange(len(X)) * 7 // len(X)
queries, answers = X[owner == 6], y[owner == 6]
root = Path(mkdtemp())
for name in range(6):
    folder = root / str(name)
    folder.mkdir()
    np.savez(folder / "rows.npz", X=X[owner == name], y=y[owner == name], me=f"participant {name}")
    program = [sys.executable, "-c", PROGRAM, str(folder), str(options.draws), *LEVELS]
    subprocess.run(program, check=True)
    (folder / "rows.npz").unlink()  # the coordinator could not read them

# %%
# The coordinator reads the model files and nothing else. The five strongest rules score each
# class, since otherwise a single participant that errs would decide alone.

alone: dict = {}
together: dict = {}
for level in LEVELS:
    for copy in range(options.draws):
        files = [root / str(name) / f"{level}_{copy}.model" for name in range(6)]
        models = [DeepFuzzyClassifier.load(file) for file in files]
        merged = DeepFuzzyClassifier.merge(models).set_params(n_voters=5)
        alone.setdefault(level, []).append([model.score(queries, answers) for model in models])
        together.setdefault(level, []).append(merged.score(queries, answers))
    if level == "10":
        explained = merged

# %%
# The baseline is what nobody may compute here: support vectors of all rows in one place, tuned.

tuned = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": ["scale", 0.03, 0.3]})
pooled = tuned.fit(X[owner < 6], y[owner < 6]).score(queries, answers)
print(f"all rows in one place, not private: {pooled:.1%}")
print(f"\n{'epsilon':>8}{'merged':>16}{'alone':>16}")
for level in LEVELS:
    cells = (
        f"{np.mean(found[level]):.1%} ± {np.std(found[level]):.1%}" for found in (together, alone)
    )
    print(f"{level:>8}" + "".join(f"{cell:>16}" for cell in cells))
print(f"\nWhat holds for every participant at epsilon = 10:\n{explained.guarantee_}")
print("\nWhy the first query got its label:")
for fired in explained.explain(queries[0], n_rules=3).rules:
    print(" ", fired)

figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
positions = np.arange(len(LEVELS))
axes.axhline(100 * pooled, color="0.3", linestyle="--", label="all rows in one place, not private")
for shift, (label, found, color, marker) in enumerate(
    (
        ("merged from six files", together, "#0072B2", "o"),  # colors of Okabe and Ito
        ("a participant alone", alone, "#D55E00", "s"),
    )
):
    values = [100 * np.ravel(found[level]) for level in LEVELS]
    axes.errorbar(
        *(positions + 0.1 * shift - 0.05, np.mean(values, axis=1), np.std(values, axis=1)),
        **{"color": color, "marker": marker, "capsize": 4, "label": label},
    )
axes.set_xticks(positions, ["∞" if level == "inf" else level for level in LEVELS])
axes.set(xlabel="ε of one pixel (log scale; ∞ is no noise)", ylabel="accuracy on queries, %")
axes.set(ylim=(0, 103), title="Mean and std over noises and participants")
axes.legend(loc="lower right")
figure.set_label(
    "Accuracy over ε: the classifier merged from six files is above a participant alone at "
    "every ε and below support vectors of all rows, which are not private."
)
plt.show()
