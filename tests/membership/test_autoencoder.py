"""What all autoencoders share: the nearest reconstruction, and fits of many at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans

from skdp import CDMMA, CDMMAClassifier, WideCDMMA
from skdp.membership import _autoencoder, check_codes, fit_autoencoders
from skdp.membership._autoencoder import kmeans_partition, nearest, take_output

INFERENCES = ["gamma", "empirical"]


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize(
    ("X", "n_inducing"),
    [
        (np.c_[np.linspace(0, 1, 30), np.ones(30), np.linspace(0, 1, 30) ** 2], 0.5),
        (np.repeat(np.eye(4), 5, axis=0), 1.0),
        (np.array([[0.2, 0.4, 0.6]]), 0.5),
        (np.linspace(0, 1, 30)[:, None], 0.5),
        (np.eye(5, 40), 1.0),
        (np.zeros((10, 3)), 0.5),
        (np.vstack([np.linspace(0, 1, 40)[:, None] * np.ones(3), [[1e-9, 0, 0]]]), 1.0),
    ],
    ids=[
        "constant column",
        "duplicate rows",
        "one row",
        "p = 1",
        "N < n_components, M = N",
        "all zero",
        "numerically rank one",
    ],
)
@pytest.mark.parametrize("cls", [CDMMA, WideCDMMA])
def test_degenerate_data_stay_finite(cls, X, n_inducing, inference):
    autoencoder = cls(n_inducing=n_inducing, inference=inference, random_state=0).fit(X)
    assert np.isfinite(autoencoder.layer_outputs(X)).all()
    # Collapsed kernels would output zeros: a reconstruction must explain most of the data.
    # "empirical" smooths sets of a few dozen rows much more, by design.
    error = autoencoder.reconstruction_error(X).sum()
    if len(X) > 5:
        assert error <= {"gamma": 0.2, "empirical": 0.35}[inference] * (X**2).sum()


@pytest.mark.parametrize("estimator", [CDMMA(10, random_state=0), WideCDMMA(10, random_state=0)])
def test_single_precision_agrees_with_double(estimator, digits):
    X, y = digits
    double = clone(estimator).fit(X[y == 8])
    single = clone(estimator).fit(X[y == 8].astype(np.float32))
    assert single.reconstruct(X[:300]).dtype == np.float32
    assert single.transform(X[:300].astype(np.float32)).dtype == np.float32
    # Not the reconstructions: where two layers are equally near, rounding decides.
    assert_allclose(
        single.reconstruction_error(X[:300]), double.reconstruction_error(X[:300]), rtol=1e-3
    )
    assert_allclose(single.layer_outputs(X[:20]), double.layer_outputs(X[:20]), atol=2e-3)


def test_nearest_takes_the_first_of_the_least_errors():
    Y = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 0.0]])
    candidates = [(np.full((3, 1), k), np.full((3, 2), [2.0 * k, 0.0])) for k in range(3)]
    errors, codes = nearest(iter(candidates), Y, lambda code, _: code)
    assert_array_equal(errors, [0, 0, 1])
    assert_array_equal(codes.ravel(), [0, 2, 0])
    assert_array_equal(nearest(candidates, Y, take_output)[1][:, 0], [0, 4, 0])
    assert nearest(candidates, Y)[1] is None


@pytest.mark.parametrize("cls", [CDMMA, WideCDMMA])
def test_a_block_is_reconstructed_from_the_candidates_of_the_protocol(cls, eights):
    autoencoder = cls(4, n_layers=2, random_state=0).fit(eights)
    assert autoencoder.dtype_ == eights.dtype
    candidates = list(autoencoder.candidates(eights[:9]))
    assert [code.shape for code, _ in candidates] == [(9, 4), (9, 3)]
    expected = nearest(candidates, eights[:9], take_output)[1]
    assert_array_equal(autoencoder.reconstruct_block(eights[:9]), expected)
    assert_allclose(autoencoder.reconstruct(eights)[:9], expected, rtol=1e-9)
    held = sum(code.shape[1] + output.shape[1] for code, output in candidates)
    assert autoencoder.values_per_row() >= held


def test_codes_are_checked(eights):
    autoencoder = CDMMA(4, n_layers=1, random_state=0).fit(eights.astype(np.float32))
    assert check_codes(autoencoder, [[1, 2, 3, 4]]).dtype == np.float32
    with pytest.raises(ValueError, match="must have 4 columns, got 3"):
        check_codes(autoencoder, [[1, 2, 3]])
    with pytest.raises(ValueError, match="contains NaN"):
        check_codes(autoencoder, [[1, 2, 3, np.nan]])


@pytest.mark.parametrize(("subset_size", "counts"), [(None, [1, 1]), (100, [2, 1]), (50, [4, 2])])
def test_each_set_has_as_many_autoencoders_as_subsets(digits, subset_size, counts):
    X, y = digits
    sets = [np.flatnonzero(y == 8), np.flatnonzero(y == 1)[:90]]
    settings = {"n_layers": 1, "subset_size": subset_size, "random_state": 0}
    groups = fit_autoencoders(WideCDMMA(3, **settings), CDMMA, X, sets)
    assert [len(group) for group in groups] == counts
    rows = [sum(a.training_error_sums_[0] for a in group) for group in groups]
    assert rows == [len(own) for own in sets]


def test_seeds_are_drawn_before_anything_runs_in_parallel(digits):
    X, y = digits
    sets = [np.flatnonzero(y == c) for c in range(4)]
    settings = {"n_layers": 1, "random_state": 0}
    one, two = (
        fit_autoencoders(WideCDMMA(3, subset_size=80, n_jobs=n_jobs, **settings), CDMMA, X, sets)
        for n_jobs in (1, 2)
    )
    for group, other in zip(one, two, strict=True):
        for a, b in zip(group, other, strict=True):
            assert a.random_state == b.random_state
            assert_array_equal(a.components_, b.components_)
    seeds = [a.random_state for group in one for a in group]
    assert len(np.unique(seeds)) == len(seeds)


def test_partition_is_a_partition(rng):
    X = rng.rand(100, 3)
    subsets = kmeans_partition(X, 4, 0)
    assert len(subsets) == 4
    assert_array_equal(np.sort(np.concatenate(subsets)), np.arange(100))
    assert_array_equal(kmeans_partition(X, 1, 0)[0], np.arange(100))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_partition_of_duplicates_has_no_empty_subset():
    subsets = kmeans_partition(np.repeat(np.eye(2), 10, axis=0), 5, 0)
    assert sum(map(len, subsets)) == 20
    assert min(map(len, subsets)) > 0


def test_many_rows_are_partitioned_by_a_sample_of_them(rng, monkeypatch):
    monkeypatch.setattr(_autoencoder, "_CLUSTERED_ROWS", 60)
    monkeypatch.setattr(_autoencoder, "_CLUSTERED_ROWS_EACH", 30)
    X = rng.rand(500, 3)
    subsets = kmeans_partition(X, 4, 0)
    drawn = np.random.RandomState(0)
    sample = np.sort(drawn.choice(500, 120, replace=False))
    centers = KMeans(4, n_init=1, random_state=drawn).fit(X[sample]).cluster_centers_
    nearest_center = ((X[:, np.newaxis] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert len(subsets) == 4
    for s, rows in enumerate(subsets):
        assert_array_equal(rows, np.flatnonzero(nearest_center == s))


def test_progress_names_the_estimator(digits, capsys):
    estimator = CDMMAClassifier(3, n_layers=1, verbose=1, random_state=0)
    fit_autoencoders(estimator, CDMMA, digits[0], [np.arange(50), np.arange(50, 100)])
    said = [line.split(" autoencoders")[0] for line in capsys.readouterr().out.splitlines()]
    assert said == ["[CDMMAClassifier] 1/2", "[CDMMAClassifier] 2/2"]
