"""How near do private evaluations come, and do their intervals hold what they promise?

    python benchmarks/bench_evaluation.py [--draws 40]

A logistic regression of half of the rows is evaluated on rows drawn with replacement from the
other half, whose own figures are so the true ones. Written are the root-mean-square error of each
figure, that of the rows without noise, and the share of the intervals of 95 % that hold the true
value.
"""

import warnings

import _bench
import numpy as np
from sklearn.linear_model import LogisticRegression

from skdp import Schema, TabularEncoder, evaluate_privately
from skdp.datasets import load_heart_disease, load_table

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
    data = load_heart_disease() if name == "heart disease" else load_table(name, random_state=0)
    X = TabularEncoder(Schema.from_mapping(data.schema)).fit_transform(data.data)
    X, y = np.asarray(X), np.asarray(data.target)
    order = np.random.default_rng(0).permutation(len(y))
    learn, rest = np.array_split(order, 2)
    model = LogisticRegression(max_iter=500).fit(X[learn], y[learn])
    return Scored(model.classes_), model.predict_proba(X[rest]), y[rest]


def figures(evaluation):
    found = (evaluation.auc(), evaluation.log_loss(), evaluation.brier_score())
    return (*found, evaluation.confusion()["accuracy"])


def measure(name, n_rows, draws):
    model, p, y = probabilities(name)
    true = [each.value for each in figures(evaluate_privately(model, p, y, np.inf))]
    rng = np.random.default_rng(1)
    chosen = [rng.integers(len(y), size=n_rows) for _ in range(draws)]
    plain = [figures(evaluate_privately(model, p[rows], y[rows], np.inf)) for rows in chosen]
    for epsilon in LEVELS:
        found = [figures(evaluate_privately(model, p[rows], y[rows], epsilon)) for rows in chosen]
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


def main():
    settings = _bench.options_of(__doc__.splitlines()[0], draws=40)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in CASES:
            for row in measure(*case, settings.draws):
                rows.append(row)
                print(*case, row["level"], row["figure"], f"{row['error']:.3f}", row["held"])
    _bench.save("evaluation", vars(settings), rows)


if __name__ == "__main__":
    main()
