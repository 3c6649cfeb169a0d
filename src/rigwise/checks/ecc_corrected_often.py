"""A GPU's memory corrects itself very often.

What: a great many corrected ECC errors since the driver was loaded.
Why: each one was repaired and harmed nothing; so many announce uncorrected ones.
How to tell: the volatile counter, and only when it is huge: a few, or any number in the card's life, are normal.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say

MANY = 10_000
"""Our choice, two orders of magnitude above what single cosmic rays and one weak cell leave within a boot."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A note when there are very many."""
    corrected = gpu.memory_errors.corrected_volatile
    if corrected.need() >= MANY:
        because = say("{count} corrected memory errors since the driver was loaded.", count=f"{corrected.need():,}")
        yield Problem(because, (corrected, gpu.memory_errors.uncorrected_volatile))
