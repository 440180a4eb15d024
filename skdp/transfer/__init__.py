"""The target's side: learning from a release, and nothing else, of a private source."""

from skdp.transfer._classes import MAX_ROUNDING
from skdp.transfer._classifier import DPTransferClassifier
from skdp.transfer._labeled_split import LabeledScorer, LabeledSplit
from skdp.transfer._likelihoods import SoftmaxLikelihood
from skdp.transfer._regressor import DPTransferRegressor
from skdp.transfer._self_training import SelfTrainingSchedule
from skdp.transfer._survival import DPTransferSurvival

__all__ = [
    "DPTransferClassifier",
    "DPTransferRegressor",
    "DPTransferSurvival",
    "LabeledScorer",
    "LabeledSplit",
    "SelfTrainingSchedule",
]
