"""RAM has failed.

What: the kernel has taken pages of RAM out of use because they gave wrong data.
Why: a module that fails in one place tends to fail in others; wrong data ends in crashes or in silently wrong results.
How to tell: `HardwareCorrupted` of /proc/meminfo; it is 0 on every machine without memory errors.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning when there is any."""
    corrupted = rig.memory.corrupted_bytes.need()
    if corrupted > 0:
        because = say("{size} KiB of RAM are out of use after memory errors.", size=corrupted // 1024)
        yield Problem(because, (rig.memory.corrupted_bytes,))
