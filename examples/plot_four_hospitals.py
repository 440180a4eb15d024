"""
How accurate is learning from three hospitals' releases at a fourth?
====================================================================

Four hospitals examine patients for coronary heart disease. Of those in Cleveland 46 % are ill, in
Budapest 36 %, in Zurich and Basel 93 %, in Long Beach 74 %, and some examinations are done at some
of the hospitals only. None may show its records. Three of them publish *releases*, files of noisy
sums that protect each patient's record with its diagnosis at ε = 4; the fourth knows the diagnoses
of few of its own patients, or of none. How good are its probabilities for the others?

The data are real (Janosi, Steinbrunn, Pfisterer and Detrano, 1989; CC BY 4.0), see
:func:`~skdp.datasets.load_heart_disease`. Each hospital has its turn as the fourth. The example
prints a table and writes the figure ``four_hospitals.png``, in 20 seconds on one core;
``--draws 1`` makes it shorter.
"""

# %%
# What is public: the schema, that is the bounds or categories of each column, and the classes. It
# was written down from the code book.

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV

from skdp import DPStatisticsSource, DPTransferClassifier, TabularEncoder
from skdp.datasets import load_heart_disease

parser = argparse.ArgumentParser(description="Four hospitals.")
parser.add_argument("--draws", type=int, default=3, help="divisions of the patients, and noises")
label_counts = [0, 10, 30, 60]
parser.add_argument("--labels", type=int, nargs="+", default=label_counts, help="diagnoses")
options = parser.parse_args()

heart = load_heart_disease()
X, y = heart.data, heart.target
for name in ("age", "chol", "thal"):
    print(f"{name}: {heart.schema['columns'][name]}")

# %%
# A source's side: the release is the only thing that leaves a hospital.


def release_of(hospital):
    """Return the release of one hospital, with noise of its own."""
    here = heart.hospital == hospital
    return DPStatisticsSource(epsilon=4.0, encoder=heart.schema).fit(X[here], y[here]).release_


# %%
# The target's side. It learns from half of its patients, in a random order; the first of them
# have a diagnosis. A random sample tells how diagnoses depend on the columns, and how frequent
# they are; ``label_sampling="random"`` says that it is one. The three releases have noisy sums
# of the same columns, which are added. Without any diagnosis the hospital may still know how
# many of its patients are ill: ``class_prior`` takes that.
#
# The baselines are the mean of the three releases' probabilities, and logistic regression on the
# fourth hospital's own diagnoses, its strength chosen by cross-validation.

label_counts = options.labels
encoder = TabularEncoder(heart.schema)


def transfer(releases, n_labels, rows, asked, class_prior=None):
    """Learn from releases, some labels, and all rows of the target."""
    known = y[rows].astype(float)
    known[n_labels:] = np.nan
    settings = {"label_sampling": "random", "class_prior": class_prior, "random_state": 0}
    model = DPTransferClassifier(releases, **settings)
    return model.fit(X.iloc[rows], known).predict_proba(X.iloc[asked])[:, 1]


def labels_alone(n_labels, rows, asked):
    """Logistic regression of the labeled rows; the frequency where a class has one or none."""
    shown = y[rows[:n_labels]]
    n_folds = min(5, *np.bincount(shown, minlength=2))
    if n_folds < 2:
        return np.full(len(asked), (shown.sum() + 0.5) / (n_labels + 1))
    grid = {"C": np.logspace(-3, 1, 5)}
    model = GridSearchCV(
        LogisticRegression(max_iter=1000), grid, cv=int(n_folds), scoring="neg_log_loss"
    )
    model.fit(encoder.fit_transform(X.iloc[rows[:n_labels]]), shown)
    return model.predict_proba(encoder.transform(X.iloc[asked]))[:, 1]


def measures(probabilities, asked):
    """Log loss and area under the ROC curve."""
    return log_loss(y[asked], probabilities), roc_auc_score(y[asked], probabilities)


# Cholesterol was not measured in Zurich and Basel, ca hardly anywhere but in Cleveland, and 123
# rows are few: warnings say so.
for message in (
    "The columns .* lie where the source has hardly any",
    "This release may separate the classes",
):
    warnings.filterwarnings("ignore", message=message)
