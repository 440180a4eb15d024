"""What noise for an element costs six models, and what protects a record at the same ε.

Three data sets within public bounds; two thirds of the rows are perturbed, the others test. A
"record" is a whole one with its label at δ = 1e-5: Gaussian noise on the row and randomized
response on the label with half of ε each, or a release of noisy sums, alone or with 30 labels at
the target.
"""

import functools

import _bench
import numpy as np
from _bench import cell_of
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skdp import (
    DPStatisticsSource,
    DPTransferClassifier,
    GaussianDPNoise,
    OptimalDPNoise,
    RandomizedResponse,
)

MODELS = {
    "LogisticRegression": lambda: LogisticRegression(max_iter=1000),
    "SVC": SVC,
    "KNeighborsClassifier": KNeighborsClassifier,
    "RandomForestClassifier": lambda: RandomForestClassifier(random_state=0),
    "HistGradientBoostingClassifier": lambda: HistGradientBoostingClassifier(random_state=0),
    "GaussianNB": GaussianNB,
}
LEVELS = ("element 1", "element 4", "element 16", "element 64", "element inf")
RECORD_LEVELS = ("record 1", "record 4", "record 16")
NOISES = {"optimal": OptimalDPNoise, "Gaussian": GaussianDPNoise}


@functools.cache
def rows(case):
    """Return rows in bounds of 0 and 1, which stand for public ones, and labels."""
    if case == "simulated":
        X, y = make_classification(5000, 10, n_informative=6, n_classes=3, random_state=0)
    else:
        X, y = {"digits": load_digits, "breast cancer": load_breast_cancer}[case](return_X_y=True)
    return (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-9), y


def perturbed(X, y, level, variant):
    """Return training rows and labels with the noise of a level."""
    unit, epsilon = level.split()
    epsilon = float(epsilon)
    if epsilon == np.inf:
        return X, y
    settings = {"bounds": (0, 1), "privacy_unit": unit}
    if unit == "record":
        y = RandomizedResponse(epsilon / 2, classes=np.unique(y)).fit_transform(y)
        epsilon /= 2
    return NOISES[variant](epsilon, **settings).fit_transform(X), y


def measure(cells):
    """Return the cells with their accuracy, from noise drawn anew for each cell."""
    for cell in cells:
        X, y = rows(cell["case"])
        split = train_test_split(X, y, test_size=1 / 3, random_state=cell["draw"], stratify=y)
        X, X_test, y, y_test = split
        if cell["model"] in MODELS:
            model = make_pipeline(StandardScaler(), MODELS[cell["model"]]())
            model.fit(*perturbed(X, y, cell["level"], cell["variant"]))
        else:
            epsilon = float(cell["level"].split()[1])
            source = DPStatisticsSource(epsilon, bounds=(0, 1), classes=np.unique(y).tolist())
            model = source.fit(X, y).release_
            if cell["model"] == "DPTransferClassifier":
                few = np.random.RandomState(cell["draw"]).permutation(len(y_test))[:30]
                labels = np.where(np.isin(np.arange(len(y_test)), few), y_test, -1)
                model = DPTransferClassifier(model, random_state=0).fit(X_test, labels)
                X_test, y_test = X_test[labels < 0], y_test[labels < 0]
        cell["accuracy"] = 100 * model.score(X_test, y_test)
    return cells


def groups(draws):
    names = {"element": MODELS, "record": [*MODELS, "DPStatisticsSource", "DPTransferClassifier"]}
    for case in ("digits", "breast cancer", "simulated"):
        for level in (*LEVELS, *RECORD_LEVELS):
            for model in names[level.split()[0]]:
                variants = ["Gaussian"] if "record" in level else NOISES
                for variant in variants if model in MODELS else ["sums"]:
                    for draw in range(draws):
                        yield [cell_of(case, level, model, variant, draw, None)]


def noise_models(options):
    _bench.fill("noise_models", groups(options.draws or 3), measure, again=options.again)


if __name__ == "__main__":
    _bench.main(__doc__, noise_models=noise_models)
