import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import WideCDMMAClassifier
from skdp.release import Mixtures
from skdp.transfer.self_training import Round
from skdp.transfer.strategies._target_scorers import (
    MixtureScorer,
    mixture_fitter,
    reconstruction_fitter,
)


def test_classes_may_have_gaps(rng):
    Z, labels = rng.randn(300, 2), rng.choice([1, 4], 300)
    Z[labels == 4] += 3
    for model in (MixtureScorer(Z, labels, rng), mixture_fitter(rng)(None, Z, labels)):
        guesses = np.array([1, 4])[model.scores(Z).argmax(axis=1)]
        assert np.mean(guesses == labels) > 0.95


def test_mixtures_score_by_their_log_density(rng):
    Z, labels = rng.randn(300, 2), rng.choice([0, 1], 300)
    mixtures = Mixtures.fit(Z, labels, np.zeros(2), np.random.RandomState(0))
    scorer = MixtureScorer(Z, labels, np.random.RandomState(0))
    assert_array_equal(scorer.scores(Z), mixtures.log_likelihood(Z, np.zeros(2)))


@pytest.mark.parametrize("inference", ["gamma", "empirical"])
def test_reconstructions_score_by_minus_their_error(rng, inference):
    X, labels = rng.rand(80, 4), np.arange(80) % 2
    fit = reconstruction_fitter(
        inference=inference, subset_size=30, n_jobs=2, random_state=np.random.RandomState(3)
    )
    seeds = np.random.RandomState(3)
    for settings in (Round(2, 0.5, 1), Round(3, 10, 2)):
        scorer = fit(settings, X, labels)
        plain = WideCDMMAClassifier(
            settings.n_components,
            settings.n_inducing,
            settings.n_layers,
            inference=inference,
            subset_size=30,
            random_state=seeds.randint(2**31 - 1),
        ).fit(X, labels)
        assert_array_equal(scorer.scores(X), -plain.reconstruction_errors(X))
        assert scorer.classifier.n_jobs == 2
