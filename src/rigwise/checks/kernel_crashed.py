"""The kernel crashed, outside of NVIDIA's driver.

What: the kernel reports a fault of its own: a bad pointer or address, in the name of some process.
Why: what that process held stays locked; disks, network or whole programs may hang until the machine is started
again.
How to tell: "BUG: unable to handle" or "BUG: kernel NULL pointer dereference" in the kernel log since the last start.
In NVIDIA's modules it is the business of task_hung.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.kernel_events import EventKind, events_of
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A note that quotes the first crashes."""
    rig.kernel_log.need()
    crashes = [
        event
        for event in events_of(rig.log_events.need(), EventKind.HUNG_TASK)
        if event.fatal and not event.nvidia and not event.past
    ]
    if crashes:
        because = say("Crashes of the kernel in this log: {count}.", count=len(crashes))
        yield Problem(because, tuple(event.reading for event in crashes[:2]))
