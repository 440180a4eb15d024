"""Privacy, time and memory.

noise: values a second on one core, memory, against NumPy's plain sampler and against peers
(diffprivlib, OpenDP), which are measured where they are installed, on fewer values.

leakage: what is left of sensitive columns: Gaussian pairs and tables of categories, of which the
information is known; and how much of the ink of a digit is left in noisy pixels, codes and
predictions: a table, and a picture for the documentation.

transferability: does what a release is expected to be worth rank releases as what they turn out to
be worth? Worth: how many nats a release says about the classes of other rows (their entropy less
its log loss); gain: by how much the log loss of a transfer with few labels (five a class; ten of
images and sensors) is lower with it than with these labels alone. Estimates stand beside LEEP
(Nguyen et al., 2020, of posteriors) and LogME (You et al., 2021, of log-posteriors).

audit: how close does an audit of a source of statistics come to its guarantee; which bugs are
found? Fits with and without a canary, of synthetic rows of two columns and two classes. The
canary is at 1/6 of each column, where all of it shows in the moments: the cosines of the columns
are small there. First of sources as they are; then, for the largest ε, with a planted bug. Where
gradients have no noise, of four times as many rows: the more rows, the more nearly what is
released is linear in the noise. ``--draws`` are trials.

speed: seconds of the processor and memory: start-up, fits, sums of many rows, first predictions.
Each case runs in a process of its own, of one thread. ``ratio`` is that to X.T @ X in float64 of
the same encoded rows, without anything around it. Of first predictions, from the file of a release
to the probabilities of 1,000 rows.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import _bench
import numpy as np
from _bench import quick_noise
from _data import HOSPITALS, SPLITS, arrays_of, mnist, scenario
from _table import grouped, pick
from sklearn.datasets import load_digits
from sklearn.feature_selection import mutual_info_regression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

from skdp import (
    CDMMA,
    DPStatisticsSource,
    DPTransferClassifier,
    GaussianDPNoise,
    OptimalDPNoise,
    Release,
    StaircaseDPNoise,
    TabularEncoder,
    WideCDMMAClassifier,
)
from skdp.datasets import hide_labels, load_adult
from skdp.information import information_leakage, transferability
from skdp.noise import GaussianQueries
from skdp.privacy import gaussian_sigma
from skdp.privacy.audit import audit_release
from skdp.release import PrincipalModel


def _diffprivlib():
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=1.0, sensitivity=1.0)
    return lambda X: np.reshape([mechanism.randomise(float(x)) for x in X.flat], X.shape)


def _opendp():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=1.0)
    return lambda X: np.reshape(laplace(X.astype(float).ravel().tolist()), X.shape)


def samplers(X):
    """Yield names of samplers, what adds their noise, and the values for it."""
    rng = np.random.default_rng()
    plain = lambda X: (X + rng.laplace(size=X.shape)).astype(np.float32)  # noqa: E731
    yield "X + rng.laplace(size=X.shape)", plain, X
    for cls in (OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise):
        yield cls.__name__, cls().fit(X[:1]).transform, X
    for name, make in (("diffprivlib Laplace", _diffprivlib), ("OpenDP make_laplace", _opendp)):
        try:
            yield name, make(), X[: max(1, len(X) // 60)]
        except ImportError:
            print(f"{name} is not installed, and left out")


def noise_rows(repeats):
    X = np.random.default_rng(0).random((60_000, 784), dtype=np.float32)
    first = None
    for name, add_noise, data in samplers(X):
        seconds = []
        for _ in range(repeats):
            with _bench.Timer() as timer, _bench.PeakMemory() as memory:
                noisy = add_noise(data)
            seconds.append(timer.seconds)
            output = noisy.nbytes / 2**20
            del noisy
        rate = data.size / min(seconds) / 1e6
        first = first or rate
        yield {
            "noise": name,
            "values": data.size,
            "million_values_a_second": rate,
            "peak_above_in_and_out_mib": memory.mib - output,
            "speed_ratio_to_numpy": rate / first,
        }


def noise(options):
    _bench.save("noise", noise_rows(options.draws or 7), {})


def leaked(part, case, draw, private, released, truth=None, n_permutations=0, **more):
    settings = {"n_permutations": n_permutations, "random_state": draw}
    estimate = information_leakage(private, released, **settings)
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
    for correlation, draw in product((0.0, 0.3, 0.5, 0.7, 0.9, 0.97), range(draws)):
        truth = -0.5 * np.log(1 - correlation**2)
        rng = np.random.default_rng(draw)
        T = rng.normal(size=(5000, 10))
        direction = rng.normal(size=10)
        direction /= np.linalg.norm(direction)
        rest = np.sqrt(1 - correlation**2) * rng.normal(size=5000)
        s = correlation * (T @ direction) + rest
        each = mutual_info_regression(T, s, random_state=draw)
        more = {"columns_best": each.max(), "columns_sum": each.sum()}
        name = f"ρ = {correlation:g}"
        yield leaked("Gaussian pairs", name, draw, s, T, truth, n_permutations=5, **more)


def categories(draws):
    """Tables of probabilities, drawn at random."""
    for k, (a, b) in enumerate([(2, 2), (3, 4), (5, 8), (8, 3)]):
        joint = np.random.default_rng(k).dirichlet(np.full(a * b, 0.5)).reshape(a, b)
        independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        truth = float(np.sum(joint * np.log(np.maximum(joint, 1e-300) / independent)))
        for draw in range(draws):
            cells = np.random.default_rng(draw).choice(a * b, 5000, p=joint.ravel())
            s, t = np.char.mod("%d", cells // b), np.char.mod("%d", cells % b)[:, None]
            yield leaked("categories", f"{a} × {b}", draw, s, t, truth, n_permutations=5)


def ink(draws):
    """The ink of a digit, left in noisy pixels, in their codes, and in a classifier's answers."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    for epsilon, draw in product(
        (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, np.inf), range(draws)
    ):
        added = OptimalDPNoise(epsilon, 0.0, bounds=(0, 1)).fit(X)
        noisy = added.transform(X) if np.isfinite(epsilon) else X
        codes = CDMMA(20, random_state=draw).fit(noisy).transform(noisy)
        classifier = WideCDMMAClassifier(**_bench.PAPERS, n_layers=1, random_state=draw)
        p = cross_val_predict(classifier, noisy, y, cv=5, method="predict_proba")
        logs = np.log(np.maximum(p, 1e-6))
        for case, T in (("noisy pixels", noisy), ("codes", codes), ("predictions", logs)):
            yield leaked("digits", case, draw, X.sum(axis=1), T, epsilon=str(epsilon))


