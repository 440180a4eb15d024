"""How source and target combine: one strategy a paper, and ours."""

from skdp.transfer.strategies._alignment import AlignmentSide
from skdp.transfer.strategies._least_error import LeastErrorStrategy, SourceSide
from skdp.transfer.strategies._multitask import MultiTaskSide
from skdp.transfer.strategies._noise_aware import NoiseAwareStrategy
from skdp.transfer.strategies._target_scorers import reconstruction_fitter
from skdp.transfer.strategies._task import Scorer, Task

_SIDES: dict = {"alignment": AlignmentSide, "multitask": MultiTaskSide}
STRATEGIES = ("noise_aware", *_SIDES)


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


__all__ = ["STRATEGIES", "Scorer", "Task", "make_strategy", "reconstruction_fitter"]
