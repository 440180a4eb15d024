"""Noise that makes numeric data differentially private."""

from skdp.noise._bounds import Bounds, check_bounds
from skdp.noise._distributions import (
    GaussianDistribution,
    OptimalDistribution,
    StaircaseDistribution,
)
from skdp.noise._gaussian import GaussianDPNoise
from skdp.noise._leaks import PrivateRandomness, private_bits, warn_of_no_noise
from skdp.noise._optimal import OptimalDPNoise
from skdp.noise._queries import GaussianQueries, Share
from skdp.noise._random_bits import RandomBits
from skdp.noise._response import RandomizedResponse
from skdp.noise._staircase import StaircaseDPNoise
from skdp.noise._training import perturb_training_rows

__all__ = [
    "Bounds",
    "GaussianDPNoise",
    "GaussianDistribution",
    "GaussianQueries",
    "OptimalDPNoise",
    "OptimalDistribution",
    "PrivateRandomness",
    "RandomBits",
    "RandomizedResponse",
    "Share",
    "StaircaseDPNoise",
    "StaircaseDistribution",
    "check_bounds",
    "perturb_training_rows",
    "private_bits",
    "warn_of_no_noise",
]
