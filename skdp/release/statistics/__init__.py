"""What the owner of rows computes of them before it adds noise, and what follows from it."""

from skdp.release.statistics._accumulator import StatisticsAccumulator, UnprotectedSums
from skdp.release.statistics._calibrating import calibrated_log_odds
from skdp.release.statistics._classes import class_list
from skdp.release.statistics._clipping import clipping_effect, square_before_clipping
from skdp.release.statistics._columns import PublicColumns
from skdp.release.statistics._dask import announced_columns, is_dask
from skdp.release.statistics._layout import Layout
from skdp.release.statistics._linear_posterior import linear_scores
from skdp.release.statistics._models import MODELS, choose_model, one_pass
from skdp.release.statistics._noisy import NoisyStatistics
from skdp.release.statistics._preparing import check_kind, check_labels, encode_rows, read_numbers
from skdp.release.statistics._private_rows import PrivateRows
from skdp.release.statistics._rows import RowGrid
from skdp.release.statistics._sums import ExactSums

__all__ = [
    "MODELS",
    "ExactSums",
    "Layout",
    "NoisyStatistics",
    "PrivateRows",
    "PublicColumns",
    "RowGrid",
    "StatisticsAccumulator",
    "UnprotectedSums",
    "announced_columns",
    "calibrated_log_odds",
    "check_kind",
    "check_labels",
    "choose_model",
    "class_list",
    "clipping_effect",
    "encode_rows",
    "is_dask",
    "linear_scores",
    "one_pass",
    "read_numbers",
    "square_before_clipping",
]
