"""DPTransferClassifier as a whole: from a release, or a file of one, to predictions."""

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skdp import DPSource, DPTransferClassifier, SelfTrainingSchedule

STRATEGIES = ["noise_aware", "alignment", "multitask"]
# Two short rounds, where it does not matter how well the model learns.
SHORT = {
    "self_training": SelfTrainingSchedule(n_components=(2, 3), n_layers=1),
    "random_state": 0,
}
# Of the default strategy alone, which has four folds otherwise.
SHORTER = SelfTrainingSchedule(n_components=2, n_layers=1, n_folds=2)


def _of_five_classes(X, y, marked, X_test, y_test):
    kept, kept_test = y < 5, y_test < 5
    return X[kept], y[kept], marked[kept], X_test[kept_test], y_test[kept_test]


# Self-training takes its time class by class.
@pytest.fixture(scope="module")
def same(same):
    return _of_five_classes(*same)


@pytest.fixture(scope="module")
def other(other):
    return _of_five_classes(*other)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_result_does_not_depend_on_n_jobs(noisy_release, other, strategy):
    X, _, marked, X_test, _ = other
    models = [
        DPTransferClassifier(noisy_release, strategy=strategy, n_jobs=n, **SHORT) for n in (1, 3)
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
        model = DPTransferClassifier(
            source,
            strategy=strategy,
            random_state=0,
            self_training=SelfTrainingSchedule(**settings),
        )
        model.fit(X, y)
        scores.append(model.decision_function(X_test))
        assert scores[-1].dtype == dtype
    # Log-posteriors of the likeliest class are close to 0.
    assert_allclose(*scores, rtol=1e-3, atol=2e-3 if strategy == "noise_aware" else 0)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pickles_and_clones(noisy_release, other, strategy, tmp_path):
    X, _, marked, X_test, _ = other
    model = DPTransferClassifier(noisy_release, strategy=strategy, **SHORT)
    scores = model.fit(X, marked).decision_function(X_test)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert_array_equal(copy.decision_function(X_test), scores)
        assert copy.guarantee_ == noisy_release.guarantee
    assert clone(model).source is noisy_release
    assert_array_equal(clone(model).fit(X, marked).decision_function(X_test), scores)
    model.set_params(source=None)  # what was learned stays
    assert_array_equal(model.decision_function(X_test), scores)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("domain", ["same", "other"])
@pytest.mark.parametrize("with_source", [True, False])
def test_label_distributions(all_parts, strategy, domain, with_source, request):
    X, y, marked, _, _ = request.getfixturevalue(domain)
    schedule = SelfTrainingSchedule(n_components=(2, 4), n_layers=1)
    settings = {"strategy": strategy, "self_training": schedule, "random_state": 0}
    model = DPTransferClassifier(all_parts if with_source else None, **settings).fit(X, marked)
    distributions, shown = model.label_distributions_, marked >= 0
    assert distributions.shape == (len(X), 5)
    assert distributions.min() >= 0
    assert_allclose(distributions.sum(axis=1), 1)
    assert_array_equal(distributions[shown], np.eye(5)[y[shown]])
    assert_array_equal(model.classes_[distributions.argmax(axis=1)], model.transduction_)
    certain = (distributions.max(axis=1) == 1).all()
    assert certain == (strategy != "noise_aware")


@pytest.mark.slow
@pytest.mark.parametrize(("parts", "strategies"), [
    ("noise_aware", ["noise_aware"]),
    ("papers", ["alignment", "multitask"]),
])  # fmt: skip
@pytest.mark.parametrize("domain", ["same", "other"])
def test_one_release_of_all_parts_serves_every_strategy(
    release_of, all_parts, parts, strategies, domain, request
):
    X, _, marked, X_test, _ = request.getfixturevalue(domain)
    separate = release_of(parts)
    assert separate.guarantee == all_parts.guarantee
    for strategy in strategies:
        schedule = SelfTrainingSchedule(n_components=(3, 4), n_layers=1, n_folds=2)
        settings = {"strategy": strategy, "self_training": schedule, "random_state": 0}
        one, own = (
            DPTransferClassifier(release, **settings).fit(X, marked)
            for release in (all_parts, separate)
        )
        assert_array_equal(one.decision_function(X_test), own.decision_function(X_test))
        assert_array_equal(one.source_scores(X_test), own.source_scores(X_test))
        assert_array_equal(one.transduction_, own.transduction_)
        assert one.history_ == own.history_


def test_a_search_that_clones_a_fitted_source_is_told_what_to_pass(domains, same, open_source):
    X, _, marked, _, _ = same
    source = open_source(domains.source, domains.source_target, n_layers=1)
    model = clone(DPTransferClassifier(source))
    assert isinstance(model.source, DPSource)
    with pytest.raises(NotFittedError, match="pass its release_"):
        model.fit(X, marked)


_TARGET_SIDE = """
import sys
import numpy as np
import sklearn.datasets

def gone(*args, **kwargs):
    raise RuntimeError("the source data does not exist here")

sklearn.datasets.load_digits = gone
from skdp import DPTransferClassifier, Release, SelfTrainingSchedule

for folder in sys.argv[1:]:
    with np.load(f"{folder}/target.npz") as arrays:
        X, y, X_test = arrays["X"], arrays["y"], arrays["X_test"]
    schedule = SelfTrainingSchedule(n_components=2, n_layers=1, n_folds=2)
    release = Release.load(f"{folder}/release")
    model = DPTransferClassifier(release, self_training=schedule, random_state=0).fit(X, y)
    scores = model.decision_function(X_test)
    np.savez(f"{folder}/found.npz", labels=model.predict(X_test), scores=scores)
"""


def test_another_process_finds_the_same_without_source_data(
    tmp_path, noisy_release, denoised_release, other, same
):
    """From files of releases alone, of rows with the features of the source or with others."""
    cases = {"noisy": (noisy_release, other), "denoised": (denoised_release, same)}
    folders = [tmp_path / name for name in cases]
    for folder, (release, (X, _, marked, X_test, _)) in zip(folders, cases.values(), strict=True):
        folder.mkdir()
        release.save(folder / "release")
        np.savez(folder / "target.npz", X=X, y=marked, X_test=X_test)
    subprocess.run([sys.executable, "-c", _TARGET_SIDE, *folders], check=True, cwd=tmp_path)
    for folder, (release, (X, _, marked, X_test, _)) in zip(folders, cases.values(), strict=True):
        here = DPTransferClassifier(release, self_training=SHORTER, random_state=0).fit(X, marked)
        with np.load(folder / "found.npz") as found:
            assert_array_equal(found["labels"], here.predict(X_test))
            # Another process may sum in another number of threads.
            assert_allclose(found["scores"], here.decision_function(X_test), rtol=1e-6)


def test_a_release_may_be_named_by_the_path_of_its_file(noisy_release, other, tmp_path):
    X, _, marked, X_test, _ = other
    path = tmp_path / "release.skdp"
    noisy_release.save(path)
    settings = {"self_training": SHORTER, "random_state": 0}
    expected = DPTransferClassifier(noisy_release, **settings).fit(X, marked)
    for source in (path, str(path), [path]):
        model = clone(DPTransferClassifier(source, **settings))
        assert model.source == source
        found = pickle.loads(pickle.dumps(model.fit(X, marked)))
        assert found.source == source
        assert found.guarantee_ == expected.guarantee_
        assert_array_equal(found.decision_function(X_test), expected.decision_function(X_test))


def test_a_path_without_a_release_is_refused(same, tmp_path):
    X, y, _, _, _ = same
    missing = tmp_path / "release.skdp"
    for source in (missing, str(missing), [str(missing)]):
        with pytest.raises(FileNotFoundError, match=r"'source' .*release\.skdp', which does not"):
            DPTransferClassifier(source).fit(X, y)
    missing.write_bytes(b"no release")
    with pytest.raises(ValueError, match="release"):
        DPTransferClassifier(missing).fit(X, y)
