"""Wide autoencoders of MNIST: seconds beside those of the bare BLAS and LAPACK calls they rest on.

    python benchmarks/bench_limits.py [--rows 60000] [--repeats 3] [--layers 1,5]

fit: the limit are the same k-means, products, factorizations and eigenvectors of the same
matrices, and nothing else: no kernels, no checks. predict: the limit is the chain of matrix
products by which each subset reconstructs each row. Both run in the same pool of threads, taken
in turn with what they limit; the least of the repeats counts. directions: how many errors of a
row are computed in full with bounds of so many directions, to find its class and to know the
errors of all classes.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from itertools import chain

import numpy as np
from _report import Timer, parse, save
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf
from sklearn.cluster import KMeans

from skdp import WideCDMMAClassifier
from skdp.datasets import fetch_mnist
from skdp.membership import _search
from skdp.utils._kernel_regression import squared_exponential
from skdp.utils._linalg import principal_directions
from skdp.utils._parallel import map_rows, run_tasks

COMPONENTS, SUBSET = 20, 1000
JOBS, DIRECTIONS = (1, 2), (32, 64, 128)


class Subset:
    """What the bare calls of one subset's fit need, made beforehand."""

    def __init__(self, rows, n_layers):
        self.rows, self.n_layers = rows, n_layers
        self.doubles = rows.astype(np.float64)
        self.directions = principal_directions(rows, COMPONENTS)
        codes = rows @ self.directions.T
        centres = KMeans(-(-len(rows) // 2), init="random", n_init=1, random_state=0).fit(codes)
        self.centres, weights = centres.cluster_centers_, 1 / np.ptp(codes, axis=0) ** 2
        self.psi = squared_exponential(codes, self.centres, weights)
        self.second = self.psi.T @ self.psi
        self.kernel = squared_exponential(self.centres, self.centres, weights)
        self.kernel += 1e-6 * np.eye(len(self.kernel))

    def calls(self):
        """Run them all once."""
        moment = self.doubles.T @ self.doubles
        p = len(moment)
        eigh(moment, subset_by_index=[p - COMPONENTS, p - 1], driver="evr")
        read = self.rows
        for depth in range(self.n_layers):
            directions = self.directions[: COMPONENTS - depth]
            codes = read @ directions.T
            KMeans(len(self.centres), init="random", n_init=1, random_state=0).fit(codes)
            centres = self.centres[:, : COMPONENTS - depth]
            centres @ centres.T, codes @ centres.T, codes @ centres.T, centres @ centres.T
            self.psi.T @ self.psi
            factor, _ = dpotrf(self.kernel, lower=1)
            dpocon(factor, 1.0, uplo="L")
            _, basis = eigh(self.second, self.kernel, driver="gvd", check_finite=False)
            targets = (self.psi @ basis).astype(self.rows.dtype).T @ self.rows
            alpha = basis @ targets.astype(np.float64)
            read = self.psi.astype(self.rows.dtype) @ alpha.astype(self.rows.dtype)


def partition(rows):
    n_subsets = -(-len(rows) // SUBSET)
    return KMeans(n_subsets, n_init=1, random_state=0).fit(rows).labels_


def bare_fit(classes, subsets, n_jobs):
    """Return the seconds of the calls of a fit."""
    with Timer() as timer:
        run_tasks(partition, [(rows,) for rows in classes], len(classes), n_jobs=n_jobs)
        run_tasks(Subset.calls, [(subset,) for subset in subsets], len(subsets), n_jobs=n_jobs)
    return timer.seconds


def bare_chain(model, X, n_jobs):
    """Return the seconds of the products by which each subset reconstructs each row."""
    autoencoders = [a for group in model.autoencoders_by_class() for a in group]

    def reconstruct(Y):
        for autoencoder in autoencoders:
            output = Y
            for layer in autoencoder._layers:
                n = layer.inducing_points.shape[1]
                codes = output @ autoencoder.components_[:n].T
                output = codes @ layer.inducing_points.T @ layer.coef
        return output[:, 0]

    values = autoencoders[0].values_per_row()
    with Timer() as timer:
        map_rows(reconstruct, X, values_per_row=values, dtype=X.dtype, n_jobs=n_jobs)
    return timer.seconds


def timed(function, *args):
    with Timer() as timer:
        function(*args)
    return timer.seconds


def least(functions, repeats):
    """Return the least seconds of each function, all of them taken in turn."""
    seconds = [[function() for function in functions] for _ in range(repeats)]
    return np.min(seconds, axis=0)


def fits(train, n_layers, n_jobs, repeats):
    X, y = train
    classes = [X[y == label] for label in np.unique(y)]
    labels = [partition(rows) for rows in classes]
    subsets = [
        Subset(rows[own == s], n_layers)
        for rows, own in zip(classes, labels, strict=True)
        for s in np.unique(own)
    ]
    model = WideCDMMAClassifier(n_layers=n_layers, n_jobs=n_jobs, random_state=0)
    fit, bare = least(
        [lambda: timed(model.fit, X, y), lambda: bare_fit(classes, subsets, n_jobs)], repeats
    )
    return model, {"what": "fit", "seconds": fit, "bare_seconds": bare, "ratio": fit / bare}


def predictions(model, X, y, repeats):
    """Yield seconds of all ways to predict, and how right they are."""
    n_jobs = model.n_jobs
    ways = {"errors of all classes": (None, model.reconstruction_errors)}
    ways |= {
        "predict" if k is None else f"predict, n_probe={k}": (k, model.predict)
        for k in (None, 4, 3, 2)
    }

    def run(n_probe, method):
        return timed(model.set_params(n_probe=n_probe).__getattribute__(method.__name__), X)

    model.predict(X[:1])  # prepares the search
    calls = [lambda way=way: run(*way) for way in ways.values()]
    *seconds, bare = least([*calls, lambda: bare_chain(model, X, n_jobs)], repeats)
    for (what, (n_probe, _)), each in zip(ways.items(), seconds, strict=True):
        accuracy = model.set_params(n_probe=n_probe).score(X, y)
        yield {
            "what": what,
            "seconds": each,
            "bare_seconds": bare,
            "ratio": each / bare,
            "accuracy": accuracy,
        }
    model.set_params(n_probe=None)


def directions(model, X):
    """Yield how many errors are computed in full, to find the class and to know all of them."""
    groups, default = model.autoencoders_by_class(), _search.N_DIRECTIONS
    for n in DIRECTIONS:
        _search.N_DIRECTIONS = n
        search = _search.ReconstructionSearch(groups)
        row = {"what": "directions", "n_directions": n, "of": len(search.layers)}
        for name, method in (("class", search.nearest_group), ("all", search.errors)):
            with Counter(search) as counter:
                method(X)
            row[f"errors_for_{name}"] = counter.n / len(X)
        yield row
    _search.N_DIRECTIONS = default


class Counter:
    """Counts the errors that a search computes in full."""

    def __init__(self, search):
        self.search, self.plain, self.n = search, search.pair_errors, 0

    def __enter__(self):
        self.search.pair_errors = self
        return self

    def __exit__(self, *exc):
        self.search.pair_errors = self.plain

    def __call__(self, Y, pairs, wanted, n_jobs=None):
        self.n += int(wanted.sum())
        return self.plain(Y, pairs, wanted, n_jobs)


def main():
    options = parse(__doc__, rows=60_000, queries=10_000, repeats=3, layers="1,5")
    X, y = fetch_mnist(subset="train", return_X_y=True)
    X_test, y_test = fetch_mnist(subset="test", return_X_y=True)
    train = X[: options.rows], y[: options.rows]
    test = X_test[: options.queries], y_test[: options.queries]
    rows = []
    for n_layers in map(int, options.layers.split(",")):
        for n_jobs in JOBS:
            setting = {"n_layers": n_layers, "n_jobs": n_jobs}
            model, fit = fits(train, n_layers, n_jobs, options.repeats)
            for row in chain([fit], predictions(model, *test, options.repeats)):
                rows.append({**setting, **row})
                print(rows[-1], flush=True)
        if n_layers == 1:
            rows += [{"n_layers": 1, **row} for row in directions(model, test[0][:2000])]
            print(rows[-3:], flush=True)
    save("limits", vars(options), rows)


if __name__ == "__main__":
    main()
