"""Noise-aware transfer: what its steps add up to."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skdp import DPSource, DPTransferClassifier, GaussianDPNoise, OptimalDPNoise
from skdp.datasets import hide_labels


def test_a_good_source_helps_and_a_hopeless_one_is_ignored(release, domains, same):
    X, _, marked, X_test, y_test = same
    good = DPTransferClassifier(release, random_state=0).fit(X, marked)
    alone = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
    assert good.source_weight_ > 0.2
    assert good.score(X_test, y_test) > alone.score(X_test, y_test)
    noise = OptimalDPNoise(1e-3, random_state=np.random.RandomState(0))
    source = DPSource(noise=noise, n_layers=1, random_state=0)
    source.fit(domains.source, domains.source_target)
    hopeless = DPTransferClassifier(source, random_state=0).fit(X, marked)
    assert hopeless.source_weight_ < 0.1
    assert hopeless.score(X_test, y_test) > alone.score(X_test, y_test) - 0.03
    assert alone.source_weight_ == 0


def test_private_rows_of_a_whole_record_still_help():
    # Means of 3,000 rows survive noise in which no row can be seen.
    spread, gains = np.linspace(2, 7, 20), []
    for seed in range(2):
        rng = np.random.RandomState(seed)
        means = 3 * rng.randn(4, 20)
        labels, y = rng.randint(0, 4, 12_000), rng.randint(0, 4, 400)
        rows = means[labels] + rng.randn(12_000, 20) * spread
        X = means[y] + rng.randn(400, 20) * spread
        low, high = np.full(20, -40.0), np.full(20, 40.0)
        noise = GaussianDPNoise(8.0, privacy_unit="record", bounds=(low, high), random_state=rng)
        source = DPSource(noise=noise, n_components=2, n_layers=1, n_inducing=50, random_state=0)
        source.fit(rows, labels)
        assert source.guarantee_.unit == "record"
        marked = np.full(400, -1)
        for c in range(4):
            marked[np.flatnonzero(y == c)[:3]] = c
        shared = DPTransferClassifier(source, random_state=0).fit(X, marked)
        alone = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
        gains.append(np.mean(shared.transduction_ == y) - np.mean(alone.transduction_ == y))
    assert np.mean(gains) > 0.05
    assert min(gains) > -0.02


def test_units_of_the_target_do_not_matter(same):
    X, _, marked, X_test, _ = same
    models = [
        DPTransferClassifier(unlabeled=-1, random_state=0).fit(scale * X + shift, marked)
        for scale, shift in ((1.0, 0.0), (256.0, 1024.0))
    ]
    assert_array_equal(models[0].transduction_, models[1].transduction_)
    assert_array_equal(models[0].predict(X_test), models[1].predict(256 * X_test + 1024))


def test_scores_are_log_posteriors_and_add_up(denoised_release, same):
    X, _, marked, X_test, _ = same
    model = DPTransferClassifier(denoised_release, random_state=0).fit(X, marked)
    parts = model.source_scores(X_test) + model.target_scores(X_test)
    constant = model.decision_function(X_test) - parts
    assert_allclose(constant, np.broadcast_to(constant[0], constant.shape), atol=1e-9)
    probabilities = model.predict_proba(X_test)
    assert_allclose(probabilities, softmax(model.decision_function(X_test), axis=1))
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X_test))
    assert not hasattr(DPTransferClassifier(strategy="alignment"), "predict_proba")


def test_history_has_weights_and_trust(denoised_release, same, capsys):
    X, _, marked, _, _ = same
    model = DPTransferClassifier(denoised_release, n_components=(2, 3, 4), tol=0.0, verbose=1)
    history = model.fit(X, marked).history_
    assert history["round"] == [0, 1, 2, 3]
    assert history["source_weight"][-1] == model.source_weight_
    assert all(0.5 < share <= 1 for share in history["trusted"][1:])
    assert "trusted" in capsys.readouterr().out


@pytest.mark.parametrize("per_class", [1, 2])
def test_very_few_labels_are_enough(denoised_release, same, per_class):
    X, y, _, X_test, y_test = same
    marked = hide_labels(y, per_class, random_state=0)
    for source in (denoised_release, None):
        model = DPTransferClassifier(source, unlabeled=-1, random_state=0).fit(X, marked)
        assert model.score(X_test, y_test) > 0.5


def test_other_dimensions_and_missing_classes(denoised_release, other):
    X, y, marked, X_test, y_test = other
    kept = (y != 3) & (y != 8)
    model = DPTransferClassifier(denoised_release, random_state=0).fit(X[kept], marked[kept])
    assert list(model.classes_) == [0, 1, 2, 4, 5, 6, 7, 9]
    seen = np.isin(y_test, model.classes_)
    assert model.score(X_test[seen], y_test[seen]) > 0.75


@pytest.mark.parametrize("n_features", [1, 2, 4])
def test_rows_may_repeat(rng, n_features):
    y = rng.randint(0, 2, 200)
    X = (rng.rand(200, n_features) < 0.2 + 0.6 * y[:, np.newaxis]).astype(float)
    marked = np.where(np.arange(200) < 40, y, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
        assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X, y) > 0.7
    model.fit(np.ones((200, n_features)), marked)
    assert np.isfinite(model.predict_proba(X)).all()


def test_both_scorers_of_the_target_count_alike(same):
    X, _, marked, X_test, _ = same
    model = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
    rule = model.model_
    codes = rule._subspace.encode(X_test)
    parts = [
        scorer.scores(codes) / unit
        for scorer, unit in zip(rule._target_scorers, rule._combination.target_units, strict=True)
    ]
    assert rule._target_scorers[0].classifier is model.target_classifier_
    scores = model.target_scores(X_test)
    expected = parts[0] + parts[1]
    # Up to a constant for each row, and a unit.
    scores, expected = (s - s.mean(axis=1, keepdims=True) for s in (scores, expected))
    assert_allclose(scores, expected * (scores.std() / expected.std()), atol=1e-6)
    assert all(np.abs(part - part.mean(axis=1, keepdims=True)).mean() > 0.1 for part in parts)
