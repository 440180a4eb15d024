"""Deep fuzzy models, and a classifier that merges the rules of several participants."""

from skdp.fuzzy._autoencoder import DeepFuzzyAutoencoder
from skdp.fuzzy._classifier import (
    DeepFuzzyClassifier,
    FiredRule,
    FuzzyExplanation,
    FuzzyRule,
)
from skdp.fuzzy._regressor import DeepFuzzyRegressor

__all__ = [
    "DeepFuzzyAutoencoder",
    "DeepFuzzyClassifier",
    "DeepFuzzyRegressor",
]
