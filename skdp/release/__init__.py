"""The owner's side: what a source hands out in place of its rows, and who makes it."""

from typing import TYPE_CHECKING

from skdp.utils._lazy import lazy_names

if TYPE_CHECKING:
    from skdp.release._release import Release
    from skdp.release._source import DPSource
    from skdp.release._statistics_source import DPStatisticsSource

__all__ = ["DPSource", "DPStatisticsSource", "Release"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "skdp.release._release": ["Release"],
        "skdp.release._source": ["DPSource"],
        "skdp.release._statistics_source": ["DPStatisticsSource"],
    },
)
