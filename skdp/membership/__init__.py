"""Membership-mappings, and the autoencoders and classifiers stacked from them.

Within skdp, one protocol connects them; whatever has these two methods can stand among the
autoencoders of a class:

``candidates(Y)``
    Yields pairs (code, reconstruction) for a block of rows Y of shape (n_rows, n_features),
    an array with one row for each row of Y each; the code may be None. The reconstruction
    nearest to a row is the one that counts.

``values_per_row()``
    Number of floating-point numbers that ``candidates`` holds at once for each row, by which
    predictions size their blocks.

A subclass of ``BaseAutoencoder`` defines both and sets, when it is fitted or loaded,
``dtype_``, ``n_features_in_``, ``training_error_sums_`` (by ``error_sums``) and
scikit-learn's ``_n_features_out``. A subclass of ``ReconstructionClassifier`` defines ``fit``,
``autoencoders_by_class`` and ``reconstruction_errors`` and sets ``classes_`` and ``dtype_``
(``validate_training`` does) and ``temperature_`` (by ``group_temperature``), and with
``error_scale="own"`` also ``error_scales_`` (by ``fit_error_scales``).

``group_errors`` is the loop in which any of them predict, and ``ReconstructionSearch`` that of
deep autoencoders, which spares most reconstructions; ``fit_autoencoders`` is the loop in which
they are fitted, ``pack_model`` and ``unpack_model`` turn them into arrays and back.
"""

from skdp.membership._cdmma import CDMMA, WideCDMMA
from skdp.membership._classifier import CDMMAClassifier, WideCDMMAClassifier
from skdp.membership._errors import ErrorScales
from skdp.membership._mapping import MembershipMapping

# isort: split
# Shared within skdp, undocumented.
from skdp.membership._autoencoder import BaseAutoencoder, check_codes, fit_autoencoders
from skdp.membership._classifier import ReconstructionClassifier, validate_training
from skdp.membership._errors import (
    error_sums,
    fit_error_scales,
    group_errors,
    group_temperature,
    stored_error_sums,
)
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
    "ErrorScales",
    "MembershipMapping",
    "WideCDMMA",
    "WideCDMMAClassifier",
]
