"""A GPU's memory is its bottleneck.

What: the GPU is busy all the time and so is its memory.
Why: the work moves data more than it computes: lower precision, fused kernels or larger tiles help, a faster core
does not.
How to tell: GPU and memory utilisation at the busiest moment, or as an average over a watch.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

BUSY_RATIO = 0.9
"""Our choice for both: the memory's figure is the share of time in which it was read or written at all, so that only
values near the top mean a bottleneck."""
MEMORY_RATIO = 0.8


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A note when the memory is as busy as the GPU."""
    busy, memory = gpu.gpu_utilization_ratio.need(), gpu.memory_utilization_ratio.need()
    if busy >= BUSY_RATIO and memory >= MEMORY_RATIO:
        because = say(
            "The GPU is busy {busy} of the time and its memory {memory}.", busy=percent(busy), memory=percent(memory)
        )
        yield Problem(because, (gpu.gpu_utilization_ratio, gpu.memory_utilization_ratio))
