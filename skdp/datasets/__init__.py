"""Data to learn on: embedded digits and an embedded table, and public data from files."""

from skdp.datasets._activity import load_human_activity
from skdp.datasets._adult import load_adult
from skdp.datasets._digits import fetch_mnist, fetch_usps
from skdp.datasets._domains import load_digits_domains
from skdp.datasets._labels import hide_labels
from skdp.datasets._tables import load_table

__all__ = [
    "fetch_mnist",
    "fetch_usps",
    "hide_labels",
    "load_adult",
    "load_digits_domains",
    "load_human_activity",
    "load_table",
]
