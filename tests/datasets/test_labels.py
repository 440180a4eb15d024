import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp.datasets import hide_labels


@pytest.mark.parametrize("marker", [-1, None])
@pytest.mark.parametrize("names", [[3, 5, 8], ["ant", "bee", "cow"]])
def test_some_labels_of_each_class_are_kept(marker, names):
    y = np.array(names)[np.arange(60) % 3]
    marked = hide_labels(y, 4, random_state=0, marker=marker)
    kept = np.array([label != marker for label in marked.tolist()])
    assert_array_equal(marked[kept], y[kept])
    assert [np.sum(y[kept] == name) for name in names] == [4, 4, 4]
    assert marked.dtype == (np.int64 if marker == -1 and names[0] == 3 else object)
    other = hide_labels(y, 4, random_state=1, marker=marker)
    assert any(a != b for a, b in zip(marked.tolist(), other.tolist(), strict=True))


def test_a_class_with_few_rows_keeps_all():
    assert_array_equal(hide_labels([0, 1, 1], 2, random_state=0), [0, 1, 1])


def test_a_mark_that_is_a_label_is_refused():
    with pytest.raises(ValueError, match="'marker' parameter of hide_labels is -1, which"):
        hide_labels([-1, 1, 1], 1)


def test_a_random_sample_has_the_frequencies_of_all_rows():
    y = np.repeat([0, 1], [900, 100])
    rare = []
    for seed in range(300):
        marked = hide_labels(y, 20, sampling="random", random_state=seed)
        assert_array_equal(marked[marked >= 0], y[marked >= 0])
        assert (marked >= 0).sum() == 20
        rare.append((marked == 1).sum())
    # Hypergeometric: mean 2, variance 20 * .09 * 980/999.
    assert abs(np.mean(rare) - 2) < 0.25
    assert abs(np.var(rare) - 1.77) < 0.5
    assert_array_equal(hide_labels(y, 5000, sampling="random", random_state=0), y)


def test_another_sampling_is_refused():
    with pytest.raises(ValueError, match="'sampling' parameter of hide_labels must be"):
        hide_labels([0, 1], 1, sampling="all")
