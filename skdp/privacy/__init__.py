"""What a mechanism guarantees, and the arithmetic behind it."""

from skdp.privacy._accounting import PrivacyLoss
from skdp.privacy._gaussian import gaussian_delta, gaussian_epsilon, gaussian_sigma
from skdp.privacy._guarantee import PrivacyGuarantee, PrivacyLeakWarning
from skdp.privacy._joint import joint_guarantee
from skdp.privacy._ledger import BudgetExceededError, PrivacyLedger
from skdp.privacy._records import record_guarantee

__all__ = [
    "BudgetExceededError",
    "PrivacyGuarantee",
    "PrivacyLeakWarning",
    "PrivacyLedger",
    "PrivacyLoss",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "joint_guarantee",
    "record_guarantee",
]
