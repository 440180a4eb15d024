"""Membership inference on models that overfit: Figs. 3.1 and 3.2 of SERUMS D3.3 (2022).

Office+Caltech, domain "caltech": counts divided by 255, the most that a byte holds, so that a
sensitivity of 1 covers any change of a word. A third of the rows are members, a third are others,
and a third are the attacker's own. A fully grown tree and 1-nearest-neighbor are the positive
control.
"""

from itertools import product

import _bench
import numpy as np
from _tasks import data_file
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skdp import DeepFuzzyClassifier, OptimalDPNoise
from skdp.privacy.audit import audit_membership

ATTACKS = (
    *("correctness", "loss", "confidence", "entropy", "shadow", "shadow_per_class"),
    "likelihood_ratio",
)
EPSILONS, DELTA = (np.inf, 1000.0, 100.0, 10.0, 5.0, 1.0, 0.1), 1e-4
MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "1-NN": KNeighborsClassifier(1),
    "fuzzy": DeepFuzzyClassifier(n_components=5, error_scale="shared", random_state=0),
}


def rows(options):
    with np.load(data_file("office_caltech_surf.npz")) as arrays:
        X, y = arrays["X_caltech"].astype(np.float64) / 255, arrays["y_caltech"]
    for draw in range(options.draws):
        order = np.random.RandomState(draw).permutation(len(y))
        parts = [(X[part], y[part]) for part in np.array_split(order, 3)]
        for name, epsilon in product(MODELS, EPSILONS):
            cell = {"draw": draw, "model": name, "epsilon": str(epsilon), "delta": DELTA}
            for row in attacked(name, epsilon, *parts, options.n_shadows):
                yield cell | row


def attacked(name, epsilon, members, others, own, n_shadows):
    """Yield a row for each attack on one model."""
    noise = OptimalDPNoise(epsilon, DELTA, sensitivity=1.0, perturb="fit")
    model = make_pipeline(noise, MODELS[name]).fit(*members)
    settings = {"attacks": ATTACKS, "shadow_data": own, "n_shadows": n_shadows}
    report = audit_membership(model, members, others, **settings, n_jobs=2, random_state=0)
    frame = report.to_frame()
    for row in frame[frame["class"] == "all"].to_dict("records"):
        scores = {"train_accuracy": model.score(*members), "test_accuracy": model.score(*others)}
        yield {"record_epsilon": report.guarantee.epsilon, **scores, **row}


if __name__ == "__main__":
    _bench.run("attacks", rows, __doc__, draws=3, n_shadows=20)
