"""Membership inference on models that overfit, on real data.

Tables 3.1 and 3.2 of SERUMS D3.3 (2022).

    python benchmarks/bench_attacks.py [--draws 3] [--n-shadows 20]

Office+Caltech, domain "caltech": 1,123 rows of 800 visual words, 10 classes, counts
divided by 255, the most that a byte holds, so that a sensitivity of 1 covers any change of a
word. A third of the rows are
members, a third are others, and a third are the attacker's own. A fully grown tree and
1-nearest-neighbour are the positive control.
"""

import warnings

import _bench
import numpy as np
from _tasks import office_file
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skdp import DeepFuzzyClassifier, OptimalDPNoise
from skdp.privacy.audit import audit_membership

ATTACKS = ("correctness", "loss", "confidence", "entropy", "shadow", "shadow_per_class")
options = _bench.options_of(
    __doc__,
    draws=3,
    n_shadows=20,
    epsilons="inf,1000,100,10,5,1,0.1",
    deltas="0.0001",
    models="tree,1-NN,fuzzy",
    likelihood_ratio=1,
)
warnings.simplefilter("ignore")
attacks = ATTACKS + ("likelihood_ratio",) * options.likelihood_ratio
models = {
    "tree": DecisionTreeClassifier(random_state=0),
    "1-NN": KNeighborsClassifier(1),
    "fuzzy": DeepFuzzyClassifier(n_components=5, random_state=0),
}
with np.load(office_file("office_caltech_surf.npz")) as arrays:
    X, y = arrays["X_caltech"].astype(np.float64), arrays["y_caltech"]
X /= 255

rows = []
for draw in range(options.draws):
    order = np.random.RandomState(draw).permutation(len(y))
    members, others, own = ((X[part], y[part]) for part in np.array_split(order, 3))
    for name in options.models.split(","):
        for epsilon in map(float, options.epsilons.split(",")):
            for delta in map(float, options.deltas.split(",")):
                model = make_pipeline(OptimalDPNoise(epsilon, delta, perturb="fit"), models[name])
                model.fit(*members)
                report = audit_membership(
                    model,
                    members,
                    others,
                    attacks=attacks,
                    shadow_data=own,
                    n_shadows=options.n_shadows,
                    n_jobs=2,
                    random_state=0,
                )
                frame = report.to_frame()
                for row in frame[frame["class"] == "all"].to_dict("records"):
                    rows.append(
                        {
                            "draw": draw,
                            "model": name,
                            "epsilon": str(epsilon),
                            "delta": delta,
                            "record_epsilon": report.guarantee.epsilon,
                            "train_accuracy": model.score(*members),
                            "test_accuracy": model.score(*others),
                            **row,
                        }
                    )
                print(report, model.score(*members), model.score(*others), flush=True)
                _bench.save("attacks", vars(options), rows)
