"""Office+Caltech with SURF features: 20 canonical trials of 12 pairs, beside open peers.

The means and deviations of the source are treated as public, as the papers do; an owner who must
protect these too has to scale by constants that are known without the data. "multitask" is run at
one epsilon: source and target have the same features, so that its rounds do not see the source at
all, and its last step hardly does. The peers are not private: they see the source rows as they
are.
"""

import warnings

import _bench
import numpy as np
import ot
from _fits import SIZES
from _plan import CASES
from _tasks import office_trial
from joblib import Parallel, delayed
from skada import CORALAdapter, SubspaceAlignmentAdapter
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from skdp import DPSource, DPTransferClassifier, SelfTrainingSchedule

N_TRIALS, EPSILONS, MULTITASK_EPSILON = 20, ("inf", "1", "0.1"), "1"
OPEN = "clear"  # the level of models that see the source rows as they are


def adapted(adapter, Xs, ys, Xt, n_labeled):
    """Source and labeled target rows, and target queries, as the adapter maps them."""
    domain = np.append(np.ones(len(Xs), int), np.full(len(Xt), -2))
    y = np.append(ys, np.full(len(Xt), -1))
    mapped = adapter.fit_transform(np.concatenate([Xs, Xt]), y, sample_domain=domain)
    return mapped[: len(Xs) + n_labeled], mapped[len(Xs) + n_labeled :]


def peers(Xs, ys, Xl, yl, Xq, yq):
    both, y_both = np.concatenate([Xs, Xl]), np.append(ys, yl)
    Xt = np.concatenate([Xl, Xq])
    transport = ot.da.SinkhornTransport(reg_e=1.0, norm="median").fit(Xs=Xs, ys=ys, Xt=Xt)
    moved = np.concatenate([transport.transform(Xs=Xs), Xl])
    sets = {
        ("SVM-t", "-"): (LinearSVC(), Xl, yl, Xq),
        ("SVM both", OPEN): (LinearSVC(), both, y_both, Xq),
        ("1-NN", "-"): (KNeighborsClassifier(1), Xl, yl, Xq),
        ("Sinkhorn + SVM", OPEN): (LinearSVC(), moved, y_both, Xq),
    }
    for name, adapter in (
        ("CORAL + SVM", CORALAdapter()),
        ("subspace alignment + SVM", SubspaceAlignmentAdapter(n_components=20)),
    ):
        train, queries = adapted(adapter, Xs, ys, Xt, len(Xl))
        sets[name, OPEN] = (LinearSVC(), train, y_both, queries)
    return {name: model.fit(X, y).score(Q, yq) for name, (model, X, y, Q) in sets.items()}


def trial(pair, k):
    """Accuracy of each model at each level, in one canonical trial."""
    warnings.simplefilter("ignore")
    (Xs, ys), (Xl, yl), (Xq, yq) = office_trial(*pair.split(" to "), k)
    X, marked = np.concatenate([Xl, Xq]), np.append(yl, np.full(len(Xq), -1))
    scores = peers(Xs, ys, Xl, yl, Xq, yq)

    def model(source, strategy):
        schedule = SelfTrainingSchedule(SIZES[strategy])
        settings = {"self_training": schedule, "random_state": k}
        return DPTransferClassifier(source, strategy=strategy, **settings).fit(X, marked)

    scores["alignment", "-"] = model(None, "alignment").score(Xq, yq)
    for epsilon in EPSILONS:
        source = DPSource(float(epsilon), 1e-5, 1.0, parts="papers", random_state=k)
        source = source.fit(Xs, ys).release_
        scores["source alone", epsilon] = source.score(Xq, yq)
        for strategy in ("alignment", "multitask"):
            if strategy == "multitask" and epsilon != MULTITASK_EPSILON:
                continue
            scores[strategy, epsilon] = model(source, strategy).score(Xq, yq)
    return scores


def measure(cells):
    """Return rows of a pair of domains, means over trials."""
    pair = cells[0]["case"]
    scores = Parallel(n_jobs=-1)(delayed(trial)(pair, k) for k in range(N_TRIALS))
    rows = []
    for model, level in scores[0]:
        values = 100 * np.array([score[model, level] for score in scores])
        row = {"case": pair, "level": level, "model": model, "accuracy": values.mean()}
        rows.append({**row, "spread": values.std(), "trials": N_TRIALS})
    return rows


if __name__ == "__main__":
    options = _bench.options_of(__doc__, redo=False)
    # Of each pair the row that is made last.
    groups = [[{"case": p, "level": EPSILONS[-1], "model": "alignment"}] for p in CASES["office"]]
    _bench.complete("office", groups, measure, options.redo)
