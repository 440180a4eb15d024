"""Fits of a source, entered in the ledger of its data before any noise is drawn."""

from skdp.privacy import PrivacyLedger


def charge(source, guarantee):
    """Enter what a fit of a source will guarantee in the source's ledger, where it has one.

    Parameters
    ----------
    source : DPSource or DPStatisticsSource
        Has ``ledger``: None, a PrivacyLedger, or the path of one that exists.

    guarantee : callable
        Returns the PrivacyGuarantee; asked only where there is a ledger.

    Raises
    ------
    BudgetExceededError
        When the budget does not allow it; nothing is entered.

    FileNotFoundError
        When there is no ledger at the path.
    """
    ledger = source.ledger
    if ledger is None:
        return
    if not isinstance(ledger, PrivacyLedger):
        ledger = PrivacyLedger.open(ledger)
    ledger.spend(guarantee(), type(source).__name__)


def kept_ledger(ledger):
    """Return what a pickle of a fitted source has in place of a ledger, the account of its owner.

    Not None, with which a copy would be fitted and nothing booked: no value that a source takes.
    """
    return None if ledger is None else False
