"""The machine is short of memory.

What: little RAM is available to a new program.
Why: a training run with its loader workers needs several GiB of RAM besides VRAM; short of it the machine swaps, or
the kernel ends the run.
How to tell: MemAvailable of /proc/meminfo, the kernel's own estimate.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import GIB, memory, percent

NEEDED_BYTES = 2 * GIB
"""Our choice: one process with PyTorch and a CUDA context takes 2 to 3 GiB of RAM before its first batch."""
LOW_RATIO = 0.05
"""Our choice: below it the page cache that feeds the loader is about to be given up."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning when RAM is short."""
    available, total = rig.host.ram_available_bytes.need(), rig.host.ram_total_bytes.need()
    if available < max(NEEDED_BYTES, LOW_RATIO * total):
        because = say(
            "{available} of {total} RAM ({share}) is available.",
            available=memory(available),
            total=memory(total),
            share=percent(available / total),
        )
        yield Problem(because, (rig.host.ram_available_bytes, rig.host.ram_total_bytes))
