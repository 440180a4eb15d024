"""Combining local models by a server that sees only ciphertexts."""

from skdp.secure._identity import Identity, PublicIdentity
from skdp.secure._roles import KeyHolder, Participant, SecureCombination, Server
from skdp.secure._scale import ScoreScale, class_scores, combine_scores
from skdp.secure._session import Session

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
