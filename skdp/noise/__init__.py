"""Noise that makes numeric data differentially private."""

from skdp.noise._laws import GaussianLaw, OptimalLaw
from skdp.noise._transformers import GaussianDPNoise, OptimalDPNoise

__all__ = ["GaussianDPNoise", "GaussianLaw", "OptimalDPNoise", "OptimalLaw"]
