import copy
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skdp import DeepFuzzyAutoencoder, DeepFuzzyClassifier, OptimalDPNoise
from skdp.fuzzy import FuzzyRule


def test_one_autoencoder_for_each_participant_and_class(together, split, participants):
    _, X_test, _, y_test, _ = split
    assert together.participants_ == list(participants)
    assert together.rules_ == [FuzzyRule(s, c) for s in participants for c in range(10)]
    assert together.score(X_test, y_test) > 0.93


def test_the_strongest_rule_decides(together, split):
    # (2.166), rule by rule from the autoencoders themselves.
    _, X_test, *_ = split
    strengths = np.column_stack([a.membership(X_test) for [a] in together.autoencoders_])
    assert_allclose(together.memberships(X_test), strengths, rtol=1e-9)
    labels = np.array([rule.label for rule in together.rules_])
    by_class = [strengths[:, labels == c].max(axis=1) for c in range(10)]
    assert_array_equal(together.predict(X_test), np.argmax(by_class, axis=0))


def test_voters_average_the_strongest_rules(together, split):
    _, X_test, _, y_test, _ = split
    errors = np.column_stack(
        [a.reconstruction_error(X_test) for [a] in together.autoencoders_]
    ).reshape(len(X_test), 3, 10)  # rules are ordered by participant, then class
    voting = copy.copy(together)
    for n_voters in (1, 2, 3, 99):
        expected = np.sort(errors, axis=1)[:, :n_voters].mean(axis=1)
        voting.set_params(n_voters=n_voters)
        assert_allclose(voting.decision_function(X_test), -expected, rtol=1e-9)
    assert voting.score(X_test, y_test) > 0.9


def test_a_participant_without_a_class_has_no_rule_for_it(split):
    X, _, y, _, groups = split
    keep = ~((groups == "ben") & (y == 3))
    model = DeepFuzzyClassifier(max_layers=1).fit(X[keep], y[keep], groups=groups[keep])
    assert FuzzyRule("ben", 3) not in model.rules_
    assert FuzzyRule("anna", 3) in model.rules_
    assert len(model.rules_) == 29


def test_a_group_with_a_single_row_works(split):
    X, X_test, y, _, groups = split
    groups = groups.astype(object)
    groups[0] = "lone"
    model = DeepFuzzyClassifier(max_layers=1, random_state=0).fit(X, y, groups=groups)
    assert FuzzyRule("lone", int(y[0])) in model.rules_
    assert model.explain(X[0]).rules[0].rule == FuzzyRule("lone", int(y[0]))
    assert np.isfinite(model.decision_function(X_test)).all()


def test_noise_is_what_the_autoencoders_see(split):
    X, _, y, _, groups = split
    seen = []

    class Recorder(OptimalDPNoise):
        def fit_transform(self, X, y=None):
            noisy = super().fit_transform(X)
            seen.append((X, noisy))
            return noisy

    model = DeepFuzzyClassifier(noise=Recorder(epsilon=2.0), max_layers=1, random_state=0)
    model.fit(X, y, groups=groups)
    assert len(seen) == 3  # once for each participant
    for clean, noisy in seen:
        assert (clean != noisy).mean() > 0.999
    # Without clustering, the sets' centers are the codes of the noisy rows.
    noisy = seen[0][1][y[groups == "anna"] == 0]
    exact = DeepFuzzyClassifier(20, n_inducing=1.0, max_layers=1, random_state=0)
    [alone] = exact.fit(noisy, np.zeros(len(noisy))).autoencoders_[0]
    assert_allclose(model.autoencoders_[0][0].components_, alone.components_, rtol=1e-9)


def test_scales_of_errors_are_learned_from_perturbed_rows_alone(split):
    X, _, y, _, groups = (part[:600] for part in split)
    seen = []

    class Recorder(OptimalDPNoise):
        def fit_transform(self, X, y=None):
            seen.append(len(X))
            return np.full_like(X, 0.5) + np.linspace(0, 0.1, X.size).reshape(X.shape)

    model = DeepFuzzyClassifier(noise=Recorder(), max_layers=1, error_scale="own", random_state=0)
    model.fit(X, y, groups=groups)
    assert len(seen) == 3  # once for each participant, not once for each fold
    again = DeepFuzzyClassifier(
        noise=Recorder(), max_layers=1, error_scale="own", random_state=0
    ).fit(X[::-1], y, groups=groups)
    # Other private rows, the same perturbed ones: nothing that is learned differs.
    assert_array_equal(model.error_scales_.powers, again.error_scales_.powers)


def test_the_rows_of_the_classes_decide_the_size_of_codes(rng):
    # Three directions and noise; a few rows say nothing of their number.
    X = rng.randn(2, 60, 3) @ rng.randn(2, 3, 30) + 0.1 * rng.randn(2, 60, 30)
    X[1] += 5

    def sizes(*counts):
        rows = np.concatenate([X[k, :n] for k, n in enumerate(counts)])
        model = DeepFuzzyClassifier(random_state=0).fit(rows, np.repeat([0, 1], counts))
        return [autoencoder.n_components_ for [autoencoder] in model.autoencoders_]

    assert max(sizes(60, 60)) <= 4
    assert sizes(7, 7) == [7, 7]  # of at most 20, all that they span
    assert DeepFuzzyAutoencoder(random_state=0).fit(X[0]).n_components_ <= 4
    # Participants, who do not see each other's rows, have codes of one size.
    model = DeepFuzzyClassifier(random_state=0).fit(X[0], np.zeros(60), groups=np.zeros(60))
    assert model.autoencoders_[0][0].n_components_ == 20


def test_scales_of_errors_are_learned_where_they_can_be(split):
    X, _, y, _, groups = split
    X, y, groups = X[:200], y[:200], groups[:200]
    alone = DeepFuzzyClassifier(max_layers=1, random_state=0).fit(X, y)
    assert len(alone.error_scales_.powers) == 10
    for fit in (
        lambda model: model.fit(X, y, groups=groups),
        lambda model: model.set_params(noise=OptimalDPNoise(8.0, bounds=(0, 1))).fit(X, y),
        lambda model: model.fit(X, np.where(np.arange(200) == 0, 11, y)),  # a single row
        lambda model: model.fit(X, np.zeros(200)),
    ):
        model = fit(clone(alone))
        assert not hasattr(model, "error_scales_")
        # The rule of the report.
        nearest = model.classes_[model.reconstruction_errors(X).argmin(axis=1)]
        assert_array_equal(model.predict(X), nearest)


def test_scales_of_columns_warn_and_tell_nothing_of_the_rows(rng):
    X, y = rng.rand(60, 4), np.resize([0, 1], 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DeepFuzzyClassifier(2).fit(X * [1, 1, 50, 1], np.resize([0, 1], 60))
    texts = []
    for size in (1e3, 1e5):
        with pytest.warns(UserWarning, match="StandardScaler") as record:
            DeepFuzzyClassifier(2).fit(X * [1, 1, size, 1], y)
        texts += {str(w.message) for w in record}
    assert len(set(texts)) == 1
