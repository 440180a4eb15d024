"""Private neural networks of the papers, with PyTorch (``pip install skdp[neural]``)."""

from typing import TYPE_CHECKING

from skdp.neural._accounts import PrivacyAccount
from skdp.utils._lazy import lazy_names

if TYPE_CHECKING:
    from skdp.neural._adaptive_laplace import AdaptiveLaplaceClassifier
    from skdp.neural._cdbn import PrivateCDBNClassifier

__all__ = ["AdaptiveLaplaceClassifier", "PrivacyAccount", "PrivateCDBNClassifier"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "skdp.neural._accounts": ["PrivacyAccount"],
        "skdp.neural._adaptive_laplace": ["AdaptiveLaplaceClassifier"],
        "skdp.neural._cdbn": ["PrivateCDBNClassifier"],
    },
)
