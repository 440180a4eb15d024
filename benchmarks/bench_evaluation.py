"""How near do private evaluations come, and do their intervals hold what they promise?

A model of half of the rows is evaluated on rows drawn with replacement from the other half, whose
own figures are so the true ones.
"""

import _bench
import numpy as np
from _tables_data import whole
from sklearn.linear_model import LogisticRegression

from skdp import TabularEncoder, evaluate_privately

LEVELS = (0.1, 0.5, 1.0, 4.0)
CASES = (("heart disease", 200), ("heart disease", 1000), ("flchain", 1000), ("adult", 10_000))
FIGURES = ("AUC", "log loss", "Brier score", "accuracy")


class Scored:
    """A model whose probabilities are the rows themselves."""

    def __init__(self, classes):
        self.classes_ = classes

    def predict_proba(self, X):
        return X


def probabilities(name):
    """Return probabilities of a model for rows that it has not seen, and their labels."""
    frame, y, schema = whole(name)
    X = np.asarray(TabularEncoder(schema).fit_transform(frame))
    order = np.random.default_rng(0).permutation(len(y))
    learn, rest = np.array_split(order, 2)
    model = LogisticRegression(max_iter=500).fit(X[learn], y[learn])
    return Scored(model.classes_), model.predict_proba(X[rest]), y[rest]


def figures(*evaluated):
    evaluation = evaluate_privately(*evaluated)
    found = (evaluation.auc(), evaluation.log_loss(), evaluation.brier_score())
    return (*found, evaluation.confusion()["accuracy"])


def measure(options, name, n_rows):
    model, p, y = probabilities(name)
    true = [each.value for each in figures(model, p, y, np.inf)]
    rng = np.random.default_rng(1)
    chosen = [rng.integers(len(y), size=n_rows) for _ in range(options.draws)]
    plain = [figures(model, p[rows], y[rows], np.inf) for rows in chosen]
    for epsilon in LEVELS:
        found = [figures(model, p[rows], y[rows], epsilon) for rows in chosen]
        for k, figure in enumerate(FIGURES):
            errors, without = (
                np.sqrt(np.mean([(each[k].value - true[k]) ** 2 for each in some]))
                for some in (found, plain)
            )
            yield {
                "case": name,
                "rows": n_rows,
                "level": epsilon,
                "figure": figure,
                "true": true[k],
                "error": errors,
                "error_without_noise": without,
                "held": np.mean([each[k].low <= true[k] <= each[k].high for each in found]),
                "width": np.mean([each[k].high - each[k].low for each in found]),
            }


if __name__ == "__main__":
    _bench.run("evaluation", measure, __doc__, over=CASES, draws=40)