def leakage(options):
    """Measure what is left, and draw it for the documentation."""
    import matplotlib.pyplot as plt

    draws = options.draws or 3
    rows = (row for part in (gaussian_pairs, categories, ink) for row in part(draws))
    rows = _bench.save("leakage", rows, {"draws": draws})
    figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
    finite = [r for r in rows if r["part"] == "digits" and r["epsilon"] != "inf"]
    levels = sorted({float(r["epsilon"]) for r in finite})
    for (case,), some in grouped(finite, "case").items():
        values = [pick(some, "estimate", epsilon=str(level)) for level in levels]
        means, spreads = [each.mean for each in values], [2 * each.sd for each in values]
        axis.errorbar(levels, means, spreads, marker="o", capsize=3, label=case)
    axis.set(xscale="log", xlabel="ε of one pixel", ylabel="nats about the ink of a digit")
    axis.set_xticks(levels, [f"{level:g}" for level in levels])
    axis.minorticks_off()
    axis.legend()
    figure.savefig(_bench.HERE.parent / "doc" / "images" / "leakage_of_digits.png", dpi=100)


ARRAYS = {
    "activity": ("activity 0", "activity 1"),
    "images": ("MNIST, pixels", "USPS, pixels"),
    "office": ("office",),
}
N_SOURCE, N_LEARN, N_TEST = 10_000, 1000, 2000


def leep(posteriors, labels):
    """Return the log expected empirical prediction of labels by the release's classes."""
    joint = np.array([posteriors[labels == c].sum(axis=0) for c in np.unique(labels)])
    given = joint / np.maximum(joint.sum(axis=0), 1e-12)
    codes = np.unique(labels, return_inverse=True)[1]
    return float(np.log(np.maximum((posteriors * given[codes]).sum(axis=1), 1e-12)).mean())


