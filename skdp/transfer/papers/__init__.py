"""The strategies of the papers, and all that only they need: errors of whole rows."""

# Shared within skdp, undocumented.
from skdp.transfer.papers._least_error import ALIGNMENT, MULTITASK
