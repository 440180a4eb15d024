"""What the owner of rows computes of them before it adds noise, and what follows from it."""

from skdp.release.statistics._linear_posterior import (
    linear_scores,
    positive_mean,
    posterior_weights,
)
from skdp.release.statistics._noisy import NoisyStatistics
from skdp.release.statistics._preparing import check_groups, encode_rows, prepare_rows
from skdp.release.statistics._private_rows import PrivateRows

__all__ = ["NoisyStatistics", "linear_scores", "positive_mean", "posterior_weights"]
