"""A GPU's on-chip memory (SRAM) has failed too often.

What: the card counted more uncorrected SRAM errors than its limit allows.
Why: caches and registers have no spare rows; past the limit NVIDIA treats the card as one to replace.
How to tell: `SRAM Threshold Exceeded` of `nvidia-smi -q -d ECC`, which the card decides itself.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A problem when the card says so."""
    errors = gpu.memory_errors
    if errors.sram_threshold_exceeded.need():
        because = say("Its on-chip memory has had more uncorrected errors than the card allows.")
        yield Problem(because, (errors.sram_threshold_exceeded, errors.uncorrected_aggregate))
