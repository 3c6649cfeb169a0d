"""A file server does not answer.

What: the kernel waits for a server of NFS, SMB or another file system of the network that is mounted here.
Why: every read from it hangs, loader workers with it, and the GPU waits; programs in such a read cannot be ended.
How to tell: the kernel log. A server that answers again was slow for a moment, which is a note unless it comes often;
so is a request that was given up ("timed out"), after which the kernel does not say that the server is back. Where the
server itself is not named, programs that wait for minutes, with that file system in their trace, tell it.
"""

from collections.abc import Iterator

from rigwise.records.finding import Problem, Severity
from rigwise.records.kernel_events import EventKind, LogEvent, events_of
from rigwise.records.rig import Rig
from rigwise.speech import say

MANY = 5
"""Our choice: a busy server is late now and then."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning while a server is silent or was so often; otherwise a note."""
    rig.kernel_log.need()
    told = [event for event in events_of(rig.log_events.need(), EventKind.FILE_SERVER) if not event.past]
    silent = [event for event in told if event.fatal]
    if not silent:
        yield from _hanging(rig)
        return
    servers = ", ".join(dict.fromkeys(event.subject for event in silent))
    waiting = _waited_for(told)
    because = (
        say("{server} has not answered again in this log.", server=waiting)
        if waiting
        else say(
            "{servers} did not answer for a while; lines in this log: {count}.", servers=servers, count=len(silent)
        )
    )
    severity = None if waiting or len(silent) >= MANY else Severity.NOTE
    yield Problem(because, tuple(event.reading for event in silent[-2:]), severity=severity)


def _hanging(rig: Rig) -> Iterator[Problem]:
    """A warning for programs that hang in a file system of the network."""
    hung = events_of(rig.log_events.need(), EventKind.HUNG_TASK)
    waiting = [event for event in hung if event.file_system and not event.past]
    if waiting:
        names = ", ".join(dict.fromkeys(event.subject for event in waiting))
        because = say("These programs hang in {name}: {programs}.", name=waiting[0].file_system, programs=names)
        yield Problem(because, tuple(event.reading for event in waiting[:2]))


def _waited_for(told: list[LogEvent]) -> str:
    """A server that the kernel still waits for at the end of the log; "" for none."""
    last = {event.subject: event for event in told}
    waiting = (server for server, event in last.items() if event.fatal and "timed out" not in event.line)
    return next(waiting, "")
