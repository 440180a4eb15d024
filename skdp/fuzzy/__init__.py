"""Deep fuzzy models, and the rule-based classifier that merges what participants learned."""

from skdp.fuzzy._autoencoder import DeepFuzzyAutoencoder
from skdp.fuzzy._classifier import DeepFuzzyClassifier
from skdp.fuzzy._explaining import FuzzyExplanation
from skdp.fuzzy._regressor import DeepFuzzyRegressor
from skdp.fuzzy._rules import FiredRule, FuzzyRule

__all__ = [
    "DeepFuzzyAutoencoder",
    "DeepFuzzyClassifier",
    "DeepFuzzyRegressor",
    "FiredRule",
    "FuzzyExplanation",
    "FuzzyRule",
]
