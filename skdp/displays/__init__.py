"""Plots in scikit-learn's manner: a display holds what is drawn, and ``plot`` draws it."""

from skdp.displays._audit import AuditDisplay
from skdp.displays._budget import LedgerDisplay, PrivacyUtilityDisplay
from skdp.displays._calibration import CalibrationDisplay, EvaluationDisplay
from skdp.displays._explanation import ExplanationDisplay
from skdp.displays._prediction_error import PredictionErrorDisplay
from skdp.displays._release import ReleaseDisplay, ShapeFunctionsDisplay
from skdp.displays._survival import SurvivalDisplay
from skdp.displays._transfer import TransferReportDisplay

__all__ = [
    "AuditDisplay",
    "CalibrationDisplay",
    "EvaluationDisplay",
    "ExplanationDisplay",
    "LedgerDisplay",
    "PredictionErrorDisplay",
    "PrivacyUtilityDisplay",
    "ReleaseDisplay",
    "ShapeFunctionsDisplay",
    "SurvivalDisplay",
    "TransferReportDisplay",
]
