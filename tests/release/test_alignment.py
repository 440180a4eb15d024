import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.release import Alignment, class_medians


def test_medians_are_those_of_each_class(rng):
    codes, labels = rng.randn(31, 2), rng.randint(-1, 3, 31)
    expected = [[np.median(column[labels == c]) for column in codes.T] for c in range(3)]
    assert_allclose(class_medians(codes, labels, 3), expected)


@pytest.mark.parametrize("p", [1, 6, 7])
def test_half_of_the_directions_are_kept(rng, p):
    rows, labels = rng.randn(80, p) * np.arange(1, p + 1), np.arange(80) % 3
    alignment = Alignment.measure(rows, labels, 3)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rows.T)))
    leading = vectors[:, np.argsort(-values)[: (p + 1) // 2]].T
    assert_allclose(np.abs(alignment.components @ leading.T), np.eye(len(leading)), atol=1e-10)
    medians = class_medians(rows @ alignment.components.T, labels, 3)
    assert_allclose(alignment.class_medians, medians)
    assert_allclose(alignment.mean, rows.mean(axis=0))


def test_precision_is_that_of_the_rows(rng):
    rows, labels = rng.randn(80, 4).astype(np.float32), np.arange(80) % 2
    alignment = Alignment.measure(rows, labels, 2)
    assert alignment.components.dtype == alignment.class_medians.dtype == np.float32
    assert alignment.mean.dtype == np.float64
    assert_array_equal(alignment.mean, rows.mean(axis=0, dtype=np.float64))
