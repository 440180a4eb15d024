"""The protocol by which every result leaves its owner: releases, bounds and evaluations.

Read this file to decide whether you trust skdp. Each result is made in the same order:

1. The caller checks parameters and private rows, and makes the source of noise. The guarantee is
   then known.
2. :func:`publish` rehearses: it calls the function that makes the result without rows and noise.
   Every error that depends on public values occurs here, before anything is charged.
3. The ledger is charged, or refuses.
4. The function makes the result from the private rows, with noise. This step is sealed: errors,
   warnings and global settings neither reveal anything about the rows nor stop it halfway.
5. Warnings about the result, computed from the result alone, come last. They never raise, because
   the result would be lost although the budget is spent.
"""

import traceback
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from sklearn import config_context

from skdp.noise import warn_of_weak_privacy
from skdp.privacy import UNITS, PrivacyGuarantee, PrivacyLeakWarning, PrivacyLedger
from skdp.utils._validation import PrivateParametersMixin
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

    The result is ``make(*private)``, called with checked rows and a source of noise. Each of
    ``rehearsals`` has arguments of the same kind that are independent of private rows.
    ``doubt(result)`` may warn.
    """
    given = ledger is None or isinstance(ledger, PrivacyLedger)
    account = ledger if given else PrivacyLedger.open(ledger)
    warn_of_weak_privacy(what.partition(".")[0], guarantee.epsilon, guarantee.delta)
    _rehearse(what, make, rehearsals)
    if account is not None:
        account.spend(guarantee, name)
    with sealed(what) as told:
        result = make(*private)
    # Warnings about parameters, such as a used generator; others may reveal rows.
    told = [warning for warning in told if issubclass(warning.category, PrivacyLeakWarning)]
    if doubt is not None:
        with recorded_warnings() as doubts, default_settings(), suppress(Exception):
            doubt(result)
        told += doubts
    show_warnings(told)
    return result


def _rehearse(what, make, rehearsals):
    """Raise ValueError if a result without private rows cannot be made."""
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
    """Compute with private rows, independently of settings and without revealing messages."""
    # A RuntimeError replaces any error, because its text may quote private rows. Warnings are
    # suppressed, and collected in the list that this yields.
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

    Otherwise a DataFrame instead of an array, or an underflow that raises, could stop a fit.
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


class PublishingMixin(PrivateParametersMixin):
    """An estimator that publishes a release of private rows, charged to its ledger."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def __getstate__(self) -> dict[str, Any]:
        # A pickle of a fitted source does not contain the owner's ledger. An invalid value
        # replaces it rather than None, so that a copy cannot be fitted without a charge.
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if "release_" in state and state["ledger"] is not None:
            state["ledger"] = False
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.non_deterministic = True
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.encoder is not None  # type: ignore[attr-defined]
        return tags
