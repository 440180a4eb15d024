import numpy as np
import pytest

from skdp.release import BasisFunctions
from skdp.source import PrivateRows, RowGrid
from skdp.source._door import read_persons
from skdp.source._integers import ExactSums
from skdp.tabular import ClassOutcome

GRID, ROW = 2**16, 2**30
CLASSES = np.array(["a", "b", "c"])
OUTCOME = ClassOutcome(CLASSES)


def grid(n_columns=4, radius=1.0):
    basis = BasisFunctions.of_columns(np.zeros(n_columns, dtype=int), -1e6, 1e6, orders=())
    return RowGrid(basis, np.zeros(n_columns), radius)


def rows_of(rng, n, p=4):
    X = rng.choice([-1.0, 1.0], (n, p)) * 10.0 ** rng.uniform(-6, 6, (n, p))
    return X, CLASSES[rng.randint(3, size=n)]


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(arrays(a), arrays(b), strict=True))


def arrays(sums):
    return sums.counts, sums.sums, sums.second


def slow_sums(Q, y, sizes=None):
    """The definition, row by row, in Python's integers."""
    K, t = len(CLASSES), Q.shape[1]
    counts, sums, second = [0] * K, np.zeros((K, t), object), np.zeros((t, t), object)
    for i, (q, label) in enumerate(zip(Q.astype(int).tolist(), y, strict=True)):
        k = 1 if sizes is None else int(sizes[i])
        c = CLASSES.tolist().index(label)
        towards_zero = [int(a / k) for a in q]
        root = [int(a / np.sqrt(k)) for a in q]
        counts[c] += ROW // k
        sums[c] += np.array(towards_zero, object)
        second += np.outer(np.array(root, object), np.array(root, object))
    return counts, sums, second


@pytest.mark.parametrize("by_person", [False, True])
def test_sums_are_those_of_the_definition(by_person, rng):
    X, y = rows_of(rng, 60)
    groups = np.arange(60) // 7 if by_person else None
    rows = PrivateRows.of(X, [y], OUTCOME, groups)
    sums = rows.sums(grid())
    counts, first, second = slow_sums(grid().quantise(X), y, rows.sizes)
    assert sums.counts.tolist() == counts
    assert sums.sums.tolist() == first.tolist()
    assert sums.second.tolist() == second.tolist()


def test_order_and_chunks_make_no_difference(rng):
    X, y = rows_of(rng, 5000)
    whole = PrivateRows.of(X, [y], OUTCOME).sums(grid())
    order = rng.permutation(5000)
    assert equal(whole, PrivateRows.of(X[order], [y[order]], OUTCOME).sums(grid()))
    parts = [
        PrivateRows.of(X[i : i + n], [y[i : i + n]], OUTCOME).sums(grid())
        for i, n in [(3000, 2000), (0, 1), (1, 2999)]
    ]
    assert equal(whole, parts[0] + parts[1] + parts[2])


def test_one_row_more_moves_sums_of_a_million_by_no_more_than_its_own_norm(rng):
    X, y = rows_of(rng, 1_000_000)
    before = PrivateRows.of(X, [y], OUTCOME).sums(grid())
    # Sums of floats move by more than the least of the rows when only their order changes.
    assert np.abs(X.sum(axis=0) - X[::-1].sum(axis=0)).max() > np.abs(X).min()
    for row in ([1e6, 0, 0, 0], [1e-6] * 4, [7e5, -7e5, 1e5, 3.0], [1e9] * 4):
        at = rng.randint(len(X))
        more, labels = np.insert(X, at, row, axis=0), np.insert(y, at, "b")
        after = PrivateRows.of(more, [labels], OUTCOME).sums(grid())
        moved = [a - b for a, b in zip(arrays(after), arrays(before), strict=True)]
        assert moved[0].tolist() == [0, ROW, 0]
        assert not moved[1][[0, 2]].any()
        assert (moved[1][1] ** 2).sum() <= GRID**2
        assert float((moved[2].astype(float) ** 2).sum()) <= GRID**4
        assert moved[2].tolist() == np.outer(moved[1][1], moved[1][1]).tolist()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_all_rows_of_one_person_move_sums_no_more_than_one_row_can(size, rng):
    X = np.full((size, 4), 1e6) * rng.choice([-1, 1], (1, 4))  # all at the radius, alike
    y = CLASSES[rng.randint(3, size=size)]
    sums = PrivateRows.of(X, [y], OUTCOME, ["me"] * size).sums(grid())
    assert sums.counts.sum() <= ROW
    assert np.sqrt((sums.sums.astype(float) ** 2).sum()) <= GRID
    assert np.sqrt((sums.second.astype(float) ** 2).sum()) <= GRID**2
    if size <= 7:
        assert sums.counts.sum() > 0.999 * ROW
        assert np.trace(sums.second) > 0.999 * GRID**2


def test_a_person_with_rows_in_two_chunks_is_refused(rng):
    X, y = rows_of(rng, 6)
    one = PrivateRows.of(X[:3], [y[:3]], OUTCOME, ["ann", "ann", "bob"]).sums(grid())
    other = PrivateRows.of(X[3:], [y[3:]], OUTCOME, ["bob", "cy", "cy"]).sums(grid())
    with pytest.raises(ValueError, match="several chunks") as error:
        _ = one + other
    assert "bob" not in str(error.value)


def test_rows_of_no_class_are_left_out(rng):
    X, y = rows_of(rng, 30)
    strange = y.astype(object)
    strange[5:10] = ["d", None, np.nan, 3, "A"]
    kept = np.r_[0:5, 10:30]
    rows = PrivateRows.of(X, [strange], OUTCOME)
    assert equal(rows.sums(grid()), PrivateRows.of(X[kept], [y[kept]], OUTCOME).sums(grid()))


def test_labels_are_matched_by_value():
    labels = np.array([1.0, 0.0, 2.5, 1.0])
    rows = PrivateRows.of(np.zeros((4, 4)), [labels], ClassOutcome((0, 1)))
    assert rows.codes.tolist() == [1, 0, -1, 1]


def test_more_rows_than_64_bits_can_sum_are_refused():
    full = ExactSums(np.array([2**60, 0]), np.zeros((2, 1), np.int64), np.zeros((1, 1), np.int64))
    with pytest.raises(OverflowError, match="cannot be summed exactly"):
        _ = full + full


def test_a_missing_group_is_refused():
    with pytest.raises(ValueError, match="lacks the group"):
        read_persons(["ann", None], 2, "DPStatisticsSource")
