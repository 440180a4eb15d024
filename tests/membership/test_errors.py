"""Errors of groups of autoencoders, and the scales of classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from skdp import CDMMAClassifier, DeepFuzzyClassifier, WideCDMMAClassifier
from skdp.membership import (
    ErrorScales,
    error_sums,
    fit_error_scales,
    frozen_classifier,
    group_errors,
    group_temperature,
)
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
    settings = {"n_layers": 1, "subset_size": 60, "error_scale": "shared", "random_state": 0}
    return WideCDMMAClassifier(4, **settings).fit(X, y)


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
    assert_allclose(errors, classifier.reconstruction_errors(X_test), rtol=1e-9)


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


OWN = [
    CDMMAClassifier(5, n_layers=1, error_scale="own", random_state=0),
    WideCDMMAClassifier(5, n_layers=1, error_scale="own", random_state=0),
    DeepFuzzyClassifier(5, max_layers=1, error_scale="own", random_state=0),
]
each = pytest.mark.parametrize("classifier", OWN, ids=lambda c: type(c).__name__)


@pytest.fixture(scope="module")
def simulated():
    """Errors whose classes are drawn from the model, with powers and offsets that it had."""
    rng = np.random.RandomState(0)
    powers, offsets = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, -0.5])
    logs = rng.randn(40_000, 3)
    logs -= logs.mean()
    probabilities = softmax(offsets - powers * logs, axis=1)
    drawn = (rng.rand(len(logs), 1) > probabilities.cumsum(axis=1)).sum(axis=1)
    return np.exp(logs), drawn, powers, offsets


def test_powers_and_offsets_are_recovered(simulated):
    errors, drawn, powers, offsets = simulated
    scales = ErrorScales.from_errors(errors, drawn)
    assert_allclose(scales.powers, powers, atol=0.08)
    assert_allclose(scales.offsets, offsets, atol=0.08)
    # A tenth off is told from it.
    assert not np.allclose(1.1 * scales.powers, powers, atol=0.08)


def test_they_are_the_posterior_mode(simulated):
    errors, drawn, *_ = simulated
    errors, drawn = errors[:60], drawn[:60]
    scales = ErrorScales.from_errors(errors, drawn)

    def posterior(powers, offsets):
        logs = np.log(errors / scales.typical_error)
        chosen = softmax(offsets - powers * logs, axis=1)[np.arange(60), drawn]
        # The common power that is best for these powers.
        grid = np.exp(np.linspace(-3, 3, 60_001))
        deviations = 30 * ((powers[:, np.newaxis] - grid) ** 2).sum(axis=0)
        prior = deviations + np.log(grid) ** 2 + 3 * offsets @ offsets
        return np.log(chosen).sum() - 0.5 * prior.min()

    best = posterior(scales.powers, scales.offsets)
    for step in 0.05 * np.vstack([np.eye(6), -np.eye(6)]):
        assert posterior(scales.powers + step[:3], scales.offsets + step[3:]) < best


def test_without_evidence_the_nearest_reconstruction_wins(simulated):
    # Two rows hardly move powers apart; equal powers and offsets order classes by their errors.
    scales = ErrorScales(np.full(3, 2.5), np.zeros(3), 0.7, 1e-12)
    errors = simulated[0][:500]
    assert_array_equal(scales.scores(errors).argmax(axis=1), errors.argmin(axis=1))
    few = ErrorScales.from_errors(np.array([[0.1, 1.0], [1.0, 0.1]]), np.array([0, 1]))
    assert_allclose(few.powers[0], few.powers[1])
    assert_allclose(few.offsets, 0, atol=1e-6)


def test_errors_of_zero_and_beyond_all_bounds_stay_finite():
    errors = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [3.0, 0.0]])
    scales = ErrorScales.from_errors(errors, np.array([0, 0, 1, 1]))
    far = np.array([[0.0, np.finfo(np.float32).max]], dtype=np.float32)
    assert np.isfinite(scales.scores(far)).all()
    nothing = ErrorScales.from_errors(np.zeros((4, 2)), np.array([0, 0, 1, 1]))
    assert np.isfinite(nothing.scores(np.zeros((1, 2)))).all()


def test_errors_are_those_of_models_that_have_not_seen_the_row(monkeypatch, split):
    X, _, y, _ = split
    rows = np.flatnonzero(y < 2)[:40]
    X, y = X[rows], y[rows]
    seen, given = [], []

    class Recorder(CDMMAClassifier):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(X, y)

        def reconstruction_errors(self, X):
            given.append(X)
            return super().reconstruction_errors(X)

    used = []
    monkeypatch.setattr(ErrorScales, "from_errors", lambda *args: used.append(args))
    fit_error_scales(Recorder(5, n_layers=1, error_scale="own", random_state=0), X, y)
    assert len(seen) == len(given) == 5
    for kept, left_out in zip(seen, given, strict=True):
        assert not (kept[:, None] == left_out).all(axis=2).any()
        assert len(kept) + len(left_out) == 40
    [(errors, class_indices)] = used
    assert_array_equal(class_indices, y)
    alone = CDMMAClassifier(5, n_layers=1, random_state=0)
    alone.fit(seen[0], y[(X[:, None] == seen[0]).all(axis=2).any(axis=1)])
    left_out = (X[:, None] == given[0]).all(axis=2).any(axis=1)
    assert_allclose(errors[left_out], alone.reconstruction_errors(X[left_out]), rtol=1e-9)


@each
def test_the_models_of_the_classes_are_the_same(classifier, split):
    X, X_test, y, _ = split
    shared = clone(classifier).set_params(error_scale="shared").fit(X[:400], y[:400])
    own = clone(classifier).fit(X[:400], y[:400])
    errors = shared.reconstruction_errors(X_test)
    assert_array_equal(own.reconstruction_errors(X_test), errors)
    assert_allclose(own.decision_function(X_test), own.error_scales_.scores(errors))
    assert_allclose(own.predict_proba(X_test), softmax(own.error_scales_.scores(errors), axis=1))
    assert_array_equal(own.predict(X_test), own.predict_proba(X_test).argmax(axis=1))
    # Only what decides differs, so the other decision is a parameter away.
    own.set_params(error_scale="shared")
    assert_array_equal(own.decision_function(X_test), -errors)
    with pytest.raises(ValueError, match="fitted with error_scale='shared'"):
        shared.set_params(error_scale="own").predict(X_test)


@each
def test_overlapping_classes_of_unequal_frequency(classifier):
    X, y = load_breast_cancer(return_X_y=True)
    # Columns that say little, and few rows of one class.
    X, y = minmax_scale(X[:, [4, 8, 9, 14, 18]]), y
    keep = np.flatnonzero(y == 1).tolist() + np.flatnonzero(y == 0)[:90].tolist()
    X, X_test, y, y_test = train_test_split(X[keep], y[keep], stratify=y[keep], random_state=0)
    own = clone(classifier).set_params(n_components=2).fit(X, y)
    shared = clone(own).set_params(error_scale="shared").fit(X, y)
    majority = np.tile(np.bincount(y) / len(y), (len(y_test), 1))
    assert own.score(X_test, y_test) >= np.bincount(y_test).max() / len(y_test)
    assert own.score(X_test, y_test) > shared.score(X_test, y_test)
    assert log_loss(y_test, own.predict_proba(X_test)) < log_loss(y_test, majority)


@each
def test_a_class_of_a_single_row_is_refused(classifier, split):
    X, _, y, _ = split
    y = np.where(np.arange(len(y)) == 0, 11, y)
    with pytest.raises(ValueError, match=r"'error_scale' parameter of .*'shared' if a class"):
        clone(classifier).fit(X, y)
    with pytest.raises(ValueError, match=r"'error_scale' parameter of .* must be a str among"):
        clone(classifier).set_params(error_scale="each").fit(X, y)


def test_a_release_or_file_holds_none(split):
    X, X_test, y, _ = split
    own = clone(OWN[1]).fit(X[:300], y[:300])
    with pytest.raises(ValueError, match=r"'error_scale'.*set_params\(error_scale='shared'\)"):
        frozen_classifier(own)
    frozen = frozen_classifier(own.set_params(error_scale="shared"))
    assert_array_equal(frozen.predict_proba(X_test), own.predict_proba(X_test))
