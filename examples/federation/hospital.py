"""What four owners of the example load: the hospitals of the heart disease data."""

from skdp import DPStatisticsSource
from skdp.datasets import load_heart_disease


def rows(owner):
    """Return the rows of a hospital, whose name has no spaces here."""
    heart = load_heart_disease()
    names = {name.replace(" ", "-"): name for name in heart.hospital_names}
    here = heart.hospital == names[owner]
    return heart.data[here], heart.target[here]


def release(owner):
    """Return the fitted source of a hospital."""
    return DPStatisticsSource(epsilon=4.0, encoder=load_heart_disease().schema).fit(*rows(owner))


def sums(owner, plan):
    """Return what a hospital answers from in a secure sum."""
    if plan.model == "gradients":
        return rows(owner)
    accumulator = plan.accumulator()
    accumulator.add(*rows(owner))
    return accumulator
