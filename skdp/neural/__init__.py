"""Private neural networks of the papers, with PyTorch (``pip install skdp[neural]``)."""

from skdp.neural._accounts import PrivacyAccount
from skdp.neural._adaptive_laplace import AdaptiveLaplaceClassifier
from skdp.neural._cdbn import PrivateCDBNClassifier

__all__ = ["AdaptiveLaplaceClassifier", "PrivacyAccount", "PrivateCDBNClassifier"]
