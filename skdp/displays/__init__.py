"""Plots in scikit-learn's manner: a display holds what is drawn, and ``plot`` draws it."""

from skdp.displays._audit import AuditDisplay
from skdp.displays._budget import PrivacyUtilityDisplay
from skdp.displays._evaluation import EvaluationDisplay
from skdp.displays._release import EffectsDisplay, ReleaseDisplay
from skdp.displays._survival import SurvivalDisplay

__all__ = [
    "AuditDisplay",
    "EffectsDisplay",
    "EvaluationDisplay",
    "PrivacyUtilityDisplay",
    "ReleaseDisplay",
    "SurvivalDisplay",
]