found = {}  # by hospital, who learns and number of labels: a list over draws
for draw in range(options.draws):
    random_state = np.random.RandomState(draw)
    releases = {name: release_of(name) for name in heart.hospital_names}
    for target in heart.hospital_names:
        others = [releases[name] for name in heart.hospital_names if name != target]
        rows, asked = np.array_split(
            random_state.permutation(np.flatnonzero(heart.hospital == target)), 2
        )
        alone = np.mean([each.predict_proba(X.iloc[asked])[:, 1] for each in others], axis=0)
        ill = y[heart.hospital == target].mean()
        known_frequency = transfer(others, 0, rows, asked, class_prior=[1 - ill, ill])
        for n_labels in label_counts:
            probabilities = {
                "releases alone": alone,
                "transfer": transfer(others, n_labels, rows, asked),
            }
            if n_labels:
                probabilities["labels alone"] = labels_alone(n_labels, rows, asked)
            else:
                probabilities["frequency known"] = known_frequency
            for name, p in probabilities.items():
                found.setdefault((target, name, n_labels), []).append(measures(p, asked))

learners = ("releases alone", "labels alone", "transfer", "frequency known")
shares = {name: y[heart.hospital == name].mean() for name in heart.hospital_names}
for measure, title in enumerate(("log loss", "AUC")):
    print(f"\n{title:<40}" + "".join(f"{n:>15}" for n in label_counts) + "  labels")
    for target, share in shares.items():
        for learner in learners:
            values = (found.get((target, learner, n)) for n in label_counts)
            cells = (
                "" if v is None else f"{np.mean(v, 0)[measure]:.3f} ± {np.std(v, 0)[measure]:.3f}"
                for v in values
            )
            print(
                f"{target}, {share:.0%} ill: {learner}".ljust(40)
                + "".join(f"{cell:>15}" for cell in cells)
            )

# %%
# On the left, log loss: where fewer are ill than at the other hospitals, or more, their releases
# rank patients well, but their probabilities are too large, or too small. Knowing the frequency
# corrects that without a single diagnosis (the star). Otherwise labels do. On the right, the
# area under the ROC curve (AUC), which depends on the ranking alone: the releases are ahead of
# what ten labels can learn, and the transfer keeps that. Bars are the standard deviation over
# three divisions of the patients and as many noises.

styles = {
    "releases alone": {"color": "0.4", "linestyle": "--"},
    "labels alone": {"color": "#D55E00", "linestyle": ":", "marker": "s"},
    "transfer": {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    "frequency known": {"color": "#009E73", "linestyle": "", "marker": "*", "markersize": 10},
}  # colors of Okabe and Ito
figure = plt.figure(figsize=(6, 9.5), layout="constrained")
panels = figure.subplots(4, 2, sharex=True, sharey="col")
for axes, (target, share) in zip(panels, shares.items(), strict=True):
    for measure, panel in enumerate(axes):
        for shift, learner in enumerate(learners):
            counts = [n for n in label_counts if (target, learner, n) in found]
            values = np.array([found[target, learner, n] for n in counts])[..., measure]
            mean, deviation = values.mean(axis=1), values.std(axis=1)
            style = {"markersize": 5, "capsize": 3, "label": learner, **styles[learner]}
            panel.errorbar(np.array(counts) + shift - 1, mean, deviation, **style)
        panel.set_xticks(label_counts)
    axes[0].set_title(f"{target}: {share:.0%} ill", loc="left")
    axes[0].set_ylabel("log loss, nats")
    axes[1].set_ylabel("AUC")
for panel in panels[-1]:
    panel.set_xlabel("diagnoses at the fourth hospital")
handles, names = panels[0, 0].get_legend_handles_labels()
figure.legend(handles, names, loc="outside lower center", ncols=2)
figure.set_label(
    "Log loss and AUC over the number of diagnoses, for each of four hospitals: with ten "
    "diagnoses transfer has less loss than these alone at three of them, and a larger AUC at "
    "all four."
)
figure.savefig("four_hospitals.png", dpi=120)
print("\nwrote four_hospitals.png")
