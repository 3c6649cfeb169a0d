"""The machine waits for swapped memory.

What: memory is swapped in and out all the time, or lies in swap while tasks spent a notable share of the last minute
waiting for memory; or RAM is used up, swap is in use and the CPUs wait for a disk.
Why: a loader that waits for swap starves the GPU.
How to tell: the rates of a window (vmstat si and so), or pressure (PSI `some avg60`) together with swap in use. A
screen of top has neither, but all three signs of it. Old pages in swap that nobody fetches are normal.
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
USED_UP_RATIO = 0.05
"""As in ram_low."""
MUCH_IN_SWAP_RATIO = 0.1
"""Our choice: of RAM; less is what nobody has used for days."""
IOWAIT_RATIO = 0.1
"""Our choice, half of what io_waiting calls a fault by itself."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning when memory goes both ways, or tasks wait and swap is in use."""
    read, written = rig.memory.swap_in_bytes_per_second, rig.memory.swap_out_bytes_per_second
    if read.present and written.present:
        if min(read.need(), written.need()) >= THRASHING_BYTES_PER_SECOND:
            yield _thrashing(rig)
            return
        if not rig.host.memory_pressure_ratio.present:
            return
    if not rig.host.memory_pressure_ratio.present and _shows_all_signs(rig):
        because = say(
            "{available} of RAM is left, {used} is in swap, and the CPUs wait for a disk {share} of the time.",
            available=memory(rig.host.ram_available_bytes.need()),
            used=memory(rig.host.swap_used_bytes.need()),
            share=percent(rig.cpu.total.need().iowait_ratio),
        )
        yield Problem(because, (rig.host.ram_available_bytes, rig.host.swap_used_bytes, rig.cpu.total))
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


def _shows_all_signs(rig: Rig) -> bool:
    """Whether RAM is used up, much lies in swap, and the CPUs wait for a disk."""
    available, total, used = rig.host.ram_available_bytes, rig.host.ram_total_bytes, rig.host.swap_used_bytes
    if not (available.present and total.present and used.present and rig.cpu.total.present):
        return False
    used_up = available.need() < USED_UP_RATIO * total.need() and used.need() > MUCH_IN_SWAP_RATIO * total.need()
    return used_up and rig.cpu.total.need().iowait_ratio >= IOWAIT_RATIO


def _thrashing(rig: Rig) -> Problem:
    read, written = rig.memory.swap_in_bytes_per_second, rig.memory.swap_out_bytes_per_second
    because = say(
        "Each second {read} are read from swap and {written} are written to it.",
        read=memory(read.need()),
        written=memory(written.need()),
    )
    short = rig.cpu.window_seconds is not None and rig.cpu.window_seconds < SURE_SECONDS
    return Problem(because, (read, written), severity=Severity.NOTE if short else None)
