"""Public features: each row is computed from one row alone, by a rule that all may know."""

from skdp.features._oriented_gradients import OrientedGradients

__all__ = ["OrientedGradients"]
