"""One round of a federation: owners answer with releases, a server merges what it can use.

What an owner answers, and what a server makes of answers, needs no framework. The modules
``skdp.federated.flower`` and ``skdp.federated.nvflare`` carry it over Flower (extra ``flower``)
and NVIDIA FLARE (extra ``nvflare``), which name them in their own configuration.
"""

from skdp.federated._collecting import CollectedReleases, collect_answers
from skdp.federated._owner import owner_answer
from skdp.federated._secure_sum import SecureSum
from skdp.federated._secure_sum_owner import SecureSumOwner

# isort: split
# Shared within skdp, undocumented.
from skdp.federated._transcript import ANSWERS, KEY

__all__ = [
    "CollectedReleases",
    "SecureSum",
    "SecureSumOwner",
    "collect_answers",
    "owner_answer",
]
