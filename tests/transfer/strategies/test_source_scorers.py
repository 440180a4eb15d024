from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DPSource, DPTransferClassifier, OptimalDPNoise, RandomizedResponse
from skdp.release import Subspace
from skdp.transfer.strategies._embedding import Embedding
from skdp.transfer.strategies._source_scorers import (
    AdaptedMixtureScorer,
    ClassifierScorer,
    NormalScorer,
    source_scorers,
)

SETTINGS = {"n_components": 2, "n_layers": 1, "n_inducing": 20, "random_state": 0}


@pytest.mark.parametrize("apart", [2.0, 0.0])
def test_mixtures_are_adapted_and_normals_left_alone(rng, make_task, apart):
    labels = rng.randint(0, 2, 4000)
    rows = rng.randn(4000, 6) + 3 * labels[:, np.newaxis]
    rows[:, 0] += apart * rng.choice([-1, 1], 4000)
    noise = OptimalDPNoise(20.0, random_state=np.random.RandomState(0))
    release = DPSource(noise=noise, **SETTINGS).fit(rows[:3000], labels[:3000]).release_
    own, X = release.mixtures.select([1, 0]), rows[3000:]
    assert (len(own.class_indices) > 2) == (apart > 0)
    subspace = Subspace.of_rows(X, 6)
    task = make_task(X, 1 - labels[3000:], release, [1, 0])
    scorer = source_scorers(task, subspace)[-1]
    if apart:
        counts = np.bincount(labels[:3000])[::-1]
        codes = release.subspace.encode(X - subspace.mean + release.moments.mean)
        own = own.adapt(codes, counts, release.subspace.noise(release.moments.noise))
    for name in ("class_indices", "weights", "means", "covariances"):
        assert_allclose(getattr(scorer._mixtures, name), getattr(own, name))


@pytest.mark.parametrize("parts", ["noise_aware", "papers", "all"])
@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [0, 2]])
def test_source_and_target_meet_at_the_mean_of_the_classes_that_both_have(
    rng, make_task, parts, kept
):
    # Far from zero, and with classes that only the source has.
    means = 30 + rng.randn(4, 6)
    labels, y = rng.randint(0, 4, 2000), rng.choice(kept, 300)
    rows = means[labels] + 0.2 * rng.randn(2000, 6)
    X = means[y] + 0.2 * rng.randn(300, 6)
    noise = OptimalDPNoise(50.0, random_state=np.random.RandomState(0))
    settings = {**SETTINGS, "n_inducing": 50}
    release = DPSource(noise=noise, parts=parts, **settings).fit(rows, labels).release_
    subspace = Subspace.of_rows(X, 6)
    scorers = source_scorers(make_task(X, y, release, kept), subspace)
    denoised = parts != "papers"
    assert len(scorers) == (3 if denoised else 1)
    if denoised or len(kept) == 4:  # without moments only the mean of all classes is known
        for scorer in scorers:
            guesses = np.array(kept)[scorer.scores(X).argmax(axis=1)]
            assert np.mean(guesses == y) > 0.95


@pytest.mark.parametrize("epsilon", [20.0, np.inf])
@pytest.mark.parametrize("response", [None, 3.0])
@pytest.mark.parametrize("apart", [2.0, 0.0])
@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_normals_are_included_where_noise_left_nothing_finer(
    rng, make_task, epsilon, response, apart
):
    y = rng.randint(0, 2, 4000)
    X = rng.randn(4000, 6) + 3 * y[:, np.newaxis]
    X[:, 0] += apart * rng.choice([-1, 1], 4000)
    settings = dict(SETTINGS)
    settings["noise"] = OptimalDPNoise(epsilon, random_state=np.random.RandomState(0))
    if response:
        draws = np.random.RandomState(0)
        settings["label_noise"] = RandomizedResponse(response, random_state=draws)
    release = DPSource(epsilon, **settings).fit(X, y).release_
    scorers = source_scorers(make_task(X, y, release), Subspace.of_rows(X, 6))
    finer = response is None and (epsilon == np.inf or apart > 0)
    behind = epsilon < np.inf
    kinds = [
        ClassifierScorer,
        *[NormalScorer] * (not finer),
        *[AdaptedMixtureScorer] * behind,
    ]
    assert [type(scorer) for scorer in scorers] == kinds


def test_a_target_alone_has_no_source_scorers(same, make_task):
    X, y, _, _, _ = same
    assert source_scorers(make_task(X, y), Subspace.of_rows(X, 6)) == []


def test_moments_alone_are_of_use(denoised_release, same):
    X, _, marked, X_test, _ = same
    bare = dict.fromkeys(["alignment", "subspace", "mixtures", "classifier"])
    model = DPTransferClassifier(replace(denoised_release, **bare), random_state=0)
    model.fit(X, marked)
    assert model.source_scores(X_test).shape == (len(X_test), 10)
    assert 0 < model.source_weight_ <= 1


def test_the_classifier_scores_what_the_embedding_makes_of_rows(denoised_release, same, make_task):
    X, y, _, X_test, _ = same
    classes = [3, 1]
    kept = np.isin(y, classes)
    task = make_task(X[kept], np.where(y[kept] == 3, 0, 1), denoised_release, classes)
    embedding = Embedding.of_means(task, Subspace.of_rows(X[kept], 60))
    scores = ClassifierScorer(task, embedding).scores(X_test)
    assert_array_equal(scores, denoised_release.scores(embedding.rows(X_test))[:, classes])
