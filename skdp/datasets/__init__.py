"""Data sets: bundled digits and tables, and public data from files."""

from skdp.datasets._base import hide_labels
from skdp.datasets._digits import fetch_mnist, fetch_usps, load_digits_domains
from skdp.datasets._tables import load_adult, load_heart_disease, load_heart_failure, two_sides

__all__ = [
    "fetch_mnist",
    "fetch_usps",
    "hide_labels",
    "load_adult",
    "load_digits_domains",
    "load_heart_disease",
    "load_heart_failure",
]
