"""
How do I make a release from rows that do not fit into memory?
==============================================================

Sums can be added up in parts. An accumulator takes the rows chunk by chunk, or from Parquet
files, and forgets them; the release is made from the sums and is the same, bit for bit, as from
all rows at once. How much memory does it take?
"""

import tracemalloc
import warnings
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

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
# **In chunks.** Nobody has seen all labels when the first rows come, so the classes are listed.
# The accumulator holds sums without any noise: it stays with the owner, and refuses to be pickled.
# ``fit_accumulated`` adds the noise and spends the budget.

source = DPStatisticsSource(epsilon=1.0, classes=[0, 1])


def accumulated(n_rows):
    accumulator = source.accumulator(feature_names=COLUMNS)
    for X, y in chunks(n_rows):
        accumulator.add(pd.DataFrame(X, columns=COLUMNS), y)
    return source.fit_accumulated(accumulator).release_


def at_once(n_rows):
    X, y = (np.concatenate(parts) for parts in zip(*chunks(n_rows), strict=True))
    return source.fit(pd.DataFrame(X, columns=COLUMNS), y).release_


# %%
# Both make the same release. To see it, the noise has to be the same: a seed is for this
# comparison alone, since whoever knows it can take the noise away.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", PrivacyLeakWarning)
    source.set_params(random_state=0)
    one, other = accumulated(10_000).statistics.sums, at_once(10_000).statistics.sums
    print("the same sums, bit for bit:", np.array_equal(one.total, other.total))
source.set_params(random_state=None)

# %%
# **From Parquet** (``pip install 'skdp[parquet]'``). Files and folders of them are read in
# batches.

if find_spec("pyarrow"):
    folder = Path(mkdtemp())
    for part, (X, y) in enumerate(chunks(4 * CHUNK)):
        table = pd.DataFrame(X, columns=COLUMNS).assign(outcome=y)
        table.to_parquet(folder / f"{part}.parquet")
    accumulator = source.accumulator(feature_names=COLUMNS)
    accumulator.add_parquet(folder, label="outcome")
    print(source.fit_accumulated(accumulator).release_)

# %%
# **Memory**, measured by ``tracemalloc``: the peak of all arrays while the rows are there and
# the release is made. Two runs each show how much it varies.


def peak(make, n_rows):
    tracemalloc.start()
    make(n_rows)
    _, bytes_at_most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return bytes_at_most / 2**20


sizes = [10_000, 30_000, 90_000]
peaks = {
    name: [[peak(make, n_rows) for _ in range(2)] for n_rows in sizes]
    for name, make in {"all rows at once": at_once, "in chunks of 5,000": accumulated}.items()
}
print(f"{'rows':>8}" + "".join(f"{name:>22}" for name in peaks) + "  MiB at most")
for k, n_rows in enumerate(sizes):
    cells = (f"{np.mean(p[k]):.1f} ± {np.std(p[k]):.1f}" for p in peaks.values())
    print(f"{n_rows:>8,}" + "".join(f"{cell:>22}" for cell in cells))

BLUE, ORANGE = "#0072B2", "#D55E00"  # of Okabe and Ito
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, found), color, marker in zip(peaks.items(), (ORANGE, BLUE), "so", strict=True):
    mean, deviation = np.mean(found, axis=1), np.std(found, axis=1)
    axes.errorbar(sizes, mean, deviation, color=color, marker=marker, capsize=4, label=name)
axes.set(ylim=(0, None), xlabel="rows", ylabel="peak of memory, MiB")
axes.set_xticks(sizes, [f"{n_rows:,}" for n_rows in sizes])
axes.legend()
figure.set_label(
    "Peak of memory over the number of rows: all rows at once take more the more rows there are, "
    "chunks the same at any number."
)
plt.show()
