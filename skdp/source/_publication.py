"""How anything leaves its owner: one protocol for releases, bounds and evaluations.

Whoever wants to trust skdp reads this file. Each result is made in the same order:

1. The caller checks parameters and private rows, and makes the source of noise; the guarantee is
   known by then.
2. :func:`publish` rehearses: the function that will make the result makes one of no rows, without
   noise. What can fail for what is public fails here, and nothing has been charged.
3. The ledger is charged, or refuses.
4. The function makes the result of the private rows, with noise. This is sealed: no error, no
   warning and no global setting tells anything about the rows, or stops it halfway.
5. Warnings about the result, computed from the result alone, come last. They never raise, since
   the result would be lost and the budget spent.
"""

import traceback
from contextlib import contextmanager, suppress

import numpy as np
from sklearn import config_context

from skdp.noise import warn_of_weak_privacy
from skdp.privacy import UNITS, PrivacyGuarantee, PrivacyLeakWarning, PrivacyLedger
from skdp.utils._warnings import recorded_warnings, show_warnings

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


def publish(what, guarantee, make, private, rehearsals, *, ledger=None, name="", doubt=None):
    """Charge for a result, make it of private rows with noise, and return it.

    The result is ``make(*private)``, of checked rows and a source of noise; each of ``rehearsals``
    has arguments of the same kind that depend on nothing private. ``doubt(result)`` may warn.
    """
    account = opened_ledger(ledger)
    warn_of_weak_privacy(what.partition(".")[0], guarantee.epsilon, guarantee.delta)
    _rehearse(what, make, rehearsals)
    if account is not None:
        account.spend(guarantee, name)
    with sealed(what) as told:
        result = make(*private)
    # Those about parameters, as of a generator that was used before; others may tell about rows.
    told = [warning for warning in told if issubclass(warning.category, PrivacyLeakWarning)]
    if doubt is not None:
        with recorded_warnings() as doubts, default_settings(), suppress(Exception):
            doubt(result)
        told += doubts
    show_warnings(told)
    return result


def _rehearse(what, make, rehearsals):
    """Raise ValueError where a result of no private rows cannot be made."""
    try:
        with recorded_warnings(), default_settings():
            for arguments in rehearsals:
                make(*arguments)
    except Exception as error:
        raise ValueError(
            f"{what} cannot make a result of these parameters: {error} Nothing was charged."
        ) from error


@contextmanager
def sealed(what):
    """Compute with private rows: alike under all settings, and with no word about them."""
    # Any error, whose text may quote private rows, is replaced by a RuntimeError, and warnings are
    # left out; yields the list of these.
    try:
        with recorded_warnings() as told, default_settings():
            yield told
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise RuntimeError(
            f"{what} failed with {type(error).__name__} at {last.filename}:{last.lineno}. Its "
            "message is withheld, as it may quote private rows. An entry in a ledger stays spent."
        ) from None


@contextmanager
def default_settings():
    """Compute under default settings of scikit-learn, without floating-point errors of NumPy.

    A frame where an array is expected, or an underflow that raises, would stop a fit halfway.
    """
    with config_context(**_SETTINGS), np.errstate(all="ignore"):
        yield


def whole_guarantee(mechanism, mechanisms, n_features, *, by_group, covers, excludes):
    """Return the guarantee of whole records, or of whole people, added or removed."""
    unit = "group" if by_group else "labeled record"
    return PrivacyGuarantee(
        mechanism=mechanism,
        mechanisms=mechanisms,
        sensitivity=None,
        n_features=n_features,
        covers=f"{UNITS[unit].several}: {covers}",
        excludes=f"what is public: {excludes}",
        unit=unit,
        relation="add/remove",
    )


def opened_ledger(ledger):
    """Return a ledger that was given as itself, or as the path of one that exists; or None."""
    if ledger is None or isinstance(ledger, PrivacyLedger):
        return ledger
    return PrivacyLedger.open(ledger)


def kept_ledger(ledger):
    """Return what replaces the owner's ledger in a pickle of a fitted source.

    Not None, with which a copy could be fitted without charge, but an invalid value.
    """
    return None if ledger is None else False
