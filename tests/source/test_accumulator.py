"""Rows in parts, of persons, and in files too large to copy: the same release, bit for bit."""

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp import DPStatisticsSource, TabularEncoder
from skdp.privacy import PrivacyLedger
from skdp.source import _accumulator
from skdp.source._integers import refuse_shared_persons
from skdp.utils._validation import forget_fit

# Sources of the same seed are compared on purpose, and exact statistics are asked for.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
]
CLASSES = ["a", "b", "c"]
SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "income": {"type": "numeric", "low": 0, "high": 1e6, "log": True},
    "dose": {"type": "numeric", "low": 1e-3, "high": 1e3, "log": True, "missing": True},
    "smokes": {"type": "category", "categories": ["never", "formerly", "now"]},
}


def seeded(epsilon=1.0, **settings):
    settings = {"classes": CLASSES, "model": "linear", **settings}
    return DPStatisticsSource(epsilon, **settings, random_state=0)


def file_of(release, tmp_path):
    release.save(tmp_path / "release.skdp")
    return (tmp_path / "release.skdp").read_bytes()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.RandomState(0)
    y = rng.randint(4, size=1100)  # of which the last is no class of the list
    X = np.clip(rng.normal(0.3 + 0.1 * y[:, None], 0.4, (1100, 5)), -0.5, 1.5)
    return X, np.array([*CLASSES, "d"])[y], rng.permutation(1100) // 3


def frame_of(rng, n):
    return pd.DataFrame(
        {
            "age": rng.uniform(-5, 120, n),
            "income": 10 ** rng.uniform(-2, 7, n),
            "dose": np.where(rng.rand(n) < 0.1, np.nan, 10 ** rng.uniform(-4, 4, n)),
            "smokes": rng.choice(["never", "formerly", "now", "else"], n),
        }
    )


def parts(n, chunks, rng):
    """Yield indices of rows in chunks of random sizes, some empty, in random order."""
    order = rng.permutation(n)
    ends = np.sort(rng.randint(n + 1, size=chunks - 1))
    return np.split(order, ends)


@pytest.mark.parametrize("chunks", [1, 2, 17, 300])
def test_chunks_of_any_size_and_order_give_the_release_of_all_rows(chunks, rows, rng, tmp_path):
    X, y, _ = rows
    expected = file_of(seeded().fit(X, y).release_, tmp_path)
    source = seeded()
    accumulator = source.accumulator(n_features=5)
    for here in parts(len(X), chunks, rng):
        accumulator.add(X[here], y[here])
    source.fit_accumulated(accumulator)
    assert file_of(source.release_, tmp_path) == expected
    assert source.n_features_in_ == 5
    assert source.classes_.tolist() == CLASSES


def test_persons_in_chunks_of_their_own_give_the_release_of_all_rows(rows, rng, tmp_path):
    X, y, groups = rows
    fitted = seeded(privacy_unit="group").fit(X, y, groups=groups)
    source = seeded(privacy_unit="group")
    accumulator = source.accumulator(n_features=5)
    for some in np.array_split(rng.permutation(np.unique(groups)), 7):
        here = np.flatnonzero(np.isin(groups, some))
        accumulator.add(X[here], y[here], groups[here])
    source.fit_accumulated(accumulator)
    assert source.guarantee_.unit == "group"
    assert file_of(source.release_, tmp_path) == file_of(fitted.release_, tmp_path)
    # A release of rows by themselves is another one.
    assert file_of(seeded().fit(X, y).release_, tmp_path) != file_of(fitted.release_, tmp_path)


def test_what_a_table_row_adds_depends_on_that_row_alone(rng):
    """Rows beside it, their order and their places in memory make no difference."""
    X, y = frame_of(rng, 30), rng.choice(CLASSES, 30)
    plan = seeded(encoder=TabularEncoder(SCHEMA)).accumulator().plan
    whole = plan.sums(X, y)
    order = rng.permutation(30)
    spread = pd.DataFrame(np.repeat(X[["age", "income", "dose"]].to_numpy(), 3, axis=0)[::3])
    spread = spread.set_axis(["age", "income", "dose"], axis=1).assign(smokes=X["smokes"])
    one_by_one = [plan.sums(X.iloc[[i]], y[[i]]) for i in range(30)]
    for other in (
        plan.sums(X.iloc[order], y[order]),
        plan.sums(spread, y),
        plan.sums(X.astype({"smokes": "category"}), y),
        sum(one_by_one[1:], one_by_one[0]),
    ):
        assert (other.counts == whole.counts).all()
        assert (other.sums == whole.sums).all()
        assert (other.second == whole.second).all()


