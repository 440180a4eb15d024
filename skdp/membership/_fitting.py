"""Many autoencoders at once: one for each subset of each set of rows."""

from sklearn.utils import check_random_state

from skdp.utils._kernel_regression import kmeans_partition
from skdp.utils._parallel import draw_seeds, run_tasks


def _fit(autoencoder, Y):
    return autoencoder.fit(Y)


def fit_autoencoders(estimator, make_autoencoder, sets, subset_size, verbose=0):
    """Fit one autoencoder for each subset of each set of rows, all of them in one flat pool.

    Parameters
    ----------
    estimator : estimator
        Its ``random_state`` gives all seeds before anything runs in parallel, and its
        ``n_jobs`` is the size of the pool.

    make_autoencoder : callable
        ``make_autoencoder(estimator, seed)`` returns an unfitted autoencoder.

    sets : list of ndarray
        Rows, such as those of each class.

    subset_size : int or None
        A set of N rows is split by k-means into ⌈N / subset_size⌉ subsets; None never
        splits.

    verbose : int, default=0
        Above 0, print progress.

    Returns
    -------
    autoencoders : list of list of autoencoders
        Those of each set.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import CDMMA, WideCDMMA
    >>> from skdp.membership import fit_autoencoders
    >>> X, y = load_digits(return_X_y=True)
    >>> autoencoders = fit_autoencoders(
    ...     WideCDMMA(random_state=0),
    ...     lambda estimator, seed: CDMMA(5, n_layers=1, random_state=seed),
    ...     [X[y == 0] / 16, X[y == 1] / 16],
    ...     subset_size=100,
    ... )
    >>> [len(group) for group in autoencoders]
    [2, 2]
    """
    random_state = check_random_state(estimator.random_state)
    counts = [1 if subset_size is None else -(-len(Y) // int(subset_size)) for Y in sets]
    seeds = draw_seeds(random_state, len(sets))
    partitions = run_tasks(
        kmeans_partition,
        zip(sets, counts, seeds, strict=True),
        len(sets),
        n_jobs=estimator.n_jobs,
    )
    jobs = [(k, rows) for k, subsets in enumerate(partitions) for rows in subsets]
    seeds = draw_seeds(random_state, len(jobs))
    fitted = run_tasks(
        _fit,
        (
            (make_autoencoder(estimator, seed), sets[k][rows])
            for (k, rows), seed in zip(jobs, seeds, strict=True)
        ),
        len(jobs),
        n_jobs=estimator.n_jobs,
        verbose=verbose,
        label=type(estimator).__name__,
        unit="autoencoders",
    )
    autoencoders: list[list] = [[] for _ in sets]
    for (k, _), autoencoder in zip(jobs, fitted, strict=True):
        autoencoders[k].append(autoencoder)
    return autoencoders
