"""Differentially private learning and transfer, in scikit-learn's way."""

from skdp.fuzzy import DeepFuzzyAutoencoder, DeepFuzzyClassifier, DeepFuzzyRegressor
from skdp.membership import (
    CDMMA,
    CDMMAClassifier,
    MembershipMapping,
    WideCDMMA,
    WideCDMMAClassifier,
)
from skdp.noise import GaussianDPNoise, OptimalDPNoise, RandomizedResponse, StaircaseDPNoise
from skdp.privacy import PrivacyGuarantee, PrivacyLeakWarning
from skdp.transfer import DPSource, DPTransferClassifier, LabeledSplit

__version__ = "0.1.0.dev0"

__all__ = [
    "CDMMA",
    "CDMMAClassifier",
    "DPSource",
    "DPTransferClassifier",
    "DeepFuzzyAutoencoder",
    "DeepFuzzyClassifier",
    "DeepFuzzyRegressor",
    "GaussianDPNoise",
    "LabeledSplit",
    "MembershipMapping",
    "OptimalDPNoise",
    "PrivacyGuarantee",
    "PrivacyLeakWarning",
    "RandomizedResponse",
    "StaircaseDPNoise",
    "WideCDMMA",
    "WideCDMMAClassifier",
]
