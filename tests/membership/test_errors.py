import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import CDMMAClassifier, WideCDMMAClassifier
from skdp.membership import error_sums, group_errors, group_temperature
from skdp.membership._errors import error_temperature


def sums_of(errors):
    return [(len(e), e.sum(), (e**2).sum()) for e in errors]


def test_temperature_recovers_the_variance_of_gaussian_residuals(rng):
    # Squared norms of Gaussian residuals in 40 of 64 directions: T must be 2·variance.
    errors = [((0.3 * rng.randn(20_000, 40)) ** 2).sum(axis=1) for _ in range(3)]
    assert_allclose(error_temperature(sums_of(errors), 64), 2 * 0.3**2, rtol=0.03)


def test_temperature_uses_no_more_directions_than_features():
    sums = sums_of([np.full(10, 3.0), np.full(10, 5.0)])
    assert_allclose(error_temperature(sums, 4), 2.0)


def test_rows_without_error_have_a_temperature_too():
    assert 0 < error_temperature(sums_of([np.zeros(4), np.zeros(2)]), 3) < 1e-50


def test_error_sums_count_add_and_square(rng):
    X, fitted = rng.rand(2, 30, 4).astype(np.float32)
    errors = ((X - fitted).astype(float) ** 2).sum(axis=1)
    sums = error_sums(X, fitted)
    assert sums.dtype == np.float64
    assert_allclose(sums, [30, errors.sum(), (errors**2).sum()], rtol=1e-5)


@pytest.fixture(scope="module")
def classifier(split):
    X, _, y, _ = split
    return WideCDMMAClassifier(4, n_layers=1, subset_size=60, random_state=0).fit(X, y)


def test_the_temperature_of_groups_is_that_of_all_their_training_rows(classifier):
    groups = classifier.autoencoders_by_class()
    sums = [np.sum([a.training_error_sums_ for a in group], axis=0) for group in groups]
    assert group_temperature(groups) == error_temperature(sums, 64) == classifier.temperature_


def test_group_errors_are_the_least_of_each_group(classifier, split):
    X_test = split[1]
    groups = classifier.autoencoders_by_class()
    errors = group_errors(groups, X_test, dtype=X_test.dtype, n_jobs=2)
    slow = [np.min([a.reconstruction_error(X_test) for a in group], axis=0) for group in groups]
    assert_allclose(errors, np.transpose(slow), rtol=1e-9)
    assert_array_equal(errors, classifier.reconstruction_errors(X_test))


def test_rows_are_embedded_by_group_and_errors_reduced_by_block(split):
    X, X_test, y, _ = split
    groups = CDMMAClassifier(4, n_layers=1, random_state=0).fit(X, y).autoencoders_by_class()
    shifts = 0.01 * np.arange(10)
    best = group_errors(
        groups,
        X_test,
        dtype=X_test.dtype,
        embed=lambda Y: (Y + shift for shift in shifts),
        reduce=lambda errors: errors.min(axis=1),
    )
    slow = [a.reconstruction_error(X_test + s) for [a], s in zip(groups, shifts, strict=True)]
    assert_allclose(best, np.min(slow, axis=0), rtol=1e-9)
