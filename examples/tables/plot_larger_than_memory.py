"""
How do I make a release from rows that do not fit into memory?
==============================================================

An accumulator takes the rows chunk by chunk, or from Parquet files, and forgets them. The release
is the same, bit for bit, as from all rows at once. How much memory does it take?
"""

import tracemalloc
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdp import DPStatisticsSource, PrivacyLeakWarning

COLUMNS = [f"x{j}" for j in range(20)]
CHUNK = 5_000


def chunks(n_rows):
    """Yield synthetic rows and their labels, as a database would: so many at a time."""
    for start in range(0, n_rows, CHUNK):
        X = np.random.RandomState(start).rand(CHUNK, len(COLUMNS))
        yield X, (X[:, 0] + X[:, 1] > 1).astype(int)


# %%
# **In chunks.** List the classes, because no chunk shows all of them. The accumulator holds sums
# without any noise, so it stays with the owner. ``fit_accumulated`` adds the noise and spends the
# budget. ``accumulator.add_parquet(folder, label="outcome")`` reads Parquet files.

source = DPStatisticsSource(epsilon=1.0, classes=[0, 1], model="linear")


def accumulated(n_rows):
    accumulator = source.accumulator(feature_names=COLUMNS)
    for X, y in chunks(n_rows):
        accumulator.add(pd.DataFrame(X, columns=COLUMNS), y)
    return source.fit_accumulated(accumulator).release_


def at_once(n_rows):
    X, y = (np.concatenate(parts) for parts in zip(*chunks(n_rows), strict=True))
    return source.fit(pd.DataFrame(X, columns=COLUMNS), y).release_


# %%
# Both make the same release. To see it, the noise has to be the same. The seed is for this
# comparison alone, because whoever knows it can subtract the noise.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", PrivacyLeakWarning)
    source.set_params(random_state=0)
    one, other = accumulated(10_000).statistics.sums, at_once(10_000).statistics.sums
    print("the same sums, bit for bit:", np.array_equal(one.total, other.total))
source.set_params(random_state=None)

# %%
# **Memory**: the peak of all arrays while the rows are there and the release is made.


def peak(make, n_rows):
    tracemalloc.start()
    make(n_rows)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 2**20


sizes = [10_000, 30_000, 90_000]
ways = {"all rows at once": at_once, "in chunks of 5,000": accumulated}
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for name, make in ways.items():
    peaks = [peak(make, n_rows) for n_rows in sizes]
    cells = (f"{n:,} rows {value:.1f}" for n, value in zip(sizes, peaks, strict=True))
    print(f"{name}, MiB: " + ", ".join(cells))
    axes.plot(sizes, peaks, "o-", label=name)
axes.set(ylim=(0, None), xlabel="rows", ylabel="peak of memory, MiB")
axes.legend()
figure.set_label("Peak of memory over rows: it grows for all rows at once, and not in chunks.")
plt.show()
