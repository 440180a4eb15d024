"""The owner's side: who may see private rows, and makes a release of them."""

from skdp.source._accumulator import StatisticsAccumulator, UnprotectedSums
from skdp.source._classes import class_list
from skdp.source._columns import PublicColumns
from skdp.source._dask import announced_columns, is_dask
from skdp.source._grid import RowGrid
from skdp.source._models import MODELS, choose_model, one_pass
from skdp.source._plan import SummationPlan
from skdp.source._preparation import check_kind, check_labels, encode_rows, read_numbers
from skdp.source._private_rows import PrivateRows
from skdp.source._rows_source import DPSource
from skdp.source._statistics_source import DPStatisticsSource
from skdp.source._sums import ExactSums

__all__ = [
    "MODELS",
    "DPSource",
    "DPStatisticsSource",
    "ExactSums",
    "PrivateRows",
    "PublicColumns",
    "RowGrid",
    "StatisticsAccumulator",
    "SummationPlan",
    "UnprotectedSums",
    "announced_columns",
    "check_kind",
    "check_labels",
    "choose_model",
    "class_list",
    "encode_rows",
    "is_dask",
    "one_pass",
    "read_numbers",
]
