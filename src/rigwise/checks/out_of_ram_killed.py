"""The kernel ended a process for want of RAM.

What: the out-of-memory killer, or systemd-oomd, ended a process: because the machine ran out of RAM, or because the
process's control group (a container, a job of a scheduler) reached its own limit.
Why: a training run or a loader worker ends without a Python error, often as "Killed" or with exit code 137.
How to tell: the kernel log names the process, its RAM and the limit. This is RAM, never VRAM.
"""

from collections.abc import Iterator, Sequence

from rigwise.records.finding import Problem, Severity
from rigwise.records.kernel_events import EventKind, LogEvent, events_of
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import memory

IN_GROUP = "cgroup out of memory"
IN_GROUP_LIMIT = "oom-kill:"
CALLED = "invoked oom-killer"
"""The first line of a report, the only one where the rest was cut."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning that names who was ended and which limit did it; a note when the machine was started since."""
    rig.kernel_log.need()
    events = rig.log_events.need()
    kills = events_of(events, EventKind.OOM_KILL)
    limits = events_of(events, EventKind.OOM_LIMIT)
    if not kills and not any(word in event.line for word in (IN_GROUP_LIMIT, CALLED) for event in limits):
        return
    current = [event for event in kills if not event.past] or kills
    past = all(event.past for event in (*kills, *limits))
    shown = (*current[:2], *[event for event in limits if event.past == past][:1])
    because = " ".join(filter(None, (_who(current), _limit(current, limits))))
    in_group = _in_group(current, limits)
    action = (
        say("Raise the memory limit of the container or job, or use fewer or smaller loader workers.")
        if in_group
        else ""
    )
    severity = Severity.NOTE if past else None
    yield Problem(because, tuple(event.reading for event in shown), action=action, severity=severity)


def _who(kills: Sequence[LogEvent]) -> str:
    if not kills:
        return say("The kernel ended a process for want of RAM.")
    largest = max(kills, key=lambda event: event.size_bytes or 0)
    processes = {(event.code, event.subject) for event in kills}
    if len(processes) > 1:
        names = ", ".join(dict.fromkeys(event.subject for event in kills[:5]))
        return say("The kernel ended {count} processes for want of RAM: {names}.", count=len(processes), names=names)
    if largest.size_bytes:
        return say(
            "The kernel ended {name}, which held {size} of RAM.", name=largest.subject, size=memory(largest.size_bytes)
        )
    return say("The kernel ended {name} for want of RAM.", name=largest.subject)


def _in_group(kills: Sequence[LogEvent], limits: Sequence[LogEvent]) -> bool:
    return any(IN_GROUP in event.line for event in kills) or any(IN_GROUP_LIMIT in event.line for event in limits)


def _limit(kills: Sequence[LogEvent], limits: Sequence[LogEvent]) -> str:
    if not kills and not _in_group(kills, limits):
        return ""
    if not _in_group(kills, limits):
        return say("The machine had no RAM left.")
    sizes = [event.size_bytes for event in limits if event.size_bytes]
    if sizes:
        return say("Its control group reached its limit of {limit}.", limit=memory(sizes[-1]))
    return say("A control group, such as a container, reached its own limit.")
