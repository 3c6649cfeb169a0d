"""A disk or a file system reports errors.

What: failed reads or writes, a lost NVMe controller, or a file system that found itself damaged.
Why: the loader waits for minutes, reads nothing, or the checkpoint is not written.
How to tell: the kernel log. A single timeout, and errors of a disk that may be an unplugged USB stick, are notes; a
controller that had to be reset has let a second timeout pass.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.kernel_events import EventKind, events_of
from rigwise.records.rig import Rig
from rigwise.speech import say

MANY_TIMEOUTS = 5
"""Our choice: one command may time out on a busy disk; a row of them means that it does not answer."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning for errors, a note for a few timeouts."""
    rig.kernel_log.need()
    errors = [event for event in events_of(rig.log_events.need(), EventKind.DISK) if not event.past]
    if errors:
        grave = [event for event in errors if event.fatal]
        timeouts = [event for event in errors if not event.fatal and event.subject.startswith("nvme")]
        mild = not grave and len(timeouts) < MANY_TIMEOUTS
        because = say(
            "Errors of {disks} in this log: {count}.",
            count=len(errors),
            disks=", ".join(dict.fromkeys(event.subject for event in errors)),
        )
        shown = tuple(event.reading for event in (grave or errors)[:2])
        yield Problem(because, shown, severity=Severity.NOTE if mild else None)
