"""Learning from a private source: the release, and the classifier that uses it."""

from skdp.transfer._classifier import DPTransferClassifier
from skdp.transfer._source import DPSource
from skdp.transfer._splitter import LabeledSplit

__all__ = ["DPSource", "DPTransferClassifier", "LabeledSplit"]
