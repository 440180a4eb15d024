"""The circuit over digits, computed in clear by tables that check their ranges."""

import numpy as np
import pytest

from skdp.secure import combine_scores
from skdp.secure._circuit import BASES, encode, examples, make_circuit


class Table:
    """A table that refuses what it has no entry for; the library's wraps around."""

    def __init__(self, values):
        self.values = np.array(values)
        assert len(values) <= 16, "tables read at most 4 bits"

    def __getitem__(self, index):
        index = np.asarray(index)
        assert index.min() >= 0
        assert index.max() < len(self.values)
        return self.values[index]


class Clear:
    """What the circuit takes of the library, in clear."""

    LookupTable = Table

    @staticmethod
    def hint(x, bit_width):
        return x


def compute(query):
    names = [f"scores{i}" for i in range(len(query))]
    circuit = make_circuit(Clear, names, query.shape[1])
    return int(circuit(**{name: encode(row) for name, row in zip(names, query, strict=True)}))


def test_digits_stand_for_the_number():
    digits = encode(np.arange(256, dtype=np.uint8))
    weights = np.cumprod([1, *BASES[:0:-1]])[::-1]
    np.testing.assert_array_equal(digits[:, :3] @ weights, np.arange(256))
    assert (digits[:, :3] < BASES).all()
    np.testing.assert_array_equal(digits[:, 3:].sum(axis=1), BASES[0] - 1 - digits[:, 0])


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 10), (3, 10), (5, 10), (7, 3)])
def test_circuit_is_the_combination(shape):
    rng = np.random.RandomState(0)
    for largest in (256, 50, 8, 2):  # small ranges tie; low digits decide
        for offset in (0, 256 - largest):
            for query in offset + rng.randint(0, largest, (20, *shape)):
                assert compute(query) == combine_scores(query[:, None])[0]


def test_all_pairs_of_two_scores():
    for a in range(0, 256, 3):
        for b in (*range(max(a - 8, 0), min(a + 8, 256)), 0, 49, 48, 255):
            query = np.array([[255, b], [a, 255]])
            assert compute(query) == int(b < a)


def test_examples_reach_every_class_and_stay_within_the_tables():
    """Ranges that no table reads, such as that of the result, are measured on them."""
    queries = examples(3, 4)
    circuit = make_circuit(Clear, ["a", "b", "c"], 4)
    found = [int(circuit(a=a, b=b, c=c)) for a, b, c in queries]
    assert set(found) == {0, 1, 2, 3}
    first_digits = [np.min([rows[:, 0] for rows in query]) for query in queries]
    assert set(first_digits) == set(range(BASES[0]))
