"""PyTorch, or an error that says where to get it."""

try:
    import torch
except ImportError as error:
    raise ImportError(
        "The networks of skdp.neural need PyTorch, which is not installed here. Install it with "
        "pip install 'skdp[neural]'; everything else in skdp works without."
    ) from error

__all__ = ["torch"]
