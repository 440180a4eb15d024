"""What surrounds the arithmetic of a fit to private rows: settings, the ledger, and errors.

Whatever can be refused is refused before the ledger is charged. What follows depends on no global
setting, and shows nothing of the rows should it fail all the same.
"""

import traceback
import warnings
from contextlib import contextmanager

import numpy as np
from sklearn import config_context

from skdp.privacy import PrivacyLedger

# Settings of scikit-learn under which private rows are computed with, whatever a process has set:
# its defaults, but for the memory to work with and how estimators are displayed.
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
    """Compute under default settings of scikit-learn, and no floating-point error of NumPy.

    A frame where an array is expected, or an underflow that raises, would stop a fit halfway.
    """
    with config_context(**_SETTINGS), np.errstate(all="ignore"):
        yield


@contextmanager
def warnings_at_the_end():
    """Show warnings after the block, where they are to be errors: none may stop it halfway."""
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
    """Raise RuntimeError in place of any error of the block, whose text may quote private rows.

    Parameters
    ----------
    what : str
        Is computed, such as ``"DPSource.fit"``.
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
    """Return the ledger of a source, in which each fit enters what it will guarantee.

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
    """Return what a pickle of a fitted source has in place of a ledger, the account of its owner.

    Not None, with which a copy would be fitted and nothing charged: no value that a source takes.
    """
    return None if ledger is None else False
