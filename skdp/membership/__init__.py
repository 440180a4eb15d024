"""Membership-mappings, and the autoencoders and classifiers stacked from them.

Within skdp, any object with these two methods can be among the autoencoders of a class:

``candidates(Y)``
    Yields pairs (code, reconstruction) for a block of rows Y of shape (n_rows, n_features),
    each an array with one row per row of Y; the code may be None. The reconstruction nearest
    to a row is used.

``values_per_row()``
    Number of floating-point numbers that ``candidates`` holds in memory per row, which
    determines the block size of predictions.

A subclass of ``BaseAutoencoder`` defines both and sets, when fitted or loaded,
``training_error_sums_`` (by ``error_sums``) and, by ``_assemble`` if it has layers,
``dtype_``, ``n_features_in_`` and scikit-learn's ``_n_features_out``. A subclass of
``ReconstructionClassifier`` defines ``fit``, ``autoencoders_by_class`` and
``reconstruction_errors`` and sets ``classes_`` and ``dtype_`` (``validate_training`` does) and
``temperature_`` (by ``group_temperature``), and with ``error_scale="own"`` also
``error_scales_`` (by ``fit_error_scales``).

``group_errors`` computes predictions of any of them; ``ReconstructionSearch`` skips most
reconstructions of deep autoencoders. ``fit_autoencoders`` fits them, and ``pack_model`` and
``unpack_model`` convert them to arrays and back.
"""

from skdp.membership._cdmma import CDMMA, WideCDMMA
from skdp.membership._classifier import CDMMAClassifier, WideCDMMAClassifier
from skdp.membership._errors import ErrorScales
from skdp.membership._mapping import MembershipMapping

# isort: split
# Shared within skdp, undocumented.
from skdp.membership._autoencoder import (
    BaseAutoencoder,
    check_codes,
    error_sums,
    fit_autoencoders,
)
from skdp.membership._classifier import ReconstructionClassifier, validate_training
from skdp.membership._components import MOST_COMPONENTS, likely_components
from skdp.membership._errors import fit_error_scales, group_errors, group_temperature
from skdp.membership._storage import (
    check_shared_scales,
    frozen_classifier,
    pack_classifier,
    pack_model,
    unpack_classifier,
    unpack_model,
)

__all__ = [
    "CDMMA",
    "CDMMAClassifier",
    "MembershipMapping",
    "WideCDMMA",
    "WideCDMMAClassifier",
]
