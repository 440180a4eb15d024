"""How source and target combine: one strategy a paper, and ours."""

from skdp.transfer.self_training import self_train
from skdp.transfer.strategies._alignment import AlignmentSide
from skdp.transfer.strategies._chains import Chain, learn_by_chains
from skdp.transfer.strategies._class_prior import log_posteriors_elsewhere, with_prior
from skdp.transfer.strategies._least_error import LeastErrorStrategy, SourceSide
from skdp.transfer.strategies._multitask import MultiTaskSide
from skdp.transfer.strategies._noise_aware import NoiseAwareStrategy
from skdp.transfer.strategies._target_scorers import reconstruction_fitter
from skdp.transfer.strategies._task import Scorer, Task
from skdp.transfer.strategies._weighed import Candidates

_SIDES: dict = {"alignment": AlignmentSide, "multitask": MultiTaskSide}
STRATEGIES = ("noise_aware", *_SIDES)


def train(name, task, schedule, *, tol, verbose):
    """Learn a task by the strategy of that name.

    "noise_aware" trains itself where classes lie apart. Where they overlap, or with a release of
    statistics or of a table, or without labels, candidates are weighed by evidence instead: what
    is guessed there confirms itself.

    Parameters
    ----------
    name : {"noise_aware", "alignment", "multitask"}

    task : Task

    schedule, tol, verbose
        See :func:`self_train`.

    Returns
    -------
    result : SelfTraining
    """
    settings = {"tol": tol, "verbose": verbose}
    if name != "noise_aware":
        return self_train(make_strategy(name, task), schedule, task.labels, **settings)
    chain = Chain(schedule, **settings)
    if task.is_calibrated or task.unlabelled.all():
        return Candidates(task).learn(chain)
    return learn_by_chains(task, chain)


def make_strategy(name, task):
    """Return the strategy of that name for a task.

    Parameters
    ----------
    name : {"noise_aware", "alignment", "multitask"}

    task : Task

    Returns
    -------
    strategy : Strategy
    """
    if name == "noise_aware":
        return NoiseAwareStrategy(task)
    side = SourceSide() if task.release is None else _SIDES[name](task)
    return LeastErrorStrategy(side, task)


__all__ = [
    "STRATEGIES",
    "Scorer",
    "Task",
    "log_posteriors_elsewhere",
    "make_strategy",
    "reconstruction_fitter",
    "train",
    "with_prior",
]
