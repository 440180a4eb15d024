"""How many rows does a release of statistics take?

patients: the table of ``examples/tables/plot_private_statistics.py``; areas under the ROC curve on
5,000 patients of the other hospital. digits: the source of ``load_digits_domains``; accuracy on
the other half of the digits, of a release of statistics (for a whole digit) and of one of noisy
rows (for one pixel). Each draw has noise of its own.
"""

from itertools import product

import _bench
import numpy as np
from _store import HERE
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from skdp import DPSource, DPStatisticsSource, TabularEncoder
from skdp.datasets import load_digits_domains

EXAMPLE = HERE.parent / "examples" / "tables" / "plot_private_statistics.py"
ROWS = (200, 500, 1000, 2000, 5000, 10_000, 50_000)
LEVELS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, np.inf)
DIGIT_LEVELS = (1.0, 2.0, 4.0, 8.0, np.inf)


def made_up():
    """Return the schema and the generator of the example, which are its first lines."""
    names: dict = {}
    exec(EXAMPLE.read_text().split("\nX_source, y_source =")[0], names)
    return names["schema"], names["patients"]


def row(case, model, n_rows, epsilon, scores):
    row = {"case": case, "model": model, "rows": n_rows, "epsilon": str(epsilon)}
    return row | _bench.mean_and_sd(scores)


def patient_rows(draws):
    schema, patients = made_up()
    X_test, y_test = patients(5000, 70, seed=1)
    for n, epsilon in product(ROWS, LEVELS):
        areas = []
        for draw in range(draws):
            X, y = patients(n, 64, seed=100 + draw)
            source = DPStatisticsSource(epsilon, encoder=TabularEncoder(schema)).fit(X, y)
            died = source.release_.predict_proba(X_test)[:, 0]
            areas.append(roc_auc_score(y_test == "died", died))
        yield row("patients", "statistics", n, epsilon, areas)


def digit_rows(draws):
    domains, others = load_digits_domains(), load_digits()
    X, y, test = domains.source, domains.source_target, others.data[1::2] / 16
    for epsilon in DIGIT_LEVELS:
        sources = {
            "statistics": DPStatisticsSource(epsilon, classes=range(10)),
            "rows": DPSource(epsilon, bounds=(0, 1)),
        }
        for model, source in sources.items():
            releases = (source.fit(X, y).release_ for _ in range(draws))
            scores = [release.score(test, others.target[1::2]) for release in releases]
            yield row("digits", model, len(X), epsilon, scores)


def rows(options):
    yield from patient_rows(options.draws)
    yield from digit_rows(options.draws)


if __name__ == "__main__":
    _bench.run("rows_needed", rows, __doc__, draws=4)
