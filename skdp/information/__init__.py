"""How much noisy data say of what they hide, and of what is to be learned from them."""

from skdp.information._estimate import InformationEstimate
from skdp.information._leakage import information_leakage
from skdp.information._transferability import transferability

__all__ = ["InformationEstimate", "information_leakage", "transferability"]
