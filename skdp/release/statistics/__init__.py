"""What the owner of rows computes of them before it adds noise, and what follows from it."""

from skdp.release.statistics._linear_posterior import (
    linear_scores,
    positive_mean,
    posterior_weights,
)
from skdp.release.statistics._noisy import NoisyStatistics

__all__ = ["NoisyStatistics", "linear_scores", "positive_mean", "posterior_weights"]
