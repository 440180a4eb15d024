"""Membership-mappings, and the autoencoders and classifiers stacked from them."""

from skdp.membership._cdmma import CDMMA
from skdp.membership._classifier import CDMMAClassifier, WideCDMMAClassifier
from skdp.membership._mapping import MembershipMapping
from skdp.membership._wide import WideCDMMA

__all__ = [
    "CDMMA",
    "CDMMAClassifier",
    "MembershipMapping",
    "WideCDMMA",
    "WideCDMMAClassifier",
]