def logme(features, labels):
    """Return the logarithm of the evidence a row of linear regressions of each class."""
    n, d = features.shape
    u, s, _ = np.linalg.svd(features, full_matrices=False)
    squares, found = s**2, []
    for c in np.unique(labels):
        y = (labels == c).astype(float)
        z = (u.T @ y) ** 2
        rest = max(y @ y - z.sum(), 1e-12)
        alpha = beta = 1.0
        for _ in range(50):
            t = alpha / beta
            gamma = (squares / (squares + t)).sum()
            norm = (squares * z / (squares + t) ** 2).sum()
            residual = (z * (t / (squares + t)) ** 2).sum() + rest
            alpha, beta = gamma / max(norm, 1e-12), (n - gamma) / residual
        evidence = d * np.log(alpha) + n * np.log(beta) - n * np.log(2 * np.pi)
        evidence -= beta * residual + alpha * norm + np.log(alpha + beta * squares).sum()
        evidence -= (d - len(s)) * np.log(alpha)
        found.append(evidence / 2 / n)
    return float(np.mean(found))


def estimates(release, X, y, draw):
    """Return all estimates of a release by rows of which labels are looked at or not."""
    p = release.predict_proba(X)
    q = np.maximum(p, 1e-12)
    mean = q.mean(axis=0)
    found = {
        "no labels": transferability(release, X, random_state=draw).estimate,
        # The information that posteriors claim, in nats.
        "no labels, as claimed": float(
            (q * np.log(q)).sum(axis=1).mean() - (mean * np.log(mean)).sum()
        ),
    }
    order = np.random.RandomState(draw).permutation(len(y))
    for n in (10, 30, 100):
        some = order[:n]
        rows = X.iloc[some] if hasattr(X, "iloc") else X[some]
        found[f"{n} labels"] = transferability(release, rows, y[some], random_state=draw).estimate
    some = order[:100]
    return found | {
        "LEEP, 100 labels": leep(p[some], y[some]),
        "LogME, 100 labels": logme(np.log(np.maximum(p[some], 1e-6)), y[some]),
    }


def judged(kind, case, draw, target, releases, n_labels, encode=np.asarray):
    """Yield a row for each release of a target: estimates, and what it turned out to be worth."""
    X, y, X_test, y_test = target
    classes = np.unique(np.concatenate([y, y_test]))

    def loss(model, X):
        return log_loss(y_test, np.clip(model.predict_proba(X), 1e-6, 1), labels=classes)

    marked = hide_labels(y, n_labels, random_state=draw)
    unaided = DPTransferClassifier(None, random_state=draw).fit(encode(X), marked)
    alone = loss(unaided, encode(X_test))
    shares = np.unique(y_test, return_counts=True)[1] / len(y_test)
    worth_of_nothing = -float(shares @ np.log(shares))
    for name, release in releases:
        with_it = DPTransferClassifier(release, random_state=draw).fit(X, marked)
        yield {
            "kind": kind,
            "case": case,
            "draw": draw,
            "release": name,
            "gain": alone - loss(with_it, X_test),
            "worth": worth_of_nothing - loss(release, X_test),
            **estimates(release, X, y, draw),
        }


def judged_tables(kind, targets, draws):
    for target, draw in product(targets, range(draws)):
        rows = scenario(target, draw)
        releases = []
        for (name, source), epsilon in product(rows.sources.items(), (8.0, 2.0, 0.5)):
            release = DPStatisticsSource(epsilon, encoder=rows.schema).fit(*source).release_
            releases.append((f"{name}, ε = {epsilon:g}", release))
        own = rows.X, rows.y, rows.X_test, rows.y_test
        encode = TabularEncoder(rows.schema).fit(rows.X).transform
        yield from judged(kind, target, draw, own, releases, 5, encode)


