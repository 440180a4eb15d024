"""Membership-mappings, and the autoencoders and classifiers stacked from them.

Besides the estimators, this package offers what other packages build on. One protocol
connects them; whatever has these two methods can stand among the autoencoders of a class:

``candidates(Y)``
    Yields pairs (code, reconstruction) for a block of rows Y of shape (n_rows, n_features),
    an array with one row for each row of Y each; the code may be None. The reconstruction
    nearest to a row is the one that counts.

``values_per_row()``
    Number of floating-point numbers that ``candidates`` holds at once for each row, by which
    predictions size their blocks.

A subclass of :class:`BaseAutoencoder` defines both and sets, when it is fitted or loaded,
``dtype_``, ``n_features_in_``, ``training_error_sums_`` (by :func:`error_sums`) and
scikit-learn's ``_n_features_out``. A subclass of :class:`ReconstructionClassifier` defines
``autoencoders_by_class()`` and sets ``classes_`` and ``dtype_`` (:func:`validate_training`
does) and ``temperature_`` (by :func:`group_temperature`), and with ``error_scale="own"`` also
``error_scales_`` (by :func:`fit_error_scales`).

:func:`group_errors` is the one loop in which all of them predict; :func:`fit_autoencoders`
the one in which they are fitted; :func:`pack_classifier` and :func:`unpack_classifier` turn a
classifier into arrays and back.
"""

from skdp.membership._cdmma import CDMMA
from skdp.membership._classifier import CDMMAClassifier, WideCDMMAClassifier
from skdp.membership._error_scales import ErrorScales, fit_error_scales
from skdp.membership._errors import error_sums, group_errors, group_temperature
from skdp.membership._exchange import frozen_classifier, pack_classifier, unpack_classifier
from skdp.membership._fitting import fit_autoencoders
from skdp.membership._mapping import MembershipMapping
from skdp.membership._nearest_class import ReconstructionClassifier, validate_training
from skdp.membership._reconstruction import BaseAutoencoder, check_codes
from skdp.membership._wide import WideCDMMA

__all__ = [
    "CDMMA",
    "BaseAutoencoder",
    "CDMMAClassifier",
    "ErrorScales",
    "MembershipMapping",
    "ReconstructionClassifier",
    "WideCDMMA",
    "WideCDMMAClassifier",
    "check_codes",
    "error_sums",
    "fit_autoencoders",
    "fit_error_scales",
    "frozen_classifier",
    "group_errors",
    "group_temperature",
    "pack_classifier",
    "unpack_classifier",
    "validate_training",
]
