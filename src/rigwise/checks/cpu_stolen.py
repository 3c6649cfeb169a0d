"""The hypervisor gives CPU time to somebody else.

What: the CPUs of this virtual machine want to run, but the host lets others run.
Why: loading and starting kernels stall at moments that nothing inside the machine explains: runs differ in speed.
How to tell: the steal time of a window. Of the whole time since boot it is a note at most.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import percent

STOLEN_RATIO = 0.1
"""Our choice: a tenth of the time lost. A few percent are usual on shared hosts."""
SURE_SECONDS = 1.0


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning for a window of a second or more, otherwise a note."""
    over_window = rig.cpu.total.present
    reading = rig.cpu.total if over_window else rig.cpu.since_boot
    share = reading.need().steal_ratio
    if share < STOLEN_RATIO:
        return
    short = rig.cpu.window_seconds is not None and rig.cpu.window_seconds < SURE_SECONDS
    because = say("The hypervisor took {share} of the CPU time.", share=percent(share))
    yield Problem(because, (reading,), severity=Severity.NOTE if short or not over_window else None)
