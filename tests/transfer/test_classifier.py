import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from skdp.transfer._alignment import Alignment, paired_subspaces
from skdp.transfer._multitask import _MAX_INDUCING
from skdp.transfer._rounds import first_round
from skdp.transfer._schedule import make_schedule
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from skdp import (
    DPSource,
    DPTransferClassifier,
    LabeledSplit,
    MembershipMapping,
    WideCDMMAClassifier,
)

STRATEGIES = ["noise_aware", "alignment", "multitask"]
SCHEDULE = {"n_components": (2, 3, 4), "n_inducing": (0.1, 0.2, 0.25), "n_layers": 2}


# The papers' algorithms once more, row by row, from public estimators alone.


def slow_subspaces(source, X, marked):
    if X.shape[1] == source.n_features_in_:
        return source.components_, source.components_
    n = min(-(-source.n_features_in_ // 2), X.shape[1])
    values, vectors = np.linalg.eigh(np.cov(X.T))
    V_tg = vectors[:, np.argsort(-values)[:n]].T
    for k in range(n):
        medians = [np.median(X[marked == c] @ V_tg[k]) for c in source.classes_]
        if np.cov(medians, source.class_medians_[:, k])[0, 1] < 0:
            V_tg[k] *= -1
    return source.components_[:n], V_tg


def slow_alignment_errors(source, V_sr, V_tg, X, medians):
    errors = np.empty((len(X), len(medians)))
    for c, m_tg in enumerate(medians):
        m_sr = source.class_medians_[c][: len(V_sr)]
        moved = np.array([V_sr.T @ (V_tg @ y - m_tg + m_sr) for y in X])
        output = source.classifier_.autoencoders_[c].reconstruct(moved)
        errors[:, c] = [np.sum((a - b) ** 2) for a, b in zip(moved, output, strict=True)]
    return errors


def slow_medians(V_tg, X, labels):
    return [np.median([V_tg @ y for y in X[labels == c]], axis=0) for c in range(10)]


def fewer(X, marked):
    kept = (marked >= 0) | (np.arange(len(X)) < 150)
    return X[kept], marked[kept]


def schedule_models(seeds, inference):
    for n, ratio, depth in zip((2, 3, 4), (0.1, 0.2, 0.25), (1, 1, 2), strict=True):
        yield WideCDMMAClassifier(
            n, ratio, depth, inference=inference, random_state=seeds.randint(2**31 - 1)
        )


def initial_labels(rows, marked, seeds, inference):
    shown = marked >= 0
    n = min(20, np.bincount(marked[shown]).min() - 1)
    seed = seeds.randint(2**31 - 1)
    model = WideCDMMAClassifier(n, 1.0, 1, inference=inference, random_state=seed)
    labels = marked.copy()
    labels[~shown] = model.fit(rows[shown], marked[shown]).predict(rows[~shown])
    return labels


@pytest.mark.parametrize("domain", ["same", "other"])
def test_alignment_is_algorithm_7(release, domain, request):
    X, _, marked, X_test, _ = request.getfixturevalue(domain)
    X, marked, X_test = *fewer(X, marked), X_test[:20]
    fast = DPTransferClassifier(
        release, strategy="alignment", tol=0.0, random_state=0, **SCHEDULE
    ).fit(X, marked)

    seeds = np.random.RandomState(0)
    hidden = marked < 0
    V_sr, V_tg = slow_subspaces(release, X, marked)
    labels = initial_labels(X, marked, seeds, "gamma")
    shares = [0.0]
    for model in schedule_models(seeds, "gamma"):
        medians = slow_medians(V_tg, X, labels)
        target = model.fit(X, labels).reconstruction_errors(X[hidden])
        source = slow_alignment_errors(release, V_sr, V_tg, X[hidden], medians)
        labels[hidden] = np.minimum(target, source).argmin(axis=1)
        shares.append(np.mean(source.min(axis=1) < target.min(axis=1)))
    assert_array_equal(fast.transduction_, labels)
    assert_allclose(fast.history_["source_share"], shares)

    source = slow_alignment_errors(release, V_sr, V_tg, X_test, slow_medians(V_tg, X, labels))
    target = model.reconstruction_errors(X_test)
    assert_allclose(fast.source_scores(X_test), -source, rtol=1e-7)
    assert_allclose(fast.target_scores(X_test), -target, rtol=1e-7)
    assert_allclose(fast.decision_function(X_test), -np.minimum(source, target), rtol=1e-7)
    assert_array_equal(fast.predict(X_test), np.minimum(source, target).argmin(axis=1))


def test_folds_are_labelled_by_models_that_left_them_out(same):
    X, _, marked, X_test, _ = same
    X, marked = fewer(X, marked)
    settings = {
        "strategy": "alignment",
        "unlabeled": -1,
        "n_folds": 3,
        "tol": 0.0,
        "random_state": 0,
    }
    fast = DPTransferClassifier(**settings, **SCHEDULE).fit(X, marked)

    seeds = np.random.RandomState(0)
    hidden = np.flatnonzero(marked < 0)
    labels = initial_labels(X, marked, seeds, "gamma")
    for n, ratio in zip((2, 3, 4), (0.1, 0.2, 0.25), strict=True):
        fold_of = dict(zip(hidden, seeds.permutation(len(hidden)) % 3, strict=True))
        guesses = labels.copy()
        for k in range(3):
            left_out = np.array([i for i in hidden if fold_of[i] == k])
            kept = np.setdiff1d(np.arange(len(X)), left_out)
            model = WideCDMMAClassifier(n, ratio, 1, random_state=seeds.randint(2**31 - 1))
            guesses[left_out] = model.fit(X[kept], labels[kept]).predict(X[left_out])
        labels = guesses
    assert_array_equal(fast.transduction_, labels)
    final = WideCDMMAClassifier(4, 0.25, 2, random_state=seeds.randint(2**31 - 1))
    assert_array_equal(fast.predict(X_test), final.fit(X, labels).predict(X_test))


def test_folds_keep_guesses_from_confirming_themselves(digits):
    X, y = digits
    for seed in range(3):
        order = np.random.RandomState(seed).permutation(len(X))[:1500]
        marked = y[order].copy()
        marked[60:] = -1
        share = []
        for n_folds in (1, 4):
            model = DPTransferClassifier(
                strategy="alignment",
                n_components=(2, 3, 4, 4, 5, 6),
                n_layers=1,
                n_folds=n_folds,
                unlabeled=-1,
                random_state=0,
            ).fit(X[order], marked)
            share.append(np.mean(model.transduction_[60:] == y[order][60:]))
        assert share[1] > share[0] + 0.005


@pytest.mark.parametrize("domain", ["same", "other"])
def test_multitask_is_the_report_s_rule(release, domain, request):
    X, _, marked, X_test, _ = request.getfixturevalue(domain)
    X, marked, X_test = *fewer(X, marked), X_test[:20]
    settings = {"strategy": "multitask", "tol": 0.0, "random_state": 0}
    fast = DPTransferClassifier(release, **settings, **SCHEDULE).fit(X, marked)
    source_scores, scores = fast.source_scores(X_test), fast.decision_function(X_test)

    if domain == "other":
        V_sr, V_tg = slow_subspaces(release, X, marked)
        X, X_test = (np.array([V_sr.T @ V_tg @ y for y in rows]) for rows in (X, X_test))
    seeds = np.random.RandomState(0)
    hidden = marked < 0
    labels = initial_labels(X, marked, seeds, "empirical")
    for model in schedule_models(seeds, "empirical"):
        labels[hidden] = model.fit(X, labels).predict(X[hidden])
    assert_array_equal(fast.transduction_, labels)

    autoencoders = release.classifier_.autoencoders_
    order = np.argsort(labels, kind="stable")
    pairs = [(autoencoders[labels[i]].reconstruct(X[i : i + 1])[0], X[i]) for i in order]
    mapping = MembershipMapping(-(-len(X) // 2), inference="empirical", random_state=seeds)
    mapping.fit(*map(np.array, zip(*pairs, strict=True)))
    source = np.empty((len(X_test), 10))
    for i, y in enumerate(X_test):
        for c in range(10):
            output = autoencoders[c].reconstruct(y.reshape(1, -1))
            carried = mapping.predict(output)
            source[i, c] = min(np.sum((y - output) ** 2), np.sum((y - carried) ** 2))
    target = model.reconstruction_errors(X_test)
    assert_allclose(source_scores, -source, rtol=1e-6)
    assert_allclose(scores, -np.minimum(source, target), rtol=1e-6)


def test_subspaces_of_equal_dimension_are_shared(release, same):
    V_sr, V_tg = paired_subspaces(release, list(range(10)), same[0], same[2])
    assert V_sr is V_tg is release.components_


def test_subspaces_never_exceed_the_rank_of_the_target(release, other):
    X, _, marked, _, _ = other
    flat = np.hstack([X[:, :5], np.zeros((len(X), 3))])
    V_sr, V_tg = paired_subspaces(release, list(range(10)), flat, marked)
    assert V_sr.shape == (5, 64)
    assert V_tg.shape == (5, 8)
    assert_allclose(V_tg @ V_tg.T, np.eye(5), atol=1e-12)


def test_a_clean_source_of_the_same_domain_helps(release, same):
    X, y, marked, X_test, y_test = same
    transfer = DPTransferClassifier(release, strategy="alignment", random_state=0).fit(X, marked)
    alone = DPTransferClassifier(strategy="alignment", unlabeled=-1, random_state=0).fit(X, marked)
    assert transfer.score(X_test, y_test) > 0.95
    assert transfer.score(X_test, y_test) > alone.score(X_test, y_test) + 0.1
    assert np.mean(transfer.transduction_ == y) > 0.95
    assert min(transfer.history_["source_share"][1:]) > 0


def test_a_hopeless_source_does_no_harm(domains, same):
    X, _, marked, X_test, _ = same
    source = DPSource(0.05, denoise=False, n_layers=1, random_state=0).fit(
        domains.source, domains.source_target
    )
    transfer = DPTransferClassifier(source, strategy="alignment", random_state=0).fit(X, marked)
    alone = DPTransferClassifier(strategy="alignment", unlabeled=-1, random_state=0).fit(X, marked)
    assert_array_equal(transfer.predict(X_test), alone.predict(X_test))
    assert max(transfer.history_["source_share"]) == 0


def test_errors_are_recomputed_only_where_a_median_moved(release, same, monkeypatch):
    X, y, _, _, _ = same
    side = Alignment(release, list(range(10)), X, y, None, None)
    calls = []
    compute = Alignment.errors
    monkeypatch.setattr(Alignment, "errors", lambda *args: calls.append(args[2]) or compute(*args))
    score = side.scorer(X[:30])
    side.update(X, y)
    first = score().copy()
    score()
    assert [list(columns) for columns in calls] == [[True] * 10]
    # Without its outermost rows class 3 has another median, and no other class has.
    moved = y.copy()
    moved[np.flatnonzero(y == 3)[:20]] = -1
    side.update(X, moved)
    second = score()
    assert list(np.flatnonzero(calls[1])) == [3]
    assert len(calls) == 2
    assert_array_equal(np.flatnonzero(np.any(first != second, axis=0)), [3])
    assert_array_equal(second, compute(side, X[:30]))


def test_history_tells_what_happened(release, same, capsys):
    X, _, marked, _, _ = same
    model = DPTransferClassifier(
        release, strategy="alignment", tol=0.0, verbose=1, random_state=0, **SCHEDULE
    )
    history = model.fit(X, marked).history_
    assert history["round"] == [0, 1, 2, 3]
    assert history["n_components"] == [4, 2, 3, 4]  # five labels a class, less one
    assert history["n_inducing"] == [1.0, 0.1, 0.2, 0.25]
    assert history["n_layers"] == [1, 1, 1, 2]
    assert history["changed"][0] == 450
    assert_allclose(history["agreement"], 1 - np.array(history["changed"]) / 450)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1].startswith(f"[DPTransferClassifier] round 1 of 3: {history['changed'][1]} of")


def test_rounds_end_early_when_labels_settle(release, same):
    X, _, marked, _, _ = same
    settings = {
        "strategy": "alignment",
        "n_components": (2, 3, 4, 5),
        "n_inducing": 0.2,
        "random_state": 0,
    }
    model = DPTransferClassifier(release, tol=1.0, **settings).fit(X, marked)
    assert model.history_["round"] == [0, 1, 4]
    assert model.n_rounds_ == 2
    assert DPTransferClassifier(release, tol=0.0, **settings).fit(X, marked).n_rounds_ == 4


def test_settled_is_settled_at_the_boundary(release, same):
    X, _, marked, _, _ = same
    X = np.concatenate([X, X[marked < 0]])  # many unlabelled rows beside the labelled ones
    marked = np.append(marked, np.full(450, -1))
    settings = {
        "strategy": "alignment",
        "n_components": (2, 2, 2, 3),
        "n_inducing": 0.2,
        "random_state": 0,
    }
    changed = DPTransferClassifier(release, tol=0.0, **settings).fit(X, marked)
    [first] = changed.history_["changed"][1:2]
    assert first > 0
    for tol, rounds in ((first / 900, [0, 1, 4]), ((first - 1) / 900, None)):
        model = DPTransferClassifier(release, tol=tol, **settings).fit(X, marked)
        assert (model.history_["round"] == rounds) == (rounds is not None)


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (2, 1), (9, 8), (40, 20)])
def test_first_round_has_one_component_less_than_labels(n, expected):
    settings = first_round(np.repeat([0, 1, 2], [n, n + 5, n]))
    assert (settings.n_components, settings.n_inducing, settings.n_layers) == (expected, 1.0, 1)


def test_settings_reach_the_target_classifier(release, same):
    X, _, marked, _, _ = same
    model = DPTransferClassifier(
        release, strategy="alignment", subset_size=20, inference="empirical", n_components=3
    )
    target = model.fit(X, marked).target_classifier_
    assert target.subset_size == 20
    assert target.inference == "empirical"
    assert max(len(a.autoencoders_) for a in target.autoencoders_) > 1
    assert _MAX_INDUCING == 1000  # 003, equation (1.86)


def test_without_unlabelled_rows_there_is_one_round(release, same):
    X, y, _, X_test, _ = same
    model = DPTransferClassifier(release, strategy="alignment", random_state=0).fit(X, y)
    assert model.history_["round"] == [4]
    assert_array_equal(model.transduction_, y)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    plain = WideCDMMAClassifier(10, 0.25, 5, random_state=seed).fit(X, y)
    assert_array_equal(model.target_scores(X_test), plain.decision_function(X_test))


def test_an_unfitted_source_is_refused(same):
    with pytest.raises(NotFittedError, match="DPSource"):
        DPTransferClassifier(DPSource()).fit(same[0], same[2])


def test_equally_many_columns_must_be_the_same_columns(rng, open_source):
    X, y = pd.DataFrame(rng.rand(40, 3), columns=["age", "dose", "weight"]), np.arange(40) % 2
    source = open_source(X, y)
    DPTransferClassifier(source).fit(X, y)
    DPTransferClassifier(source).fit(X[["age", "dose"]], y)
    with pytest.raises(ValueError, match="reorder or rename"):
        DPTransferClassifier(source).fit(X[["dose", "age", "weight"]], y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": (4, 6), "n_inducing": (0.1, 0.2, 0.3)}, "must be equally long"),
        ({"n_components": (6, 4, 8, 10)}, "never goes down"),
        ({"n_components": (0, 4, 8, 10)}, "positive counts"),
        ({"n_components": ()}, "non-empty"),
        ({"n_inducing": (0.1, 0.2, 0.3, 1.5)}, "fractions in"),
        ({"n_inducing": (0.4, 0.2, 0.3, 0.5)}, "never goes down"),
        ({"n_inducing": (0.5, 0.5, 1, 10)}, "'n_inducing' parameter"),
        ({"n_components": ("a", "b")}, "'n_components' parameter"),
        ({"n_layers": 0}, "'n_layers' parameter"),
        ({"source": "file.skdp"}, "DPSource.load"),
        ({"n_folds": 0}, "'n_folds' parameter"),
        ({"n_folds": 1}, "at least 2 with strategy='noise_aware'"),
    ],
)
def test_impossible_settings_are_refused(same, settings, message):
    with pytest.raises(ValueError, match=message):
        DPTransferClassifier(**settings).fit(same[0], same[1])


