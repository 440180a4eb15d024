"""Differentially private learning and domain adaptation with the scikit-learn API."""

from skdp.features import OrientedGradients
from skdp.fuzzy import DeepFuzzyAutoencoder, DeepFuzzyClassifier, DeepFuzzyRegressor
from skdp.membership import (
    CDMMA,
    CDMMAClassifier,
    MembershipMapping,
    WideCDMMA,
    WideCDMMAClassifier,
)
from skdp.noise import (
    DPNoiseRegressor,
    GaussianDPNoise,
    OptimalDPNoise,
    RandomizedResponse,
    StaircaseDPNoise,
)
from skdp.privacy import PrivacyGuarantee, PrivacyLeakWarning
from skdp.release import Release
from skdp.source import (
    DPSource,
    DPStatisticsSource,
    evaluate_privately,
    plan_release,
    quantile_bounds,
)
from skdp.tabular import Schema, TabularEncoder, schema_from
from skdp.transfer import (
    DPTransferClassifier,
    DPTransferRegressor,
    DPTransferSurvival,
    LabeledScorer,
    LabeledSplit,
    SelfTrainingSchedule,
)

__version__ = "0.1.0"

__all__ = [
    "CDMMA",
    "CDMMAClassifier",
    "DPNoiseRegressor",
    "DPSource",
    "DPStatisticsSource",
    "DPTransferClassifier",
    "DPTransferRegressor",
    "DPTransferSurvival",
    "DeepFuzzyAutoencoder",
    "DeepFuzzyClassifier",
    "DeepFuzzyRegressor",
    "GaussianDPNoise",
    "LabeledScorer",
    "LabeledSplit",
    "MembershipMapping",
    "OptimalDPNoise",
    "OrientedGradients",
    "PrivacyGuarantee",
    "PrivacyLeakWarning",
    "RandomizedResponse",
    "Release",
    "Schema",
    "SelfTrainingSchedule",
    "StaircaseDPNoise",
    "TabularEncoder",
    "WideCDMMA",
    "WideCDMMAClassifier",
    "evaluate_privately",
    "plan_release",
    "quantile_bounds",
    "schema_from",
]
