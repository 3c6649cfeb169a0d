"""Tasks wait for a disk or a network file system.

What: a notable share of the time goes into waiting for input and output.
Why: the loader waits for files, and the GPU for the loader.
How to tell: pressure (PSI `full avg60`: all active tasks waited at once), or iowait over a window. iowait is spread
over all CPUs: on 32 of them one waiting task shows as 3 %. Of the time since boot it is a note at most, and with busy
GPUs nobody waits for it.
"""

from collections.abc import Iterator

from rigwise.records.demand import gpus_may_wait
from rigwise.records.finding import Problem, Severity
from rigwise.records.reading import those_present
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

PRESSURE_RATIO = 0.2
"""Our choice: a fifth of the last minute lost for everybody at once."""
IOWAIT_RATIO = 0.2
"""Our choice; advice on vmstat and iostat calls 10 to 20 % a bottleneck."""
SURE_SECONDS = 1.0


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning, or a note where the window was short or is the time since boot."""
    pressure = rig.cpu.io_pressure_ratio
    if pressure.present:
        share = pressure.need()
        if share >= PRESSURE_RATIO and gpus_may_wait(rig):
            because = say("All active tasks waited for a disk in {share} of the last minute.", share=percent(share))
            yield Problem(because, (pressure,))
        return
    yield from _by_cpu_time(rig)


def _by_cpu_time(rig: Rig) -> Iterator[Problem]:
    over_window = rig.cpu.total.present
    reading = rig.cpu.total if over_window else rig.cpu.since_boot
    share = reading.need().iowait_ratio
    if share < IOWAIT_RATIO or not gpus_may_wait(rig):
        return
    short = rig.cpu.window_seconds is not None and rig.cpu.window_seconds < SURE_SECONDS
    because = say("The CPUs idled for {share} of the time because tasks waited for a disk.", share=percent(share))
    severity = Severity.NOTE if short or not over_window else None
    yield Problem(because, those_present(reading, rig.storage.disks), severity=severity)
