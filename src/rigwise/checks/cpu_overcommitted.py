"""More tasks want to run than there are CPUs.

What: for minutes, at least twice as many tasks as CPUs ran or waited for one.
Why: loader workers and the thread that starts kernels wait for each other; more workers make it slower.
How to tell: the run queue of vmstat, or all three load averages, against the number of CPUs. Load also counts tasks
that wait for a disk; where the kernel tells the pressure on the CPUs, it must agree.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.reading import Reading, those_present
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import significant

CROWDED_FACTOR = 2.0
"""Our choice: up to twice the CPUs is common on a machine that is just well used."""
PRESSURE_RATIO = 0.3
"""Our choice: with that many tasks too many, some task waits for a CPU nearly all the time."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning when the queue is long."""
    pressure = rig.cpu.pressure_ratio
    if pressure.present and pressure.need() < PRESSURE_RATIO:
        return
    wanted, reading = _wanted(rig)
    if wanted < CROWDED_FACTOR:
        return
    count = rig.cpu.num_cpus.value or rig.host.num_cpus.need()
    if wanted < CROWDED_FACTOR * count:
        return
    because = say("{wanted} tasks ran or waited for one of {count} CPUs.", wanted=significant(wanted), count=count)
    yield Problem(because, those_present(reading, rig.cpu.num_cpus, pressure))


def _wanted(rig: Rig) -> tuple[float, Reading[float] | Reading[tuple[float, float, float]]]:
    """Tasks that want a CPU: the mean of a window, or the lowest of the load averages."""
    if rig.cpu.runnable.present:
        return rig.cpu.runnable.need(), rig.cpu.runnable
    return min(rig.cpu.load.need()), rig.cpu.load