def exact_statistics(X, y, sizes=None):
    """The clipped statistics by definition, in floating point, from the columns' own formulas."""
    u = np.rint(np.clip(X, 0, 1) * 2**16) / 2**16
    x = np.clip(X, 0, 1)
    z = np.hstack([2 * x - 1] + [-np.cos(j * np.pi * u) / np.sqrt(j) for j in (2, 3)])
    # The expected squared norm: 4/12 of a uniform 2x − 1, and half of each cosine's 1/j.
    radius = 0.8 * np.sqrt(X.shape[1] * (1 / 3 + 1 / 4 + 1 / 6))
    z *= np.minimum(1, radius / np.linalg.norm(z, axis=1))[:, None]
    w = np.ones(len(X)) if sizes is None else 1 / sizes
    one_hot = (y[:, None] == np.array(CLASSES)) * w[:, None]
    kept = one_hot.any(axis=1)
    return one_hot.sum(axis=0), one_hot.T @ z, (z * (w * kept)[:, None]).T @ z, radius


@pytest.mark.parametrize("by_group", [False, True])
def test_without_noise_the_sums_are_those_of_clipped_rows(by_group, rows):
    X, y, groups = rows
    sizes = np.bincount(groups)[groups] if by_group else None
    unit = {"privacy_unit": "group"} if by_group else {}
    source = seeded(np.inf, **unit)
    accumulator = source.accumulator(5)
    accumulator.add(X, y, groups if by_group else None)
    sums = accumulator._exact()
    step = accumulator.plan.grid.step
    counts, first, second, radius = exact_statistics(X, y, sizes)
    n = len(X)
    assert accumulator.plan.grid.radius == pytest.approx(radius)
    # Truncation moves each element of a row by less than two steps, of 2^-16 of the radius.
    assert sums.counts / 2**30 == pytest.approx(counts, abs=n * 2**-30)
    assert np.abs(sums.sums * step - first).max() < 2 * n * step
    assert np.abs(sums.second * step**2 - second).max() < 4 * n * step * radius
    # The moments count half a row more of each class.
    release = source.fit_accumulated(accumulator).release_
    counts += 0.5
    assert release.moments.class_counts == pytest.approx(counts, abs=1e-5)
    means = (first / counts[:, None])[:, :5] / 2
    found = release.moments.means - 0.5
    longer = np.linalg.norm(found) / np.linalg.norm(means)  # as rows were before clipping
    assert 1 < longer < 1.5
    assert found == pytest.approx(longer * means, abs=1e-4)


def test_it_is_neither_pickled_nor_copied():
    accumulator = seeded().accumulator(3)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        for private in (accumulator, accumulator._exact()):
            with pytest.raises(
                TypeError, match=r"without noise,? and cannot be pickled or copied"
            ):
                attempt(private)
    with pytest.raises(TypeError, match="without noise and cannot be pickled or copied"):
        accumulator.__getstate__()


def test_reprs_say_nothing_of_the_rows(rows):
    X, y, groups = rows
    accumulator = seeded(privacy_unit="group").accumulator(5)
    accumulator.add(X, y, groups)
    sums = accumulator._exact()
    private = accumulator.plan.label(X, [y], groups)
    for text in map(repr, (accumulator, sums, private)):
        assert "array" not in text
        assert "frozenset" not in text


@pytest.mark.parametrize("announced", [{}, {"n_features": 0}, {"n_features": "3"}])
def test_columns_must_be_announced(announced):
    with pytest.raises(ValueError, match="whole number above 0"):
        seeded().accumulator(**announced)


def test_a_person_in_two_chunks_is_refused_and_nothing_is_added(rows):
    X, y, _ = rows
    source = seeded(privacy_unit="group")
    accumulator = source.accumulator(5)
    accumulator.add(X[:4], y[:4], ["ann", "ann", "bob", "zoe"])
    with pytest.raises(ValueError, match="several chunks") as error:
        accumulator.add(X[4:6], y[4:6], ["eve", "zoe"])
    assert "zoe" not in str(error.value)
    accumulator.add(X[6:8], y[6:8], ["eve", "kim"])
    after = accumulator._exact()
    assert after.persons == {"ann", "bob", "zoe", "eve", "kim"}
    # Somebody whose rows are of no class was there too.
    accumulator.add(X[:1], ["d"], ["only d"])
    with pytest.raises(ValueError, match="several chunks"):
        accumulator.add(X[:1], ["a"], ["only d"])


