"""What is left of sensitive columns: against closed forms, and in digits.

Gaussian pairs and tables of categories, of which the information is known; and how much of the ink
of a digit is left in noisy pixels, codes and predictions: a table, and a picture for the
documentation.
"""

import _bench
import numpy as np
from _store import HERE
from _table import grouped, pick
from sklearn.datasets import load_digits
from sklearn.feature_selection import mutual_info_regression
from sklearn.model_selection import cross_val_predict

from skdp import (
    CDMMA,
    OptimalDPNoise,
    WideCDMMAClassifier,
)
from skdp.information import information_leakage


def found(part, case, draw, private, released, truth=None, n_permutations=0, **more):
    """Return a row of the results."""
    estimate = information_leakage(
        private, released, n_permutations=n_permutations, random_state=draw
    )
    return {
        "part": part,
        "case": case,
        "draw": draw,
        "truth": truth,
        "estimate": estimate.estimate,
        "standard_error": estimate.standard_error,
        "largest_of_null": max(estimate.null, default=None),
        **more,
    }


def gaussian_pairs(draws):
    """A normal value and ten columns, the direction that tells of it drawn at random."""
    for correlation in (0.0, 0.3, 0.5, 0.7, 0.9, 0.97):
        truth = -0.5 * np.log(1 - correlation**2)
        for draw in range(draws):
            rng = np.random.default_rng(draw)
            T = rng.normal(size=(5000, 10))
            direction = rng.normal(size=10)
            direction /= np.linalg.norm(direction)
            rest = np.sqrt(1 - correlation**2) * rng.normal(size=5000)
            s = correlation * (T @ direction) + rest
            each = mutual_info_regression(T, s, random_state=draw)
            more = {"columns_best": each.max(), "columns_sum": each.sum()}
            name = f"ρ = {correlation:g}"
            yield found("Gaussian pairs", name, draw, s, T, truth, n_permutations=5, **more)


def categories(draws):
    """Tables of probabilities, drawn at random."""
    for k, (a, b) in enumerate([(2, 2), (3, 4), (5, 8), (8, 3)]):
        joint = np.random.default_rng(k).dirichlet(np.full(a * b, 0.5)).reshape(a, b)
        product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        truth = float(np.sum(joint * np.log(np.maximum(joint, 1e-300) / product)))
        for draw in range(draws):
            cells = np.random.default_rng(draw).choice(a * b, 5000, p=joint.ravel())
            s, t = np.char.mod("%d", cells // b), np.char.mod("%d", cells % b)[:, None]
            yield found("categories", f"{a} × {b}", draw, s, t, truth, n_permutations=5)


def digits(draws):
    """The ink of a digit, left in noisy pixels, in their codes, and in a classifier's answers."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    ink = X.sum(axis=1)
    for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, np.inf):
        for draw in range(draws):
            noise = OptimalDPNoise(epsilon, 0.0, bounds=(0, 1)).fit(X)
            noisy = noise.transform(X) if np.isfinite(epsilon) else X
            codes = CDMMA(20, random_state=draw).fit(noisy).transform(noisy)
            classifier = WideCDMMAClassifier(**_bench.PAPERS, n_layers=1, random_state=draw)
            p = cross_val_predict(classifier, noisy, y, cv=5, method="predict_proba")
            logs = np.log(np.maximum(p, 1e-6))
            for case, T in (("noisy pixels", noisy), ("codes", codes), ("predictions", logs)):
                yield found("digits", case, draw, ink, T, epsilon=str(epsilon))


def picture(rows):
    """Draw what is left in digits, for the documentation."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
    finite = [r for r in rows if r["part"] == "digits" and r["epsilon"] != "inf"]
    levels = sorted({float(r["epsilon"]) for r in finite})
    for (case,), some in grouped(finite, "case").items():
        draws = [pick(some, "estimate", epsilon=str(level)) for level in levels]
        means, spreads = [each.mean for each in draws], [2 * each.sd for each in draws]
        axis.errorbar(levels, means, spreads, marker="o", capsize=3, label=case)
    axis.set(xscale="log", xlabel="ε of one pixel", ylabel="nats about the ink of a digit")
    axis.set_xticks(levels, [f"{level:g}" for level in levels])
    axis.minorticks_off()
    axis.legend()
    figure.savefig(HERE.parent / "doc" / "images" / "leakage_of_digits.png", dpi=100)


def rows(options):
    for part in (gaussian_pairs, categories, digits):
        yield from part(options.draws)


if __name__ == "__main__":
    picture(_bench.run("leakage", rows, __doc__, draws=3))
