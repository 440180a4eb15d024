"""Audits of sources against their guarantees, and of models by membership inference."""

from skdp.privacy.audit._attacks import LikelihoodRatioAttack, ShadowAttack, membership_scores
from skdp.privacy.audit._evidence import clopper_pearson, epsilon_lower_bound
from skdp.privacy.audit._membership_inference import MembershipReport, audit_membership
from skdp.privacy.audit._release import ReleaseAudit, audit_release, released_statistics

__all__ = [
    "LikelihoodRatioAttack",
    "MembershipReport",
    "ReleaseAudit",
    "ShadowAttack",
    "audit_membership",
    "audit_release",
    "membership_scores",
]