@pytest.mark.parametrize(
    ("settings", "sizes", "fractions"),
    [
        ({}, [4, 6, 8, 10], [1 / 10, 1 / 8, 1 / 6, 1 / 4]),
        ({"strategy": "noise_aware"}, [5, 5] + [9] * 6, [1 / 2] * 8),
        ({"strategy": "multitask"}, [5, 10, 15, 20], [1 / 2] * 4),
        ({"n_components": 7}, [7], [1 / 4]),
        ({"n_components": (2, 3)}, [2, 3], [1 / 6, 1 / 4]),
        ({"n_components": np.arange(1, 6)}, [1, 2, 3, 4, 5], [0.1, 0.1, 1 / 8, 1 / 6, 1 / 4]),
        ({"n_components": [2, 3], "n_inducing": 40}, [2, 3], [40, 40]),
        ({"n_components": [2, 3], "n_inducing": [10, 40]}, [2, 3], [10, 40]),
    ],
)
def test_schedules(settings, sizes, fractions):
    settings = {"strategy": "alignment", **settings}
    rounds = make_schedule(DPTransferClassifier(**settings), 110.0)
    assert [r.n_components for r in rounds] == sizes
    assert [r.n_inducing for r in rounds] == fractions
    assert [r.n_layers for r in rounds[:-1]] == [1] * (len(sizes) - 1)
    assert rounds[-1].n_layers == (5 if settings["strategy"] == "alignment" else 1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_result_does_not_depend_on_n_jobs(noisy_release, other, strategy):
    X, _, marked, X_test, _ = other
    models = [
        DPTransferClassifier(noisy_release, strategy=strategy, n_jobs=n, random_state=0)
        for n in (1, 3)
    ]
    scores = [model.fit(X, marked).decision_function(X_test) for model in models]
    assert_array_equal(*scores)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_float32_agrees_with_float64(domains, other, open_source, strategy):
    scores = []
    for dtype in (np.float32, np.float64):
        # All labels are given, and every row is an inducing point: guesses close to a tie may
        # fall either way, and so may clusters.
        rows, settings = domains.source.astype(dtype), {"n_layers": 1, "n_inducing": 1.0}
        source = open_source(rows, domains.source_target, **settings)
        X, y, _, X_test, _ = other
        X, X_test = X.astype(dtype), X_test.astype(dtype)
        model = DPTransferClassifier(source, strategy=strategy, random_state=0, **settings)
        model.fit(X, y)
        scores.append(model.decision_function(X_test))
        assert scores[-1].dtype == dtype
    # Log-posteriors of the likeliest class are close to 0.
    assert_allclose(*scores, rtol=1e-3, atol=2e-3 if strategy == "noise_aware" else 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pickles_and_clones(noisy_release, other, strategy, tmp_path):
    X, _, marked, X_test, _ = other
    model = DPTransferClassifier(noisy_release, strategy=strategy, random_state=0)
    scores = model.fit(X, marked).decision_function(X_test)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert_array_equal(copy.decision_function(X_test), scores)
        assert copy.guarantee_ == noisy_release.guarantee_
    assert_array_equal(clone(model).fit(X, marked).decision_function(X_test), scores)
    model.set_params(source=None)  # what was learned stays
    assert_array_equal(model.decision_function(X_test), scores)


def test_grid_search_over_schedules_with_a_loaded_source(noisy_release, other, tmp_path):
    X, _, marked, X_test, y_test = other
    noisy_release.save(tmp_path / "release")
    grid = GridSearchCV(
        DPTransferClassifier(DPSource.load(tmp_path / "release"), random_state=0),
        {"n_components": [(2, 3, 4, 4), (8, 10, 12, 14)], "n_layers": [1]},
        cv=LabeledSplit(3),
        error_score="raise",
    ).fit(X, marked)
    assert grid.best_params_["n_components"] == (2, 3, 4, 4)  # tiny images want few components
    assert grid.best_estimator_.guarantee_.epsilon == 8.0
    assert grid.score(X_test, y_test) > 0.6