def judged_arrays(kind, cases, draws):
    for case, draw in product(cases, range(draws if kind != "images" else 1)):
        (X_source, y_source), (X, y) = arrays_of(case)
        rng = np.random.RandomState(draw)
        taken = rng.permutation(len(y_source))[:N_SOURCE]
        order = rng.permutation(len(y))
        learn, test = order[:N_LEARN], order[N_LEARN : N_LEARN + N_TEST]
        if len(test) < 500:
            learn, test = np.array_split(order, 2)
        releases = []
        for model, epsilon in product(("linear", "mixtures", "logistic"), (8.0, 1.0)):
            settings = {"bounds": (0, 1), "classes": np.unique(y)}
            source = DPStatisticsSource(epsilon, model=model, **settings)
            release = source.fit(X_source[taken], y_source[taken]).release_
            releases.append((f"{model}, ε = {epsilon:g}", release))
        own = X[learn], y[learn], X[test], y[test]
        yield from judged(kind, case, draw, own, releases, 10)


def transferabilities(options):
    draws = options.draws or 2

    def rows():
        yield from judged_tables("hospitals", HOSPITALS, draws)
        yield from judged_tables("tables", SPLITS, draws)
        for kind, cases in ARRAYS.items():
            yield from judged_arrays(kind, cases, draws)

    _bench.save("transferability", rows(), {"draws": draws})


class ExactScores(DPStatisticsSource):
    def fit(self, X, y, groups=None):
        super().fit(X, y)
        exact = DPStatisticsSource(np.inf, classes=[0, 1]).fit(X, y)
        model = PrincipalModel(self.release_.moments, exact.release_.linear)
        self.release_ = replace(self.release_, model=model)
        return self


class ExactSizes(DPStatisticsSource):
    def fit(self, X, y, groups=None):
        super().fit(X, y)
        moments = replace(self.release_.moments, effective_sizes=np.bincount(y).astype(float))
        self.release_ = replace(self.release_, model=PrincipalModel(moments, self.release_.linear))
        return self


class Unweighed(DPStatisticsSource):
    def fit(self, X, y, groups=None):
        return super().fit(X, y, np.arange(len(y)))


HALVED = quick_noise(0.5, ("component seconds",))
BOTH = quick_noise(same=("total", "contrast"))
PEOPLE = {"source": Unweighed, "people": True}
# Bug, model, noise, and what is audited in place of a source of records.
BUGS = [
    ("none", "linear", quick_noise(), {}),
    ("exact linear scores", "linear", quick_noise(), {"source": ExactScores}),
    ("exact effective sizes", "linear", quick_noise(), {"source": ExactSizes}),
    ("rows of a person not weighed", "linear", quick_noise(), PEOPLE),
    ("mixtures without noise", "mixtures", quick_noise(0, ("class ", "step ", "component ")), {}),
    ("gradients without noise", "logistic", quick_noise(0, ("gradients",)), {}),
    ("all shares spent twice", "linear", quick_noise(0.5**0.5, ("",)), {}),
    ("share of the contrast spent twice", "linear", quick_noise(0.5**0.5, ("contrast",)), {}),
    ("noise of the total also in the contrast", "linear", BOTH, {}),
    ("noise of second moments halved", "linear", quick_noise(0.5, ("second",)), {}),
    ("all shares spent twice", "mixtures", quick_noise(0.5**0.5, ("",)), {}),
    ("noise of components' second moments halved", "mixtures", HALVED, {}),
    ("radii without noise", "mixtures", quick_noise(0, ("distances", "lengths")), {}),
]


