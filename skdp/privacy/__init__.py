"""Privacy guarantees of mechanisms and their accounting."""

from skdp.privacy._gaussian import gaussian_delta, gaussian_epsilon, gaussian_sigma
from skdp.privacy._guarantee import (
    PrivacyGuarantee,
    PrivacyLeakWarning,
    joint_guarantee,
    record_guarantee,
)
from skdp.privacy._ledger import BudgetExceededError, PrivacyLedger
from skdp.privacy._mechanisms import Mechanism

# isort: split
# Shared within skdp, undocumented.
from skdp.privacy._guarantee import (
    UNITS,
    WHOLE,
    below_sum,
    pack_guarantee,
    unpack_guarantee,
)

__all__ = [
    "BudgetExceededError",
    "Mechanism",
    "PrivacyGuarantee",
    "PrivacyLeakWarning",
    "PrivacyLedger",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "joint_guarantee",
    "record_guarantee",
]
