"""Public features: each row of features depends on one row only, by a public rule."""

from skdp.features._oriented_gradients import OrientedGradients

__all__ = ["OrientedGradients"]
