"""Information that noisy data contain about private values and about outcomes."""

from skdp.information._estimate import InformationEstimate
from skdp.information._leakage import information_leakage
from skdp.information._transferability import transferability

__all__ = ["InformationEstimate", "information_leakage", "transferability"]
