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
