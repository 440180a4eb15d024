import copy
import os

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, cross_val_score

from skdp import DeepFuzzyClassifier, OptimalDPNoise
from skdp.fuzzy import FuzzyRule
from skdp.utils._parallel import run_tasks
from skdp.utils._storage import load_arrays, save_arrays

PARTICIPANTS = np.array(["anna", "ben", "carl"])


@pytest.fixture(scope="module")
def split(digits):
    X, y = digits
    groups = PARTICIPANTS[np.arange(len(X)) % 3]
    return X[:1400], X[1400:], y[:1400], y[1400:], groups[:1400]


@pytest.fixture(scope="module")
def together(split):
    X, _, y, _, groups = split
    return DeepFuzzyClassifier(random_state=0).fit(X, y, groups=groups)


def fit_apart(split, **settings):
    X, _, y, _, groups = split
    return [
        DeepFuzzyClassifier(random_state=0, **settings).fit(
            X[groups == name], y[groups == name], groups=groups[groups == name]
        )
        for name in PARTICIPANTS
    ]


def test_accuracy_without_groups(split):
    X, X_test, y, y_test, _ = split
    model = DeepFuzzyClassifier(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.93
    assert model.participants_ == [None]
    assert model.rules_ == [FuzzyRule(None, k) for k in range(10)]


def test_one_autoencoder_for_each_participant_and_class(together, split):
    _, X_test, _, y_test, _ = split
    assert together.participants_ == list(PARTICIPANTS)
    assert together.rules_ == [FuzzyRule(s, c) for s in PARTICIPANTS for c in range(10)]
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


def test_explanations_name_who_and_what(together, split):
    _, X_test, *_ = split
    fired = together.explain(X_test[0], n_rules=3)
    strengths = [f.membership for f in fired]
    assert len(fired) == 3
    assert strengths == sorted(strengths, reverse=True)
    assert fired[0].rule.label == together.predict(X_test[:1])[0]
    assert_allclose(strengths[0], together.memberships(X_test[:1]).max())
    assert f"of participant '{fired[0].rule.participant}'" in str(fired[0])


def test_large_sets_are_split(split):
    X, X_test, y, y_test, _ = split
    model = DeepFuzzyClassifier(subset_size=60, random_state=0).fit(X, y)
    assert [len(group) for group in model.autoencoders_] == [
        -(-np.sum(y == c) // 60) for c in range(10)
    ]
    assert model.score(X_test, y_test) > 0.93


def test_merging_is_as_good_as_fitting_together(split, together):
    _, X_test, _, y_test, _ = split
    merged = DeepFuzzyClassifier.merge(fit_apart(split))
    assert merged.rules_ == together.rules_
    assert merged.score(X_test, y_test) > 0.93
    probabilities = merged.predict_proba(X_test)
    assert_allclose(probabilities.sum(axis=1), 1)


def test_merged_memberships_are_those_of_the_models(split):
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
    assert model.explain(X[0])[0].rule == FuzzyRule("lone", int(y[0]))
    assert np.isfinite(model.decision_function(X_test)).all()


def test_bad_merges_are_refused(split):
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
        ([anna, ben, anna], r"models\[2\] names a participant.*'anna'"),
        ([anna, "ben"], r"models\[1\] must be a DeepFuzzyClassifier, got str"),
    ]:
        with pytest.raises(ValueError, match=message):
            DeepFuzzyClassifier.merge(models)


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
    # Without clustering, the sets' centres are the codes of the noisy rows.
    noisy = seen[0][1][y[groups == "anna"] == 0]
    exact = DeepFuzzyClassifier(n_inducing=1.0, max_layers=1, random_state=0)
    [alone] = exact.fit(noisy, np.zeros(len(noisy))).autoencoders_[0]
    assert_allclose(model.autoencoders_[0][0].components_, alone.components_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_infinite_epsilon_is_exactly_the_non_private_model(split):
    X, X_test, y, _, groups = split
    private = DeepFuzzyClassifier(noise=OptimalDPNoise(np.inf), random_state=0)
    plain = DeepFuzzyClassifier(random_state=0)
    expected = plain.fit(X, y, groups=groups).decision_function(X_test)
    assert_array_equal(private.fit(X, y, groups=groups).decision_function(X_test), expected)


def test_guarantees_travel_and_join(split):
    X, _, y, _, groups = split
    models = [
        DeepFuzzyClassifier(noise=OptimalDPNoise(epsilon, delta), max_layers=1).fit(
            X[groups == name], y[groups == name], groups=groups[groups == name]
        )
        for name, epsilon, delta in zip(
            PARTICIPANTS, (1.0, 4.0, 2.0), (1e-3, 1e-5, 0), strict=True
        )
    ]
    merged = DeepFuzzyClassifier.merge(models)
    assert [merged.guarantees_[name].epsilon for name in PARTICIPANTS] == [1.0, 4.0, 2.0]
    # Disjoint data: nothing adds up, the weakest number of each kind holds for everybody.
    assert merged.guarantee_.epsilon == 4.0
    assert merged.guarantee_.delta == 1e-3
    assert merged.guarantee_.to_record().epsilon == 4.0 * 64
    assert "training rows" in merged.guarantee_.covers
    assert "queries" in merged.guarantee_.excludes
    plain = DeepFuzzyClassifier(max_layers=1).fit(X[:300], y[:300])
    assert DeepFuzzyClassifier.merge([*models, plain]).guarantee_ is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_save_and_load(split, tmp_path, dtype):
    X, X_test, y, _, groups = split
    frame = pd.DataFrame(X.astype(dtype), columns=[f"pixel {i}" for i in range(64)])
    model = DeepFuzzyClassifier(noise=OptimalDPNoise(4.0), n_components=8, random_state=0)
    model.fit(frame, y.astype(str), groups=groups)
    model.save(tmp_path / "model.skdp")
    loaded = DeepFuzzyClassifier.load(tmp_path / "model.skdp")
    test = pd.DataFrame(X_test.astype(dtype), columns=frame.columns)
    assert_array_equal(loaded.decision_function(test), model.decision_function(test))
    assert_array_equal(loaded.predict_proba(test), model.predict_proba(test))
    assert loaded.rules_ == model.rules_
    assert loaded.guarantees_ == model.guarantees_
    assert loaded.get_params()["n_components"] == 8
    assert_array_equal(loaded.classes_, model.classes_)
    assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    merged = DeepFuzzyClassifier.merge([loaded])
    assert_array_equal(merged.predict(test), model.predict(test))


def test_a_saved_private_model_does_not_hold_a_planted_secret(split, tmp_path):
    # A row of a distinctive constant: no array of the file holds the value, nor its mean.
    X, _, y, _, _ = split
    X = X.copy()
    secret = 0.7306195428173409
    X[0] = secret
    y = np.where(np.arange(len(y)) == 0, 11, y)  # a class of its own: its mean is the secret
    model = DeepFuzzyClassifier(noise=OptimalDPNoise(1.0), max_layers=1).fit(X, y)
    model.save(tmp_path / "model.skdp")
    with np.load(tmp_path / "model.skdp", allow_pickle=False) as arrays:
        for name in arrays.files:
            values = np.asarray(arrays[name], dtype=float)
            assert not np.isclose(values, secret, rtol=1e-9).any(), name
    [exact] = DeepFuzzyClassifier(max_layers=1).fit(X, y).autoencoders_[-1]
    assert_allclose(exact.reconstruct(X[:1]), secret, rtol=1e-4)  # without noise it would


@pytest.mark.parametrize(
    "damage",
    [
        lambda header, arrays: header.pop("rules"),
        lambda header, arrays: header["rules"].pop(),
        lambda header, arrays: header["n_parts"].pop(),
        lambda header, arrays: header.update(n_parts=[], rules=[]),
        lambda header, arrays: header["parameters"].update(noise="optimal", colour="red"),
        lambda header, arrays: header.update(dtype="no such type"),
        lambda header, arrays: header.update(dtype=None),
        lambda header, arrays: header.update(dtype="<f4"),
        lambda header, arrays: header["parameters"].pop("n_voters"),
        lambda header, arrays: header["parameters"].update(n_voters=0),
        lambda header, arrays: header["n_parts"].__setitem__(0, 0),
        lambda header, arrays: header["rules"].__setitem__(0, header["rules"][1]),
        lambda header, arrays: header["rules"].__setitem__(0, [None, "zero"]),
        lambda header, arrays: header["rules"].__setitem__(0, ["nobody", 0]),
        lambda header, arrays: header.update(guarantees=[]),
        lambda header, arrays: header.update(feature_names=["one"]),
        lambda header, arrays: arrays.update({"0/0/weights": -arrays["0/0/weights"]}),
        lambda header, arrays: arrays.update({"0/0/weights": arrays["0/0/weights"][:-1]}),
        lambda header, arrays: arrays.update({"0/0/centres": arrays["0/0/centres"][:-1]}),
        lambda header, arrays: arrays.update({"0/0/centres": arrays["0/0/centres"][:, :-1]}),
        lambda header, arrays: arrays.update({"0/0/precisions": np.zeros(1)}),
        lambda header, arrays: arrays.update({"0/0/precisions": np.zeros(0)}),
        lambda header, arrays: arrays.update({"0/0/error_sums": np.array([3.0, -1.0, 1.0])}),
        lambda header, arrays: arrays.update({"0/0/error_sums": np.zeros(2)}),
        lambda header, arrays: arrays.update({"0/0/coef0": arrays["0/0/coef0"].astype(complex)}),
        lambda header, arrays: arrays.pop("0/0/centres"),
        lambda header, arrays: arrays.update({"0/0/components": np.eye(3)}),
        lambda header, arrays: arrays.update({"0/0/coef0": arrays["0/0/coef0"] * np.nan}),
    ],
)
def test_a_well_formed_file_that_is_no_model_is_refused(split, tmp_path, damage):
    X, _, y, *_ = split
    path = tmp_path / "model"
    DeepFuzzyClassifier(random_state=0).fit(X[:200], y[:200]).save(path)
    header, arrays = load_arrays(path, "DeepFuzzyClassifier")
    damage(header, arrays)
    save_arrays(path, "DeepFuzzyClassifier", header, arrays)
    with pytest.raises(ValueError, match="no working DeepFuzzyClassifier"):
        DeepFuzzyClassifier.load(path)


def test_a_callable_is_not_saved(split, tmp_path):
    X, _, y, _, _ = split
    model = DeepFuzzyClassifier(membership_function=np.negative, max_layers=1).fit(X, y)
    with pytest.raises(ValueError, match=r"'membership_function'.*no code"):
        model.save(tmp_path / "model.skdp")


def test_results_do_not_depend_on_n_jobs_or_backend(split, together):
    X, X_test, y, _, groups = split
    expected = together.decision_function(X_test)
    threads = DeepFuzzyClassifier(n_jobs=2, random_state=0).fit(X, y, groups=groups)
    assert_array_equal(threads.decision_function(X_test), expected)
    with joblib.parallel_config("loky", n_jobs=2):
        processes = DeepFuzzyClassifier(random_state=0).fit(X, y, groups=groups)
    assert_array_equal(processes.decision_function(X_test), expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_results_on_a_dask_cluster_are_identical(split, together):
    distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
    X, X_test, y, _, groups = split
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        processes = run_tasks(os.getpid, [()] * 4, 4)
        model = DeepFuzzyClassifier(random_state=0).fit(X, y, groups=groups)
        predictions = model.decision_function(X_test)
    assert os.getpid() not in processes  # the cluster did the work
    assert_array_equal(predictions, together.decision_function(X_test))


def test_groups_and_grid_search(split):
    X, _, y, _, groups = split
    model = DeepFuzzyClassifier(max_layers=1, random_state=0)
    scores = cross_val_score(model, X, y, groups=groups, cv=3)
    assert scores.min() > 0.85
    search = GridSearchCV(model, {"n_components": [1, 12]}, cv=3, error_score="raise")
    assert search.fit(X, y).best_params_ == {"n_components": 12}
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, groups=groups[:-1])
    with pytest.raises(ValueError, match="'noise' parameter of DeepFuzzyClassifier must be"):
        DeepFuzzyClassifier(noise="optimal").fit(X, y)
