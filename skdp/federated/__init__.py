"""One round of a federation: owners answer with releases, and a server merges them.

Messages are bytes, so any framework can transport them, or none.
"""

from skdp.federated._collecting import CollectedReleases, collect_answers
from skdp.federated._owner import owner_answer
from skdp.federated._secure_sum import SecureSum
from skdp.federated._secure_sum_owner import SecureSumOwner

__all__ = [
    "CollectedReleases",
    "SecureSum",
    "SecureSumOwner",
    "collect_answers",
    "owner_answer",
]
