"""How much noisy data say of what they hide, and of what is to be learned from them."""

from skdp.information._estimate import InformationEstimate
from skdp.information._noise import noise_information

__all__ = ["InformationEstimate", "noise_information"]
