"""Private neural networks of the papers, with PyTorch (``pip install skdp[neural]``)."""

from importlib.util import find_spec
from typing import Any

from skdp.neural._accounts import PrivacyAccount

__all__ = ["AdaptiveLaplaceClassifier", "PrivacyAccount", "PrivateCDBNClassifier"]

if find_spec("torch"):
    from skdp.neural._adaptive_laplace import AdaptiveLaplaceClassifier
    from skdp.neural._cdbn import PrivateCDBNClassifier
else:

    def __getattr__(name: str) -> Any:
        """Say what is missing; what needs no network works without."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        raise ImportError(
            f"{name} of skdp.neural needs PyTorch, which is not installed. Install it with "
            "pip install 'skdp[neural]'."
        )
