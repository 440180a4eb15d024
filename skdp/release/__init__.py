"""What crosses the wall: the release, and every estimate that needs no rows."""

from skdp.release._alignment import Alignment, class_medians
from skdp.release._basis import COSINE_ORDERS, BasisFunctions
from skdp.release._calibration import calibrated_log_odds
from skdp.release._clipping import clipping_effect, square_before_clipping
from skdp.release._denoising import denoised_codes
from skdp.release._discriminant import linear_discriminant
from skdp.release._empirical_bayes import ClassModel
from skdp.release._linear import LinearScores
from skdp.release._linear_marginal import restrict_linear
from skdp.release._linear_posterior import linear_scores
from skdp.release._measuring import measure_moments
from skdp.release._mixture_marginal import normals_of_moments, restrict_mixtures
from skdp.release._mixtures import Mixtures
from skdp.release._moments import Moments
from skdp.release._noisy_statistics import NoisyStatistics, positive_counts
from skdp.release._posterior import positive_mean, posterior_weights
from skdp.release._release import Release
from skdp.release._subspace import Subspace
from skdp.release._values import elements_per_record, elements_per_value, value_guarantee

__all__ = [
    "COSINE_ORDERS",
    "Alignment",
    "BasisFunctions",
    "ClassModel",
    "LinearScores",
    "Mixtures",
    "Moments",
    "NoisyStatistics",
    "Release",
    "Subspace",
    "calibrated_log_odds",
    "class_medians",
    "clipping_effect",
    "denoised_codes",
    "elements_per_record",
    "elements_per_value",
    "linear_discriminant",
    "linear_scores",
    "measure_moments",
    "normals_of_moments",
    "positive_counts",
    "positive_mean",
    "posterior_weights",
    "restrict_linear",
    "restrict_mixtures",
    "square_before_clipping",
    "value_guarantee",
]
