import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DeepFuzzyClassifier, OptimalDPNoise


def test_merging_is_as_good_as_fitting_together(split, together, fit_apart):
    _, X_test, _, y_test, _ = split
    merged = DeepFuzzyClassifier.merge(fit_apart(split))
    assert merged.rules_ == together.rules_
    assert merged.score(X_test, y_test) > 0.93
    probabilities = merged.predict_proba(X_test)
    assert_allclose(probabilities.sum(axis=1), 1)


def test_merged_memberships_are_those_of_the_models(split, fit_apart):
    _, X_test, *_ = split
    models = fit_apart(split)
    merged = DeepFuzzyClassifier.merge(models)
    apart = np.hstack([model.memberships(X_test) for model in models])
    assert_array_equal(merged.memberships(X_test), apart)


def test_participants_may_have_different_classes_even_one(split):
    X, X_test, y, y_test, _ = split
    low = DeepFuzzyClassifier(random_state=0).fit(X[y < 5], y[y < 5])
    high = DeepFuzzyClassifier(random_state=0).fit(X[(y > 4) & (y < 9)], y[(y > 4) & (y < 9)])
    nine = DeepFuzzyClassifier(random_state=0).fit(X[y == 9], y[y == 9])
    assert_array_equal(nine.predict(X_test), 9)
    merged = DeepFuzzyClassifier.merge([low, high, nine])
    assert merged.participants_ == [0, 1, 2]
    assert_array_equal(merged.classes_, np.arange(10))
    assert merged.score(X_test, y_test) > 0.93


def test_bad_merges_are_refused(split, fit_apart):
    X, _, y, _, _ = split
    anna, ben, _ = fit_apart(split, max_layers=1)
    narrow = DeepFuzzyClassifier(max_layers=1).fit(X[:, :60], y)
    text = DeepFuzzyClassifier(max_layers=1).fit(X, y.astype(str))
    named = DeepFuzzyClassifier(max_layers=1).fit(
        pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)]), y
    )
    for models, message in [
        ([], "at least one model"),
        ([anna, narrow], r"models\[1\] has 60 features, models\[0\] has 64"),
        ([anna, text], r"models\[1\] has labels of type"),
        ([anna, named], "different feature names"),
        ([anna, ben, anna], r"models\[2\] has participants of another.*'anna'"),
        ([anna, "ben"], r"models\[1\] must be a DeepFuzzyClassifier, got str"),
    ]:
        with pytest.raises(ValueError, match=message):
            DeepFuzzyClassifier.merge(models)


def test_guarantees_travel_and_join(split, participants):
    X, _, y, _, groups = split
    models = [
        DeepFuzzyClassifier(noise=OptimalDPNoise(epsilon, delta), max_layers=1).fit(
            X[groups == name], y[groups == name], groups=groups[groups == name]
        )
        for name, epsilon, delta in zip(
            participants, (1.0, 4.0, 2.0), (1e-3, 1e-5, 0), strict=True
        )
    ]
    merged = DeepFuzzyClassifier.merge(models)
    assert [merged.guarantees_[name].epsilon for name in participants] == [1.0, 4.0, 2.0]
    # Disjoint data: nothing adds up, the weakest number of each kind holds for everybody.
    assert merged.guarantee_.epsilon == 4.0
    assert merged.guarantee_.delta == 1e-3
    assert merged.guarantee_.to_record().epsilon == 4.0 * 64
    assert "training rows" in merged.guarantee_.covers
    assert "queries" in merged.guarantee_.excludes
    plain = DeepFuzzyClassifier(max_layers=1).fit(X[:300], y[:300])
    assert DeepFuzzyClassifier.merge([*models, plain]).guarantee_ is None


def test_scales_of_errors_that_were_learned_apart_are_not_merged(split, tmp_path):
    X, X_test, y, _, groups = split
    rows = groups == "anna"
    plain = DeepFuzzyClassifier(max_layers=1).fit(X[~rows], y[~rows], groups=groups[~rows])
    own = DeepFuzzyClassifier(max_layers=1, error_scale="own").fit(
        X[rows], y[rows], groups=groups[rows]
    )
    own.save(tmp_path / "model")
    loaded = DeepFuzzyClassifier.load(tmp_path / "model")
    assert_array_equal(loaded.predict_proba(X_test), own.predict_proba(X_test))
    with pytest.raises(ValueError, match=r"'error_scale'.*set_params\(error_scale='shared'\)"):
        DeepFuzzyClassifier.merge([plain, own])
    merged = DeepFuzzyClassifier.merge([plain, own.set_params(error_scale="shared")])
    own.save(tmp_path / "model")
    loaded = DeepFuzzyClassifier.load(tmp_path / "model")
    assert_array_equal(loaded.predict_proba(X_test), own.predict_proba(X_test))
    assert merged.error_scale == "shared"
