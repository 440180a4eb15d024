"""Noise that makes numeric data differentially private."""

from skdp.noise._distributions import (
    GaussianDistribution,
    OptimalDistribution,
    StaircaseDistribution,
)
from skdp.noise._gaussian import GaussianDPNoise
from skdp.noise._optimal import OptimalDPNoise
from skdp.noise._response import RandomizedResponse
from skdp.noise._staircase import StaircaseDPNoise
from skdp.noise._training import perturb_training_rows

__all__ = [
    "GaussianDPNoise",
    "GaussianDistribution",
    "OptimalDPNoise",
    "OptimalDistribution",
    "RandomizedResponse",
    "StaircaseDPNoise",
    "StaircaseDistribution",
    "perturb_training_rows",
]
