import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import CDMMA, WideCDMMA
from skdp.membership import fit_autoencoders


def make(estimator, seed):
    return CDMMA(estimator.n_components, n_layers=1, random_state=seed)


@pytest.mark.parametrize(("subset_size", "counts"), [(None, [1, 1]), (100, [2, 1]), (50, [4, 2])])
def test_each_set_has_as_many_autoencoders_as_subsets(digits, subset_size, counts):
    X, y = digits
    sets = [X[y == 8], X[y == 1][:90]]
    groups = fit_autoencoders(WideCDMMA(3, random_state=0), make, sets, subset_size)
    assert [len(group) for group in groups] == counts
    rows = [sum(a.training_error_sums_[0] for a in group) for group in groups]
    assert rows == [len(X) for X in sets]


def test_seeds_are_drawn_before_anything_runs_in_parallel(digits):
    X, y = digits
    sets = [X[y == c] for c in range(4)]
    one, two = (
        fit_autoencoders(WideCDMMA(3, random_state=0, n_jobs=n_jobs), make, sets, 80)
        for n_jobs in (1, 2)
    )
    for group, other in zip(one, two, strict=True):
        for a, b in zip(group, other, strict=True):
            assert a.random_state == b.random_state
            assert_array_equal(a.components_, b.components_)
    seeds = [a.random_state for group in one for a in group]
    assert len(np.unique(seeds)) == len(seeds)


def test_progress_names_the_estimator(digits, capsys):
    X, _ = digits
    fit_autoencoders(WideCDMMA(3, random_state=0), make, [X[:50], X[50:100]], None, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" autoencoders")[0] for line in lines] == [
        "[WideCDMMA] 1/2",
        "[WideCDMMA] 2/2",
    ]
