"""Mixtures or normals behind noise: what is chosen, and from which rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.release import Mixtures, Moments
from skdp.source._rows_source import _likely_mixtures, denoised_codes
from skdp.utils._labels import stratified_folds


@pytest.mark.parametrize("apart", [2.0, 0.0])
def test_a_mixture_is_kept_where_it_explains_rows_it_has_not_seen(rng, apart):
    labels = rng.randint(0, 2, 10_000)
    rows = rng.randn(10_000, 10) + labels[:, np.newaxis]
    rows[:, 0] += apart * rng.choice([-1, 1], 10_000)
    noisy = rows + rng.randn(10_000, 10) * np.sqrt(0.3)
    noise, variances = np.full(10, 0.3), rows.var(axis=0)
    chosen = _likely_mixtures(noisy, labels, noise, variances, rng)
    assert (chosen is None) == (apart == 0)


def test_neither_side_of_the_choice_has_seen_the_rows_held_out(rng, monkeypatch):
    seen = []
    measure = Moments.measure.__func__
    fit = Mixtures.fit.__func__
    monkeypatch.setattr(
        Moments,
        "measure",
        classmethod(lambda cls, codes, *rest: seen.append(codes) or measure(cls, codes, *rest)),
    )
    monkeypatch.setattr(
        Mixtures,
        "fit",
        classmethod(lambda cls, codes, *rest: seen.append(codes) or fit(cls, codes, *rest)),
    )
    Z, labels = rng.randn(100, 3), np.arange(100) % 2
    state = np.random.RandomState(1)
    _likely_mixtures(Z, labels, np.ones(3), np.ones(3), state)
    kept = stratified_folds(labels, 10, np.random.RandomState(1)) != 0
    for codes in seen:
        assert_array_equal(codes, Z[kept])
    assert len(seen) == 2


def test_normals_allow_for_noise_that_is_correlated_between_directions(rng):
    labels = rng.randint(0, 2, 20_000)
    rows = (rng.randn(20_000, 2) * [2.0, 1.0]) @ [[1, 1], [1, -1]] / np.sqrt(2)
    rows[:, 0] += labels
    noise = np.array([0.1, 4.0])
    noisy = rows + np.sqrt(noise) * rng.randn(20_000, 2)
    moments = Moments.measure(noisy, np.eye(2)[labels], noise)
    subspace, normals, _ = denoised_codes(noisy, labels, moments, 2, rng, labels_exact=False)
    for c in range(2):
        clean = np.cov(subspace.encode(rows[labels == c]).T)
        assert_allclose(normals.covariances[c], clean, atol=0.08)


def test_a_class_with_a_single_row_is_no_obstacle(rng):
    Z, labels = rng.randn(25, 3), np.repeat([0, 1, 2], [1, 12, 12])
    chosen = _likely_mixtures(Z, labels, np.zeros(3), np.ones(3), rng)
    assert chosen is None or np.isin([0, 1, 2], chosen.class_indices).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("labels_exact", [True, False])
def test_codes_are_denoised_by_the_mixtures_of_their_class(rng, labels_exact, dtype):
    labels = rng.randint(0, 2, 600)
    noisy = (rng.randn(600, 4) + 2 * labels[:, np.newaxis] + rng.randn(600, 4)).astype(dtype)
    moments = Moments.measure(noisy, np.eye(2)[labels], np.ones(4))
    subspace, mixtures, codes = denoised_codes(
        noisy, labels, moments, 3, rng, labels_exact=labels_exact
    )
    assert codes.shape == (600, 3)
    assert codes.dtype == dtype
    assert labels_exact or not mixtures.is_multimodal
    expected = mixtures.denoise(subspace.encode(noisy), labels, subspace.noise(np.ones(4)))
    assert_allclose(codes, expected, rtol=1e-5, atol=1e-6)
