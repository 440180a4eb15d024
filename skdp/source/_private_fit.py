"""The context of a fit to private rows: settings, the ledger, and errors.

Everything that can be refused is refused before the ledger is charged. The computation after that
depends on no global setting, and an unexpected error in it reveals nothing about the rows.
"""

import traceback
import warnings
from contextlib import contextmanager

import numpy as np
from sklearn import config_context

from skdp.privacy import PrivacyLedger

# Settings of scikit-learn for computations with private rows, independent of those of the process:
# its defaults, except for the working memory and the display of estimators.
_SETTINGS = {
    "assume_finite": False,
    "enable_cython_pairwise_dist": True,
    "array_api_dispatch": False,
    "transform_output": "default",
    "enable_metadata_routing": False,
    "skip_parameter_validation": False,
}


@contextmanager
def default_settings():
    """Compute under default settings of scikit-learn, without floating-point errors of NumPy.

    A frame where an array is expected, or an underflow that raises, would stop a fit halfway.
    """
    with config_context(**_SETTINGS), np.errstate(all="ignore"):
        yield


@contextmanager
def warnings_at_the_end():
    """Show warnings after the block, so that a filter that raises does not stop it halfway."""
    if not any(action == "error" for action, *_ in warnings.filters):
        yield
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for each in caught:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


@contextmanager
def sealed(what):
    """Replace any error of the block, whose text may quote private rows, by a RuntimeError.

    Parameters
    ----------
    what : str
        The name of the computation, such as ``"DPSource.fit"``.
    """
    try:
        yield
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise RuntimeError(
            f"{what} failed with {type(error).__name__} at {last.filename}:{last.lineno}. Its "
            "message is withheld, as it may quote private rows. An entry in a ledger stays spent."
        ) from None


def opened_ledger(ledger):
    """Return the ledger of a source, in which each fit enters its guarantee.

    Parameters
    ----------
    ledger : PrivacyLedger, str, path-like or None
        The parameter of a source: a ledger, or the path of one that exists.

    Returns
    -------
    ledger : PrivacyLedger or None

    Raises
    ------
    FileNotFoundError
        When there is no ledger at the path.
    """
    if ledger is None or isinstance(ledger, PrivacyLedger):
        return ledger
    return PrivacyLedger.open(ledger)


def kept_ledger(ledger):
    """Return what replaces the owner's ledger in a pickle of a fitted source.

    Not None, with which a copy could be fitted without charge, but an invalid value.
    """
    return None if ledger is None else False
