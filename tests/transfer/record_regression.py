"""Record what seeded transfers predict, so that no later change of the layout changes a number.

    python tests/transfer/record_regression.py tests/transfer/data/regression.npz

Every strategy, at three privacy levels and without a source, on digits with the features of the
source and with others. All noise is seeded. ``--scores FILE`` writes all scores as well, to be
compared bit by bit on one machine.
"""

import os
import sys
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_digits

from skdp import (
    DPSource,
    DPTransferClassifier,
    OptimalDPNoise,
    PrivacyLeakWarning,
    RandomizedResponse,
    SelfTrainingSchedule,
)
from skdp.datasets import hide_labels, load_digits_domains


def make_source(domains, epsilon, parts, label_noise=None):
    noise = OptimalDPNoise(epsilon, 1e-5, random_state=np.random.RandomState(0))
    settings = {"n_layers": 2, "n_components": 10, "random_state": 0, "label_noise": label_noise}
    source = DPSource(bounds=(0, 1), noise=noise, parts=parts, **settings)
    return source.fit(domains.source, domains.source_target).release_


def scenarios(levels=(np.inf, 8.0, 1.0), left_out=()):
    """Yield a name, a model and the scores of the test rows for every scenario.

    Those in ``left_out`` are not fitted.
    """
    domains = load_digits_domains()
    X, y = load_digits(return_X_y=True)
    targets = {
        "same": (X[1::2] / 16, y[1::2]),
        "other": (domains.target, domains.target_target),
    }
    sources = {"none": (None, None)}
    for epsilon in levels:
        sources[f"{epsilon:g}"] = (
            make_source(domains, epsilon, "noise_aware"),
            make_source(domains, epsilon, "papers"),
        )
    response = RandomizedResponse(3.0, random_state=np.random.RandomState(0))
    sources["8, labels 3"] = make_source(domains, 8.0, "noise_aware", response), None
    for name, (rows, labels) in targets.items():
        marked = hide_labels(labels[:500], 5, random_state=0)
        for level, (denoised, plain) in sources.items():
            fits = [("noise_aware", denoised)]
            if plain is not None:
                fits += [("noise_aware, not denoised", plain)]
            if plain is not None or level == "none":
                fits += [("alignment", plain), ("multitask", plain)]
            for label, source in fits:
                if f"{name} | {level} | {label}" in left_out:
                    continue
                strategy = label.partition(", ")[0]
                # Of the papers; that of "noise_aware" is its default.
                sizes = {"alignment": (4, 6, 8, 10), "multitask": (5, 10, 15, 20)}
                schedule = SelfTrainingSchedule(sizes.get(strategy, "auto"))
                model = DPTransferClassifier(
                    source, strategy=strategy, self_training=schedule, unlabeled=-1, random_state=0
                ).fit(rows[:500], marked)
                yield f"{name} | {level} | {label}", model, model.decision_function(rows[500:])


def main(path, *options):
    warnings.simplefilter("ignore", PrivacyLeakWarning)
    names, predictions, guesses, all_scores = [], [], [], {}
    for name, model, scores in scenarios():
        names.append(name)
        predictions.append(scores.argmax(axis=1))
        guesses.append(model.transduction_)
        all_scores[name] = scores
        print(name, len(model.history_["round"]), scores[0, :2], flush=True)
    tables = {"predictions": predictions, "transductions": guesses}
    tables = {key: np.array(table, dtype=np.uint8) for key, table in tables.items()}
    np.savez_compressed(path, names=np.array(names), **tables)
    if options:
        np.savez(options[1], **all_scores)


if __name__ == "__main__":
    main(*sys.argv[1:])
