"""What can be known behind noise of known distribution; owner's and target's side share it."""

from skdp.release.estimation._alignment import Alignment, class_medians
from skdp.release.estimation._denoising import denoised_codes
from skdp.release.estimation._discriminant import linear_discriminant
from skdp.release.estimation._empirical_bayes import ClassModel
from skdp.release.estimation._linear import LinearScores
from skdp.release.estimation._linear_marginal import restrict_linear
from skdp.release.estimation._mixture_marginal import normals_of_moments, restrict_mixtures
from skdp.release.estimation._mixtures import Mixtures
from skdp.release.estimation._moments import Moments
from skdp.release.estimation._posterior import positive_mean, posterior_weights
from skdp.release.estimation._subspace import Subspace
from skdp.release.estimation._terms import COSINE_ORDERS, Terms

__all__ = [
    "COSINE_ORDERS",
    "Alignment",
    "ClassModel",
    "LinearScores",
    "Mixtures",
    "Moments",
    "Subspace",
    "Terms",
    "class_medians",
    "denoised_codes",
    "linear_discriminant",
    "normals_of_moments",
    "positive_mean",
    "posterior_weights",
    "restrict_linear",
    "restrict_mixtures",
]
