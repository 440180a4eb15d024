"""
Two organisations with records that neither may show
====================================================

One organisation has 20,000 records of people, and knows the outcome of each. Another has 2,000
records of other people, and knows the outcome of few or of none. The records are as organisations
hold them: numbers, categories, missing values. The first may not show them; it makes a *release*
of them, a file, and the second learns from that file and from its own records. How well does it
predict, beside what either side has alone?

There are two kinds of release. :class:`~skdp.DPStatisticsSource` perturbs sums over all records,
:class:`~skdp.DPSource` perturbs each row. Here the ε of both is **for a whole record**; of rows it
covers the columns, of statistics the outcome too, and whether somebody is in the data at all.

The table is UCI Adult (Becker and Kohavi, 1996; CC BY 4.0): who earns more than 50,000 dollars a
year? The example prints a table and writes the picture ``two_organisations.png``. It takes half a
minute on one core; ``--rows 4000 --target 300 --draws 1`` makes it short.
"""

# %%
# What is public: the schema, that is the bounds or categories of each column, and the classes. It
# was written down from the documents of the data, without a look at the rows.

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from skdp import (
    DPSource,
    DPStatisticsSource,
    DPTransferClassifier,
    GaussianDPNoise,
    PrivacyLeakWarning,
    TabularEncoder,
)
from skdp.datasets import load_adult

parser = argparse.ArgumentParser(description="Two organisations.")
parser.add_argument("--rows", type=int, default=20_000, help="records of the source")
parser.add_argument("--target", type=int, default=2_000, help="records of the target")
parser.add_argument("--draws", type=int, default=3, help="divisions of the records")
options = parser.parse_args()

schema = load_adult().schema
for name in ("age", "capital-gain", "sex"):
    print(f"{name}: {schema['columns'][name]}")

# %%
# Each draw divides the records anew.

epsilons = (0.5, 1.0, 4.0, np.inf)
label_counts = (0, 20, 100)
kinds = ("statistics", "rows")
encoder = TabularEncoder(schema)


def organisations(draw):
    """Return records and outcomes: the source's, the target's, and those to be predicted."""
    adult = load_adult(random_state=draw)
    source, asked = adult.source[: options.rows], adult.test[: options.rows // 2]
    rows = source, adult.learning[: options.target], asked
    return [(adult.data.iloc[part], adult.target[part]) for part in rows]


# %%
# The source's side. ε = ∞ is the baseline without privacy, about which skdp warns. The noise has
# no seed, so figures change a little from run to run.

warnings.simplefilter("ignore", PrivacyLeakWarning)


def release_of(kind, epsilon, X, y):
    """Return a release; the only thing that leaves the source."""
    if kind == "statistics":
        return DPStatisticsSource(epsilon, encoder=schema).fit(X, y).release_
    noise = GaussianDPNoise(epsilon, privacy_unit="record")
    return DPSource(noise=noise, encoder=schema).fit(X, y).release_


# %%
# The target's side: what its labels alone give, what the release alone gives, and both together.
# Unlabelled rows are marked by None.


def worth(probabilities, y):
    """Area under the ROC curve, accuracy and log loss of probabilities of the larger income."""
    y = y == ">50K"
    p = np.clip(probabilities[:, 1], 1e-12, 1 - 1e-12)
    return roc_auc_score(y, p), accuracy_score(y, p > 0.5), log_loss(y, p)


def target_alone(n_labels, target, test):
    """Logistic regression of the labelled rows."""
    (X, y), (X_test, y_test) = target, test
    rows, asked = encoder.fit_transform(X.iloc[:n_labels]), encoder.fit_transform(X_test)
    model = LogisticRegression(max_iter=1000).fit(rows, y[:n_labels])
    return worth(model.predict_proba(asked), y_test)


def transfer(release, n_labels, target, test):
    """Learn from a release, some labels, and all rows of the target."""
    (X, y), (X_test, y_test) = target, test
    if n_labels is None:
        return worth(release.predict_proba(X_test), y_test)
    known = y.astype(object)
    known[n_labels:] = None
    model = DPTransferClassifier(release, random_state=0).fit(X, known)
    return worth(model.predict_proba(X_test), y_test)


# Releases of noisy rows at small ε say nothing: labels tell, as the table does.
warnings.filterwarnings("ignore", message="The labelled rows favour what the target learned alone")
found = {}  # by who learns, number of labels and ε: a list over draws
releases = {}
for draw in range(options.draws):
    source, target, test = organisations(draw)
    for n_labels in label_counts[1:]:
        alone = target_alone(n_labels, target, test)
        for epsilon in epsilons:
            found.setdefault(("target alone", n_labels, epsilon), []).append(alone)
    for kind in kinds:
        for epsilon in epsilons:
            release = releases[kind, epsilon] = release_of(kind, epsilon, *source)
            for n_labels in (None, *label_counts):
                name = "source alone" if n_labels is None else "transfer"
                key = (f"{name}, {kind}", n_labels, epsilon)
                found.setdefault(key, []).append(transfer(release, n_labels, target, test))

results = {key: np.mean(values, axis=0) for key, values in found.items()}
lines = list(dict.fromkeys(key[:2] for key in results))
ticks = ["∞" if np.isinf(epsilon) else f"{epsilon:g}" for epsilon in epsilons]
for measure, title in enumerate(("AUC", "accuracy", "log loss")):
    heading = f"\n{title:<22}{'labels':>8}"
    print(heading + "".join(f"{'ε = ' + tick:>9}" for tick in ticks))
    for name, n_labels in lines:
        values = "".join(f"{results[name, n_labels, e][measure]:>9.3f}" for e in epsilons)
        print(f"{name:<22}{'' if n_labels is None else n_labels:>8}{values}")
print(f"\nA release at ε = 1:\n{releases['statistics', 1.0].summary()}")

# %%
# What to see: statistics of 20,000 records lose little down to ε = 0.5, and a hundred labels of
# the target's own do not reach them; nor do they take anything away. Noisy rows that are to
# protect a whole record are hardly of use by themselves: they suit single values, at an ε that is
# for one value. What the transfer then reaches is due to the target's labels, of which a hundred
# are enough.

styles = {"target alone": "k:", "statistics": "C0o", "rows": "C1s"}
figure = plt.figure(figsize=(10, 6.5), layout="constrained")
panels = figure.subplots(2, 3, sharex=True, sharey="row")
for axes, n_labels in zip(panels.T, label_counts, strict=True):
    for panel, measure in zip(axes, (0, 2), strict=True):
        for name, n_own in lines:
            if n_own in (None, n_labels):
                values = [results[name, n_own, epsilon][measure] for epsilon in epsilons]
                style = styles[name.rpartition(", ")[2]]
                line = {"source": "--", "transf": "-"}.get(name[:6], "")
                panel.plot(values, style + line, label=name, markersize=4)
    axes[0].set_title(f"{n_labels} labels at the target")
    axes[1].set_xticks(range(len(epsilons)), ticks)
    axes[1].set_xlabel("ε for a record; further left is more private")
panels[0, 0].set_ylabel("AUC on other records")
panels[1, 0].set_ylabel("log loss")
panels[1, 0].set_ylim(0.3, 1.0)
handles, names = panels[0, 1].get_legend_handles_labels()
figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize="small")
figure.savefig("two_organisations.png", dpi=120)
print("\nwrote two_organisations.png")