@pytest.mark.parametrize(
    "other",
    [
        {"classes": ["a", "b", "x"]},
        {"classes": ["a", "b"]},
        {"bounds": (0, 2)},
        {"bounds": (-1e-9, 1)},
        {"privacy_unit": "group"},
    ],
)
def test_sums_of_other_parameters_are_refused(other):
    accumulator = seeded().accumulator(3)
    with pytest.raises(ValueError, match="source with other parameters"):
        seeded(**other).fit_accumulated(accumulator)
    with pytest.raises(ValueError, match="source with other parameters"):
        seeded(**other).guarantee_for(accumulator)


def test_noise_alone_is_no_release(rows):
    X, y, _ = rows
    ledger = PrivacyLedger(epsilon=1.0)
    source = seeded(ledger=ledger)
    accumulator = source.accumulator(n_features=5)
    with pytest.raises(ValueError, match="other columns than the 5"):
        accumulator.add(X[:, :4], y)
    with pytest.raises(ValueError, match="Nothing was added"):
        source.fit_accumulated(accumulator)
    assert not ledger.entries
    accumulator.add(
        X[:0], y[:0]
    )  # no rows are private rows too: nothing tells that there are none
    source.fit_accumulated(accumulator)
    assert len(ledger.entries) == 1


def _with_no_rows(accumulator, n_features):
    accumulator.add(np.empty((0, n_features)), [])
    return accumulator


def test_what_it_learns_does_not_tell_how_many_rows_there_were(rng, tmp_path):
    sizes, shapes = set(), set()
    for n, classes in ((10, 2), (10_000, 3), (10_000, 1)):
        X, y = rng.rand(n, 5), rng.choice(CLASSES[:classes], n)
        release = DPStatisticsSource(1.0, classes=CLASSES, model="linear").fit(X, y).release_
        sizes.add(len(file_of(release, tmp_path)))
        parts = (release.moments, release.linear, release.linear.basis)
        shapes.add(
            tuple(
                (name, array.shape, array.dtype.str)
                for part in parts
                for name, array in vars(part).items()
                if isinstance(array, np.ndarray)
            )
        )
    nothing = DPStatisticsSource(1.0, classes=CLASSES)
    nothing.fit_accumulated(_with_no_rows(nothing.accumulator(5), 5))
    sizes.add(len(file_of(nothing.release_, tmp_path)))
    assert len(shapes) == 1
    assert len(sizes) == 1


def test_a_failed_release_leaves_nothing_old_behind():
    source = seeded()
    source.fit_accumulated(_with_no_rows(source.accumulator(2), 2))
    assert hasattr(source, "release_")
    with pytest.raises(ValueError, match="other parameters"):
        source.fit_accumulated(seeded(bounds=(0, 2)).accumulator(2))
    assert not hasattr(source, "release_")
    forget_fit(source)


def test_threads_lose_and_double_nobody(monkeypatch):
    def slowly(*persons):
        refuse_shared_persons(*persons)
        time.sleep(1e-4)  # time for other threads to come between check and sum

    monkeypatch.setattr(_accumulator, "refuse_shared_persons", slowly)
    source = DPStatisticsSource(classes=CLASSES, privacy_unit="group", model="linear")
    accumulator, n_chunks, n = source.accumulator(2), 200, 20
    rng = np.random.RandomState(0)
    chunks = [(rng.rand(n, 2), rng.choice(CLASSES, size=n)) for _ in range(n_chunks)]
    refused = []

    def add(i):
        # Each chunk comes twice, of which one is refused: nobody may be summed twice.
        try:
            accumulator.add(*chunks[i % n_chunks], np.arange(n) + n * (i % n_chunks))
        except ValueError:
            refused.append(i)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, rng.permutation(2 * n_chunks)))
    assert len(refused) == n_chunks
    exact = accumulator._exact()
    assert exact.persons == frozenset(range(n * n_chunks))
    once = source.accumulator(2)
    X, y = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    once.add(X, y, np.arange(n * n_chunks))
    expected = once._exact()
    for name in ("counts", "sums", "second"):
        assert_array_equal(getattr(exact, name), getattr(expected, name))
