"""The machine waits for swapped memory.

What: memory is swapped in and out all the time, or lies in swap while tasks spent a notable share of the last minute
waiting for memory.
Why: a loader that waits for swap starves the GPU.
How to tell: the rates of a window (vmstat si and so), or pressure (PSI `some avg60`) together with swap in use. Old
pages in swap that nobody fetches are normal.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import MIB, memory, percent

PRESSURE_RATIO = 0.1
"""Our choice: a tenth of the time lost. systemd-oomd acts at 0.6 (DefaultMemoryPressureLimit), when it is too late."""
THRASHING_BYTES_PER_SECOND = MIB
"""Our choice: both ways at once, 256 pages per second are fetched that had just been put away."""
SURE_SECONDS = 1.0


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning when memory goes both ways, or tasks wait and swap is in use."""
    read, written = rig.memory.swap_in_bytes_per_second, rig.memory.swap_out_bytes_per_second
    if read.present and written.present:
        if min(read.need(), written.need()) >= THRASHING_BYTES_PER_SECOND:
            yield _thrashing(rig)
            return
        if not rig.host.memory_pressure_ratio.present:
            return
    pressure = rig.host.memory_pressure_ratio.need()
    if pressure < PRESSURE_RATIO:
        return
    used = rig.host.swap_used_bytes.need()
    if used > 0:
        because = say(
            "{used} is in swap, and tasks waited for memory {share} of the last minute.",
            used=memory(used),
            share=percent(pressure),
        )
        yield Problem(because, (rig.host.memory_pressure_ratio, rig.host.swap_used_bytes))


def _thrashing(rig: Rig) -> Problem:
    read, written = rig.memory.swap_in_bytes_per_second, rig.memory.swap_out_bytes_per_second
    because = say(
        "Each second {read} are read from swap and {written} are written to it.",
        read=memory(read.need()),
        written=memory(written.need()),
    )
    short = rig.cpu.window_seconds is not None and rig.cpu.window_seconds < SURE_SECONDS
    return Problem(because, (read, written), severity=Severity.NOTE if short else None)
