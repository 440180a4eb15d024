"""The parts of "noise_aware", and what they add up to."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from skdp.transfer._folds import stratified_folds
from skdp.transfer._graph import neighbour_graph, spread
from skdp.transfer._judges import judges_of
from skdp.transfer._rounds import crossed_scores, scores_by
from skdp.transfer._subspace import Subspace
from sklearn.neighbors import kneighbors_graph

from skdp import (
    DPSource,
    DPTransferClassifier,
    GaussianDPNoise,
    OptimalDPNoise,
    RandomizedResponse,
)


@pytest.fixture(scope="module")
def denoised(domains):
    noise = OptimalDPNoise(8.0, random_state=np.random.RandomState(0))
    source = DPSource(8.0, noise=noise, n_components=8, n_layers=1, random_state=0)
    return source.fit(domains.source, domains.source_target)


def test_graph_is_that_of_the_nearest_neighbours(rng):
    Z = rng.randn(60, 3)
    graph = neighbour_graph(Z, None).toarray()
    distances = kneighbors_graph(Z, 10, mode="distance").toarray()
    assert_array_equal(graph > 0, distances > 0)
    weights = np.where(distances > 0, np.exp(-2 * (distances / distances.max(1)[:, None]) ** 2), 0)
    assert_allclose(graph, weights / weights.sum(axis=1, keepdims=True))
    assert_allclose(neighbour_graph(Z[:4], None).sum(axis=1), 1)
    assert_allclose(neighbour_graph(np.zeros((5, 2)), None).sum(axis=1), 1)  # all the same row


def test_spreading_solves_its_equation(rng):
    Z = rng.randn(80, 2)
    graph, posteriors = neighbour_graph(Z, None), rng.dirichlet(np.ones(3), 80)
    known = np.zeros(80, dtype=bool)
    exact = np.linalg.solve(np.eye(80) - 0.8 * graph.toarray(), 0.2 * posteriors)
    assert_allclose(spread(graph, posteriors, known), exact, atol=0.8**30)
    known[:5] = True
    assert_array_equal(spread(graph, posteriors, known)[:5], posteriors[:5])


def test_folds_are_stratified_and_nobody_is_judged_by_a_model_that_saw_it(rng):
    labels = np.repeat([0, 1, 2], [30, 7, 2])
    folds = stratified_folds(labels, 4, rng)
    for c in range(3):
        counts = np.bincount(folds[labels == c], minlength=4)
        assert counts.max() - counts.min() <= 1
    codes = np.arange(39.0)[:, np.newaxis]
    trusted = rng.rand(39) < 0.8
    trained = []

    class Remembers:
        def __init__(self, rows):
            self.rows = rows

        def reconstruction_errors(self, queries):
            assert not np.isin(queries, self.rows).any()
            return np.ones((len(queries), len(np.unique(labels[self.rows[:, 0].astype(int)]))))

    def fit(settings, rows, _):
        trained.append(rows[:, 0].astype(int))
        return Remembers(rows)

    scores = crossed_scores(fit, None, codes, labels, trusted, folds)
    assert scores.shape == (39, 3)
    assert set(np.concatenate(trained)) == set(np.flatnonzero(trusted))


def test_a_subspace_is_that_of_pca(rng):
    X = rng.randn(100, 5) @ rng.randn(5, 5) + 3
    subspace = Subspace.of_rows(X, 3)
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    assert_allclose(subspace.variances, values[::-1][:3])
    assert_allclose(np.abs(subspace.components @ vectors[:, ::-1][:, :3]), np.eye(3), atol=1e-8)
    assert_allclose(subspace.encode(X).var(axis=0).mean(), 1)
    assert_allclose(subspace.encode(X).mean(axis=0), 0, atol=1e-12)


def test_a_good_source_helps_and_a_hopeless_one_is_ignored(release, domains, same):
    X, _, marked, X_test, y_test = same
    good = DPTransferClassifier(release, random_state=0).fit(X, marked)
    alone = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
    assert good.source_weight_ > 0.2
    assert good.score(X_test, y_test) > alone.score(X_test, y_test)
    noise = OptimalDPNoise(1e-3, random_state=np.random.RandomState(0))
    source = DPSource(1e-3, noise=noise, n_layers=1, random_state=0)
    source.fit(domains.source, domains.source_target)
    hopeless = DPTransferClassifier(source, random_state=0).fit(X, marked)
    assert hopeless.source_weight_ < 0.1
    assert hopeless.score(X_test, y_test) > alone.score(X_test, y_test) - 0.03
    assert alone.source_weight_ == 0


def test_private_rows_of_a_whole_record_still_help(rng):
    # Means of 3,000 rows survive noise in which no row can be seen.
    means = 3 * rng.randn(4, 20)
    labels, y = rng.randint(0, 4, 12_000), rng.randint(0, 4, 400)
    rows = means[labels] + rng.randn(12_000, 20) * np.linspace(2, 8, 20)
    X = means[y] + rng.randn(400, 20) * np.linspace(2, 8, 20)
    low, high = np.full(20, -40.0), np.full(20, 40.0)
    noise = GaussianDPNoise(
        8.0, privacy_unit="record", bounds=(low, high), random_state=np.random.RandomState(0)
    )
    source = DPSource(8.0, noise=noise, n_components=2, n_layers=1, n_inducing=50, random_state=0)
    source.fit(rows, labels)
    assert source.guarantee_.unit == "record"
    marked = np.full(400, -1)
    for c in range(4):
        marked[np.flatnonzero(y == c)[:2]] = c
    shared = DPTransferClassifier(source, random_state=0).fit(X, marked)
    alone = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
    gain = np.mean(shared.transduction_ == y) - np.mean(alone.transduction_ == y)
    assert gain > 0.05


def test_units_of_the_target_do_not_matter(same):
    X, _, marked, X_test, _ = same
    models = [
        DPTransferClassifier(unlabeled=-1, random_state=0).fit(scale * X + shift, marked)
        for scale, shift in ((1.0, 0.0), (256.0, 1024.0))
    ]
    assert_array_equal(models[0].transduction_, models[1].transduction_)
    assert_array_equal(models[0].predict(X_test), models[1].predict(256 * X_test + 1024))


def test_scores_are_log_posteriors_and_add_up(denoised, same):
    X, _, marked, X_test, _ = same
    model = DPTransferClassifier(denoised, random_state=0).fit(X, marked)
    parts = model.source_scores(X_test) + model.target_scores(X_test)
    constant = model.decision_function(X_test) - parts
    assert_allclose(constant, np.broadcast_to(constant[0], constant.shape), atol=1e-9)
    probabilities = model.predict_proba(X_test)
    assert_allclose(probabilities, softmax(model.decision_function(X_test), axis=1))
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X_test))
    assert not hasattr(DPTransferClassifier(strategy="alignment"), "predict_proba")


def test_history_has_weights_and_trust(denoised, same, capsys):
    X, _, marked, _, _ = same
    model = DPTransferClassifier(denoised, n_components=(2, 3, 4), tol=0.0, verbose=1)
    history = model.fit(X, marked).history_
    assert history["round"] == [0, 1, 2, 3]
    assert history["source_weight"][-1] == model.source_weight_
    assert all(0.5 < share <= 1 for share in history["trusted"][1:])
    assert "trusted" in capsys.readouterr().out


@pytest.mark.parametrize("per_class", [1, 2])
def test_very_few_labels_are_enough(denoised, same, hide, per_class):
    X, y, _, X_test, y_test = same
    marked = hide(y, per_class)
    for source in (denoised, None):
        model = DPTransferClassifier(source, unlabeled=-1, random_state=0).fit(X, marked)
        assert model.score(X_test, y_test) > 0.5


def test_other_dimensions_and_missing_classes(denoised, other):
    X, y, marked, X_test, y_test = other
    kept = (y != 3) & (y != 8)
    model = DPTransferClassifier(denoised, random_state=0).fit(X[kept], marked[kept])
    assert list(model.classes_) == [0, 1, 2, 4, 5, 6, 7, 9]
    seen = np.isin(y_test, model.classes_)
    assert model.score(X_test[seen], y_test[seen]) > 0.75


@pytest.mark.parametrize("denoise", [True, False])
@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [0, 2]])
def test_source_and_target_meet_at_the_mean_of_the_classes_that_both_have(rng, denoise, kept):
    # Far from zero, and with classes that only the source has.
    means = 30 + rng.randn(4, 6)
    labels, y = rng.randint(0, 4, 2000), rng.choice(kept, 300)
    rows = means[labels] + 0.2 * rng.randn(2000, 6)
    X = means[y] + 0.2 * rng.randn(300, 6)
    noise = OptimalDPNoise(50.0, random_state=np.random.RandomState(0))
    settings = {"n_components": 2, "n_layers": 1, "n_inducing": 50, "random_state": 0}
    source = DPSource(50.0, noise=noise, denoise=denoise, **settings)
    source.fit(rows, labels)
    subspace = Subspace.of_rows(X, 6)
    judges = judges_of(source, kept, X, y, subspace)
    assert len(judges) == (3 if denoise else 1)
    if denoise or len(kept) == 4:  # without moments only the mean of all classes is known
        for judge in judges:
            guesses = np.array(kept)[judge.scores(X).argmax(axis=1)]
            assert np.mean(guesses == y) > 0.95


@pytest.mark.parametrize("epsilon", [20.0, np.inf])
@pytest.mark.parametrize("response", [None, 3.0])
@pytest.mark.parametrize("apart", [2.0, 0.0])
@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_moments_are_heard_where_noise_left_nothing_finer(rng, epsilon, response, apart):
    y = rng.randint(0, 2, 4000)
    X = rng.randn(4000, 6) + 3 * y[:, np.newaxis]
    X[:, 0] += apart * rng.choice([-1, 1], 4000)
    settings = {"n_components": 2, "n_layers": 1, "n_inducing": 20, "random_state": 0}
    settings["noise"] = OptimalDPNoise(epsilon, random_state=np.random.RandomState(0))
    if response:
        draws = np.random.RandomState(0)
        settings["label_noise"] = RandomizedResponse(response, random_state=draws)
    source = DPSource(epsilon, **settings).fit(X, y)
    judges = judges_of(source, [0, 1], X, y, Subspace.of_rows(X, 6))
    finer = response is None and (epsilon == np.inf or apart > 0)
    behind = epsilon < np.inf
    names = ["Classifier", *["Moment"] * (not finer), *["Mixture"] * behind]
    assert [type(judge).__name__ for judge in judges] == [f"{name}Judge" for name in names]


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


@pytest.mark.parametrize("strategy", ["alignment", "multitask"])
def test_the_papers_strategies_want_a_source_that_was_not_denoised(denoised, same, strategy):
    X, _, marked, _, _ = same
    with pytest.raises(ValueError, match=r"'strategy' parameter.*DPSource\(denoise=False\)"):
        DPTransferClassifier(denoised, strategy=strategy).fit(X, marked)


def test_a_noise_without_a_variance_cannot_be_allowed_for(rng):
    class Unknown(GaussianDPNoise):
        def fit_transform(self, X, y=None):
            noisy = super().fit_transform(X, y)
            del self.variance_
            return noisy

    X, y = rng.rand(60, 4), np.arange(60) % 3
    with pytest.raises(ValueError, match=r"variance_ \(got None\), which denoise=True needs"):
        DPSource(noise=Unknown()).fit(X, y)
    assert DPSource(noise=Unknown(), denoise=False, n_layers=1).fit(X, y).moments_ is None


_TARGET_SIDE = """
import sys
import numpy as np
from skdp import DPSource, DPTransferClassifier
X, marked, X_test = (np.load(f"{sys.argv[1]}/{name}.npy") for name in ("X", "marked", "X_test"))
release = DPSource.load(f"{sys.argv[1]}/release")
model = DPTransferClassifier(release, random_state=0).fit(X, marked)
np.save(f"{sys.argv[1]}/scores.npy", model.decision_function(X_test))
"""


def test_the_same_numbers_from_a_file_in_another_process(denoised, same, tmp_path):
    X, _, marked, X_test, _ = same
    denoised.save(tmp_path / "release")
    for name, array in {"X": X, "marked": marked, "X_test": X_test}.items():
        np.save(tmp_path / f"{name}.npy", array)
    subprocess.run([sys.executable, "-c", _TARGET_SIDE, str(tmp_path)], check=True)
    here = DPTransferClassifier(denoised, random_state=0).fit(X, marked)
    # Another process may sum in another number of threads.
    assert_allclose(np.load(tmp_path / "scores.npy"), here.decision_function(X_test), rtol=1e-6)


def test_a_class_that_was_not_seen_is_as_far_below_the_worst_as_that_below_the_best():
    class Fixed:
        def reconstruction_errors(self, queries):
            return np.array([[-3.0, 1.0], [2.0, 5.0]])

    labels = np.array([0, 2])
    scores = scores_by(lambda *_: Fixed(), None, np.zeros((2, 1)), labels, np.zeros((2, 1)), 4)
    assert_array_equal(scores, [[3, -5, -1, -5], [-2, -8, -5, -8]])
    alone = scores_by(None, None, np.zeros((1, 1)), np.array([2]), np.zeros((5, 1)), 4)
    assert_array_equal(alone, np.zeros((5, 4)))


def test_both_classifiers_of_the_target_count_alike(same):
    X, _, marked, X_test, _ = same
    model = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
    rule = model._model
    codes = rule._subspace.encode(X_test)
    parts = [
        -each.reconstruction_errors(codes) / unit
        for each, unit in zip((rule.classifier, rule._mixtures), rule._target_units, strict=True)
    ]
    scores = model.target_scores(X_test)
    expected = parts[0] + parts[1]
    # Up to a constant for each row, and a unit.
    scores, expected = (s - s.mean(axis=1, keepdims=True) for s in (scores, expected))
    assert_allclose(scores, expected * (scores.std() / expected.std()), atol=1e-6)
    assert all(np.abs(part - part.mean(axis=1, keepdims=True)).mean() > 0.1 for part in parts)
