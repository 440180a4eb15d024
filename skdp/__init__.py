"""Differentially private learning and transfer, in scikit-learn's way."""

from typing import TYPE_CHECKING

from skdp.utils._lazy import lazy_names

if TYPE_CHECKING:
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
    from skdp.release import DPSource, DPStatisticsSource, Release
    from skdp.tabular import Schema, TabularEncoder, schema_from
    from skdp.transfer import DPTransferClassifier, LabeledSplit

__version__ = "0.1.0.dev0"

__all__ = [
    "CDMMA",
    "CDMMAClassifier",
    "DPSource",
    "DPStatisticsSource",
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
    "Release",
    "Schema",
    "StaircaseDPNoise",
    "TabularEncoder",
    "WideCDMMA",
    "WideCDMMAClassifier",
    "schema_from",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "skdp.fuzzy": ["DeepFuzzyAutoencoder", "DeepFuzzyClassifier", "DeepFuzzyRegressor"],
        "skdp.membership": [
            *("CDMMA", "CDMMAClassifier", "MembershipMapping"),
            *("WideCDMMA", "WideCDMMAClassifier"),
        ],
        "skdp.noise": [
            *("GaussianDPNoise", "OptimalDPNoise", "RandomizedResponse", "StaircaseDPNoise"),
        ],
        "skdp.privacy": ["PrivacyGuarantee", "PrivacyLeakWarning"],
        "skdp.release": ["DPSource", "DPStatisticsSource", "Release"],
        "skdp.tabular": ["Schema", "TabularEncoder", "schema_from"],
        "skdp.transfer": ["DPTransferClassifier", "LabeledSplit"],
    },
)
