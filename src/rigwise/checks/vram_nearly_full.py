"""A GPU's memory is nearly full.

What: almost all VRAM is in use.
Why: the next larger batch, a longer sequence or another program ends in out-of-memory.
How to tell: VRAM used against VRAM in total. Inference servers fill it on purpose, so it is a note.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.gpu import Gpu
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import memory, percent

FULL_RATIO = 0.95
"""The rig guide calls 90 to 95 % dangerous; vLLM takes 90 % by default, so the note begins above."""


def check_gpu(gpu: Gpu, rig: Rig) -> Iterator[Problem]:
    """A note when nearly nothing is left."""
    used, total = gpu.memory_used_bytes.need(), gpu.memory_total_bytes.need()
    if used >= FULL_RATIO * total:
        because = say(
            "{used} of {total} ({share}) is in use.",
            used=memory(used),
            total=memory(total),
            share=percent(used / total),
        )
        yield Problem(because, (gpu.memory_used_bytes, gpu.memory_total_bytes))
