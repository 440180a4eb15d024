"""What is left of sensitive columns: against closed forms, against upper bounds, and in digits.

Gaussian pairs and tables of categories, of which the information is known; over noises, units of
privacy and ε, what decoders find and what the guarantee allows at most; and how much of the ink of
a digit is left in noisy pixels, codes and predictions: a table, and a picture for the
documentation.
"""

from itertools import product

import _bench
import numpy as np
from _store import HERE
from _table import grouped, pick
from sklearn.datasets import load_digits
from sklearn.feature_selection import mutual_info_regression
from sklearn.model_selection import cross_val_predict

from skdp import (
    CDMMA,
    DPStatisticsSource,
    GaussianDPNoise,
    OptimalDPNoise,
    RandomizedResponse,
    StaircaseDPNoise,
    WideCDMMAClassifier,
)
from skdp.information import information_leakage
from skdp.noise import GaussianQueries
from skdp.privacy.audit import released_statistics

DELTA = 1e-5
LEVELS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def found(part, case, draw, private, released, truth=None, bound=None, n_permutations=0, **more):
    """Return a row of the results."""
    estimate = information_leakage(
        private, released, n_permutations=n_permutations, random_state=draw
    )
    return {
        "part": part,
        "case": case,
        "draw": draw,
        "truth": truth,
        "bound": bound,
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


def elements(draws):
    """A value between its bounds, or at one of them, and what noise makes of it."""
    noises = {"optimal": OptimalDPNoise, "staircase": StaircaseDPNoise}
    for epsilon in LEVELS:
        made = {name: cls(epsilon, 0.0, bounds=(0, 1)) for name, cls in noises.items()}
        made["Gaussian"] = GaussianDPNoise(epsilon, DELTA, bounds=(0, 1))
        for (name, noise), draw in product(made.items(), range(draws)):
            rng = np.random.default_rng(draw)
            uniform, two = rng.random((2000, 1)), rng.integers(2, size=(2000, 1))
            for prior, values, shares in (
                ("uniform", uniform, None),
                ("two points", two.astype(float), [0.5, 0.5]),
            ):
                bound = noise.fit(values).guarantee_.information_bound(shares).nats
                T, more = noise.transform(values), {"bound": bound, "epsilon": epsilon}
                case = f"element, {name}, {prior}"
                yield found("bounds", case, draw, values[:, 0], T, **more)


def labels(draws):
    for epsilon, k in product(LEVELS, (2, 10)):
        response = RandomizedResponse(epsilon, classes=range(k)).fit([0, 1])
        bound = response.guarantee_.information_bound(np.full(k, 1 / k)).nats
        for draw in range(draws):
            y = np.random.default_rng(draw).integers(k, size=4000)
            told = response.transform(y).astype(str)[:, None]
            case = f"label, {k} classes"
            yield found("bounds", case, draw, y, told, bound=bound, epsilon=epsilon)


def releases(draws):
    """Whether a record or a person of three is there, told from 1,000 releases of 30 rows."""
    GaussianQueries.add = _bench.quick_noise()
    for unit, epsilon, draw in product(("record", "person"), LEVELS, range(draws)):
        n_more, by_person = (3, True) if unit == "person" else (1, False)
        rng = np.random.default_rng(draw)
        X = np.vstack([rng.random((30, 2)), np.full((3, 2), 0.02)])
        y = np.append(np.arange(30) % 2, [1, 1, 1])
        groups = np.append(np.arange(30), [30, 30, 30])
        settings = {"classes": [0, 1], "model": "linear"}
        settings["privacy_unit"] = "group" if by_person else "record"
        there, released = rng.integers(2, size=1000), []
        for one in there:
            rows = slice(30 + n_more * one)
            how = {"groups": groups[rows]} if by_person else {}
            release = DPStatisticsSource(epsilon, **settings).fit(X[rows], y[rows], **how).release_
            parts = released_statistics(release)
            released.append(np.concatenate([parts[name] for name in sorted(parts)]))
        bound = release.guarantee.information_bound([0.5, 0.5]).nats
        case = f"{unit}, released statistics"
        yield found("bounds", case, draw, there, released, bound=bound, epsilon=epsilon)


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
    for part in (gaussian_pairs, categories, elements, labels, releases, digits):
        yield from part(options.draws)


if __name__ == "__main__":
    picture(_bench.run("leakage", rows, __doc__, draws=3))
