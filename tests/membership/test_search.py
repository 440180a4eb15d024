import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import CDMMA, WideCDMMA
from skdp.membership import group_errors
from skdp.membership._search import ReconstructionSearch, SearchCache

_SIZES = (3, 1, 2)


def _rows(rng, n, shift=0.0):
    """Rows of 150 features that vary along five directions, and a little along all."""
    return np.tanh(rng.randn(n, 5) @ np.full((5, 150), 0.2) * rng.rand(150) + shift) + 0.02 * (
        rng.randn(n, 150)
    )


@pytest.fixture(scope="module")
def groups():
    """Autoencoders of two layers in groups of three, one and two."""
    rng = np.random.RandomState(0)
    return [
        [CDMMA(6, n_layers=2, random_state=0).fit(_rows(rng, 60, 0.3 * g + s)) for s in range(n)]
        for g, n in enumerate(_SIZES)
    ]


@pytest.fixture(scope="module")
def queries():
    """Rows like those of training, rows with much noise, and rows so far that squares overflow."""
    rng = np.random.RandomState(1)
    near = np.vstack([_rows(rng, 300, shift) for shift in (0.0, 0.5, 1.0)])
    return np.vstack([near, near[:100] + rng.randn(100, 150), np.full((2, 150), 1e200)])


def _all_errors(groups, Y):
    """Errors of all layers of all autoencoders, (n_rows, n_autoencoders, n_layers)."""
    with np.errstate(over="ignore", invalid="ignore"):
        errors = [
            [((Y - output) ** 2).sum(axis=1) for _, output in a.candidates(Y)]
            for group in groups
            for a in group
        ]
    return np.array(errors).transpose(2, 0, 1)


def _check_winners(winners, errors):
    """Those that are named have the least error; several have where no kernel reaches a row."""
    positions = 2 * winners[:, 0] + winners[:, 1]
    assert_allclose(errors[np.arange(len(errors)), positions], errors.min(axis=1), rtol=1e-9)
    assert (positions == errors.argmin(axis=1)).mean() > 0.99


def test_each_group_has_its_winner(groups, queries):
    expected = _all_errors(groups, queries)[:-2]
    errors, winners = ReconstructionSearch(groups).winners_of_block(queries[:-2])
    ends = np.cumsum([0, *_SIZES])
    for g, (first, last) in enumerate(pairwise(ends)):
        own = expected[:, first:last].reshape(1000, -1)
        assert_allclose(errors[:, g], own.min(axis=1), rtol=1e-9)
        _check_winners(winners[:, g] - [first, 0], own)


def test_the_nearest_group_has_the_least_error_of_all(groups, queries):
    expected = _all_errors(groups, queries)[:-2]
    ends = np.cumsum([0, *_SIZES])
    least = [expected[:, first:last].min(axis=(1, 2)) for first, last in pairwise(ends)]
    least = np.stack(least, axis=1)
    found = ReconstructionSearch(groups).nearest_group(queries)
    assert_allclose(least[np.arange(1000), found[:-2]], least.min(axis=1), rtol=1e-9)
    assert (found[:-2] == least.argmin(axis=1)).mean() > 0.99
    assert_array_equal(found[-2:], 0)


def test_errors_are_those_of_the_plain_loop_and_finite(groups, queries):
    with np.errstate(over="ignore", invalid="ignore"):
        found = ReconstructionSearch(groups).errors(queries)
        expected = group_errors(groups, queries, dtype=queries.dtype)
    assert_allclose(found, expected, rtol=1e-9)
    assert np.isfinite(found).all()


def test_bounds_are_below_errors_and_rule_most_of_them_out(groups, queries):
    search = ReconstructionSearch(groups)
    Y = queries[:900]
    errors = _all_errors(groups, Y)
    bounds = np.full(errors.shape, np.nan)
    search._fill_bounds(bounds, Y, Y @ search.basis, None)
    assert (bounds <= errors * (1 + 1e-9)).all()
    least = errors.min(axis=(1, 2), keepdims=True)
    assert (bounds < least).mean() < 0.5
    assert (0.5 * bounds < least).mean() > (bounds < least).mean()


def test_the_basis_is_orthonormal_and_spared_where_it_saves_nothing(groups, digits):
    basis = ReconstructionSearch(groups).basis
    assert_allclose(basis.T @ basis, np.eye(64), atol=1e-12)
    X, y = digits
    narrow = [[CDMMA(4, n_layers=2, random_state=0).fit(X[y == c][:60])] for c in range(3)]
    search = ReconstructionSearch(narrow)
    assert search.basis.shape == (64, 0)
    expected = _all_errors(narrow, X)
    assert_allclose(search.errors(X), expected.min(axis=2), rtol=1e-9)
    assert_array_equal(search.nearest_group(X), expected.min(axis=2).argmin(axis=1))


def test_hardly_an_error_is_computed_to_find_the_group(groups, queries):
    search, counts = ReconstructionSearch(groups), []
    plain = search.wanted_errors

    def counted(Y, wanted, n_jobs=None):
        counts.append(wanted.sum())
        return plain(Y, wanted, n_jobs)

    search.wanted_errors = counted
    search.nearest_group(queries[:900])
    assert sum(counts) < 900 * 12 / 3
    counts.clear()
    search.errors(queries[:900])
    assert sum(counts) < 900 * 12 / 1.5


def test_a_row_is_reconstructed_by_the_winner(rng):
    X = np.vstack([_rows(rng, 150), _rows(rng, 150, 1.0)])
    wide = WideCDMMA(4, n_layers=2, subset_size=60, random_state=0).fit(X)
    outputs = np.array([o for a in wide.autoencoders_ for _, o in a.candidates(X)])
    codes = [np.pad(c, [(0, 0), (0, 4 - c.shape[1])]) for a in wide.autoencoders_
             for c, _ in a.candidates(X)]  # fmt: skip
    errors = ((X - outputs) ** 2).sum(axis=2)
    best, rows = errors.argmin(axis=0), np.arange(len(X))
    assert_allclose(wide.reconstruct(X), outputs[best, rows], rtol=1e-9)
    assert_allclose(wide.reconstruction_error(X), errors.min(axis=0), rtol=1e-9)
    assert_allclose(wide.transform(X), np.array(codes)[best, rows], rtol=1e-9, atol=1e-12)
    both = outputs.reshape(len(wide.autoencoders_), 2, *X.shape)
    assert_allclose(wide.layer_outputs(X), both[best // 2, :, rows].swapaxes(0, 1), rtol=1e-9)


def test_what_is_prepared_is_prepared_once_and_never_copied(groups):
    cache = SearchCache()
    search = cache(groups)
    assert cache(groups) is search
    for other in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert isinstance(other, SearchCache)
        assert other(groups) is not search
    model = groups[0][0]
    before = len(pickle.dumps(model))
    model.reconstruct(np.zeros((1, 150)))
    assert len(pickle.dumps(model)) == before
