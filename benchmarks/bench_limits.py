"""Wide autoencoders of MNIST: seconds beside those of the bare BLAS and LAPACK calls they rest on.

fit: the limit are the same k-means, products, factorizations and eigenvectors of the same
matrices, and nothing else. predict: the chain of products by which each subset reconstructs each
row. Both run in the same pool of threads, taken in turn with what they limit; the least of the
repeats counts. directions: how many errors of a row are computed in full with bounds of so many
directions.
"""

from contextlib import contextmanager
from itertools import chain

import _bench
import numpy as np
from _tasks import mnist
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf
from sklearn.cluster import KMeans

from skdp import WideCDMMAClassifier
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
        centers = KMeans(-(-len(rows) // 2), init="random", n_init=1, random_state=0).fit(codes)
        self.centers, weights = centers.cluster_centers_, 1 / np.ptp(codes, axis=0) ** 2
        self.psi = squared_exponential(codes, self.centers, weights)
        self.second = self.psi.T @ self.psi
        self.kernel = squared_exponential(self.centers, self.centers, weights)
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
            KMeans(len(self.centers), init="random", n_init=1, random_state=0).fit(codes)
            centers = self.centers[:, : COMPONENTS - depth]
            centers @ centers.T, codes @ centers.T, codes @ centers.T, centers @ centers.T
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
    """Make the calls of a fit."""
    run_tasks(partition, [(rows,) for rows in classes], len(classes), n_jobs=n_jobs)
    run_tasks(Subset.calls, [(subset,) for subset in subsets], len(subsets), n_jobs=n_jobs)


def bare_chain(model, X, n_jobs):
    """Make the products by which each subset reconstructs each row."""
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
    map_rows(reconstruct, X, values_per_row=values, dtype=X.dtype, n_jobs=n_jobs)


def least(calls, repeats):
    """Return the least seconds of each call, a function and its arguments, taken in turn."""
    seconds = []
    for _ in range(repeats):
        for function, *arguments in calls:
            with _bench.Timer() as timer:
                function(*arguments)
            seconds.append(timer.seconds)
    return np.reshape(seconds, (repeats, -1)).min(axis=0)


def fits(train, n_layers, n_jobs, repeats):
    X, y = train
    classes = [X[y == label] for label in np.unique(y)]
    labels = [partition(rows) for rows in classes]
    subsets = [
        Subset(rows[own == s], n_layers)
        for rows, own in zip(classes, labels, strict=True)
        for s in np.unique(own)
    ]
    model = WideCDMMAClassifier(**_bench.PAPERS, n_layers=n_layers, n_jobs=n_jobs, random_state=0)
    calls = [(model.fit, X, y), (bare_fit, classes, subsets, n_jobs)]
    fit, bare = least(calls, repeats)
    return model, {"what": "fit", "seconds": fit, "bare_seconds": bare, "ratio": fit / bare}


def predictions(model, X, y, repeats):
    """Yield seconds of all ways to predict, and how right they are."""
    ways = {"errors of all classes": (None, "reconstruction_errors")}
    for k in (None, 4, 3, 2):
        ways["predict" if k is None else f"predict, n_probe={k}"] = k, "predict"

    def run(n_probe, method):
        getattr(model.set_params(n_probe=n_probe), method)(X)

    model.predict(X[:1])  # prepares the search
    calls = [(run, *way) for way in ways.values()]
    *seconds, bare = least([*calls, (bare_chain, model, X, model.n_jobs)], repeats)
    for (what, (n_probe, _)), each in zip(ways.items(), seconds, strict=True):
        accuracy = model.set_params(n_probe=n_probe).score(X, y)
        times = {"seconds": each, "bare_seconds": bare, "ratio": each / bare}
        yield {"what": what, **times, "accuracy": accuracy}
    model.set_params(n_probe=None)


def directions(model, X):
    """Yield how many errors are computed in full, to find the class and to know all of them."""
    groups, default = model.autoencoders_by_class(), _search.N_DIRECTIONS
    for n in DIRECTIONS:
        _search.N_DIRECTIONS = n
        search = _search.ReconstructionSearch(groups)
        row = {"what": "directions", "n_directions": n, "of": len(search.layers)}
        for name, method in (("class", search.nearest_group), ("all", search.errors)):
            with counted(search) as counts:
                method(X)
            row[f"errors_for_{name}"] = sum(counts) / len(X)
        yield row
    _search.N_DIRECTIONS = default


@contextmanager
def counted(search):
    """Count the errors that a search computes in full, in a list."""
    plain, counts = search.pair_errors, []

    def pair_errors(Y, pairs, wanted, n_jobs=None):
        counts.append(int(wanted.sum()))
        return plain(Y, pairs, wanted, n_jobs)

    search.pair_errors = pair_errors
    yield counts
    search.pair_errors = plain


def rows(options):
    X, y, X_test, y_test = mnist()
    train = X[: options.rows], y[: options.rows]
    test = X_test[: options.queries], y_test[: options.queries]
    for n_layers in map(int, options.layers.split(",")):
        for n_jobs in JOBS:
            setting = {"n_layers": n_layers, "n_jobs": n_jobs}
            model, fit = fits(train, n_layers, n_jobs, options.repeats)
            for row in chain([fit], predictions(model, *test, options.repeats)):
                yield {**setting, **row}
        if n_layers == 1:
            for row in directions(model, test[0][:2000]):
                yield {"n_layers": 1, **row}


if __name__ == "__main__":
    settings = {"rows": 60_000, "queries": 10_000, "repeats": 3, "layers": "1,5"}
    _bench.run("limits", rows, __doc__, **settings)
