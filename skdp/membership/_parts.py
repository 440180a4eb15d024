"""Many autoencoders at once: one for each subset of each set of rows."""

import numpy as np
from sklearn.utils import check_random_state

from skdp.utils._clusters import kmeans_partition
from skdp.utils._parallel import run_tasks

_SEEDS = np.iinfo(np.int32).max


def _fit(autoencoder, Y):
    return autoencoder.fit(Y)


def fit_parts(owner, make_part, sets, subset_size, verbose=0):
    """Fit one autoencoder for each subset of each set of rows, all of them in one flat pool.

    Parameters
    ----------
    owner : estimator
        Whose ``random_state`` gives all seeds before anything runs in parallel, and whose
        ``n_jobs`` is the size of the pool.

    make_part : callable
        ``make_part(owner, seed)`` returns an unfitted autoencoder.

    sets : list of ndarray
        Rows of each class, say.

    subset_size : int or None
        A set of N rows is split by k-means into ⌈N / subset_size⌉ subsets; None never
        splits.

    verbose : int, default=0
        Above 0, print progress.

    Returns
    -------
    fitted : list of list of autoencoders
        Those of each set.
    """
    random_state = check_random_state(owner.random_state)
    counts = [1 if subset_size is None else -(-len(Y) // int(subset_size)) for Y in sets]
    seeds = random_state.randint(_SEEDS, size=len(sets))
    partitions = run_tasks(
        kmeans_partition, zip(sets, counts, seeds, strict=True), len(sets), n_jobs=owner.n_jobs
    )
    jobs = [(k, rows) for k, subsets in enumerate(partitions) for rows in subsets]
    seeds = random_state.randint(_SEEDS, size=len(jobs))
    fitted = run_tasks(
        _fit,
        (
            (make_part(owner, seed), sets[k][rows])
            for (k, rows), seed in zip(jobs, seeds, strict=True)
        ),
        len(jobs),
        n_jobs=owner.n_jobs,
        verbose=verbose,
        label=type(owner).__name__,
        unit="autoencoders",
    )
    parts: list[list] = [[] for _ in sets]
    for (k, _), autoencoder in zip(jobs, fitted, strict=True):
        parts[k].append(autoencoder)
    return parts
