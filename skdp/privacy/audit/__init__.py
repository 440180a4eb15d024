"""Audits: of a mechanism against its guarantee, of a model by membership inference."""

from skdp.privacy.audit._intervals import clopper_pearson, epsilon_lower_bound
from skdp.privacy.audit._mechanism import MechanismAudit, audit_mechanism
from skdp.privacy.audit._membership_inference import MembershipReport, audit_membership
from skdp.privacy.audit._metrics import membership_scores
from skdp.privacy.audit._release_audit import ReleaseAudit, audit_release
from skdp.privacy.audit._released import released_statistics
from skdp.privacy.audit._shadows import LikelihoodRatioAttack, ShadowAttack

__all__ = [
    "LikelihoodRatioAttack",
    "MechanismAudit",
    "MembershipReport",
    "ReleaseAudit",
    "ShadowAttack",
    "audit_mechanism",
    "audit_membership",
    "audit_release",
    "clopper_pearson",
    "epsilon_lower_bound",
    "membership_scores",
    "released_statistics",
]
