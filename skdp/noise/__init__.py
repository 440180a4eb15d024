"""Transformers and distributions of differentially private noise."""

from skdp.noise._distributions import (
    GaussianDistribution,
    OptimalDistribution,
    StaircaseDistribution,
)
from skdp.noise._regressor import DPNoiseRegressor
from skdp.noise._response import RandomizedResponse
from skdp.noise._transformers import (
    GaussianDPNoise,
    OptimalDPNoise,
    StaircaseDPNoise,
    perturb_training_rows,
)

# isort: split
# Shared within skdp, undocumented.
from skdp.noise._queries import GaussianQueries, JointQueries, RoundEnd, Share
from skdp.noise._randomness import (
    DEFAULT_SENSITIVITY,
    PrivateRandomness,
    RandomBits,
    private_bits,
    warn_of_seeds,
    warn_of_unstated_range,
    warn_of_weak_privacy,
)
from skdp.noise._transformers import Bounds, check_bounds

__all__ = [
    "DPNoiseRegressor",
    "GaussianDPNoise",
    "OptimalDPNoise",
    "RandomizedResponse",
    "StaircaseDPNoise",
    "perturb_training_rows",
]
