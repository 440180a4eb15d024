"""The release, which the source gives to the target, and all estimates that need no rows."""

from skdp.release._basis import BasisFunctions
from skdp.release._descent import Descent
from skdp.release._evaluation import PrivateEvaluation
from skdp.release._figures import Estimate
from skdp.release._linear_regression import LinearRegression
from skdp.release._linear_scores import LinearScores
from skdp.release._mixtures import ClassModel, Mixtures
from skdp.release._moments import Moments
from skdp.release._principal_model import PrincipalModel, RowsModel, tempered_scores
from skdp.release._release import Release
from skdp.release._report import ReportPage, report_page
from skdp.release._statistics import NoisyStatistics, Statistics
from skdp.release._subspace import Alignment, Subspace
from skdp.release._table_model import TableModel
from skdp.utils._survival import StepFunction

# isort: split
# Shared within skdp, undocumented.
from skdp.release._basis import COSINE_ORDERS
from skdp.release._claims import CLAIMS_SHARE, MOST_HAZARD, NumberBins, TimeCells
from skdp.release._exits import Exits
from skdp.release._figures import SCORE_BINS
from skdp.release._frame import elements_per_record, elements_per_value, value_guarantee
from skdp.release._linear_discriminant import linear_scores
from skdp.release._linear_regression import number_variances
from skdp.release._linear_scores import linear_discriminant
from skdp.release._merging import merge_problem, merged_guarantee, rows_problem
from skdp.release._number_distribution import NumberDistribution
from skdp.release._number_evaluation import (
    CELL_SCALE,
    N_PLACES,
    SUM_SCALES,
    cell_of,
)
from skdp.release._numbers import HALF_WIDTH, INTERVAL, NumberForecast, in_units
from skdp.release._posterior import positive_mean, reliability
from skdp.release._score_posterior import LEAST_ROWS
from skdp.release._score_table import (
    CONSTANT,
    MOMENTUM,
    MOST_CELLS,
    TAIL,
    ScoreBins,
    ScoreTable,
    pair_frame,
    score_frame,
)
from skdp.release._statistics import measure_moments, positive_counts
from skdp.release._subspace import class_medians
from skdp.release._summary import (
    RARE,
    TARGET_ADVICE,
    result_lines,
    statements,
    trade_off,
    warn_of_doubt,
)
from skdp.release._time_evaluation import DEFAULT_TIMES, N_STATES, TIME_BINS, times_fault
from skdp.release._times import (
    LOG_HAZARD,
    concordance,
    cumulative_hazards,
    curves,
    followed_times,
)

__all__ = [
    "BasisFunctions",
    "Descent",
    "LinearRegression",
    "LinearScores",
    "Mixtures",
    "Moments",
    "NoisyStatistics",
    "PrincipalModel",
    "PrivateEvaluation",
    "Release",
    "ReportPage",
    "RowsModel",
    "Statistics",
    "Subspace",
    "TableModel",
    "report_page",
]
