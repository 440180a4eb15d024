"""The owner's side: who may see private rows, and makes a release of them."""

from skdp.source._accumulator import StatisticsAccumulator
from skdp.source._evaluation import evaluate_privately

# Shared within skdp, undocumented.
from skdp.source._integers import RowGrid
from skdp.source._joint_sums import JointSums
from skdp.source._planning import ReleasePlan, plan_release
from skdp.source._private_bounds import PrivateBounds, quantile_bounds
from skdp.source._private_rows import MODELS, PrivateRows, PublicColumns
from skdp.source._rows_source import DPSource
from skdp.source._statistics_source import DPStatisticsSource

__all__ = [
    "DPSource",
    "DPStatisticsSource",
    "PrivateBounds",
    "ReleasePlan",
    "StatisticsAccumulator",
    "evaluate_privately",
    "plan_release",
    "quantile_bounds",
]
