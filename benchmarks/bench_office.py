"""Office+Caltech with SURF features: 12 pairs of domains, 20 canonical trials, baselines.

Preparation: rows divided by their sum, then z-scores within each domain. ``sensitivity=1``
is then one standard deviation of one visual word within the prepared matrix. The means and
deviations of the source are treated as public, as the papers do; an owner who must protect
these too has to scale by constants that are known without the data.

"multitask" is run at one epsilon: source and target have the same features, so that its rounds
do not see the source at all, and its last step hardly does.

The baselines are not private: they see the source rows as they are.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings
from itertools import permutations

import numpy as np
import ot
from _report import parse, save
from _transfer import office_trials
from joblib import Parallel, delayed
from skada import CORALAdapter, SubspaceAlignmentAdapter
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from skdp import DPSource, DPTransferClassifier

DOMAINS = ("amazon", "caltech", "dslr", "webcam")
args = parse(__doc__, trials=20, epsilons="inf,1,0.1", multitask_epsilon=1.0)
epsilons = [float(epsilon) for epsilon in args.epsilons.split(",")]


def adapted(adapter, Xs, ys, Xt, n_labelled):
    """Source and labelled target rows, and target queries, as the adapter maps them."""
    domain = np.append(np.ones(len(Xs), int), np.full(len(Xt), -2))
    y = np.append(ys, np.full(len(Xt), -1))
    mapped = adapter.fit_transform(np.concatenate([Xs, Xt]), y, sample_domain=domain)
    return mapped[: len(Xs) + n_labelled], mapped[len(Xs) + n_labelled :]


def baselines(Xs, ys, Xl, yl, Xq, yq):
    both, y_both = np.concatenate([Xs, Xl]), np.append(ys, yl)
    Xt = np.concatenate([Xl, Xq])
    transport = ot.da.SinkhornTransport(reg_e=1.0, norm="median").fit(Xs=Xs, ys=ys, Xt=Xt)
    moved = np.concatenate([transport.transform(Xs=Xs), Xl])
    sets = {
        "SVM-t": (LinearSVC(), Xl, yl, Xq),
        "SVM both": (LinearSVC(), both, y_both, Xq),
        "1-NN": (KNeighborsClassifier(1), Xl, yl, Xq),
        "Sinkhorn + SVM": (LinearSVC(), moved, y_both, Xq),
    }
    for name, adapter in (
        ("CORAL + SVM", CORALAdapter()),
        ("subspace alignment + SVM", SubspaceAlignmentAdapter(n_components=20)),
    ):
        train, queries = adapted(adapter, Xs, ys, Xt, len(Xl))
        sets[name] = (LinearSVC(), train, y_both, queries)
    return {name: model.fit(X, y).score(Q, yq) for name, (model, X, y, Q) in sets.items()}


def trial(source_rows, target_rows, queries, k):
    warnings.simplefilter("ignore")
    (Xs, ys), (Xl, yl), (Xq, yq) = source_rows, target_rows, queries
    X, marked = np.concatenate([Xl, Xq]), np.append(yl, np.full(len(Xq), -1))
    scores = baselines(Xs, ys, Xl, yl, Xq, yq)
    alone = DPTransferClassifier(strategy="alignment", unlabeled=-1, random_state=k).fit(X, marked)
    scores["no source"] = alone.score(Xq, yq)
    for epsilon in epsilons:
        source = DPSource(epsilon, denoise=False, random_state=k).fit(Xs, ys)
        scores[f"source alone, epsilon={epsilon:g}"] = source.score(Xq, yq)
        for strategy in ("alignment", "multitask"):
            if strategy == "multitask" and epsilon != args.multitask_epsilon:
                continue
            model = DPTransferClassifier(source, strategy=strategy, random_state=k)
            scores[f"{strategy}, epsilon={epsilon:g}"] = model.fit(X, marked).score(Xq, yq)
    return scores


rows = []
for source, target in permutations(DOMAINS, 2):
    scores = Parallel(n_jobs=-1)(
        delayed(trial)(*rows_of, k)
        for k, rows_of in enumerate(office_trials(source, target, args.trials))
    )
    for name in scores[0]:
        values = 100 * np.array([s[name] for s in scores])
        row = {"source": source, "target": target, "model": name}
        rows.append({**row, "accuracy": values.mean(), "spread": values.std()})
        print(rows[-1], flush=True)
    settings = {**vars(args), "delta": 1e-5, "sensitivity": 1.0, "features": "SURF, z-scores"}
    save("office", settings, rows)
