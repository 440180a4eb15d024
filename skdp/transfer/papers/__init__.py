"""The strategies of the papers, and all that only they need: errors of whole rows."""

from skdp.transfer.papers._least_error import ALIGNMENT, MULTITASK

__all__ = ["ALIGNMENT", "MULTITASK"]
