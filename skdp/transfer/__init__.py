"""The target's side: learning from a release, and nothing else, of a private source."""

from skdp.transfer._classifier import DPTransferClassifier
from skdp.transfer._splitter import LabeledSplit

__all__ = ["DPTransferClassifier", "LabeledSplit"]
