import numpy as np
from numpy.testing import assert_array_equal

from skdp.utils._random import draw_seeds


def test_seeds_are_those_of_scikit_learn():
    bound = np.iinfo(np.int32).max
    seeds = draw_seeds(np.random.RandomState(0), 50)
    assert_array_equal(seeds, np.random.RandomState(0).randint(bound, size=50))
    assert draw_seeds(np.random.RandomState(0)) == seeds[0]
    assert seeds.min() >= 0
