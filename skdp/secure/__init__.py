"""Combination of local models by a server that sees only ciphertexts."""

from skdp.secure._identity import Identity, PublicIdentity
from skdp.secure._roles import KeyHolder, Participant, SecureCombination, Server
from skdp.secure._scale import ScoreScale, class_scores, combine_scores
from skdp.secure._session import Session

# isort: split
# Shared within skdp, undocumented.
from skdp.secure._messages import read_message, split_messages, write_message
from skdp.secure._session import Agreement, check_distinct, check_nonce

__all__ = [
    "Identity",
    "KeyHolder",
    "Participant",
    "PublicIdentity",
    "ScoreScale",
    "SecureCombination",
    "Server",
    "Session",
    "class_scores",
    "combine_scores",
]
