"""The one loop of self-training, its schedule, and out-of-fold scores."""

from skdp.transfer.self_training._cross_fitting import out_of_fold_scores, scores_by
from skdp.transfer.self_training._loop import SelfTraining, Step, Strategy, self_train
from skdp.transfer.self_training._schedule import (
    SCHEDULE_CONSTRAINTS,
    Round,
    first_round,
    make_schedule,
    resolve,
)

__all__ = [
    "SCHEDULE_CONSTRAINTS",
    "Round",
    "SelfTraining",
    "Step",
    "Strategy",
    "first_round",
    "make_schedule",
    "out_of_fold_scores",
    "resolve",
    "scores_by",
    "self_train",
]