def audited(trials, epsilon, model, source=DPStatisticsSource, people=False):
    """Return a row of the table."""
    unit = "group" if people else "record"
    source = source(epsilon, classes=[0, 1], model=model, privacy_unit=unit)
    rng = np.random.RandomState(0)
    X = rng.rand(500, 2)
    y = (X[:, 0] + 0.3 * rng.randn(len(X)) > 0.5).astype(int)
    data = {"groups": np.arange(len(X)) // 2} if people else {"canary": ([1 / 6, 1 / 6], 1)}
    found = audit_release(source, X, y, **data, n_trials=trials)
    names = ("mu_lower", "epsilon_lower", "event_epsilon_lower", "passed")
    mu = 1 / gaussian_sigma(epsilon, 1e-5)
    row = {"epsilon": epsilon, "model": model, "mu": mu}
    return row | {name: getattr(found, name) for name in names}


def audit_rows(trials):
    for bug, model, add, changes in BUGS:
        GaussianQueries.add = add
        for epsilon in (1.0, 4.0, 10.0) if bug == "none" else (10.0,):
            yield {"bug": bug, **audited(trials, epsilon, model, **changes)}


def audit(options):
    trials = options.draws or 2000
    _bench.save("release_audit", audit_rows(trials), {"fits": 2 * trials})


CHUNK, COLUMNS = 50_000, 100
IMPORTS = ("sklearn.linear_model, sklearn.cluster, sklearn.metrics, pandas", "skdp")
TIMED = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"


def plain_product(X, rows=5000):
    """Return the seconds that X.T @ X takes in chunks that are added up."""
    seconds, total = _bench.processor(), 0.0
    for start in range(0, len(X), rows):
        here = np.asarray(X[start : start + rows])
        with seconds:
            total = total + here.T @ here
    return seconds.seconds


def started(names):
    """Return the least seconds of an import in five new processes."""
    command = [sys.executable, "-c", TIMED.format(names)]
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(5)]
    return {"rows": 0, "seconds": min(float(run.stdout) for run in runs)}


def fitted(source, X, y, encoded):
    fit = _bench.processor()
    with _bench.PeakMemory() as memory, fit:
        source.fit(X, y)
    return {"rows": len(X), **against(fit.seconds, plain_product(encoded)), "mib": memory.mib}


def against(seconds, plain):
    return {"seconds": seconds, "ratio": seconds / plain}


def adult(model, answer=False):
    data = load_adult(random_state=0)
    source = DPStatisticsSource(1.0, encoder=data.schema, model=model)
    X, y = data.data.iloc[data.source], data.target[data.source]
    if not answer:
        return fitted(source, X, y, np.asarray(TabularEncoder(data.schema).fit_transform(X)))
    with tempfile.TemporaryDirectory() as folder:
        path, timer = Path(folder) / "adult.skdp", _bench.processor()
        source.fit(X, y).release_.save(path)
        with timer:
            Release.load(path).predict_proba(data.data.iloc[data.test[:1000]])
    return {"rows": 1000, "seconds": timer.seconds}


def digits(model):
    X, y, *_ = mnist()
    X = X.astype(np.float64)
    source = DPStatisticsSource(1.0, classes=range(10), bounds=(0, X.max()), model=model)
    return fitted(source, X, y, X)


def stream(n_rows=2_000_000):
    """Sum chunks of rows of 100 columns, which are 300 basis functions."""
    source = DPStatisticsSource(1.0, classes=[0, 1], model="linear")
    accumulator, total, plain = source.accumulator(COLUMNS), _bench.processor(), 0.0
    with _bench.PeakMemory() as memory:
        for number in range(n_rows // CHUNK):
            X = np.random.default_rng(number).random((CHUNK, COLUMNS))
            with total:
                accumulator.add(X, (X[:, 0] + X[:, 1] > 1).astype(int))
            plain += plain_product(X)
        with total:
            source.fit_accumulated(accumulator)
    return {"rows": n_rows, **against(total.seconds, plain), "mib": memory.mib}


TIMED_CASES = {
    **{f"import {names}": lambda names=names: started(names) for names in IMPORTS},
    **{f"fit of adult, {m}": lambda m=m: adult(m) for m in ("linear", "auto", "mixtures")},
    "load and predict": lambda: adult("linear", answer=True),
    "fit of MNIST, 784 pixels, linear": lambda: digits("linear"),
    "fit of MNIST, 784 pixels, mixtures": lambda: digits("mixtures"),
    "stream of 100 columns": stream,
}


def speed_rows():
    code = "import json, sys, bench_privacy as b; print(json.dumps(b.TIMED_CASES[sys.argv[1]]()))"
    for case in TIMED_CASES:
        command = [sys.executable, "-W", "ignore", "-c", code, case]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=_bench.HERE)
        yield {"case": case, **json.loads(done.stdout.splitlines()[-1])}


def speed(options):
    _bench.save("speed", speed_rows(), {})


if __name__ == "__main__":
    tasks = {"noise": noise, "leakage": leakage, "transferability": transferabilities}
    _bench.main(__doc__, **tasks, audit=audit, speed=speed)
