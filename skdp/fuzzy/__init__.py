"""Deep fuzzy models, and the rule-based classifier that merges what participants learned."""

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
