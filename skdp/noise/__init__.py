"""Noise that makes numeric data differentially private."""

from skdp.noise._gaussian import GaussianDPNoise
from skdp.noise._laws import GaussianLaw, OptimalLaw, StaircaseLaw
from skdp.noise._optimal import OptimalDPNoise
from skdp.noise._response import RandomizedResponse
from skdp.noise._staircase import StaircaseDPNoise

__all__ = [
    "GaussianDPNoise",
    "GaussianLaw",
    "OptimalDPNoise",
    "OptimalLaw",
    "RandomizedResponse",
    "StaircaseDPNoise",
    "StaircaseLaw",
]
