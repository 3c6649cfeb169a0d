"""A program hangs, or the kernel crashed, inside the NVIDIA driver.

What: the kernel reports a process that waits for minutes, a CPU that is stuck, or its own crash, in NVIDIA's modules.
Why: such a process cannot be ended, and nvidia-smi, monitors and new programs usually hang behind it.
How to tell: "blocked for more than ... seconds", "soft lockup" or "BUG:" with the driver in the stack trace below, or
NVIDIA's own programs.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem
from rigwise.records.kernel_events import EventKind, events_of
from rigwise.records.rig import Rig
from rigwise.speech import say


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning that names the processes."""
    rig.kernel_log.need()
    stuck = [
        event for event in events_of(rig.log_events.need(), EventKind.HUNG_TASK) if event.nvidia and not event.past
    ]
    if not stuck:
        return
    names = ", ".join(list(dict.fromkeys(event.subject for event in stuck if event.subject))[:5])
    because = (
        say("The kernel saw these programs stuck inside the driver: {names}.", names=names)
        if names
        else say("The kernel crashed inside the driver.")
    )
    yield Problem(because, tuple(event.reading for event in stuck[:2]))
