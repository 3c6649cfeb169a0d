"""The machine waits for swapped memory.

What: memory is in swap, and tasks spent a notable share of the last minute waiting for memory.
Why: a loader that waits for swap starves the GPU.
How to tell: pressure (PSI `some avg60`) together with swap in use. Old pages in swap without pressure are normal.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import memory, percent

PRESSURE_RATIO = 0.1
"""Our choice: a tenth of the time lost. systemd-oomd acts at 0.6 (DefaultMemoryPressureLimit), when it is too late."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning when tasks wait and swap is in use."""
    pressure, used = rig.host.memory_pressure_ratio.need(), rig.host.swap_used_bytes.need()
    if used > 0 and pressure >= PRESSURE_RATIO:
        because = say(
            "{used} is in swap, and tasks waited for memory {share} of the last minute.",
            used=memory(used),
            share=percent(pressure),
        )
        yield Problem(because, (rig.host.memory_pressure_ratio, rig.host.swap_used_bytes))
