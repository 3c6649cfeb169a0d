"""A disk is at its limit.

What: a disk worked all the time, requests queued up, and each took long.
Why: a loader that reads from it cannot go faster, and the GPU waits.
How to tell: busy time, queue and time per request over one window (iostat -x, /proc/diskstats). Busy all the time
alone is no limit for a flash disk, which serves many requests at once; so the time per request decides.
"""

from collections.abc import Iterator

from rigwise.records.demand import gpus_may_wait
from rigwise.records.finding import Problem, Severity
from rigwise.records.host import Disk
from rigwise.records.rig import Rig
from rigwise.speech import say
from rigwise.units import duration, percent, significant

BUSY_RATIO = 0.9
QUEUE_LENGTH = 1.0
SPINNING_WAIT_SECONDS = 0.03
"""Our choice: a rotating disk needs 5 to 15 ms for a request that does not queue."""
FLASH_WAIT_SECONDS = 0.02
"""Our choice: a flash disk answers in 0.1 to 1 ms, a network volume in 1 to 5 ms."""
SURE_SECONDS = 1.0
PARTS = ("dm-", "md")
"""What is made of other disks, which show the same."""


def check_rig(rig: Rig) -> Iterator[Problem]:
    """A warning for the slowest disk at its limit; a note where the window was short."""
    slow = sorted(filter(_at_its_limit, rig.storage.disks.need()), key=lambda disk: disk.wait_seconds or 0.0)
    if not slow or not gpus_may_wait(rig):
        return
    disk = next((one for one in reversed(slow) if not one.name.startswith(PARTS)), slow[-1])
    because = say(
        "{name} was busy {share} of the time, with {queue} requests waiting and {wait} for each.",
        name=_named(disk),
        share=percent(disk.busy_ratio or 0.0),
        queue=significant(disk.queue_length or 0.0),
        wait=duration(disk.wait_seconds or 0.0),
    )
    short = rig.cpu.window_seconds is not None and rig.cpu.window_seconds < SURE_SECONDS
    yield Problem(because, (rig.storage.disks,), severity=Severity.NOTE if short else None)


def _at_its_limit(disk: Disk) -> bool:
    if disk.busy_ratio is None or disk.wait_seconds is None:
        return False
    limit = FLASH_WAIT_SECONDS if disk.rotational is False else SPINNING_WAIT_SECONDS
    queue = QUEUE_LENGTH if disk.queue_length is None else disk.queue_length
    return disk.busy_ratio >= BUSY_RATIO and queue >= QUEUE_LENGTH and disk.wait_seconds >= limit


def _named(disk: Disk) -> str:
    kind = say("rotating disk") if disk.rotational else disk.model
    return f"{disk.name} ({kind})" if kind else disk.name
